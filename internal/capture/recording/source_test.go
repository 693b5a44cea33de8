package recording_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// source is a made-up source of one process, with two functions, of which one calls the other, and a type.
type source struct {
	t       *testing.T
	w       *session.Writer
	r       *recording.Recording
	process *recording.Process
	row     session.Process
	thread  *recording.Thread
	typ     session.TypeID
	main    session.FunctionID
	work    session.FunctionID
	module  session.ModuleID
	outer   session.NodeID // of main
	inner   session.NodeID // of work, called by it
}

func newSource(t *testing.T) *source {
	t.Helper()
	w, err := session.Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	s := &source{t: t, w: w, r: recording.New(w)}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	s.process = s.r.NewProcess()
	s.process.Join()
	s.row = session.Process{PID: 7, Name: "App", Path: "/srv/App", Arguments: "[]", RuntimeVersion: "10.0.1",
		Begin: 100, EndState: session.EndRunning}
	s.describe()
	return s
}

// describe tells what there is, as a stream of events does again whenever it begins.
func (s *source) describe() {
	p := s.process
	s.module = p.Module(session.Module{Name: "App.dll", Path: "/srv/App.dll",
		MVID: "12345678-9abc-def0-0102-030405060708"})
	s.typ = p.Type(session.Type{Module: s.module, Token: 0x02000002, Kind: session.TypeClass, RawName: "App.Thing"},
		nil)
	s.main = p.Function(session.Function{Module: s.module, Token: 0x06000001, Kind: session.FunctionMethod,
		RawType: "App.Program", RawName: "Main"}, nil)
	s.work = p.Function(session.Function{Module: s.module, Token: 0x06000002, Kind: session.FunctionMethod,
		RawType: "App.Program", RawName: "Work"}, nil)
	s.outer = p.Node(0, s.main, 0)
	s.inner = p.Node(s.outer, s.work, 0)
}

// must stops the test at the first error.
func (s *source) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

// slice writes what fn tells as a slice up to a time.
func (s *source) slice(now quantity.Nanoseconds, fn func() error) error {
	return s.r.Batch(func() error {
		s.row.End = now
		if err := errors.Join(s.process.Write(s.row), s.process.WriteThreads(now, nil), s.process.WriteNames(),
			s.process.WriteTree()); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
		return s.r.EndSlice(now)
	})
}

// check completes the session and expects no contradiction in it.
func (s *source) check() {
	s.t.Helper()
	s.must(s.w.SetState(session.Recorded), analysis.Complete(s.w))
	if found, err := analysis.Check(s.w.Session); err != nil || len(found) > 0 {
		s.t.Errorf("found %v, %v", found, err)
	}
}

func same[Row any](t *testing.T, read func() ([]Row, error), want ...Row) {
	t.Helper()
	got, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func amount(n quantity.Count, bytes quantity.Bytes) quantity.Amount {
	return quantity.Amount{Allocations: n, Bytes: bytes}
}

// TestSecondSource: what a source without an arena tells becomes a session: allocations and deaths in two slices, a
// garbage collection, a mark, a pause, what is lost and what was counted beside it.
func TestSecondSource(t *testing.T) {
	s := newSource(t)
	feed := live.NewFeed()
	s.r.Watch(feed)
	p := s.process
	s.thread = p.AddThread(session.Thread{OSID: 70, Begin: 150})
	s.must(s.slice(1000, func() error {
		p.MarkRun(&s.row, false)
		return errors.Join(p.AddSite(session.Site{Thread: s.thread.ID(), Node: s.outer, Type: s.typ}),
			p.GrowSites(0, []quantity.Amount{amount(3, 72)}, []recording.Dead{{}}), p.EndSites())
	}))
	s.describe() // nothing new
	s.r.Change(steer.Suspend, 1200)
	s.r.Change(steer.Resume, 1300)
	s.r.Mark(session.Mark{Time: 1300, Name: "half", Process: p.ID(), Source: session.MarkAPI})
	s.thread.Rename("worker")
	s.must(s.slice(2000, func() error {
		gc := recording.GC{Number: 1, Since: 1, GC: session.GC{Collected: 1, Begin: 1500, Pause: 10},
			Generations: []session.GCGeneration{{Before: amount(5, 120), Dead: amount(2, 48), Promoted: amount(3, 72)}},
			Heaps:       []session.GCHeap{{Before: amount(5, 120)}, {Generation: 1, After: amount(3, 72)}}}
		s.row.EndState = session.EndExited
		p.MarkRun(&s.row, true)
		return errors.Join(p.AddGC(&gc), p.AddSite(session.Site{Thread: s.thread.ID(), Node: s.inner, Type: s.typ}),
			p.GrowSites(0, []quantity.Amount{amount(4, 96), amount(1, 24)}, []recording.Dead{{amount(2, 48)}}),
			p.EndSites(),
			p.WriteGCs(recording.Lifetime{}), p.WriteSurvivors(),
			p.WriteLosses([]session.Loss{{Reason: session.LossGCCut, Events: 1}}),
			p.WriteLosses(nil), // it was no loss
			s.r.ReplaceCounters([]session.Counter{{ID: 1000, Name: "requests", Unit: "count", IsSum: true,
				Meaning: "made up"}}),
			s.r.AddCounterValues([]session.CounterValue{{Time: 1900, Process: p.ID(), Counter: 1000, Value: 5}}),
			p.Write(s.row))
	}))
	s.check()
	same(t, s.w.Modules, session.Module{ID: 1, Process: 1, Name: "App.dll", Path: "/srv/App.dll",
		MVID: "12345678-9abc-def0-0102-030405060708"})
	same(t, s.w.Nodes, session.Node{ID: 1, Process: 1, Function: 1},
		session.Node{ID: 2, Parent: 1, Process: 1, Function: 2})
	same(t, s.w.Threads, session.Thread{ID: 1, Process: 1, OSID: 70, Name: "worker", Begin: 150, End: 2000})
	same(t, s.w.Slices, session.Slice{ID: 1, End: 1000}, session.Slice{ID: 2, Begin: 1000, End: 2000})
	same(t, s.w.SiteValues, session.SiteValue{Slice: 1, Site: 1, Amount: amount(3, 72)},
		session.SiteValue{Slice: 2, Site: 1, Amount: amount(1, 24)},
		session.SiteValue{Slice: 2, Site: 2, Amount: amount(1, 24)})
	same(t, s.w.SiteDeaths, session.SiteDeath{Slice: 2, Site: 1, Amount: amount(2, 48)})
	same(t, s.w.Pauses, session.Pause{ID: 1, Level: session.LevelGlobal, Begin: 1200, End: 1300})
	same(t, s.w.Marks, session.Mark{ID: 1, Time: 100, Name: session.MarkBegin, Text: "App", Process: 1,
		Source: session.MarkProgram},
		session.Mark{ID: 2, Time: 1300, Name: "half", Process: 1, Source: session.MarkAPI},
		session.Mark{ID: 3, Time: 2000, Name: session.MarkEnd, Text: "App", Process: 1, Source: session.MarkProgram})
	tellsMarks(t, feed, `{"rows":[{"at_ns":1300,"name":"half","text":"","source":"api"}],"left_out":0,"total":1}`)
	same(t, s.w.Losses)
	if have, want := s.r.Totals(), (recording.Totals{Amount: amount(5, 120), GCs: 1}); have != want {
		t.Errorf("in all %+v, not %+v", have, want)
	}
	values, err := s.w.FunctionValues()
	s.must(err)
	if len(values) != 2 || values[0].Inclusive != amount(5, 120) || values[1].Exclusive != amount(1, 24) {
		t.Errorf("functions have %+v", values)
	}
}

// tellsMarks checks which marks are reported to watchers: those that somebody made.
func tellsMarks(t *testing.T, feed *live.Feed, want string) {
	t.Helper()
	w, err := feed.Watch(0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := feed.Publish(&live.State{Time: 2000}, true); err != nil {
		t.Fatal(err)
	}
	m, err := w.Next(t.Context())
	if err != nil || !strings.Contains(string(m.JSON), `"marks":`+want) {
		t.Errorf("reported %s, %v, not of marks %s", m.JSON, err, want)
	}
}

// TestSecondSourceTime: calls and times of a source without an arena, in two slices, the second of which ends with a
// call that runs.
func TestSecondSourceTime(t *testing.T) {
	s := newSource(t)
	p := s.process
	s.thread = p.AddThread(session.Thread{OSID: 70, Begin: 150})
	s.must(s.slice(1000, func() error {
		var errs [2]error
		_, errs[0] = p.Timing(s.thread.ID(), s.outer)
		_, errs[1] = p.Timing(s.thread.ID(), s.inner)
		return errors.Join(errs[0], errs[1],
			p.WriteTime(session.ProcessTime{Clock: session.ClockMonotonic, TicksPerSec: 1e9,
				Instrument: session.InstrumentAll}),
			p.WriteTimings(), p.GrowTimings([]int32{0, 1}, []session.TimingValue{{Calls: 1, Made: 2, Elapsed: 300},
				{Calls: 2, Ended: 2, Elapsed: 100}}, false), p.WriteGrown())
	}))
	if i, err := p.Timing(s.thread.ID(), s.inner); i != 1 || err != nil {
		t.Errorf("the second timing is now %d, %v", i, err)
	}
	extremes := session.Extremes{ElapsedInclusive: session.Range{Min: 50, Max: 50},
		ElapsedExclusive:     session.Range{Min: 50, Max: 50},
		ApplicationInclusive: session.Range{Min: 50, Max: 50}, ApplicationExclusive: session.Range{Min: 50, Max: 50},
		CPUInclusive: session.Range{Min: 50, Max: 50}, CPUExclusive: session.Range{Min: 50, Max: 50}}
	s.must(s.slice(2000, func() error {
		return errors.Join(p.GrowTimings([]int32{0, 1}, []session.TimingValue{{Calls: 1, Made: 3, Elapsed: 900},
			{Calls: 3, Ended: 3, Elapsed: 150}}, true), p.WriteGrown(),
			p.ReplaceExtremes([]session.TimingExtreme{{Timing: p.TimingID(1), Extremes: extremes}}),
			p.WriteRunning([]session.TimingRunning{{Timing: p.TimingID(0), Calls: 1}}))
	}))
	s.check()
	same(t, s.w.TimingValues, session.TimingValue{Slice: 1, Timing: 1, Calls: 1, Made: 2, Elapsed: 300},
		session.TimingValue{Slice: 1, Timing: 2, Calls: 2, Ended: 2, Elapsed: 100},
		session.TimingValue{Slice: 2, Timing: 1, Made: 1, Elapsed: 600},
		session.TimingValue{Slice: 2, Timing: 2, Calls: 1, Ended: 1, Elapsed: 50})
	if have, want := s.r.Totals(), (recording.Totals{Calls: 7, Elapsed: 1050}); have != want {
		t.Errorf("in all %+v, not %+v", have, want)
	}
}

// TestShrunk: what a program cannot have counted is an error, and nothing of its slice is in the session.
func TestShrunk(t *testing.T) {
	s := newSource(t)
	p := s.process
	s.thread = p.AddThread(session.Thread{OSID: 70, Begin: 150})
	s.must(s.slice(1000, func() error {
		return errors.Join(p.AddSite(session.Site{Thread: s.thread.ID(), Node: s.outer, Type: s.typ}),
			p.GrowSites(0, []quantity.Amount{amount(3, 72)}, nil), p.EndSites())
	}))
	for _, total := range []quantity.Amount{amount(2, 72), amount(3, 71), amount(3, recording.MaxCounter+1)} {
		if err := s.slice(2000, func() error {
			return p.GrowSites(0, []quantity.Amount{total}, nil)
		}); !errors.Is(err, recording.ErrInconsistent) {
			t.Errorf("%v after three objects: %v", total, err)
		}
	}
	s.check()
	same(t, s.w.Slices, session.Slice{ID: 1, End: 1000})
}
