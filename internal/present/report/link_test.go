package report

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestLinksToParts: what a row of a process, a thread, a module or a namespace leads to adds up to what the row says.
func TestLinksToParts(t *testing.T) {
	sessions, found := sessiontest.Various(4, 4), map[rowKind]int{}
	for _, name := range slices.Sorted(mapsKeys(sessions)) {
		s := complete(t, sessions[name], filepath.Join(t.TempDir(), "s"))
		for _, v := range []struct {
			name string
			o    Options
		}{{"processes", Options{}}, {"threads", Options{}}, {"threads", Options{By: analysis.ByName}},
			{"modules", Options{Depth: 1}}, {"functions", Options{By: analysis.ByNamespace}}} {
			table := buildOf(t, s, analysis.Selection{}, v.name, v.o)
			for i := range table.Rows {
				l := table.Link(i)
				if l == nil || !l.Limits() {
					continue
				}
				selection, err := partOf(l).Select(s)
				if err != nil {
					t.Errorf("%s: %s: %+v: %v", name, v.name, *l, err)
					continue
				}
				found[table.Rows[i].kind]++
				var sum cost
				for _, r := range buildOf(t, s, selection, l.View, Options{}).Rows {
					sum = sum.add(exclusiveCost(&r))
				}
				if want := exclusiveCost(&table.Rows[i]); sum != want {
					t.Errorf("%s: %s: %+v leads to %+v, not %+v", name, v.name, *l, sum, want)
				}
			}
		}
	}
	for _, kind := range []rowKind{rowProcess, rowThread, rowThreads, rowModule, rowNamespace} {
		if found[kind] == 0 {
			t.Errorf("no row of a %s leads to its part", kind)
		}
	}
}

func partOf(l *Link) analysis.Terms {
	one := func(s string) []string {
		if s == "" {
			return nil
		}
		return []string{s}
	}
	return analysis.Terms{Processes: one(l.Process), Threads: one(l.Thread), Modules: one(l.Module), Namespaces: one(l.Namespace)}
}

func buildOf(t *testing.T, s *session.Session, selection analysis.Selection, name string, o Options) *Table {
	t.Helper()
	src, err := analysis.Open(s, selection)
	if err != nil {
		t.Fatal(err)
	}
	view, err := FindView(name)
	if err != nil {
		t.Fatal(err)
	}
	table, err := view.Build(src, o)
	if err != nil {
		t.Fatalf("%s %+v: %v", name, o, err)
	}
	return table
}
