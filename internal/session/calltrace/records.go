package calltrace

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/clrprof/clrprof/internal/wire"
)

// Kind says what a Record is.
type Kind int

// The kinds.
const (
	Enter  Kind = iota + 1 // a call began
	Exit                   // it ended
	Thrown                 // an exception was thrown
	Caught                 // and caught
	Begin                  // a garbage collection began
	End                    // one ended
	Mark                   // a moment was marked
	Gap                    // events of the thread were lost
	System                 // the operating system acted, from here to Until
)

// Record is an event with the session's ids.
type Record struct {
	Kind     Kind
	Time     int64 // nanoseconds since the session's start
	Process  int64 // 0: of all
	Thread   int64 // 0: of none
	Function int64 // of Enter, Exit, Caught and System
	Type     int64 // of Thrown
	Depth    int   // calls on the stack, with that which begins or ends
	// Of Exit. CutEnd: its event was lost, and this is when the first of those that were lost was. CutBegin: that of
	// its beginning was lost.
	CutEnd, CutBegin bool
	Lost             uint64 // of Gap: how many events
	Until            int64  // of Gap: the time of the first that is there again, 0: there is none; of System: its end
	At               int    // of System: its place in the list of who knows more of it
	First            bool   // of Gap: those before the first that is there, as only the last ones are kept
	Generations      uint32 // of Begin: bit n, generation n is collected
	Induced          bool   // of Begin
	Name, Text       string // of Mark
}

// Process is what is known of a process in the end: whose its numbers are.
type Process struct {
	Key       Key
	ID        int64
	Functions func(id uint32) int64 // 0: none
	Types     func(id uint32) int64
	Threads   func(id uint32) int64
	Time      func(ticks uint64) (int64, error)
	Lost      map[uint32]Missed // by the agent's id of the thread
	Others    []Record          // collections, in the order of time
	NotTold   uint64            // beginnings and ends of collections for which there was no room
}

// Missed is how many events of a thread the agent had no room for, and when the first of those was that were lost since
// the last chunk.
type Missed struct {
	Events, Ticks uint64
}

// Recorded is a trace that is complete.
type Recorded struct {
	Store     *Store
	Processes []Process
}

// Totals count the events of a trace. Each is in the store or lost: for want of room in the agent, or in the store.
type Totals struct {
	Events  uint64 // that are in the store
	Keeps   Keep   // which these are
	Dropped Lost   // by it
	Missed  uint64 // for which agents had no room
	NotTold uint64 // beginnings and ends of collections that are missing, too
	Open    uint64 // calls that had not ended
	// What the operating system did: how often it acted, and of these how often before the first event of a thread, of
	// which only the last ones are kept. SystemLost is how many of these events have no place in the session's list.
	System, SystemBefore, SystemLost uint64
}

// Lost is how many events of calls and collections are not there.
func (t *Totals) Lost() uint64 { return t.Dropped.Events + t.Missed + t.NotTold }

// partEvents is how many events of a thread are in memory at once.
const partEvents = 512

// Records calls fn with all events in the order of time, those of one thread in the order in which they happened, and
// with other records of the session, which are in the order of time. Those of the kind System are among the events of
// their thread: after the one at which the interval begins, and before the one that ends it, however times are rounded.
// An error of fn ends it.
func (r *Recorded) Records(others []Record, fn func(*Record) error) (Totals, error) {
	totals := Totals{Events: uint64(r.Store.Events()), Keeps: r.Store.Keeps(), Dropped: r.Store.Dropped()}
	others, acted := apart(others)
	streams, err := r.threads(acted, &totals)
	if err != nil {
		return totals, err
	}
	lists := [][]Record{others}
	for i := range r.Processes {
		totals.NotTold += r.Processes[i].NotTold
		for _, m := range r.Processes[i].Lost {
			totals.Missed += m.Events
		}
		lists = append(lists, r.Processes[i].Others)
	}
	live, err := r.begin(lists, streams)
	if err != nil {
		return totals, err
	}
	for len(live) > 0 {
		s := live[0]
		if err := fn(&s.ready[0]); err != nil {
			return totals, err
		}
		if s.ready[0].Kind == System {
			totals.System++
		}
		s.ready = s.ready[1:]
		switch ok, err := s.fill(r.Store); {
		case err != nil:
			return totals, err
		case ok:
			heap.Fix(&live, 0)
		default:
			heap.Pop(&live)
		}
	}
	for _, t := range streams {
		totals.Open += uint64(len(t.open))
		totals.SystemBefore += t.actedBefore
	}
	return totals, nil
}

// apart takes what the operating system did out of a list, by thread, each in the order of ends.
func apart(list []Record) (others []Record, acted map[int64][]Record) {
	acted = map[int64][]Record{}
	for _, r := range list {
		if r.Kind == System {
			acted[r.Thread] = append(acted[r.Thread], r)
		} else {
			others = append(others, r)
		}
	}
	for _, of := range acted {
		slices.SortStableFunc(of, func(a, b Record) int { return cmp.Compare(a.Until, b.Until) })
	}
	return others, acted
}

// begin makes a queue of the records. Where only the last events are kept, it begins with the first of these.
func (r *Recorded) begin(lists [][]Record, threads []*thread) (queue, error) {
	var live queue
	start := int64(math.MaxInt64)
	for i, t := range threads {
		s := &stream{order: len(lists) + i, thread: t}
		if ok, err := s.fill(r.Store); err != nil {
			return nil, err
		} else if ok {
			live, start = append(live, s), min(start, s.ready[0].Time)
		}
	}
	for i, list := range lists {
		if r.Store.Dropped().First {
			list = list[sort.Search(len(list), func(i int) bool { return list[i].Time >= start }):]
		}
		if len(list) > 0 {
			live = append(live, &stream{order: i, ready: list})
		}
	}
	heap.Init(&live)
	return live, nil
}

// threads groups the blocks by thread, with what the operating system did to it. Where only the last events are kept, a
// thread of which there are none has nothing at all.
func (r *Recorded) threads(acted map[int64][]Record, totals *Totals) ([]*thread, error) {
	var out []*thread
	for _, b := range r.Store.ordered() {
		if n := len(out); n > 0 && out[n-1].process.Key == b.Process && out[n-1].id == b.Head.Thread {
			out[n-1].blocks = append(out[n-1].blocks, b)
			continue
		}
		i := slices.IndexFunc(r.Processes, func(p Process) bool { return p.Key == b.Process })
		if i < 0 {
			return nil, fmt.Errorf("%w: events of process %d, which nothing else is known of", errCorrupt,
				b.Process.PID)
		}
		out = append(out, &thread{process: &r.Processes[i], id: b.Head.Thread, blocks: []block{b}, first: true})
	}
	for i := range r.Processes {
		p := &r.Processes[i]
		for _, id := range slices.Sorted(maps.Keys(p.Lost)) {
			if r.Store.Dropped().First {
				break // of these nobody knows whether they had events
			}
			if !slices.ContainsFunc(out, func(t *thread) bool { return t.process == p && t.id == id }) {
				out = append(out, &thread{process: p, id: id})
			}
		}
	}
	for _, t := range out {
		if t.session = t.process.Threads(t.id); t.session == 0 {
			return nil, fmt.Errorf("%w: events of thread %d of process %d, which was never described", errCorrupt,
				t.id, t.process.Key.PID)
		}
		t.acted = acted[t.session]
		delete(acted, t.session)
	}
	for _, session := range slices.Sorted(maps.Keys(acted)) {
		if r.Store.Dropped().First {
			totals.SystemBefore += uint64(len(acted[session]))
			continue
		}
		out = append(out, &thread{process: &Process{ID: acted[session][0].Process}, session: session,
			acted: acted[session]})
	}
	return out, nil
}

// call is one that has begun and not ended.
type call struct {
	function uint32
	depth    int
}

// thread makes records of the events of a thread.
type thread struct {
	process *Process
	id      uint32
	session int64
	blocks  []block
	first   bool // nothing of them was read
	at      int  // events read of the first of them
	lost    uint64
	last    int64 // time of the last record
	open    []call
	part    []byte
	// What the operating system did and is not in an event yet, and how often it did before the first event that is
	// kept.
	acted       []Record
	actedBefore uint64
	actedUntil  int64 // the end of the last one
}

// next appends the records of some events. io.EOF: there are no more.
func (t *thread) next(s *Store, out []Record) ([]Record, error) {
	if len(t.blocks) == 0 {
		t.part = nil
		return t.missed(out)
	}
	if t.part == nil {
		t.part = make([]byte, partEvents*EventSize)
	}
	b := &t.blocks[0]
	n, err := s.read(b, t.at, t.part)
	if errors.Is(err, io.EOF) && n == 0 {
		t.blocks, t.at = t.blocks[1:], 0
		return out, nil
	}
	if err != nil {
		return out, err
	}
	for i := range n {
		e := decodeEvent(t.part[i*EventSize:])
		at, err := t.process.Time(e.Ticks)
		if err != nil {
			return out, err
		}
		if at = max(at, t.last); i == 0 && t.at == 0 {
			if out, err = t.gaps(out, b, at, s.keeps); err != nil {
				return out, err
			}
		}
		kind := e.What & (1<<wire.TraceKindBits - 1)
		out = t.tellActed(out, at, kind == wire.TraceThrown || kind == wire.TraceCaught)
		t.last = at
		if out, err = t.event(out, e, at); err != nil {
			return out, err
		}
	}
	t.at += n
	return out, nil
}

func decodeEvent(b []byte) wire.TraceEvent {
	return wire.TraceEvent{Ticks: binary.LittleEndian.Uint64(b), Value: binary.LittleEndian.Uint32(b[8:]),
		What: binary.LittleEndian.Uint32(b[12:])}
}

func (t *thread) record(kind Kind, at int64) Record {
	return Record{Kind: kind, Time: at, Process: t.process.ID, Thread: t.session}
}

// tellActed tells what the operating system did up to an event: the intervals that have ended, and those that go on if
// that is an event within intervals.
func (t *thread) tellActed(out []Record, at int64, within bool) []Record {
	for len(t.acted) > 0 && (t.acted[0].Until <= at || within && t.acted[0].Time < at) {
		r := t.acted[0]
		t.acted = t.acted[1:]
		r.Time = max(r.Time, t.last, t.actedUntil)
		r.Until = max(r.Until, r.Time)
		t.last, t.actedUntil = r.Time, r.Until
		out = append(out, r)
	}
	return out
}

// gaps tells what is lost before a block.
func (t *thread) gaps(out []Record, b *block, at int64, keeps Keep) ([]Record, error) {
	if t.first && keeps == Last && b.before.thread > 0 {
		gap := t.record(Gap, at)
		gap.Lost, gap.Until, gap.First = b.before.thread+b.Head.Lost, at, true
		t.first, t.lost = false, b.Head.Lost
		for len(t.acted) > 0 && t.acted[0].Until <= at {
			t.acted = t.acted[1:]
			t.actedBefore++
		}
		return append(out, gap), nil
	}
	t.first = false
	if b.Head.Lost == t.lost {
		return out, nil
	}
	return t.gap(out, &b.Head, at)
}

// gap ends the calls that ended while events were lost.
func (t *thread) gap(out []Record, head *wire.TraceChunkHead, until int64) ([]Record, error) {
	from, err := t.process.Time(head.LostTicks)
	if err != nil {
		return out, err
	}
	from = min(max(from, t.last), until)
	out = t.tellActed(out, from, false)
	out = t.endAbove(out, int(head.Kept), from)
	gap := t.record(Gap, from)
	gap.Lost, gap.Until = head.Lost-t.lost, until
	t.lost = head.Lost
	return append(out, gap), nil
}

// missed tells of what was lost after the last event, and that there is no more. Which calls ended there nobody knows.
func (t *thread) missed(out []Record) ([]Record, error) {
	if m := t.process.Lost[t.id]; m.Events > t.lost {
		at, err := t.process.Time(m.Ticks)
		if err != nil {
			return out, err
		}
		at = max(at, t.last)
		out = t.tellActed(out, at, false)
		gap := t.record(Gap, at)
		gap.Lost = m.Events - t.lost
		out, t.last = append(out, gap), at
	}
	return t.tellActed(out, math.MaxInt64, false), io.EOF
}

// endAbove ends calls that are deeper, though nothing says so.
func (t *thread) endAbove(out []Record, depth int, at int64) []Record {
	for len(t.open) > 0 && t.open[len(t.open)-1].depth > depth {
		c := t.open[len(t.open)-1]
		t.open = t.open[:len(t.open)-1]
		r := t.record(Exit, at)
		r.Function, r.Depth, r.CutEnd = t.process.Functions(c.function), c.depth, true
		out = append(out, r)
	}
	return out
}

func (t *thread) event(out []Record, e wire.TraceEvent, at int64) ([]Record, error) {
	depth := int(e.What >> wire.TraceKindBits)
	switch kind := e.What & (1<<wire.TraceKindBits - 1); kind {
	case wire.TraceEnter:
		out = t.endAbove(out, depth-1, at)
		t.open = append(t.open, call{e.Value, depth})
		r := t.record(Enter, at)
		r.Function, r.Depth = t.process.Functions(e.Value), depth
		return append(out, r), nil
	case wire.TraceExit:
		out = t.endAbove(out, depth, at)
		r := t.record(Exit, at)
		r.Function, r.Depth = t.process.Functions(e.Value), depth
		if n := len(t.open); n > 0 && t.open[n-1] == (call{e.Value, depth}) {
			t.open = t.open[:n-1]
		} else {
			r.CutBegin = true
		}
		return append(out, r), nil
	case wire.TraceThrown:
		r := t.record(Thrown, at)
		r.Type, r.Depth = t.process.Types(e.Value), depth
		return append(out, r), nil
	case wire.TraceCaught:
		r := t.record(Caught, at)
		r.Function, r.Depth = t.process.Functions(e.Value), depth
		return append(out, r), nil
	default:
		return out, fmt.Errorf("%w: an event of kind %d", errCorrupt, kind)
	}
}

// stream gives records in the order of time.
type stream struct {
	order  int
	ready  []Record
	thread *thread // nil: there are no more
	buffer []Record
}

// fill sees to it that a record is ready. False: there are no more.
func (s *stream) fill(store *Store) (bool, error) {
	for len(s.ready) == 0 && s.thread != nil {
		var err error
		s.buffer, err = s.thread.next(store, s.buffer[:0])
		if s.ready = s.buffer; errors.Is(err, io.EOF) {
			s.thread = nil
		} else if err != nil {
			return false, err
		}
	}
	return len(s.ready) > 0, nil
}

// queue is a heap of streams, by the time of what is ready.
type queue []*stream

// Len returns how many streams there are.
func (q queue) Len() int { return len(q) }

// Less compares two streams.
func (q queue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].ready[0].Time, q[j].ready[0].Time), cmp.Compare(q[i].order, q[j].order)) < 0
}

// Swap swaps two streams.
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push adds a stream.
func (q *queue) Push(x any) { *q = append(*q, x.(*stream)) }

// Pop removes the last stream.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// Sort brings records into the order of time; those of one moment stay as they are.
func Sort(records []Record) {
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(a.Time, b.Time) })
}
