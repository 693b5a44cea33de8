package session

import q "github.com/clrprof/clrprof/internal/quantity"

// How a process ended.
const (
	EndExited  = "exited"  // the runtime shut down
	EndDied    = "died"    // ended without the runtime's shutdown: killed, crashed
	EndRunning = "running" // was still running when the recording ended
	EndUnknown = "unknown" // was imported from a file that does not say
)

// Process is a row of the table process.
type Process struct {
	ID             ProcessID
	PID            int64
	ParentPID      int64
	Name           string // the managed program if known, else the executable
	Path           string
	Arguments      string // JSON array of strings
	RuntimeVersion string
	Begin, End     q.Nanoseconds
	EndState       string
	AgentBytes     q.Bytes
	AgentPrivate   q.Bytes // of these, a part of the process's own memory
	// methods that were compiled while the program ran, those that were compiled once more in the background, and those
	// of which nothing is known
	Compiled       q.Count
	CompiledTime   q.Nanoseconds
	Recompiled     q.Count
	RecompiledTime q.Nanoseconds
	CompiledMissed q.Count
	Sampler        string // how small objects were sampled: a Sampler; "": all that is recorded is counted
}

// Thread is a row of the table thread.
type Thread struct {
	ID         ThreadID
	Process    ProcessID
	OSID       int64
	Name       string
	Begin, End q.Nanoseconds
}

// ThreadSet is a row of the table thread_set: a row of the table thread that stands for several.
type ThreadSet struct {
	Thread  ThreadID
	Threads q.Count
	Name    string // of each of them
}

// ThreadScope is a row of the table thread_scope: how often and how long a thread was in functions that limit what is
// recorded.
type ThreadScope struct {
	Thread          ThreadID
	Inside, Outside Spells // calls of functions of --record-inside and of --record-outside
}

// Spells are spans of time in which at least one call of some functions was on a thread's stack.
type Spells struct {
	Times  q.Count
	Length q.Nanoseconds // of all of them, pauses included
}

// TestCase is a row of the table test_case: the calls of a test with equal arguments.
type TestCase struct {
	Function  FunctionID
	Arguments string  // as in C#, separated by commas
	Number    int64   // 0; if not all arguments are known: which of the calls with what is known
	Calls     q.Count // that ended
	Amount    q.Amount
}

// Kinds of an Interaction.
const (
	InteractionDatabase = "database" // a command of System.Data.Common.DbCommand
	InteractionHTTP     = "http"     // a request of System.Net.Http
)

// Interaction is a row of the table interaction: the calls of one kind, with one text, from one stack.
type Interaction struct {
	ID              InteractionID
	Process         ProcessID
	Kind            string
	Text            string
	HasText         bool               // false: there was no room for it
	Stack           InteractionStackID // 0: it is not known
	Calls           q.Count            // that began
	Ended           q.Count
	Failed          q.Count       // of those that ended: by an exception, or their task failed or was cancelled
	Unwaited        q.Count       // of those that ended: the time lacks what their task took after they had returned it
	Total, Min, Max q.Nanoseconds // of those that ended
}

// InteractionFrame is a row of the table interaction_frame: a function on the stack of a caller.
type InteractionFrame struct {
	Stack       InteractionStackID
	Depth       int64 // 0: the function that made the call
	Function    FunctionID
	Instruction InstructionID
}

// What was found as the symbols of a module.
const (
	SymbolsFile       = "file"       // a portable PDB beside the module
	SymbolsEmbedded   = "embedded"   // a portable PDB inside the module
	SymbolsNone       = "none"       // there are none
	SymbolsMismatch   = "mismatch"   // a PDB of another build
	SymbolsUnreadable = "unreadable" // damaged, or another format
)

// Module is a row of the table module. Symbols, SymbolsPath and Origin are resolved.
type Module struct {
	ID          ModuleID
	Process     ProcessID
	Name        string
	Path        string
	MVID        string
	IsDynamic   bool
	Symbols     string
	SymbolsPath string
	Origin      string // resolved: whose code it is, a value of usercode.Origin; "": not decided
}

// What a type is.
const (
	TypeClass   = "class" // also value types
	TypeArray   = "array"
	TypeOther   = "other"
	TypeUnknown = "unknown"
)

// What a class is by what it extends.
const (
	TraitValue     = "value"     // a value type: an object of it is a box
	TraitException = "exception" // extends System.Exception
	TraitDelegate  = "delegate"
	TraitFinalizer = "finalizer" // it, or a type that it extends, has a finalizer
)

// Type is a row of the table type. Name and Trait are resolved.
type Type struct {
	ID          TypeID
	Process     ProcessID
	Module      ModuleID
	Token       Token
	Kind        string
	Rank        int64
	Bounds      bool // of rank 1, but with a lower bound: int[*]
	ElementType TypeID
	ElementCode int64
	RawName     string
	Name        string
	Trait       string // one of the traits, "" if none is known
}

// TypeArgument is a row of the table type_argument.
type TypeArgument struct {
	Type     TypeID
	Position int64
	Argument TypeID
}

// What a function is.
const (
	FunctionMethod  = "method"
	FunctionDynamic = "dynamic"
	// without IL: of a native library (DllImport), or made by the runtime (UnsafeAccessor). It is nobody's code.
	FunctionExtern = "extern"
	FunctionPseudo = "pseudo" // not a method: (truncated), (garbage collection), (no managed frame)

	// NameTruncated is the name of the pseudo function that stands for what has no path of its own: frames beyond the
	// stack depth that is kept, and calls beyond the paths that are.
	NameTruncated = "(truncated)"
	// NameExcluded is the name of the pseudo function that stands for what functions did that are not recorded, and
	// that no recorded function called.
	NameExcluded = "(excluded)"

	// NameCollection is the name of the pseudo function whose time is that of garbage collections for which threads
	// waited: nobody calls it, and it is below the call in which the wait came.
	NameCollection = "(garbage collection)"

	// NameFolded is the name of the pseudo function whose node is the root of folded calls: calls that have no path and
	// are counted by caller and function. They are below it, and no view shows it.
	NameFolded = "(folded)"

	// NameDamaged is the name of the pseudo function, and of the thread, that stand for those that a damaged recording
	// does not describe.
	NameDamaged = "(damaged)"
)

// RouteSeparator is between several routes of a function.
const RouteSeparator = ", "

// Function is a row of the table function. Name, File, Line, Test and Route are resolved.
type Function struct {
	ID        FunctionID
	Process   ProcessID
	Module    ModuleID
	Token     Token
	Type      TypeID
	Kind      string
	RawType   string
	RawName   string
	Signature []byte
	Name      string
	File      FileID
	Line      int64
	// Test is the attribute that makes it, or the method that it is the state machine of, a test; "": it is none.
	Test string
	// Route is that of the requests which it, or the method that it is the state machine of, answers, such as
	// "GET /orders/{id}"; several have RouteSeparator between them; "": none is known.
	Route string
	// ILHash is the number of instructions of the code of a function of user code, and a hash of them that stays the
	// same in another build and under another name; "": it is not known.
	ILHash string
}

// FunctionArgument is a row of the table function_argument.
type FunctionArgument struct {
	Function FunctionID
	Position int64
	Argument TypeID
}

// Body is a row of the table body. ILMap is as EncodeILMap makes it.
type Body struct {
	ID       BodyID
	Function FunctionID
	Address  Address
	Size     int64
	ILMap    []byte
}

// Instruction is a row of the table instruction. ILOffset and Line are resolved;
// ILOffset is -1 when unknown.
type Instruction struct {
	ID           InstructionID
	Function     FunctionID
	Body         BodyID
	Address      Address
	NativeOffset int64
	ILOffset     int64
	Line         LineID
}

// Node is a row of the table node.
type Node struct {
	ID          NodeID
	Parent      NodeID
	Process     ProcessID
	Function    FunctionID
	Instruction InstructionID
}

// Site is a row of the table site.
type Site struct {
	ID     SiteID
	Thread ThreadID
	Node   NodeID
	Type   TypeID
	Frozen bool
	Weight uint32 // objects that each sample of it stands for; 0: its objects were counted
}

// Slice is a row of the table slice.
type Slice struct {
	ID         SliceID
	Begin, End q.Nanoseconds
}

// SiteValue is a row of the table site_value.
type SiteValue struct {
	Slice SliceID
	Site  SiteID
	q.Amount
}

// Loss is a row of the table loss.
type Loss struct {
	Process ProcessID
	Reason  string
	Events  q.Count
	q.Amount
}

// SourceFile is a row of the table source_file.
type SourceFile struct {
	ID   FileID
	Path string
}

// Line is a row of the table line.
type Line struct {
	ID          LineID
	Function    FunctionID
	File        FileID
	LineBegin   int64
	ColumnBegin int64
	LineEnd     int64
	ColumnEnd   int64
}

// ParamsArray is a row of the table params_array: all arrays or collections of a type that the code of a line makes
// itself are made for parameters that are declared with params; also the array of a list.
type ParamsArray struct {
	Function FunctionID
	Line     LineID // 0: on whichever line of the function, for objects whose line is not known
	Type     TypeID
}

// PathValue is a row of the table path_value.
type PathValue struct {
	ID       PathID
	Parent   PathID
	Level    int64
	Process  ProcessID
	Function FunctionID
	q.Amounts
}

// CallValue is a row of the table call_value. Caller is 0 where the callee was a root.
type CallValue struct {
	Caller FunctionID
	Callee FunctionID
	q.Amounts
}

// FunctionValue is a row of the table function_value.
type FunctionValue struct {
	Function FunctionID
	q.Amounts
}

// ModuleValue is a row of the table module_value.
type ModuleValue struct {
	Module ModuleID
	q.Amounts
}

// LineValue is a row of the table line_value.
type LineValue struct {
	Line LineID
	q.Amount
}

// InstructionValue is a row of the table instruction_value.
type InstructionValue struct {
	Instruction InstructionID
	q.Amount
}

// TypeValue is a row of the table type_value; Allocations are its instances.
type TypeValue struct {
	Type TypeID
	q.Amount
}

// TypePath is a row of the derived table type_path.
type TypePath struct {
	Type     TypeID
	Position int64
	Function FunctionID
	Times    int64
	Bytes    q.Bytes
}

// Parts of a session in CauseTotal.
const (
	PartUserCode = "user_code"
	PartOutside  = "outside"
)

// CauseTotal is a row of the derived table cause_total.
type CauseTotal struct {
	Part   string
	Causes q.Count
	q.Amount
}

// Cause is a row of the derived table cause.
type Cause struct {
	Position     int64
	Type         TypeID
	FromFunction FunctionID
	FromLine     LineID
	Function     FunctionID
	q.Amount
}

// RuleJudged is a row of the derived table rule_judged.
type RuleJudged struct {
	Rule    string
	Edition int64
	Hidden  int64
}

// Finding is a row of the derived table finding; Allocations are objects.
type Finding struct {
	Position     int64
	Rule         string
	FromFunction FunctionID
	FromLine     LineID
	Function     FunctionID
	Type         TypeID
	q.Amount
	Calls  q.Count
	Waited q.Nanoseconds
	Waits  q.Count
	Text   string
	OfType q.Amount // of these: of Type
}

// ThreadValue is a row of the table thread_value.
type ThreadValue struct {
	Thread ThreadID
	q.Amount
}

// ProcessValue is a row of the table process_value.
type ProcessValue struct {
	Process ProcessID
	q.Amount
}

// Derived holds the rows of all derived tables, each in the order of its key.
type Derived struct {
	Paths        []PathValue
	Calls        []CallValue
	Functions    []FunctionValue
	Modules      []ModuleValue
	Lines        []LineValue
	Instructions []InstructionValue
	Types        []TypeValue
	Threads      []ThreadValue
	Processes    []ProcessValue

	ProcessDeaths   []ProcessDeath
	SummarySections []SummarySection
	SummarySites    []SummarySite

	CauseTotals []CauseTotal
	Causes      []Cause
	TypeDeaths  []TypeDeath

	TypeLifetimes     []TypeLifetime
	FunctionLifetimes []FunctionLifetime

	TypePaths   []TypePath
	RulesJudged []RuleJudged
	Findings    []Finding

	PathTimes        []PathTime
	CallTimes        []CallTime
	FunctionTimes    []FunctionTime
	Awaits           []FunctionAwait
	ModuleTimes      []ModuleTime
	LineTimes        []LineTime
	InstructionTimes []InstructionTime
	ThreadTimes      []ThreadTime
	ProcessTimes     []ProcessTimeValue
	UserTimes        []UserTime
}
