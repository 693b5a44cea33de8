package analysis

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func amountOf(n q.Count, bytes q.Bytes) q.Amount { return q.Amount{Allocations: n, Bytes: bytes} }

// TestLifetimeValues compares the lifetimes of the sample's types with what the sample says of itself.
func TestLifetimeValues(t *testing.T) {
	s := open(t, sessiontest.Aging(), filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	lifetimes, err := v.Lifetimes()
	if err != nil {
		t.Fatal(err)
	}
	types, err := s.Types()
	if err != nil {
		t.Fatal(err)
	}
	byType, got := lifetimes.Types(), map[string]Lifetime{}
	for _, r := range types {
		got[r.Name] = byType[r.ID]
	}
	dead := func(generation int, n q.Count, bytes q.Bytes) (l Lifetime) {
		l.Dead[generation] = amountOf(n, bytes)
		l.Born = l.Dead[generation]
		return l
	}
	tables := dead(session.GenerationLarge, 2, 200_000)
	tables.Born = tables.Born.Add(amountOf(1, 8184))
	killed := dead(0, 25, 600)
	killed.Born = amountOf(50, 1200)
	want := map[string]Lifetime{"Aging.Buffer": dead(0, 1000, 64_000), "Aging.Message": dead(1, 40, 1280),
		"Aging.Cache.Entry": dead(2, 30, 1440),
		"Aging.Table[]":     tables, "Aging.Item": {Born: amountOf(40, 1600)}, "string": {Born: amountOf(3, 120)},
		"Killed.Thing": killed}
	if diff := differ.Of(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if alive := killed.Alive(); alive != amountOf(25, 600) {
		t.Errorf("alive: %v", alive)
	}
	growing, err := lifetimes.Growing()
	if err != nil {
		t.Fatal(err)
	}
	if len(growing) != 1 || lifetimes.Sites()[growing[0]].Born != amountOf(40, 1600) {
		t.Errorf("growing: %v, want the site of the items", growing)
	}
}

// TestLifetimesInTime: what died in a span of time was not always born in it.
func TestLifetimesInTime(t *testing.T) {
	s := open(t, sessiontest.Aging(), filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	v, err := Open(s, Selection{Processes: []session.ProcessID{1}, From: 3e9})
	if err != nil {
		t.Fatal(err)
	}
	lifetimes, err := v.Lifetimes()
	if err != nil {
		t.Fatal(err)
	}
	want := Lifetime{Born: amountOf(410, 26_000)}
	want.Dead = [session.Generations]q.Amount{amountOf(400, 25_600), {}, amountOf(30, 1440), amountOf(2, 200_000), {}}
	if diff := differ.Of(want, lifetimes.Total()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoLifetimes(t *testing.T) {
	s := open(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	v, err := Open(s, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Lifetimes(); !errors.Is(err, ErrNoLifetime) {
		t.Errorf("got %v", err)
	}
}

// TestLifetimesAddUp: in random sessions and for any filter, each way to group sites gives the same total, and the
// parts of a partition of time add up to the whole.
func TestLifetimesAddUp(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s := open(rt, sessiontest.Random(2*rapid.Uint64Range(0, 1<<40).Draw(rt, "seed")), filepath.Join(dir, "a"))
		defer s.Close()
		d, err := Load(s)
		if err != nil {
			rt.Fatal(err)
		}
		whole, err := part(rt, d, Selection{}).Lifetimes()
		if err != nil {
			rt.Fatal(err)
		}
		var byTime Lifetime
		for _, slice := range d.Slices {
			part, err := part(rt, d, Selection{From: slice.Begin, To: slice.End}).Lifetimes()
			if err != nil {
				rt.Fatal(err)
			}
			byTime = byTime.Add(part.Total())
		}
		if byTime != whole.Total() {
			rt.Errorf("slices add up to %+v, the whole is %+v", byTime, whole.Total())
		}
		for _, by := range []By{ByType, BySite, ByFunction, ByLine, ByModule, ByNamespace} {
			groups, lifetimes, of := whole.Groups(by)
			var sum Lifetime
			for _, l := range lifetimes {
				sum = sum.Add(l)
			}
			checkGroups(rt, d, by, groups, of)
			if sum != whole.Total() || len(groups) != len(lifetimes) {
				rt.Errorf("by %s: %+v, want %+v", by, sum, whole.Total())
			}
			for site, l := range whole.Sites() {
				if g, ok := of.Of(site); !ok || lifetimes[g].Born.Allocations < l.Born.Allocations {
					rt.Errorf("by %s: site %d is not in its group", by, site)
				}
			}
		}
	})
}

// checkGroups: a site is in the group of the module, or of the namespace, of the function that allocated there.
func checkGroups(t *rapid.T, d *Data, by By, groups []Group, of SiteGroups) {
	name := func(f *session.Function) any { return f.Module }
	if by == ByNamespace {
		name = func(f *session.Function) any { return FunctionNamespace(f) }
	}
	if by != ByModule && by != ByNamespace {
		return
	}
	functions := map[session.FunctionID]*session.Function{}
	for i := range d.Functions {
		functions[d.Functions[i].ID] = &d.Functions[i]
	}
	seen := map[any]bool{}
	for _, g := range groups {
		key := [2]any{g.Process, name(functions[g.Function])}
		if seen[key] {
			t.Errorf("by %s: %v has two groups", by, key)
		}
		seen[key] = true
	}
	for i := range d.Sites {
		if n, ok := of.Of(d.Sites[i].ID); ok {
			f := &d.Functions[d.nodeFunction[d.siteNode[i]]]
			if g := groups[n]; g.Process != f.Process || name(functions[g.Function]) != name(f) {
				t.Errorf("by %s: site %d of %v is in the group %+v", by, d.Sites[i].ID, name(f), g)
			}
		}
	}
}

// TestSummaryIsStored: what a summary reads from a complete session is what it computes from one that is not.
func TestSummaryIsStored(t *testing.T) {
	builders := []*sessiontest.Builder{sessiontest.Aging(), sessiontest.Random(2), sessiontest.Random(4)}
	for i, b := range builders {
		s := open(t, b, filepath.Join(t.TempDir(), "a"))
		defer s.Close()
		w, err := s.InMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := Complete(w); err != nil {
			t.Fatal(err)
		}
		stored, err := Open(w.Session, Selection{})
		if err != nil {
			t.Fatal(err)
		}
		have, err := stored.Summary(5)
		if err != nil || stored.data != nil {
			t.Fatalf("%v; it was read from the events: %v", err, stored.data != nil)
		}
		computed, err := Open(w.Session, Selection{})
		if err != nil {
			t.Fatal(err)
		}
		lifetimes, err := computed.Lifetimes()
		if err != nil {
			t.Fatal(err)
		}
		want, err := lifetimes.summary(summarySites)
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ.Of(want, have); diff != "" {
			t.Errorf("session %d: computed (-) and stored (+): %s", i, diff)
		}
		for _, section := range have.Sections {
			for _, r := range section.Rows {
				got, err := stored.Stack(r.Node, 3)
				if diff := differ.Of(lifetimes.Stack(r.Node, 3), got); err != nil || diff != "" {
					t.Errorf("session %d: the stack of node %d: %v, %s", i, r.Node, err, diff)
				}
			}
		}
	}
}

// TestCompleteTells: adding up says how far it is, up to the end.
func TestCompleteTells(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"aging": sessiontest.Aging(), "timed": sessiontest.Timed()} {
		w, err := open(t, b, filepath.Join(t.TempDir(), "a")).InMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		var reported []int
		if err := CompleteWith(w, Completion{Tell: func(percent int) { reported = append(reported, percent) },
			Also: func(src *Source, _ *session.Derived) error { _, err := src.Uses(nil); return err }}); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(reported) || len(reported) < 4 || reported[len(reported)-1] != 100 {
			t.Errorf("%s: %d", name, reported)
		}
	}
}
