package wire

// Magic opens every arena: "CLRPROF" and a zero byte.
const Magic uint64 = 0x00464F5250524C43

// Version of the layout. Agent and collector are built together; a mismatch means a mixed installation.
const Version uint32 = 1

// HeaderSize is the size of the header's page: where the first region may begin.
const HeaderSize = 4096

// State is how far the agent of a process has come.
type State uint32

// The states, in order.
const (
	StateStarting  State = 0 // the arena exists, the runtime has not accepted the agent yet
	StateRecording State = 1 // the runtime calls the agent
	StateShutDown  State = 2 // the runtime announced its end; a few allocations may still follow
	StateFailed    State = 3 // Initialize failed: see Header.Failure
	StateDetached  State = 4 // the agent is dormant again: nothing follows, and the process runs on
)

// Over says whether nothing follows that counts.
func (s State) Over() bool { return s == StateShutDown || s == StateDetached }

// Failure is why Initialize gave up.
type Failure uint32

// The failures.
const (
	FailureNone        Failure = 0
	FailureOldRuntime  Failure = 1 // the runtime lacks ICorProfilerInfo9 (before .NET Core 2.2)
	FailureEventMask   Failure = 2 // SetEventMask2 was refused
	FailureOutOfMemory Failure = 3 // the agent's first tables could not be made
	FailureHooks       Failure = 4 // the runtime refused the hooks of calls
	FailureNoCollector Failure = 5 // no collector holds the lock of the arenas' directory (Dormant)
	FailureNoArena     Failure = 6 // no arena could be made: a note in the directory says why (Dormant)
	FailureBackground  Failure = 7 // the process has background collections, so objects cannot be followed (Dormant)
	FailureNoProbes    Failure = 8 // no probes in code that runs: before .NET 5, or the runtime refuses (Dormant)
	FailureVersions    Failure = 9 // what recordings of calls have left in the process would become too much (Dormant)

	FailureNoSamples Failure = 10 // the runtime does not give the events of sampled objects (Dormant)
)

// Region names one of the parts of an arena behind the header.
type Region uint32

// The regions, in the order in which they lie in the file.
const (
	RegionLog    Region = 0
	RegionIPs    Region = 1
	RegionNodes  Region = 2
	RegionSites  Region = 3
	RegionDeaths Region = 4 // by site, with lifetime only
	RegionAges   Region = 5 // of sites whose objects survived at least one GC, with lifetime only

	RegionThreadSets Region = 6 // threads that share an id
	RegionScopes     Region = 7 // by thread, where it is recorded only inside or outside of some functions

	RegionInteractions Region = 8 // calls to databases and over HTTP, where they are recorded

	RegionMeterValues Region = 9 // what instruments of meters measured, where meters are sampled

	RegionSiteSamples Region = 10 // by site, where small objects are sampled (DataSampled)

	// With time only.
	RegionTimings     Region = 11 // the calling-context tree of each thread
	RegionWaits       Region = 12 // what the operating system did in the intervals of a timing
	RegionClocks      Region = 13 // by thread
	RegionActivations Region = 14 // the calls that have not ended
	RegionActed       Region = 15 // the least and the most of calls in which the operating system acted
	RegionInclusives  Region = 16 // inclusive time of folded calls
	RegionSiteTimings Region = 17 // by site, with memory too, where calls are seen around them

	RegionCounts Region = 18 // by timing: where CPU counters are read

	RegionSystemEvents Region = 19 // intervals in which the operating system acted, where they are listed

	RegionSystemCalls Region = 20 // which system calls there were in these intervals, one behind the other

	RegionTrace Region = 21 // events of calls in their order, with a call trace only

	RegionCount = 22
)

// Loss is a reason for which something is missing from the counters.
type Loss uint32

// The losses. Each has a counter of events and, where objects are concerned, of objects and bytes.
const (
	LossArenaFull      Loss = 0 // --memory-limit or the file system's space was reached: new sites are not counted
	LossNoThreadState  Loss = 1 // no memory for a thread's tables
	LossReentered      Loss = 2 // an allocation inside the agent's own call into the runtime
	LossILMapTruncated Loss = 3 // a body with more mapping entries than MaxILMap: late lines of it are missing
	LossNameTruncated  Loss = 4 // a name longer than MaxName characters was cut
	LossUntracked      Loss = 5 // a survivor of a GC that the agent had not seen allocated (lifetime)
	LossLifetimeFull   Loss = 6 // the memory limit was reached: these objects are not followed (lifetime)
	// a GC whose survivors could not all be noted, or damage to the shadow heap: from it on no object is followed
	// (lifetime)
	LossMoves    Loss = 7
	LossSnapshot Loss = 8 // the heap snapshot could not be written: no room on its file system (lifetime)

	// calls that have no node of their own: memory limit or depth reached (time); Objects counts them
	LossCallsFolded Loss = 9
	// calls whose end was not seen, only that their frame is gone (time); Objects counts them
	LossCallsUnmatched Loss = 10
	LossClockBackwards Loss = 11 // intervals that the clock ended before they began: they count as 0 ns (time)
	LossNotHooked      Loss = 12 // functions that should have been instrumented and are not: no memory (time)

	LossChanges Loss = 13 // no room to report what changed from GC to GC: not reported from here on (lifetime)
	// GCs whose roots were not looked at, though asked for: too much was reported of others (lifetime)
	LossSurvivors Loss = 14

	// most boxes are not reported by .NET 10, and the agent could not make it report them: their number is unknown
	LossUnreported Loss = 15

	// times that there was no memory for a new stack: only its function, or the function's module, is reported
	LossStacks Loss = 16
	LossAges   Loss = 17 // objects that died without an age, as there was no memory for their site's (lifetime)

	LossAsyncNotHooked Loss = 18 // runtime-async methods, which hooks would break: they are not instrumented (time)

	LossCallsCut Loss = 19 // calls that were taken for gone and then returned (time); Objects counts them

	LossWaits Loss = 20 // there was no memory for what the operating system did (time)

	LossNotProbed Loss = 21 // functions whose IL cannot be rewritten: they are not instrumented (time)

	// changes of what is recorded that the process saw too late: there were more than ControlRing since it looked
	LossControl Loss = 22

	LossMarks Loss = 23 // marks and changes of what is recorded, by the program itself, for which there was no room

	// functions of --record-inside and --record-outside that cannot have probes: what they were to leave out is
	// recorded
	LossNotLimited Loss = 24

	// beginnings and ends of collections for which there was no room (call trace); other events of it: Clock.TraceLost
	LossTrace Loss = 25

	LossInteractions     Loss = 26 // calls to databases and over HTTP that have no row, or a process that can have none
	LossInteractionTexts Loss = 27 // texts of them that were cut, or for which there was no room

	// intervals without values of CPU counters: a pause lies in them, or a counter could not be read (time)
	LossCounts Loss = 28

	// system events that are not in the list: it is as long as it may be, or memory is short (time)
	LossSystemEvents Loss = 29

	// calls by the runtime in the middle of its search for a handler, within too many others of the kind (time);
	// Objects counts them
	LossCallsNested Loss = 30

	LossMeters         Loss = 31 // measurements that have no row of their own tags, or none at all
	LossMeterCallbacks Loss = 32 // times that reading an observable instrument ended by an exception

	// samples of objects that could not be read, or for which there was no room: each loss counts the objects that its
	// sample stands for
	LossSamples = 33

	LossCount = 34
)

// Generations of the GC heap, as the runtime numbers them (COR_PRF_GC_GENERATION).
const (
	GenerationLarge  = 3
	GenerationPinned = 4

	GenerationCount = 5
)

// Data sets that the agent can be asked for.
const (
	DataMemory   = 1
	DataLifetime = 2
	DataTime     = 4
	DataTrace    = 8  // and the events of calls, in their order
	DataLarge    = 16 // of objects, only those on the large object heap: the agent came into a process that ran
	DataSampled  = 32 // with DataLarge: samples of the other objects, too (SiteSample)
)

// How small objects are sampled (DataSampled).
const (
	SamplerNone   = 0
	SamplerRandom = 1 // AllocationSampled: each byte is as likely as any other, 1 in SampleBytes
	SamplerTicks  = 2 // AllocationTick: an object about every 100 KB of a heap: a regular program can be in step
)

// SampleBytes is how many bytes there are for each sample of SamplerRandom, on average (the runtime's
// RandomizedAllocationSampling.md).
const SampleBytes = 102_400

// Mechanisms by which a thread learns that the operating system acted in an interval, from the best on.
const (
	MechanismNone = 0 // not asked yet
	MechanismRseq = 1 // the kernel clears rseq_cs when the thread is switched out; getrusage confirms
	MechanismPerf = 2 // a perf event writes a record for each switch
	MechanismGap  = 3 // an interval longer than Header.GapTicks, then getrusage
)

// Clocks of time data.
const (
	ClockTSC       = 1 // the processor's time-stamp counter, which the processor says is invariant
	ClockMonotonic = 2 // CLOCK_MONOTONIC, in nanoseconds
	ClockCNTVCT    = 3 // the virtual counter of the generic timer, cntvct_el0 (arm64)
)

// What of the code is instrumented.
const (
	InstrumentBoundary = 1 // framework code has a node only when instrumented code called it
	InstrumentMine     = 2 // framework code is not hooked: its time belongs to its caller
	InstrumentAll      = 3 // everything is hooked

	InstrumentIL = 0x100 // added to one of these: calls are seen by probes in IL, else by the runtime's hooks
)

// MaxILMap bounds the IL map of one body: 8192 entries are a method of about 80 KB of IL. The largest of the F#
// compiler has 5,848.
const MaxILMap = 8192

// MaxName bounds one name, in UTF-16 units: ECMA-335 II.24.2.2 allows names of any length, the runtime 1023.
const MaxName = 1024

// MaxTypeArguments bounds the type arguments of one type or function.
const MaxTypeArguments = 64

// MaxNesting bounds nested types and types within types (arrays, type arguments) that the agent follows.
const MaxNesting = 32

// Reserved ids of the ips and nodes tables.
const (
	IPNone      = 0 // no instruction
	IPTruncated = 1 // stands for the frames that --max-stack-depth left out
	IPUnknown   = 2 // stands for a stack without a managed frame
	IPFirst     = 3 // the first real one

	NodeRoot = 0 // the parent of every root
)

// Flags of an IP.
const (
	IPManaged   = 1  // inside a managed body; otherwise native code
	IPFrameless = 2  // its function has no frame pointer
	IPOSR       = 4  // in an OSR variant: its frame lies on that of the first version of the same call
	IPHelper    = 16 // in one of the Helpers: as native code, it has no frame in stacks
	IPForeign   = 32 // in native code outside of the runtime, which need not have a frame pointer
	IPSignal    = 8  // the kernel returns there after a signal handler: the interrupted registers lie above it
)

// Flags of a module record.
const (
	ModuleDynamic     = 1 // no file: Reflection.Emit, Load(byte[]), or the runtime's own dynamic methods
	ModuleOriginShift = 8 // whose code it is, an Origin, in the bits from this one on
)

// Origins of modules, as the agent decides with time; the package usercode has the rules. Those up to OriginFolder are
// the user's.
const (
	OriginUnknown   = 0 // it was not asked
	OriginPattern   = 1
	OriginProject   = 2
	OriginBeside    = 3
	OriginMemory    = 4
	OriginFolder    = 5
	OriginFramework = 6
	OriginSDK       = 7
	OriginPackage   = 8
	OriginGenerated = 9
	OriginMicrosoft = 10
	OriginElsewhere = 11
)

// Flags of a function record.
const (
	FunctionDynamic      = 1 // a DynamicMethod or IL stub: it has only a name
	FunctionInstrumented = 2 // its calls are recorded (time)
	FunctionBoundary     = 4 // its calls by instrumented functions are recorded (time)
	FunctionMarked       = 8 // its calls or returns are marked
	// its calls would be recorded, but it cannot have probes: the runtime suspends it itself (time)
	FunctionUnprobed = 16
)

// Reasons of a NotProbed record that are not the rewriter's.
const (
	NotProbedSignature = 16 // the signature of a probe could not be put into the metadata of its module
	NotProbedRefused   = 17 // the runtime did not take the IL with probes, or there was no memory
	NotProbedElsewhere = 18 // older code of it may run, as a body or inlined, that the runtime does not find (attached)
	// its code ran when the recording began, and has none until it is called again (attached); no loss
	NotProbedRunning = 19
	// hot reload can change its module, which then may have no rows of metadata but its own
	NotProbedChangeable = 20
	// methods that are made at run time may have it inlined; its other calls have probes (attached)
	NotProbedMade = 21
)

// FunctionCollection is the Timing.Function that stands for garbage collections for which a thread waits: it is
// described nowhere, and no function has that id. Such a timing has intervals and no calls.
const FunctionCollection = 1<<32 - 1

// Kinds of a type record.
const (
	TypeUnknown = 0 // the runtime did not know
	TypeClass   = 1 // has a TypeDef token and perhaps type arguments
	TypeArray   = 2 // rank and element
	TypeOther   = 3 // pointer, by-ref, type variable
)

// SiteFrozen is added to a site's type when its objects are on the frozen heap.
const SiteFrozen = 1 << 31

// RegionEntry says where a region is.
type RegionEntry struct {
	Offset   uint64 `doc:"from the start of the file"`
	Capacity uint64 `doc:"bytes that the region may ever have"`
	Used     uint64 `doc:"bytes that are valid; grows, stored with release order"`
	Backed   uint64 `doc:"bytes for which the file system has given memory"`
}

// LossEntry counts one reason.
type LossEntry struct {
	Events  uint64 `doc:"how often"`
	Objects uint64 `doc:"objects concerned"`
	Bytes   uint64 `doc:"their heap bytes"`
}

// Header is the start of an arena.
type Header struct {
	Magic         uint64                   `doc:"Magic"`
	Version       uint32                   `doc:"Version"`
	State         uint32                   `doc:"State"`
	Failure       uint32                   `doc:"Failure"`
	PID           uint32                   `doc:"process id"`
	ParentPID     uint32                   `doc:"parent's process id when the agent was loaded"`
	RuntimeMajor  uint32                   `doc:"runtime version; .NET Core 3.1 says 4"`
	RuntimeMinor  uint32                   `doc:""`
	RuntimeBuild  uint32                   `doc:""`
	MaxStackDepth uint32                   `doc:"frames kept of one stack"`
	Threads       uint32                   `doc:"ids of threads given so far: one for each thread that has allocated, or made a recorded call, and for each ThreadSet"`
	Data          uint32                   `doc:"DataMemory and so on"`
	Collections   uint32                   `doc:"garbage collections that ended"`
	AliveKnown    uint32                   `doc:"1: the last GC said what is alive (Alive)"`
	Mechanism     uint32                   `doc:"the one that most threads have, time"`
	StartNS       uint64                   `doc:"CLOCK_MONOTONIC when the agent was loaded"`
	EndNS         uint64                   `doc:"CLOCK_MONOTONIC at the runtime's shutdown, 0 before"`
	MemoryLimit   uint64                   `doc:"bytes that all regions and private tables may have; the collector lowers it"`
	SharedBytes   uint64                   `doc:"bytes of memory behind the regions"`
	PrivateBytes  uint64                   `doc:"bytes of the agent's private tables"`
	Clock         uint32                   `doc:"ClockTSC and so on, 0 without time"`
	Instrument    uint32                   `doc:"InstrumentBoundary and so on"`
	BeginTicks    uint64                   `doc:"the clock when it was BeginNS"`
	BeginNS       uint64                   `doc:"CLOCK_MONOTONIC"`
	TicksPerSec   uint64                   `doc:"of the clock, measured at the start"`
	EndTicks      uint64                   `doc:"the clock at the runtime's shutdown (EndNS), 0 before"`
	GapTicks      uint64                   `doc:"an interval without a context switch is shorter, MechanismGap"`
	ReadyMeasured uint64                   `doc:"1: ready is what the kernel says of each thread, 0: an estimate by the numbers of switches"`
	Overhead      Overhead                 `doc:"what the probes themselves take"`
	GCPauses      uint64                   `doc:"how often threads were stopped for garbage collections while the process was recorded, time"`
	GCPausedNS    uint64                   `doc:"from the request to stop to the beginning of the resumption, of all of these"`
	GCLongestNS   uint64                   `doc:"of the longest"`
	Regions       [RegionCount]RegionEntry `doc:"by Region"`
	Losses        [LossCount]LossEntry     `doc:"by Loss"`
	Walks         uint64                   `doc:"GCs at whose start the runtime walked generation 0, lifetime"`
	LeftOut       uint64                   `doc:"objects that the runtime allocated for events that the agent asked for: not the program's"`
	LeftOutBytes  uint64                   `doc:"their heap bytes"`
	Answered      uint32                   `doc:"the last of ControlHeader.Requests that was dealt with, whoever was asked"`
	Forced        uint32                   `doc:"collections that were asked for and made; stored before Answered, as is Snapshots"`
	Snapshots     uint32                   `doc:"heap snapshots that are complete, lifetime"`
	Counters      uint32                   `doc:"CPU counters that are read at each event, time"`
	TraceFreed    uint64                   `doc:"how often the collector has set a TraceChunk to TraceFree; it writes this after that"`

	CPUCounters [MaxCounters]CPUCounter `doc:"which they are"`

	Ready     uint32 `doc:"the last of ControlHeader.Ready for which all probes were in"`
	ProbesOut uint32 `doc:"functions whose probes are taken out while nothing is recorded, or are about to be"`

	SystemEvents   uint32 `doc:"EventSched and so on: what is listed, time"`
	EndingSign     uint32 `doc:"EndingSignal and so on: by what the agent saw that the program begins to end, lifetime"`
	EndingGC       uint32 `doc:"number of the GC that says what was alive then, 0: the program does not end, or it was not seen"`
	Sampler        uint32 `doc:"SamplerRandom and so on, DataSampled"`
	EndingNS       uint64 `doc:"CLOCK_MONOTONIC at the end of that GC"`
	Compiled       uint64 `doc:"methods that were compiled while the program ran, but for those of Recompiled"`
	CompiledNS     uint64 `doc:"processor time that this took"`
	Recompiled     uint64 `doc:"methods that the runtime compiled once more in the background, because they are called often"`
	RecompiledNS   uint64 `doc:"processor time that this took"`
	CompiledMissed uint64 `doc:"methods that are in none of these: too many were compiled at once"`

	CutNS uint64 `doc:"time of the last mark whose thread waits until what was counted before it is read; the file has a new time after it was stored"`
}

// By what the agent saw that the program begins to end.
const (
	EndingSignal = 1 // PosixSignalRegistration.OnPosixSignal: a signal came that the program handles
	EndingHost   = 2 // ApplicationLifetime.StopApplication: the host of a service is told to stop
	EndingExit   = 3 // AppContext.OnProcessExit: Main has returned, or Environment.Exit was called
)

// IP is a return address that was seen on a stack.
type IP struct {
	Address   uint64 `doc:"the return address"`
	Body      uint32 `doc:"id of the body around it, 0 for native code"`
	Function  uint32 `doc:"id of the function"`
	FrameSize uint32 `doc:"bytes between the stack pointer and the return address of the function"`
	Flags     uint32 `doc:"IPManaged, IPFrameless, IPOSR, IPSignal, IPHelper, IPForeign"`
}

// Node is a place in the calling-context tree. The last four fields are how the agent finds children and sites; they
// change while it runs, and a reader has no use for them.
type Node struct {
	Parent   uint32 `doc:"id of the parent node; always smaller than the node's own"`
	IP       uint32 `doc:"id of the IP"`
	Child    uint32 `doc:"id of the oldest child"`
	Sibling  uint32 `doc:"id of the parent's next child, as far as they are linked"`
	Site     uint32 `doc:"number (index plus one) of the newest site at this node"`
	Children uint32 `doc:"how many"`
}

// Site is who allocated what; the two counters have one writer, its thread.
type Site struct {
	Thread  uint32 `doc:"id of the thread"`
	Node    uint32 `doc:"id of the node"`
	Type    uint32 `doc:"id of the type; with SiteFrozen on the frozen heap"`
	Next    uint32 `doc:"number (index plus one) of the site at the node before this one"`
	Objects uint64 `doc:"objects allocated"`
	Bytes   uint64 `doc:"their heap bytes: sizes rounded up to 8"`
}

// SiteTiming says in which call the objects of the site with the same index were allocated, where what code calls is
// not what runs: see Callee. It is part of what the site is, as thread, node and type are.
type SiteTiming struct {
	Timing uint32 `doc:"number (index plus one) of the timing of the innermost call, 0: none, or only the stack shows it"`
}

// SiteSample says of the site with the same index whether its objects were counted or sampled. All samples of a site
// are alike, so whatever is counted of the site, its deaths too, is a multiple of what one of them stands for.
type SiteSample struct {
	Weight uint32 `doc:"objects that each sample stands for, 0: the objects were counted"`
	Size   uint32 `doc:"heap bytes of each of these"`
}

// SiteDeaths says in which generations the objects of the site with the same index died. What is not dead is alive.
type SiteDeaths struct {
	DeadObjects     [GenerationCount]uint64 `doc:"by the generation in which they were when they were found dead"`
	DeadBytes       [GenerationCount]uint64 `doc:"their heap bytes"`
	Ages            uint32                  `doc:"number (index plus one) of the site's Ages, 0: all of the dead survived no GC"`
	Changed         uint32                  `doc:"the agent's list of sites that changed: number of the next one, 0: not in it"`
	Counters        uint32                  `doc:"in that list: bit n: Change.Counter n may have changed"`
	Reserved        uint32                  `doc:""`
	ReportedObjects uint64                  `doc:"objects allocated as last reported by Changes"`
	ReportedBytes   uint64                  `doc:"the same in bytes"`
	CountedObjects  uint64                  `doc:"objects allocated before the last collection"`
	CountedBytes    uint64                  `doc:"the same in bytes"`
	OtherObjects    uint64                  `doc:"of those since, within a collection: that are alive, or were not born in generation 0"`
	OtherBytes      uint64                  `doc:"the same in bytes"`
}

// ThreadSet stands for threads that ran one after the other and share one id, and so sites and timings: what each of
// them did is in the sum. The first threads of a process have an id each, described by a Thread record.
type ThreadSet struct {
	Thread  uint32 `doc:"the id"`
	Threads uint32 `doc:"how many there have been; at most one of them runs"`
	OSID    uint32 `doc:"gettid of the newest"`
	Several uint32 `doc:"1: of several names"`
	NameAt  uint64 `doc:"where in the log the ThreadName record with their name begins, plus one; 0: they have none"`
	BeginNS uint64 `doc:"CLOCK_MONOTONIC of the first one's first allocation"`
	EndNS   uint64 `doc:"CLOCK_MONOTONIC of the newest one's end, 0: it runs"`
}

// Scope is how often and how long a thread was in functions that limit what is recorded. One thread writes it at a
// time.
type Scope struct {
	Inside   Spells `doc:"calls of functions of --record-inside: outside of them the thread is off"`
	Outside  Spells `doc:"calls of functions of --record-outside: in them the thread is off"`
	Off      uint32 `doc:"1: because of these, nothing of the thread is recorded now"`
	Reserved uint32 `doc:""`
}

// Spells are spans of time in which at least one call of some functions was on a thread's stack.
type Spells struct {
	Times   uint64 `doc:"how many began"`
	NS      uint64 `doc:"how long those took that ended, CLOCK_MONOTONIC"`
	SinceNS uint64 `doc:"when the one began that goes on, 0: none does"`
}

// Kinds of an Interaction.
const (
	InteractionDatabase = 1 // a command of System.Data.Common.DbCommand
	InteractionHTTP     = 2 // a request of System.Net.Http
)

// MaxInteractionText bounds one text of an interaction, in UTF-16 units: it lies on the stack of the calling thread.
const MaxInteractionText = 4096

// Interaction is what is known of the calls of one kind, with one text, from one stack. All threads write it.
type Interaction struct {
	Kind     uint32 `doc:"InteractionDatabase or InteractionHTTP"`
	Text     uint32 `doc:"id of an InteractionText, 0: there was no room for it"`
	Node     uint32 `doc:"the stack of the caller, 0: it is not known yet"`
	Reserved uint32 `doc:""`
	Started  uint64 `doc:"calls"`
	Ended    uint64 `doc:"those that have ended; stored last"`
	Failed   uint64 `doc:"those of them that ended by an exception, or whose task failed or was cancelled"`
	Unwaited uint64 `doc:"those that returned a task which was not complete, and of which nobody knows when it was"`
	TotalNS  uint64 `doc:"CLOCK_MONOTONIC, of calls that have ended"`
	MinNS    uint64 `doc:"of one call; UINT64_MAX: none has ended"`
	MaxNS    uint64 `doc:""`
}

// What the value of a MeterCounter is.
const (
	MeterAdded    = 1 // Sum: what was added; it only grows
	MeterUpDown   = 2 // Sum: what was added, and taken away
	MeterSet      = 3 // Last
	MeterTotal    = 4 // Last, which only grows
	MeterMeasured = 5 // Count, Sum, Min, Max: a histogram

	MeterKinds = 6
)

// What the agent knows of the code in the program that listens to meters.
const (
	MeterOldRuntime = 1 // there is none before .NET 8
	MeterNoFile     = 2 // the process cannot read its file
	MeterWanted     = 3 // it is to be loaded
	MeterListening  = 4 // it runs
)

// MaxMeterCounters bounds the rows of MeterValue: as many as a session takes counters of programs.
const MaxMeterCounters = 20_000

// MeterValue is what an instrument of a meter measured with one set of tags, by MeterCounter.ID less one. All threads
// write it, code of the program's process does. Numbers are the bits of an int64, or of a float64: MeterCounter.Whole.
type MeterValue struct {
	Count uint64 `doc:"measurements; stored last"`
	Sum   uint64 `doc:"of all of them"`
	Last  uint64 `doc:"the last one"`
	Min   uint64 `doc:"of MeterMeasured; of no measurement the greatest number there is"`
	Max   uint64 `doc:"the same, the least number"`
}

// ChangeAllocated is the counter of a Change that holds what was allocated; those before it are by generation.
const ChangeAllocated = GenerationCount

// Buckets of ages.
const (
	AgeGCBuckets   = 8 // 0, 1, 2, 3–4, 5–8, 9–16, 17–64, 65 and more GCs survived
	AgeTimeBuckets = 8 // less than 1 ms, 10 ms, 100 ms, 1 s, 10 s, 100 s, 1000 s, more
)

// Ages is how old the dead objects of a site became. Bucket 0 of both holds only those that are counted here: all that
// survived no GC are the dead objects of SiteDeaths less the sums of these.
type Ages struct {
	ByCollections [AgeGCBuckets]uint64   `doc:"by the number of GCs that they survived"`
	ByTime        [AgeTimeBuckets]uint64 `doc:"by the time from the end of the first GC that they survived to the end of the one that found them dead"`
}

// Overhead is the time that probes add to the intervals that they end and begin, in 1/1024 of a tick, measured in the
// process itself: at the start, which is taken out of the least and the most of one call, and while the program runs.
type Overhead struct {
	Inside      uint64 `doc:"from Enter's reading of the clock to Leave's, for a function without code: part of its own tail"`
	Outside     uint64 `doc:"from Leave's reading to the next Enter's: part of the caller's time before the next call"`
	ColdInside  uint64 `doc:"the same when nothing is in the processor's caches"`
	ColdOutside uint64 `doc:""`
	Uncertain   uint64 `doc:"by so much Inside and Outside together may be wrong, up or down"`

	Repeated     uint64 `doc:"how often Inside and Outside were measured again while the program ran; of these:"`
	LaterInside  uint64 `doc:"the mean of Inside"`
	LaterOutside uint64 `doc:"and of Outside"`
	Least        uint64 `doc:"the least of Inside and Outside together"`
	Most         uint64 `doc:"and the most"`
}

// CPUCounter is something that the processor or the kernel counts, and what probes add to it in the intervals that they
// end and begin, in 1/1024 of what it counts in.
type CPUCounter struct {
	Kind    uint32 `doc:"CounterFaults and so on"`
	Type    uint32 `doc:"of a perf event: perf_event_attr.type"`
	Config  uint64 `doc:"and config"`
	Inside  uint64 `doc:"as Overhead.Inside"`
	Outside uint64 `doc:"as Overhead.Outside"`
}

// MaxCounters is how many CPU counters are read at each event, at most: as many as all that can be listed of the
// operating system read together. Of the processor's own most x64 processors count four at once.
const MaxCounters = 6

// Kinds of CPU counters: where the agent reads them. Those before CounterTaskClock are in getrusage(2) of the thread.
const (
	CounterFaults      = 0 // page faults
	CounterMinorFaults = 1 // of these: without the disk
	CounterMajorFaults = 2 // with it
	CounterSwitches    = 3 // context switches
	CounterVoluntary   = 4 // of these: because the thread waited
	CounterPreempted   = 5 // because another thread was given the processor
	CounterReads       = 6 // blocks of 512 bytes that were read from a disk
	CounterWrites      = 7 // blocks that are to be written to one
	CounterTaskClock   = 8 // ns of processor time: CLOCK_THREAD_CPUTIME_ID
	CounterPerf        = 9 // a perf event, of user mode only
	// Perf events of the kernel that have a record for each time, so that it is known without a system call how often.
	CounterCalls      = 10 // system calls: the tracepoint raw_syscalls:sys_enter
	CounterMigrations = 11 // moves to another processor
)

// What of the operating system is listed: bits.
const (
	EventSched  = 1  // the thread was without a processor: Voluntary, Preempted, Blocked, Ready
	EventFaults = 2  // MinorFaults, MajorFaults: CounterMinorFaults and CounterMajorFaults are read
	EventIO     = 4  // Reads, Writes: CounterReads and CounterWrites are read
	EventCalls  = 8  // Calls: CounterCalls is read
	EventMoves  = 16 // Migrations: CounterMigrations is read
)

// SystemEvent is an interval of a thread in which the operating system did something of what is listed. What is not
// listed is 0, but with EventSched MajorFaults and Reads are those of intervals with waits, which they can explain.
type SystemEvent struct {
	End         uint64 `doc:"Header.Clock when the interval ended"`
	Length      uint64 `doc:"ticks that the interval took, without pauses"`
	Timing      uint32 `doc:"number of the timing that has the interval"`
	Lead        uint32 `doc:"1: in Lead, which is the caller's, 0: in Tail"`
	Voluntary   uint32 `doc:"context switches: the thread waited"`
	Preempted   uint32 `doc:"another thread was given the processor"`
	MinorFaults uint32 `doc:"page faults without the disk"`
	MajorFaults uint32 `doc:"with it"`
	Reads       uint32 `doc:"blocks of 512 bytes that were read from a disk"`
	Writes      uint32 `doc:"blocks that are to be written to one"`
	Blocked     uint64 `doc:"ticks without a processor: the thread waited"`
	Ready       uint64 `doc:"it could have run"`
	Calls       uint32 `doc:"system calls"`
	Migrations  uint32 `doc:"moves to another processor"`
	Named       uint32 `doc:"rows of RegionSystemCalls that say which these were, behind those of the event before"`
	Reserved    uint32 `doc:""`
}

// SystemCall says how often a system call was made in a SystemEvent. The rows of an event are all there when it is;
// calls that are in none of them have no name.
type SystemCall struct {
	Number uint32 `doc:"of the machine's table"`
	Count  uint32 `doc:""`
}

// Counts are what CPU counters counted in the intervals of a timing, by counter. They are in the order of Timing.
type Counts struct {
	Lead      [MaxCounters]uint64 `doc:"in the intervals of Timing.LeadElapsed"`
	Tail      [MaxCounters]uint64 `doc:"in those of Timing.TailElapsed"`
	Inclusive [MaxCounters]uint64 `doc:"in those of Inclusive.Elapsed"`
	Each      [MaxCounters]uint64 `doc:"in those of Inclusive.EachElapsed"`
}

// Timing is a node of a thread's calling-context tree: a function, called from one place in its caller. One thread
// writes it. An interval is the time between two events of the thread (call, end of a call); it belongs to the stack at
// its end: one that ends with a call is part of the callee's Lead (time of the caller, before this call), one that ends
// with the end of the call is part of Tail (time of the function itself). Times are ticks of Header.Clock.
//
// A call without a timing of its own path is folded, and so is what it calls. Folded calls have one timing for each
// pair of caller and function: below a root with function 0, (truncated), there is a timing for each function, and
// below that one for each function that it called, which counts these calls and their intervals. The inclusive time of
// them is in Inclusives. The interval before a folded call is part of its caller's Tail.
type Timing struct {
	Parent        uint32    `doc:"number (index plus one) of the caller's timing; always smaller than the own; 0: a root, whose Lead is 0"`
	Function      uint32    `doc:"id of the function; 0: (truncated), the root of folded calls; FunctionCollection"`
	ReturnAddress uint64    `doc:"return address in the caller, which need not be the parent's function: it can be code that is not hooked; 0 below ActivationBoundary and of folded calls"`
	Calls         uint64    `doc:"calls that began, each of which ended one interval of Lead, but for roots and for folded calls: there it is part of the caller's Tail"`
	Ended         uint64    `doc:"of these: calls that ended, each of which ended one interval of Tail"`
	LeadElapsed   uint64    `doc:"intervals in the caller that a call to this function ended"`
	LeadWaited    uint64    `doc:"of these, in intervals in which the operating system acted"`
	TailElapsed   uint64    `doc:"intervals in the function itself that its end ended"`
	TailWaited    uint64    `doc:"of these, in intervals in which the operating system acted"`
	Min           [2]uint64 `doc:"of one call that ended and in which the operating system did not act, without the probes' overhead: inclusive, exclusive"`
	Max           [2]uint64 `doc:"the same"`
	IP            uint32    `doc:"id of ReturnAddress; 0: the reader looks for it in the bodies of the caller's function"`
	Thread        uint32    `doc:"id of the thread"`
	LeadWaits     uint32    `doc:"number (index plus one) of the Waits of Lead, 0: none"`
	TailWaits     uint32    `doc:"the same of Tail"`
	Unmatched     uint64    `doc:"of Ended: calls whose end was only seen by a later event"`
	First         uint32    `doc:"only the agent's: number of the timing of the call that this one made first when it ran last, 0: none"`
	Next          uint32    `doc:"the same of the call that its caller made next after one of this timing"`
	Folded        uint64    `doc:"folded calls made from here: each ended one interval of Tail"`
	Acted         uint32    `doc:"number of the Acted of other calls that ended, 0: none"`
	Inclusive     uint32    `doc:"number of the Inclusive of folded calls, 0: none"`
	Present       uint32    `doc:"only the agent's: of folded calls, how many are on the stack, and of the same function or pair on other paths; of a path, how many more calls from here get one, though others do not"`
	Callee        uint32    `doc:"of folded calls: number of the timing of their function below (truncated)"`
	Began         uint64    `doc:"sum of the readings of the clock at the beginning of Calls, modulo 2^64"`
}

// Waits is what the operating system did in intervals of a timing.
type Waits struct {
	Intervals uint64 `doc:"in which it acted"`
	Voluntary uint64 `doc:"context switches because the thread waited"`
	Preempted uint64 `doc:"context switches because another thread was given the processor"`
	Faults    uint64 `doc:"page faults that needed the disk, in these intervals"`
	Reads     uint64 `doc:"reads of blocks, in these intervals"`
	Blocked   uint64 `doc:"ticks without a processor because the thread waited"`
	Ready     uint64 `doc:"ticks without a processor though the thread could have run"`
}

// Acted are the smallest and the largest values of single calls of a timing that ended and in which the operating
// system acted, without the probes' overhead.
type Acted struct {
	Min [6]uint64 `doc:"elapsed inclusive, elapsed exclusive, application inclusive, application exclusive, CPU inclusive, CPU exclusive"`
	Max [6]uint64 `doc:"the same"`
}

// Inclusive is the time of folded calls with all that they called, which the tree of timings does not show. Of a timing
// with a path it is that of the folded calls made from there. Of the timing of a function below (truncated), or of a
// pair of functions below that, it is the time in which the function, or the callee called by the caller, was on the
// stack, as far as it was there in folded calls only.
type Inclusive struct {
	Times       uint64 `doc:"calls whose time it is: not those within another one of them"`
	Calls       uint64 `doc:"these, and all calls within them"`
	Elapsed     uint64 `doc:"ticks"`
	Waited      uint64 `doc:"of these, in intervals in which the operating system acted"`
	EachCalls   uint64 `doc:"of a pair of functions: as Calls, but for each call by itself, also within another one"`
	EachElapsed uint64 `doc:"the same of Elapsed"`
	EachWaited  uint64 `doc:"the same of Waited"`
	EachOff     uint64 `doc:"the same of Waits.Blocked and Waits.Ready"`
	Waits       Waits  `doc:"of the intervals of Waited: what it did there"`
}

// Clock is where a thread stands. One thread writes it.
type Clock struct {
	Depth       uint32 `doc:"activations: calls that have not ended"`
	Capacity    uint32 `doc:"activations that there is room for"`
	Activations uint64 `doc:"index of the first activation, the one next to the root"`
	Elapsed     uint64 `doc:"sum of all intervals, ticks"`
	Waited      uint64 `doc:"of these, in which the operating system acted"`
	Calls       uint64 `doc:"calls that began"`
	Last        uint64 `doc:"reading of the clock at the last event"`
	Mechanism   uint32 `doc:"MechanismRseq and so on"`
	Reserved    uint32 `doc:""`
	Own         uint64 `doc:"ticks that the agent took for itself, which are in no interval"`
	Acted       uint64 `doc:"how often the operating system was seen to act"`
	Jumps       uint64 `doc:"of Calls, those that ended by a jump"`

	TraceLost      uint64 `doc:"events of the call trace for which there was no room"`
	TraceLostTicks uint64 `doc:"the clock at the first of those lost since the thread last had room"`
}

// What a TraceChunk is used for. The agent takes free ones and sets them to TraceFull, the collector sets those to
// TraceFree.
const (
	TraceFree  = 0
	TraceTaken = 1 // a thread writes into it
	TraceFull  = 2 // no more is written: the thread has taken another one, or has ended
)

// TraceChunkEvents is how many events a chunk holds: with them it has 64 KiB.
const TraceChunkEvents = 4093

// TraceAllKept is TraceChunk.Kept where no event was lost.
const TraceAllKept = 0xFFFFFFFF

// Kinds of a TraceEvent, in its lowest bits.
const (
	TraceEnter  = 1 // a call began; Value: id of the function
	TraceExit   = 2 // a call ended; Value: id of the function
	TraceThrown = 3 // an exception was thrown; Value: id of its type, 0: not known
	TraceCaught = 4 // it was caught; Value: id of the function that catches it, 0: not known

	TraceKindBits = 3
)

// TraceEvent is something that a thread did. Its time is that to which the interval before it is counted (Timing).
type TraceEvent struct {
	Ticks uint64 `doc:"of Header.Clock"`
	Value uint32 `doc:"by kind"`
	What  uint32 `doc:"kind, and shifted by TraceKindBits the depth: the number of calls on the stack, with that which begins or ends"`
}

// TraceChunkHead is what a TraceChunk says of itself.
type TraceChunkHead struct {
	State     uint32 `doc:"TraceFree and so on; stored last"`
	Thread    uint32 `doc:"id of the thread"`
	Used      uint32 `doc:"events that are valid; stored with release order"`
	Kept      uint32 `doc:"if events were lost since the chunk before: so many calls were on the stack all the time; else TraceAllKept"`
	Sequence  uint64 `doc:"from 1, in the order in which chunks are taken in the process"`
	Lost      uint64 `doc:"Clock.TraceLost when it was taken"`
	LostTicks uint64 `doc:"if events were lost since the chunk before: the clock at the first of them"`
	Reserved  uint64 `doc:""`
}

// TraceChunk holds some events of one thread, in their order. What the thread has done before and after is in the
// chunks with a smaller and a larger Sequence.
type TraceChunk struct {
	Head   TraceChunkHead               `doc:""`
	Events [TraceChunkEvents]TraceEvent `doc:""`
}

// Activation is a call that has not ended.
type Activation struct {
	CallerSP     uint64 `doc:"stack pointer of the caller after the call"`
	Timing       uint32 `doc:"number (index plus one) of its timing"`
	Flags        uint32 `doc:"ActivationBoundary"`
	Elapsed      uint64 `doc:"Clock.Elapsed when it began"`
	Waited       uint64 `doc:"Clock.Waited when it began"`
	ChildElapsed uint64 `doc:"inclusive elapsed time of the calls that it made and that ended"`
	Acted        uint64 `doc:"Clock.Acted when it began"`
	Calls        uint64 `doc:"Clock.Calls when it began, itself included"`
	Children     uint64 `doc:"calls that it made and that ended"`
}

// ActivationBoundary says that calls inside this one are recorded only if the function called is instrumented itself,
// ActivationTruncated that none are, ActivationDispatching that none are because the runtime looks for the handler of
// an exception, ActivationFolded that this one and those inside it have no timing of their own paths, ActivationPaused
// that a call which began inside this one while nothing was recorded may still run: as ActivationBoundary.
// ActivationJumped says that the function has jumped to another one, which runs in its place.
const (
	ActivationBoundary    = 1
	ActivationTruncated   = 2
	ActivationDispatching = 4
	ActivationFolded      = 8
	ActivationPaused      = 16
	ActivationJumped      = 32
)

// RecordHeader precedes each record of the log.
type RecordHeader struct {
	Size uint32 `doc:"bytes of the record with this header, a multiple of 8"`
	Kind uint32 `doc:"Kind"`
}

// ControlMagic opens the file ControlFile: "CLRCTRL" and a zero byte.
const ControlMagic uint64 = 0x004C525443524C43

// ControlFile lies beside the arenas: the collector writes into it what is to be recorded, all agents read it.
const ControlFile = "control"

// ControlRing is how many changes the file holds, the last ones. A process that makes no event for longer than so many
// changes take does not know of the oldest any more (LossControl): at 1,000 pauses a second that is two seconds.
const ControlRing = 4096

// Levels of control: something is recorded where all three are on.
const (
	LevelGlobal  = 1 // all processes of the session
	LevelProcess = 2
	LevelThread  = 3

	// LevelFunctions is a process again, by what its threads are in: it is suspended and resumed by the functions that
	// limit what is recorded of all its threads, whatever LevelProcess is.
	LevelFunctions = 4
)

// What can be done to a level: it is on when it is started (at first it is) and not suspended more often than resumed.
const (
	ControlStart   = 1
	ControlStop    = 2
	ControlSuspend = 3
	ControlResume  = 4
)

// Points of a function's call at which something is done: before and after it, and at the beginning and the end of the
// function's own code, so that what the call itself is counted in comes between.
const (
	PointBefore = 0
	PointAfter  = 1
	PointTop    = 2
	PointBottom = 3
	Points      = 4
)

// What can be done at functions, as bits of a number. ActionMark and what ActionControl is for a level and an operation
// are followed by a bit for each further point.
const (
	ActionMark    = 0  // + point: mark the moment
	ActionScope   = 4  // a thread is recorded inside of such functions; + 1: outside of them; + 2, + 3: its process is
	ActionControl = 12 // + (3 × (operation - ControlStart) + level - LevelGlobal) × Points + point: change the level
	Actions       = 60
)

// What agents can be asked for, one thing at a time.
const (
	RequestCollect  = 1 // a full garbage collection
	RequestSnapshot = 2 // one, and a snapshot of the heap after it (lifetime)
	RequestDetach   = 3 // the end of the recording: the agent becomes dormant again
)

// ControlHeader is the start of the file; the ring follows at HeaderSize.
type ControlHeader struct {
	Magic     uint64 `doc:"ControlMagic"`
	Changes   uint64 `doc:"how many there have been; the last is at (Changes - 1) modulo ControlRing; stored after it"`
	Stopped   uint32 `doc:"1: LevelGlobal is stopped, after all of them"`
	Suspended uint32 `doc:"how often it is suspended, a signed number"`

	Requests   uint32 `doc:"how often something was asked for; a futex, stored after the next two"`
	Request    uint32 `doc:"RequestCollect and so on"`
	RequestPID uint32 `doc:"of which process, 0: of all"`
	Ready      uint32 `doc:"how often something is about to be recorded again, for which probes have to be in; set before the change"`

	Cuts    uint32 `doc:"how often the collector has read what is counted; a futex, stored after CutNS"`
	Cutting uint32 `doc:"1: marks end slices, and who marks may wait for that"`
	CutNS   uint64 `doc:"what was counted until then is read, CLOCK_MONOTONIC"`
}

// CutWait is how many nanoseconds a thread waits at most for Header.CutNS to be read. A slice that ends later than that
// ends where it was read: what came after the mark can be in it.
const CutWait = 1_000_000_000

// ControlChange is one of the changes.
type ControlChange struct {
	TimeNS uint64 `doc:"CLOCK_MONOTONIC"`
	Level  uint32 `doc:"LevelGlobal and so on"`
	Op     uint32 `doc:"ControlStart and so on"`
	PID    uint32 `doc:"but of LevelGlobal: which process"`
	Origin uint32 `doc:"process id of the agent that made the change itself, 0: the collector"`
	Thread uint32 `doc:"of LevelThread: gettid of the thread"`

	Reserved uint32 `doc:""`
}

// DormantMagic opens the file of a dormant agent: "CLRDORM" and a zero byte.
const DormantMagic uint64 = 0x004D524F44524C43

// DormantPrefix begins the name of that file, which a process has if clrprof can attach to it:
// clrprof-dormant-NAMESPACE-PID. NAMESPACE is the inode of the process's PID namespace, and PID its id there.
const DormantPrefix = "clrprof-dormant-"

// OptionsFile is a file beside the arena in which a collector that attaches says what it wants of calls: variables of
// the agent's as NAME=value, each with a zero byte behind it.
const OptionsFile = "options"

// MaxOptions bounds the bytes of an OptionsFile: patterns are bounded by internal/capture/instrument.
const MaxOptions = 1 << 18

// LoadBytes is how many bytes stand before the path in what an agent is given that is loaded into a process that runs
// (InitializeForAttach): a word with what its first recording is to have, DataMemory and so on; then the folder in
// which it makes its Dormant, as the process sees it, with a zero byte.
const LoadBytes = 4

// MaxDirectory bounds the path of the directory for arenas in a Dormant, with its zero byte.
const MaxDirectory = 2048

// MaxChoice bounds a variable of the agent's that a Dormant has instead, with its zero byte.
const MaxChoice = 16

// What a dormant agent is at.
const (
	DormantWaiting   = 1 // for a collector
	DormantRecording = 2
	DormantLeaving   = 3 // the recording ends
	DormantEnded     = 4 // the process ends
	DormantGone      = 5 // the process goes on, and the runtime has let the agent go
)

// What the end of a recording waits for in the process.
const (
	LeavingCollection = 1 // a last garbage collection
	LeavingThreads    = 2 // the runtime is to stop its threads
	LeavingVisits     = 3 // threads are in the agent
	LeavingCode       = 4 // the runtime takes versions of methods back
)

// Dormant is the file by which a collector and a dormant agent meet. The agent makes it, and holds a lock on it (flock)
// as long as the process runs. A collector locks it as well (fcntl, F_OFD_SETLK), so that there is one at a time,
// writes what it wants and adds to Requests.
type Dormant struct {
	Magic       uint64              `doc:"DormantMagic; stored last"`
	Version     uint32              `doc:"Version"`
	PID         uint32              `doc:"in the process's own namespace"`
	Build       [20]uint8           `doc:"the agent's build id"`
	State       uint32              `doc:"DormantWaiting and so on"`
	Requests    uint32              `doc:"how often a recording was asked for; a futex, stored last"`
	Answered    uint32              `doc:"the last of these that has begun, or could not"`
	Failure     uint32              `doc:"why it could not: Failure"`
	StackDepth  uint32              `doc:"frames kept of one stack"`
	Collector   uint32              `doc:"its process id, in its own namespace"`
	Data        uint32              `doc:"what is wanted: DataMemory, DataLifetime, DataTime; 0: that the agent leaves"`
	MemoryLimit uint64              `doc:"bytes of all tables together"`
	Nodes       uint64              `doc:"of the tree of stacks"`
	Recordings  uint64              `doc:"how many there have been"`
	FinalGC     uint32              `doc:"1: with lifetime, a last collection when the recording ends"`
	First       uint32              `doc:"with lifetime: nothing is recorded after so many collections; 0: without limit"`
	Prepared    uint32              `doc:"with calls: methods that were looked at before it has begun, or taken back when it ends,"`
	ToPrepare   uint32              `doc:"of so many; 0: not known yet"`
	Steps       uint32              `doc:"how often the former two were reported, in all recordings"`
	Leaving     uint32              `doc:"what its end waits for: LeavingCollection and so on; 0: it does not end"`
	Roots       [MaxChoice]uint8    `doc:"CLRPROF_ROOTS; ends with a zero byte"`
	Snapshot    [MaxChoice]uint8    `doc:"CLRPROF_SNAPSHOT; ends with a zero byte"`
	Directory   [MaxDirectory]uint8 `doc:"for the arena, as the process sees it; UTF-8, ends with a zero byte"`
}
