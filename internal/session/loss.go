package session

// Reasons of losses. docs/session.md lists them.
const (
	LossArenaFull      = "arena_full"
	LossNoThreadState  = "no_thread_state"
	LossReentered      = "reentered"
	LossILMapTruncated = "il_map_truncated"
	LossNameTruncated  = "name_truncated"
	LossStackTruncated = "stack_truncated"
	LossTypeUnknown    = "type_unknown"
	LossUntracked      = "untracked"
	LossLifetimeFull   = "lifetime_full"
	LossMoves          = "moves_lost"
	LossGCCut          = "gc_cut"
	LossSnapshot       = "snapshot"
	LossChanges        = "changes_lost"
	LossSurvivors      = "survivors_lost"
	LossUnreported     = "unreported"
	LossThreadsFolded  = "threads_folded"
	LossStacks         = "stacks_lost"
	LossAges           = "ages_lost"
	LossControl        = "control_late"
	LossMarks          = "marks_lost"
	LossCounters       = "counters_lost"
)

// Reasons of losses of time. Their events are calls, intervals or functions: see Loss.Unit.
const (
	LossCallsFolded    = "calls_folded"
	LossCallsUnmatched = "calls_unmatched"
	LossCallsCut       = "calls_cut"
	LossCallsJumped    = "calls_jumped"
	LossWaits          = "waits_lost"
	LossClockBackwards = "clock_backwards"
	LossNotHooked      = "not_hooked"
	LossAsyncNotHooked = "async_not_hooked"
	LossNotProbed      = "not_probed"
)

// Reasons why nothing of a process was recorded although its runtime loaded the agent.
const (
	LossNoFile         = "no_file"
	LossNoSpace        = "no_space"
	LossNoAddressSpace = "no_address_space"
	LossNoMemory       = "no_memory"
	LossOldRuntime     = "old_runtime"
	LossRefused        = "profiler_refused"
	LossNotRecorded    = "not_recorded"
)

// lossMeanings say what a reason means, and whether its allocations are missing from
// the values or only less exact.
var lossMeanings = map[string]struct {
	text    string
	missing bool
}{
	LossArenaFull:      {"the agent's memory limit (--memory-limit) or the space of /dev/shm was reached", true},
	LossNoThreadState:  {"there was no memory for a thread's tables", true},
	LossReentered:      {"they happened inside the agent's own calls into the runtime", true},
	LossILMapTruncated: {"a method is so long that its last lines are not known", false},
	LossNameTruncated:  {"a name is so long that it was cut", false},
	LossStackTruncated: {"their stacks are deeper than --max-stack-depth, or there was no memory for more of them; " +
		"their callers are shown as (truncated)", false},
	LossTypeUnknown: {"the runtime did not say their type", false},
	LossUntracked: {"objects there survived a garbage collection, and the agent had not seen them allocated",
		true},
	LossLifetimeFull: {"the agent's memory limit (--memory-limit) was reached: when they died is not known and " +
		"they count as alive", false},
	LossMoves: {"the survivors of a garbage collection could not all be noted: from it on what dies counts " +
		"as alive", false},
	LossGCCut: {"the process, or the recording, ended within a garbage collection: some of what that found " +
		"dead counts, some still as alive", false},
	LossSnapshot: {"the snapshot of the heap (--snapshot) could not be written or read: no space, no memory, " +
		"or the process was killed", false},
	LossSurvivors: {"so many garbage collections were looked at (--roots) that there was no room for more: why " +
		"objects survived these is not known", false},
	LossChanges: {"there was no room to tell what changed from one garbage collection to the next: from some " +
		"on it is not known", false},
	LossStacks: {"most of the agent's memory limit (--memory-limit) was used up: from then on new stacks are " +
		"shown as (truncated) with the function, or with its module", false},
	LossAges: {"most of the agent's memory limit (--memory-limit) was used up: how old they became is " +
		"not known", false},
	LossControl: {"recording was paused and resumed so often that the process did not see all of it: pauses " +
		"may be longer or shorter than they are said to be", false},
	LossMarks: {"the program, or --mark-at, marked and paused so often that a sixteenth of the agent's " +
		"memory limit (--memory-limit) was used up: later marks are missing, later pauses were refused", false},
	LossCounters: {"the counters that --meter names were not sampled: the process ended too soon, or its " +
		"runtime is too old or did not answer (clrprof counters SESSION --missing)", false},
	LossUnreported: {"this .NET does not report most boxes, multicast delegates and results of async methods, " +
		"and the agent could not make it", true},
	LossThreadsFolded: {"so many threads began before them that those of one name share a row in the list of threads",
		false},
	LossCallsFolded: {"the agent's memory limit (--memory-limit) was reached: they are not counted, and their " +
		"time counts for their callers", false},
	LossCallsUnmatched: {"their end was not seen, only that their frame was gone later: part of the time after it " +
		"counts for them", false},
	LossCallsCut: {"they were taken for gone, and went on: what they called and did after that counts for " +
		"their callers", false},
	LossCallsJumped: {"they ended by a jump to another function, as the program demands it (tail., in F#): its " +
		"time counts for their callers and not for them", false},
	LossWaits: {"there was no memory to note what the operating system did in them: waiting may count as " +
		"CPU time, and extremes of calls are bounds", false},
	LossClockBackwards: {"the clock went back in them: their time counts as 0", false},
	LossNotHooked: {"there was no memory to hook them: their calls are not counted and their time counts for " +
		"their callers", false},
	LossNotProbed: {"probes could not be put into their IL: their calls are not counted and their time counts " +
		"for their callers, and there are no marks at them", false},
	LossAsyncNotHooked: {"the runtime suspends these async methods itself (runtime-async), and probes would break " +
		"them on this .NET: their calls are not counted and their time counts for their callers", false},
	LossNoFile: {"nothing of the process is recorded: its agent could not make a file for the shared memory " +
		"(too many open files?)", true},
	LossNoSpace: {"nothing of the process is recorded: the file system of the shared memory is full; set " +
		"CLRPROF_SHM to a directory on another", true},
	LossNoAddressSpace: {"nothing of the process is recorded: a limit of its address space or its files' size " +
		"(ulimit -v, -f) leaves no room for the agent", true},
	LossNoMemory:    {"nothing of the process is recorded: there was no memory for the agent's first tables", true},
	LossOldRuntime:  {"nothing of the process is recorded: its .NET is older than 2.2", true},
	LossRefused:     {"nothing of the process is recorded: its runtime refused the profiler", true},
	LossNotRecorded: {"nothing of the process is recorded: its agent gave up", true},
}

// Meaning says in words why something is missing or less exact.
func (l Loss) Meaning() string {
	if m, ok := lossMeanings[l.Reason]; ok {
		return m.text
	}
	return "a reason that this clrprof does not know"
}

// Unit is what the events of the loss are, in the singular: "event", or for time "call", "interval" or "function".
func (l Loss) Unit() string {
	switch l.Reason {
	case LossCallsFolded, LossCallsUnmatched, LossCallsCut, LossCallsJumped:
		return "call"
	case LossClockBackwards, LossWaits:
		return "interval"
	case LossNotHooked, LossAsyncNotHooked, LossNotProbed:
		return "function"
	case LossThreadsFolded:
		return "thread"
	}
	return "event"
}

// IsUncounted reports whether nobody knows how many allocations are lost.
func (l Loss) IsUncounted() bool { return l.Reason == LossUnreported }

// IsMissing reports whether the allocations of the loss are missing from all
// values. Those of other losses are counted, but not all about them is known.
// A reason that is not known counts as missing.
func (l Loss) IsMissing() bool {
	m, ok := lossMeanings[l.Reason]
	return !ok || m.missing
}
