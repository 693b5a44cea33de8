package wire

// Kind says what a record of the log is.
type Kind uint32

// The kinds.
const (
	KindModule     Kind = 1
	KindType       Kind = 2
	KindFunction   Kind = 3
	KindBody       Kind = 4
	KindThread     Kind = 5
	KindThreadEnd  Kind = 6
	KindThreadName Kind = 7
	KindProcess    Kind = 8
	KindGC         Kind = 9
	KindAlive      Kind = 10
	KindWhy        Kind = 11
	KindRoots      Kind = 12
	KindChanges    Kind = 13
	KindControl    Kind = 14
	KindMark       Kind = 15
	KindCallee     Kind = 16

	KindFunctionMark Kind = 17
	KindRequestMark  Kind = 22
	KindProcessName  Kind = 18
	KindNotProbed    Kind = 19
	KindCollection   Kind = 20

	KindInteractionText Kind = 21

	KindMeterCounter Kind = 23
	KindMeterState   Kind = 24

	KindGCCaller Kind = 25
	KindTestCase Kind = 26

	KindFreed Kind = 27

	lastKind = KindFreed
)

// Module is a loaded module.
type Module struct {
	ID    uint32   `doc:"from 1"`
	Flags uint32   `doc:"ModuleDynamic, and an Origin"`
	MVID  [16]byte `doc:"GUID in memory order, zero if unknown"`
	Path  string   `doc:"file, empty if none"`
	Name  string   `doc:"scope name from metadata"`
}

// Type is a type that was allocated, or is part of one. A later record with the same id replaces an earlier one:
// the runtime could not name the type at first.
type Type struct {
	ID          uint32   `doc:"from 1"`
	Module      uint32   `doc:"id of the module, 0 if unknown"`
	Token       uint32   `doc:"TypeDef"`
	Kind        uint32   `doc:"TypeUnknown, TypeClass, TypeArray, TypeOther"`
	Rank        uint32   `doc:"of an array"`
	Bounds      uint32   `doc:"1: a general array of rank 1, int[*], which may have a lower bound"`
	Element     uint32   `doc:"id of an array's element type, 0 if unknown"`
	ElementCode uint32   `doc:"CorElementType of an array's element, ECMA-335 II.23.1.16"`
	Arguments   []uint32 `doc:"ids of the type arguments, 0 if unknown"`
	Names       []string `doc:"as in metadata, outermost type first"`
}

// Function is a method that was on a stack.
type Function struct {
	ID        uint32   `doc:"from 1"`
	Module    uint32   `doc:"id of the module, 0 if unknown"`
	Token     uint32   `doc:"MethodDef"`
	Type      uint32   `doc:"id of the exact declaring type, 0 if the runtime shares the code between several"`
	Flags     uint32   `doc:"FunctionDynamic"`
	Arguments []uint32 `doc:"ids of the type arguments of a generic method"`
	TypeNames []string `doc:"declaring type as in metadata, outermost first"`
	Name      string   `doc:"as in metadata"`
	Signature []byte   `doc:"ECMA-335 II.23.2.1"`
}

// Callee is a function as code that calls it declares it: what probes around a call know of it. It has an id like a
// Function, and the runtime was not asked which one it is.
type Callee struct {
	ID        uint32   `doc:"from 1, one of the functions'"`
	Module    uint32   `doc:"id of the calling code's module"`
	Token     uint32   `doc:"MethodDef or MemberRef of that module"`
	Boxes     uint32   `doc:"1: the calling code itself may allocate within the call, a box for it; known with memory"`
	Assembly  string   `doc:"simple name of the assembly that is named, empty: that of the module"`
	TypeNames []string `doc:"declaring type as in metadata, outermost first"`
	Name      string   `doc:"as in metadata"`
	Signature []byte   `doc:"ECMA-335 II.23.2.1, with tokens of the module"`
}

// Range is a span of native code.
type Range struct {
	Address uint64 `doc:"first byte"`
	Size    uint64 `doc:"bytes"`
}

// ILPoint says which IL a span of native code comes from.
type ILPoint struct {
	Native uint32 `doc:"offset from the start of the body"`
	IL     uint32 `doc:"IL offset, or 0xFFFFFFFF none, 0xFFFFFFFE prolog, 0xFFFFFFFD epilog"`
}

// Body is one native compilation of a function.
type Body struct {
	ID       uint32    `doc:"from 1"`
	Function uint32    `doc:"id of the function"`
	Ranges   []Range   `doc:"hot code first"`
	Map      []ILPoint `doc:"in the runtime's order"`
}

// Thread is a thread that allocated.
type Thread struct {
	ID      uint32 `doc:"from 1"`
	OSID    uint32 `doc:"gettid"`
	Managed uint64 `doc:"the runtime's ThreadID, 0 if it had none"`
	BeginNS uint64 `doc:"CLOCK_MONOTONIC of its first allocation"`
}

// ThreadEnd says that the runtime destroyed a thread; its ThreadID may be used again.
type ThreadEnd struct {
	Managed uint64 `doc:"ThreadID"`
	EndNS   uint64 `doc:"CLOCK_MONOTONIC"`
}

// ThreadName is a name that the program gave to a thread.
type ThreadName struct {
	Managed uint64 `doc:"ThreadID"`
	Name    string `doc:""`
}

// Process is what the kernel says of the process; first in the log.
type Process struct {
	Executable  []byte `doc:"target of /proc/self/exe"`
	CommandLine []byte `doc:"/proc/self/cmdline: arguments, each ended by a zero byte; cut at 64 KiB"`
}

// GCGeneration is what a garbage collection found in one generation.
type GCGeneration struct {
	Before   Population `doc:"objects in it at the start"`
	Dead     Population `doc:"of these, if it was collected: not survivors"`
	Promoted Population `doc:"of the survivors: in a higher generation at the end"`
	After    Population `doc:"objects in it at the end"`
	Freed    Population `doc:"of the dead: they were alive when the program began to end (Header.EndingGC); no death of a site"`
	Extent   uint64     `doc:"bytes of its memory at the end, from where it begins up to the end of its last object: objects, and what is free between them; 0: not known"`
}

// Population is a number of objects and their heap bytes.
type Population struct {
	Objects uint64 `doc:""`
	Bytes   uint64 `doc:""`
}

// GC is a garbage collection that ended.
type GC struct {
	Number      uint32                        `doc:"from 1"`
	Collected   uint32                        `doc:"bit n: generation n was collected"`
	Induced     uint32                        `doc:"1: asked for by the program, or by the agent at the end"`
	Finalizable uint32                        `doc:"objects in the queue of the finalizer; after the last GC: those that would be, and count as dead"`
	Pinned      uint32                        `doc:"objects that a root pins"`
	Since       uint32                        `doc:"Changes with this number say what changed since the GC with this one, 0: since the start; the own number: none do, a later one's will"`
	SuspendNS   uint64                        `doc:"CLOCK_MONOTONIC when the runtime began to stop threads, 0 if it did not say"`
	StartNS     uint64                        `doc:"CLOCK_MONOTONIC at GarbageCollectionStarted"`
	EndNS       uint64                        `doc:"CLOCK_MONOTONIC at GarbageCollectionFinished, before the agent's own work"`
	DoneNS      uint64                        `doc:"CLOCK_MONOTONIC after the agent's own work"`
	Generations [GenerationCount]GCGeneration `doc:"by generation"`
}

// GCCaller is who asked for a garbage collection (GC.Induced): the stack of the thread that made it. It comes after the
// collection's own record. Of one without it, as with server GC, that is not known.
type GCCaller struct {
	GC   uint32 `doc:"its number"`
	Node uint32 `doc:"id of the node"`
}

// Alive is how many objects of a site, born between the same two GCs, are in a generation after the last GC, which the
// agent asks for at the end, or after the one at which the program began to end (Header.EndingGC). If there is such a
// one, those of the last GC are the others.
type Alive struct {
	Site       uint32     `doc:"number of the site: its index plus one"`
	Generation uint32     `doc:""`
	Born       uint32     `doc:"GCs before their birth"`
	Beginning  uint32     `doc:"number of the GC if it is the one at which the program began to end, 0: it is the last one"`
	Objects    Population `doc:""`
}

// Why is for what reasons objects of a site survived a GC; written for the GCs whose roots are looked at.
type Why struct {
	GC          uint32     `doc:"its number"`
	Site        uint32     `doc:"number of the site: its index plus one"`
	Uncollected Population `doc:"in a generation that was not collected"`
	Rooted      Population `doc:"of a collected generation, and a root refers to them"`
	Reachable   Population `doc:"of a collected generation, and only other objects refer to them"`
}

// Roots is how many root references of one kind refer to objects of a site in a GC.
type Roots struct {
	GC         uint32 `doc:"its number"`
	Site       uint32 `doc:"number of the site: its index plus one"`
	Kind       uint32 `doc:"COR_PRF_GC_ROOT_KIND: 0 other, 1 stack, 2 finalizer, 3 handle"`
	Flags      uint32 `doc:"COR_PRF_GC_ROOT_FLAGS: 1 pinning, 2 weak, 4 interior, 8 ref-counted"`
	Function   uint32 `doc:"of stack roots: id of the function, 0 if it is not known"`
	Reserved   uint32 `doc:""`
	References uint64 `doc:"how many"`
}

// Changes are counters of sites that changed, as they were at the end of a GC. They come before the GC's own record, in
// as many parts as it takes. What did not change may be reported too.
type Changes struct {
	GC      uint32   `doc:"its number"`
	Changes []Change `doc:"in no order"`
}

// Change is one counter of a site.
type Change struct {
	Site    uint32     `doc:"number of the site: its index plus one"`
	Counter uint32     `doc:"dead, by generation, or ChangeAllocated"`
	Objects Population `doc:"since the start"`
}

// Freed is what sites freed since the GC at which the program began to end (Header.EndingGC), as of a later GC. Its
// counters are like those of Changes, but are no deaths; if the program did not end, they become some after all.
type Freed struct {
	Beginning uint32   `doc:"number of the GC at which the program began to end"`
	Freed     []Change `doc:"in no order; the counter is the generation"`
}

// Control is a change of what is recorded that the program itself made.
type Control struct {
	TimeNS uint64 `doc:"CLOCK_MONOTONIC"`
	Level  uint32 `doc:"LevelGlobal and so on"`
	Op     uint32 `doc:"ControlStart and so on"`
	Thread uint32 `doc:"id of the thread that made it, and of LevelThread: which it is about; 0: it had no id"`
	First  uint32 `doc:"0: the program made it; else it was made after so many collections, CLRPROF_RECORD_FIRST"`
}

// Mark is a moment that the program itself marked.
type Mark struct {
	TimeNS uint64 `doc:"CLOCK_MONOTONIC"`
	Thread uint32 `doc:"id of the thread, 0: it had none"`
	Number uint32 `doc:"a signed number that the program gave it"`
	Name   string `doc:""`
	Text   string `doc:""`
}

// FunctionMark is a moment that was marked at a point of a function's call (--mark-at).
type FunctionMark struct {
	TimeNS   uint64 `doc:"CLOCK_MONOTONIC"`
	Thread   uint32 `doc:"id of the thread, 0: it had none"`
	Function uint32 `doc:"id of the function, or of one with other type arguments"`
	Point    uint32 `doc:"PointBefore and so on"`
	Reserved uint32 `doc:""`
}

// RequestMark is a moment at which an endpoint of ASP.NET Core was chosen for a request (--mark-requests).
type RequestMark struct {
	TimeNS   uint64 `doc:"CLOCK_MONOTONIC"`
	Thread   uint32 `doc:"id of the thread, 0: it had none"`
	Reserved uint32 `doc:""`
	Name     string `doc:"of the endpoint, at most MaxName UTF-16 units"`
}

// TestCase is a call of a test with arguments, at its end (--test-cases): what its thread allocated from its begin on.
type TestCase struct {
	Function  uint32 `doc:"id of the function"`
	Reserved  uint32 `doc:""`
	Objects   uint64 `doc:"objects"`
	Bytes     uint64 `doc:"their heap bytes"`
	Arguments []byte `doc:"of each its CorElementType, ECMA-335 II.23.1.16, and if that is a number, a boolean or a character, its value; if it is a string, its length, 0xFFFFFFFF for null, and its UTF-16 units. 0xFF: there were more"`
}

// ProcessName is a name that the program gave its process. The last one holds.
type ProcessName struct {
	Name string `doc:""`
}

// NotProbed is a function that should have probes, and has none.
type NotProbed struct {
	Function uint32 `doc:"id of the function"`
	Reason   uint32 `doc:"enum il_result of the rewriter (agent/src/il/il.h), or NotProbedSignature and so on"`
}

// Collection says that a garbage collection began or ended, with a call trace and without lifetime. A collection in the
// background ends long after it began, others begin and end within it, and of one that begins with a small collection
// the runtime reports one beginning and two ends.
type Collection struct {
	TimeNS    uint64 `doc:"CLOCK_MONOTONIC"`
	Thread    uint32 `doc:"id of the thread, 0: it has none"`
	Collected uint32 `doc:"bit n: generation n is collected; 0: a collection ended"`
	Induced   uint32 `doc:"1: asked for by the program"`
	Reserved  uint32 `doc:""`
}

// InteractionText is what was sent: a command, or the method and address of a request.
type InteractionText struct {
	ID   uint32 `doc:"from 1"`
	Cut  uint32 `doc:"1: there was more"`
	Text string `doc:"at most MaxInteractionText UTF-16 units"`
}

// MeterCounter is an instrument of a meter with one set of tags.
type MeterCounter struct {
	ID          uint32 `doc:"from 1"`
	Kind        uint32 `doc:"MeterAdded and so on"`
	Whole       uint32 `doc:"1: its numbers are int64, 0: float64"`
	Reserved    uint32 `doc:""`
	Meter       string `doc:"all of these: at most MaxName UTF-16 units"`
	Instrument  string `doc:""`
	Unit        string `doc:"as the program says"`
	Description string `doc:"the same"`
	Tags        string `doc:"NAME=VALUE, separated by commas, in the order of names"`
}

// MeterState is what became of the code that listens to meters. The last one holds.
type MeterState struct {
	State    uint32 `doc:"MeterOldRuntime and so on"`
	Reserved uint32 `doc:""`
}

// Records lists one value of each kind, for documentation and for tests.
func Records() map[Kind]any {
	return map[Kind]any{
		KindModule: Module{}, KindType: Type{}, KindFunction: Function{}, KindCallee: Callee{}, KindBody: Body{},
		KindThread: Thread{}, KindThreadEnd: ThreadEnd{}, KindThreadName: ThreadName{},
		KindProcess: Process{}, KindGC: GC{}, KindAlive: Alive{}, KindWhy: Why{}, KindRoots: Roots{},
		KindChanges: Changes{}, KindControl: Control{}, KindMark: Mark{}, KindFunctionMark: FunctionMark{},
		KindRequestMark: RequestMark{}, KindTestCase: TestCase{},
		KindProcessName: ProcessName{},
		KindNotProbed:   NotProbed{},
		KindCollection:  Collection{}, KindInteractionText: InteractionText{}, KindMeterCounter: MeterCounter{},
		KindMeterState: MeterState{}, KindGCCaller: GCCaller{},
		KindFreed: Freed{},
	}
}
