/* Garbage collections and heap snapshots that somebody asks for while the program runs (clrprof ctl).
 *
 * Problem: a program that waits has no events in which the agent could look whether it is asked for something, and the
 * runtime refuses ForceGC on threads that run managed code.
 *
 * Idea: a thread of the agent's own sleeps in the kernel until the collector, which has the control file mapped as well,
 * wakes it: a futex. It never runs otherwise. Each collection has a thread of its own, since the runtime makes that one
 * of its threads, and takes no second one from it. */
#define _GNU_SOURCE
#include "arena.h"
#include "control.h"
#include "snapshot.h"
#include "watch.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10) /* of the thread that waits: what threads of the C library have is in it, too */
#define TRIES 2u /* ForceGC is content with a collection that another thread has begun: the next is one that begins now */

static const struct wire_control_header *file;
static void *info;

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

static void *wait_for_requests(void *unused)
{
    uint32_t seen = arena.header->answered;
    while (!recording_is_over()) {
        uint32_t n = __atomic_load_n(&file->requests, __ATOMIC_ACQUIRE), pid = file->request_pid;
        if (n == seen) {
            if (syscall(SYS_futex, &file->requests, FUTEX_WAIT, n, NULL, NULL, 0) != 0 && errno != EAGAIN && errno != EINTR)
                break; /* it is refused: who asks gets no answer */
            continue;
        }
        if (pid == 0 || pid == arena.header->pid)
            answer();
        seen = n;
        __atomic_store_n(&arena.header->answered, n, __ATOMIC_RELEASE);
    }
    return unused;
}

void requests_init(void *profiler_info)
{
    sigset_t all, old;
    pthread_attr_t attributes;
    pthread_t thread;
    info = profiler_info;
    file = control_file();
    if (file == NULL)
        return; /* nobody asks */
    arena.header->answered = __atomic_load_n(&file->requests, __ATOMIC_ACQUIRE);
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_create(&thread, &attributes, wait_for_requests, NULL); /* else who asks gets no answer */
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}
