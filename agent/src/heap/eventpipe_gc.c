/* Events of the runtime's own tracing (EventPipe), which make garbage collections shorter.
 *
 * Problem: with COR_PRF_MONITOR_GC the runtime walks all of generation 0 at the start of each garbage collection and
 * counts its objects by class in a table of 32 buckets, for a callback that nobody here wants (ObjectsAllocatedByClass).
 * That is most of a pause: 7 ms become 90 with ten classes and 5,000 with three thousand.
 *
 * Idea: the runtime looks at the flag twice. Right after GarbageCollectionStarted has returned, to decide about that
 * walk; and when survivors are known, to decide whether they are reported (DiagGCStart, DiagWalkSurvivors in gcenv.ee.cpp).
 * In between, on the same thread, it writes the event GCStart, which a synchronous session of EventPipe delivers at
 * once. So GarbageCollectionStarted clears the flag, and the first event on that thread sets it again. The flag is only
 * cleared if the session is known to live, by an event since the threads were stopped for this very collection, and if the
 * collector is known to get events, by its event GCTriggered: the runtime turns them on for its own code first and informs the
 * collector a moment later, in which a collection can begin. If no event came, then GarbageCollectionFinished finds the flag cleared: the survivors were not reported, which is a
 * loss (COR_PRF_HIGH_BASIC_GC has it called all the same), and from then on collections are as they were.
 *
 * The end: the runtime shuts EventPipe down before the profiler. The agent has a provider of its own, in a session of its
 * own, older than that of the events; sessions are stopped in the order of their age, each notifies its providers. So the
 * agent hears of the end while events still come, and has its last collection then, which keeps finalizers from running
 * (reachable.c). Once it heard, no flag is cleared.
 *
 * A process that is recorded later, and again, has no such provider, which could not be taken back: if the process ends while it is
 * recorded, its last collection comes after EventPipe's end, and walks. When the recording ends, so does the session.
 *
 * What it costs: a thread, and a fraction of a millisecond, if the managed sources of events are not told of the session
 * (managed_events.c). Where they are, the runtime describes its events to itself, which takes a tenth of a second and thousands
 * of objects. So there is a session only if collections may take long (EVENTS_CHUNKS, MANY_TYPES) or happen, and a
 * thread of the agent's own starts it: whatever is allocated and called on that thread is not the program's, and is left
 * out and counted. What has a finalizer of it is kept from that (reachable.c): finalizers make objects on the program's thread.
 *
 * The runtime must have ICorProfilerInfo12 (.NET 5) for events and ICorProfilerInfo14 (.NET 8) for the end; without, or
 * if it refuses, it walks. .NET 11 need not be tricked: it has a flag for it (dotnet/runtime#123177). */
#define _GNU_SOURCE
#include "core/arena.h"
#include "core/recording.h"
#include "calls/calls.h"
#include "heap/allocation_samples.h"
#include "heap/eventpipe_gc.h"
#include "heap/managed_events.h"
#include "heap/object_tracking.h"
#include "heap/reachable.h"
#include "heap/sample_event.h"
#include "threads/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define EVENT_SUSPEND_END 8u /* GCSuspendEEEnd_V1 */
#define EVENT_SUSPEND_BEGIN 9u /* GCSuspendEEBegin_V1 */
#define EVENT_TRIGGERED 35u /* GCTriggered: the first of a collection that the collector itself writes */
#define KEYWORD_GC 1u
#define KEYWORD_SAMPLED UINT64_C(0x80000000000) /* of AllocationSampled, since .NET 10 */
#define LEVEL_INFORMATIONAL 4u
#define LEVEL_VERBOSE 5u /* of AllocationTick */
#define RANDOM_SINCE 10u /* the version of .NET that has AllocationSampled */
#define OWN_KEYWORD 1u
#define LONGEST_WAIT_NS UINT64_C(2000000000)
/* A program without managed sources (EventSource.IsSupported) is past its start when it has computed for so long. Not when so much time
 * has passed: on a busy machine that can be before it has any, and what these allocate would be the program's. */
#define STARTUP_NS UINT64_C(1000000000)

enum { REGISTERED_RUNTIME = 1, REGISTERED_ALL };

static const utf16 runtime_name[] = u"Microsoft-Windows-DotNETRuntime";

static void *info;
static uint32_t low, high; /* the mask while no collection begins */
static uint32_t wanted = 1; /* the session is started, or never will be */
static uint32_t asked;      /* it would be of use */
static uint32_t registered; /* how far the managed sources of events are, see provider_created */
static uint32_t clearing;  /* 1: a collection has cleared the flag, or is about to */
static uint32_t closing;   /* 1: EventPipe ends */
static uint32_t too_late;  /* 1: EventPipe has ended */
static uint32_t living;    /* 1: an event came since threads were stopped for a collection */
static uint32_t triggered; /* 1: the collector said that there will be a collection, since the last one */
static uintptr_t cleared_by; /* thread that cleared the flag, 0: it is set */
static uint32_t running; /* threads of the agent's own that start or stop a session */
static uint64_t session; /* of the collector's events, 0: none */
static uint64_t keywords = KEYWORD_GC;
static uint32_t level = LEVEL_INFORMATIONAL;
static __thread bool own_thread AT_FIXED_PLACE;

uint32_t events_init(void *profiler_info, uint32_t low_mask, uint32_t high_mask)
{
    void *info12 = NULL;
    low = low_mask;
    high = high_mask;
    if ((low & MONITOR_GC) == 0 || com_query(profiler_info, &IID_INFO12, &info12) < 0 || info12 == NULL)
        return high;
    info = profiler_info;
    high |= HIGH_MONITOR_EVENT_PIPE | HIGH_BASIC_GC;
    if (arena.header->runtime_major >= SKIPS_SINCE)
        high |= HIGH_MONITOR_GC_SKIP_ALLOCATED_BY_CLASS;
    else
        wanted = 0;
    return high;
}

void events_stop(uint32_t low_mask)
{
    low = low_mask;
    high = 0;
    __atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&closing, 1, __ATOMIC_SEQ_CST);
}

static bool set_flag(bool on)
{
    return SLOT(info, INFO_SET_EVENT_MASK2, uint32_t, uint32_t)(info, on ? low : low & ~MONITOR_GC, high) >= 0;
}

static void restore(void)
{
    if (!set_flag(true))
        return; /* the next event tries again */
    __atomic_store_n(&cleared_by, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&clearing, 0, __ATOMIC_SEQ_CST);
}

/* ── the session ────────────────────────────────────────────────────────────────────────────────────────────── */

static void note_event(uint32_t id)
{
    if (id == EVENT_SUSPEND_BEGIN || id == EVENT_SUSPEND_END)
        __atomic_store_n(&living, 1, __ATOMIC_RELEASE);
    if (id == EVENT_TRIGGERED)
        __atomic_store_n(&triggered, 1, __ATOMIC_RELEASE);
    if (__atomic_load_n(&cleared_by, __ATOMIC_ACQUIRE) == (uintptr_t)pthread_self())
        restore();
}

static hresult event_delivered(void *self, uintptr_t provider, uint32_t id, uint32_t version, uint32_t metadata_bytes, const uint8_t *metadata, uint32_t bytes,
                               const uint8_t *data)
{
    (void)self, (void)provider, (void)version, (void)metadata_bytes, (void)metadata; /* and five more */
    if (visit_begin()) {
        note_event(id);
        if (id == EVENT_ALLOCATION_SAMPLED || id == EVENT_ALLOCATION_TICK)
            samples_take(id, data, bytes, (uintptr_t)__builtin_frame_address(0));
        visit_end();
    }
    return HR_OK;
}

/* A collection that has cleared the flag gets its event still; the next one will not clear it. */
static void clear_no_more(void)
{
    __atomic_store_n(&closing, 1, __ATOMIC_SEQ_CST);
    uint64_t until = monotonic_ns() + LONGEST_WAIT_NS;
    while (__atomic_load_n(&clearing, __ATOMIC_SEQ_CST) != 0 && monotonic_ns() < until)
        sched_yield();
}

/* The provider learns that a session with it began or ended; the one session that has it ends with EventPipe. */
static void provider_changed(const uint8_t *source, uint32_t enabled)
{
    (void)source; /* and five more */
    if (enabled != 0)
        return;
    lifetime_end_early();
    clear_no_more();
    own_thread = true; /* the session of events ends next, and the managed twin hears of it */
    if (current_thread != NULL)
        current_thread->busy = true;
}

/* Its number, 0: it is refused. */
static uint64_t start_session(const struct clr_event_provider *provider)
{
    uint64_t made = 0;
    hresult hr = SLOT(info, INFO_EVENT_PIPE_START_SESSION, uint32_t, const struct clr_event_provider *, int32_t, uint64_t *)(info, 1, provider, 0, &made);
    return hr >= 0 ? made : 0;
}

static void *start(void *unused)
{
    static const utf16 own_name[] = u"clrprof";
    static const struct clr_event_provider own = {own_name, OWN_KEYWORD, LEVEL_INFORMATIONAL, NULL};
    const struct clr_event_provider runtime = {runtime_name, keywords, level, dormant_on ? NULL : MANAGED_EVENTS_MARK};
    void *info14 = NULL;
    uintptr_t provider = 0;
    own_thread = true;
    time_leave_out_thread();
    if (!dormant_on && com_query(info, &IID_INFO14, &info14) >= 0 && info14 != NULL &&
        SLOT(info, INFO_EVENT_PIPE_CREATE_PROVIDER2, const utf16 *, void *, uintptr_t *)(info, own_name, (void *)provider_changed, &provider) >= 0)
        start_session(&own); /* if it is refused, the last collection comes in Shutdown */
    session = start_session(&runtime);
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    return unused;
}

static void *stop(void *unused)
{
    own_thread = true;
    (void)SLOT(info, INFO_EVENT_PIPE_STOP_SESSION, uint64_t)(info, session);
    reachable_let_kept_go();
    __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    return unused;
}

/* Starts a thread that does this, and then is one less that is running. */
static void run(void *(*what)(void *))
{
    sigset_t blocked, old;
    pthread_attr_t attributes;
    pthread_t thread;
    /* Managed code runs on that thread: faults and the runtime's own signal must reach it, and no others. */
    static const int needed[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigfillset(&blocked);
    for (uint32_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        sigdelset(&blocked, needed[i]);
    sigdelset(&blocked, SIGRTMIN);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    if (pthread_create(&thread, &attributes, what, NULL) != 0) /* the runtime goes on walking, or the session stays */
        __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}

static void wait_for_running(void)
{
    static const struct timespec moment = {0, 1000000};
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) != 0)
        nanosleep(&moment, NULL);
}

static COLD void start_on_own_thread(void)
{
    if (__atomic_load_n(&asked, __ATOMIC_SEQ_CST) == 0 || __atomic_load_n(&registered, __ATOMIC_SEQ_CST) != REGISTERED_ALL ||
        __atomic_load_n(&too_late, __ATOMIC_SEQ_CST) != 0)
        return;
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST); /* before who closes can have looked */
    if (__atomic_exchange_n(&wanted, 1, __ATOMIC_SEQ_CST) == 0)
        run(start);
    else
        __atomic_fetch_sub(&running, 1, __ATOMIC_SEQ_CST);
}

void events_close(void)
{
    if (info == NULL)
        return;
    __atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
    clear_no_more();
    wait_for_running();
    if (session == 0)
        return;
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    run(stop);
    wait_for_running();
}

uint32_t events_sample(void *profiler_info, uint32_t low_mask, uint32_t high_mask, void **callbacks)
{
    void *info12 = NULL;
    bool random = arena.header->runtime_major >= RANDOM_SINCE;
    if (com_query(profiler_info, &IID_INFO12, &info12) < 0 || info12 == NULL || !samples_begin())
        return high_mask;
    info = profiler_info;
    low = low_mask;
    high = high_mask | HIGH_MONITOR_EVENT_PIPE;
    keywords |= random ? KEYWORD_SAMPLED : 0;
    level = random ? LEVEL_INFORMATIONAL : LEVEL_VERBOSE;
    arena.header->sampler = random ? WIRE_SAMPLER_RANDOM : WIRE_SAMPLER_TICKS;
    callbacks[CALLBACK_EVENT_DELIVERED] = (void *)event_delivered;
    return high;
}

bool events_sample_start(void)
{
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&wanted, 1, __ATOMIC_SEQ_CST);
    run(start);
    wait_for_running();
    return session != 0;
}

void events_never(void)
{
    __atomic_store_n(&too_late, 1, __ATOMIC_SEQ_CST);
}

COLD void events_want(void)
{
    if (__atomic_load_n(&wanted, __ATOMIC_RELAXED) != 0)
        return;
    __atomic_store_n(&asked, 1, __ATOMIC_SEQ_CST);
    start_on_own_thread();
}

/* The runtime's managed twin of its provider describes the events, when a session has begun and the twin is complete: on
 * the thread that starts the session if it was complete before, else on the program's. So the session waits for the next
 * source after it, which the runtime makes on the same thread when the twin is done. */
static void note_provider(uintptr_t provider)
{
    utf16 name[sizeof runtime_name / sizeof *runtime_name + 1] = {0};
    uint32_t length = 0;
    uint32_t stage = __atomic_load_n(&registered, __ATOMIC_SEQ_CST);
    if (stage == REGISTERED_ALL)
        return;
    (void)SLOT(info, INFO_EVENT_PIPE_GET_PROVIDER_INFO, uintptr_t, uint32_t, uint32_t *, utf16 *)(info, provider, sizeof name / sizeof *name, &length, name);
    if (memcmp(name, runtime_name, sizeof runtime_name) == 0)
        __atomic_store_n(&registered, REGISTERED_RUNTIME, __ATOMIC_SEQ_CST);
    else if (stage == REGISTERED_RUNTIME)
        __atomic_store_n(&registered, REGISTERED_ALL, __ATOMIC_SEQ_CST);
    start_on_own_thread();
}

static hresult provider_created(void *self, uintptr_t provider)
{
    (void)self;
    if (visit_begin()) {
        note_provider(provider);
        visit_end();
    }
    return HR_OK;
}

bool events_thread_is_own(void)
{
    return own_thread;
}

bool events_leave_out(uint64_t objects, uint64_t bytes)
{
    if (!own_thread && __atomic_load_n(&arena.header->alive_known, __ATOMIC_RELAXED) == 0)
        return false;
    __atomic_fetch_add(&arena.header->left_out, objects, __ATOMIC_RELAXED);
    __atomic_fetch_add(&arena.header->left_out_bytes, bytes, __ATOMIC_RELAXED);
    return true;
}

/* ── collections ────────────────────────────────────────────────────────────────────────────────────────────── */

void events_gc_suspending(void)
{
    __atomic_store_n(&living, 0, __ATOMIC_RELEASE);
}

void events_gc_started(void)
{
    uint32_t reports = __atomic_exchange_n(&triggered, 0, __ATOMIC_ACQ_REL);
    if (reports == 0 || __atomic_load_n(&living, __ATOMIC_ACQUIRE) == 0 || cleared_by != 0)
        return;
    __atomic_store_n(&clearing, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&closing, __ATOMIC_SEQ_CST) == 0 && set_flag(false))
        __atomic_store_n(&cleared_by, (uintptr_t)pthread_self(), __ATOMIC_RELEASE);
    else
        __atomic_store_n(&clearing, 0, __ATOMIC_SEQ_CST);
}

/* Processor time of all threads. */
static uint64_t computed_ns(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool events_gc_finished(void)
{
    bool reported = __atomic_load_n(&cleared_by, __ATOMIC_ACQUIRE) == 0;
    if (!reported) {
        __atomic_store_n(&closing, 1, __ATOMIC_SEQ_CST); /* never again */
        restore();
    }
    if (computed_ns() > STARTUP_NS)
        __atomic_store_n(&registered, REGISTERED_ALL, __ATOMIC_SEQ_CST);
    return reported;
}

void events_end(void)
{
    __atomic_store_n(&closing, 1, __ATOMIC_SEQ_CST);
    if (info != NULL)
        set_flag(false);
}

static hresult objects_allocated_by_class(void)
{
    arena.header->walks++;
    if ((high & HIGH_MONITOR_GC_SKIP_ALLOCATED_BY_CLASS) != 0) { /* it does not know the flag */
        high &= ~HIGH_MONITOR_GC_SKIP_ALLOCATED_BY_CLASS;
        wanted = 0;
    }
    return HR_OK;
}

void events_install(void **callbacks)
{
    callbacks[CALLBACK_OBJECTS_ALLOCATED_BY_CLASS] = (void *)objects_allocated_by_class;
    callbacks[CALLBACK_EVENT_PROVIDER_CREATED] = (void *)provider_created;
    callbacks[CALLBACK_EVENT_DELIVERED] = (void *)event_delivered;
}
