package report

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestChosenFunctions: a list of functions that are chosen by name has these alone, also in groups, and not their
// callers, which have nothing of their own in it.
func TestChosenFunctions(t *testing.T) {
	s := complete(t, sessiontest.Shop(), filepath.Join(t.TempDir(), "s"))
	for _, terms := range []analysis.Terms{
		{Functions: []string{"*Insert*"}}, {Modules: []string{"Shop"}},
	} {
		sel, err := terms.Select(s)
		if err != nil {
			t.Fatal(err)
		}
		src, err := analysis.Open(s, sel)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {By: analysis.ByModule}} {
			found := 0
			o.Columns = keys("name exclusive_bytes")
			if o.By != "" {
				o.Columns = append(o.Columns, "level")
			}
			table, err := functionsView.Build(src, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range tableRows(t, table) {
				if row["level"] == 0.0 {
					continue
				}
				if found++; row["exclusive_bytes"] == 0.0 {
					t.Errorf("%+v: %v is a row of zeros", terms, row["name"])
				}
			}
			if found == 0 {
				t.Errorf("%+v: no function", terms)
			}
		}
	}
}
