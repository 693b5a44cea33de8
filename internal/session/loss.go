package session

import "cmp"

// Reasons of losses. lossKinds explains them, and docs/session.md lists them from there.
const (
	LossArenaFull        = "arena_full"
	LossNoThreadState    = "no_thread_state"
	LossReentered        = "reentered"
	LossILMapTruncated   = "il_map_truncated"
	LossNameTruncated    = "name_truncated"
	LossStackTruncated   = "stack_truncated"
	LossTypeUnknown      = "type_unknown"
	LossUntracked        = "untracked"
	LossLifetimeFull     = "lifetime_full"
	LossMoves            = "moves_lost"
	LossGCCut            = "gc_cut"
	LossSnapshot         = "snapshot"
	LossChanges          = "changes_lost"
	LossSurvivors        = "survivors_lost"
	LossUnreported       = "unreported"
	LossThreadsFolded    = "threads_folded"
	LossStacks           = "stacks_lost"
	LossAges             = "ages_lost"
	LossControl          = "control_late"
	LossMarks            = "marks_lost"
	LossNotLimited       = "not_limited"
	LossInteractions     = "interactions_lost"
	LossInteractionTexts = "interaction_texts"
	LossCounters         = "counters_lost"
	LossMeters           = "meters_lost"
	LossMeterCallbacks   = "meter_callbacks"
	LossTrace            = "trace_lost"
	LossSamples          = "samples_lost"
	LossFileEvents       = "file_events_lost"

	LossDamaged          = "damaged"
	LossDamagedTimes     = "damaged_times"
	LossDamagedLifetimes = "damaged_lifetimes"
)

// Reasons of losses of time. Their events are calls, intervals or functions: see Loss.Unit.
const (
	LossCallsFolded    = "calls_folded"
	LossCallsUnmatched = "calls_unmatched"
	LossCallsCut       = "calls_cut"
	LossCallsJumped    = "calls_jumped"
	LossCallsNested    = "calls_nested"
	LossWaits          = "waits_lost"
	LossCPUCounters    = "cpu_counters_lost"
	LossSystemEvents   = "system_events_lost"
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
	LossForked         = "forked"
	LossDamagedProcess = "damaged_process"
)

// Reasons why no agent told of a process: the processes below the command are looked at.
const (
	LossNoVariables = "no_variables"
	LossOtherUser   = "other_user"
	LossNoFolder    = "no_folder"
	LossNotLoaded   = "not_loaded"
	LossUnreadable  = "unreadable"
)

// kind is what there is to know of the reason; of one that this clrprof does not know, that it is missing.
func (l Loss) kind() lossKind {
	for _, k := range lossKinds {
		if k.reason == l.Reason {
			return k
		}
	}
	return lossKind{reason: l.Reason, missing: true, why: "a reason unknown to this version of clrprof",
		touches: "what a later version of clrprof says about it",
		advice:  "Look at the session with the version of clrprof that recorded it, or a later one."}
}

// LossReasons returns the reasons that are known, in the order in which they are explained.
func LossReasons() []string {
	var out []string
	for _, k := range lossKinds {
		out = append(out, k.reason)
	}
	return out
}

// Meaning says in words why something is missing or less exact.
func (l Loss) Meaning() string { return l.kind().why }

// Touches says in words which numbers and views are missing it, or are less exact.
func (l Loss) Touches() string { return l.kind().touches }

// Advice says in words what to do about it.
func (l Loss) Advice() string { return l.kind().advice }

// Unit is what the events of the loss are, in the singular: "event", or for time "call", "interval" or "function".
func (l Loss) Unit() string { return cmp.Or(l.kind().unit, "event") }

// IsUncounted reports whether nobody knows how many allocations are lost: those of whole processes, for example.
func (l Loss) IsUncounted() bool {
	return l.Reason == LossUnreported || l.kind().touches == notInAnyView
}

// IsWhole reports whether nothing that a program of .NET did in the process is in the session.
func (l Loss) IsWhole() bool { return l.kind().touches == notInAnyView && l.Reason != LossUnreadable }

// IsMissing reports whether the allocations of the loss are missing from all
// values. Those of other losses are counted, but not all about them is known.
// A reason that is not known counts as missing.
func (l Loss) IsMissing() bool { return l.kind().missing }
