package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// estimatedViews are the views that are built of a session, with all their columns, by what is asked for.
func estimatedViews(t *testing.T, c *context) map[string]*Table {
	out := map[string]*Table{}
	for _, view := range views {
		var arguments []string
		switch {
		case view.TakesAll:
			arguments = []string{AllFunctions}
		case view.Needs == NeedsFunction && len(c.functions.list) > 0:
			arguments = []string{c.functionName(c.functions.list[0].ID)}
		case view.Needs == NeedsCollections:
			arguments = []string{"0 1", "1 4", "0 9"}
		case view.Name == "snapshot":
			arguments = []string{"", "Shop.Order"}
		default:
			arguments = []string{""}
		}
		for _, by := range append([]string{""}, view.Groups()...) {
			for _, argument := range arguments {
				grouped, err := view.groupedBy(analysis.By(by))
				if err != nil {
					t.Fatal(view.Name, by, err)
				}
				all := slices.Concat(grouped.columns, grouped.optional) // no sampled session has times
				table, err := view.buildIn(c, Options{By: analysis.By(by), Argument: argument,
					Columns: slices.Compact(slices.Sorted(slices.Values(all)))})
				if err == nil {
					out[fmt.Sprint(view.Name, " ", argument, " ", by)] = table
				}
			}
		}
	}
	return out
}

// numbers are the cells of a table that are counts or bytes, by what their row is about and their column. Rows that
// cannot be told apart are left out.
func numbers(table *Table) map[string]Cell {
	out, again := map[string]Cell{}, map[string]bool{}
	for i := range table.Rows {
		var about []string
		for _, c := range table.Columns {
			if cell := table.Cell(i, c); !c.Kind.IsNumeric() && c.Key != "evidence" || c.Kind == Number || c.Kind == Address ||
				c.Kind == Time {
				about = append(about, fmt.Sprint(cell.Text, cell.Number))
			}
		}
		for _, c := range table.Columns {
			key := strings.Join(about, "|") + " " + c.Key
			if _, known := out[key]; known {
				again[key] = true
			}
			out[key] = table.Cell(i, c)
			if c.Kind != Count && c.Kind != Bytes && c.Kind != Percent {
				delete(out, key)
			}
		}
	}
	for key := range again {
		delete(out, key)
	}
	return out
}

// TestEstimatesMarked: in each view, what depends on how many objects a sample stands for is shown as an estimate, has
// no number where there are fewer than ten samples, and no number of a session without samples is an estimate. What
// depends on it shows by comparison: in one session samples stand for twice as many objects as in the other.
func TestEstimatesMarked(t *testing.T) {
	marked := map[string]int{}
	for name, sample := range sessiontest.Samples {
		var of [3]map[string]*Table
		for i, build := range []func() *sessiontest.Builder{sample, func() *sessiontest.Builder { return sample().Sampled(3000) },
			func() *sessiontest.Builder { return sample().Sampled(6000) }} {
			path := filepath.Join(t.TempDir(), fmt.Sprint(i, ".clrprof"))
			complete(t, build(), path)
			s, err := session.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			src, err := analysis.Open(s, analysis.Selection{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := newContext(src, false)
			if err != nil {
				t.Fatal(err)
			}
			of[i] = estimatedViews(t, c)
		}
		for view, table := range of[1] {
			if of[2][view] == nil {
				t.Errorf("%s, %s: only one session has it", name, view)
				continue
			}
			other := numbers(of[2][view])
			for key, cell := range numbers(table) {
				twice, known := other[key]
				word, _, _ := strings.Cut(view, " ")
				switch {
				case cell.Estimate.IsFew() && !cell.Empty:
					t.Errorf("%s, %s, %s: %d of %d samples", name, view, key, cell.Number, cell.Estimate.Samples)
				case known && cell.Number != twice.Number && (cell.Estimate == nil || twice.Estimate == nil):
					t.Errorf("%s, %s, %s: %d and %d are no estimates", name, view, key, cell.Number, twice.Number)
				case cell.Estimate != nil:
					marked[word]++
				}
			}
		}
		for view, table := range of[0] {
			for key, cell := range numbers(table) {
				if cell.Estimate != nil {
					t.Errorf("%s, %s, %s: an estimate of a session that counts", name, view, key)
				}
			}
		}
	}
	for _, view := range views {
		if exact := []string{"marks", "interactions", "events", "losses", "header"}; (marked[view.Name] == 0) !=
			slices.Contains(exact, view.Name) {
			t.Errorf("%s: %d estimates", view.Name, marked[view.Name])
		}
	}
}
