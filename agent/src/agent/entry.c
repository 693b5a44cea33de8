/* The agent's door: what the runtime finds when it loads the library, and the callbacks that are not hot.
 *
 * The runtime calls DllGetClassObject, makes one object through the class factory and calls it through a table of 98
 * functions (ICorProfilerCallback … 11). All are "return 0" but for the few below. */
#define _GNU_SOURCE
#include "stacks/native_transition.h"
#include "heap/allocation_samples.h"
#include "heap/allocations.h"
#include "core/arena.h"
#include "core/options.h"
#include "core/recording.h"
#include "metadata/box_reporting.h"
#include "calls/calls.h"
#include "metadata/hot_reload.h"
#include "metadata/compilations.h"
#include "control/recording_state.h"
#include "agent/dormant.h"
#include "heap/ending.h"
#include "heap/eventpipe_gc.h"
#include "heap/managed_events.h"
#include "filter/inlined.h"
#include "filter/instrumentation.h"
#include "probes/ado_http_calls.h"
#include "heap/object_tracking.h"
#include "metadata/descriptions.h"
#include "metadata/framework_calls.h"
#include "os/context_switch.h"
#include "probes/il_probes.h"
#include "probes/rejit.h"
#include "stacks/stack_walk.h"
#include "heap/static_fields.h"
#include "threads/threads.h"
#include "calls/call_trace.h"
#include "filter/inlining_guard.h"
#include "filter/probing.h"
#include "control/collector_watch.h"

#include <stdlib.h>
#include <unistd.h>

#ifdef CLRPROF_ORACLE
#include "../../test/oracle.h"
#endif

#define DEFAULT_MEMORY (UINT64_C(1) << 30)
#define DEFAULT_STACK_DEPTH 16384u

void *agent_info;

static hresult query_interface(void *self, const struct guid *iid, void **out)
{
    bool known = guid_equal(iid, &IID_UNKNOWN);
    for (uint32_t i = 0; i < CALLBACK_INTERFACES; i++)
        known = known || guid_equal(iid, &IID_CALLBACKS[i]);
    *out = known ? self : NULL;
    return known ? HR_OK : HR_NO_INTERFACE;
}

static uint32_t count_reference(void *self) /* the object is static and never goes away */
{
    (void)self;
    return 1;
}

static hresult ignore(void)
{
    return HR_OK;
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    unsigned long long value = text == NULL ? 0 : strtoull(text, &end, 10);
    return text == NULL || end == text || *end != 0 || value == 0 ? otherwise : value;
}

bool runtime_version(void *info, uint16_t *major, uint16_t *minor, uint16_t *build)
{
    uint16_t instance, fix;
    uint32_t type, length;
    utf16 text[64]; /* 3.1 says nothing to those who do not want it */
    return SLOT(info, INFO_GET_RUNTIME_INFORMATION, uint16_t *, uint32_t *, uint16_t *, uint16_t *, uint16_t *, uint16_t *, uint32_t, uint32_t *,
                utf16 *)(info, &instance, &type, major, minor, build, &fix, 64, &length, text) >= 0;
}

static void read_runtime_version(void)
{
    uint16_t major = 0, minor = 0, build = 0;
    if (!runtime_version(agent_info, &major, &minor, &build))
        return;
    arena.header->runtime_major = major;
    arena.header->runtime_minor = minor;
    arena.header->runtime_build = build;
}

static KEPT void *callback_table[CALLBACK_SLOTS];
uint32_t agent_event_mask;

uint32_t agent_prepare(uint64_t nodes)
{
    void *newest = NULL;
    if (com_query(agent_info, &IID_INFO9, &agent_info) < 0)
        return WIRE_FAILURE_OLD_RUNTIME;
    bool has_frozen_heap = com_query(agent_info, &IID_INFO14, &newest) >= 0 && newest != NULL;
    read_runtime_version();
    allocations_init(agent_info, has_frozen_heap);
    above_init(agent_info);
    names_find_signal_return();
    return names_init(agent_info) && stack_init(nodes) && threads_init() ? 0 : WIRE_FAILURE_OUT_OF_MEMORY;
}

static struct time_options time_options(void)
{
    return (struct time_options){
        .timings = number_from("CLRPROF_TIMINGS", UINT64_MAX),
        .instrument = getenv("CLRPROF_INSTRUMENT"),
        .probes = getenv("CLRPROF_PROBES"),
        .small = getenv("CLRPROF_SMALL"),
        .rules = getenv("CLRPROF_RULES"),
        .mine = getenv("CLRPROF_MINE"),
        .mine_folder = getenv("CLRPROF_MINE_FOLDER"),
        .counters = getenv("CLRPROF_COUNTERS"),
        .events = getenv("CLRPROF_EVENTS"),
    };
}

static uint32_t start_recording(void)
{
    uint32_t failure = agent_prepare(number_from("CLRPROF_NODES", UINT64_MAX));
    if (failure != 0)
        return failure;
    const struct time_options options = time_options();
    uint32_t low = MONITOR_THREADS | MONITOR_MODULE_LOADS;
    if (number_from("CLRPROF_NO_MEMORY", 0) == 0) {
        low |= MEMORY_MASK;
        arena.header->data = WIRE_DATA_MEMORY;
        if (number_from("CLRPROF_LIFETIME", 0) != 0) {
            struct lifetime_options o = {getenv("CLRPROF_ROOTS"), getenv("CLRPROF_SNAPSHOT"), getenv("CLRPROF_ARENAS"), number_from("CLRPROF_FINAL_GC", 0) != 0,
                                         number_from("CLRPROF_RECORD_FIRST", 0)};
            if (!lifetime_init(agent_info, &o))
                return WIRE_FAILURE_OUT_OF_MEMORY;
            callbacks_install(WIRE_DATA_LIFETIME);
            low |= lifetime_event_mask();
            arena.header->data |= WIRE_DATA_LIFETIME;
        }
    }
    if (number_from("CLRPROF_TIME", 0) != 0) {
        time_init(&options);
        time_install(callback_table);
        low |= time_event_mask();
        if (probes_sites && (arena.header->data & WIRE_DATA_MEMORY) != 0)
            allocations_note_timings(callback_table);
        arena.header->data |= WIRE_DATA_TIME | (trace_on ? WIRE_DATA_TRACE : 0);
    }
    low |= probes_choose_marks(agent_info, callback_table);
    low |= rejit_begin(agent_info, callback_table);
    if (arena.header->data != 0 && (arena.header->data & WIRE_DATA_TIME) == 0)
        low |= user_frames_keep(agent_info, callback_table);
    if (lifetime_on) {
        ending_watch();
        managed_events_init(agent_info);
        low |= framework_calls_watch(agent_info, callback_table);
    }
    low |= compiled_watch(callback_table);
    time_installed(callback_table);
#ifdef CLRPROF_ORACLE
    oracle_install(callback_table);
    low |= oracle_event_mask();
#endif
    agent_event_mask = low;
    uint32_t high = HIGH_MONITOR_DYNAMIC_FUNCTION_UNLOADS;
#ifdef CLRPROF_ORACLE
    if (oracle_wants_events())
#endif
        high = trace_high_mask(events_init(agent_info, low, high));
    if (SLOT(agent_info, INFO_SET_EVENT_MASK2, uint32_t, uint32_t)(agent_info, low, high) < 0)
        return WIRE_FAILURE_EVENT_MASK;
    if ((arena.header->data & WIRE_DATA_TIME) != 0)
        return instrument_init(agent_info, &options);
    return !probes_marks || probes_init(agent_info, false, false) ? 0 : WIRE_FAILURE_OUT_OF_MEMORY;
}

static hresult initialize(void *self, void *unknown)
{
    (void)self;
    const char *directory = getenv("CLRPROF_ARENAS"), *dormant = getenv("CLRPROF_DORMANT");
    changeable_init();
    clock_init();
    if (arena.base == NULL && (directory == NULL || *directory == 0) && dormant != NULL && *dormant != 0) {
        callbacks_install(0);
        return dormant_init(unknown, dormant) ? HR_OK : HR_CANCEL_ACTIVATION;
    }
    if (directory == NULL || *directory == 0 || arena.base != NULL || !watch_begin(directory))
        return HR_CANCEL_ACTIVATION;
    uint64_t depth = number_from("CLRPROF_STACK_DEPTH", DEFAULT_STACK_DEPTH);
    if (depth > MAX_FRAMES)
        depth = MAX_FRAMES;
    uint32_t regions = number_from("CLRPROF_TIME", 0) == 0 ? WIRE_REGION_TIMINGS : number_from("CLRPROF_TRACE", 0) == 0 ? WIRE_REGION_TRACE : WIRE_REGION_COUNT;
    if (!arena_create(directory, regions, number_from("CLRPROF_MEMORY", DEFAULT_MEMORY), (uint32_t)depth))
        return HR_CANCEL_ACTIVATION;
    agent_info = unknown;
    control_init(directory);
    uint32_t failure = start_recording();
    if (failure == 0 && (arena.header->data & WIRE_DATA_MEMORY) != 0) {
        boxes_replace(agent_info, arena.header->runtime_major);
        boxes_report();
    }
    arena.header->failure = failure;
    __atomic_store_n(&arena.header->state, failure == 0 ? WIRE_STATE_RECORDING : WIRE_STATE_FAILED, __ATOMIC_RELEASE);
    if (failure == 0) {
        requests_init(agent_info);
        watch_forks();
        return HR_OK;
    }
    /* The runtime unloads this library now: nothing may stay that points into it, or that nobody would ever free. */
    control_close();
    os_close();
    threads_close();
    instrument_close();
    names_close();
    stack_close();
    arena_close();
    return HR_CANCEL_ACTIVATION;
}

/* The process runs already: a collector has asked the runtime for the agent. */
static hresult initialize_for_attach(void *self, void *unknown, const uint8_t *said, uint32_t bytes)
{
    (void)self;
    if (arena.base != NULL)
        return HR_CANCEL_ACTIVATION;
    changeable_init();
    clock_init();
    callbacks_install(0);
    return dormant_init_late(unknown, said, bytes) ? HR_OK : HR_CANCEL_ACTIVATION;
}

static hresult detach_succeeded(void *self)
{
    (void)self;
    dormant_detached();
    return HR_OK;
}

static void finish_recording(void)
{
    if ((uint32_t)getpid() != arena.header->pid)
        return; /* a forked child ends; the arena is its parent's, or nobody's */
    if (!recording_is_over()) {
        samples_flush();
        names_retry_types();
        lifetime_end();
#ifdef CLRPROF_ORACLE
        oracle_report();
#endif
        interactions_end();
        time_end();
        samples_end(false);
    }
    arena.header->end_ns = monotonic_ns();
    __atomic_store_n(&arena.header->state, WIRE_STATE_SHUT_DOWN, __ATOMIC_RELEASE);
}

static hresult shutdown(void *self)
{
    (void)self;
    if (dormant_on)
        dormant_shut_down();
    if (visit_begin()) {
        finish_recording();
        visit_end();
    }
    return HR_OK;
}

static hresult module_unload_started(void *self, uintptr_t module)
{
    (void)self;
    if (visit_begin()) {
        samples_flush(); /* they can be of its code and types */
        names_forget_module(module);
        statics_forget_module(module); /* after the names, from which it takes classes */
        visit_end();
    }
    return HR_OK;
}

static hresult dynamic_method_unloaded(void *self, uintptr_t function)
{
    (void)self;
    if (visit_begin()) {
        samples_flush();
        names_forget_function(function);
        visit_end();
    }
    return HR_OK;
}

static hresult thread_destroyed_callback(void *self, uintptr_t thread)
{
    (void)self;
    if (visit_begin()) {
        thread_destroyed(thread);
        statics_forget_thread(thread);
        visit_end();
    }
    return HR_OK;
}

static hresult thread_name_changed(void *self, uintptr_t thread, uint32_t length, const utf16 *name)
{
    (void)self;
    if (visit_begin()) {
        thread_named(thread, name, length);
        visit_end();
    }
    return HR_OK;
}

/* ── the objects ────────────────────────────────────────────────────────────────────────────────────────────── */

static KEPT void **callback_object = callback_table;

/* What the runtime calls in any case, and what it asks when it loads the agent, stays. */
static bool is_of_recording(uint32_t slot)
{
    return slot > 2 && slot != CALLBACK_INITIALIZE && slot != CALLBACK_SHUTDOWN && slot != CALLBACK_INITIALIZE_FOR_ATTACH &&
           slot != CALLBACK_DETACH_SUCCEEDED;
}

void callbacks_install(uint32_t data)
{
    static const struct {
        uint32_t slot;
        void *function;
    } callbacks[] = {
        {CALLBACK_RUNTIME_SUSPEND_FINISHED, (void *)watch_suspended},
        {CALLBACK_MODULE_UNLOAD_STARTED, (void *)module_unload_started},
        {CALLBACK_THREAD_DESTROYED, (void *)thread_destroyed_callback},
        {CALLBACK_OBJECT_ALLOCATED, (void *)object_allocated},
        {CALLBACK_THREAD_NAME_CHANGED, (void *)thread_name_changed},
        {CALLBACK_DYNAMIC_METHOD_UNLOADED, (void *)dynamic_method_unloaded},
    };
    for (uint32_t i = 0; data == 0 && i < CALLBACK_SLOTS; i++)
        if (is_of_recording(i) && !inlined_is_own(i))
            __atomic_store_n(&callback_table[i], (void *)ignore, __ATOMIC_RELEASE);
    if (data == 0)
        inlined_let_go();
    for (uint32_t i = 0; data != 0 && i < sizeof callbacks / sizeof *callbacks; i++)
        if (callbacks[i].slot != CALLBACK_OBJECT_ALLOCATED || (data & WIRE_DATA_MEMORY) != 0)
            __atomic_store_n(&callback_table[callbacks[i].slot], callbacks[i].function, __ATOMIC_RELEASE);
    if ((data & WIRE_DATA_LIFETIME) != 0) {
        lifetime_install(callback_table);
        events_install(callback_table);
    }
    if ((data & WIRE_DATA_LARGE) != 0)
        __atomic_store_n(&callback_table[CALLBACK_OBJECT_ALLOCATED], (void *)object_allocated_large, __ATOMIC_RELEASE);
}

void **callbacks_table(void)
{
    return callback_table;
}

static void fill_callback_table(void)
{
    for (uint32_t i = 0; i < CALLBACK_SLOTS; i++)
        callback_table[i] = (void *)ignore;
    callback_table[0] = (void *)query_interface;
    callback_table[1] = callback_table[2] = (void *)count_reference;
    callback_table[CALLBACK_INITIALIZE] = (void *)initialize;
    callback_table[CALLBACK_SHUTDOWN] = (void *)shutdown;
    callback_table[CALLBACK_INITIALIZE_FOR_ATTACH] = (void *)initialize_for_attach;
    callback_table[CALLBACK_DETACH_SUCCEEDED] = (void *)detach_succeeded;
    callbacks_install(WIRE_DATA_MEMORY);
}

static hresult create_instance(void *self, void *outer, const struct guid *iid, void **out)
{
    (void)self;
    (void)outer;
    fill_callback_table();
    return query_interface(&callback_object, iid, out);
}

static hresult query_factory(void *self, const struct guid *iid, void **out)
{
    bool known = guid_equal(iid, &IID_UNKNOWN) || guid_equal(iid, &IID_CLASS_FACTORY);
    *out = known ? self : NULL;
    return known ? HR_OK : HR_NO_INTERFACE;
}

static void *factory_table[] = {(void *)query_factory, (void *)count_reference, (void *)count_reference,
                                (void *)create_instance, (void *)ignore};
static void **factory_object = factory_table;

__attribute__((visibility("default"))) hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out);

hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out)
{
    (void)clsid; /* the runtime passes CORECLR_PROFILER, whatever it is */
    return query_factory(&factory_object, iid, out);
}
