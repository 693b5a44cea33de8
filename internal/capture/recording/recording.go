package recording

import (
	"errors"
	"fmt"
	"math"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrInconsistent means that a source says what cannot be: that a counter has shrunk, or exceeds MaxCounter.
var ErrInconsistent = errors.New("what was counted contradicts itself")

// MaxCounter bounds what one counter, and all together, can hold: far more than any program allocates, and sums of it
// are still numbers of the session.
const MaxCounter = 1 << 60

const (
	// RowsAtOnce is how many rows are gathered before they are written: some megabytes.
	RowsAtOnce = 1 << 14

	// ChunkRows is the same of tables with rows for each site: one chunk of the session.
	ChunkRows = 1 << 16
)

const second = 1_000_000_000 // in nanoseconds

// Recording writes what sources say into a session. One goroutine uses it.
type Recording struct {
	w         *session.Writer
	processes []*Process
	next      ids
	lastSlice session.SliceID
	sliceEnd  quantity.Nanoseconds
	grown     growth
	totals    Totals
	control   control
	watched   watched
	described int64 // rows written of what names and lines are made from, those written again included
}

// Totals is what has been written so far.
type Totals struct {
	quantity.Amount
	Calls   quantity.Count       // as the ends of their intervals
	Elapsed quantity.Nanoseconds // of calls
	GCs     quantity.Count       // collections in which objects were followed
}

// ids counts the rows given out so far.
type ids struct {
	process          session.ProcessID
	thread           session.ThreadID
	module           session.ModuleID
	typ              session.TypeID
	function         session.FunctionID
	body             session.BodyID
	instruction      session.InstructionID
	interaction      session.InteractionID
	interactionStack session.InteractionStackID
	node             session.NodeID
	site             session.SiteID
	gc               session.GCID
	timing           session.TimingID
	systemEvent      session.SystemEventID
	pause            session.PauseID
	mark             session.MarkID
}

// short is an id of the session, all of which are counted from 1: Recording.Room sees to it that they fit.
type short uint32

// New records into a session.
func New(w *session.Writer) *Recording { return &Recording{w: w} }

// Path is the path of the session.
func (r *Recording) Path() string { return r.w.Path() }

// Batch writes what fn adds in one transaction. After an error the recording must not be used again: the session holds
// what earlier batches wrote.
func (r *Recording) Batch(fn func() error) error { return r.w.Batch(fn) }

// Room checks that the ids of a session stay short when so many rows of several kinds come: each can be two rows of
// the session.
func (r *Recording) Room(tables ...int) error {
	n := &r.next
	most := max(int64(n.thread), int64(n.typ), int64(n.function), int64(n.instruction), int64(n.node), int64(n.site),
		int64(n.timing))
	for _, rows := range tables {
		most += 2 * int64(rows)
	}
	if most > math.MaxUint32 {
		return fmt.Errorf("a session has fewer than %d rows of a kind, and this could take %d", math.MaxUint32, most)
	}
	return nil
}

// Totals says what has been written so far.
func (r *Recording) Totals() Totals {
	totals := r.totals
	totals.GCs = quantity.Count(r.next.gc)
	return totals
}

// Described is how many rows are written of what names and lines of code are made from: as long as it stays the same,
// so do these.
func (r *Recording) Described() int64 { return r.described }

// Session is the session that is written, to be read between two writes.
func (r *Recording) Session() *session.Session { return r.w.Session }

// Slices is how many slices have ended.
func (r *Recording) Slices() int64 { return int64(r.lastSlice) }

// Age is when the last slice has ended.
func (r *Recording) Age() quantity.Nanoseconds { return r.sliceEnd }

// slice is the slice that has not ended.
func (r *Recording) slice() session.SliceID { return r.lastSlice + 1 }

// EndSlice ends a slice, if something grew in it or time passed.
func (r *Recording) EndSlice(end quantity.Nanoseconds) error {
	if err := r.writeMarks(end); err != nil {
		return err
	}
	if err := r.grown.write(r, 1); err != nil {
		return err
	}
	grown := r.grown.any
	r.grown = growth{}
	if end <= r.sliceEnd && !grown {
		return nil
	}
	r.lastSlice++
	slice := session.Slice{ID: r.lastSlice, Begin: r.sliceEnd, End: max(end, r.sliceEnd)}
	r.sliceEnd = slice.End
	return r.w.InsertSlices([]session.Slice{slice})
}

// Looking at a process competes with it for processors, and writes what has changed since the last look, so slices are
// longer where that is much: a look has a quarter of a processor. But nobody waits for more than five seconds, and what
// is new is not all left for the last look.
const (
	restForLook   = 4
	longestForIt  = 5 * second
	partOfSession = 50
)

// Schedule says when the next slice should end: every second at first, later after a fiftieth of the age, so a day of
// recording has about 400 slices. The age of the session is that at the end of the last slice; look is the processor
// time that its look took.
func Schedule(age, look quantity.Nanoseconds) quantity.Nanoseconds {
	return age + max(second, age/partOfSession, min(restForLook*look, longestForIt))
}

// growth is what is new of the sites in a slice, as far as it is not written.
type growth struct {
	values []session.SiteValue
	deaths []session.SiteDeath
	any    bool // something grew, also of timings
}

// write writes what was gathered, as soon as there are that many rows of a kind.
func (g *growth) write(r *Recording, rows int) error {
	g.any = g.any || len(g.values) > 0 || len(g.deaths) > 0
	if len(g.values) >= rows {
		for i := range g.values {
			g.values[i].Slice = r.slice()
		}
		if err := r.w.InsertSiteValues(g.values); err != nil {
			return err
		}
		g.values = g.values[:0]
	}
	if len(g.deaths) >= rows {
		for i := range g.deaths {
			g.deaths[i].Slice = r.slice()
		}
		if err := r.w.InsertSiteDeaths(g.deaths); err != nil {
			return err
		}
		g.deaths = g.deaths[:0]
	}
	return nil
}

// ReplaceCounters adds counters, or replaces those with the same id.
func (r *Recording) ReplaceCounters(rows []session.Counter) error { return r.w.ReplaceCounters(rows) }

// AddCounterValues adds what counters were at some times.
func (r *Recording) AddCounterValues(rows []session.CounterValue) error {
	return r.w.InsertCounterValues(rows)
}

// AddLosses adds losses that are known only in the end, of reasons that Process.WriteLosses does not get.
func (r *Recording) AddLosses(rows []session.Loss) error { return r.w.ReplaceLosses(rows) }
