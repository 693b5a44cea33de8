package report

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestLambdaNames: text calls a lambda that answers requests by its route and line, and another one by its number and
// line, and finds both by that, too; other formats have their names.
func TestLambdaNames(t *testing.T) {
	const name = "Shop.Web.Program.Main.<lambda #0_3>(int)"
	for want, tt := range map[string]struct{ route, inSentences string }{
		"PUT /orders/{id:int} λ Orders.cs:77":          {"PUT /orders/{id:int}", "PUT /orders/{id:int} λ Orders.cs:77"},
		"Program.Main.<lambda #0_3>(int) Orders.cs:77": {"", "Program.Main.<lambda #0_3>"}, // a place has the line
	} {
		b := sessiontest.Served()
		for i := range b.Functions {
			if f := &b.Functions[i]; f.Route == "PUT /orders/{id:int}" {
				f.Name, f.Line, f.Route = name, 77, tt.route
				f.RawType = "Shop.Web.Program"
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
		if have := shortRowName(c, r); have != want {
			t.Errorf("%q, want %q", have, want)
		}
		if have := c.frameName(r.function); have != tt.inSentences {
			t.Errorf("in sentences: %q, want %q", have, tt.inSentences)
		}
		if have, named := c.callName(r.function), strings.Replace(want, "(int)", "", 1); have != named {
			t.Errorf("as a call: %q, want %q", have, named)
		}
		of, err := callersView.Build(src, Options{Argument: want})
		if err != nil || !slices.ContainsFunc(of.Rows, func(x Row) bool { return x.function == r.function }) {
			t.Errorf("callers %s: %v", want, err)
		}
	}
}
