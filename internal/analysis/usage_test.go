package analysis

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestUsage: what processes used is the difference between two samples, in sum over those that had both.
func TestUsage(t *testing.T) {
	b := sessiontest.Several()
	b.Counters = []session.Counter{{ID: 1, Name: counterCPUUser, Unit: "ns", IsSum: true},
		{ID: 2, Name: counterCPUSystem, Unit: "ns", IsSum: true},
		{ID: 3, Name: counterResident, Unit: "bytes"}, {ID: 7, Name: counterThreads, Unit: "count"},
		{ID: 19, Name: counterMachineBusy, Unit: "ns", IsSum: true}}
	b.CounterValues = []session.CounterValue{
		{Time: 100, Process: 0, Counter: 19, Value: 1000},
		{Time: 100, Process: 1, Counter: 1, Value: 30}, {Time: 100, Process: 1, Counter: 2, Value: 10},
		{Time: 100, Process: 1, Counter: 3, Value: 4096}, {Time: 100, Process: 1, Counter: 7, Value: 9},
		{Time: 250, Process: 1, Counter: 1, Value: 80}, {Time: 250, Process: 1, Counter: 2, Value: 10},
		{Time: 250, Process: 1, Counter: 7, Value: 8},
		{Time: 250, Process: 2, Counter: 1, Value: 25}, {Time: 250, Process: 2, Counter: 7, Value: 3},
		{Time: 250, Process: 2, Counter: 3, Value: 100},
		{Time: 300, Process: 2, Counter: 1, Value: 20}, // as of a damaged session: a sum that shrinks
	}
	s := open(t, b, filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	got, err := Usage(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []Used{{Begin: 0, End: 100, CPU: 40, Threads: 9, Resident: 4096},
		{Begin: 100, End: 250, CPU: 75, Threads: 11, Resident: 100}, {Begin: 250, End: 300}}
	if diff := differ.Of(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestCounterPoints: levels are added up over processes, sums are differences between samples; the two counters of
// processor time are what Usage says of them.
func TestCounterPoints(t *testing.T) {
	b := sessiontest.Several()
	b.Counters = []session.Counter{{ID: 1, Name: counterCPUUser, Unit: "ns", IsSum: true},
		{ID: 2, Name: counterCPUSystem, Unit: "ns", IsSum: true},
		{ID: 3, Name: counterResident, Unit: "bytes"}, {ID: 19, Name: counterMachineBusy, Unit: "ns", IsSum: true},
		{ID: 1000, Name: "shop.load", Unit: "%"}}
	b.CounterValues = []session.CounterValue{
		{Time: 100, Process: 0, Counter: 19, Value: 1000}, {Time: 250, Process: 0, Counter: 19, Value: 1200},
		{Time: 300, Process: 0, Counter: 19, Value: 1100},
		{Time: 100, Process: 1, Counter: 1, Value: 30}, {Time: 100, Process: 1, Counter: 2, Value: 10},
		{Time: 100, Process: 1, Counter: 3, Value: 4096},
		{Time: 250, Process: 1, Counter: 1, Value: 80}, {Time: 250, Process: 1, Counter: 2, Value: 10},
		{Time: 250, Process: 1, Counter: 3, Value: 8192},
		{Time: 250, Process: 2, Counter: 1, Value: 25}, {Time: 250, Process: 2, Counter: 2, Value: 4},
		{Time: 250, Process: 2, Counter: 3, Value: 100},
		{Time: 300, Process: 1, Counter: 1000, Value: 2, Fraction: 0.5},
	}
	s := open(t, b, filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	usage, err := Usage(s)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]CounterPoint{}
	for _, c := range b.Counters {
		var of session.Counter
		if of, got[c.Name], err = CounterPoints(s, c.Name); err != nil || of.Unit != c.Unit {
			t.Fatal(of, err)
		}
	}
	want := map[string][]CounterPoint{
		counterCPUUser: {{0, 100, 30}, {100, 250, 75}}, counterCPUSystem: {{0, 100, 10}, {100, 250, 4}},
		counterResident: {{0, 100, 4096}, {100, 250, 8292}}, counterMachineBusy: {{100, 100, 0}, {100, 250, 200},
			{250, 300, 0}}, "shop.load": {{0, 300, 2.5}},
	}
	if diff := differ.Of(want, got); diff != "" {
		t.Error(diff)
	}
	for i, u := range usage {
		if i < 2 && float64(u.CPU) != got[counterCPUUser][i].Value+got[counterCPUSystem][i].Value {
			t.Errorf("usage %v, counters %v", u, got)
		}
	}
	var unknown *TermError
	if _, _, err := CounterPoints(s, "process.wings"); !errors.As(err, &unknown) || len(unknown.Names) != 5 {
		t.Error(err)
	}
}

// TestStolen: what the host took is what grew between the samples.
func TestStolen(t *testing.T) {
	b := sessiontest.Several()
	for _, tt := range []struct {
		counters     []session.Counter
		used, stolen q.Nanoseconds
	}{
		{},
		{counters: []session.Counter{{ID: 19, Name: counterMachineBusy, Unit: "ns", IsSum: true}}, used: 300},
		{counters: []session.Counter{{ID: 19, Name: counterMachineBusy, Unit: "ns", IsSum: true},
			{ID: 23, Name: counterMachineStolen, Unit: "ns", IsSum: true}}, used: 300, stolen: 45},
	} {
		b.Counters, b.CounterValues = tt.counters, nil
		for _, v := range []session.CounterValue{
			{Time: 100, Counter: 19, Value: 1000}, {Time: 200, Counter: 19, Value: 1100}, {Time: 300, Counter: 19, Value: 1300},
			{Time: 100, Counter: 23, Value: 70}, {Time: 200, Counter: 23, Value: 70}, {Time: 300, Counter: 23, Value: 115},
		} {
			if slices.ContainsFunc(tt.counters, func(c session.Counter) bool { return c.ID == v.Counter }) {
				b.CounterValues = append(b.CounterValues, v)
			}
		}
		s := open(t, b, filepath.Join(t.TempDir(), "a"))
		used, stolen, err := Stolen(s)
		if err != nil || used != tt.used || stolen != tt.stolen {
			t.Errorf("%v: used %v, stolen %v, %v; want %v and %v", tt.counters, used, stolen, err, tt.used, tt.stolen)
		}
		s.Close()
	}
}
