/* Ends the recording when its collector has ended: is the collector still reading the arena?
 *
 * Problem: build servers and other daemons outlive the clrprof that started them. Nobody would read what they count, and
 * their memory would grow for nothing.
 *
 * Idea: the collector holds a lock on the arenas' directory (flock), which the kernel releases however it ends; a lock is the
 * same in every container and PID namespace. When it ends as it should, it also removes the arena, whose number of
 * names is 0 then, which is seen where the path means nothing. The agent looks now and then, where it is slow anyway: at a
 * garbage collection, at the first event of a thread, at some of the allocations and calls that take the slow way.
 *
 * When nobody is there, it stops in two steps. At once: the warm paths end (code_epoch), nothing is counted any more, the
 * runtime is asked to call no more than it must, and the memory is given back. Its addresses stay, since other threads may be
 * in the middle of counting: what they find are zeros, at which every chain ends. Only hooks of calls need what they know, so
 * with time that stays until the runtime has stopped all threads the next time.
 *
 * A child that is forked and goes on without exec has all that the agent has, and what is shared is its parent's. There the recording
 * is over from the start: the child gets a copy of the arena of its own before it runs anything, and records nothing. If it runs
 * managed code, the agent leaves a note, once, that a process is not recorded.
 *
 * What a killed collector left can still be read (`clrprof recover`) until the next one removes it. So the arena itself is given
 * back when it has no name any more, which is looked at whenever the runtime has stopped all threads. */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"
#include "control/lifecycle.h"
#include "os/own_time.h"
#include "control/collector_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOOK_NS UINT64_C(500000000) /* between two looks, which take some microseconds */
#define MAX_PATH 4096u
#define MAX_NOTED_FORKS 1000u /* children of one process that are named: each is a file, and a row of the session */

extern void *agent_info;

static char directory[MAX_PATH];
static bool watching, hooks_ended, given_back; /* the last two are of the thread that stops the others */
static uint64_t next_look_ns;

static bool set_directory(const char *arenas)
{
    if (strlen(arenas) + 8 > sizeof directory)
        return false;
    strcpy(directory, arenas);
    return true;
}

/* 1: somebody holds the lock, 0: nobody does, -1: it cannot be known. */
static int is_locked(void)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -1;
    int rc = flock(fd, LOCK_SH | LOCK_NB), error = errno;
    close(fd);
    return rc == 0 ? 0 : error == EWOULDBLOCK ? 1 : -1;
}

bool watch_begin(const char *arenas)
{
    const char *wanted = getenv("CLRPROF_COLLECTOR");
    if (wanted == NULL || *wanted == 0 || !set_directory(arenas))
        return true; /* whoever reads does not say that it is there */
    watching = true;
    return is_locked() != 0;
}

bool watch_collector(const char *arenas)
{
    return set_directory(arenas) && is_locked() == 1;
}

bool watch_collector_is_gone(void)
{
    return arena_is_nameless() || is_locked() == 0;
}

/* ── forked children ────────────────────────────────────────────────────────────────────────────────────────── */

static bool is_child;
static uint32_t forks, parent; /* how often the process was forked; in a child: the parent's id, until it is noted */

/* When the child runs managed code first. The collector shows the process, which is named as its parent, and why nothing of it is there. */
static void note_forked(void)
{
    if (parent == 0)
        return; /* it is noted, or it is not named */
    char name[MAX_PATH + 64], text[16];
    int saved_errno = errno;
    int n = snprintf(name, sizeof name, "%s/%u-%llx.forked.failed", directory, (unsigned)getpid(), (unsigned long long)monotonic_ns());
    int length = snprintf(text, sizeof text, "%u", (unsigned)parent);
    parent = 0;
    int fd = *directory == 0 || n < 0 || (size_t)n >= sizeof name ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        if (write(fd, text, (size_t)length) != length) {
            /* then its parent is not known */
        }
        close(fd);
    }
    errno = saved_errno;
}

static void prepare_fork(void)
{
    __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
}

/* In the child, whose only thread this is. */
static void begin_child(void)
{
    int saved_errno = errno;
    if (arena.base != NULL && arena.owner != NULL && !recording_is_over()) {
        parent = forks <= MAX_NOTED_FORKS ? arena.header->pid : 0;
        is_child = true;
        recording_end(note_forked);
        arena_forked();
        lifecycle_hooks.forked();
    }
    errno = saved_errno;
}

/* What glibc's pthread_atfork calls, which is linked into each library; the last argument is the library that the functions go with: this
 * one stays. */
#ifdef CLRPROF_MUSL
int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((weak));
#define CAN_WATCH (pthread_atfork != NULL)
#define WATCH_FORKS(prepare, child) pthread_atfork(prepare, NULL, child)
#else
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
#define CAN_WATCH (__register_atfork != NULL)
#define WATCH_FORKS(prepare, child) __register_atfork(prepare, NULL, child, NULL)
#endif

void watch_forks(void)
{
    static KEPT bool watched;
    if (!watched && CAN_WATCH)
        watched = WATCH_FORKS(prepare_fork, begin_child) == 0;
}

static void stop(void)
{
    if (!recording_end(NULL))
        return;
    arena_let_go();
    __atomic_add_fetch(&code_epoch, 1, __ATOMIC_RELEASE);
    lifecycle_hooks.stop_events((agent_event_mask & IMMUTABLE_EVENTS) | MONITOR_SUSPENDS);
    (void)SLOT(agent_info, INFO_SET_EVENT_MASK2, uint32_t, uint32_t)(agent_info, (agent_event_mask & IMMUTABLE_EVENTS) | MONITOR_SUSPENDS, 0);
    lifecycle_hooks.let_go();
    if (arena_is_nameless())
        arena_give_back_all((arena.header->data & WIRE_DATA_TIME) != 0);
}

void watch_look(void)
{
    if (!watching || recording_is_over() || !arena_is_ours())
        return;
    int saved_errno = errno;
    time_own_calls();
    uint64_t now = monotonic_ns(), next = __atomic_load_n(&next_look_ns, __ATOMIC_RELAXED);
    if (now >= next && __atomic_compare_exchange_n(&next_look_ns, &next, now + LOOK_NS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        watch_collector_is_gone())
        stop();
    time_leave_out_calls();
    errno = saved_errno;
}

/* All threads have stopped: none is inside a hook. */
hresult watch_suspended(void *self)
{
    (void)self;
    if (!recording_is_over() || given_back || is_child)
        return HR_OK;
    if (!hooks_ended) {
        __atomic_add_fetch(&code_epoch, 1, __ATOMIC_RELEASE); /* for a thread that was about to become warm */
        lifecycle_hooks.give_back();
    }
    hooks_ended = true;
    if (!arena_is_nameless())
        return HR_OK;
    arena_give_back_all(false);
    given_back = true;
    (void)SLOT(agent_info, INFO_SET_EVENT_MASK2, uint32_t, uint32_t)(agent_info, agent_event_mask & IMMUTABLE_EVENTS, 0);
    return HR_OK;
}
