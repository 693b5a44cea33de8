/* Exceptions that must not move while the runtime looks for who handles them.
 *
 * From .NET 9 on the runtime tells a profiler that a filter or a catch block is about to run while it has the exception in a
 * variable that the garbage collector does not know (dotnet/runtime#132462, mended in August 2026 in what comes after 10). A
 * collection that comes in that moment moves the exception, and the block gets what lies there now: filters decide wrongly, and
 * programs crash. It needs nothing but a profiler that asks to be told of exceptions. So each one that is thrown is pinned,
 * from where it is thrown, when the runtime has it safe, until the block that catches it runs. */
#include "agent.h"

#define MAX_PINS 4u       /* exceptions in one thread that look for their handlers, each in a filter or finally block that another one
                             runs; one more is not pinned. Thread-local memory is scarce */
#define CAUGHT 1u         /* beside a stack pointer: the block that catches it runs, so it need not be pinned any more */
#define MAX_ABANDONED 64u /* handles of ended threads; one more stays */
#define HANDLE_PINNED 3u  /* COR_PRF_HANDLE_TYPE_PINNED */

static void *info13;
static void *abandoned[MAX_ABANDONED];
static uint32_t n_abandoned;
static __thread struct {
    struct {
        void *handle;
        uintptr_t sp; /* of the callback: where the stack was; or CAUGHT */
    } pin[MAX_PINS];
    uint32_t n;
} pins AT_FIXED_PLACE;

void pins_init(void *info)
{
    if (arena.header->runtime_major < 9 || com_query(info, &IID_INFO13, &info13) < 0)
        info13 = NULL;
}

static void destroy(void *handle)
{
    SLOT(info13, INFO_DESTROY_HANDLE, void *)(info13, handle);
}

static void destroy_abandoned(void)
{
    for (;;) {
        arena_lock();
        void *handle = n_abandoned == 0 ? NULL : abandoned[n_abandoned - 1];
        if (handle != NULL)
            __atomic_store_n(&n_abandoned, n_abandoned - 1, __ATOMIC_RELAXED);
        arena_unlock();
        if (handle == NULL)
            return;
        destroy(handle);
    }
}

/* What was thrown further down the stack was handled, by native code or without a word. */
void pins_thrown(uintptr_t object)
{
    uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    void *handle = NULL;
    if (info13 == NULL)
        return;
    while (pins.n > 0 && (pins.pin[pins.n - 1].sp <= sp || (pins.pin[pins.n - 1].sp & CAUGHT) != 0))
        destroy(pins.pin[--pins.n].handle);
    if (__atomic_load_n(&n_abandoned, __ATOMIC_RELAXED) != 0)
        destroy_abandoned();
    if (pins.n == MAX_PINS ||
        SLOT(info13, INFO_CREATE_HANDLE, uintptr_t, uint32_t, void **)(info13, object, HANDLE_PINNED, &handle) < 0 || handle == NULL)
        return;
    pins.pin[pins.n].handle = handle;
    pins.pin[pins.n++].sp = sp;
}

/* The runtime takes the exception out of its variable when the callback has returned. */
void pins_catch(void)
{
    if (pins.n > 0)
        pins.pin[pins.n - 1].sp |= CAUGHT;
}

void pins_caught(void)
{
    if (pins.n > 0 && (pins.pin[pins.n - 1].sp & CAUGHT) != 0)
        destroy(pins.pin[--pins.n].handle);
}

/* The runtime does not know the thread any more, so another one destroys its handles. */
void pins_thread_ended(void)
{
    arena_lock();
    for (; pins.n > 0 && n_abandoned < MAX_ABANDONED; __atomic_store_n(&n_abandoned, n_abandoned + 1, __ATOMIC_RELAXED))
        abandoned[n_abandoned] = pins.pin[--pins.n].handle;
    arena_unlock();
    pins.n = 0;
}
