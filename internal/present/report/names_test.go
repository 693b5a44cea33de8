package report

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestEndpointNames: text calls a lambda that answers requests by its route and line, and finds it by that, too; other
// formats have its name.
func TestEndpointNames(t *testing.T) {
	b := sessiontest.Served()
	const name, shown = "Shop.Web.Program.Main.<lambda #0_3>(int)", "PUT /orders/{id:int} λ Orders.cs:%"
	var line string
	for i := range b.Functions {
		if f := &b.Functions[i]; f.Route == "PUT /orders/{id:int}" {
			f.Name, f.Line, line = name, 77, shown[:len(shown)-1]+"77"
		}
	}
	src, err := analysis.Open(complete(t, b, filepath.Join(t.TempDir(), "s")), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := callTreeView.Build(src, Options{Columns: keys("name")})
	if err != nil {
		t.Fatal(err)
	}
	c := tree.context
	at := slices.IndexFunc(tree.Rows, func(r Row) bool { return c.functionName(r.function) == name })
	if at < 0 {
		t.Fatal("the tree does not have the lambda")
	}
	r := &tree.Rows[at]
	if have := shortRowName(c, r); have != line {
		t.Errorf("%q, want %q", have, line)
	}
	if have := c.frameName(r.function); have != line {
		t.Errorf("in sentences: %q, want %q", have, line)
	}
	of, err := callersView.Build(src, Options{Argument: line})
	if err != nil || !slices.ContainsFunc(of.Rows, func(x Row) bool { return x.function == r.function }) {
		t.Errorf("callers %s: %v", line, err)
	}
}
