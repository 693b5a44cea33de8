/* The state of each thread: its cached stack and the index of its sites. It is made at the thread's first allocation
 * and goes to a free list when the thread ends, so that thousands of short threads need the memory of those that
 * live at the same time. */
#define _GNU_SOURCE
#include "agent.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIRST_FRAMES 128u
#define FIRST_SITES 64u
#define KEPT_SITES 4096u /* a bigger index is not kept for the next thread: clearing it would cost more */

__thread struct thread *current_thread __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static bool have_key;
static struct thread *free_threads;
static struct thread *all_threads;
static uint32_t last_thread_id;
static __thread uint32_t current_number __attribute__((tls_model("initial-exec")));

extern void *agent_info;

static void thread_ended(void *value)
{
    (void)value;
    struct thread *t = current_thread;
    time_thread_ended();
    current_thread = NULL;
    current_number = 0;
    if (t == NULL)
        return;
    arena_lock();
    t->next_free = free_threads;
    free_threads = t;
    arena_unlock();
}

bool threads_init(void)
{
    have_key = pthread_key_create(&end_key, thread_ended) == 0;
    return have_key;
}

void threads_close(void)
{
    if (have_key)
        pthread_key_delete(end_key);
    have_key = false;
}

static uint64_t frames_bytes(uint32_t cap_frames, uint32_t cap_skips)
{
    return 2 * (cap_frames * sizeof(struct frame) + cap_skips * sizeof(struct skip));
}

/* Splits one block into the four arrays of a thread. */
static void place_arrays(struct thread *t, uint8_t *block, uint32_t cap_frames, uint32_t cap_skips)
{
    t->frames = (struct frame *)(void *)block;
    t->walk = t->frames + cap_frames;
    t->skips = (struct skip *)(void *)(t->walk + cap_frames);
    t->walk_skips = t->skips + cap_skips;
    t->cap_frames = cap_frames;
    t->cap_skips = cap_skips;
}

bool thread_grow(struct thread *t)
{
    uint32_t cap_frames = 2 * t->cap_frames, cap_skips = 2 * t->cap_skips;
    if (cap_frames > MAX_FRAMES)
        return false;
    uint8_t *block = private_alloc(frames_bytes(cap_frames, cap_skips));
    if (block == NULL)
        return false;
    struct thread old = *t;
    place_arrays(t, block, cap_frames, cap_skips);
    memcpy(t->frames, old.frames, old.n_frames * sizeof(struct frame));
    memcpy(t->walk, old.walk, old.cap_frames * sizeof(struct frame));
    memcpy(t->skips, old.skips, old.n_skips * sizeof(struct skip));
    memcpy(t->walk_skips, old.walk_skips, old.cap_skips * sizeof(struct skip));
    private_free(old.frames, frames_bytes(old.cap_frames, old.cap_skips));
    return true;
}

static struct thread *reuse_thread(void)
{
    arena_lock();
    struct thread *t = free_threads;
    if (t != NULL)
        free_threads = t->next_free;
    arena_unlock();
    if (t != NULL)
        map_clear(&t->sites, KEPT_SITES);
    return t;
}

static struct thread *make_thread(void)
{
    struct thread *t = private_alloc(sizeof *t);
    uint8_t *block = private_alloc(frames_bytes(FIRST_FRAMES, FIRST_FRAMES));
    if (t == NULL || block == NULL || !map_init(&t->sites, FIRST_SITES, false)) {
        if (t != NULL)
            private_free(t, sizeof *t);
        if (block != NULL)
            private_free(block, frames_bytes(FIRST_FRAMES, FIRST_FRAMES));
        return NULL;
    }
    place_arrays(t, block, FIRST_FRAMES, FIRST_FRAMES);
    arena_lock();
    t->next = all_threads;
    __atomic_store_n(&all_threads, t, __ATOMIC_RELEASE);
    arena_unlock();
    return t;
}

struct thread *thread_of_id(uint32_t id)
{
    struct thread *t = __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE);
    while (t != NULL && t->id != id)
        t = t->next;
    return t;
}

struct thread *thread_after(const struct thread *t)
{
    return t == NULL ? __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE) : t->next;
}

static void find_stack(struct thread *t)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    t->stack_low = t->stack_high = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        /* For the main thread libc reads /proc, which can fail. The kernel puts random bytes above its first frame. */
        if (syscall(SYS_gettid) == getpid())
            t->stack_high = getauxval(AT_RANDOM) & ~(uintptr_t)15;
        return;
    }
    if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
        t->stack_low = (uintptr_t)low;
        t->stack_high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

uint32_t thread_number(void)
{
    if (current_number != 0)
        return current_number;
    struct {
        uint32_t id, os_id;
        uint64_t managed, begin_ns;
    } record = {0, (uint32_t)syscall(SYS_gettid), 0, monotonic_ns()};
    uintptr_t managed = 0;
    if (SLOT(agent_info, INFO_GET_CURRENT_THREAD_ID, uintptr_t *)(agent_info, &managed) >= 0)
        record.managed = managed;
    arena_lock();
    record.id = last_thread_id + 1;
    if (arena_log(WIRE_RECORD_THREAD, &record, sizeof record))
        arena.header->threads = current_number = ++last_thread_id;
    arena_unlock();
    if (current_number != 0)
        pthread_setspecific(end_key, &end_key); /* any value but NULL: this thread's end is of interest */
    return current_number;
}

struct thread *thread_attach(void)
{
    struct thread *t = reuse_thread();
    if (t == NULL && (t = make_thread()) == NULL)
        return NULL;
    t->n_frames = t->n_skips = 0;
    t->root = 0;
    t->last_class = 0;
    t->busy = false;
    t->epoch = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
    memset(t->classes, 0, sizeof t->classes);
    forget_ips(t);
    t->id = thread_number();
    if (t->id == 0) {
        arena_lock();
        t->next_free = free_threads;
        free_threads = t;
        arena_unlock();
        return NULL;
    }
    find_stack(t); /* slow on the main thread, so not before it is worth it */
    current_thread = t;
    return t;
}

void thread_destroyed(uintptr_t managed)
{
    uint64_t record[2] = {managed, monotonic_ns()};
    arena_lock();
    bool written = arena_log(WIRE_RECORD_THREAD_END, record, sizeof record);
    arena_unlock();
    if (!written)
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
}

void thread_named(uintptr_t managed, const utf16 *name, uint32_t length)
{
    struct {
        uint64_t managed;
        uint32_t length;
        utf16 name[WIRE_MAX_NAME];
    } record = {managed, length, {0}};
    if (length > WIRE_MAX_NAME) {
        loss(WIRE_LOSS_NAME_TRUNCATED, 0, 0);
        record.length = length = WIRE_MAX_NAME;
    }
    if (length != 0)
        memcpy(record.name, name, length * sizeof(utf16));
    arena_lock();
    bool written = arena_log(WIRE_RECORD_THREAD_NAME, &record, (uint32_t)(offsetof(__typeof__(record), name) + length * sizeof(utf16)));
    arena_unlock();
    if (!written)
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
}
