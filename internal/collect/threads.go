package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// threads follows the threads of one process through the log. The runtime uses a ThreadID again after the thread's
// end, and may name a thread before it first allocates.
type threads struct {
	byID  map[uint32]int // index in rows
	rows  []session.Thread
	live  map[uint64][]int  // rows of a ThreadID that has not ended
	named map[uint64]string // a ThreadID's name, if it has one
	ended []bool
	stale map[int]bool // rows to write again

	nameAt map[uint64]string // what the ThreadName records say, by their place in the log plus one
	sets   []set             // by index in the arena
}

// set is what was read last of threads that share a row.
type set struct {
	at  int // index of the row
	row session.ThreadSet
}

func newThreads() threads {
	return threads{byID: map[uint32]int{}, live: map[uint64][]int{}, named: map[uint64]string{}, stale: map[int]bool{}, nameAt: map[uint64]string{}}
}

func (t *threads) id(id uint32) (session.ThreadID, bool) {
	i, ok := t.byID[id]
	if !ok {
		return 0, false
	}
	return t.rows[i].ID, true
}

// newRow makes the row of a thread that was not seen before.
func (t *threads) newRow(r *Recorder, id uint32, row session.Thread) int {
	r.next.thread++
	i := len(t.rows)
	row.ID = r.next.thread
	t.byID[id] = i
	t.rows = append(t.rows, row)
	t.ended = append(t.ended, false)
	t.stale[i] = true
	return i
}

// add takes a record, which begins at the given place of the log.
func (t *threads) add(r *Recorder, record any, at int) {
	switch record := record.(type) {
	case wire.Thread:
		i := t.newRow(r, record.ID, session.Thread{OSID: int64(record.OSID), Name: t.named[record.Managed], Begin: quantity.Nanoseconds(record.BeginNS) - r.start})
		if record.Managed != 0 {
			t.live[record.Managed] = append(t.live[record.Managed], i)
		}
	case wire.ThreadName:
		t.nameAt[uint64(at)+1] = record.Name
		t.named[record.Managed] = record.Name
		for _, i := range t.live[record.Managed] {
			t.rows[i].Name = record.Name
			t.stale[i] = true
		}
	case wire.ThreadEnd:
		for _, i := range t.live[record.Managed] {
			t.rows[i].End = quantity.Nanoseconds(record.EndNS) - r.start
			t.ended[i] = true
			t.stale[i] = true
		}
		delete(t.live, record.Managed)
		delete(t.named, record.Managed)
	}
}

// addSets takes the threads that share a row, as they are now.
func (t *threads) addSets(r *Recorder, rows []wire.ThreadSet) error {
	for i := range rows {
		s := arena.ThreadSet(&rows[i])
		name, ok := t.nameAt[s.NameAt]
		if !ok && s.NameAt != 0 {
			return fmt.Errorf("%w: set of threads %d has no name at %d", wire.ErrCorrupt, i, s.NameAt)
		}
		if i == len(t.sets) {
			if _, ok := t.byID[s.Thread]; ok {
				return fmt.Errorf("%w: thread %d is described twice", wire.ErrCorrupt, s.Thread)
			}
			at := t.newRow(r, s.Thread, session.Thread{Begin: quantity.Nanoseconds(s.BeginNS) - r.start})
			t.sets = append(t.sets, set{at, session.ThreadSet{Thread: t.rows[at].ID, Name: name}})
		}
		known := &t.sets[i]
		row := &t.rows[known.at]
		known.row.Threads = quantity.Count(s.Threads)
		if s.Threads <= 1 {
			row.OSID, row.Name = int64(s.OSID), name
		} else {
			row.OSID, row.Name = 0, setName(s.Threads, name, s.Several != 0)
		}
		if t.ended[known.at] = s.EndNS != 0; s.EndNS != 0 {
			row.End = quantity.Nanoseconds(s.EndNS) - r.start
		}
		t.stale[known.at] = true
	}
	return nil
}

// setName says in words which threads share a row. Only one of them can be running.
func setName(n uint32, name string, several bool) string {
	switch {
	case several:
		return fmt.Sprintf("%d ended threads of several names", n)
	case name == "":
		return fmt.Sprintf("%d ended threads without a name", n)
	}
	return fmt.Sprintf("%d ended threads named %s", n, name)
}

// folded returns how many threads have no row of their own.
func (t *threads) folded() uint64 {
	n := uint64(0)
	for i := range t.sets {
		if threads := t.sets[i].row.Threads; threads > 1 {
			n += uint64(threads)
		}
	}
	return n
}

// write writes rows that changed; threads whose end was not seen end with their process, or now if it runs.
func (t *threads) write(r *Recorder, p *process, end quantity.Nanoseconds) error {
	var rows []session.Thread
	for i := range t.rows {
		if !t.ended[i] && t.rows[i].End != end {
			t.rows[i].End = end
			t.stale[i] = true
		}
		if t.stale[i] {
			t.rows[i].Process = p.id
			rows = append(rows, t.rows[i])
		}
	}
	clear(t.stale)
	if err := r.w.ReplaceThreads(rows); err != nil {
		return err
	}
	var sets []session.ThreadSet
	for i := range t.sets {
		if t.sets[i].row.Threads > 1 {
			sets = append(sets, t.sets[i].row)
		}
	}
	return r.w.ReplaceThreadSets(sets)
}

// endOf returns when a thread ended, if that was seen.
func (t *threads) endOf(id uint32) (quantity.Nanoseconds, bool) {
	i, ok := t.byID[id]
	if !ok || !t.ended[i] {
		return 0, false
	}
	return t.rows[i].End, true
}
