package report

import (
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// Note is what must be said with a table or a summary: what the numbers are of, or what is missing from them. The
// package text has the words.
type Note struct {
	Kind  NoteKind
	Facts []any // numbers, names and quantities, in the order that NoteKind says

	// Estimated says that quantities among Facts are estimates by samples, which the words mark.
	Estimated bool
}

// NoteKind says what a note is about.
type NoteKind string

// The kinds of notes, with their facts.
const (
	NoteAsync              NoteKind = "async"               // async methods are below their callers
	NoteAsyncMethods       NoteKind = "async-methods"       // functions are of some: --async shows who called them
	NotePhysical           NoteKind = "physical"            // the stacks are as they were, for lifetimes are shown
	NoteRaw                NoteKind = "raw"                 // elapsed times hold what the probes added
	NoteDeeper             NoteKind = "deeper"              // Things: the levels that are shown
	NoteSmaller            NoteKind = "smaller"             // percent, and of what
	NoteAges               NoteKind = "ages"                // what the columns of ages are
	NoteAgesWhole          NoteKind = "ages-whole"          // ages are not of the span that is selected
	NoteHotPath            NoteKind = "hot-path"            // by what
	NoteHotWaited          NoteKind = "hot-waited"          // how long entry points waited, past which it goes
	NoteHotPassed          NoteKind = "hot-passed"          // the share of what the hot path goes past, and of what
	NoteBornBetween        NoteKind = "born-between"        // the numbers of two collections
	NoteDiedBetween        NoteKind = "died-between"        // the numbers of two collections
	NoteNoLastGC           NoteKind = "no-last-gc"          // when the living were born is not known
	NoteRecursion          NoteKind = "recursion"           // a function calls itself
	NoteNoLine             NoteKind = "no-line"             // what objects a row of a body has
	NoteBody               NoteKind = "body"                // what time a row of a body has
	NoteUserLines          NoteKind = "user-lines"          // lines have what the framework did for them
	NoteWithoutLine        NoteKind = "without-line"        // the share of bytes
	NoteCallsWithoutLine   NoteKind = "calls-without-line"  // how many calls no line makes
	NoteWithoutInstruction NoteKind = "without-instruction" // the share of time
	NoteUnplacedBytes      NoteKind = "unplaced-bytes"      // the share of bytes
	NoteUnrecorded         NoteKind = "unrecorded"          // how many processes are not recorded, the first ones
	NoteNoneRecorded       NoteKind = "none-recorded"       // what was not recorded, the flags with which it is
	NoteNoneHappened       NoteKind = "none-happened"       // the flags with which it was recorded
	NoteThreads            NoteKind = "threads"             // what threads did that are listed
	NoteTestCases          NoteKind = "test-cases"          // what rows of cases are
	NoteCasesFiltered      NoteKind = "cases-filtered"      // cases are not known of a part
	NoteQuietTests         NoteKind = "quiet-tests"         // tests that allocated nothing are not known
	NoteNoTests            NoteKind = "no-tests"            // no recorded function is a test
	NoteTests              NoteKind = "tests"               // what the row outside of tests is
	NoteSeveralTests       NoteKind = "several-tests"       // what the row of several tests is
	NoteNoEndpoints        NoteKind = "no-endpoints"        // no recorded function answers requests
	NoteEndpoints          NoteKind = "endpoints"           // what the row outside of endpoints is
	NoteSeveralEndpoints   NoteKind = "several-endpoints"   // what the row of several endpoints is
	NoteGroups             NoteKind = "groups"              // what functions are grouped by
	NoteTreeGroups         NoteKind = "tree-groups"         // what the rows of a call tree are instead of functions
	NoteSums               NoteKind = "sums"                // what rows are grouped by
	NoteGCs                NoteKind = "gcs"                 // what the columns of collections are
	NoteSpan               NoteKind = "span"                // what the living of a span are
	NoteImportedGCs        NoteKind = "imported-gcs"        // what the columns of imported collections are
	NoteBackground         NoteKind = "background"          // collections were not in the background
	NoteWholeGCs           NoteKind = "whole-gcs"           // collections are of no part of a process
	NoteAwaitsNoThread     NoteKind = "awaits-no-thread"    // how long async methods awaited in all
	NoteAwaitsUnknown      NoteKind = "awaits-unknown"      // Things: async methods whose awaited time is not known
	NoteAwaitsWhole        NoteKind = "awaits-whole"        // awaited time is of no part of a process
	NoteMore               NoteKind = "more"                // a number of things
	NotePaused             NoteKind = "paused"              // how long nothing was recorded, and of how long
	NotePausedAll          NoteKind = "paused-all"          // how long processes ran, of which nothing was recorded
	NotePausedProcesses    NoteKind = "paused_processes"    // the same, and of how many processes
	NotePausedThreads      NoteKind = "paused-threads"      // a number of threads
	NoteNotProbed          NoteKind = "not-probed"          // a function, and why it has no probes
	NoteSampled            NoteKind = "sampled"             // small objects were sampled: by which session.Sampler
	NoteLargeObjects       NoteKind = "large-objects"       // of objects, only large ones were recorded
	NoteImported           NoteKind = "imported"            // by another tool: with which session.Sampler
	NoteLateCalls          NoteKind = "late-calls"          // methods made at run time may have inlined functions
	NoteInside             NoteKind = "inside"              // patterns; threads in them, how often, and how long
	NoteOutside            NoteKind = "outside"             // the same
	NoteLessWeight         NoteKind = "less-weight"         // a number of findings
	NoteDisabled           NoteKind = "disabled"            // ids of rules
	NoteNotJudged          NoteKind = "not-judged"          // what is needed, and ids of rules
	NoteBottomUp           NoteKind = "bottom-up"           // what the rows of a call tree from below are
	NoteTrimmed            NoteKind = "trimmed"             // percent, and of what
	NoteRooted             NoteKind = "rooted"              // a function
	NoteRootFolded         NoteKind = "root-folded"         // calls without paths, all calls, and their function
	NoteSelection          NoteKind = "selection"           // what analysis says of the part that is shown
	NoteNameType           NoteKind = "name-type"           // an argument tells more
	NoteHeap               NoteKind = "heap"                // a process, a collection, a number of objects, and bytes
	NoteOnlyFinalizer      NoteKind = "only-finalizer"      // a number of objects, and bytes
	NoteOnlyFrozen         NoteKind = "only-frozen"         // a number of objects, and bytes
	NoteNoRoot             NoteKind = "no-root"             // a number of objects, and bytes
	NoteRetained           NoteKind = "retained"            // what is retained
	NoteOfHeap             NoteKind = "of-heap"             // what percentages are of
	NoteWholeHeap          NoteKind = "whole-heap"          // a snapshot is of no part of a process
	NoteHolders            NoteKind = "holders"             // rows below a type are who holds its objects
	NoteHeldBy             NoteKind = "held-by"             // rows of static fields are of the objects that they retain
	NoteNoPath             NoteKind = "no-path"             // a type
	NoteStaticsLeftOut     NoteKind = "statics-left-out"    // a process, and a number of classes
	NoteNoRoots            NoteKind = "no-roots"            // it is not known why objects survived
	NoteSurvived           NoteKind = "survived"            // a collection, its generation, and when it was
	NoteTypePaths          NoteKind = "type-paths"          // what the lines below types are
	NoteWaitsForEnd        NoteKind = "waits-for-end"       // how long the entry point waited
	NoteIdle               NoteKind = "idle-threads"        // how long threads waited for something to do, and a place
	NoteAlive              NoteKind = "alive"               // the living were reachable
	NoteEndingSignal       NoteKind = "ending-signal"       // how long before its end it began, bytes and objects freed
	NoteEndingHost         NoteKind = "ending-host"         // the same
	NoteEndingExit         NoteKind = "ending-exit"         // the same
	NoteEndings            NoteKind = "endings"             // processes; bytes and objects
	NoteNotCollected       NoteKind = "not-collected"       // the living may be garbage
	NoteAliveMostly        NoteKind = "alive-mostly"        // a number of processes of which the living may be garbage
	NoteLeftRunning        NoteKind = "left-running"        // processes
	NoteCutOff             NoteKind = "cut-off"             // the recording did not end
	NoteUnresolved         NoteKind = "unresolved"          // symbols were not resolved
	NoteGoesOn             NoteKind = "goes-on"             // the recording has not ended yet
	NoteCompleting         NoteKind = "completing"          // symbols have not been resolved yet
	NoteSlept              NoteKind = "slept"               // how long
	NoteStolen             NoteKind = "stolen"              // how long, and its share of what the machine wanted
	NoteProbes             NoteKind = "probes"              // memory and times were recorded together
	NoteNoTimes            NoteKind = "no-times"            // the selection is not of times
	NoteGCSpan             NoteKind = "gc-span"             // a process, and collections
	NoteEmbedded           NoteKind = "embedded"            // a file, and why it cannot be read
	NoteEmbeddedInstead    NoteKind = "embedded-instead"    // a file that is not what was compiled
	NoteWithoutText        NoteKind = "without-text"        // a file, and why it cannot be read
	NoteOtherText          NoteKind = "other-text"          // a file that is not what was compiled
	NoteChangedText        NoteKind = "changed-text"        // a file
	NoteLoss               NoteKind = "loss"                // a session.Loss, and the number and name of its process
	NoteFolded             NoteKind = "folded"              // calls without paths, and their share
	// a mode of instrumentation, and whether calls are those that the code names
	NoteRecorded NoteKind = "recorded"
	// how waiting was seen, the least that was, of intervals, and whether system calls were
	NoteWaits       NoteKind = "waits"
	NoteInProcesses NoteKind = "in-processes" // some of the processes, and a note that is of these alone
	NoteChosen      NoteKind = "chosen"       // a *Chosen
)

// The kinds of findings, with their facts.
const (
	FindingNothingChosen NoteKind = "nothing-chosen" // a *Chosen
	FindingNothingMade   NoteKind = "nothing-made"   // likewise, of objects
	FindingNothing       NoteKind = "nothing"        // nothing was recorded
	FindingNothingInside NoteKind = "nothing-inside" // patterns
	FindingAllocations   NoteKind = "allocations"    // the share of bytes, a type, a place; how much of it lives
	FindingIdle          NoteKind = "idle"           // CPU time, and of how long
	// bytes free of how many, GC, bytes in a generation; if it is known, the most that died there of a place, and that
	FindingFragmented NoteKind = "fragmented"
	FindingIdleOrBusy NoteKind = "idle-or-busy" // the same, on a machine that was busy, or may have been
	FindingNative     NoteKind = "native"       // bytes of private memory, of the heap, and of clrprof
	// calls that allocate native memory, a function and a place of them, those that free it, and bytes of private
	// memory
	FindingNativeCalls NoteKind = "native-calls"
	// handles, the share of the heap that they hold, bytes, objects, and bytes, type and place of the largest part
	FindingPinned   NoteKind = "pinned"
	FindingCompiled NoteKind = "compiled" // how long, methods, how long they ran, and processes
	// the share of a heap of which there is a snapshot, bytes, a static field, and what it holds
	FindingHeld NoteKind = "held"
	// the same, with a holder that is no static field; the type of what it holds directly, "" if it is not known; the
	// largest parts; and where a way to that begins, "" if none is known
	FindingHeldOtherwise NoteKind = "held-otherwise"
	// of what, the share, how much, what was done, where, the largest parts; how much of it lives at least, if known
	FindingSpot NoteKind = "spot"
	FindingWork NoteKind = "work" // the share of CPU time, the time, and a place
	// calls, what their probes took, by how much that may be wrong, the CPU time that remains, the function that is
	// called most, and its calls
	FindingUncertain    NoteKind = "uncertain"
	FindingMeasure      NoteKind = "measure"      // the name of a function: how to measure it
	FindingWait         NoteKind = "wait"         // the time, how often, a place, and the share of elapsed time
	FindingCollections  NoteKind = "collections"  // the time of waiting for them, its share; pauses, all, the most
	FindingMostBytes    NoteKind = "most-bytes"   // bytes, their share, a type, and a place: little, but the most
	FindingMostWork     NoteKind = "most-work"    // the share of CPU time, the time, and a place: likewise
	FindingParts        NoteKind = "parts"        // of what, CPU time or bytes, and functions with their shares
	FindingFramework    NoteKind = "framework"    // the share of bytes that no user code called for, and the bytes
	FindingAllCode      NoteKind = "all-code"     // of all code: a share and a type, a share and a function
	FindingAllTypes     NoteKind = "all-types"    // of all code: a share and a type
	FindingInteractions NoteKind = "interactions" // times: all, the recording; calls; a text, its time, a place
	FindingFolded       NoteKind = "folded-work"  // the share of CPU time in calls without paths, and the time
	FindingRule         NoteKind = "rule"         // the title of a rule, what it says, its id, a share, and of what
)

// Things is a number of things.
type Things struct {
	N  int
	Of string // one of them
}

// String writes the number: "1 thread", "1,234 threads".
func (n Things) String() string { return q.Count(n.N).Of(n.Of) }

// List are names.
type List []string

// String writes the names with commas between them.
func (l List) String() string { return strings.Join(l, ", ") }

func note(kind NoteKind, facts ...any) Note { return Note{Kind: kind, Facts: facts} }

// note adds what is said before the table.
func (b *builder) note(kind NoteKind, facts ...any) {
	b.table.Notes = append(b.table.Notes, note(kind, facts...))
}

// next adds what is said after it: what is hidden, and what to try.
func (b *builder) next(kind NoteKind, facts ...any) {
	b.table.Next = append(b.table.Next, note(kind, facts...))
}
