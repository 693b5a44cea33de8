/* Garbage collections and heap snapshots that somebody asks for while the program runs (clrprof ctl).
 *
 * Problem: a program that waits has no events in which the agent could look whether it is asked for something, and the
 * runtime refuses ForceGC on threads that run managed code.
 *
 * Idea: a thread of the agent's own sleeps in the kernel until the collector, which has the control file mapped as well,
 * wakes it: a futex. Otherwise it runs only where probes can be taken out of the code, once a second (rejit.c). Each collection has a thread of its own, since the runtime makes that one
 * of its threads, and takes no second one from it. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"
#include "control/recording_state.h"
#include "probes/rejit.h"
#include "heap/heap_snapshot.h"
#include "threads/threads.h"
#include "control/collector_watch.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 500000000 /* between two looks whether the collector is still there */
#define SECOND_NS UINT64_C(1000000000)
#define TRIES 2u /* ForceGC is content with a collection that another thread has begun: the next is one that begins now */

static const struct wire_control_header *file;
static void *info;
static uint32_t seen; /* the last request that was there before, or was dealt with */

static void *collect(void *unused)
{
    (void)unused;
    uint32_t made = arena.header->snapshots;
    bool snapshot = file->request == WIRE_REQUEST_SNAPSHOT, forced = false;
    if (snapshot)
        snapshot_ask(true);
    for (uint32_t i = 0; i < TRIES && (!forced || (snapshot && arena.header->snapshots == made)); i++)
        forced = ((hresult(*)(void *))(*(void *const *const *)info)[INFO_FORCE_GC])(info) >= 0 || forced;
    if (snapshot)
        snapshot_ask(false);
    if (forced)
        __atomic_fetch_add(&arena.header->forced, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void answer(void)
{
    pthread_t thread;
    if (recording_is_over() || arena.header->state != WIRE_STATE_RECORDING || pthread_create(&thread, NULL, collect, NULL) != 0)
        return;
    pthread_join(thread, NULL);
}

/* Sleeps until the number of requests is another one, or so long; NULL: without limit. False: the kernel refuses. */
static bool sleep_while(uint32_t n, const struct timespec *longest)
{
    return syscall(SYS_futex, &file->requests, FUTEX_WAIT, n, longest, NULL, 0) == 0 || errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT;
}

/* A request; false: it is the last one. */
static bool deal_with(uint32_t n)
{
    uint32_t pid = file->request_pid;
    bool ours = pid == 0 || pid == arena.header->pid, last = ours && file->request == WIRE_REQUEST_DETACH;
    if (ours && !last)
        answer();
    __atomic_store_n(&arena.header->answered, n, __ATOMIC_RELEASE);
    return !last;
}

static void *wait_for_requests(void *unused)
{
    struct timespec look = {(time_t)(rejit_look_ns() / SECOND_NS), (long)(rejit_look_ns() % SECOND_NS)};
    while (!recording_is_over()) {
        uint32_t n = __atomic_load_n(&file->requests, __ATOMIC_ACQUIRE);
        if (rejit_is_on())
            rejit_look();
        if (n == seen) {
            if (!sleep_while(n, rejit_is_on() ? &look : NULL))
                break; /* who asks gets no answer */
            continue;
        }
        deal_with(seen = n);
    }
    return unused;
}

void requests_begin(void *profiler_info)
{
    info = profiler_info;
    if ((file = control_file()) != NULL)
        arena.header->answered = seen = __atomic_load_n(&file->requests, __ATOMIC_ACQUIRE);
}

bool requests_let_go(void)
{
    return (__atomic_load_n(&file->requests, __ATOMIC_ACQUIRE) != seen && file->request == WIRE_REQUEST_DETACH) || watch_collector_is_gone();
}

void requests_serve(void)
{
    static const struct timespec longest = {0, LOOK_NS};
    uint32_t n;
    do {
        while ((n = __atomic_load_n(&file->requests, __ATOMIC_ACQUIRE)) == seen)
            if (!sleep_while(n, &longest) || watch_collector_is_gone())
                return;
    } while (deal_with(seen = n));
}

void requests_init(void *profiler_info)
{
    requests_begin(profiler_info);
    if (file != NULL) /* else nobody asks */
        thread_start(wait_for_requests); /* else who asks gets no answer */
}
