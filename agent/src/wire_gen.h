/* Generated from internal/wire by `go generate ./internal/wire`. Do not edit. */
#ifndef CLRPROF_WIRE_GEN_H
#define CLRPROF_WIRE_GEN_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC UINT64_C(0x464f5250524c43) /* opens every arena */
#define WIRE_VERSION 0x1u /* of the layout */
#define WIRE_HEADER_SIZE 0x1000u /* the first region begins here */
#define WIRE_STATE_STARTING 0x0u /* the runtime has not accepted the agent yet */
#define WIRE_STATE_RECORDING 0x1u /* the runtime calls the agent */
#define WIRE_STATE_SHUT_DOWN 0x2u /* the runtime announced its end */
#define WIRE_STATE_FAILED 0x3u /* Initialize gave up */
#define WIRE_STATE_DETACHED 0x4u /* the agent is dormant again */
#define WIRE_FAILURE_OLD_RUNTIME 0x1u /* no ICorProfilerInfo9 */
#define WIRE_FAILURE_EVENT_MASK 0x2u /* SetEventMask2 was refused */
#define WIRE_FAILURE_OUT_OF_MEMORY 0x3u /* the first tables could not be made */
#define WIRE_FAILURE_HOOKS 0x4u /* SetEnterLeaveFunctionHooks3 was refused */
#define WIRE_FAILURE_NO_COLLECTOR 0x5u /* the directory is not locked */
#define WIRE_FAILURE_NO_ARENA 0x6u /* no arena could be made */
#define WIRE_FAILURE_BACKGROUND 0x7u /* collections in the background */
#define WIRE_FAILURE_NO_PROBES 0x8u /* no probes in code that runs */
#define WIRE_FAILURE_VERSIONS 0x9u /* too much is left of recordings */
#define WIRE_REGION_LOG 0x0u /* records */
#define WIRE_REGION_IPS 0x1u /* struct wire_ip */
#define WIRE_REGION_NODES 0x2u /* struct wire_node */
#define WIRE_REGION_SITES 0x3u /* struct wire_site */
#define WIRE_REGION_DEATHS 0x4u /* struct wire_site_deaths, by site */
#define WIRE_REGION_AGES 0x5u /* struct wire_ages */
#define WIRE_REGION_THREAD_SETS 0x6u /* struct wire_thread_set */
#define WIRE_REGION_SCOPES 0x7u /* struct wire_scope, by thread */
#define WIRE_REGION_INTERACTIONS 0x8u /* struct wire_interaction */
#define WIRE_REGION_METER_VALUES 0x9u /* struct wire_meter_value */
#define WIRE_REGION_TIMINGS 0xau /* struct wire_timing */
#define WIRE_REGION_WAITS 0xbu /* struct wire_waits */
#define WIRE_REGION_CLOCKS 0xcu /* struct wire_clock, by thread */
#define WIRE_REGION_ACTIVATIONS 0xdu /* struct wire_activation */
#define WIRE_REGION_ACTED 0xeu /* struct wire_acted */
#define WIRE_REGION_INCLUSIVES 0xfu /* struct wire_inclusive */
#define WIRE_REGION_SITE_TIMINGS 0x10u /* struct wire_site_timing, by site */
#define WIRE_REGION_COUNTS 0x11u /* struct wire_counts, by timing */
#define WIRE_REGION_SYSTEM_EVENTS 0x12u /* struct wire_system_event */
#define WIRE_REGION_SYSTEM_CALLS 0x13u /* struct wire_system_call */
#define WIRE_REGION_TRACE 0x14u /* struct wire_trace_chunk */
#define WIRE_REGION_COUNT 0x15u
#define WIRE_LOSS_ARENA_FULL 0x0u /* memory limit or file system full */
#define WIRE_LOSS_NO_THREAD_STATE 0x1u /* no memory for a thread's tables */
#define WIRE_LOSS_REENTERED 0x2u /* allocation inside the agent's own call into the runtime */
#define WIRE_LOSS_IL_MAP_TRUNCATED 0x3u /* more than MAX_IL_MAP points */
#define WIRE_LOSS_NAME_TRUNCATED 0x4u /* more than MAX_NAME characters */
#define WIRE_LOSS_UNTRACKED 0x5u /* survivor that was not seen allocated */
#define WIRE_LOSS_LIFETIME_FULL 0x6u /* objects that are not followed */
#define WIRE_LOSS_MOVES 0x7u /* a GC's survivors could not all be noted */
#define WIRE_LOSS_SNAPSHOT 0x8u /* the heap snapshot could not be written */
#define WIRE_LOSS_CALLS_FOLDED 0x9u /* calls without a node of their own */
#define WIRE_LOSS_CALLS_UNMATCHED 0xau /* calls whose end was seen late */
#define WIRE_LOSS_CLOCK_BACKWARDS 0xbu /* intervals that ended before they began */
#define WIRE_LOSS_NOT_HOOKED 0xcu /* functions without probes for want of memory */
#define WIRE_LOSS_CHANGES 0xdu /* what changed from GC to GC is not reported any more */
#define WIRE_LOSS_SURVIVORS 0xeu /* GCs whose roots were not looked at */
#define WIRE_LOSS_STACKS 0x10u /* stacks that are (truncated) for lack of memory */
#define WIRE_LOSS_AGES 0x11u /* objects that died without an age */
#define WIRE_LOSS_UNREPORTED 0xfu /* boxes that the runtime does not report */
#define WIRE_LOSS_NOT_PROBED 0x15u /* functions whose IL cannot be rewritten */
#define WIRE_LOSS_ASYNC_NOT_HOOKED 0x12u /* runtime-async methods without probes */
#define WIRE_LOSS_CALLS_CUT 0x13u /* calls that were taken for gone and then returned */
#define WIRE_LOSS_WAITS 0x14u /* no memory for what the operating system did */
#define WIRE_LOSS_CONTROL 0x16u /* changes of what is recorded that were seen too late */
#define WIRE_LOSS_MARKS 0x17u /* marks and changes of what is recorded for which there was no room */
#define WIRE_LOSS_NOT_LIMITED 0x18u /* functions that were to limit what is recorded, and have no probes */
#define WIRE_LOSS_TRACE 0x19u /* collections that the call trace does not have */
#define WIRE_LOSS_INTERACTIONS 0x1au /* interactions that have no row */
#define WIRE_LOSS_INTERACTION_TEXTS 0x1bu /* texts of interactions that were cut or left out */
#define WIRE_LOSS_COUNTS 0x1cu /* intervals of which the CPU counters are not known */
#define WIRE_LOSS_SYSTEM_EVENTS 0x1du /* system events that are not in the list */
#define WIRE_LOSS_CALLS_NESTED 0x1eu /* calls by the runtime in searches for handlers, within too many others */
#define WIRE_LOSS_METERS 0x1fu /* measurements without a row of their tags */
#define WIRE_LOSS_METER_CALLBACKS 0x20u /* observable instruments that threw */
#define WIRE_LOSS_COUNT 0x21u
#define WIRE_MAX_IL_MAP 0x2000u /* points of one body */
#define WIRE_MAX_NAME 0x400u /* UTF-16 units of one name */
#define WIRE_MAX_TYPE_ARGUMENTS 0x40u /* of one type or function */
#define WIRE_MAX_NESTING 0x20u /* types within types */
#define WIRE_IP_TRUNCATED 0x1u /* stands for frames that were left out */
#define WIRE_IP_UNKNOWN 0x2u /* stands for a stack without a managed frame */
#define WIRE_IP_FIRST 0x3u /* the first real one */
#define WIRE_IP_MANAGED 0x1u /* inside a managed body */
#define WIRE_IP_FRAMELESS 0x2u /* its function has no frame pointer */
#define WIRE_IP_OSR 0x4u /* in an OSR variant */
#define WIRE_IP_SIGNAL 0x8u /* after a signal handler */
#define WIRE_IP_HELPER 0x10u /* in a helper of the runtime */
#define WIRE_IP_FOREIGN 0x20u /* in native code outside of the runtime */
#define WIRE_SITE_FROZEN 0x80000000u /* added to the type of a site on the frozen heap */
#define WIRE_MODULE_DYNAMIC 0x1u /* no file */
#define WIRE_MODULE_ORIGIN_SHIFT 0x8u /* an ORIGIN from this bit on */
#define WIRE_ORIGIN_UNKNOWN 0x0u /* of a module: it was not asked whose it is */
#define WIRE_ORIGIN_PATTERN 0x1u /* a pattern of --mine matches */
#define WIRE_ORIGIN_PROJECT 0x2u /* a project in the program's deps.json */
#define WIRE_ORIGIN_BESIDE 0x3u /* in the folder of the main assembly */
#define WIRE_ORIGIN_MEMORY 0x4u /* made in memory */
#define WIRE_ORIGIN_FOLDER 0x5u /* in the folder that the collector named; the last of the user's */
#define WIRE_ORIGIN_FRAMEWORK 0x6u /* of a shared framework, or of the program's own */
#define WIRE_ORIGIN_SDK 0x7u /* of an SDK */
#define WIRE_ORIGIN_PACKAGE 0x8u /* of a NuGet package */
#define WIRE_ORIGIN_GENERATED 0x9u /* made in memory by the framework */
#define WIRE_ORIGIN_MICROSOFT 0xau /* Microsoft is its company */
#define WIRE_ORIGIN_ELSEWHERE 0xbu /* anywhere else */
#define WIRE_FUNCTION_DYNAMIC 0x1u /* only a name */
#define WIRE_FUNCTION_INSTRUMENTED 0x2u /* its calls are recorded */
#define WIRE_FUNCTION_BOUNDARY 0x4u /* its calls by instrumented functions are */
#define WIRE_FUNCTION_MARKED 0x8u /* its calls or returns are marked */
#define WIRE_FUNCTION_COLLECTION 0xffffffffu /* of a timing: garbage collections */
#define WIRE_FUNCTION_UNPROBED 0x10u /* its calls would be recorded if it could have probes */
#define WIRE_TYPE_UNKNOWN 0x0u /* the runtime did not know */
#define WIRE_TYPE_CLASS 0x1u /* TypeDef and type arguments */
#define WIRE_TYPE_ARRAY 0x2u /* rank and element */
#define WIRE_TYPE_OTHER 0x3u /* pointer, by-ref, type variable */
#define WIRE_RECORD_MODULE 0x1u
#define WIRE_RECORD_TYPE 0x2u
#define WIRE_RECORD_FUNCTION 0x3u
#define WIRE_RECORD_CALLEE 0x10u
#define WIRE_RECORD_BODY 0x4u
#define WIRE_RECORD_THREAD 0x5u
#define WIRE_RECORD_THREAD_END 0x6u
#define WIRE_RECORD_THREAD_NAME 0x7u
#define WIRE_RECORD_PROCESS 0x8u
#define WIRE_RECORD_GC 0x9u
#define WIRE_RECORD_ALIVE 0xau
#define WIRE_RECORD_WHY 0xbu
#define WIRE_RECORD_ROOTS 0xcu
#define WIRE_RECORD_CHANGES 0xdu
#define WIRE_RECORD_CONTROL 0xeu
#define WIRE_RECORD_MARK 0xfu
#define WIRE_RECORD_FUNCTION_MARK 0x11u
#define WIRE_RECORD_REQUEST_MARK 0x16u
#define WIRE_RECORD_PROCESS_NAME 0x12u
#define WIRE_RECORD_NOT_PROBED 0x13u
#define WIRE_NOT_PROBED_SIGNATURE 0x10u /* its module took no signature of a probe */
#define WIRE_NOT_PROBED_REFUSED 0x11u /* the runtime did not take the IL with probes, or there was no memory */
#define WIRE_NOT_PROBED_ELSEWHERE 0x12u /* code of it may run already that nobody can find */
#define WIRE_NOT_PROBED_RUNNING 0x13u /* its code ran when the recording began */
#define WIRE_NOT_PROBED_CHANGEABLE 0x14u /* its module can be changed while it runs */
#define WIRE_RECORD_COLLECTION 0x14u
#define WIRE_RECORD_INTERACTION_TEXT 0x15u
#define WIRE_INTERACTION_DATABASE 0x1u /* a command of a database */
#define WIRE_INTERACTION_HTTP 0x2u /* a request */
#define WIRE_MAX_INTERACTION_TEXT 0x1000u /* UTF-16 units of one text */
#define WIRE_CHANGE_ALLOCATED 0x5u /* after the generations */
#define WIRE_ENDING_SIGNAL 0x1u /* PosixSignalRegistration.OnPosixSignal */
#define WIRE_ENDING_HOST 0x2u /* ApplicationLifetime.StopApplication */
#define WIRE_GENERATION_LARGE 0x3u /* COR_PRF_GC_LARGE_OBJECT_HEAP */
#define WIRE_GENERATION_PINNED 0x4u /* COR_PRF_GC_PINNED_OBJECT_HEAP */
#define WIRE_GENERATION_COUNT 0x5u
#define WIRE_AGE_GC_BUCKETS 0x8u /* 0, 1, 2, 3-4, 5-8, 9-16, 17-64, more GCs */
#define WIRE_AGE_TIME_BUCKETS 0x8u /* decades from 1 ms */
#define WIRE_DATA_MEMORY 0x1u /* allocations */
#define WIRE_DATA_LIFETIME 0x2u /* and where objects died */
#define WIRE_DATA_TIME 0x4u /* calls and their times */
#define WIRE_DATA_TRACE 0x8u /* and the events of calls */
#define WIRE_TRACE_FREE 0x0u /* a chunk that nobody uses */
#define WIRE_TRACE_TAKEN 0x1u /* a thread writes into it */
#define WIRE_TRACE_FULL 0x2u /* the collector has it */
#define WIRE_TRACE_CHUNK_EVENTS 0xffdu /* of one chunk */
#define WIRE_TRACE_ALL_KEPT 0xffffffffu /* of a chunk before which nothing was lost */
#define WIRE_TRACE_ENTER 0x1u /* a call began */
#define WIRE_TRACE_EXIT 0x2u /* a call ended */
#define WIRE_TRACE_THROWN 0x3u /* an exception was thrown */
#define WIRE_TRACE_CAUGHT 0x4u /* an exception was caught */
#define WIRE_TRACE_KIND_BITS 0x3u /* below the depth */
#define WIRE_MECHANISM_NONE 0x0u /* not asked yet */
#define WIRE_MECHANISM_RSEQ 0x1u /* rseq_cs */
#define WIRE_MECHANISM_PERF 0x2u /* context-switch records */
#define WIRE_MECHANISM_GAP 0x3u /* long intervals */
#define WIRE_CLOCK_TSC 0x1u /* time-stamp counter */
#define WIRE_CLOCK_MONOTONIC 0x2u /* clock_gettime */
#define WIRE_INSTRUMENT_BOUNDARY 0x1u /* framework code as far as it is called */
#define WIRE_INSTRUMENT_MINE 0x2u /* no framework code */
#define WIRE_INSTRUMENT_ALL 0x3u /* all code */
#define WIRE_INSTRUMENT_IL 0x100u /* added: probes in IL, not hooks */
#define WIRE_ACTIVATION_BOUNDARY 0x1u /* only instrumented functions below */
#define WIRE_ACTIVATION_TRUNCATED 0x2u /* nothing below */
#define WIRE_ACTIVATION_DISPATCHING 0x4u /* nothing until an exception is handled */
#define WIRE_ACTIVATION_FOLDED 0x8u /* without a timing of its own path */
#define WIRE_ACTIVATION_PAUSED 0x10u /* as boundary: an unrecorded call may run inside */
#define WIRE_ACTIVATION_JUMPED 0x20u /* what it jumped to runs in its place */
#define WIRE_CONTROL_MAGIC UINT64_C(0x4c525443524c43) /* opens the control file */
#define WIRE_CONTROL_RING 0x1000u /* changes that it holds */
#define WIRE_CUT_WAIT 0x3b9aca00u /* nanoseconds that a thread waits at most for the end of a slice */
#define WIRE_LEVEL_GLOBAL 0x1u /* all processes */
#define WIRE_LEVEL_PROCESS 0x2u
#define WIRE_LEVEL_THREAD 0x3u
#define WIRE_LEVEL_FUNCTIONS 0x4u /* a process, by the functions that its threads are in */
#define WIRE_CONTROL_START 0x1u
#define WIRE_CONTROL_STOP 0x2u
#define WIRE_CONTROL_SUSPEND 0x3u
#define WIRE_CONTROL_RESUME 0x4u
#define WIRE_POINT_BEFORE 0x0u /* of a function's call */
#define WIRE_POINT_AFTER 0x1u
#define WIRE_POINT_TOP 0x2u
#define WIRE_POINT_BOTTOM 0x3u
#define WIRE_POINTS 0x4u
#define WIRE_ACTION_MARK 0x0u /* bits of what is done at functions */
#define WIRE_ACTION_SCOPE 0x4u
#define WIRE_ACTION_CONTROL 0xcu
#define WIRE_ACTIONS 0x3cu
#define WIRE_REQUEST_COLLECT 0x1u /* a full garbage collection */
#define WIRE_REQUEST_SNAPSHOT 0x2u /* and a snapshot of the heap */
#define WIRE_REQUEST_DETACH 0x3u /* the end of the recording */
#define WIRE_DORMANT_MAGIC UINT64_C(0x4d524f44524c43) /* opens the file of a dormant agent */
#define WIRE_MAX_DIRECTORY 0x800u /* bytes of its path */
#define WIRE_MAX_OPTIONS 0x40000u /* bytes of the file of options */
#define WIRE_MAX_CHOICE 0x10u /* bytes of a variable */
#define WIRE_DORMANT_WAITING 0x1u /* for a collector */
#define WIRE_DORMANT_RECORDING 0x2u
#define WIRE_DORMANT_LEAVING 0x3u /* the recording ends */
#define WIRE_DORMANT_ENDED 0x4u /* the process ends */
#define WIRE_MAX_COUNTERS 0x6u /* CPU counters */
#define WIRE_COUNTER_FAULTS 0x0u /* page faults */
#define WIRE_COUNTER_MINOR_FAULTS 0x1u /* without the disk */
#define WIRE_COUNTER_MAJOR_FAULTS 0x2u /* with it */
#define WIRE_COUNTER_SWITCHES 0x3u /* context switches */
#define WIRE_COUNTER_VOLUNTARY 0x4u /* the thread waited */
#define WIRE_COUNTER_PREEMPTED 0x5u /* another thread was given the processor */
#define WIRE_COUNTER_READS 0x6u /* of blocks */
#define WIRE_COUNTER_WRITES 0x7u /* of blocks */
#define WIRE_COUNTER_TASK_CLOCK 0x8u /* ns of processor time */
#define WIRE_COUNTER_PERF 0x9u /* a perf event */
#define WIRE_COUNTER_CALLS 0xau /* system calls */
#define WIRE_COUNTER_MIGRATIONS 0xbu /* moves to another processor */
#define WIRE_RECORD_METER_COUNTER 0x17u
#define WIRE_RECORD_METER_STATE 0x18u
#define WIRE_METER_OLD_RUNTIME 0x1u /* nothing listens */
#define WIRE_METER_NO_FILE 0x2u /* the same */
#define WIRE_METER_WANTED 0x3u
#define WIRE_METER_LISTENING 0x4u
#define WIRE_METER_ADDED 0x1u /* a counter */
#define WIRE_METER_UP_DOWN 0x2u /* an up-down counter */
#define WIRE_METER_SET 0x3u /* a gauge, or an observable up-down counter */
#define WIRE_METER_TOTAL 0x4u /* an observable counter */
#define WIRE_METER_MEASURED 0x5u /* a histogram */
#define WIRE_METER_KINDS 0x6u
#define WIRE_MAX_METER_COUNTERS 0x4e20u /* instruments with their tags */
#define WIRE_EVENT_SCHED 0x1u /* context switches */
#define WIRE_EVENT_FAULTS 0x2u /* page faults */
#define WIRE_EVENT_IO 0x4u /* blocks of disks */
#define WIRE_EVENT_CALLS 0x8u /* system calls */
#define WIRE_EVENT_MOVES 0x10u /* migrations */

#define WIRE_CORE_LIBRARY "System.Private.CoreLib.dll"
#define WIRE_HELPERS \
    "System.Runtime.CompilerServices.CastHelpers*", \
    "System.Runtime.CompilerServices.InitHelpers*", \
    "System.Runtime.CompilerServices.StaticsHelpers*", \
    "System.Runtime.CompilerServices.GenericsHelpers*", \
    "System.Runtime.CompilerServices.VirtualDispatchHelpers*", \
    "Internal.Runtime.CompilerHelpers.ThrowHelpers*", \
    "System.Runtime.CompilerServices.AsyncHelpers.AllocContinuation*", \
    "System.Runtime.CompilerServices.RuntimeHelpers.DispatchTailCalls", \
    "System.Runtime.CompilerServices.RuntimeHelpers.AllocTailCallArgBuffer*", \
    "System.Runtime.CompilerServices.RuntimeHelpers.<AllocTailCallArgBuffer*", \
    "System.RuntimeTypeHandle.InternalAlloc*", \
    "System.RuntimeTypeHandle.<InternalAlloc*", \
    "System.RuntimeTypeHandle.GetRuntimeTypeFromHandle*", \
    "System.Array.CreateInstanceMDArray", \
    "System.Delegate.DelegateConstruct", \
    "System.Math.ConvertTo*", \
    "System.TypedReference.GetRefAny"

struct wire_region_entry {
    uint64_t offset; /* from the start of the file */
    uint64_t capacity; /* bytes that the region may ever have */
    uint64_t used; /* bytes that are valid; grows, stored with release order */
    uint64_t backed; /* bytes for which the file system has given memory */
};
_Static_assert(sizeof(struct wire_region_entry) == 32, "layout");
_Static_assert(offsetof(struct wire_region_entry, offset) == 0, "layout");
_Static_assert(offsetof(struct wire_region_entry, capacity) == 8, "layout");
_Static_assert(offsetof(struct wire_region_entry, used) == 16, "layout");
_Static_assert(offsetof(struct wire_region_entry, backed) == 24, "layout");

struct wire_loss_entry {
    uint64_t events; /* how often */
    uint64_t objects; /* objects concerned */
    uint64_t bytes; /* their heap bytes */
};
_Static_assert(sizeof(struct wire_loss_entry) == 24, "layout");
_Static_assert(offsetof(struct wire_loss_entry, events) == 0, "layout");
_Static_assert(offsetof(struct wire_loss_entry, objects) == 8, "layout");
_Static_assert(offsetof(struct wire_loss_entry, bytes) == 16, "layout");

struct wire_overhead {
    uint64_t inside; /* from Enter's reading of the clock to Leave's, for a function without code: part of its own tail */
    uint64_t outside; /* from Leave's reading to the next Enter's: part of the caller's time before the next call */
    uint64_t cold_inside; /* the same when nothing is in the processor's caches */
    uint64_t cold_outside;
    uint64_t uncertain; /* by so much Inside and Outside together may be wrong, up or down */
};
_Static_assert(sizeof(struct wire_overhead) == 40, "layout");
_Static_assert(offsetof(struct wire_overhead, inside) == 0, "layout");
_Static_assert(offsetof(struct wire_overhead, outside) == 8, "layout");
_Static_assert(offsetof(struct wire_overhead, cold_inside) == 16, "layout");
_Static_assert(offsetof(struct wire_overhead, cold_outside) == 24, "layout");
_Static_assert(offsetof(struct wire_overhead, uncertain) == 32, "layout");

struct wire_cpu_counter {
    uint32_t kind; /* CounterFaults and so on */
    uint32_t type; /* of a perf event: perf_event_attr.type */
    uint64_t config; /* and config */
    uint64_t inside; /* as Overhead.Inside */
    uint64_t outside; /* as Overhead.Outside */
};
_Static_assert(sizeof(struct wire_cpu_counter) == 32, "layout");
_Static_assert(offsetof(struct wire_cpu_counter, kind) == 0, "layout");
_Static_assert(offsetof(struct wire_cpu_counter, type) == 4, "layout");
_Static_assert(offsetof(struct wire_cpu_counter, config) == 8, "layout");
_Static_assert(offsetof(struct wire_cpu_counter, inside) == 16, "layout");
_Static_assert(offsetof(struct wire_cpu_counter, outside) == 24, "layout");

struct wire_header {
    uint64_t magic; /* Magic */
    uint32_t version; /* Version */
    uint32_t state; /* State */
    uint32_t failure; /* Failure */
    uint32_t pid; /* process id */
    uint32_t parent_pid; /* parent's process id when the agent was loaded */
    uint32_t runtime_major; /* runtime version; .NET Core 3.1 says 4 */
    uint32_t runtime_minor;
    uint32_t runtime_build;
    uint32_t max_stack_depth; /* frames kept of one stack */
    uint32_t threads; /* ids of threads given so far: one for each thread that has allocated, or made a recorded call, and for each ThreadSet */
    uint32_t data; /* DataMemory and so on */
    uint32_t collections; /* garbage collections that ended */
    uint32_t alive_known; /* 1: the last GC said what is alive (Alive) */
    uint32_t mechanism; /* the one that most threads have, time */
    uint64_t start_ns; /* CLOCK_MONOTONIC when the agent was loaded */
    uint64_t end_ns; /* CLOCK_MONOTONIC at the runtime's shutdown, 0 before */
    uint64_t memory_limit; /* bytes that all regions and private tables may have; the collector lowers it */
    uint64_t shared_bytes; /* bytes of memory behind the regions */
    uint64_t private_bytes; /* bytes of the agent's private tables */
    uint32_t clock; /* ClockTSC and so on, 0 without time */
    uint32_t instrument; /* InstrumentBoundary and so on */
    uint64_t begin_ticks; /* the clock when it was BeginNS */
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    uint64_t ticks_per_sec; /* of the clock, measured at the start */
    uint64_t end_ticks; /* the clock at the runtime's shutdown (EndNS), 0 before */
    uint64_t gap_ticks; /* an interval without a context switch is shorter, MechanismGap */
    uint64_t ready_measured; /* 1: ready is what the kernel says of each thread, 0: an estimate by the numbers of switches */
    struct wire_overhead overhead; /* what the probes themselves take */
    uint64_t gc_pauses; /* how often threads were stopped for garbage collections while the process was recorded, time */
    uint64_t gc_paused_ns; /* from the request to stop to the beginning of the resumption, of all of these */
    uint64_t gc_longest_ns; /* of the longest */
    struct wire_region_entry regions[21]; /* by Region */
    struct wire_loss_entry losses[33]; /* by Loss */
    uint64_t walks; /* GCs at whose start the runtime walked generation 0, lifetime */
    uint64_t left_out; /* objects that the runtime allocated for events that the agent asked for: not the program's */
    uint64_t left_out_bytes; /* their heap bytes */
    uint32_t answered; /* the last of ControlHeader.Requests that was dealt with, whoever was asked */
    uint32_t forced; /* collections that were asked for and made; stored before Answered, as is Snapshots */
    uint32_t snapshots; /* heap snapshots that are complete, lifetime */
    uint32_t counters; /* CPU counters that are read at each event, time */
    uint64_t trace_freed; /* how often the collector has set a TraceChunk to TraceFree; it writes this after that */
    struct wire_cpu_counter cpu_counters[6]; /* which they are */
    uint32_t ready; /* the last of ControlHeader.Ready for which all probes were in */
    uint32_t probes_out; /* functions whose probes are taken out while nothing is recorded, or are about to be */
    uint32_t system_events; /* EventSched and so on: what is listed, time */
    uint32_t ending_sign; /* EndingSignal and so on: by what the agent saw that the program begins to end, lifetime */
    uint32_t ending_gc; /* number of the GC that says what was alive then, 0: the program does not end, or it was not seen */
    uint32_t reserved;
    uint64_t ending_ns; /* CLOCK_MONOTONIC at the end of that GC */
    uint64_t cut_ns; /* time of the last mark whose thread waits until what was counted before it is read; the file has a new time after it was stored */
};
_Static_assert(sizeof(struct wire_header) == 1968, "layout");
_Static_assert(offsetof(struct wire_header, magic) == 0, "layout");
_Static_assert(offsetof(struct wire_header, version) == 8, "layout");
_Static_assert(offsetof(struct wire_header, state) == 12, "layout");
_Static_assert(offsetof(struct wire_header, failure) == 16, "layout");
_Static_assert(offsetof(struct wire_header, pid) == 20, "layout");
_Static_assert(offsetof(struct wire_header, parent_pid) == 24, "layout");
_Static_assert(offsetof(struct wire_header, runtime_major) == 28, "layout");
_Static_assert(offsetof(struct wire_header, runtime_minor) == 32, "layout");
_Static_assert(offsetof(struct wire_header, runtime_build) == 36, "layout");
_Static_assert(offsetof(struct wire_header, max_stack_depth) == 40, "layout");
_Static_assert(offsetof(struct wire_header, threads) == 44, "layout");
_Static_assert(offsetof(struct wire_header, data) == 48, "layout");
_Static_assert(offsetof(struct wire_header, collections) == 52, "layout");
_Static_assert(offsetof(struct wire_header, alive_known) == 56, "layout");
_Static_assert(offsetof(struct wire_header, mechanism) == 60, "layout");
_Static_assert(offsetof(struct wire_header, start_ns) == 64, "layout");
_Static_assert(offsetof(struct wire_header, end_ns) == 72, "layout");
_Static_assert(offsetof(struct wire_header, memory_limit) == 80, "layout");
_Static_assert(offsetof(struct wire_header, shared_bytes) == 88, "layout");
_Static_assert(offsetof(struct wire_header, private_bytes) == 96, "layout");
_Static_assert(offsetof(struct wire_header, clock) == 104, "layout");
_Static_assert(offsetof(struct wire_header, instrument) == 108, "layout");
_Static_assert(offsetof(struct wire_header, begin_ticks) == 112, "layout");
_Static_assert(offsetof(struct wire_header, begin_ns) == 120, "layout");
_Static_assert(offsetof(struct wire_header, ticks_per_sec) == 128, "layout");
_Static_assert(offsetof(struct wire_header, end_ticks) == 136, "layout");
_Static_assert(offsetof(struct wire_header, gap_ticks) == 144, "layout");
_Static_assert(offsetof(struct wire_header, ready_measured) == 152, "layout");
_Static_assert(offsetof(struct wire_header, overhead) == 160, "layout");
_Static_assert(offsetof(struct wire_header, gc_pauses) == 200, "layout");
_Static_assert(offsetof(struct wire_header, gc_paused_ns) == 208, "layout");
_Static_assert(offsetof(struct wire_header, gc_longest_ns) == 216, "layout");
_Static_assert(offsetof(struct wire_header, regions) == 224, "layout");
_Static_assert(offsetof(struct wire_header, losses) == 896, "layout");
_Static_assert(offsetof(struct wire_header, walks) == 1688, "layout");
_Static_assert(offsetof(struct wire_header, left_out) == 1696, "layout");
_Static_assert(offsetof(struct wire_header, left_out_bytes) == 1704, "layout");
_Static_assert(offsetof(struct wire_header, answered) == 1712, "layout");
_Static_assert(offsetof(struct wire_header, forced) == 1716, "layout");
_Static_assert(offsetof(struct wire_header, snapshots) == 1720, "layout");
_Static_assert(offsetof(struct wire_header, counters) == 1724, "layout");
_Static_assert(offsetof(struct wire_header, trace_freed) == 1728, "layout");
_Static_assert(offsetof(struct wire_header, cpu_counters) == 1736, "layout");
_Static_assert(offsetof(struct wire_header, ready) == 1928, "layout");
_Static_assert(offsetof(struct wire_header, probes_out) == 1932, "layout");
_Static_assert(offsetof(struct wire_header, system_events) == 1936, "layout");
_Static_assert(offsetof(struct wire_header, ending_sign) == 1940, "layout");
_Static_assert(offsetof(struct wire_header, ending_gc) == 1944, "layout");
_Static_assert(offsetof(struct wire_header, reserved) == 1948, "layout");
_Static_assert(offsetof(struct wire_header, ending_ns) == 1952, "layout");
_Static_assert(offsetof(struct wire_header, cut_ns) == 1960, "layout");

struct wire_ip {
    uint64_t address; /* the return address */
    uint32_t body; /* id of the body around it, 0 for native code */
    uint32_t function; /* id of the function */
    uint32_t frame_size; /* bytes between the stack pointer and the return address of the function */
    uint32_t flags; /* IPManaged, IPFrameless, IPOSR, IPSignal, IPHelper, IPForeign */
};
_Static_assert(sizeof(struct wire_ip) == 24, "layout");
_Static_assert(offsetof(struct wire_ip, address) == 0, "layout");
_Static_assert(offsetof(struct wire_ip, body) == 8, "layout");
_Static_assert(offsetof(struct wire_ip, function) == 12, "layout");
_Static_assert(offsetof(struct wire_ip, frame_size) == 16, "layout");
_Static_assert(offsetof(struct wire_ip, flags) == 20, "layout");

struct wire_node {
    uint32_t parent; /* id of the parent node; always smaller than the node's own */
    uint32_t ip; /* id of the IP */
    uint32_t child; /* id of the oldest child */
    uint32_t sibling; /* id of the parent's next child, as far as they are linked */
    uint32_t site; /* number (index plus one) of the newest site at this node */
    uint32_t children; /* how many */
};
_Static_assert(sizeof(struct wire_node) == 24, "layout");
_Static_assert(offsetof(struct wire_node, parent) == 0, "layout");
_Static_assert(offsetof(struct wire_node, ip) == 4, "layout");
_Static_assert(offsetof(struct wire_node, child) == 8, "layout");
_Static_assert(offsetof(struct wire_node, sibling) == 12, "layout");
_Static_assert(offsetof(struct wire_node, site) == 16, "layout");
_Static_assert(offsetof(struct wire_node, children) == 20, "layout");

struct wire_site {
    uint32_t thread; /* id of the thread */
    uint32_t node; /* id of the node */
    uint32_t type; /* id of the type; with SiteFrozen on the frozen heap */
    uint32_t next; /* number (index plus one) of the site at the node before this one */
    uint64_t objects; /* objects allocated */
    uint64_t bytes; /* their heap bytes: sizes rounded up to 8 */
};
_Static_assert(sizeof(struct wire_site) == 32, "layout");
_Static_assert(offsetof(struct wire_site, thread) == 0, "layout");
_Static_assert(offsetof(struct wire_site, node) == 4, "layout");
_Static_assert(offsetof(struct wire_site, type) == 8, "layout");
_Static_assert(offsetof(struct wire_site, next) == 12, "layout");
_Static_assert(offsetof(struct wire_site, objects) == 16, "layout");
_Static_assert(offsetof(struct wire_site, bytes) == 24, "layout");

struct wire_site_timing {
    uint32_t timing; /* number (index plus one) of the timing of the innermost call, 0: none, or only the stack shows it */
};
_Static_assert(sizeof(struct wire_site_timing) == 4, "layout");
_Static_assert(offsetof(struct wire_site_timing, timing) == 0, "layout");

struct wire_site_deaths {
    uint64_t dead_objects[5]; /* by the generation in which they were when they were found dead */
    uint64_t dead_bytes[5]; /* their heap bytes */
    uint32_t ages; /* number (index plus one) of the site's Ages, 0: all of the dead survived no GC */
    uint32_t changed; /* the agent's list of sites that changed: number of the next one, 0: not in it */
    uint32_t counters; /* in that list: bit n: Change.Counter n may have changed */
    uint32_t reserved;
    uint64_t reported_objects; /* objects allocated as last reported by Changes */
    uint64_t reported_bytes; /* the same in bytes */
    uint64_t counted_objects; /* objects allocated before the last collection */
    uint64_t counted_bytes; /* the same in bytes */
    uint64_t other_objects; /* of those since, within a collection: that are alive, or were not born in generation 0 */
    uint64_t other_bytes; /* the same in bytes */
};
_Static_assert(sizeof(struct wire_site_deaths) == 144, "layout");
_Static_assert(offsetof(struct wire_site_deaths, dead_objects) == 0, "layout");
_Static_assert(offsetof(struct wire_site_deaths, dead_bytes) == 40, "layout");
_Static_assert(offsetof(struct wire_site_deaths, ages) == 80, "layout");
_Static_assert(offsetof(struct wire_site_deaths, changed) == 84, "layout");
_Static_assert(offsetof(struct wire_site_deaths, counters) == 88, "layout");
_Static_assert(offsetof(struct wire_site_deaths, reserved) == 92, "layout");
_Static_assert(offsetof(struct wire_site_deaths, reported_objects) == 96, "layout");
_Static_assert(offsetof(struct wire_site_deaths, reported_bytes) == 104, "layout");
_Static_assert(offsetof(struct wire_site_deaths, counted_objects) == 112, "layout");
_Static_assert(offsetof(struct wire_site_deaths, counted_bytes) == 120, "layout");
_Static_assert(offsetof(struct wire_site_deaths, other_objects) == 128, "layout");
_Static_assert(offsetof(struct wire_site_deaths, other_bytes) == 136, "layout");

struct wire_ages {
    uint64_t by_collections[8]; /* by the number of GCs that they survived */
    uint64_t by_time[8]; /* by the time from the end of the first GC that they survived to the end of the one that found them dead */
};
_Static_assert(sizeof(struct wire_ages) == 128, "layout");
_Static_assert(offsetof(struct wire_ages, by_collections) == 0, "layout");
_Static_assert(offsetof(struct wire_ages, by_time) == 64, "layout");

struct wire_thread_set {
    uint32_t thread; /* the id */
    uint32_t threads; /* how many there have been; at most one of them runs */
    uint32_t osid; /* gettid of the newest */
    uint32_t several; /* 1: of several names */
    uint64_t name_at; /* where in the log the ThreadName record with their name begins, plus one; 0: they have none */
    uint64_t begin_ns; /* CLOCK_MONOTONIC of the first one's first allocation */
    uint64_t end_ns; /* CLOCK_MONOTONIC of the newest one's end, 0: it runs */
};
_Static_assert(sizeof(struct wire_thread_set) == 40, "layout");
_Static_assert(offsetof(struct wire_thread_set, thread) == 0, "layout");
_Static_assert(offsetof(struct wire_thread_set, threads) == 4, "layout");
_Static_assert(offsetof(struct wire_thread_set, osid) == 8, "layout");
_Static_assert(offsetof(struct wire_thread_set, several) == 12, "layout");
_Static_assert(offsetof(struct wire_thread_set, name_at) == 16, "layout");
_Static_assert(offsetof(struct wire_thread_set, begin_ns) == 24, "layout");
_Static_assert(offsetof(struct wire_thread_set, end_ns) == 32, "layout");

struct wire_spells {
    uint64_t times; /* how many began */
    uint64_t ns; /* how long those took that ended, CLOCK_MONOTONIC */
    uint64_t since_ns; /* when the one began that goes on, 0: none does */
};
_Static_assert(sizeof(struct wire_spells) == 24, "layout");
_Static_assert(offsetof(struct wire_spells, times) == 0, "layout");
_Static_assert(offsetof(struct wire_spells, ns) == 8, "layout");
_Static_assert(offsetof(struct wire_spells, since_ns) == 16, "layout");

struct wire_scope {
    struct wire_spells inside; /* calls of functions of --record-inside: outside of them the thread is off */
    struct wire_spells outside; /* calls of functions of --record-outside: in them the thread is off */
    uint32_t off; /* 1: because of these, nothing of the thread is recorded now */
    uint32_t reserved;
};
_Static_assert(sizeof(struct wire_scope) == 56, "layout");
_Static_assert(offsetof(struct wire_scope, inside) == 0, "layout");
_Static_assert(offsetof(struct wire_scope, outside) == 24, "layout");
_Static_assert(offsetof(struct wire_scope, off) == 48, "layout");
_Static_assert(offsetof(struct wire_scope, reserved) == 52, "layout");

struct wire_interaction {
    uint32_t kind; /* InteractionDatabase or InteractionHTTP */
    uint32_t text; /* id of an InteractionText, 0: there was no room for it */
    uint32_t node; /* the stack of the caller, 0: it is not known yet */
    uint32_t reserved;
    uint64_t started; /* calls */
    uint64_t ended; /* those that have ended; stored last */
    uint64_t failed; /* those of them that ended by an exception, or whose task failed or was cancelled */
    uint64_t unwaited; /* those that returned a task which was not complete, and of which nobody knows when it was */
    uint64_t total_ns; /* CLOCK_MONOTONIC, of calls that have ended */
    uint64_t min_ns; /* of one call; UINT64_MAX: none has ended */
    uint64_t max_ns;
};
_Static_assert(sizeof(struct wire_interaction) == 72, "layout");
_Static_assert(offsetof(struct wire_interaction, kind) == 0, "layout");
_Static_assert(offsetof(struct wire_interaction, text) == 4, "layout");
_Static_assert(offsetof(struct wire_interaction, node) == 8, "layout");
_Static_assert(offsetof(struct wire_interaction, reserved) == 12, "layout");
_Static_assert(offsetof(struct wire_interaction, started) == 16, "layout");
_Static_assert(offsetof(struct wire_interaction, ended) == 24, "layout");
_Static_assert(offsetof(struct wire_interaction, failed) == 32, "layout");
_Static_assert(offsetof(struct wire_interaction, unwaited) == 40, "layout");
_Static_assert(offsetof(struct wire_interaction, total_ns) == 48, "layout");
_Static_assert(offsetof(struct wire_interaction, min_ns) == 56, "layout");
_Static_assert(offsetof(struct wire_interaction, max_ns) == 64, "layout");

struct wire_meter_value {
    uint64_t count; /* measurements; stored last */
    uint64_t sum; /* of all of them */
    uint64_t last; /* the last one */
    uint64_t min; /* of MeterMeasured; of no measurement the greatest number there is */
    uint64_t max; /* the same, the least number */
};
_Static_assert(sizeof(struct wire_meter_value) == 40, "layout");
_Static_assert(offsetof(struct wire_meter_value, count) == 0, "layout");
_Static_assert(offsetof(struct wire_meter_value, sum) == 8, "layout");
_Static_assert(offsetof(struct wire_meter_value, last) == 16, "layout");
_Static_assert(offsetof(struct wire_meter_value, min) == 24, "layout");
_Static_assert(offsetof(struct wire_meter_value, max) == 32, "layout");

struct wire_timing {
    uint32_t parent; /* number (index plus one) of the caller's timing; always smaller than the own; 0: a root, whose Lead is 0 */
    uint32_t function; /* id of the function; 0: (truncated), the root of folded calls; FunctionCollection */
    uint64_t return_address; /* return address in the caller, which need not be the parent's function: it can be code that is not hooked; 0 below ActivationBoundary and of folded calls */
    uint64_t calls; /* calls that began, each of which ended one interval of Lead, but for roots and for folded calls: there it is part of the caller's Tail */
    uint64_t ended; /* of these: calls that ended, each of which ended one interval of Tail */
    uint64_t lead_elapsed; /* intervals in the caller that a call to this function ended */
    uint64_t lead_waited; /* of these, in intervals in which the operating system acted */
    uint64_t tail_elapsed; /* intervals in the function itself that its end ended */
    uint64_t tail_waited; /* of these, in intervals in which the operating system acted */
    uint64_t min[2]; /* of one call that ended and in which the operating system did not act, without the probes' overhead: inclusive, exclusive */
    uint64_t max[2]; /* the same */
    uint32_t ip; /* id of ReturnAddress; 0: the reader looks for it in the bodies of the caller's function */
    uint32_t thread; /* id of the thread */
    uint32_t lead_waits; /* number (index plus one) of the Waits of Lead, 0: none */
    uint32_t tail_waits; /* the same of Tail */
    uint64_t unmatched; /* of Ended: calls whose end was only seen by a later event */
    uint32_t first; /* only the agent's: number of the timing of the call that this one made first when it ran last, 0: none */
    uint32_t next; /* the same of the call that its caller made next after one of this timing */
    uint64_t folded; /* folded calls made from here: each ended one interval of Tail */
    uint32_t acted; /* number of the Acted of other calls that ended, 0: none */
    uint32_t inclusive; /* number of the Inclusive of folded calls, 0: none */
    uint32_t present; /* only the agent's: of folded calls, how many are on the stack, and of the same function or pair on other paths; of a path, how many more calls from here get one, though others do not */
    uint32_t callee; /* of folded calls: number of the timing of their function below (truncated) */
    uint64_t began; /* sum of the readings of the clock at the beginning of Calls, modulo 2^64 */
};
_Static_assert(sizeof(struct wire_timing) == 160, "layout");
_Static_assert(offsetof(struct wire_timing, parent) == 0, "layout");
_Static_assert(offsetof(struct wire_timing, function) == 4, "layout");
_Static_assert(offsetof(struct wire_timing, return_address) == 8, "layout");
_Static_assert(offsetof(struct wire_timing, calls) == 16, "layout");
_Static_assert(offsetof(struct wire_timing, ended) == 24, "layout");
_Static_assert(offsetof(struct wire_timing, lead_elapsed) == 32, "layout");
_Static_assert(offsetof(struct wire_timing, lead_waited) == 40, "layout");
_Static_assert(offsetof(struct wire_timing, tail_elapsed) == 48, "layout");
_Static_assert(offsetof(struct wire_timing, tail_waited) == 56, "layout");
_Static_assert(offsetof(struct wire_timing, min) == 64, "layout");
_Static_assert(offsetof(struct wire_timing, max) == 80, "layout");
_Static_assert(offsetof(struct wire_timing, ip) == 96, "layout");
_Static_assert(offsetof(struct wire_timing, thread) == 100, "layout");
_Static_assert(offsetof(struct wire_timing, lead_waits) == 104, "layout");
_Static_assert(offsetof(struct wire_timing, tail_waits) == 108, "layout");
_Static_assert(offsetof(struct wire_timing, unmatched) == 112, "layout");
_Static_assert(offsetof(struct wire_timing, first) == 120, "layout");
_Static_assert(offsetof(struct wire_timing, next) == 124, "layout");
_Static_assert(offsetof(struct wire_timing, folded) == 128, "layout");
_Static_assert(offsetof(struct wire_timing, acted) == 136, "layout");
_Static_assert(offsetof(struct wire_timing, inclusive) == 140, "layout");
_Static_assert(offsetof(struct wire_timing, present) == 144, "layout");
_Static_assert(offsetof(struct wire_timing, callee) == 148, "layout");
_Static_assert(offsetof(struct wire_timing, began) == 152, "layout");

struct wire_waits {
    uint64_t intervals; /* in which it acted */
    uint64_t voluntary; /* context switches because the thread waited */
    uint64_t preempted; /* context switches because another thread was given the processor */
    uint64_t faults; /* page faults that needed the disk, in these intervals */
    uint64_t reads; /* reads of blocks, in these intervals */
    uint64_t blocked; /* ticks without a processor because the thread waited */
    uint64_t ready; /* ticks without a processor though the thread could have run */
};
_Static_assert(sizeof(struct wire_waits) == 56, "layout");
_Static_assert(offsetof(struct wire_waits, intervals) == 0, "layout");
_Static_assert(offsetof(struct wire_waits, voluntary) == 8, "layout");
_Static_assert(offsetof(struct wire_waits, preempted) == 16, "layout");
_Static_assert(offsetof(struct wire_waits, faults) == 24, "layout");
_Static_assert(offsetof(struct wire_waits, reads) == 32, "layout");
_Static_assert(offsetof(struct wire_waits, blocked) == 40, "layout");
_Static_assert(offsetof(struct wire_waits, ready) == 48, "layout");

struct wire_acted {
    uint64_t min[6]; /* elapsed inclusive, elapsed exclusive, application inclusive, application exclusive, CPU inclusive, CPU exclusive */
    uint64_t max[6]; /* the same */
};
_Static_assert(sizeof(struct wire_acted) == 96, "layout");
_Static_assert(offsetof(struct wire_acted, min) == 0, "layout");
_Static_assert(offsetof(struct wire_acted, max) == 48, "layout");

struct wire_inclusive {
    uint64_t times; /* calls whose time it is: not those within another one of them */
    uint64_t calls; /* these, and all calls within them */
    uint64_t elapsed; /* ticks */
    uint64_t waited; /* of these, in intervals in which the operating system acted */
    uint64_t each_calls; /* of a pair of functions: as Calls, but for each call by itself, also within another one */
    uint64_t each_elapsed; /* the same of Elapsed */
    uint64_t each_waited; /* the same of Waited */
    uint64_t each_off; /* the same of Waits.Blocked and Waits.Ready */
    struct wire_waits waits; /* of the intervals of Waited: what it did there */
};
_Static_assert(sizeof(struct wire_inclusive) == 120, "layout");
_Static_assert(offsetof(struct wire_inclusive, times) == 0, "layout");
_Static_assert(offsetof(struct wire_inclusive, calls) == 8, "layout");
_Static_assert(offsetof(struct wire_inclusive, elapsed) == 16, "layout");
_Static_assert(offsetof(struct wire_inclusive, waited) == 24, "layout");
_Static_assert(offsetof(struct wire_inclusive, each_calls) == 32, "layout");
_Static_assert(offsetof(struct wire_inclusive, each_elapsed) == 40, "layout");
_Static_assert(offsetof(struct wire_inclusive, each_waited) == 48, "layout");
_Static_assert(offsetof(struct wire_inclusive, each_off) == 56, "layout");
_Static_assert(offsetof(struct wire_inclusive, waits) == 64, "layout");

struct wire_counts {
    uint64_t lead[6]; /* in the intervals of Timing.LeadElapsed */
    uint64_t tail[6]; /* in those of Timing.TailElapsed */
    uint64_t inclusive[6]; /* in those of Inclusive.Elapsed */
    uint64_t each[6]; /* in those of Inclusive.EachElapsed */
};
_Static_assert(sizeof(struct wire_counts) == 192, "layout");
_Static_assert(offsetof(struct wire_counts, lead) == 0, "layout");
_Static_assert(offsetof(struct wire_counts, tail) == 48, "layout");
_Static_assert(offsetof(struct wire_counts, inclusive) == 96, "layout");
_Static_assert(offsetof(struct wire_counts, each) == 144, "layout");

struct wire_system_event {
    uint64_t end; /* Header.Clock when the interval ended */
    uint64_t length; /* ticks that the interval took, without pauses */
    uint32_t timing; /* number of the timing that has the interval */
    uint32_t lead; /* 1: in Lead, which is the caller's, 0: in Tail */
    uint32_t voluntary; /* context switches: the thread waited */
    uint32_t preempted; /* another thread was given the processor */
    uint32_t minor_faults; /* page faults without the disk */
    uint32_t major_faults; /* with it */
    uint32_t reads; /* blocks of 512 bytes that were read from a disk */
    uint32_t writes; /* blocks that are to be written to one */
    uint64_t blocked; /* ticks without a processor: the thread waited */
    uint64_t ready; /* it could have run */
    uint32_t calls; /* system calls */
    uint32_t migrations; /* moves to another processor */
    uint32_t named; /* rows of RegionSystemCalls that say which these were, behind those of the event before */
    uint32_t reserved;
};
_Static_assert(sizeof(struct wire_system_event) == 80, "layout");
_Static_assert(offsetof(struct wire_system_event, end) == 0, "layout");
_Static_assert(offsetof(struct wire_system_event, length) == 8, "layout");
_Static_assert(offsetof(struct wire_system_event, timing) == 16, "layout");
_Static_assert(offsetof(struct wire_system_event, lead) == 20, "layout");
_Static_assert(offsetof(struct wire_system_event, voluntary) == 24, "layout");
_Static_assert(offsetof(struct wire_system_event, preempted) == 28, "layout");
_Static_assert(offsetof(struct wire_system_event, minor_faults) == 32, "layout");
_Static_assert(offsetof(struct wire_system_event, major_faults) == 36, "layout");
_Static_assert(offsetof(struct wire_system_event, reads) == 40, "layout");
_Static_assert(offsetof(struct wire_system_event, writes) == 44, "layout");
_Static_assert(offsetof(struct wire_system_event, blocked) == 48, "layout");
_Static_assert(offsetof(struct wire_system_event, ready) == 56, "layout");
_Static_assert(offsetof(struct wire_system_event, calls) == 64, "layout");
_Static_assert(offsetof(struct wire_system_event, migrations) == 68, "layout");
_Static_assert(offsetof(struct wire_system_event, named) == 72, "layout");
_Static_assert(offsetof(struct wire_system_event, reserved) == 76, "layout");

struct wire_system_call {
    uint32_t number; /* of the machine's table */
    uint32_t count;
};
_Static_assert(sizeof(struct wire_system_call) == 8, "layout");
_Static_assert(offsetof(struct wire_system_call, number) == 0, "layout");
_Static_assert(offsetof(struct wire_system_call, count) == 4, "layout");

struct wire_clock {
    uint32_t depth; /* activations: calls that have not ended */
    uint32_t capacity; /* activations that there is room for */
    uint64_t activations; /* index of the first activation, the one next to the root */
    uint64_t elapsed; /* sum of all intervals, ticks */
    uint64_t waited; /* of these, in which the operating system acted */
    uint64_t calls; /* calls that began */
    uint64_t last; /* reading of the clock at the last event */
    uint32_t mechanism; /* MechanismRseq and so on */
    uint32_t reserved;
    uint64_t own; /* ticks that the agent took for itself, which are in no interval */
    uint64_t acted; /* how often the operating system was seen to act */
    uint64_t jumps; /* of Calls, those that ended by a jump */
    uint64_t trace_lost; /* events of the call trace for which there was no room */
    uint64_t trace_lost_ticks; /* the clock at the first of those lost since the thread last had room */
};
_Static_assert(sizeof(struct wire_clock) == 96, "layout");
_Static_assert(offsetof(struct wire_clock, depth) == 0, "layout");
_Static_assert(offsetof(struct wire_clock, capacity) == 4, "layout");
_Static_assert(offsetof(struct wire_clock, activations) == 8, "layout");
_Static_assert(offsetof(struct wire_clock, elapsed) == 16, "layout");
_Static_assert(offsetof(struct wire_clock, waited) == 24, "layout");
_Static_assert(offsetof(struct wire_clock, calls) == 32, "layout");
_Static_assert(offsetof(struct wire_clock, last) == 40, "layout");
_Static_assert(offsetof(struct wire_clock, mechanism) == 48, "layout");
_Static_assert(offsetof(struct wire_clock, reserved) == 52, "layout");
_Static_assert(offsetof(struct wire_clock, own) == 56, "layout");
_Static_assert(offsetof(struct wire_clock, acted) == 64, "layout");
_Static_assert(offsetof(struct wire_clock, jumps) == 72, "layout");
_Static_assert(offsetof(struct wire_clock, trace_lost) == 80, "layout");
_Static_assert(offsetof(struct wire_clock, trace_lost_ticks) == 88, "layout");

struct wire_activation {
    uint64_t caller_sp; /* stack pointer of the caller after the call */
    uint32_t timing; /* number (index plus one) of its timing */
    uint32_t flags; /* ActivationBoundary */
    uint64_t elapsed; /* Clock.Elapsed when it began */
    uint64_t waited; /* Clock.Waited when it began */
    uint64_t child_elapsed; /* inclusive elapsed time of the calls that it made and that ended */
    uint64_t acted; /* Clock.Acted when it began */
    uint64_t calls; /* Clock.Calls when it began, itself included */
    uint64_t children; /* calls that it made and that ended */
};
_Static_assert(sizeof(struct wire_activation) == 64, "layout");
_Static_assert(offsetof(struct wire_activation, caller_sp) == 0, "layout");
_Static_assert(offsetof(struct wire_activation, timing) == 8, "layout");
_Static_assert(offsetof(struct wire_activation, flags) == 12, "layout");
_Static_assert(offsetof(struct wire_activation, elapsed) == 16, "layout");
_Static_assert(offsetof(struct wire_activation, waited) == 24, "layout");
_Static_assert(offsetof(struct wire_activation, child_elapsed) == 32, "layout");
_Static_assert(offsetof(struct wire_activation, acted) == 40, "layout");
_Static_assert(offsetof(struct wire_activation, calls) == 48, "layout");
_Static_assert(offsetof(struct wire_activation, children) == 56, "layout");

struct wire_record_header {
    uint32_t size; /* bytes of the record with this header, a multiple of 8 */
    uint32_t kind; /* Kind */
};
_Static_assert(sizeof(struct wire_record_header) == 8, "layout");
_Static_assert(offsetof(struct wire_record_header, size) == 0, "layout");
_Static_assert(offsetof(struct wire_record_header, kind) == 4, "layout");

struct wire_control_header {
    uint64_t magic; /* ControlMagic */
    uint64_t changes; /* how many there have been; the last is at (Changes - 1) modulo ControlRing; stored after it */
    uint32_t stopped; /* 1: LevelGlobal is stopped, after all of them */
    uint32_t suspended; /* how often it is suspended, a signed number */
    uint32_t requests; /* how often something was asked for; a futex, stored after the next two */
    uint32_t request; /* RequestCollect and so on */
    uint32_t request_pid; /* of which process, 0: of all */
    uint32_t ready; /* how often something is about to be recorded again, for which probes have to be in; set before the change */
    uint32_t cuts; /* how often the collector has read what is counted; a futex, stored after CutNS */
    uint32_t cutting; /* 1: marks end slices, and who marks may wait for that */
    uint64_t cut_ns; /* what was counted until then is read, CLOCK_MONOTONIC */
};
_Static_assert(sizeof(struct wire_control_header) == 56, "layout");
_Static_assert(offsetof(struct wire_control_header, magic) == 0, "layout");
_Static_assert(offsetof(struct wire_control_header, changes) == 8, "layout");
_Static_assert(offsetof(struct wire_control_header, stopped) == 16, "layout");
_Static_assert(offsetof(struct wire_control_header, suspended) == 20, "layout");
_Static_assert(offsetof(struct wire_control_header, requests) == 24, "layout");
_Static_assert(offsetof(struct wire_control_header, request) == 28, "layout");
_Static_assert(offsetof(struct wire_control_header, request_pid) == 32, "layout");
_Static_assert(offsetof(struct wire_control_header, ready) == 36, "layout");
_Static_assert(offsetof(struct wire_control_header, cuts) == 40, "layout");
_Static_assert(offsetof(struct wire_control_header, cutting) == 44, "layout");
_Static_assert(offsetof(struct wire_control_header, cut_ns) == 48, "layout");

struct wire_control_change {
    uint64_t time_ns; /* CLOCK_MONOTONIC */
    uint32_t level; /* LevelGlobal and so on */
    uint32_t op; /* ControlStart and so on */
    uint32_t pid; /* but of LevelGlobal: which process */
    uint32_t origin; /* process id of the agent that made the change itself, 0: the collector */
    uint32_t thread; /* of LevelThread: gettid of the thread */
    uint32_t reserved;
};
_Static_assert(sizeof(struct wire_control_change) == 32, "layout");
_Static_assert(offsetof(struct wire_control_change, time_ns) == 0, "layout");
_Static_assert(offsetof(struct wire_control_change, level) == 8, "layout");
_Static_assert(offsetof(struct wire_control_change, op) == 12, "layout");
_Static_assert(offsetof(struct wire_control_change, pid) == 16, "layout");
_Static_assert(offsetof(struct wire_control_change, origin) == 20, "layout");
_Static_assert(offsetof(struct wire_control_change, thread) == 24, "layout");
_Static_assert(offsetof(struct wire_control_change, reserved) == 28, "layout");

struct wire_trace_event {
    uint64_t ticks; /* of Header.Clock */
    uint32_t value; /* by kind */
    uint32_t what; /* kind, and shifted by TraceKindBits the depth: the number of calls on the stack, with that which begins or ends */
};
_Static_assert(sizeof(struct wire_trace_event) == 16, "layout");
_Static_assert(offsetof(struct wire_trace_event, ticks) == 0, "layout");
_Static_assert(offsetof(struct wire_trace_event, value) == 8, "layout");
_Static_assert(offsetof(struct wire_trace_event, what) == 12, "layout");

struct wire_trace_chunk_head {
    uint32_t state; /* TraceFree and so on; stored last */
    uint32_t thread; /* id of the thread */
    uint32_t used; /* events that are valid; stored with release order */
    uint32_t kept; /* if events were lost since the chunk before: so many calls were on the stack all the time; else TraceAllKept */
    uint64_t sequence; /* from 1, in the order in which chunks are taken in the process */
    uint64_t lost; /* Clock.TraceLost when it was taken */
    uint64_t lost_ticks; /* if events were lost since the chunk before: the clock at the first of them */
    uint64_t reserved;
};
_Static_assert(sizeof(struct wire_trace_chunk_head) == 48, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, state) == 0, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, thread) == 4, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, used) == 8, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, kept) == 12, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, sequence) == 16, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, lost) == 24, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, lost_ticks) == 32, "layout");
_Static_assert(offsetof(struct wire_trace_chunk_head, reserved) == 40, "layout");

struct wire_trace_chunk {
    struct wire_trace_chunk_head head;
    struct wire_trace_event events[4093];
};
_Static_assert(sizeof(struct wire_trace_chunk) == 65536, "layout");
_Static_assert(offsetof(struct wire_trace_chunk, head) == 0, "layout");
_Static_assert(offsetof(struct wire_trace_chunk, events) == 48, "layout");

struct wire_dormant {
    uint64_t magic; /* DormantMagic; stored last */
    uint32_t version; /* Version */
    uint32_t pid; /* in the process's own namespace */
    uint8_t build[20]; /* the agent's build id */
    uint32_t state; /* DormantWaiting and so on */
    uint32_t requests; /* how often a recording was asked for; a futex, stored last */
    uint32_t answered; /* the last of these that has begun, or could not */
    uint32_t failure; /* why it could not: Failure */
    uint32_t stack_depth; /* frames kept of one stack */
    uint32_t collector; /* its process id, in its own namespace */
    uint32_t data; /* what is wanted: DataMemory, also DataLifetime; DataTime */
    uint64_t memory_limit; /* bytes of all tables together */
    uint64_t nodes; /* of the tree of stacks */
    uint64_t recordings; /* how many there have been */
    uint32_t final_gc; /* 1: with lifetime, a last collection when the recording ends */
    uint32_t first; /* with lifetime: nothing is recorded after so many collections; 0: without limit */
    uint32_t prepared; /* with calls, before it has begun: methods that were looked at, */
    uint32_t to_prepare; /* of so many; 0: not known yet */
    uint32_t steps; /* how often the former two were reported, in all recordings */
    uint32_t unused; /* 0 */
    uint8_t roots[16]; /* CLRPROF_ROOTS; ends with a zero byte */
    uint8_t snapshot[16]; /* CLRPROF_SNAPSHOT; ends with a zero byte */
    uint8_t directory[2048]; /* for the arena, as the process sees it; UTF-8, ends with a zero byte */
};
_Static_assert(sizeof(struct wire_dormant) == 2192, "layout");
_Static_assert(offsetof(struct wire_dormant, magic) == 0, "layout");
_Static_assert(offsetof(struct wire_dormant, version) == 8, "layout");
_Static_assert(offsetof(struct wire_dormant, pid) == 12, "layout");
_Static_assert(offsetof(struct wire_dormant, build) == 16, "layout");
_Static_assert(offsetof(struct wire_dormant, state) == 36, "layout");
_Static_assert(offsetof(struct wire_dormant, requests) == 40, "layout");
_Static_assert(offsetof(struct wire_dormant, answered) == 44, "layout");
_Static_assert(offsetof(struct wire_dormant, failure) == 48, "layout");
_Static_assert(offsetof(struct wire_dormant, stack_depth) == 52, "layout");
_Static_assert(offsetof(struct wire_dormant, collector) == 56, "layout");
_Static_assert(offsetof(struct wire_dormant, data) == 60, "layout");
_Static_assert(offsetof(struct wire_dormant, memory_limit) == 64, "layout");
_Static_assert(offsetof(struct wire_dormant, nodes) == 72, "layout");
_Static_assert(offsetof(struct wire_dormant, recordings) == 80, "layout");
_Static_assert(offsetof(struct wire_dormant, final_gc) == 88, "layout");
_Static_assert(offsetof(struct wire_dormant, first) == 92, "layout");
_Static_assert(offsetof(struct wire_dormant, prepared) == 96, "layout");
_Static_assert(offsetof(struct wire_dormant, to_prepare) == 100, "layout");
_Static_assert(offsetof(struct wire_dormant, steps) == 104, "layout");
_Static_assert(offsetof(struct wire_dormant, unused) == 108, "layout");
_Static_assert(offsetof(struct wire_dormant, roots) == 112, "layout");
_Static_assert(offsetof(struct wire_dormant, snapshot) == 128, "layout");
_Static_assert(offsetof(struct wire_dormant, directory) == 144, "layout");

#define WIRE_CONTROL_FILE "control"
#define WIRE_DORMANT_PREFIX "clrprof-dormant-"
#define WIRE_OPTIONS_FILE "options"

#endif
