/* Exceptions that must not move while the runtime looks for who handles them.
 *
 * From .NET 9 on the runtime notifies a profiler that a filter or a catch block is about to run while it has the exception in a
 * variable that the garbage collector does not know (dotnet/runtime#132462, mended in August 2026 in what comes after 10). A
 * collection that comes in that moment moves the exception, and the block gets what lies there now: filters decide wrongly, and
 * programs crash. It needs nothing but a profiler that asks for the events of exceptions. So each one that is thrown is pinned,
 * from where it is thrown, when the runtime has it safe, until the block that catches it runs. */
#include "core/arena.h"
#include "calls/exception_pins.h"

#include <errno.h>
#include <pthread.h>

#define MAX_PINS 1024u   /* exceptions at once, of all threads; one more is not pinned */
#define MAX_GONE 16u     /* that are let go at once; others later */
#define CAUGHT 1u        /* beside a stack pointer: the block that catches it runs, so it need not be pinned any more */
#define HANDLE_PINNED 3u /* COR_PRF_HANDLE_TYPE_PINNED */

struct pin {
    uintptr_t thread; /* 0: it has ended */
    uintptr_t sp;     /* of the callback: where the stack was; or CAUGHT */
    void *handle;
};

static void *info13;
static struct pin pins[MAX_PINS]; /* in no order; with the lock held */
static uint32_t n_pins;

void pins_init(void *info)
{
    if (arena.header->runtime_major < 9 || com_query(info, &IID_INFO13, &info13) < 0)
        info13 = NULL;
}

static void destroy(void *handle)
{
    if (handle != NULL)
        (void)SLOT(info13, INFO_DESTROY_HANDLE, void *)(info13, handle);
}

/* With the lock held. The innermost exception of this thread. NULL: there is none. */
static struct pin *innermost(void)
{
    struct pin *found = NULL;
    for (uint32_t i = 0; i < n_pins; i++)
        if (pins[i].thread == (uintptr_t)pthread_self() && (found == NULL || pins[i].sp < found->sp))
            found = &pins[i];
    return found;
}

static void *remove_pin(struct pin *p)
{
    void *handle = p->handle;
    *p = pins[--n_pins];
    return handle;
}

/* What this thread threw further down the stack was handled, by native code or without a word. */
static bool is_gone(const struct pin *p, uintptr_t sp)
{
    return p->thread == 0 || (p->thread == (uintptr_t)pthread_self() && ((p->sp & CAUGHT) != 0 || p->sp <= sp));
}

void pins_thrown(uintptr_t object)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    void *handle = NULL, *gone[MAX_GONE + 1] = {NULL};
    uint32_t n = 0;
    if (info13 == NULL || SLOT(info13, INFO_CREATE_HANDLE, uintptr_t, uint32_t, void **)(info13, object, HANDLE_PINNED, &handle) < 0)
        return;
    arena_lock();
    for (uint32_t i = n_pins; i > 0 && n < MAX_GONE; i--)
        if (is_gone(&pins[i - 1], sp))
            gone[n++] = remove_pin(&pins[i - 1]);
    if (n_pins < MAX_PINS)
        pins[n_pins++] = (struct pin){(uintptr_t)pthread_self(), sp, handle};
    else
        gone[n] = handle;
    arena_unlock();
    for (uint32_t i = 0; i <= MAX_GONE; i++) /* without the lock, which the runtime could wait for */
        destroy(gone[i]);
}

/* The runtime takes the exception out of its variable when the callback has returned. */
void pins_catch(void)
{
    if (info13 == NULL)
        return;
    arena_lock();
    struct pin *p = innermost();
    if (p != NULL)
        p->sp |= CAUGHT;
    arena_unlock();
}

static void let_go(void)
{
    arena_lock();
    struct pin *p = innermost();
    void *handle = p != NULL && (p->sp & CAUGHT) != 0 ? remove_pin(p) : NULL;
    arena_unlock();
    destroy(handle);
}

hresult pins_catcher_leave(void *self)
{
    (void)self;
    int saved_errno = errno;
    if (info13 != NULL)
        let_go();
    errno = saved_errno;
    return HR_OK;
}

void pins_end(void)
{
    for (uint32_t i = 0; i < n_pins; i++)
        destroy(pins[i].handle);
    n_pins = 0;
}

/* The runtime does not know the thread any more, so another one destroys its handles. */
void pins_thread_ended(void)
{
    arena_lock();
    for (uint32_t i = 0; i < n_pins; i++)
        if (pins[i].thread == (uintptr_t)pthread_self())
            pins[i].thread = 0;
    arena_unlock();
}
