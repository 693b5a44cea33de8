package live

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Sums are what a function or type, or all of them, did.
type Sums struct {
	quantity.Amount
	Calls quantity.Count // that began
}

// Add returns the sum.
func (s Sums) Add(o Sums) Sums { return Sums{s.Amount.Add(o.Amount), s.Calls + o.Calls} }

// Sub returns the difference.
func (s Sums) Sub(o Sums) Sums { return Sums{s.Amount.Sub(o.Amount), s.Calls - o.Calls} }

// IsZero says whether nothing was done.
func (s Sums) IsZero() bool { return s == Sums{} }

// Events of messages.
const (
	Start = "start" // everything since the session's start
	Tick  = "tick"  // what was new since the message before
	End   = "end"   // the same, and nothing comes after it
)

// Message is what happened from one moment of a recording to another. Its form in JSON is documented in docs/live.md.
type Message struct {
	ID        uint64               `json:"id"` // counts up by one
	Event     string               `json:"event"`
	Session   string               `json:"session"` // path of the file
	Mode      string               `json:"mode"`    // what is recorded, as session.KeyMode
	Begin     quantity.Nanoseconds `json:"begin_ns"`
	End       quantity.Nanoseconds `json:"end_ns"`
	New       Numbers              `json:"new"`   // between the two
	Total     Numbers              `json:"total"` // since the session's start
	Processes int                  `json:"processes"`
	Threads   int                  `json:"threads"` // that run and have done something
	Paused    bool                 `json:"paused"`  // nothing of any process is recorded at the moment
	// Estimated says that small objects are sampled: numbers of objects and bytes are estimates.
	Estimated bool `json:"estimated,omitempty"`

	Functions Table    `json:"functions"`
	Types     Table    `json:"types"`
	GCs       GCs      `json:"gcs"`
	Marks     Marks    `json:"marks"`
	Pauses    Pauses   `json:"pauses"`
	Counters  Counters `json:"counters"`
	Losses    []Loss   `json:"losses"` // since the session's start
}

// Numbers are Sums as a message says them.
type Numbers struct {
	Allocations quantity.Count `json:"allocations"`
	Bytes       quantity.Bytes `json:"bytes"`
	Calls       quantity.Count `json:"calls"`
}

// Table has the rows that changed most.
type Table struct {
	Rows []Row `json:"rows"`
	Rest Rest  `json:"rest"` // changed rows that are left out
}

// Row is a function, with what it did itself, or a type.
type Row struct {
	ID     int64   `json:"id"` // of the session
	Name   string  `json:"name"`
	Short  string  `json:"short"` // the name as tables for a person have it: without namespaces
	Module string  `json:"module"`
	New    Numbers `json:"new"`
	Total  Numbers `json:"total"`
}

// Rest is how many rows are left out of a table, and what they did.
type Rest struct {
	Rows int     `json:"rows"`
	New  Numbers `json:"new"`
}

// GCs are the garbage collections that ended between the two moments, with lifetime.
type GCs struct {
	Rows    []GC  `json:"rows"` // the last ones
	LeftOut int   `json:"left_out"`
	Total   int64 `json:"total"` // since the session's start
}

// Marks are the marks that somebody made between the two moments: not those of the begin and the end of processes.
type Marks struct {
	Rows    []Mark `json:"rows"` // the last ones
	LeftOut int    `json:"left_out"`
	Total   int64  `json:"total"` // since the session's start
}

// Mark is a moment that somebody marked.
type Mark struct {
	At     quantity.Nanoseconds `json:"at_ns"`
	Name   string               `json:"name"` // that of the program, or of who made it; its number if it has none
	Text   string               `json:"text"`
	Source string               `json:"source"` // as in a session
}

// Pauses are the begins and ends of pauses between the two moments, of all processes or of one: not of threads.
type Pauses struct {
	Rows    []Pause `json:"rows"` // the last ones
	LeftOut int     `json:"left_out"`
	Total   int64   `json:"total"` // since the session's start
}

// Pause is a time in which nothing was recorded, as it begins or, once more, as it ends.
type Pause struct {
	ID    int64                `json:"id"`    // of the session
	Level string               `json:"level"` // session.LevelGlobal or session.LevelProcess
	Begin quantity.Nanoseconds `json:"begin_ns"`
	End   quantity.Nanoseconds `json:"end_ns"` // only with Ended
	Ended bool                 `json:"ended"`
}

// GC is a garbage collection that ended.
type GC struct {
	Process    int64                `json:"process"` // its process id
	Number     int64                `json:"number"`
	Generation int64                `json:"generation"` // the highest that was collected
	Induced    bool                 `json:"induced"`    // asked for by the program
	Begin      quantity.Nanoseconds `json:"begin_ns"`
	Pause      quantity.Nanoseconds `json:"pause_ns"`
	Died       Population           `json:"died"`
	Heap       []Population         `json:"heap"` // after it, by generation: 0, 1, 2, large, pinned
}

// Population is a number of objects.
type Population struct {
	Objects quantity.Count `json:"objects"`
	Bytes   quantity.Bytes `json:"bytes"`
}

// Loss is something that is missing or less exact.
type Loss struct {
	Reason      string         `json:"reason"`
	Events      quantity.Count `json:"events"`
	Allocations quantity.Count `json:"allocations"`
	Bytes       quantity.Bytes `json:"bytes"`
}

// State is what a recording has counted so far.
type State struct {
	Time      quantity.Nanoseconds // since the session's start
	Mode      string
	Processes int
	Threads   int
	Paused    bool   // nothing of any process is recorded
	Estimated bool   // small objects are sampled
	Functions []Sums // by session.FunctionID
	Types     []Sums // by session.TypeID, without calls
	Calls     bool   // functions have calls
	Losses    []session.Loss
}

// total adds up the functions.
func (s *State) total() Sums {
	var sum Sums
	for i := range s.Functions {
		sum = sum.Add(s.Functions[i])
	}
	return sum
}

// addLosses adds up what the processes lost, by reason.
func addLosses(rows []session.Loss) []Loss {
	out := []Loss{}
	at := map[string]int{}
	for _, l := range rows {
		i, ok := at[l.Reason]
		if !ok {
			i = len(out)
			at[l.Reason] = i
			out = append(out, Loss{Reason: l.Reason})
		}
		out[i].Events += l.Events
		out[i].Allocations += l.Allocations
		out[i].Bytes += l.Bytes
	}
	slices.SortFunc(out, func(a, b Loss) int { return cmp.Compare(a.Reason, b.Reason) })
	return out
}

func numbers(s Sums) Numbers { return Numbers{s.Allocations, s.Bytes, s.Calls} }

// sums is the inverse of numbers.
func (n Numbers) sums() Sums {
	return Sums{quantity.Amount{Allocations: n.Allocations, Bytes: n.Bytes}, n.Calls}
}
