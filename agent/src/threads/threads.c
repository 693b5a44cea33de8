/* The state of each thread: its cached stack and the index of its sites. It is made at the thread's first allocation
 * and goes to a free list when the thread ends, so that thousands of short threads need the memory of those that
 * live at the same time; or to the thread's set (thread_sets.c). */
#define _GNU_SOURCE
#include "core/arena.h"
#include "control/recording_state.h"
#include "core/hash_map.h"
#include "core/recording.h"
#include "threads/thread_sets.h"
#include "threads/threads.h"
#include "control/collector_watch.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef FIRST_FRAMES
#define FIRST_FRAMES 128u /* a power of two; tests have less room at first */
#endif
#define FIRST_SITES 64u
#define KEPT_SITES 4096u /* a bigger index is not kept for the next thread: clearing it would cost more */

__thread struct thread *current_thread AT_FIXED_PLACE;

static pthread_key_t end_key;
static bool have_key;
static struct thread *free_threads;
static struct thread *all_threads;
static __thread struct thread_set *current_set AT_FIXED_PLACE;
static __thread uint32_t current_number AT_FIXED_PLACE;

/* In dormant processes, the threads that have any of these: their variables are in the memory of each, and outlast a recording. They lie
 * as far from each other in all threads. */
#define OWN_STACK_BYTES (256u << 10) /* of a thread of the agent's own: what threads of the C library have is in it, too */
static KEPT uint32_t known_lock;
static KEPT struct known *known_threads;
static __thread struct known { /* place: NULL, it is not among them */
    struct known *next, **place;
} known AT_FIXED_PLACE;

/* This thread's end is of interest from now on, and in dormant processes its variables are. Not without the other: those of a
 * thread that has ended are nobody's. False: they cannot be. */
static bool know_thread(void)
{
    if (pthread_setspecific(end_key, &end_key) != 0) /* any value but NULL */
        return !dormant_on;
    if (!dormant_on)
        return true;
    word_lock(&known_lock);
    if (known.place == NULL) {
        known.next = known_threads;
        known.place = &known_threads;
        known_threads = &known;
        if (known.next != NULL)
            known.next->place = &known.next;
    }
    word_unlock(&known_lock);
    return true;
}

bool thread_is_known(void)
{
    return !dormant_on || known.place != NULL;
}

static void forget_known(struct known *k)
{
    if (k->place == NULL)
        return;
    *k->place = k->next;
    if (k->next != NULL)
        k->next->place = k->place;
    k->place = NULL;
}

void threads_forget(void)
{
    word_lock(&known_lock);
    while (known_threads != NULL) {
        struct known *k = known_threads;
        ptrdiff_t distance = (uint8_t *)k - (uint8_t *)&known;
        *(struct thread **)variable_of_thread(&current_thread, distance) = NULL;
        *(struct thread_set **)variable_of_thread(&current_set, distance) = NULL;
        *(uint32_t *)variable_of_thread(&current_number, distance) = 0;
        control_forget_thread(distance);
        thread_hooks.forgotten(distance);
        forget_known(k);
    }
    word_unlock(&known_lock);
    threads_close();
}

void thread_forked(void)
{
    current_thread = NULL;
    current_set = NULL;
    thread_hooks.forked();
}

bool thread_start(void *(*run)(void *))
{
    sigset_t all, old;
    pthread_attr_t attributes;
    pthread_t thread;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, OWN_STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(&thread, &attributes, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static void end_thread(void)
{
    struct thread *t = current_thread;
    struct thread_set *set = current_set;
    thread_hooks.ended(set == NULL ? NULL : &set->timer);
    control_thread_ends();
    current_thread = NULL;
    current_set = NULL;
    current_number = 0;
    if (t != NULL)
        __atomic_store_n(&t->id, 0, __ATOMIC_RELAXED); /* it may be that of another thread now */
    arena_lock();
    if (set != NULL) {
        if (t != NULL)
            set->thread = t;
        thread_set_leave(set);
    } else if (t != NULL) {
        t->next_free = free_threads;
        free_threads = t;
    }
    arena_unlock();
}

/* Its variables are gone soon, whatever is recorded. */
static void thread_ended(void *value)
{
    (void)value;
    if (dormant_on) {
        word_lock(&known_lock);
        forget_known(&known);
        word_unlock(&known_lock);
    }
    if (visit_begin()) {
        end_thread();
        visit_end();
    }
}

bool threads_init(void)
{
    have_key = pthread_key_create(&end_key, thread_ended) == 0;
    return have_key && thread_sets_init();
}

void threads_close(void)
{
    if (have_key)
        pthread_key_delete(end_key);
    have_key = false;
    thread_sets_close();
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
    memcpy(t->skips, old.skips, old.n_skips * sizeof(struct skip));
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

static struct thread *make_state(void)
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
    return t;
}

static struct thread *make_thread(void)
{
    struct thread *t = make_state();
    if (t == NULL)
        return NULL;
    arena_lock();
    t->next = all_threads;
    __atomic_store_n(&all_threads, t, __ATOMIC_RELEASE);
    arena_unlock();
    return t;
}

struct thread *thread_walker(void)
{
    struct thread *t = make_state();
    if (t == NULL)
        return NULL;
    t->is_walker = true;
    t->epoch = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
    forget_ips(t);
    return t;
}

struct thread *thread_of_id(uint32_t id)
{
    struct thread *t = __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE);
    while (t != NULL && __atomic_load_n(&t->id, __ATOMIC_RELAXED) != id)
        t = t->next;
    return t;
}

struct thread *thread_after(const struct thread *t)
{
    return t == NULL ? __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE) : t->next;
}

/* Of the main thread's stack musl says how much is mapped by now. It can grow up to its limit. */
static void grow_main_stack(uintptr_t *low, uintptr_t high)
{
    struct rlimit limit;
    if (syscall(SYS_gettid) != getpid() || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= high)
        return;
    if (high - limit.rlim_cur < *low)
        *low = high - limit.rlim_cur;
}

void thread_find_stack(uintptr_t *low, uintptr_t *high)
{
    pthread_attr_t attributes;
    void *at = NULL;
    size_t size = 0;
    *low = *high = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        /* For the main thread libc reads /proc, which can fail. The kernel puts random bytes above its first frame. */
        if (syscall(SYS_gettid) == getpid())
            *high = getauxval(AT_RANDOM) & ~(uintptr_t)15;
        return;
    }
    if (pthread_attr_getstack(&attributes, &at, &size) == 0) {
        *low = (uintptr_t)at;
        *high = (uintptr_t)at + size;
        grow_main_stack(low, *high);
    }
    pthread_attr_destroy(&attributes);
}

uint32_t thread_number(void)
{
    if (current_number != 0)
        return current_number;
    watch_look();
    if (recording_is_over() || !know_thread())
        return 0;
    struct {
        uint32_t id, os_id;
        uint64_t managed, begin_ns;
    } record = {0, (uint32_t)syscall(SYS_gettid), 0, monotonic_ns()};
    uintptr_t managed = 0;
    if (SLOT(agent_info, INFO_GET_CURRENT_THREAD_ID, uintptr_t *)(agent_info, &managed) >= 0)
        record.managed = managed;
    arena_lock();
    record.id = arena.header->threads + 1;
    if (threads_fold()) {
        current_set = thread_set_join(managed, record.id, record.os_id);
        current_number = current_set == NULL ? 0 : current_set->row->thread;
    } else if (arena_log(WIRE_RECORD_THREAD, &record, sizeof record)) {
        arena.header->threads = current_number = record.id;
        thread_own(managed);
    }
    arena_unlock();
    if (current_number != 0)
        control_thread_begins(record.os_id);
    return current_number;
}

struct thread_set *thread_own_set(void)
{
    return current_set;
}

/* A state without sites, or that which the thread before in the same set left. */
static struct thread *take_thread(void)
{
    struct thread *t = current_set == NULL ? NULL : current_set->thread;
    if (t != NULL) {
        current_set->thread = NULL;
        return t;
    }
    if ((t = reuse_thread()) == NULL && (t = make_thread()) == NULL)
        return NULL;
    t->oldest = (uint32_t)(__atomic_load_n(&arena.header->regions[WIRE_REGION_SITES].used, __ATOMIC_ACQUIRE) / sizeof(struct wire_site));
    t->indexed = current_set != NULL;
    return t;
}

struct thread *thread_attach(void)
{
    uint32_t id = thread_number();
    struct thread *t = id == 0 ? NULL : take_thread();
    if (t == NULL)
        return NULL;
    thread_hooks.begun(t);
    t->root = 0;
    t->busy = false;
    t->control = CONTROL_UNKNOWN; /* that of another thread means nothing */
    t->epoch = __atomic_load_n(&code_epoch, __ATOMIC_ACQUIRE);
    memset(t->classes, 0, sizeof t->classes);
    forget_ips(t);
    __atomic_store_n(&t->id, id, __ATOMIC_RELAXED);
    thread_find_stack(&t->stack_low, &t->stack_high); /* slow on the main thread, so not before it is worth it */
    current_thread = t;
    return t;
}

void thread_destroyed(uintptr_t managed)
{
    uint64_t record[2] = {managed, monotonic_ns()};
    arena_lock();
    bool written = (threads_fold() && !thread_is_own(managed)) || arena_log(WIRE_RECORD_THREAD_END, record, sizeof record);
    thread_forget(managed);
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
    uint32_t bytes = (uint32_t)(offsetof(__typeof__(record), name) + length * sizeof(utf16));
    uint64_t hash = thread_name_hash(record.name, length);
    arena_lock();
    uint64_t at = arena.header->regions[WIRE_REGION_LOG].used + 1;
    bool needed = thread_name_needed(managed, hash), written = needed && arena_log(WIRE_RECORD_THREAD_NAME, &record, bytes);
    thread_name_reported(managed, hash, written ? at : 0);
    arena_unlock();
    if (needed && !written)
        loss(WIRE_LOSS_ARENA_FULL, 0, 0);
}
