/* A process that starts without being recorded, and can be later, again and again.
 *
 * Problem: what allocations need of the runtime can only be asked for at its start. A service that runs for months is to be
 * recorded for half a minute then, without a new start, and is to be none the worse for it before and after.
 *
 * Idea: at the start the agent asks for what cannot be asked for later, and for no event. It makes a file by which a
 * collector finds it (struct wire_dormant), and a thread that sleeps in the kernel until a collector wakes it: a futex in that
 * file. Then the thread makes an arena where the collector says, fills the table of callbacks, and asks for the events. What
 * the collector asks for meanwhile it does itself (requests.c). It ends the recording when the collector says so, or is
 * gone: no events, no callbacks, no thread in the agent, and then nothing of what the recording needed: memory,
 * file, variables (library_state.c).
 *
 * How is it known that no thread is in the agent? Whoever calls the runtime or waits there makes it a visit, which is counted; when
 * visits are over, none can begin. The warm path of an allocation makes none, since it would cost as much as the path itself. But it runs as
 * managed code does, and calls nothing: when the runtime has stopped all threads (SuspendRuntime), none is in it; and
 * as the table of callbacks is empty before they go on, none gets there again.
 *
 * Into a process that was started without the agent a collector has the runtime load it (InitializeForAttach). From there on it is
 * the same, but that of objects only large ones are reported, since more has to be asked for at the start. And when the recording is over
 * the runtime is asked to let the agent go; it does not if code with probes was ever asked for. Then the agent stays, dormant.
 *
 * A process that was forked from this one has no such thread, and is as unknown to collectors as ever. */
#define _GNU_SOURCE
#include "heap/allocation_samples.h"
#include "heap/allocations.h"
#include "core/arena.h"
#include "agent/attach.h"
#include "metadata/box_reporting.h"
#include "control/recording_state.h"
#include "agent/dormant.h"
#include "heap/eventpipe_gc.h"
#include "core/freestanding.h"
#include "core/options.h"
#include "core/recording.h"
#include "filter/inlined.h"
#include "filter/probing.h"
#include "heap/object_tracking.h"
#include "metadata/descriptions.h"
#include "threads/threads.h"
#include "control/collector_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_PATH 4096u
#define FIRST_PAUSE_NS 100000 /* between looks whether all visits are over; doubled up to the longest */
#define LONGEST_PAUSE_NS 100000000
#define LEAVE_MS 1000u /* the runtime looks again when so much time has passed, if a thread is still in the agent */

static KEPT void *info; /* ICorProfilerInfo10 or later */
static KEPT struct wire_dormant *place;
static KEPT char place_path[MAX_PATH];
static KEPT uint32_t ending;
static KEPT uint32_t held; /* the events that are always wanted, or cannot be asked for later */
static KEPT bool late, versions; /* it was loaded into a process that ran; and has asked for code with probes there */
static KEPT int place_fd = -1;

static void rest(long *pause_ns)
{
    struct timespec t = {0, *pause_ns};
    nanosleep(&t, NULL);
    *pause_ns = 2 * *pause_ns < LONGEST_PAUSE_NS ? 2 * *pause_ns : LONGEST_PAUSE_NS;
}

static void report_state(uint32_t state)
{
    __atomic_store_n(&place->state, state, __ATOMIC_RELEASE);
}

/* Whatever takes long when a recording ends can last as long as it has to, because what is in use cannot be taken away: the collector
 * waits for a while, and says what it waited for. */
static void report_leaving(uint32_t waits_for)
{
    __atomic_store_n(&place->leaving, waits_for, __ATOMIC_RELEASE);
}

void dormant_report_prepared(uint32_t n, uint32_t of)
{
    __atomic_store_n(&place->to_prepare, of, __ATOMIC_RELAXED);
    __atomic_store_n(&place->prepared, n, __ATOMIC_RELEASE);
    __atomic_fetch_add(&place->steps, 1, __ATOMIC_RELEASE);
}

/* ── a recording ────────────────────────────────────────────────────────────────────────────────────────────── */

static bool ask_for_events(uint32_t low, uint32_t high)
{
    return SLOT(info, INFO_SET_EVENT_MASK2, uint32_t, uint32_t)(info, held | low, high) >= 0;
}

/* Of objects, what there is to be asked for. */
static uint32_t object_events(uint32_t *high)
{
    if (!late)
        return MEMORY_MASK;
    *high |= HIGH_MONITOR_LARGE_OBJECTS;
    return MEMORY_MASK & ~(IMMUTABLE_EVENTS | MONITOR_OBJECT_ALLOCATED);
}

/* Can the survivors of collections be asked for now? Not where collections can run in the background. */
static bool can_follow(void)
{
    bool can = ask_for_events(MONITOR_GC, 0);
    ask_for_events(0, 0);
    return can;
}

/* ── calls ──────────────────────────────────────────────────────────────────────────────────────────────────── */

static const char *option(const char *texts, const char *name)
{
    size_t length = strlen(name);
    for (; *texts != 0; texts += strlen(texts) + 1)
        if (strncmp(texts, name, length) == 0 && texts[length] == '=')
            return texts + length + 1;
    return NULL;
}

/* What the collector wants of calls, in a file beside the arena. False: it cannot be read. */
static bool read_options(const char *directory, struct time_options *o)
{
    char path[MAX_PATH];
    char *texts = private_alloc(WIRE_MAX_OPTIONS + 2); /* they end with zero bytes, whatever the file ends with */
    snprintf(path, sizeof path, "%s/" WIRE_OPTIONS_FILE, directory);
    if (texts == NULL || read_file(path, (uint8_t *)texts, WIRE_MAX_OPTIONS) == 0)
        return false;
    *o = (struct time_options){
        .timings = UINT64_MAX,
        .instrument = option(texts, "CLRPROF_INSTRUMENT"),
        .probes = "il",
        .rules = option(texts, "CLRPROF_RULES"),
        .mine = option(texts, "CLRPROF_MINE"),
        .mine_folder = option(texts, "CLRPROF_MINE_FOLDER"),
    };
    return true;
}

/* The threads of the runtime are stopped meanwhile. That is refused while a collection or a debugger stops them. False: is_given_up
 * says that the collector no longer waits for it. */
static bool stop_threads_if(bool (*is_given_up)(void))
{
    long pause_ns = FIRST_PAUSE_NS;
    while (((hresult(*)(void *))(*(void *const *const *)info)[INFO_SUSPEND_RUNTIME])(info) < 0) {
        if (is_given_up != NULL && is_given_up())
            return false;
        rest(&pause_ns);
    }
    return true;
}

static void stop_threads(void)
{
    stop_threads_if(NULL);
}

static void let_threads_go(void)
{
    ((hresult(*)(void *))(*(void *const *const *)info)[INFO_RESUME_RUNTIME])(info);
}

/* The table has all at once: what is compiled meanwhile is not to be seen to begin and not to end. */
static uint32_t prepare_callbacks(const struct time_options *o)
{
    static void *made[CALLBACK_SLOTS];
    void **callbacks = callbacks_table();
    memcpy(made, callbacks, sizeof made);
    uint32_t failure = attached_prepare(info, o, made);
    if (failure != 0)
        return failure;
    inlined_install(made);
    for (uint32_t i = 0; i < CALLBACK_SLOTS; i++)
        if (callbacks[i] != made[i])
            __atomic_store_n(&callbacks[i], made[i], __ATOMIC_RELEASE);
    return 0;
}

/* From its end on calls are recorded, and objects with them. */
static uint32_t begin_calls(uint32_t data, const char *directory)
{
    struct time_options o;
    uint32_t first = late ? ATTACHED_MASK & ~MONITOR_CACHE_SEARCHES : ATTACHED_MASK;
    uint32_t low = first | MONITOR_EXCEPTIONS | MONITOR_SUSPENDS, high = HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS;
    if (!read_options(directory, &o))
        return WIRE_FAILURE_NO_COLLECTOR;
    if ((held & ENABLE_STACK_SNAPSHOT) == 0)
        return WIRE_FAILURE_NO_PROBES; /* what runs could not be seen */
    uint32_t failure = prepare_callbacks(&o);
    if (failure != 0)
        return failure;
    if ((data & WIRE_DATA_MEMORY) != 0) {
        low |= object_events(&high);
        if (probes_sites)
            allocations_note_timings(callbacks_table());
    }
    visits_open();
    versions = late;
    if (!ask_for_events(first, HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS))
        return WIRE_FAILURE_EVENT_MASK;
    if ((failure = attached_ask()) != 0)
        return failure;
    if (!stop_threads_if(requests_let_go))
        return WIRE_FAILURE_NO_COLLECTOR;
    attached_begin();
    bool asked = ask_for_events(low, high);
    let_threads_go();
    attached_report_running();
    return asked ? 0 : WIRE_FAILURE_EVENT_MASK;
}

/* ── a recording of what is wanted ──────────────────────────────────────────────────────────────────────────── */

/* Asks for what is wanted. Whoever is in the middle of a collection when its events are asked for is not asked about it, and no object that
 * is recorded was born before. */
static uint32_t ask_for(uint32_t data, const char *directory)
{
    static char roots[WIRE_MAX_CHOICE], snapshot[WIRE_MAX_CHOICE]; /* the last byte stays 0 */
    uint32_t high = HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS, low = object_events(&high);
    if ((data & WIRE_DATA_LIFETIME) != 0) {
        memcpy(roots, place->roots, sizeof roots - 1);
        memcpy(snapshot, place->snapshot, sizeof snapshot - 1);
        struct lifetime_options o = {roots, snapshot, directory, place->final_gc != 0, place->first};
        if (!lifetime_init(info, &o))
            return WIRE_FAILURE_OUT_OF_MEMORY;
        control_was_off = true; /* what was born before has no shadow */
        low |= lifetime_event_mask();
        high = events_init(info, held | low, high);
    }
    if (arena.header->runtime_major < SAMPLES_SINCE)
        data &= ~(uint32_t)WIRE_DATA_SAMPLED;
    arena.header->data = data;
    if ((data & (WIRE_DATA_MEMORY | WIRE_DATA_LARGE)) == WIRE_DATA_MEMORY)
        boxes_report();
    callbacks_install(data);
    if ((data & WIRE_DATA_SAMPLED) != 0)
        high = events_sample(info, held | low, high, callbacks_table());
    __atomic_store_n(&arena.header->state, WIRE_STATE_RECORDING, __ATOMIC_RELEASE);
    if ((data & WIRE_DATA_TIME) != 0)
        return begin_calls(data, directory);
    visits_open();
    if (!ask_for_events(low, high))
        return WIRE_FAILURE_EVENT_MASK;
    return (data & WIRE_DATA_SAMPLED) == 0 || (samples_on && events_sample_start()) ? 0 : WIRE_FAILURE_NO_SAMPLES;
}

static uint32_t begin(void)
{
    static char directory[WIRE_MAX_DIRECTORY];
    uint32_t data = place->data & (WIRE_DATA_MEMORY | WIRE_DATA_LIFETIME | WIRE_DATA_TIME);
    if (late && (data & WIRE_DATA_MEMORY) != 0)
        data |= WIRE_DATA_LARGE;
    if ((data & (WIRE_DATA_LARGE | WIRE_DATA_TIME)) == WIRE_DATA_LARGE) /* with calls, sites would need that around the object */
        data |= place->data & WIRE_DATA_SAMPLED;
    memcpy(directory, place->directory, sizeof directory);
    directory[sizeof directory - 1] = 0; /* the collector is not trusted more than it must be */
    if (!watch_collector(directory))
        return WIRE_FAILURE_NO_COLLECTOR;
    if ((data & WIRE_DATA_LIFETIME) != 0 && !can_follow())
        return WIRE_FAILURE_BACKGROUND;
    uint32_t depth = place->stack_depth;
    uint32_t regions = (data & WIRE_DATA_TIME) != 0 ? WIRE_REGION_TRACE : WIRE_REGION_TIMINGS;
    if (!arena_create(directory, regions, place->memory_limit, depth == 0 || depth > MAX_FRAMES ? MAX_FRAMES : depth))
        return WIRE_FAILURE_NO_ARENA;
    agent_info = info;
    control_init(directory);
    requests_begin(info); /* before the collector has an answer: it may ask at once */
    uint32_t failure = !private_place() ? WIRE_FAILURE_OUT_OF_MEMORY : control_file() == NULL ? WIRE_FAILURE_NO_COLLECTOR : agent_prepare(place->nodes);
    return failure != 0 ? failure : ask_for(data, directory);
}

static void await_visitors(void)
{
    long pause_ns = FIRST_PAUSE_NS;
    while (!visits_are_over())
        rest(&pause_ns);
}

/* Waits until no thread is in the agent, and sees to it that none comes. A collection that was slow to set its flag again (eventpipe_gc.c) is over
 * when the threads have stopped. */
static void end_visits(void)
{
    ask_for_events(0, 0); /* a collection that has begun is not reported: what it did is not known */
    visits_close();
    report_leaving(WIRE_LEAVING_VISITS);
    await_visitors();
    report_leaving(WIRE_LEAVING_THREADS);
    stop_threads();
    arena.header->end_ns = monotonic_ns();
    ask_for_events(0, 0);
    callbacks_install(0);
    let_threads_go();
}

/* The same with calls: when the threads have stopped none is in a probe. As long as probes record what is compiled must have
 * some, so all ends at once. */
static void end_calls(void)
{
    report_leaving(WIRE_LEAVING_THREADS);
    stop_threads();
    attached_stop();
    arena.header->end_ns = monotonic_ns();
    visits_close();
    ask_for_events(ENABLE_REJIT, 0);
    callbacks_install(0);
    let_threads_go();
    report_leaving(WIRE_LEAVING_VISITS);
    await_visitors();
    report_leaving(WIRE_LEAVING_CODE);
    attached_end();
    ask_for_events(0, 0);
}

/* Whatever the recording needed. What has its arena mapped, and the collector, have it still. */
static void forget_all(void)
{
    threads_forget();
    names_let_go();
    control_close();
    arena_close();
    variables_restore();
}

static void end(uint32_t failure)
{
    report_state(WIRE_DORMANT_LEAVING);
    if (failure == 0) {
        report_leaving(WIRE_LEAVING_COLLECTION);
        samples_flush();
        names_retry_types();
        lifetime_end();
    }
    events_close();
    if (!visits_are_open())
        callbacks_install(0);
    else if ((arena.header->data & WIRE_DATA_TIME) != 0)
        end_calls();
    else
        end_visits();
    samples_end(true);
    if (arena.header != NULL) {
        arena.header->failure = failure;
        if (arena.header->end_ns == 0)
            arena.header->end_ns = monotonic_ns();
        __atomic_store_n(&arena.header->state, failure == 0 ? WIRE_STATE_DETACHED : WIRE_STATE_FAILED, __ATOMIC_RELEASE);
    }
    forget_all();
    report_leaving(0);
}

static void answer(uint32_t request, uint32_t failure)
{
    place->failure = failure;
    __atomic_store_n(&place->answered, request, __ATOMIC_RELEASE);
}

/* The runtime lets the agent go when no thread is in it, which may take it a second; false: it does not. dormant_detached follows. */
static bool leave(void)
{
    report_state(WIRE_DORMANT_LEAVING);
    if (late && !versions && SLOT(info, INFO_REQUEST_DETACH, uint32_t)(info, LEAVE_MS) >= 0)
        return true;
    report_state(WIRE_DORMANT_WAITING);
    return false;
}

/* False: the agent leaves the process. */
static bool record(uint32_t request)
{
    uint32_t failure = begin();
    if (failure == 0) {
        place->recordings++;
        report_state(WIRE_DORMANT_RECORDING);
        answer(request, 0);
        requests_serve();
        if (__atomic_load_n(&ending, __ATOMIC_SEQ_CST) != 0)
            return true; /* the runtime is not to be asked for anything any more */
    }
    end(failure);
    if (failure == 0)
        return !leave();
    report_state(WIRE_DORMANT_WAITING);
    answer(request, failure);
    return true;
}

/* A request without data is that the agent leaves. */
static bool deal_with(uint32_t request)
{
    if (place->data != 0)
        return record(request);
    answer(request, 0);
    return !leave();
}

static void *wait_for_collectors(void *unused)
{
    uint32_t seen = 0;
    while (__atomic_load_n(&ending, __ATOMIC_SEQ_CST) == 0) {
        uint32_t n = __atomic_load_n(&place->requests, __ATOMIC_ACQUIRE);
        if (n == seen) {
            if (syscall(SYS_futex, &place->requests, FUTEX_WAIT, n, NULL, NULL, 0) != 0 && errno != EAGAIN && errno != EINTR)
                break; /* it is refused: collectors get no answer */
            continue;
        }
        if (!deal_with(n))
            break;
        seen = n;
    }
    return unused;
}

/* ── from the start to the end of the process ───────────────────────────────────────────────────────────────── */

/* The file has its name when it has its lock: one without a lock is of a process that is gone. The descriptor stays open for the
 * lock. A file of the same name is of an earlier process of this id. */
static bool make_place(const char *directory)
{
    char made[MAX_PATH + 8];
    struct stat own = {0};
    if (path_status("/proc/self/ns/pid", &own) != 0)
        own.st_ino = 0;
    int n = snprintf(place_path, sizeof place_path, "%s/" WIRE_DORMANT_PREFIX "%llu-%u", directory, (unsigned long long)own.st_ino, (unsigned)getpid());
    if (n < 0 || (size_t)n >= sizeof place_path)
        return false;
    snprintf(made, sizeof made, "%s.new", place_path);
    unlink(made);
    int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    void *p = flock(fd, LOCK_EX | LOCK_NB) == 0 && file_back(fd, 0, sizeof *place) ? mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (p != MAP_FAILED) {
        place = p;
        place->version = WIRE_VERSION;
        place->pid = (uint32_t)getpid();
        place_fd = fd;
        variables_build_id(place->build);
        report_state(WIRE_DORMANT_WAITING);
        __atomic_store_n(&place->magic, WIRE_DORMANT_MAGIC, __ATOMIC_RELEASE);
        if (rename(made, place_path) == 0)
            return true;
        munmap(p, sizeof *place);
        place = NULL;
    }
    unlink(made);
    close(fd);
    return false;
}

/* The library must stay from here on: nothing may fail any more. */
static void await_collectors(void)
{
    dormant_on = true;
    if (!thread_start(wait_for_collectors))
        unlink(place_path);
    watch_forks();
}

bool dormant_init(void *profiler_info, const char *directory)
{
    uint16_t major = 0, minor, build;
    if (com_query(profiler_info, &IID_INFO10, &info) < 0 || !variables_save())
        return false;
    held = IMMUTABLE_EVENTS | inlined_watch(info);
    inlined_install(callbacks_table());
    if (!ask_for_events(0, 0) || !make_place(directory))
        return false;
    await_collectors();
    if (runtime_version(info, &major, &minor, &build))
        boxes_replace(info, major);
    return true;
}

/* This is the one moment in which collections in the background can be turned off, until the agent leaves. */
bool dormant_init_late(void *profiler_info, const uint8_t *said, uint32_t bytes)
{
    uint32_t data;
    if (bytes <= WIRE_LOAD_BYTES || bytes > WIRE_LOAD_BYTES + MAX_PATH || said[bytes - 1] != 0 || place != NULL)
        return false;
    memcpy(&data, said, sizeof data);
    if (com_query(profiler_info, &IID_INFO10, &info) < 0 || !library_stays() || !variables_save())
        return false;
    late = true;
    held = (data & WIRE_DATA_TIME) != 0 ? ENABLE_STACK_SNAPSHOT : 0;
    if (!ask_for_events((data & WIRE_DATA_LIFETIME) != 0 ? MONITOR_GC : 0, 0) || !ask_for_events(0, 0) || !make_place((const char *)said + WIRE_LOAD_BYTES))
        return false;
    await_collectors();
    return true;
}

void dormant_detached(void)
{
    struct wire_dormant *left = place;
    unlink(place_path);
    place = NULL;
    __atomic_store_n(&left->state, WIRE_DORMANT_GONE, __ATOMIC_RELEASE);
    munmap(left, sizeof *left);
    close(place_fd);
}

void dormant_shut_down(void)
{
    __atomic_store_n(&ending, 1, __ATOMIC_SEQ_CST);
    if (place == NULL || (uint32_t)getpid() != place->pid)
        return; /* the runtime has let the agent go, or a forked child ends */
    report_state(WIRE_DORMANT_ENDED);
    unlink(place_path);
}
