package web_test

import (
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestSheetTree: in a view that is a tree, rows below others begin further right, also if nothing is below them; and a
// tree that is longer than a screen begins with the rows of its first level.
func TestSheetTree(t *testing.T) {
	t.Parallel()
	p := open(t, sessiontest.Shop())
	const left = `(row => { const r = document.createRange();
		r.selectNodeContents([...row.firstChild.childNodes].find(n => !n.classList?.contains("twist")));
		return r.getBoundingClientRect().left; })`
	p.visit("view=types&argument=string", `.rows [aria-level="2"]`)
	deepest := `[...document.querySelectorAll(".rows .row:not(.head)")].map(r => [+r.ariaLevel, ` + left + `(r)])`
	for i, row := range eval[[][2]float64](p, deepest) {
		for k, other := range eval[[][2]float64](p, deepest) {
			if row[0] > other[0] && row[1] <= other[1] {
				t.Errorf("row %d of level %v begins at %v, and row %d of level %v at %v", i, row[0], row[1], k, other[0],
					other[1])
			}
		}
	}

	p = open(t, sessiontest.Generate(sessiontest.Size{Nodes: 5_000, Functions: 500, Types: 40, Threads: 2}, 1))
	p.visit("view=functions&by=module", `.rows [aria-level="1"]`)
	if eval[bool](p, `!!document.querySelector('.rows [aria-level="2"]')`) {
		t.Error("rows of the second level of a long tree are open")
	}
	p.click(`.rows [aria-expanded="false"] button.twist`)
	p.until(`document.querySelector('.rows [aria-level="2"]')`)
}
