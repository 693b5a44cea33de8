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
)

// Failure is why Initialize gave up.
type Failure uint32

// The failures.
const (
	FailureNone        Failure = 0
	FailureOldRuntime  Failure = 1 // the runtime lacks ICorProfilerInfo9 (before .NET Core 2.2)
	FailureEventMask   Failure = 2 // SetEventMask2 was refused
	FailureOutOfMemory Failure = 3 // the agent's first tables could not be made
)

// Region names one of the parts of an arena behind the header.
type Region uint32

// The regions, in the order in which they lie in the file.
const (
	RegionLog   Region = 0
	RegionIPs   Region = 1
	RegionNodes Region = 2
	RegionSites Region = 3
	RegionFates Region = 4 // by site, with lifetime only
	RegionAges  Region = 5 // of sites whose objects survived at least one GC, with lifetime only

	RegionCount = 6
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
	LossLifetimeFull   Loss = 6 // the memory limit was reached: the fate of these objects is not followed (lifetime)
	LossMoves          Loss = 7 // a GC whose survivors could not all be noted: from it on no fate is followed (lifetime)
	LossSnapshot       Loss = 8 // the heap snapshot could not be written: no room on its file system (lifetime)

	LossCount = 9
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
)

// MaxILMap bounds the IL map of one body: 4096 entries are a method of about 40 KB of IL.
const MaxILMap = 4096

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
	IPManaged   = 1 // inside a managed body; otherwise native code
	IPFrameless = 2 // its function has no frame pointer
	IPOSR       = 4 // in an OSR variant: its frame lies on that of the first version of the same call
	IPSignal    = 8 // the kernel returns there after a signal handler: the interrupted registers lie above it
)

// Flags of a module record.
const (
	ModuleDynamic = 1 // no file: Reflection.Emit, Load(byte[]), or the runtime's own dynamic methods
)

// Flags of a function record.
const (
	FunctionDynamic = 1 // a DynamicMethod or IL stub: it has only a name
)

// Kinds of a type record.
const (
	TypeUnknown = 0 // the runtime could not tell
	TypeClass   = 1 // has a TypeDef token and perhaps type arguments
	TypeArray   = 2 // rank and element
	TypeOther   = 3 // pointer, by-ref, type variable
)

// SiteFrozen is added to a site's type when its objects are on the frozen heap.
const SiteFrozen = 1 << 31

// RegionEntry tells where a region is.
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
	Threads       uint32                   `doc:"threads that have allocated"`
	Data          uint32                   `doc:"DataMemory and so on"`
	Collections   uint32                   `doc:"garbage collections that ended"`
	AliveKnown    uint32                   `doc:"1: the last GC said what is alive (Alive)"`
	Reserved      uint32                   `doc:""`
	StartNS       uint64                   `doc:"CLOCK_MONOTONIC when the agent was loaded"`
	EndNS         uint64                   `doc:"CLOCK_MONOTONIC at the runtime's shutdown, 0 before"`
	MemoryLimit   uint64                   `doc:"bytes that all regions and private tables may have"`
	SharedBytes   uint64                   `doc:"bytes of memory behind the regions"`
	PrivateBytes  uint64                   `doc:"bytes of the agent's private tables"`
	Regions       [RegionCount]RegionEntry `doc:"by Region"`
	Losses        [LossCount]LossEntry     `doc:"by Loss"`
}

// IP is a return address that was seen on a stack.
type IP struct {
	Address   uint64 `doc:"the return address"`
	Body      uint32 `doc:"id of the body around it, 0 for native code"`
	Function  uint32 `doc:"id of the function"`
	FrameSize uint32 `doc:"bytes between the stack pointer and the return address of the function"`
	Flags     uint32 `doc:"IPManaged, IPFrameless, IPOSR, IPSignal"`
}

// Node is a place in the calling-context tree. The last four fields are how the agent finds children and sites; they
// change while it runs, and a reader has no use for them.
type Node struct {
	Parent   uint32 `doc:"id of the parent node; always smaller than the node's own"`
	IP       uint32 `doc:"id of the IP"`
	Child    uint32 `doc:"id of the newest child"`
	Sibling  uint32 `doc:"id of the parent's child before this one"`
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

// Fate is what became of the objects of the site with the same index. What is not dead is alive.
type Fate struct {
	DeadObjects [GenerationCount]uint64 `doc:"by the generation in which they were when they were found dead"`
	DeadBytes   [GenerationCount]uint64 `doc:"their heap bytes"`
	Ages        uint32                  `doc:"number (index plus one) of the site's Ages, 0: all of the dead survived no GC"`
	Reserved    uint32                  `doc:""`
}

// Buckets of ages.
const (
	AgeGCBuckets   = 8 // 0, 1, 2, 3–4, 5–8, 9–16, 17–64, 65 and more GCs survived
	AgeTimeBuckets = 8 // less than 1 ms, 10 ms, 100 ms, 1 s, 10 s, 100 s, 1000 s, more
)

// Ages is how old the dead objects of a site became. Bucket 0 of both holds only those that are counted here: all that
// survived no GC are Fate's objects less the sums of these.
type Ages struct {
	ByCollections [AgeGCBuckets]uint64   `doc:"by the number of GCs that they survived"`
	ByTime        [AgeTimeBuckets]uint64 `doc:"by the time from the end of the first GC that they survived to the end of the one that found them dead"`
}

// RecordHeader precedes each record of the log.
type RecordHeader struct {
	Size uint32 `doc:"bytes of the record with this header, a multiple of 8"`
	Kind uint32 `doc:"Kind"`
}
