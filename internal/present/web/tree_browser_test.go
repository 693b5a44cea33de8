package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// siblings is how many functions one function calls.
const siblings = 100_000

// TestSiblings: a call tree scrolls through all functions that one has called, without a click; rows are those of the
// server, wherever one looks, and only those in sight exist.
func TestSiblings(t *testing.T) {
	if testing.Short() {
		t.Skip("a large session takes a while")
	}
	b := sessiontest.New()
	process := b.Process("wide", 7)
	module, thread := b.Module(process, "Wide.dll", true), b.Thread(process, "main")
	text := b.Type(module, "Wide.Text")
	main := sessiontest.Frame{Function: b.Function(module, "Wide.Program.Main()", "/src/Program.cs", 1), Line: 2}
	work := sessiontest.Frame{Function: b.Function(module, "Wide.Program.Work()", "/src/Program.cs", 5), Line: 6}
	for i := range siblings {
		called := sessiontest.Frame{Function: b.Function(module, fmt.Sprintf("Wide.Called.F%06d()", i),
			"/src/Called.cs", 10), Line: 11}
		b.Allocate(1, thread, text, 1, q.Bytes(24+8*i), main, called)
	}
	b.Allocate(1, thread, text, 1, 8, main, work) // the last row
	p := open(t, b)
	p.visit("view=calltree", ".row.hot")
	p.until(fmt.Sprintf(`document.querySelector(".rows").getAttribute("aria-rowcount") === "%d"`, siblings+4))
	var below opened
	p.of(p.url, "/api/tree?of_process=1", &below)
	for _, part := range []float64{0.5, 0.001, 0.9, 1, 0.3} {
		eval[bool](p,
			fmt.Sprintf(
				`(e => { e.scrollTop = (e.scrollHeight - e.clientHeight) * %f; return true; })(document.querySelector(".rows"))`, part))
		p.until(inSight)
		type seen struct{ At, Rows int }
		got := eval[seen](p,
			`({At: +[...document.querySelectorAll('.rows [aria-level="3"]')].at(-1).getAttribute("aria-posinset"), Rows: document.querySelectorAll(".rows .row").length})`)
		name := eval[string](p,
			`[...document.querySelectorAll('.rows [aria-level="3"]')].at(-1).querySelector(".name > :last-child").title`)
		if want := p.sibling(below.Rows[0].Path, got.At-1); got.Rows > mostRows || name != want {
			t.Errorf("scrolled to %g, row %d is %s, want %s; %d rows exist", part, got.At, name, want, got.Rows)
		}
		if wanted := float64(siblings) * part; float64(got.At) < wanted-50 || float64(got.At) > wanted+80 {
			t.Errorf("scrolled to %g, row %d is in sight", part, got.At)
		}
	}
	p.do(chromedp.Focus(".rows"), chromedp.KeyEvent("\u0305")) // End
	p.until(`document.querySelector(".row.current")?.innerText.includes("Work")`)
	if eval[bool](p, `document.querySelector(".row.current").hasAttribute("aria-expanded")`) {
		t.Error("a function that called none can be opened")
	}
	eval[bool](p, copies)
	p.do(chromedp.KeyEvent("c"))
	p.until(`window.copied === "Wide.Program.Work()\nWide.Program.Main()"`)
	p.do(chromedp.KeyEvent("\u0302"), chromedp.KeyEvent("\u0302")) // left: to its caller, which is closed
	p.until(
		`document.querySelector(".rows").getAttribute("aria-rowcount") === "3" && document.querySelector(".row.current").innerText.includes("Main")`)
	p.do(chromedp.KeyEvent("\u0303")) // right: it is open again
	p.until(fmt.Sprintf(`document.querySelector(".rows").getAttribute("aria-rowcount") === "%d"`, siblings+4))
	// the hot path's function is on a page far down, or the last one
	p.visit("view=calltree&sort=name", ".rows .row:not(.head)")
	p.until(`document.querySelector(".tools .count")?.innerText.includes("hot path")`)
	p.do(chromedp.KeyEvent("h"))
	p.until(`document.querySelector(".row.hot.current")?.innerText.includes("F099999")`)
	p.refused()
	p.wideGraph()
}

// wideGraph checks that a flame graph in which one frame has called all of them is drawn by looking at few, wherever one
// looks, also for what one points at.
func (p *page) wideGraph() {
	p.t.Helper()
	const mostOfWide = 5_000 // a screen has room for some hundred of them
	p.visit("view=flame", "canvas[data-boxes]")
	p.comes(siblings)
	for i := range 32 { // until single ones are wide enough to be drawn
		p.drawn(fmt.Sprint("wide ", i), func() { p.wheel("canvas", -400, 1) })
	}
	if got := eval[int](p, `+document.querySelector("canvas").dataset.mostvisited`); got < 100 || got > mostOfWide {
		p.t.Errorf("%d of %d frames with one caller are visited", got, siblings)
	}
	eval[bool](p, `(e => { const b = e.getBoundingClientRect(); return e.dispatchEvent(new MouseEvent("mousemove",
		{bubbles: true, clientX: b.left + b.width / 2, clientY: b.top + 19 * 2 + 9})) || true; })(document.querySelector("canvas"))`)
	p.until(`document.querySelector(".details").innerText.startsWith("Wide.Called.F")`)
}

// TestShapes: the call tree has the shapes of the command line, one click each; the command beside it says the same.
func TestShapes(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.visit("view=calltree", ".row.hot")
	command := func(end string) {
		p.t.Helper()
		p.until(fmt.Sprintf(`document.querySelector(".command code")?.innerText.endsWith(%q)`, end))
	}
	first := func() string {
		return eval[string](p, `document.querySelector(".rows .row:not(.head) .name > :last-child").title`)
	}
	p.click("#fold-recursion")
	command("calltree --fold-recursion")
	eval[bool](p,
		`(e => { e.value = "5"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("#min-share"))`)
	command("calltree --min-share 5 --fold-recursion")
	p.until(
		`document.querySelector(".notes").innerText.includes("Recursion is folded") && document.querySelector(".notes").innerText.includes("[left out]")`)
	p.visit("view=calltree", ".row.hot")
	eval[bool](p,
		`(e => { e.value = "Tree.Insert"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("#function-root"))`)
	command("calltree --root Tree.Insert")
	p.visit("view=calltree", ".row.hot")
	eval[bool](p,
		`(e => { e.value = "module"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("#by"))`)
	command("calltree --by module")
	if got := first(); !strings.HasSuffix(got, ".dll") && got != "Shop" {
		t.Errorf("first row %q", got)
	}
	p.visit("view=calltree&function-root=Tree.Insert", ".row.hot")
	if got := first(); !strings.Contains(got, "Tree.Insert") {
		t.Errorf("the tree begins with %s", got)
	}
	p.refused()
}

// TestBottomUp: the call tree from below opens as the one from above does, begins with a row at any depth, and an
// address holds which one.
func TestBottomUp(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.visit("view=calltree&sort=inclusive_bytes", ".row.hot")
	p.click("#bottom-up")
	p.until(`document.querySelector(".command code")?.innerText.endsWith("calltree --bottom-up") &&
		document.querySelectorAll('.rows [aria-level="2"]').length > 1`) // the process is open
	name := func(level int) string {
		return eval[string](p, fmt.Sprintf(
			`document.querySelector('.rows [aria-level="%d"] .name > :last-child').title`, level))
	}
	p.do(chromedp.Focus(".rows"))
	for level := 2; level < 4; level++ { // the first row of each level is opened
		p.click(fmt.Sprintf(`.rows [aria-level="%d"][aria-expanded="false"] .twist`, level))
		p.until(fmt.Sprintf(`document.querySelector('.rows [aria-level="%d"]')`, level+1))
	}
	want := []string{name(2), name(3), name(4)}
	p.click(`.rows [aria-level="3"] .name`)
	p.click(`.tools button:not([disabled]).root`)
	p.until(`document.querySelectorAll('.rows [aria-level="2"]').length === 0 &&
		document.querySelectorAll('.rows [aria-level="1"]').length > 0`)
	if got := name(1); got != want[2] {
		t.Errorf("below %v there is %s", want, got)
	}
	p.do(chromedp.Reload())
	p.until(`document.querySelectorAll('.rows [aria-level="1"]').length > 0`)
	if got := name(1); got != want[2] {
		t.Errorf("after reload there is %s below %v", got, want)
	}
	p.refused()
}

// inSight says that the rows are there that one has scrolled to.
const inSight = `(e => { const box = e.getBoundingClientRect(), rows = [...e.querySelectorAll(".row:not(.head)")].filter(r => {
		const b = r.getBoundingClientRect(); return b.bottom > box.top && b.top < box.bottom; });
	return rows.length > 10 && rows.every(r => r.hasAttribute("aria-posinset")); })(document.querySelector(".rows"))`

// sibling is the name of one of the rows below a path.
func (p *page) sibling(path int64, at int) string {
	p.t.Helper()
	var below opened
	p.of(p.url, fmt.Sprintf("/api/tree?of_process=1&of_path=%d&offset=%d", path, at), &below)
	if len(below.Rows) == 0 {
		p.t.Fatalf("no row %d below path %d", at, path)
	}
	return strings.TrimSpace(fmt.Sprint(below.Rows[0].Values[0]))
}

// wholeNames are the own names of functions, without namespace, class and parameters, that end within their cells.
const wholeNames = `[...document.querySelectorAll(".rows .name .class")].map(of => of.nextSibling).filter(own => {
	const range = document.createRange();
	range.selectNodeContents(own);
	const last = [...range.getClientRects()].at(-1);
	return last.right <= own.parentElement.closest(".name").getBoundingClientRect().right;
}).map(own => own.textContent)`

// lambdaLines are the lines behind the names of lambdas that end within their cells.
const lambdaLines = `[...document.querySelectorAll(".rows .name .class")].map(of => of.nextSibling.nextSibling).filter(
	rest => / \S+:\d/.test(rest?.textContent)).map(rest => {
	const range = document.createRange(), line = /^ \S+:\d+/.exec(rest.textContent)[0];
	range.setStart(rest, 0), range.setEnd(rest, line.length);
	const seen = [...range.getClientRects()].at(-1).right <= rest.parentElement.closest(".name").getBoundingClientRect().right;
	return seen ? line : "";
})`

// TestLongNames: where a function's name has no room, its parameters are cut first, then its namespace and class, and
// its own name is whole, in operators, constructors and generic methods, too.
func TestLongNames(t *testing.T) {
	t.Parallel()
	b := sessiontest.New()
	process := b.Process("long", 7)
	module, thread := b.Module(process, "Long.dll", true), b.Thread(process, "main")
	class := "Company.Product." + strings.Repeat("Service", 20)
	own := []string{"Handle", "Handle<System.Collections.Generic.List<Company.Order>>", ".ctor", "operator <", "<lambda #0_9>"}
	for i, name := range own {
		full := class + "." + name + "(" + strings.Repeat("Company.Order, ", 20) + "int)"
		b.Allocate(1, thread, b.Type(module, "Long.Text"), 1, q.Bytes(24+8*i),
			sessiontest.Frame{Function: b.Function(module, full, "/src/Program.cs", 1), Line: 2})
	}
	p := open(t, b)
	for _, view := range []string{"functions", "calltree"} {
		p.visit("view="+view, ".rows .row:not(.head)")
		p.until(fmt.Sprintf(`document.querySelectorAll(".rows .name .class").length === %d`, len(own)))
		whole := eval[[]string](p, wholeNames)
		want := []string{"Handle", "Handle", ".ctor", "operator <", "<lambda #0_9>"}
		slices.Sort(whole)
		slices.Sort(want)
		if !slices.Equal(whole, want) {
			t.Errorf("%s: functions whose names are whole: %q, want %q", view, whole, want)
		}
		if lines := eval[[]string](p, lambdaLines); !slices.Equal(lines, []string{" Program.cs:1"}) {
			t.Errorf("%s: lines of lambdas that are seen: %q", view, lines)
		}
	}
	p.visit("view=flame", "canvas[data-boxes]")
	eval[bool](p, written)
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent("\u0304")) // which draws again
	p.until(`window.written.length > 0`)
	var texts []string
	for _, text := range eval[[]string](p, `[...new Set(window.written)]`) {
		if class, own, ok := strings.Cut(text, "Service."); ok && strings.HasPrefix(class, "…") {
			texts = append(texts, own)
		} else if _, own, ok := strings.Cut(text, "…."); ok {
			texts = append(texts, own)
		}
	}
	want := []string{"Handle", "Handle", ".ctor", "operator <", "<lambda #0_9>"}
	slices.Sort(texts)
	slices.Sort(want)
	if !slices.Equal(texts, want) {
		t.Errorf("flame graph: behind cut classes there are %q, want %q", texts, want)
	}
	p.refused()
}

// written makes the page keep what it writes into canvases.
const written = `(() => {
	const prototype = CanvasRenderingContext2D.prototype, write = prototype.fillText;
	window.written = [];
	prototype.fillText = function(text, ...at) { window.written.push(text); return write.call(this, text, ...at); };
	return true;
})()`
