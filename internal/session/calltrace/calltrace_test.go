package calltrace

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/wire"
)

func enter(at uint64, function, depth uint32) wire.TraceEvent {
	return wire.TraceEvent{Ticks: at, Value: function, What: depth<<wire.TraceKindBits | wire.TraceEnter}
}

func exit(at uint64, function, depth uint32) wire.TraceEvent {
	return wire.TraceEvent{Ticks: at, Value: function, What: depth<<wire.TraceKindBits | wire.TraceExit}
}

func encoded(events ...wire.TraceEvent) []byte {
	var b []byte
	for _, e := range events {
		b, _ = binary.Append(b, binary.LittleEndian, e)
	}
	return b
}

var one = Key{PID: 7, Start: 100}

func add(s *Store, thread uint32, sequence uint64, events ...wire.TraceEvent) {
	s.Add(one, wire.TraceChunkHead{Thread: thread, Used: uint32(len(events)), Kept: wire.TraceAllKept, Sequence: sequence},
		encoded(events...))
}

// recorded is a store of one process, whose ids are those of the session but for 100 more, and whose ticks are
// nanoseconds.
func recorded(s *Store) *Recorded {
	more := func(id uint32) int64 { return int64(id) + 100 }
	return &Recorded{Store: s, Processes: []Process{{Key: one, ID: 1, Functions: more, Types: more, Threads: more,
		Time: func(ticks uint64) (int64, error) { return int64(ticks), nil }}}}
}

func newStore(t *testing.T, max int64) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "events"), max, First)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func records(t *testing.T, r *Recorded, others ...Record) ([]Record, Totals) {
	t.Helper()
	var out []Record
	totals, err := r.Records(others, func(r *Record) error {
		out = append(out, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, totals
}

func compare(t *testing.T, what string, want, have any) {
	t.Helper()
	if d := cmp.Diff(want, have, cmpopts.EquateErrors()); d != "" {
		t.Errorf("%s (-want +have)\n%s", what, d)
	}
}

// TestMerged: threads are merged by time, chunks of a thread by their sequence, in whatever order they came.
func TestMerged(t *testing.T) {
	s := newStore(t, math.MaxInt64)
	add(s, 1, 3, exit(50, 9, 1))
	add(s, 2, 2, enter(20, 8, 1), exit(20, 8, 1))
	add(s, 1, 1, enter(10, 9, 1), enter(20, 5, 2), exit(30, 5, 2))
	add(s, 1, 1, enter(10, 9, 1)) // it was there, before the writer was killed
	have, totals := records(t, recorded(s), Record{Kind: Mark, Time: 20, Name: "m"})
	compare(t, "records", []Record{
		{Kind: Enter, Time: 10, Process: 1, Thread: 101, Function: 109, Depth: 1},
		{Kind: Mark, Time: 20, Name: "m"},
		{Kind: Enter, Time: 20, Process: 1, Thread: 101, Function: 105, Depth: 2},
		{Kind: Enter, Time: 20, Process: 1, Thread: 102, Function: 108, Depth: 1},
		{Kind: Exit, Time: 20, Process: 1, Thread: 102, Function: 108, Depth: 1},
		{Kind: Exit, Time: 30, Process: 1, Thread: 101, Function: 105, Depth: 2},
		{Kind: Exit, Time: 50, Process: 1, Thread: 101, Function: 109, Depth: 1},
	}, have)
	compare(t, "totals", Totals{Events: 6}, totals)
}

// TestGap: of calls that ended while events were lost the end is where the gap begins; those whose beginning was
// lost are marked as such; what was on the stack all the time goes on.
func TestGap(t *testing.T) {
	s := newStore(t, math.MaxInt64)
	add(s, 1, 1, enter(10, 1, 1), enter(11, 2, 2), enter(12, 3, 3))
	// lost: the ends of 3 and 2, a call of 2 that ends, and one of 4 that goes on
	s.Add(one, wire.TraceChunkHead{Thread: 1, Used: 3, Kept: 1, Sequence: 2, Lost: 5, LostTicks: 20},
		encoded(exit(40, 4, 2), enter(41, 2, 2), exit(42, 2, 2)))
	r := recorded(s)
	r.Processes[0].Lost = map[uint32]Missed{1: {Events: 7, Ticks: 50}, 3: {Events: 1, Ticks: 60}}
	have, totals := records(t, r)
	compare(t, "records", []Record{
		{Kind: Enter, Time: 10, Process: 1, Thread: 101, Function: 101, Depth: 1},
		{Kind: Enter, Time: 11, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: Enter, Time: 12, Process: 1, Thread: 101, Function: 103, Depth: 3},
		{Kind: Exit, Time: 20, Process: 1, Thread: 101, Function: 103, Depth: 3, CutEnd: true},
		{Kind: Exit, Time: 20, Process: 1, Thread: 101, Function: 102, Depth: 2, CutEnd: true},
		{Kind: Gap, Time: 20, Process: 1, Thread: 101, Lost: 5, Until: 40},
		{Kind: Exit, Time: 40, Process: 1, Thread: 101, Function: 104, Depth: 2, CutBegin: true},
		{Kind: Enter, Time: 41, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: Exit, Time: 42, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: Gap, Time: 50, Process: 1, Thread: 101, Lost: 2},
		{Kind: Gap, Time: 60, Process: 1, Thread: 103, Lost: 1},
	}, have)
	compare(t, "totals", Totals{Events: 6, Missed: 8, Open: 1}, totals)
}

func acted(thread, at, until int64) Record {
	return Record{Kind: System, Time: at, Until: until, Process: 1, Thread: thread, At: int(until)}
}

// TestSystem: what the operating system did is within the interval of its thread, also where its begin is rounded to
// before that or the exception is in the middle of it; while events are lost, after the last one, and where there is
// none.
func TestSystem(t *testing.T) {
	s := newStore(t, math.MaxInt64)
	add(s, 1, 1, enter(10, 1, 1), enter(20, 2, 2), wire.TraceEvent{Ticks: 25, Value: 3, What: 2<<wire.TraceKindBits | wire.TraceThrown},
		exit(30, 2, 2))
	s.Add(one, wire.TraceChunkHead{Thread: 1, Used: 1, Kept: 0, Sequence: 2, Lost: 2, LostTicks: 40}, encoded(exit(60, 1, 1)))
	r := recorded(s)
	r.Processes[0].Lost = map[uint32]Missed{1: {Events: 3, Ticks: 80}}
	have, totals := records(t, r, acted(101, 70, 75), acted(101, 9, 20), acted(101, 21, 30), Record{Kind: Mark, Time: 21, Name: "m"},
		acted(101, 35, 40), acted(101, 41, 50), acted(101, 84, 90), acted(101, 80, 85), acted(109, 1, 100))
	compare(t, "records", []Record{
		{Kind: System, Time: 1, Process: 1, Thread: 109, Until: 100, At: 100},
		{Kind: Enter, Time: 10, Process: 1, Thread: 101, Function: 101, Depth: 1},
		{Kind: System, Time: 10, Process: 1, Thread: 101, Until: 20, At: 20},
		{Kind: Enter, Time: 20, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: Mark, Time: 21, Name: "m"},
		{Kind: System, Time: 21, Process: 1, Thread: 101, Until: 30, At: 30},
		{Kind: Thrown, Time: 25, Process: 1, Thread: 101, Type: 103, Depth: 2},
		{Kind: Exit, Time: 30, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: System, Time: 35, Process: 1, Thread: 101, Until: 40, At: 40},
		{Kind: Exit, Time: 40, Process: 1, Thread: 101, Function: 101, Depth: 1, CutEnd: true},
		{Kind: Gap, Time: 40, Process: 1, Thread: 101, Lost: 2, Until: 60},
		{Kind: System, Time: 41, Process: 1, Thread: 101, Until: 50, At: 50},
		{Kind: Exit, Time: 60, Process: 1, Thread: 101, Function: 101, Depth: 1, CutBegin: true},
		{Kind: System, Time: 70, Process: 1, Thread: 101, Until: 75, At: 75},
		{Kind: Gap, Time: 80, Process: 1, Thread: 101, Lost: 1},
		{Kind: System, Time: 80, Process: 1, Thread: 101, Until: 85, At: 85},
		{Kind: System, Time: 85, Process: 1, Thread: 101, Until: 90, At: 90},
	}, have)
	compare(t, "totals", Totals{Events: 5, Missed: 3, System: 8}, totals)
}

// TestSystemOfLast: of a thread of which the last events are kept there is what the operating system did since the
// first of these, and the rest is counted, also that of threads of which none is kept.
func TestSystemOfLast(t *testing.T) {
	s := ring(t, 1)
	add(s, 1, 1, enter(1, 1, 1), enter(2, 2, 2))
	add(s, 1, 2, exit(8, 2, 2), exit(9, 1, 1))
	have, totals := records(t, recorded(s), acted(101, 1, 2), acted(101, 2, 8), acted(101, 8, 9), acted(102, 3, 9))
	compare(t, "records", []Record{
		{Kind: Gap, Time: 8, Process: 1, Thread: 101, Lost: 2, Until: 8, First: true},
		{Kind: Exit, Time: 8, Process: 1, Thread: 101, Function: 102, Depth: 2, CutBegin: true},
		{Kind: System, Time: 8, Process: 1, Thread: 101, Until: 9, At: 9},
		{Kind: Exit, Time: 9, Process: 1, Thread: 101, Function: 101, Depth: 1, CutBegin: true},
	}, have)
	compare(t, "totals", Totals{Events: 2, Keeps: Last, Dropped: Lost{Events: 2, Limit: true, First: true}, System: 1,
		SystemBefore: 3}, totals)
}

// TestLimit: a store keeps what there is room for, and nothing after that.
func TestLimit(t *testing.T) {
	s := newStore(t, 3*EventSize)
	add(s, 1, 1, enter(1, 1, 1), exit(2, 1, 1))
	add(s, 1, 2, enter(3, 1, 1), exit(4, 1, 1))
	add(s, 2, 3, enter(5, 1, 1))
	if !s.Full() || s.Events() != 3 || s.DroppedOf(one) != 2 {
		t.Errorf("%d events, %d of them dropped", s.Events(), s.DroppedOf(one))
	}
	have, totals := records(t, recorded(s))
	compare(t, "totals", Totals{Events: 3, Dropped: Lost{Events: 2, Limit: true}, Open: 1}, totals)
	if len(have) != 3 {
		t.Errorf("%d records", len(have))
	}
}

// ring is a store with room for n chunks.
func ring(t *testing.T, n int64) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "events"), n*placeBytes, Last)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestLast: of one that keeps the last events the block goes whose last event is the oldest, also if it is the one that
// comes; the trace begins where its events do, each thread says how many it had before, and marks before that are left
// out.
func TestLast(t *testing.T) {
	s := ring(t, 2)
	add(s, 1, 1, enter(1, 1, 1), enter(2, 2, 2))
	add(s, 1, 2, exit(8, 2, 2), enter(9, 2, 2))
	add(s, 2, 4, enter(5, 7, 1), exit(6, 7, 1)) // ended later: newer than the first of thread 1
	add(s, 1, 3, exit(20, 2, 2), exit(21, 1, 1))
	add(s, 3, 5, enter(1, 8, 1)) // older than all
	r := recorded(s)
	r.Processes[0].Lost = map[uint32]Missed{3: {Events: 1, Ticks: 4}}
	have, totals := records(t, r, Record{Kind: Mark, Time: 7, Name: "early"}, Record{Kind: Mark, Time: 8, Name: "m"})
	compare(t, "records", []Record{
		{Kind: Mark, Time: 8, Name: "m"},
		{Kind: Gap, Time: 8, Process: 1, Thread: 101, Lost: 2, Until: 8, First: true},
		{Kind: Exit, Time: 8, Process: 1, Thread: 101, Function: 102, Depth: 2, CutBegin: true},
		{Kind: Enter, Time: 9, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: Exit, Time: 20, Process: 1, Thread: 101, Function: 102, Depth: 2},
		{Kind: Exit, Time: 21, Process: 1, Thread: 101, Function: 101, Depth: 1, CutBegin: true},
	}, have)
	compare(t, "totals", Totals{Events: 4, Keeps: Last, Dropped: Lost{Events: 5, Limit: true, First: true}, Missed: 1}, totals)
	if s.Full() || s.DroppedOf(one) != 5 {
		t.Errorf("full %t, %d events dropped", s.Full(), s.DroppedOf(one))
	}
}

// TestLastOfMany: whatever comes, a store keeps the last events of each thread and counts the others, and so does one
// whose writer was killed.
func TestLastOfMany(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		places := rapid.IntRange(1, 5).Draw(rt, "places")
		s := ring(t, int64(places))
		var came [4][]uint64 // by thread
		sequence, now := uint64(0), uint64(0)
		for range rapid.IntRange(0, 30).Draw(rt, "chunks") {
			thread := rapid.IntRange(0, 3).Draw(rt, "thread")
			var events []wire.TraceEvent
			for range rapid.IntRange(1, 4).Draw(rt, "events") {
				now += uint64(rapid.IntRange(0, 2).Draw(rt, "time"))
				events = append(events, wire.TraceEvent{Ticks: now, Value: 1, What: wire.TraceThrown})
				came[thread] = append(came[thread], now)
			}
			sequence++
			add(s, uint32(thread+1), sequence, events...)
		}
		again, err := Open(s.Path())
		if err != nil {
			rt.Fatal(err)
		}
		defer again.Close()
		for _, s := range []*Store{s, again} {
			checkLast(rt, s, came, places)
		}
	})
}

func checkLast(t *rapid.T, s *Store, came [4][]uint64, places int) {
	var kept [4][]uint64
	var before [4]uint64
	totals, err := recorded(s).Records(nil, func(r *Record) error {
		if r.Kind == Gap {
			before[r.Thread-101] = r.Lost
		} else {
			kept[r.Thread-101] = append(kept[r.Thread-101], uint64(r.Time))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all, there := 0, 0
	for i, events := range came {
		all, there = all+len(events), there+len(kept[i])
		if n := len(events) - len(kept[i]); !slices.Equal(events[n:], kept[i]) || len(kept[i]) > 0 && before[i] != uint64(n) {
			t.Fatalf("thread %d has %v and says %d before, of %v", i+1, kept[i], before[i], events)
		}
	}
	if len(s.ordered()) > places || totals.Events != uint64(there) || totals.Dropped.Events != uint64(all-there) ||
		s.DroppedOf(one) != uint64(all-there) {
		t.Fatalf("%d blocks, %+v, %d of the process: want %d of %d", len(s.ordered()), totals, s.DroppedOf(one), there, all)
	}
}

// TestLastReopened: a store that keeps the last events, whose writer was killed anywhere while it wrote, has the blocks
// that are whole, takes again what was being written, and knows how much there was before.
func TestLastReopened(t *testing.T) {
	s := ring(t, 2)
	for i := range uint64(5) {
		add(s, 1, i+1, enter(i, 1, 1), exit(i, 1, 1))
	}
	whole, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	add(s, 1, 6, enter(6, 1, 1), exit(6, 1, 1))
	want, totals := records(t, recorded(s))
	for _, stage := range []int{0, 1, 2} {
		b := slices.Clone(whole)
		place := firstBlock + placeSize // of 5 is the first one, of 4 and now 6 the second
		if stage > 0 {
			copy(b[place:], encodeHead(&block{}))
		}
		if stage > 1 {
			copy(b[place+headSize:], encoded(enter(6, 1, 1)))
		}
		path := filepath.Join(t.TempDir(), "events")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		add(again, 1, 5, enter(4, 1, 1), exit(4, 1, 1)) // as the arena has it still
		add(again, 1, 6, enter(6, 1, 1), exit(6, 1, 1))
		have, found := records(t, recorded(again))
		compare(t, "records", want, have)
		compare(t, "totals", totals, found)
		again.Close()
	}
}

// TestFailing: when the file cannot be written the rest is counted, with the reason.
func TestFailing(t *testing.T) {
	s := newStore(t, math.MaxInt64)
	add(s, 1, 1, enter(1, 1, 1))
	s.file.Close()
	add(s, 1, 2, exit(2, 1, 1))
	if d := s.Dropped(); d.Events != 1 || !errors.Is(d.Err, os.ErrClosed) || d.Limit {
		t.Errorf("%+v", d)
	}
}

// TestReopened: a store whose writer was killed has all blocks that are complete, and takes more.
func TestReopened(t *testing.T) {
	s := newStore(t, math.MaxInt64)
	add(s, 1, 1, enter(1, 1, 1))
	whole := s.size
	add(s, 1, 2, exit(2, 1, 1))
	for size := whole; size < s.size; size++ {
		path := filepath.Join(t.TempDir(), "cut")
		b, err := os.ReadFile(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		add(again, 1, 1, enter(1, 1, 1)) // as the arena has it still
		add(again, 1, 2, exit(2, 1, 1))
		have, _ := records(t, recorded(again))
		want, _ := records(t, recorded(s))
		compare(t, "records", want, have)
		again.Close()
	}
}

// TestCorrupt: what is no store, or speaks of what nobody knows, is an error.
func TestCorrupt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(path, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, errCorrupt) {
		t.Error(err)
	}
	for name, change := range map[string]func(r *Recorded){
		"process": func(r *Recorded) { r.Processes[0].Key.PID = 8 },
		"thread":  func(r *Recorded) { r.Processes[0].Threads = func(uint32) int64 { return 0 } },
		"time":    func(r *Recorded) { r.Processes[0].Time = func(uint64) (int64, error) { return 0, errCorrupt } },
	} {
		s := newStore(t, math.MaxInt64)
		add(s, 1, 1, enter(1, 1, 1))
		r := recorded(s)
		change(r)
		if _, err := r.Records(nil, func(*Record) error { return nil }); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := newStore(t, math.MaxInt64)
	add(s, 1, 1, wire.TraceEvent{What: 7})
	if _, err := recorded(s).Records(nil, func(*Record) error { return nil }); !errors.Is(err, errCorrupt) {
		t.Errorf("kind: %v", err)
	}
}

// FuzzStore: whatever a file holds, it is refused, or its records are in order and nest: a call ends where it is the
// innermost one.
func FuzzStore(f *testing.F) {
	s, err := Create(filepath.Join(f.TempDir(), "seed"), math.MaxInt64, First)
	if err != nil {
		f.Fatal(err)
	}
	add(s, 1, 1, enter(10, 9, 1), enter(20, 5, 2), exit(30, 5, 2))
	s.Add(one, wire.TraceChunkHead{Thread: 1, Used: 1, Kept: 0, Sequence: 2, Lost: 5, LostTicks: 20}, encoded(exit(40, 4, 2)))
	seed, err := os.ReadFile(s.Path())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	ring, err := Create(filepath.Join(f.TempDir(), "ring"), 0, Last)
	if err != nil {
		f.Fatal(err)
	}
	add(ring, 1, 1, enter(10, 9, 1))
	add(ring, 1, 2, enter(20, 9, 2))
	if seed, err = os.ReadFile(ring.Path()); err != nil {
		f.Fatal(err)
	}
	f.Add(seed[:firstBlock+headSize+EventSize])
	// One file for all: to make and remove a directory takes longer than what is tested.
	path := filepath.Join(f.TempDir(), "events")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err != nil {
			return
		}
		defer s.Close()
		last, open := int64(math.MinInt64), map[int64][]int64{}
		_, _ = recorded(s).Records(nil, func(r *Record) error { // an error is what a damaged file may end with
			if r.Time < last {
				t.Fatalf("%+v after %d", r, last)
			}
			last = r.Time
			switch stack := open[r.Thread]; {
			case r.Kind == Enter:
				open[r.Thread] = append(stack, r.Function)
			case r.Kind == Exit && !r.CutBegin:
				if len(stack) == 0 || stack[len(stack)-1] != r.Function {
					t.Fatalf("%+v ends within %v", r, stack)
				}
				open[r.Thread] = stack[:len(stack)-1]
			}
			return nil
		})
	})
}
