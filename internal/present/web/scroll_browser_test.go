package web_test

import (
	"fmt"
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestOneScrollbar: of a table that is higher than the window only its rows scroll, whatever is said above and below it.
func TestOneScrollbar(t *testing.T) {
	b := sessiontest.Generate(sessiontest.Size{Nodes: 2_000, Functions: 500, Types: 40, Threads: 2}, 1)
	for i := range 500 {
		b.Marks = append(b.Marks, session.Mark{ID: session.MarkID(i + 1), Name: fmt.Sprint("mark ", i),
			Time: quantity.Nanoseconds(i), Source: session.MarkCtl})
	}
	for _, reason := range session.LossReasons()[:4] {
		b.Losses = append(b.Losses, session.Loss{Process: 1, Reason: reason, Events: 1})
	}
	p := open(t, b)
	for _, view := range []string{"marks", "functions", "modules"} {
		p.visit("view="+view, ".rows .row:not(.head)")
		if over := eval[int](p, `document.documentElement.scrollHeight - innerHeight`); over > 0 {
			t.Errorf("%s: the page scrolls too, by %d pixels", view, over)
		}
		if hidden := eval[int](p, `(e => e.scrollHeight - e.clientHeight)(document.querySelector(".rows"))`); hidden <= 0 {
			t.Errorf("%s: the rows do not scroll", view)
		}
	}
	p.visit("view=threads", ".rows .row:not(.head)") // with few rows
	const blank = `(e => e.getBoundingClientRect().bottom - e.querySelector(".wide").getBoundingClientRect().bottom)(` +
		`document.querySelector(".rows"))`
	if rest := eval[float64](p, blank); rest > 20 { // a scrollbar below is as high
		t.Errorf("threads: %v pixels below the rows are blank", rest)
	}
}
