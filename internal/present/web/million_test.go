package web_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// Limits of what is looked at for one picture of a session, however large it is: a screen has about a million pixels,
// and frames that are narrower than one are not looked at one by one.
const (
	mostVisited = 20_000
	mostRows    = 80
)

// drawn takes a step that changes the flame graph, and checks how many frames were looked at for it.
func (p *page) drawn(what string, step func()) {
	p.t.Helper()
	before := eval[int](p, `Number(document.querySelector("canvas").dataset.draws)`)
	from := time.Now()
	step()
	p.until(fmt.Sprintf(`Number(document.querySelector("canvas").dataset.draws) > %d`, before))
	took := time.Since(from)
	type pictures struct{ Visited, Boxes, Millis float64 }
	got := eval[pictures](
		p,
		`(d => ({Visited: +d.mostvisited, Boxes: +d.boxes, Millis: +d.slowest}))(document.querySelector("canvas").dataset)`,
	)
	p.t.Logf(
		"%-12s %v, %5.0f frames visited at most, %5.0f drawn, %.1f ms at most for a picture",
		what,
		took.Round(time.Millisecond),
		got.Visited,
		got.Boxes,
		got.Millis,
	)
	if got.Visited == 0 || got.Visited > mostVisited {
		p.t.Errorf("%s: %.0f frames are visited", what, got.Visited)
	}
}

// comes waits until all frames are there, at least so many: the greatest come first.
func (p *page) comes(frames int) {
	p.t.Helper()
	from := time.Now()
	p.until(
		fmt.Sprintf(
			`Number(document.querySelector("canvas").dataset.frames) > %d && !document.querySelector(".flame .stale")`,
			frames))
	p.t.Logf("all frames are there after %v", time.Since(from).Round(time.Millisecond))
}

// wheel turns the wheel over the middle of what a selector names.
func (p *page) wheel(selector string, by, modifiers int) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(e => { const b = e.getBoundingClientRect();
		return e.dispatchEvent(new WheelEvent("wheel", {bubbles: true, cancelable: true, deltaY: %d, ctrlKey: %t,
			clientX: b.left + b.width / 2, clientY: b.top + 30})) || true; })(document.querySelector(%q))`,
		by, modifiers != 0, selector))
}

// opens opens a view, and tells when there is something of it, and all of it, and what that took of a processor.
func (p *page) opens(view, selector string) {
	p.t.Helper()
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			p.t.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	from, cpu := time.Now(), used()
	p.visit("view="+view, selector)
	first, firstCPU := time.Since(from), used()-cpu
	p.until(`!document.querySelector(".waiting, .stale, .coming")`)
	ms := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	p.t.Logf("%-21s opens in %6v, all of it is there in %6v; %5v and %6v of a processor in the server", view, ms(first),
		ms(time.Since(from)), ms(firstCPU), ms(used()-cpu))
}

// TestMillion: of a session of a million nodes each view opens, and what is looked at for a picture depends on the
// screen, not on the session. The times are printed, not judged: machines differ.
func TestMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("a large session takes a while")
	}
	p := open(t, sessiontest.Generate(sessiontest.Million, 1))
	const drawn, row = "canvas[data-boxes]", ".rows .row:not(.head)"
	for _, view := range [][2]string{{"flame", drawn}, {"overview", ".facts"}, {"calltree", ".row.hot"},
		{"functions", row}, {"types", row}, {"lines", row}, {"threads", row}, {"flame&color=type", drawn},
		{"flame", drawn}, {"flame&up=1", drawn}, {"flame&up=1&color=type", drawn}, {"overview", ".facts"}} {
		p.opens(view[0], view[1])
	}
	p.visit("view=flame", "canvas[data-boxes]")
	p.comes(500_000)
	p.drawn("whole", func() { p.wheel("canvas", 0, 1) })
	for i := range 10 {
		p.drawn(fmt.Sprint("zoom ", i), func() { p.wheel("canvas", -400, 1) })
	}
	p.drawn("to the right", func() { p.do(chromedp.KeyEvent("d")) })
	p.drawn("to the left", func() { p.do(chromedp.KeyEvent("a")) })
	p.visit("view=flame", "canvas[data-boxes]")
	p.comes(500_000)
	p.drawn("scrolled", func() { p.wheel("canvas", 60, 0) })
	p.drawn("found", func() { p.enter("#find", "Area3") })
	p.until(`document.querySelector(".flame .count")?.innerText.includes("themselves")`)
	said, want := eval[string](p, `document.querySelector(".flame .count").innerText`), p.found("Area3")
	if !strings.HasSuffix(said, "themselves "+want) {
		t.Errorf("the matches are %q, want …themselves %s", said, want)
	}
	p.drawn("next match", func() { p.do(chromedp.KeyEvent("n")) })
	p.visit("view=functions", ".rows .row:not(.head)")
	for _, part := range []float64{0.5, 1, 0.1} {
		from := time.Now()
		eval[bool](
			p,
			fmt.Sprintf(
				`(e => { e.scrollTop = (e.scrollHeight - e.clientHeight) * %f; return true; })(document.querySelector(".rows"))`,
				part,
			),
		)
		p.until(
			`[...document.querySelectorAll(".rows .row:not(.head)")].every(r => !r.innerText.startsWith("…")) &&
				document.querySelector(".rows").scrollTop > 0`,
		)
		rows := eval[int](p, `document.querySelectorAll(".rows .row").length`)
		t.Logf("rows at %.1f: %v, %d rows exist", part, time.Since(from).Round(time.Millisecond), rows)
		if rows > mostRows {
			t.Errorf("%d rows exist at once", rows)
		}
	}
	p.refused()
}

// found is what the functions that a text matches allocated themselves.
func (p *page) found(text string) string {
	p.t.Helper()
	var rows shownSheet
	p.get("/api/view?view=functions&limit=20000&find="+text, &rows)
	sum := 0.0
	for _, r := range rows.Rows {
		for i, c := range rows.Columns {
			if n, ok := r.Values[i].(float64); ok && c.Key == "exclusive_bytes" {
				sum += n
			}
		}
	}
	return q.Bytes(sum).String()
}
