package collect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// threads follows the threads of one process through the log. The runtime uses a ThreadID again after the thread's
// end, and may name a thread before it first allocates.
type threads struct {
	byID  map[uint32]*recording.Thread
	live  map[uint64][]*recording.Thread // of a ThreadID that has not ended
	named map[uint64]string              // a ThreadID's name, if it has one

	nameAt map[uint64]string // what the ThreadName records say, by their place in the log plus one
	sets   []set             // by index in the arena
}

// set is what was read last of threads that share a row.
type set struct {
	at   *recording.Thread // the row
	row  session.ThreadSet
	osID int64 // of the newest
}

// numberedThread is a thread with the number that the agent knows it by.
type numberedThread struct {
	number uint32
	osID   int64
	row    *recording.Thread
	shared bool // the row is that of several threads, of which at most this one runs
}

// numbered are all threads that have been seen, by number; of those that share a row the newest.
func (t *threads) numbered() []numberedThread {
	newest := map[*recording.Thread]int64{}
	for i := range t.sets {
		newest[t.sets[i].at] = t.sets[i].osID
	}
	var out []numberedThread
	for number, row := range t.byID {
		osID, shared := newest[row]
		if !shared {
			osID = row.OSID()
		}
		out = append(out, numberedThread{number, osID, row, shared})
	}
	slices.SortFunc(out, func(a, b numberedThread) int { return cmp.Compare(a.number, b.number) })
	return out
}

// running are those that have not ended.
func (t *threads) running() []numberedThread {
	return slices.DeleteFunc(t.numbered(), func(n numberedThread) bool {
		_, ended := n.row.Ended()
		return ended
	})
}

// withID finds the thread with an id of the operating system that had not ended at a time.
func (t *threads) withID(osID int64, at quantity.Nanoseconds) (numberedThread, bool) {
	all := t.numbered()
	i := slices.IndexFunc(all, func(n numberedThread) bool {
		end, ended := n.row.Ended()
		return n.osID == osID && (!ended || end >= at)
	})
	if i < 0 {
		return numberedThread{}, false
	}
	return all[i], true
}

func newThreads() threads {
	return threads{byID: map[uint32]*recording.Thread{}, live: map[uint64][]*recording.Thread{},
		named: map[uint64]string{}, nameAt: map[uint64]string{}}
}

func (t *threads) id(id uint32) (session.ThreadID, bool) {
	row, ok := t.byID[id]
	if !ok {
		return 0, false
	}
	return row.ID(), true
}

// add takes a record, which begins at the given place of the log.
func (t *threads) add(r *Recorder, p *recording.Process, record any, at int) {
	switch record := record.(type) {
	case wire.Thread:
		name := t.named[record.Managed]
		if name == "" && r.earlierName != nil {
			name = r.earlierName(record.OSID)
		}
		row := p.AddThread(session.Thread{OSID: int64(record.OSID), Name: name,
			Begin: max(0, quantity.Nanoseconds(record.BeginNS)-r.start)})
		t.byID[record.ID] = row
		if record.Managed != 0 {
			t.live[record.Managed] = append(t.live[record.Managed], row)
		}
	case wire.ThreadName:
		t.nameAt[uint64(at)+1] = record.Name
		t.named[record.Managed] = record.Name
		for _, row := range t.live[record.Managed] {
			row.Rename(record.Name)
		}
	case wire.ThreadEnd:
		for _, row := range t.live[record.Managed] {
			row.End(max(0, quantity.Nanoseconds(record.EndNS)-r.start))
		}
		delete(t.live, record.Managed)
		delete(t.named, record.Managed)
	}
}

// addSets takes the threads that share a row, as they are now. Skips says which errors are none: see process.skips.
func (t *threads) addSets(r *Recorder, p *recording.Process, rows []wire.ThreadSet, skips func(error) bool) error {
	for i := range rows {
		s := arena.ThreadSet(&rows[i])
		name, ok := t.nameAt[s.NameAt]
		if !ok && s.NameAt != 0 && !skips(wire.ErrCorrupt) {
			return fmt.Errorf("%w: set of threads %d has no name at %d", wire.ErrCorrupt, i, s.NameAt)
		}
		if i == len(t.sets) {
			_, ok := t.byID[s.Thread]
			if ok && !skips(wire.ErrCorrupt) {
				return fmt.Errorf("%w: thread %d is described twice", wire.ErrCorrupt, s.Thread)
			}
			row := p.AddThread(session.Thread{Begin: max(0, quantity.Nanoseconds(s.BeginNS)-r.start)})
			if !ok {
				t.byID[s.Thread] = row
			}
			t.sets = append(t.sets, set{at: row, row: session.ThreadSet{Thread: row.ID(), Name: name}})
		}
		known := &t.sets[i]
		known.row.Threads, known.osID = quantity.Count(s.Threads), int64(s.OSID)
		if s.Threads <= 1 {
			known.at.Identify(int64(s.OSID), name)
		} else {
			known.at.Identify(0, setName(s.Threads, name, s.Several != 0))
		}
		if s.EndNS != 0 {
			known.at.End(max(0, quantity.Nanoseconds(s.EndNS)-r.start))
		} else {
			known.at.Continue()
		}
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
func (t *threads) write(p *recording.Process, end quantity.Nanoseconds) error {
	var sets []session.ThreadSet
	for i := range t.sets {
		if t.sets[i].row.Threads > 1 {
			sets = append(sets, t.sets[i].row)
		}
	}
	return p.WriteThreads(end, sets)
}

// endOf returns when a thread ended, if that was seen.
func (t *threads) endOf(id uint32) (quantity.Nanoseconds, bool) {
	row, ok := t.byID[id]
	if !ok {
		return 0, false
	}
	return row.Ended()
}
