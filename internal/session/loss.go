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
	LossStackTruncated: {"their stacks are deeper than --max-stack-depth; their callers are shown as (truncated)", false},
	LossTypeUnknown:    {"the runtime did not say their type", false},
	LossUntracked:      {"they survived a garbage collection and the agent had not seen them allocated", true},
	LossLifetimeFull:   {"the agent's memory limit (--memory-limit) was reached: their fate is not known and they count as alive", false},
	LossMoves:          {"the survivors of a garbage collection could not all be noted: from it on what dies counts as alive", false},
	LossGCCut:          {"the process ended within a garbage collection: some of what that found dead counts, some still as alive", false},
	LossSnapshot:       {"the snapshot of the heap (--snapshot) could not be written or read: no space, no memory, or the process was killed", false},
}

// Meaning says in words why something is missing or less exact.
func (l Loss) Meaning() string {
	if m, ok := lossMeanings[l.Reason]; ok {
		return m.text
	}
	return "a reason that this clrprof does not know"
}

// IsMissing reports whether the allocations of the loss are missing from all
// values. Those of other losses are counted, but not all about them is known.
// A reason that is not known counts as missing.
func (l Loss) IsMissing() bool {
	m, ok := lossMeanings[l.Reason]
	return !ok || m.missing
}
