package collect_test

import (
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// checkSums compares the sums of the recording with those of the rows in its session, and completes a copy of that with
// them, which must be as if it had been computed from the rows.
func (r *recordingTest) checkSums() {
	r.t.Helper()
	values, err := r.writer.TimingValues()
	if err != nil {
		r.t.Fatal(err)
	}
	want := map[session.TimingID]session.TimingValue{}
	for _, v := range values {
		sum := want[v.Timing]
		want[v.Timing] = session.TimingValue{Timing: v.Timing, Calls: sum.Calls + v.Calls, Ended: sum.Ended + v.Ended,
			Made: sum.Made + v.Made, Elapsed: sum.Elapsed + v.Elapsed, Waited: sum.Waited + v.Waited,
			Waits: sum.Waits.Add(v.Waits)}
	}
	got := map[session.TimingID]session.TimingValue{}
	r.recorder.Sums().EachTiming(func(id session.TimingID, calls, made quantity.Count, elapsed quantity.Nanoseconds) {
		got[id] = session.TimingValue{Timing: id, Calls: calls, Ended: calls, Made: made, Elapsed: elapsed}
	}, func(v *session.TimingValue) { got[v.Timing] = *v })
	if !maps.Equal(want, got) { // cmp.Diff takes a hundred times as long to find that nothing differs
		r.t.Errorf("sums of timings (-want +got):\n%s", cmp.Diff(want, got))
	}

	folded, err := r.writer.TimingInclusives()
	if err != nil {
		r.t.Fatal(err)
	}
	wantFolded := map[session.TimingID]session.TimingInclusive{}
	for _, v := range folded {
		sum := wantFolded[v.Timing]
		wantFolded[v.Timing] = session.TimingInclusive{Timing: v.Timing, Times: sum.Times + v.Times,
			Calls: sum.Calls + v.Calls, Elapsed: sum.Elapsed + v.Elapsed, Waited: sum.Waited + v.Waited,
			Waits: sum.Waits.Add(v.Waits), EachCalls: sum.EachCalls + v.EachCalls,
			EachElapsed: sum.EachElapsed + v.EachElapsed, EachWaited: sum.EachWaited + v.EachWaited,
			EachOffCPU: sum.EachOffCPU + v.EachOffCPU}
	}
	gotFolded := map[session.TimingID]session.TimingInclusive{}
	r.recorder.Sums().EachInclusive(func(id session.TimingID, times, calls quantity.Count, elapsed quantity.Nanoseconds,
		each bool) {
		v := session.TimingInclusive{Timing: id, Times: times, Calls: calls, Elapsed: elapsed}
		if each {
			v.EachCalls, v.EachElapsed = calls, elapsed
		}
		gotFolded[id] = v
	}, func(v *session.TimingInclusive) { gotFolded[v.Timing] = *v })
	if !maps.Equal(wantFolded, gotFolded) {
		r.t.Errorf("sums of folded calls (-want +got):\n%s", cmp.Diff(wantFolded, gotFolded))
	}
	nodes, err := r.writer.Nodes()
	if err != nil {
		r.t.Fatal(err)
	}
	timings, err := r.writer.Timings()
	gotNodes, gotTimings := r.recorder.Sums().Rows()
	if len(timings) > 0 && gotNodes == nil {
		r.t.Error("there are timings, and the recording knows no nodes")
	}
	if gotNodes != nil && (!slices.Equal(nodes, gotNodes) || !slices.Equal(timings, gotTimings)) {
		r.t.Errorf("nodes (-want +got):\n%s\ntimings:\n%s", cmp.Diff(nodes, gotNodes), cmp.Diff(timings, gotTimings))
	}
	if n := r.recorder.Sums().Timings(); err != nil || n != len(timings) {
		r.t.Errorf("%d timings, %d sums: %v", len(timings), n, err)
	}
	w, err := r.writer.InMemory()
	if err != nil {
		r.t.Fatal(err)
	}
	defer w.Close()
	if err := analysis.CompleteWith(w, analysis.Completion{Counted: r.recorder.Sums()}); err != nil {
		r.t.Fatal(err)
	}
	violations, err := analysis.Check(w.Session)
	for _, v := range violations {
		if v.Rule == "stored" {
			r.t.Errorf("completed with the sums: %v", v)
		}
	}
	if err != nil {
		r.t.Error(err)
	}
}
