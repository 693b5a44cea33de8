/* Generated from internal/wire by `go generate ./internal/wire`. Do not edit. */
#ifndef CLRPROF_WIRE_GEN_H
#define CLRPROF_WIRE_GEN_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_MAGIC UINT64_C(0x464f5250524c43) /* opens every arena: "CLRPROF" and a zero byte. */
#define WIRE_VERSION 0x1u /* of the layout. Agent and collector are built together; a mismatch means a mixed installation. */
#define WIRE_HEADER_SIZE 0x1000u /* the size of the header's page: where the first region may begin. */
#define WIRE_STATE_STARTING 0x0u /* the arena exists, the runtime has not accepted the agent yet */
#define WIRE_STATE_RECORDING 0x1u /* the runtime calls the agent */
#define WIRE_STATE_SHUT_DOWN 0x2u /* the runtime announced its end; a few allocations may still follow */
#define WIRE_STATE_FAILED 0x3u /* Initialize failed: see Header.Failure */
#define WIRE_STATE_DETACHED 0x4u /* the agent is dormant again: nothing follows, and the process runs on */
#define WIRE_FAILURE_NONE 0x0u
#define WIRE_FAILURE_OLD_RUNTIME 0x1u /* the runtime lacks ICorProfilerInfo9 (before .NET Core 2.2) */
#define WIRE_FAILURE_EVENT_MASK 0x2u /* SetEventMask2 was refused */
#define WIRE_FAILURE_OUT_OF_MEMORY 0x3u /* the agent's first tables could not be made */
#define WIRE_FAILURE_HOOKS 0x4u /* the runtime refused the hooks of calls */
#define WIRE_FAILURE_NO_COLLECTOR 0x5u /* no collector holds the lock of the arenas' directory (Dormant) */
#define WIRE_FAILURE_NO_ARENA 0x6u /* no arena could be made: a note in the directory says why (Dormant) */
#define WIRE_FAILURE_BACKGROUND 0x7u /* the process has background collections, so objects cannot be followed (Dormant) */
#define WIRE_FAILURE_NO_PROBES 0x8u /* no probes in code that runs: before .NET 5, or the runtime refuses (Dormant) */
#define WIRE_FAILURE_VERSIONS 0x9u /* what recordings of calls have left in the process would become too much (Dormant) */
#define WIRE_FAILURE_NO_SAMPLES 0xau /* the runtime does not give the events of sampled objects (Dormant) */
#define WIRE_REGION_LOG 0x0u
#define WIRE_REGION_IPS 0x1u
#define WIRE_REGION_NODES 0x2u
#define WIRE_REGION_SITES 0x3u
#define WIRE_REGION_DEATHS 0x4u /* by site, with lifetime only */
#define WIRE_REGION_AGES 0x5u /* of sites whose objects survived at least one GC, with lifetime only */
#define WIRE_REGION_THREAD_SETS 0x6u /* threads that share an id */
#define WIRE_REGION_SCOPES 0x7u /* by thread, where it is recorded only inside or outside of some functions */
#define WIRE_REGION_INTERACTIONS 0x8u /* calls to databases and over HTTP, where they are recorded */
#define WIRE_REGION_METER_VALUES 0x9u /* what instruments of meters measured, where meters are sampled */
#define WIRE_REGION_SITE_SAMPLES 0xau /* by site, where small objects are sampled (DataSampled) */
#define WIRE_REGION_TIMINGS 0xbu /* the calling-context tree of each thread */
#define WIRE_REGION_WAITS 0xcu /* what the operating system did in the intervals of a timing */
#define WIRE_REGION_CLOCKS 0xdu /* by thread */
#define WIRE_REGION_ACTIVATIONS 0xeu /* the calls that have not ended */
#define WIRE_REGION_ACTED 0xfu /* the least and the most of calls in which the operating system acted */
#define WIRE_REGION_INCLUSIVES 0x10u /* inclusive time of folded calls */
#define WIRE_REGION_SITE_TIMINGS 0x11u /* by site, with memory too, where calls are seen around them */
#define WIRE_REGION_COUNTS 0x12u /* by timing: where CPU counters are read */
#define WIRE_REGION_SYSTEM_EVENTS 0x13u /* intervals in which the operating system acted, where they are listed */
#define WIRE_REGION_SYSTEM_CALLS 0x14u /* which system calls there were in these intervals, one behind the other */
#define WIRE_REGION_TRACE 0x15u /* events of calls in their order, with a call trace only */
#define WIRE_REGION_COUNT 0x16u
#define WIRE_LOSS_ARENA_FULL 0x0u /* --memory-limit or the file system's space was reached: new sites are not counted */
#define WIRE_LOSS_NO_THREAD_STATE 0x1u /* no memory for a thread's tables */
#define WIRE_LOSS_REENTERED 0x2u /* an allocation inside the agent's own call into the runtime */
#define WIRE_LOSS_IL_MAP_TRUNCATED 0x3u /* a body with more mapping entries than MaxILMap: late lines of it are missing */
#define WIRE_LOSS_NAME_TRUNCATED 0x4u /* a name longer than MaxName characters was cut */
#define WIRE_LOSS_UNTRACKED 0x5u /* a survivor of a GC that the agent had not seen allocated (lifetime) */
#define WIRE_LOSS_LIFETIME_FULL 0x6u /* the memory limit was reached: these objects are not followed (lifetime) */
#define WIRE_LOSS_MOVES 0x7u /* a GC whose survivors could not all be noted, or damage to the shadow heap: from it on no object is followed (lifetime) */
#define WIRE_LOSS_SNAPSHOT 0x8u /* the heap snapshot could not be written: no room on its file system (lifetime) */
#define WIRE_LOSS_CALLS_FOLDED 0x9u /* calls that have no node of their own: memory limit or depth reached (time); Objects counts them */
#define WIRE_LOSS_CALLS_UNMATCHED 0xau /* calls whose end was not seen, only that their frame is gone (time); Objects counts them */
#define WIRE_LOSS_CLOCK_BACKWARDS 0xbu /* intervals that the clock ended before they began: they count as 0 ns (time) */
#define WIRE_LOSS_NOT_HOOKED 0xcu /* functions that should have been instrumented and are not: no memory (time) */
#define WIRE_LOSS_CHANGES 0xdu /* no room to report what changed from GC to GC: not reported from here on (lifetime) */
#define WIRE_LOSS_SURVIVORS 0xeu /* GCs whose roots were not looked at, though asked for: too much was reported of others (lifetime) */
#define WIRE_LOSS_UNREPORTED 0xfu /* most boxes are not reported by .NET 10, and the agent could not make it report them: their number is unknown */
#define WIRE_LOSS_STACKS 0x10u /* times that there was no memory for a new stack: only its function, or the function's module, is reported */
#define WIRE_LOSS_AGES 0x11u /* objects that died without an age, as there was no memory for their site's (lifetime) */
#define WIRE_LOSS_ASYNC_NOT_HOOKED 0x12u /* runtime-async methods, which hooks would break: they are not instrumented (time) */
#define WIRE_LOSS_CALLS_CUT 0x13u /* calls that were taken for gone and then returned (time); Objects counts them */
#define WIRE_LOSS_WAITS 0x14u /* there was no memory for what the operating system did (time) */
#define WIRE_LOSS_NOT_PROBED 0x15u /* functions whose IL cannot be rewritten: they are not instrumented (time) */
#define WIRE_LOSS_CONTROL 0x16u /* changes of what is recorded that the process saw too late: there were more than ControlRing since it looked */
#define WIRE_LOSS_MARKS 0x17u /* marks and changes of what is recorded, by the program itself, for which there was no room */
#define WIRE_LOSS_NOT_LIMITED 0x18u /* functions of --record-inside and --record-outside that cannot have probes: what they were to leave out is recorded */
#define WIRE_LOSS_TRACE 0x19u /* beginnings and ends of collections for which there was no room (call trace); other events of it: Clock.TraceLost */
#define WIRE_LOSS_INTERACTIONS 0x1au /* calls to databases and over HTTP that have no row, or a process that can have none */
#define WIRE_LOSS_INTERACTION_TEXTS 0x1bu /* texts of them that were cut, or for which there was no room */
#define WIRE_LOSS_COUNTS 0x1cu /* intervals without values of CPU counters: a pause lies in them, or a counter could not be read (time) */
#define WIRE_LOSS_SYSTEM_EVENTS 0x1du /* system events that are not in the list: it is as long as it may be, or memory is short (time) */
#define WIRE_LOSS_CALLS_NESTED 0x1eu /* calls by the runtime in the middle of its search for a handler, within too many others of the kind (time); Objects counts them */
#define WIRE_LOSS_METERS 0x1fu /* measurements that have no row of their own tags, or none at all */
#define WIRE_LOSS_METER_CALLBACKS 0x20u /* times that reading an observable instrument ended by an exception */
#define WIRE_LOSS_SAMPLES 0x21u /* samples of objects that could not be read, or for which there was no room: each loss counts the objects that its sample stands for */
#define WIRE_LOSS_COUNT 0x22u
#define WIRE_GENERATION_LARGE 0x3u
#define WIRE_GENERATION_PINNED 0x4u
#define WIRE_GENERATION_COUNT 0x5u
#define WIRE_DATA_MEMORY 0x1u
#define WIRE_DATA_LIFETIME 0x2u
#define WIRE_DATA_TIME 0x4u
#define WIRE_DATA_TRACE 0x8u /* and the events of calls, in their order */
#define WIRE_DATA_LARGE 0x10u /* of objects, only those on the large object heap: the agent came into a process that ran */
#define WIRE_DATA_SAMPLED 0x20u /* with DataLarge: samples of the other objects, too (SiteSample) */
#define WIRE_SAMPLER_NONE 0x0u
#define WIRE_SAMPLER_RANDOM 0x1u /* AllocationSampled: each byte is as likely as any other, 1 in SampleBytes */
#define WIRE_SAMPLER_TICKS 0x2u /* AllocationTick: an object about every 100 KB of a heap: a regular program can be in step */
#define WIRE_SAMPLE_BYTES 0x19000u /* how many bytes there are for each sample of SamplerRandom, on average (the runtime's RandomizedAllocationSampling.md). */
#define WIRE_MECHANISM_NONE 0x0u /* not asked yet */
#define WIRE_MECHANISM_RSEQ 0x1u /* the kernel clears rseq_cs when the thread is switched out; getrusage confirms */
#define WIRE_MECHANISM_PERF 0x2u /* a perf event writes a record for each switch */
#define WIRE_MECHANISM_GAP 0x3u /* an interval longer than Header.GapTicks, then getrusage */
#define WIRE_CLOCK_TSC 0x1u /* the processor's time-stamp counter, which the processor says is invariant */
#define WIRE_CLOCK_MONOTONIC 0x2u /* CLOCK_MONOTONIC, in nanoseconds */
#define WIRE_CLOCK_CNTVCT 0x3u /* the virtual counter of the generic timer, cntvct_el0 (arm64) */
#define WIRE_INSTRUMENT_BOUNDARY 0x1u /* framework code has a node only when instrumented code called it */
#define WIRE_INSTRUMENT_MINE 0x2u /* framework code is not hooked: its time belongs to its caller */
#define WIRE_INSTRUMENT_ALL 0x3u /* everything is hooked */
#define WIRE_INSTRUMENT_IL 0x100u /* added to one of these: calls are seen by probes in IL, else by the runtime's hooks */
#define WIRE_MAX_IL_MAP 0x2000u /* bounds the IL map of one body: 8192 entries are a method of about 80 KB of IL. The largest of the F# compiler has 5,848. */
#define WIRE_MAX_NAME 0x400u /* bounds one name, in UTF-16 units: ECMA-335 II.24.2.2 allows names of any length, the runtime 1023. */
#define WIRE_MAX_TYPE_ARGUMENTS 0x40u /* bounds the type arguments of one type or function. */
#define WIRE_MAX_NESTING 0x20u /* bounds nested types and types within types (arrays, type arguments) that the agent follows. */
#define WIRE_IP_NONE 0x0u /* no instruction */
#define WIRE_IP_TRUNCATED 0x1u /* stands for the frames that --max-stack-depth left out */
#define WIRE_IP_UNKNOWN 0x2u /* stands for a stack without a managed frame */
#define WIRE_IP_FIRST 0x3u /* the first real one */
#define WIRE_NODE_ROOT 0x0u /* the parent of every root */
#define WIRE_IP_MANAGED 0x1u /* inside a managed body; otherwise native code */
#define WIRE_IP_FRAMELESS 0x2u /* its function has no frame pointer */
#define WIRE_IP_OSR 0x4u /* in an OSR variant: its frame lies on that of the first version of the same call */
#define WIRE_IP_HELPER 0x10u /* in one of the Helpers: as native code, it has no frame in stacks */
#define WIRE_IP_FOREIGN 0x20u /* in native code outside of the runtime, which need not have a frame pointer */
#define WIRE_IP_SIGNAL 0x8u /* the kernel returns there after a signal handler: the interrupted registers lie above it */
#define WIRE_MODULE_DYNAMIC 0x1u /* no file: Reflection.Emit, Load(byte[]), or the runtime's own dynamic methods */
#define WIRE_MODULE_ORIGIN_SHIFT 0x8u /* whose code it is, an Origin, in the bits from this one on */
#define WIRE_ORIGIN_UNKNOWN 0x0u /* it was not asked */
#define WIRE_ORIGIN_PATTERN 0x1u
#define WIRE_ORIGIN_PROJECT 0x2u
#define WIRE_ORIGIN_BESIDE 0x3u
#define WIRE_ORIGIN_MEMORY 0x4u
#define WIRE_ORIGIN_FOLDER 0x5u
#define WIRE_ORIGIN_FRAMEWORK 0x6u
#define WIRE_ORIGIN_SDK 0x7u
#define WIRE_ORIGIN_PACKAGE 0x8u
#define WIRE_ORIGIN_GENERATED 0x9u
#define WIRE_ORIGIN_MICROSOFT 0xau
#define WIRE_ORIGIN_ELSEWHERE 0xbu
#define WIRE_FUNCTION_DYNAMIC 0x1u /* a DynamicMethod or IL stub: it has only a name */
#define WIRE_FUNCTION_INSTRUMENTED 0x2u /* its calls are recorded (time) */
#define WIRE_FUNCTION_BOUNDARY 0x4u /* its calls by instrumented functions are recorded (time) */
#define WIRE_FUNCTION_MARKED 0x8u /* its calls or returns are marked */
#define WIRE_FUNCTION_UNPROBED 0x10u /* its calls would be recorded, but it cannot have probes: the runtime suspends it itself (time) */
#define WIRE_NOT_PROBED_SIGNATURE 0x10u /* the signature of a probe could not be put into the metadata of its module */
#define WIRE_NOT_PROBED_REFUSED 0x11u /* the runtime did not take the IL with probes, or there was no memory */
#define WIRE_NOT_PROBED_ELSEWHERE 0x12u /* older code of it may run, as a body or inlined, that the runtime does not find (attached) */
#define WIRE_NOT_PROBED_RUNNING 0x13u /* its code ran when the recording began, and has none until it is called again (attached); no loss */
#define WIRE_NOT_PROBED_CHANGEABLE 0x14u /* hot reload can change its module, which then may have no rows of metadata but its own */
#define WIRE_NOT_PROBED_MADE 0x15u /* methods that are made at run time may have it inlined; its other calls have probes (attached) */
#define WIRE_FUNCTION_COLLECTION 0xffffffffu /* the Timing.Function that stands for garbage collections for which a thread waits: it is described nowhere, and no function has that id. Such a timing has intervals and no calls. */
#define WIRE_TYPE_UNKNOWN 0x0u /* the runtime did not know */
#define WIRE_TYPE_CLASS 0x1u /* has a TypeDef token and perhaps type arguments */
#define WIRE_TYPE_ARRAY 0x2u /* rank and element */
#define WIRE_TYPE_OTHER 0x3u /* pointer, by-ref, type variable */
#define WIRE_SITE_FROZEN 0x80000000u /* added to a site's type when its objects are on the frozen heap. */
#define WIRE_ENDING_SIGNAL 0x1u /* PosixSignalRegistration.OnPosixSignal: a signal came that the program handles */
#define WIRE_ENDING_HOST 0x2u /* ApplicationLifetime.StopApplication: the host of a service is told to stop */
#define WIRE_ENDING_EXIT 0x3u /* AppContext.OnProcessExit: Main has returned, or Environment.Exit was called */
#define WIRE_INTERACTION_DATABASE 0x1u /* a command of System.Data.Common.DbCommand */
#define WIRE_INTERACTION_HTTP 0x2u /* a request of System.Net.Http */
#define WIRE_MAX_INTERACTION_TEXT 0x1000u /* bounds one text of an interaction, in UTF-16 units: it lies on the stack of the calling thread. */
#define WIRE_METER_ADDED 0x1u /* Sum: what was added; it only grows */
#define WIRE_METER_UP_DOWN 0x2u /* Sum: what was added, and taken away */
#define WIRE_METER_SET 0x3u /* Last */
#define WIRE_METER_TOTAL 0x4u /* Last, which only grows */
#define WIRE_METER_MEASURED 0x5u /* Count, Sum, Min, Max: a histogram */
#define WIRE_METER_KINDS 0x6u
#define WIRE_METER_OLD_RUNTIME 0x1u /* there is none before .NET 8 */
#define WIRE_METER_NO_FILE 0x2u /* the process cannot read its file */
#define WIRE_METER_WANTED 0x3u /* it is to be loaded */
#define WIRE_METER_LISTENING 0x4u /* it runs */
#define WIRE_MAX_METER_COUNTERS 0x4e20u /* bounds the rows of MeterValue: as many as a session takes counters of programs. */
#define WIRE_CHANGE_ALLOCATED 0x5u /* the counter of a Change that holds what was allocated; those before it are by generation. */
#define WIRE_AGE_GC_BUCKETS 0x8u /* 0, 1, 2, 3–4, 5–8, 9–16, 17–64, 65 and more GCs survived */
#define WIRE_AGE_TIME_BUCKETS 0x8u /* less than 1 ms, 10 ms, 100 ms, 1 s, 10 s, 100 s, 1000 s, more */
#define WIRE_MAX_COUNTERS 0x6u /* how many CPU counters are read at each event, at most: as many as all that can be listed of the operating system read together. Of the processor's own most x64 processors count four at once. */
#define WIRE_COUNTER_FAULTS 0x0u /* page faults */
#define WIRE_COUNTER_MINOR_FAULTS 0x1u /* of these: without the disk */
#define WIRE_COUNTER_MAJOR_FAULTS 0x2u /* with it */
#define WIRE_COUNTER_SWITCHES 0x3u /* context switches */
#define WIRE_COUNTER_VOLUNTARY 0x4u /* of these: because the thread waited */
#define WIRE_COUNTER_PREEMPTED 0x5u /* because another thread was given the processor */
#define WIRE_COUNTER_READS 0x6u /* blocks of 512 bytes that were read from a disk */
#define WIRE_COUNTER_WRITES 0x7u /* blocks that are to be written to one */
#define WIRE_COUNTER_TASK_CLOCK 0x8u /* ns of processor time: CLOCK_THREAD_CPUTIME_ID */
#define WIRE_COUNTER_PERF 0x9u /* a perf event, of user mode only */
#define WIRE_COUNTER_CALLS 0xau /* system calls: the tracepoint raw_syscalls:sys_enter */
#define WIRE_COUNTER_MIGRATIONS 0xbu /* moves to another processor */
#define WIRE_EVENT_SCHED 0x1u /* the thread was without a processor: Voluntary, Preempted, Blocked, Ready */
#define WIRE_EVENT_FAULTS 0x2u /* MinorFaults, MajorFaults: CounterMinorFaults and CounterMajorFaults are read */
#define WIRE_EVENT_IO 0x4u /* Reads, Writes: CounterReads and CounterWrites are read */
#define WIRE_EVENT_CALLS 0x8u /* Calls: CounterCalls is read */
#define WIRE_EVENT_MOVES 0x10u /* Migrations: CounterMigrations is read */
#define WIRE_TRACE_FREE 0x0u
#define WIRE_TRACE_TAKEN 0x1u /* a thread writes into it */
#define WIRE_TRACE_FULL 0x2u /* no more is written: the thread has taken another one, or has ended */
#define WIRE_TRACE_CHUNK_EVENTS 0xffdu /* how many events a chunk holds: with them it has 64 KiB. */
#define WIRE_TRACE_ALL_KEPT 0xffffffffu /* TraceChunk.Kept where no event was lost. */
#define WIRE_TRACE_ENTER 0x1u /* a call began; Value: id of the function */
#define WIRE_TRACE_EXIT 0x2u /* a call ended; Value: id of the function */
#define WIRE_TRACE_THROWN 0x3u /* an exception was thrown; Value: id of its type, 0: not known */
#define WIRE_TRACE_CAUGHT 0x4u /* it was caught; Value: id of the function that catches it, 0: not known */
#define WIRE_TRACE_KIND_BITS 0x3u
#define WIRE_ACTIVATION_BOUNDARY 0x1u
#define WIRE_ACTIVATION_TRUNCATED 0x2u
#define WIRE_ACTIVATION_DISPATCHING 0x4u
#define WIRE_ACTIVATION_FOLDED 0x8u
#define WIRE_ACTIVATION_PAUSED 0x10u
#define WIRE_ACTIVATION_JUMPED 0x20u
#define WIRE_CONTROL_MAGIC UINT64_C(0x4c525443524c43) /* opens the file ControlFile: "CLRCTRL" and a zero byte. */
#define WIRE_CONTROL_RING 0x1000u /* how many changes the file holds, the last ones. A process that makes no event for longer than so many changes take does not know of the oldest any more (LossControl): at 1,000 pauses a second that is two seconds. */
#define WIRE_LEVEL_GLOBAL 0x1u /* all processes of the session */
#define WIRE_LEVEL_PROCESS 0x2u
#define WIRE_LEVEL_THREAD 0x3u
#define WIRE_LEVEL_FUNCTIONS 0x4u /* LevelFunctions is a process again, by what its threads are in: it is suspended and resumed by the functions that limit what is recorded of all its threads, whatever LevelProcess is. */
#define WIRE_CONTROL_START 0x1u
#define WIRE_CONTROL_STOP 0x2u
#define WIRE_CONTROL_SUSPEND 0x3u
#define WIRE_CONTROL_RESUME 0x4u
#define WIRE_POINT_BEFORE 0x0u
#define WIRE_POINT_AFTER 0x1u
#define WIRE_POINT_TOP 0x2u
#define WIRE_POINT_BOTTOM 0x3u
#define WIRE_POINTS 0x4u
#define WIRE_ACTION_MARK 0x0u /* + point: mark the moment */
#define WIRE_ACTION_SCOPE 0x4u /* a thread is recorded inside of such functions; + 1: outside of them; + 2, + 3: its process is */
#define WIRE_ACTION_CONTROL 0xcu /* + (3 × (operation - ControlStart) + level - LevelGlobal) × Points + point: change the level */
#define WIRE_ACTIONS 0x3cu
#define WIRE_REQUEST_COLLECT 0x1u /* a full garbage collection */
#define WIRE_REQUEST_SNAPSHOT 0x2u /* one, and a snapshot of the heap after it (lifetime) */
#define WIRE_REQUEST_DETACH 0x3u /* the end of the recording: the agent becomes dormant again */
#define WIRE_CUT_WAIT 0x3b9aca00u /* how many nanoseconds a thread waits at most for Header.CutNS to be read. A slice that ends later than that ends where it was read: what came after the mark can be in it. */
#define WIRE_DORMANT_MAGIC UINT64_C(0x4d524f44524c43) /* opens the file of a dormant agent: "CLRDORM" and a zero byte. */
#define WIRE_MAX_OPTIONS 0x40000u /* bounds the bytes of an OptionsFile: patterns are bounded by internal/capture/instrument. */
#define WIRE_LOAD_BYTES 0x4u /* how many bytes stand before the path in what an agent is given that is loaded into a process that runs (InitializeForAttach): a word with what its first recording is to have, DataMemory and so on; then the folder in which it makes its Dormant, as the process sees it, with a zero byte. */
#define WIRE_MAX_DIRECTORY 0x800u /* bounds the path of the directory for arenas in a Dormant, with its zero byte. */
#define WIRE_MAX_CHOICE 0x10u /* bounds a variable of the agent's that a Dormant has instead, with its zero byte. */
#define WIRE_DORMANT_WAITING 0x1u /* for a collector */
#define WIRE_DORMANT_RECORDING 0x2u
#define WIRE_DORMANT_LEAVING 0x3u /* the recording ends */
#define WIRE_DORMANT_ENDED 0x4u /* the process ends */
#define WIRE_DORMANT_GONE 0x5u /* the process goes on, and the runtime has let the agent go */
#define WIRE_LEAVING_COLLECTION 0x1u /* a last garbage collection */
#define WIRE_LEAVING_THREADS 0x2u /* the runtime is to stop its threads */
#define WIRE_LEAVING_VISITS 0x3u /* threads are in the agent */
#define WIRE_LEAVING_CODE 0x4u /* the runtime takes versions of methods back */
#define WIRE_RECORD_MODULE 0x1u
#define WIRE_RECORD_TYPE 0x2u
#define WIRE_RECORD_FUNCTION 0x3u
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
#define WIRE_RECORD_CALLEE 0x10u
#define WIRE_RECORD_FUNCTION_MARK 0x11u
#define WIRE_RECORD_REQUEST_MARK 0x16u
#define WIRE_RECORD_PROCESS_NAME 0x12u
#define WIRE_RECORD_NOT_PROBED 0x13u
#define WIRE_RECORD_COLLECTION 0x14u
#define WIRE_RECORD_INTERACTION_TEXT 0x15u
#define WIRE_RECORD_METER_COUNTER 0x17u
#define WIRE_RECORD_METER_STATE 0x18u
#define WIRE_RECORD_GC_CALLER 0x19u
#define WIRE_RECORD_TEST_CASE 0x1au
#define WIRE_RECORD_FREED 0x1bu

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
    uint64_t repeated; /* how often Inside and Outside were measured again while the program ran; of these: */
    uint64_t later_inside; /* the mean of Inside */
    uint64_t later_outside; /* and of Outside */
    uint64_t least; /* the least of Inside and Outside together */
    uint64_t most; /* and the most */
};
_Static_assert(sizeof(struct wire_overhead) == 80, "layout");
_Static_assert(offsetof(struct wire_overhead, inside) == 0, "layout");
_Static_assert(offsetof(struct wire_overhead, outside) == 8, "layout");
_Static_assert(offsetof(struct wire_overhead, cold_inside) == 16, "layout");
_Static_assert(offsetof(struct wire_overhead, cold_outside) == 24, "layout");
_Static_assert(offsetof(struct wire_overhead, uncertain) == 32, "layout");
_Static_assert(offsetof(struct wire_overhead, repeated) == 40, "layout");
_Static_assert(offsetof(struct wire_overhead, later_inside) == 48, "layout");
_Static_assert(offsetof(struct wire_overhead, later_outside) == 56, "layout");
_Static_assert(offsetof(struct wire_overhead, least) == 64, "layout");
_Static_assert(offsetof(struct wire_overhead, most) == 72, "layout");

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
    struct wire_region_entry regions[22]; /* by Region */
    struct wire_loss_entry losses[34]; /* by Loss */
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
    uint32_t sampler; /* SamplerRandom and so on, DataSampled */
    uint64_t ending_ns; /* CLOCK_MONOTONIC at the end of that GC */
    uint64_t compiled; /* methods that were compiled while the program ran, but for those of Recompiled */
    uint64_t compiled_ns; /* processor time that this took */
    uint64_t recompiled; /* methods that the runtime compiled once more in the background, because they are called often */
    uint64_t recompiled_ns; /* processor time that this took */
    uint64_t compiled_missed; /* methods that are in none of these: too many were compiled at once */
    uint64_t cut_ns; /* time of the last mark whose thread waits until what was counted before it is read; the file has a new time after it was stored */
};
_Static_assert(sizeof(struct wire_header) == 2104, "layout");
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
_Static_assert(offsetof(struct wire_header, gc_pauses) == 240, "layout");
_Static_assert(offsetof(struct wire_header, gc_paused_ns) == 248, "layout");
_Static_assert(offsetof(struct wire_header, gc_longest_ns) == 256, "layout");
_Static_assert(offsetof(struct wire_header, regions) == 264, "layout");
_Static_assert(offsetof(struct wire_header, losses) == 968, "layout");
_Static_assert(offsetof(struct wire_header, walks) == 1784, "layout");
_Static_assert(offsetof(struct wire_header, left_out) == 1792, "layout");
_Static_assert(offsetof(struct wire_header, left_out_bytes) == 1800, "layout");
_Static_assert(offsetof(struct wire_header, answered) == 1808, "layout");
_Static_assert(offsetof(struct wire_header, forced) == 1812, "layout");
_Static_assert(offsetof(struct wire_header, snapshots) == 1816, "layout");
_Static_assert(offsetof(struct wire_header, counters) == 1820, "layout");
_Static_assert(offsetof(struct wire_header, trace_freed) == 1824, "layout");
_Static_assert(offsetof(struct wire_header, cpu_counters) == 1832, "layout");
_Static_assert(offsetof(struct wire_header, ready) == 2024, "layout");
_Static_assert(offsetof(struct wire_header, probes_out) == 2028, "layout");
_Static_assert(offsetof(struct wire_header, system_events) == 2032, "layout");
_Static_assert(offsetof(struct wire_header, ending_sign) == 2036, "layout");
_Static_assert(offsetof(struct wire_header, ending_gc) == 2040, "layout");
_Static_assert(offsetof(struct wire_header, sampler) == 2044, "layout");
_Static_assert(offsetof(struct wire_header, ending_ns) == 2048, "layout");
_Static_assert(offsetof(struct wire_header, compiled) == 2056, "layout");
_Static_assert(offsetof(struct wire_header, compiled_ns) == 2064, "layout");
_Static_assert(offsetof(struct wire_header, recompiled) == 2072, "layout");
_Static_assert(offsetof(struct wire_header, recompiled_ns) == 2080, "layout");
_Static_assert(offsetof(struct wire_header, compiled_missed) == 2088, "layout");
_Static_assert(offsetof(struct wire_header, cut_ns) == 2096, "layout");

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

struct wire_site_sample {
    uint32_t weight; /* objects that each sample stands for, 0: the objects were counted */
    uint32_t size; /* heap bytes of each of these */
};
_Static_assert(sizeof(struct wire_site_sample) == 8, "layout");
_Static_assert(offsetof(struct wire_site_sample, weight) == 0, "layout");
_Static_assert(offsetof(struct wire_site_sample, size) == 4, "layout");

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
    uint32_t data; /* what is wanted: DataMemory, DataLifetime, DataTime; 0: that the agent leaves */
    uint64_t memory_limit; /* bytes of all tables together */
    uint64_t nodes; /* of the tree of stacks */
    uint64_t recordings; /* how many there have been */
    uint32_t final_gc; /* 1: with lifetime, a last collection when the recording ends */
    uint32_t first; /* with lifetime: nothing is recorded after so many collections; 0: without limit */
    uint32_t prepared; /* with calls: methods that were looked at before it has begun, or taken back when it ends, */
    uint32_t to_prepare; /* of so many; 0: not known yet */
    uint32_t steps; /* how often the former two were reported, in all recordings */
    uint32_t leaving; /* what its end waits for: LeavingCollection and so on; 0: it does not end */
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
_Static_assert(offsetof(struct wire_dormant, leaving) == 108, "layout");
_Static_assert(offsetof(struct wire_dormant, roots) == 112, "layout");
_Static_assert(offsetof(struct wire_dormant, snapshot) == 128, "layout");
_Static_assert(offsetof(struct wire_dormant, directory) == 144, "layout");

#define WIRE_CONTROL_FILE "control"
#define WIRE_DORMANT_PREFIX "clrprof-dormant-"
#define WIRE_OPTIONS_FILE "options"

#endif
