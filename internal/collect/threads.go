package collect

import (
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
}

func newThreads() threads {
	return threads{byID: map[uint32]int{}, live: map[uint64][]int{}, named: map[uint64]string{}, stale: map[int]bool{}}
}

func (t *threads) id(id uint32) (session.ThreadID, bool) {
	i, ok := t.byID[id]
	if !ok {
		return 0, false
	}
	return t.rows[i].ID, true
}

func (t *threads) add(r *Recorder, record any) {
	switch record := record.(type) {
	case wire.Thread:
		r.next.thread++
		i := len(t.rows)
		t.byID[record.ID] = i
		t.rows = append(t.rows, session.Thread{ID: r.next.thread, OSID: int64(record.OSID), Name: t.named[record.Managed],
			Begin: quantity.Nanoseconds(record.BeginNS) - r.start})
		t.ended = append(t.ended, false)
		t.stale[i] = true
		if record.Managed != 0 {
			t.live[record.Managed] = append(t.live[record.Managed], i)
		}
	case wire.ThreadName:
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
	return r.w.ReplaceThreads(rows)
}

// endOf returns when a thread ended, if that was seen.
func (t *threads) endOf(id uint32) (quantity.Nanoseconds, bool) {
	i, ok := t.byID[id]
	if !ok || !t.ended[i] {
		return 0, false
	}
	return t.rows[i].End, true
}
