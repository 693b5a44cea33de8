package wire

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Constant is a named number of the layout that both sides need.
type Constant struct {
	Name  string // of the C macro, without its prefix
	Value uint64
	Doc   string
}

// Constants lists the numbers that the agent needs, in the order of the generated header.
func Constants() []Constant {
	return slices.Concat(arenaConstants(), lossConstants(), nameConstants(), recordConstants(),
		dataConstants(), counterConstants())
}

// arenaConstants are those of the arena as a whole.
func arenaConstants() []Constant {
	return []Constant{
		{"MAGIC", Magic, "opens every arena"},
		{"VERSION", uint64(Version), "of the layout"},
		{"HEADER_SIZE", HeaderSize, "the first region begins here"},
		{"STATE_STARTING", uint64(StateStarting), "the runtime has not accepted the agent yet"},
		{"STATE_RECORDING", uint64(StateRecording), "the runtime calls the agent"},
		{"STATE_SHUT_DOWN", uint64(StateShutDown), "the runtime announced its end"},
		{"STATE_FAILED", uint64(StateFailed), "Initialize gave up"},
		{"STATE_DETACHED", uint64(StateDetached), "the agent is dormant again"},
		{"FAILURE_OLD_RUNTIME", uint64(FailureOldRuntime), "no ICorProfilerInfo9"},
		{"FAILURE_EVENT_MASK", uint64(FailureEventMask), "SetEventMask2 was refused"},
		{"FAILURE_OUT_OF_MEMORY", uint64(FailureOutOfMemory), "the first tables could not be made"},
		{"FAILURE_HOOKS", uint64(FailureHooks), "SetEnterLeaveFunctionHooks3 was refused"},
		{"FAILURE_NO_COLLECTOR", uint64(FailureNoCollector), "the directory is not locked"},
		{"FAILURE_NO_ARENA", uint64(FailureNoArena), "no arena could be made"},
		{"FAILURE_BACKGROUND", uint64(FailureBackground), "collections in the background"},
		{"FAILURE_NO_PROBES", uint64(FailureNoProbes), "no probes in code that runs"},
		{"FAILURE_VERSIONS", uint64(FailureVersions), "too much is left of recordings"},
		{"REGION_LOG", uint64(RegionLog), "records"},
		{"REGION_IPS", uint64(RegionIPs), "struct wire_ip"},
		{"REGION_NODES", uint64(RegionNodes), "struct wire_node"},
		{"REGION_SITES", uint64(RegionSites), "struct wire_site"},
		{"REGION_DEATHS", uint64(RegionDeaths), "struct wire_site_deaths, by site"},
		{"REGION_AGES", uint64(RegionAges), "struct wire_ages"},
		{"REGION_THREAD_SETS", uint64(RegionThreadSets), "struct wire_thread_set"},
		{"REGION_SCOPES", uint64(RegionScopes), "struct wire_scope, by thread"},
		{"REGION_INTERACTIONS", uint64(RegionInteractions), "struct wire_interaction"},
		{"REGION_METER_VALUES", uint64(RegionMeterValues), "struct wire_meter_value"},
		{"REGION_TIMINGS", uint64(RegionTimings), "struct wire_timing"},
		{"REGION_WAITS", uint64(RegionWaits), "struct wire_waits"},
		{"REGION_CLOCKS", uint64(RegionClocks), "struct wire_clock, by thread"},
		{"REGION_ACTIVATIONS", uint64(RegionActivations), "struct wire_activation"},
		{"REGION_ACTED", uint64(RegionActed), "struct wire_acted"},
		{"REGION_INCLUSIVES", uint64(RegionInclusives), "struct wire_inclusive"},
		{"REGION_SITE_TIMINGS", uint64(RegionSiteTimings), "struct wire_site_timing, by site"},
		{"REGION_COUNTS", uint64(RegionCounts), "struct wire_counts, by timing"},
		{"REGION_SYSTEM_EVENTS", uint64(RegionSystemEvents), "struct wire_system_event"},
		{"REGION_SYSTEM_CALLS", uint64(RegionSystemCalls), "struct wire_system_call"},
		{"REGION_TRACE", uint64(RegionTrace), "struct wire_trace_chunk"},
		{"REGION_COUNT", RegionCount, ""},
	}
}

// lossConstants are the reasons of losses.
func lossConstants() []Constant {
	return []Constant{
		{"LOSS_ARENA_FULL", uint64(LossArenaFull), "memory limit or file system full"},
		{"LOSS_NO_THREAD_STATE", uint64(LossNoThreadState), "no memory for a thread's tables"},
		{"LOSS_REENTERED", uint64(LossReentered), "allocation inside the agent's own call into the runtime"},
		{"LOSS_IL_MAP_TRUNCATED", uint64(LossILMapTruncated), "more than MAX_IL_MAP points"},
		{"LOSS_NAME_TRUNCATED", uint64(LossNameTruncated), "more than MAX_NAME characters"},
		{"LOSS_UNTRACKED", uint64(LossUntracked), "survivor that was not seen allocated"},
		{"LOSS_LIFETIME_FULL", uint64(LossLifetimeFull), "objects that are not followed"},
		{"LOSS_MOVES", uint64(LossMoves), "a GC's survivors could not all be noted"},
		{"LOSS_SNAPSHOT", uint64(LossSnapshot), "the heap snapshot could not be written"},
		{"LOSS_CALLS_FOLDED", uint64(LossCallsFolded), "calls without a node of their own"},
		{"LOSS_CALLS_UNMATCHED", uint64(LossCallsUnmatched), "calls whose end was seen late"},
		{"LOSS_CLOCK_BACKWARDS", uint64(LossClockBackwards), "intervals that ended before they began"},
		{"LOSS_NOT_HOOKED", uint64(LossNotHooked), "functions without probes for want of memory"},
		{"LOSS_CHANGES", uint64(LossChanges), "what changed from GC to GC is not reported any more"},
		{"LOSS_SURVIVORS", uint64(LossSurvivors), "GCs whose roots were not looked at"},
		{"LOSS_STACKS", uint64(LossStacks), "stacks that are (truncated) for lack of memory"},
		{"LOSS_AGES", uint64(LossAges), "objects that died without an age"},
		{"LOSS_UNREPORTED", uint64(LossUnreported), "boxes that the runtime does not report"},
		{"LOSS_NOT_PROBED", uint64(LossNotProbed), "functions whose IL cannot be rewritten"},
		{"LOSS_ASYNC_NOT_HOOKED", uint64(LossAsyncNotHooked), "runtime-async methods without probes"},
		{"LOSS_CALLS_CUT", uint64(LossCallsCut), "calls that were taken for gone and then returned"},
		{"LOSS_WAITS", uint64(LossWaits), "no memory for what the operating system did"},
		{"LOSS_CONTROL", uint64(LossControl), "changes of what is recorded that were seen too late"},
		{"LOSS_MARKS", uint64(LossMarks), "marks and changes of what is recorded for which there was no room"},
		{"LOSS_NOT_LIMITED", uint64(LossNotLimited), "functions that were to limit what is recorded, and have no probes"},
		{"LOSS_TRACE", uint64(LossTrace), "collections that the call trace does not have"},
		{"LOSS_INTERACTIONS", uint64(LossInteractions), "interactions that have no row"},
		{"LOSS_INTERACTION_TEXTS", uint64(LossInteractionTexts), "texts of interactions that were cut or left out"},
		{"LOSS_COUNTS", uint64(LossCounts), "intervals of which the CPU counters are not known"},
		{"LOSS_SYSTEM_EVENTS", uint64(LossSystemEvents), "system events that are not in the list"},
		{"LOSS_CALLS_NESTED", uint64(LossCallsNested), "calls by the runtime in searches for handlers, within too many others"},
		{"LOSS_METERS", uint64(LossMeters), "measurements without a row of their tags"},
		{"LOSS_METER_CALLBACKS", uint64(LossMeterCallbacks), "observable instruments that threw"},
		{"LOSS_COUNT", LossCount, ""},
	}
}

// nameConstants are those of modules, types, functions and what is in them.
func nameConstants() []Constant {
	return []Constant{
		{"MAX_IL_MAP", MaxILMap, "points of one body"},
		{"MAX_NAME", MaxName, "UTF-16 units of one name"},
		{"MAX_TYPE_ARGUMENTS", MaxTypeArguments, "of one type or function"},
		{"MAX_NESTING", MaxNesting, "types within types"},
		{"IP_TRUNCATED", IPTruncated, "stands for frames that were left out"},
		{"IP_UNKNOWN", IPUnknown, "stands for a stack without a managed frame"},
		{"IP_FIRST", IPFirst, "the first real one"},
		{"IP_MANAGED", IPManaged, "inside a managed body"},
		{"IP_FRAMELESS", IPFrameless, "its function has no frame pointer"},
		{"IP_OSR", IPOSR, "in an OSR variant"},
		{"IP_SIGNAL", IPSignal, "after a signal handler"},
		{"IP_HELPER", IPHelper, "in a helper of the runtime"},
		{"IP_FOREIGN", IPForeign, "in native code outside of the runtime"},
		{"SITE_FROZEN", SiteFrozen, "added to the type of a site on the frozen heap"},
		{"MODULE_DYNAMIC", ModuleDynamic, "no file"},
		{"MODULE_ORIGIN_SHIFT", ModuleOriginShift, "an ORIGIN from this bit on"},
		{"ORIGIN_UNKNOWN", OriginUnknown, "of a module: it was not asked whose it is"},
		{"ORIGIN_PATTERN", OriginPattern, "a pattern of --mine matches"},
		{"ORIGIN_PROJECT", OriginProject, "a project in the program's deps.json"},
		{"ORIGIN_BESIDE", OriginBeside, "in the folder of the main assembly"},
		{"ORIGIN_MEMORY", OriginMemory, "made in memory"},
		{"ORIGIN_FOLDER", OriginFolder, "in the folder that the collector named; the last of the user's"},
		{"ORIGIN_FRAMEWORK", OriginFramework, "of a shared framework, or of the program's own"},
		{"ORIGIN_SDK", OriginSDK, "of an SDK"},
		{"ORIGIN_PACKAGE", OriginPackage, "of a NuGet package"},
		{"ORIGIN_GENERATED", OriginGenerated, "made in memory by the framework"},
		{"ORIGIN_MICROSOFT", OriginMicrosoft, "Microsoft is its company"},
		{"ORIGIN_ELSEWHERE", OriginElsewhere, "anywhere else"},
		{"FUNCTION_DYNAMIC", FunctionDynamic, "only a name"},
		{"FUNCTION_INSTRUMENTED", FunctionInstrumented, "its calls are recorded"},
		{"FUNCTION_BOUNDARY", FunctionBoundary, "its calls by instrumented functions are"},
		{"FUNCTION_MARKED", FunctionMarked, "its calls or returns are marked"},
		{"FUNCTION_COLLECTION", FunctionCollection, "of a timing: garbage collections"},
		{"FUNCTION_UNPROBED", FunctionUnprobed, "its calls would be recorded if it could have probes"},
		{"TYPE_UNKNOWN", TypeUnknown, "the runtime did not know"},
		{"TYPE_CLASS", TypeClass, "TypeDef and type arguments"},
		{"TYPE_ARRAY", TypeArray, "rank and element"},
		{"TYPE_OTHER", TypeOther, "pointer, by-ref, type variable"},
	}
}

// recordConstants are the kinds of records, and what is in those that are not of names.
func recordConstants() []Constant {
	return []Constant{
		{"RECORD_MODULE", uint64(KindModule), ""},
		{"RECORD_TYPE", uint64(KindType), ""},
		{"RECORD_FUNCTION", uint64(KindFunction), ""},
		{"RECORD_CALLEE", uint64(KindCallee), ""},
		{"RECORD_BODY", uint64(KindBody), ""},
		{"RECORD_THREAD", uint64(KindThread), ""},
		{"RECORD_THREAD_END", uint64(KindThreadEnd), ""},
		{"RECORD_THREAD_NAME", uint64(KindThreadName), ""},
		{"RECORD_PROCESS", uint64(KindProcess), ""},
		{"RECORD_GC", uint64(KindGC), ""},
		{"RECORD_ALIVE", uint64(KindAlive), ""},
		{"RECORD_WHY", uint64(KindWhy), ""},
		{"RECORD_ROOTS", uint64(KindRoots), ""},
		{"RECORD_CHANGES", uint64(KindChanges), ""},
		{"RECORD_CONTROL", uint64(KindControl), ""},
		{"RECORD_MARK", uint64(KindMark), ""},
		{"RECORD_FUNCTION_MARK", uint64(KindFunctionMark), ""},
		{"RECORD_REQUEST_MARK", uint64(KindRequestMark), ""},
		{"RECORD_PROCESS_NAME", uint64(KindProcessName), ""},
		{"RECORD_NOT_PROBED", uint64(KindNotProbed), ""},
		{"NOT_PROBED_SIGNATURE", NotProbedSignature, "its module took no signature of a probe"},
		{"NOT_PROBED_REFUSED", NotProbedRefused, "the runtime did not take the IL with probes, or there was no memory"},
		{"NOT_PROBED_ELSEWHERE", NotProbedElsewhere, "code of it may run already that nobody can find"},
		{"NOT_PROBED_RUNNING", NotProbedRunning, "its code ran when the recording began"},
		{"NOT_PROBED_CHANGEABLE", NotProbedChangeable, "its module can be changed while it runs"},
		{"RECORD_COLLECTION", uint64(KindCollection), ""},
		{"RECORD_INTERACTION_TEXT", uint64(KindInteractionText), ""},
		{"INTERACTION_DATABASE", InteractionDatabase, "a command of a database"},
		{"INTERACTION_HTTP", InteractionHTTP, "a request"},
		{"MAX_INTERACTION_TEXT", MaxInteractionText, "UTF-16 units of one text"},
		{"CHANGE_ALLOCATED", ChangeAllocated, "after the generations"},
		{"ENDING_SIGNAL", EndingSignal, "PosixSignalRegistration.OnPosixSignal"},
		{"ENDING_HOST", EndingHost, "ApplicationLifetime.StopApplication"},
	}
}

// dataConstants are those of lifetime and time.
func dataConstants() []Constant {
	return []Constant{
		{"GENERATION_LARGE", GenerationLarge, "COR_PRF_GC_LARGE_OBJECT_HEAP"},
		{"GENERATION_PINNED", GenerationPinned, "COR_PRF_GC_PINNED_OBJECT_HEAP"},
		{"GENERATION_COUNT", GenerationCount, ""},
		{"AGE_GC_BUCKETS", AgeGCBuckets, "0, 1, 2, 3-4, 5-8, 9-16, 17-64, more GCs"},
		{"AGE_TIME_BUCKETS", AgeTimeBuckets, "decades from 1 ms"},
		{"DATA_MEMORY", DataMemory, "allocations"},
		{"DATA_LIFETIME", DataLifetime, "and where objects died"},
		{"DATA_TIME", DataTime, "calls and their times"},
		{"DATA_TRACE", DataTrace, "and the events of calls"},
		{"TRACE_FREE", TraceFree, "a chunk that nobody uses"},
		{"TRACE_TAKEN", TraceTaken, "a thread writes into it"},
		{"TRACE_FULL", TraceFull, "the collector has it"},
		{"TRACE_CHUNK_EVENTS", TraceChunkEvents, "of one chunk"},
		{"TRACE_ALL_KEPT", TraceAllKept, "of a chunk before which nothing was lost"},
		{"TRACE_ENTER", TraceEnter, "a call began"},
		{"TRACE_EXIT", TraceExit, "a call ended"},
		{"TRACE_THROWN", TraceThrown, "an exception was thrown"},
		{"TRACE_CAUGHT", TraceCaught, "an exception was caught"},
		{"TRACE_KIND_BITS", TraceKindBits, "below the depth"},
		{"MECHANISM_NONE", MechanismNone, "not asked yet"},
		{"MECHANISM_RSEQ", MechanismRseq, "rseq_cs"},
		{"MECHANISM_PERF", MechanismPerf, "context-switch records"},
		{"MECHANISM_GAP", MechanismGap, "long intervals"},
		{"CLOCK_TSC", ClockTSC, "time-stamp counter"},
		{"CLOCK_MONOTONIC", ClockMonotonic, "clock_gettime"},
		{"INSTRUMENT_BOUNDARY", InstrumentBoundary, "framework code as far as it is called"},
		{"INSTRUMENT_MINE", InstrumentMine, "no framework code"},
		{"INSTRUMENT_ALL", InstrumentAll, "all code"},
		{"INSTRUMENT_IL", InstrumentIL, "added: probes in IL, not hooks"},
		{"ACTIVATION_BOUNDARY", ActivationBoundary, "only instrumented functions below"},
		{"ACTIVATION_TRUNCATED", ActivationTruncated, "nothing below"},
		{"ACTIVATION_DISPATCHING", ActivationDispatching, "nothing until an exception is handled"},
		{"ACTIVATION_FOLDED", ActivationFolded, "without a timing of its own path"},
		{"ACTIVATION_PAUSED", ActivationPaused, "as boundary: an unrecorded call may run inside"},
		{"ACTIVATION_JUMPED", ActivationJumped, "what it jumped to runs in its place"},
		{"CONTROL_MAGIC", ControlMagic, "opens the control file"},
		{"CONTROL_RING", ControlRing, "changes that it holds"},
		{"CUT_WAIT", CutWait, "nanoseconds that a thread waits at most for the end of a slice"},
		{"LEVEL_GLOBAL", LevelGlobal, "all processes"},
		{"LEVEL_PROCESS", LevelProcess, ""},
		{"LEVEL_THREAD", LevelThread, ""},
		{"LEVEL_FUNCTIONS", LevelFunctions, "a process, by the functions that its threads are in"},
		{"CONTROL_START", ControlStart, ""},
		{"CONTROL_STOP", ControlStop, ""},
		{"CONTROL_SUSPEND", ControlSuspend, ""},
		{"CONTROL_RESUME", ControlResume, ""},
		{"POINT_BEFORE", PointBefore, "of a function's call"},
		{"POINT_AFTER", PointAfter, ""},
		{"POINT_TOP", PointTop, ""},
		{"POINT_BOTTOM", PointBottom, ""},
		{"POINTS", Points, ""},
		{"ACTION_MARK", ActionMark, "bits of what is done at functions"},
		{"ACTION_SCOPE", ActionScope, ""},
		{"ACTION_CONTROL", ActionControl, ""},
		{"ACTIONS", Actions, ""},
		{"REQUEST_COLLECT", RequestCollect, "a full garbage collection"},
		{"REQUEST_SNAPSHOT", RequestSnapshot, "and a snapshot of the heap"},
		{"REQUEST_DETACH", RequestDetach, "the end of the recording"},
		{"DORMANT_MAGIC", DormantMagic, "opens the file of a dormant agent"},
		{"MAX_DIRECTORY", MaxDirectory, "bytes of its path"},
		{"MAX_OPTIONS", MaxOptions, "bytes of the file of options"},
		{"MAX_CHOICE", MaxChoice, "bytes of a variable"},
		{"DORMANT_WAITING", DormantWaiting, "for a collector"},
		{"DORMANT_RECORDING", DormantRecording, ""},
		{"DORMANT_LEAVING", DormantLeaving, "the recording ends"},
		{"DORMANT_ENDED", DormantEnded, "the process ends"},
	}
}

// counterConstants are those of CPU counters, meters and system events.
func counterConstants() []Constant {
	return []Constant{
		{"MAX_COUNTERS", MaxCounters, "CPU counters"},
		{"COUNTER_FAULTS", CounterFaults, "page faults"},
		{"COUNTER_MINOR_FAULTS", CounterMinorFaults, "without the disk"},
		{"COUNTER_MAJOR_FAULTS", CounterMajorFaults, "with it"},
		{"COUNTER_SWITCHES", CounterSwitches, "context switches"},
		{"COUNTER_VOLUNTARY", CounterVoluntary, "the thread waited"},
		{"COUNTER_PREEMPTED", CounterPreempted, "another thread was given the processor"},
		{"COUNTER_READS", CounterReads, "of blocks"},
		{"COUNTER_WRITES", CounterWrites, "of blocks"},
		{"COUNTER_TASK_CLOCK", CounterTaskClock, "ns of processor time"},
		{"COUNTER_PERF", CounterPerf, "a perf event"},
		{"COUNTER_CALLS", CounterCalls, "system calls"},
		{"COUNTER_MIGRATIONS", CounterMigrations, "moves to another processor"},
		{"RECORD_METER_COUNTER", uint64(KindMeterCounter), ""},
		{"RECORD_METER_STATE", uint64(KindMeterState), ""},
		{"METER_OLD_RUNTIME", MeterOldRuntime, "nothing listens"},
		{"METER_NO_FILE", MeterNoFile, "the same"},
		{"METER_WANTED", MeterWanted, ""},
		{"METER_LISTENING", MeterListening, ""},
		{"METER_ADDED", MeterAdded, "a counter"},
		{"METER_UP_DOWN", MeterUpDown, "an up-down counter"},
		{"METER_SET", MeterSet, "a gauge, or an observable up-down counter"},
		{"METER_TOTAL", MeterTotal, "an observable counter"},
		{"METER_MEASURED", MeterMeasured, "a histogram"},
		{"METER_KINDS", MeterKinds, ""},
		{"MAX_METER_COUNTERS", MaxMeterCounters, "instruments with their tags"},
		{"EVENT_SCHED", EventSched, "context switches"},
		{"EVENT_FAULTS", EventFaults, "page faults"},
		{"EVENT_IO", EventIO, "blocks of disks"},
		{"EVENT_CALLS", EventCalls, "system calls"},
		{"EVENT_MOVES", EventMoves, "migrations"},
	}
}

// fixed lists the structs that both sides map, smallest parts first.
func fixed() []any {
	return []any{RegionEntry{}, LossEntry{}, Overhead{}, CPUCounter{}, Header{}, IP{}, Node{}, Site{}, SiteTiming{},
		SiteDeaths{}, Ages{}, ThreadSet{}, Spells{}, Scope{}, Interaction{}, MeterValue{},
		Timing{}, Waits{}, Acted{}, Inclusive{}, Counts{}, SystemEvent{}, SystemCall{},
		Clock{}, Activation{}, RecordHeader{}, ControlHeader{},
		ControlChange{}, TraceEvent{}, TraceChunkHead{}, TraceChunk{}, Dormant{}}
}

// Generate returns the generated files by their path from the root of the repository.
func Generate() map[string]string {
	return map[string]string{"agent/src/wire_gen.h": cHeader(), "docs/wire.md": document()}
}

func cHeader() string {
	var b strings.Builder
	b.WriteString("/* Generated from internal/wire by `go generate ./internal/wire`. Do not edit. */\n" +
		"#ifndef CLRPROF_WIRE_GEN_H\n#define CLRPROF_WIRE_GEN_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n")
	for _, c := range Constants() {
		line := fmt.Sprintf("#define WIRE_%s 0x%xu", c.Name, c.Value)
		if c.Value > 0xFFFFFFFF {
			line = fmt.Sprintf("#define WIRE_%s UINT64_C(0x%x)", c.Name, c.Value)
		}
		if c.Doc != "" {
			line += " /* " + c.Doc + " */"
		}
		b.WriteString(line + "\n")
	}
	fmt.Fprintf(&b, "\n#define WIRE_CORE_LIBRARY %q\n#define WIRE_HELPERS \\\n", CoreLibrary)
	for i, h := range Helpers() {
		end := ", \\"
		if i == len(Helpers())-1 {
			end = ""
		}
		fmt.Fprintf(&b, "    %q%s\n", h, end)
	}
	for _, v := range fixed() {
		t := reflect.TypeOf(v)
		fmt.Fprintf(&b, "\nstruct %s {\n", cName(t.Name()))
		for i := range t.NumField() {
			b.WriteString("    " + cField(t.Field(i)) + "\n")
		}
		fmt.Fprintf(&b, "};\n_Static_assert(sizeof(struct %s) == %d, \"layout\");\n", cName(t.Name()), t.Size())
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "_Static_assert(offsetof(struct %s, %s) == %d, \"layout\");\n",
				cName(t.Name()), snake(f.Name), f.Offset)
		}
	}
	fmt.Fprintf(&b, "\n#define WIRE_CONTROL_FILE %q\n#define WIRE_DORMANT_PREFIX %q\n#define WIRE_OPTIONS_FILE %q\n",
		ControlFile, DormantPrefix, OptionsFile)
	b.WriteString("\n#endif\n")
	return b.String()
}

func cName(goName string) string { return "wire_" + snake(goName) }

func cField(f reflect.StructField) string {
	t, array := f.Type, ""
	if t.Kind() == reflect.Array {
		array = fmt.Sprintf("[%d]", t.Len())
		t = t.Elem()
	}
	typ := t.Kind().String() + "_t"
	if t.Kind() == reflect.Struct {
		typ = "struct " + cName(t.Name())
	}
	s := fmt.Sprintf("%s %s%s;", typ, snake(f.Name), array)
	if doc := f.Tag.Get("doc"); doc != "" {
		s += " /* " + doc + " */"
	}
	return s
}

// snake turns MaxStackDepth into max_stack_depth and PID, StartNS into pid, start_ns.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		lowerBefore := i > 0 && unicode.IsLower(runes[i-1])
		wordEnds := i > 0 && i+1 < len(runes) && unicode.IsUpper(r) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && (lowerBefore || wordEnds) && name != "IPs" {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func document() string {
	var b strings.Builder
	b.WriteString("# The arena\n\nGenerated from `internal/wire` by `go generate ./internal/wire`. Do not edit.\n\n" +
		"The arena is what the agent writes and the collector reads. The package comment of `internal/wire` explains its " +
		"structure.\n\n## Fixed structs\n")
	for _, v := range fixed() {
		t := reflect.TypeOf(v)
		fmt.Fprintf(&b, "\n### %s (%d bytes)\n\n| offset | field | type | meaning |\n| --- | --- | --- | --- |\n",
			t.Name(), t.Size())
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", f.Offset, snake(f.Name), typeName(f.Type), f.Tag.Get("doc"))
		}
	}
	b.WriteString("\n## Records of the log\n\nEach begins with a RecordHeader. Fields follow each other " +
		"without gaps; " +
		"a string is a u32 count and UTF-16 units, a list is a u32 count and its elements.\n")
	records := Records()
	kinds := slices.SortedFunc(maps.Keys(records), func(a, b Kind) int { return cmp.Compare(a, b) })
	for _, k := range kinds {
		t := reflect.TypeOf(records[k])
		fmt.Fprintf(&b, "\n### %s (kind %d)\n\n| field | type | meaning |\n| --- | --- | --- |\n", t.Name(), k)
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "| %s | %s | %s |\n", snake(f.Name), typeName(f.Type), f.Tag.Get("doc"))
		}
	}
	b.WriteString("\n## Constants\n\n| name | value | meaning |\n| --- | --- | --- |\n")
	for _, c := range Constants() {
		fmt.Fprintf(&b, "| %s | %d | %s |\n", c.Name, c.Value, c.Doc)
	}
	b.WriteString("\n## Helpers of the runtime\n\nFunctions of " + CoreLibrary + " that have no frames in stacks.\n\n")
	for _, h := range Helpers() {
		b.WriteString("    " + h + "\n")
	}
	return b.String()
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "list of " + typeName(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("%d × %s", t.Len(), typeName(t.Elem()))
	case reflect.Struct:
		return t.Name()
	}
	return strings.Replace(t.Kind().String(), "uint", "u", 1)
}
