package web_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
	"github.com/clrprof/clrprof/internal/testkit/webtest"
)

// chromium finds the browser, or skips the test.
func chromium(t *testing.T) { t.Helper(); webtest.Chromium(t) }

// page is the page in a browser, beside a client that asks another server of the same session.
type page struct {
	*served
	ctx context.Context
	url string // of the browser's server
}

// patience is how long a step in the browser may take.
const patience = webtest.Patience

// open opens the page of a made-up session, and of older ones it is compared with, in a browser.
func open(t *testing.T, b *sessiontest.Builder, older ...*sessiontest.Builder) *page {
	t.Helper()
	chromium(t) // before anything is made
	of := serve(t, b, older...)
	return browse(t, of, "").enterAt(of)
}

// open opens the page of another session in the same browser.
func (p *page) open(b *sessiontest.Builder) *page {
	p.t.Helper()
	return p.enterAt(serve(p.t, b))
}

// enterAt opens the page of another server of a session.
func (p *page) enterAt(of *served) *page {
	p.t.Helper()
	h := httptest.NewUnstartedServer(nil)
	server := of.again(h.Listener.Addr().String())
	h.Config.Handler = server
	h.Start()
	p.t.Cleanup(h.Close)
	out := &page{of, p.ctx, h.URL}
	out.do(chromedp.Navigate(server.URL() + "&view=header"))
	out.until(`document.querySelector(".rows .row:not(.head)")`)
	return out
}

// again makes another server of the same sessions.
func (s *served) again(listen string) *web.Server {
	s.t.Helper()
	var opened []*session.Session
	for _, path := range s.paths {
		of, err := session.Open(path)
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { of.Close() })
		opened = append(opened, of)
	}
	out, err := web.New(listen, opened...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// browse starts a browser for the page at an address.
func browse(t *testing.T, of *served, at string) *page {
	t.Helper()
	return &page{of, webtest.Start(t).Ctx, at}
}

// browser is the page's tab of the browser.
func (p *page) browser() *webtest.Browser { return &webtest.Browser{T: p.t, Ctx: p.ctx} }

// do takes steps in the browser.
func (p *page) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	p.browser().Do(actions...)
}

// visit opens a view, and waits for what a selector names.
func (p *page) visit(query, selector string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.url + "/?" + query))
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
}

// eval runs a script and returns its value.
func eval[T any](p *page, script string) T { p.t.Helper(); return webtest.Eval[T](p.browser(), script) }

// until waits until a condition in the page holds.
func (p *page) until(script string) { p.t.Helper(); p.browser().Until(script) }

// click clicks what a selector names; enter types into it.
func (p *page) click(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q)", selector))
	eval[bool](p, fmt.Sprintf("document.querySelector(%q).click(), true", selector))
}

func (p *page) enter(selector, text string) {
	p.t.Helper()
	eval[bool](p,
		fmt.Sprintf(
			`(e => { e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); return true; })(document.querySelector(%q))`, text, selector))
}

// refused checks that the policy of the page had nothing to refuse.
func (p *page) refused() {
	p.t.Helper()
	if said := eval[string](p, `document.documentElement.dataset.refused ?? ""`); said != "" {
		p.t.Errorf("the policy of the page refused %s", said)
	}
}

// cells are the texts of the rows in sight, cell by cell.
const cells = `[...document.querySelectorAll(".rows .row:not(.head)")].map(r => [...r.children].map(c => c.innerText.replace(/^[▸▾·]\s*/, "").trim()))`

// TestViews: each view opens in the browser and shows the texts that the server sends for it, and the policy holds.
func TestViews(t *testing.T) {
	for name, b := range map[string]*sessiontest.Builder{"aging": sessiontest.Aging(), "timed": sessiontest.Timed(),
		"odd": sessiontest.Odd()} {
		t.Run(name, func(t *testing.T) {
			p := open(t, b)
			for _, view := range []string{"functions", "calltree", "modules", "lines", "ips", "types", "lifetime",
				"ages", "gcs", "survivors", "snapshot", "processes", "threads", "header"} {
				p.shows(view)
			}
			p.visit("view=overview", ".facts")
			p.refused()
			p.visit("view=flame", ".flame canvas, .flame .hint")
			p.refused()
			p.visit("view=sql", ".result td")
			p.refused()
		})
	}
}

// shows compares the rows of a view in the browser with what the server sends.
func (p *page) shows(view string) {
	p.t.Helper()
	p.visit("view="+view, ".rows .row:not(.head), .failed, .view .hint")
	p.refused()
	if failed := eval[string](p, `document.querySelector(".failed")?.innerText ?? ""`); failed != "" {
		if got, body := p.ask("GET", "/api/view?view="+view, nil); got.StatusCode == 200 {
			p.t.Errorf("%s: %q, but the server answers %s", view, failed, body)
		}
		return
	}
	var want shownSheet
	if view == "calltree" {
		p.get("/api/tree", &want)
	} else {
		p.get("/api/view?view="+view, &want)
	}
	got := eval[[][]string](p, cells)
	if len(got) == 0 && len(want.Rows) > 0 {
		p.t.Errorf("%s shows no rows, want %d", view, len(want.Rows))
		return
	}
	for i, r := range got {
		if view == "calltree" && i > 0 || i >= len(want.Rows) { // below the first is its hot path
			break
		}
		texts := map[string]bool{"": true}
		for _, text := range want.Rows[i].Texts {
			texts[strings.Join(strings.Fields(text), " ")] = true
		}
		for _, cell := range r {
			if cell = strings.Join(strings.Fields(strings.TrimSuffix(cell, "show all")), " "); !texts[cell] {
				p.t.Errorf("%s: row %d shows %q, which is none of %q", view, i, cell, want.Rows[i].Texts)
			}
		}
	}
}

// TestWays: sorting, searching, filtering, links, the back button and reloading, in one go.
func TestWays(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.visit("view=functions", ".rows .row:not(.head)")
	// Rows change with each letter that is typed: of what is found at last there is one row, and its name is this.
	const found = `(rows => rows.length === 1 && rows[0].firstChild.innerText.trim().startsWith("Tree.Insert"))` +
		`(document.querySelectorAll(".rows .row:not(.head)"))`
	p.click(`button[title*="(exclusive_bytes)"]`)
	p.until(
		`location.search.includes("sort=exclusive_bytes") && document.querySelector(".rows .row:not(.head)").innerText.toLowerCase().startsWith("string.format")`)
	if got := eval[string](p, `document.querySelector("[aria-sort]").getAttribute("aria-sort")`); got != "descending" {
		t.Errorf("sorted %s", got)
	}
	p.enter("#find", "insert")
	p.until(found)
	p.do(chromedp.Reload())
	p.until(found)
	p.click(".rows .row:not(.head) a")
	p.until(`location.search.includes("view=callers") && document.querySelector(".row.center")`)
	if got := eval[string](p, `document.querySelector(".row.center").firstChild.innerText.trim()`); !strings.HasPrefix(
		got, "Tree.Insert") {
		t.Errorf("the link leads to %s", got)
	}
	p.do(chromedp.NavigateBack())
	p.until(`location.search.includes("view=functions") && ` + found)
	p.enter(".chips select", "type")
	p.enter(".chips input", "string")
	p.click(".chips form button")
	p.until(
		`document.querySelector(".chip")?.innerText.includes("string") && document.querySelector(".notes")?.innerText.includes("types string")`)
	p.click(".chip button")
	p.until(`!document.querySelector(".chip") && !location.search.includes("type=")`)
	p.do(chromedp.KeyEvent("?"))
	p.until(`document.querySelector(".overlay kbd")`)
	p.do(chromedp.KeyEvent("\x1b"), chromedp.KeyEvent("5"))
	p.until(`location.search.includes("view=types") && !document.querySelector(".overlay")`)
	p.refused()
}

// TestHarmfulNames: names that would be markup, or turn text around, are text.
func TestHarmfulNames(t *testing.T) {
	b := sessiontest.New()
	process := b.Process("<b>bold</b>", 7)
	module := b.Module(process, "<img src=x onerror=alert(1)>.dll", true)
	thread := b.Thread(process, "<script>alert(2)</script>")
	function := sessiontest.Frame{Function: b.Function(module, "Ns.<script>alert(3)</script>(string)", "/src/<i>.cs",
		1), Line: 2}
	b.Allocate(1, thread, b.Type(module, "<script>document.title='owned'</script>"), 3, 300, function)
	b.Allocate(1, thread, b.Type(module, "safe\u202egnirts"), 1, 24, function)
	p := open(t, b)
	for _, view := range []string{"overview", "types", "functions", "calltree", "modules", "threads", "processes",
		"flame"} {
		p.visit("view="+view, ".rows .row:not(.head), .facts, canvas")
		p.refused()
		made := eval[string](p,
			`[...document.querySelectorAll("#app script, #app img, #app b")].filter(e => /alert|bold|owned/.test(e.outerHTML) && !e.closest(".share, .crumbs, .details")).map(e => e.outerHTML).join()`)
		if made != "" || strings.Contains(eval[string](p, "document.title"), "owned") {
			t.Errorf("%s: a name became markup: %s", view, made)
		}
		if eval[bool](p, `document.getElementById("app").outerHTML.includes("\u202e")`) {
			t.Errorf("%s: a name turns text around", view)
		}
	}
	p.visit("view=types", ".rows .row:not(.head)")
	if text := eval[string](p, `document.querySelector(".rows").innerText`); !strings.Contains(text,
		"<script>document.title='owned'</script>") {
		t.Errorf("the type's name is not shown: %s", text)
	}
}

// TestLinkToRules: the overview leads to the rules that the program breaks, if there are some.
func TestLinkToRules(t *testing.T) {
	t.Parallel()
	for _, b := range []*sessiontest.Builder{sessiontest.Broken(), sessiontest.Shop()} {
		p := open(t, b)
		p.visit("view=overview", ".findings li, .findings .hint")
		p.until(`!document.querySelector(".overview.stale") && document.querySelector(".charts")`)
		var rules shownSheet
		p.get("/api/view?view=rules", &rules)
		if has := eval[bool](p, `document.querySelector('.findings p a[href*="view=rules"]') !== null`); has != (len(rules.Rows) > 0) {
			t.Errorf("%d findings of rules: there is a link to them: %t", len(rules.Rows), has)
		}
		p.refused()
	}
}

// TestRange: a range dragged over the timeline becomes --time for all views.
func TestRange(t *testing.T) {
	p := open(t, sessiontest.Aging())
	p.visit("view=overview", ".charts .u-over")
	box := eval[[]float64](p,
		`(() => { document.querySelector(".charts").scrollIntoView(); const b = document.querySelector(".charts .u-over").getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()`)
	x, y := box[0]+2, box[1]+box[3]/2
	p.do(chromedp.MouseEvent("mouseMoved", x, y), chromedp.MouseEvent("mousePressed", x, y, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseMoved", x+box[2]/4, y, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", x+box[2]/4, y, chromedp.ButtonLeft))
	p.until(`location.search.includes("time=") && document.querySelector(".chip")`)
	p.until(`document.querySelector(".notes")?.innerText.includes("whole slices")`)
	p.click(`nav a[href*="view=types"]`)
	p.until(
		`location.search.includes("view=types") && document.querySelector(".notes")?.innerText.includes("whole slices")`)
	span, err := url.ParseQuery(strings.TrimPrefix(eval[string](p, "location.search"), "?"))
	if err != nil || span.Get("time") == "" {
		t.Fatal(span, err)
	}
	var want shownSheet
	p.get("/api/view?view=types&time="+url.QueryEscape(span.Get("time")), &want)
	p.until(fmt.Sprintf(`document.querySelectorAll(".rows .row:not(.head)").length === %d`, len(want.Rows)))
	p.shownSpan()
}

// shownSpan checks that the timeline shows a span that was typed, whatever its units, where it is, and that Escape
// leaves the page alone where there is no step back.
func (p *page) shownSpan() {
	p.t.Helper()
	var got struct {
		Slices []struct {
			Begin int64 `json:"begin_ns"`
			End   int64 `json:"end_ns"`
		}
		Chosen *struct {
			Begin int64 `json:"begin_ns"`
			End   int64 `json:"end_ns"`
		}
	}
	p.get("/api/timeline", &got)
	if got.Chosen != nil || len(got.Slices) < 2 {
		p.t.Fatalf("without a filter the timeline has %v", got)
	}
	last := got.Slices[len(got.Slices)-1]
	span := fmt.Sprintf("%fms..", float64(last.Begin)/1e6)
	p.get("/api/timeline?time="+span, &got)
	if got.Chosen == nil || got.Chosen.Begin != last.Begin || got.Chosen.End != last.End {
		p.t.Errorf("with --time %s the timeline has %v, want %v", span, got.Chosen, last)
	}
	p.visit("view=overview&time="+span, ".charts .u-select")
	p.until(`parseFloat(document.querySelector(".charts .u-select").style.width) > 0`)
	box := eval[[]float64](p,
		`(s => [s.offsetLeft, s.offsetWidth, s.parentElement.clientWidth])(document.querySelector(".charts .u-select"))`)
	if want := box[2] * float64(last.Begin) / float64(last.End); box[0] < want-2 || box[0] > want+2 ||
		box[0]+box[1] < box[2]-2 {
		p.t.Errorf("of %g pixels the span begins at %g and is %g wide, want %g", box[2], box[0], box[1], want)
	}
	p.do(chromedp.KeyEvent("\x1b"))
	if at := eval[string](p, "location.search"); !strings.Contains(at, "view=overview") {
		p.t.Errorf("Escape left the page for %s", at)
	}
}

// TestManyFrames: of a call tree of many frames only those that can be seen are visited.
func TestManyFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("a large session takes a while")
	}
	p := open(t, sessiontest.Generate(sessiontest.Size{Nodes: 300_000, Functions: 20_000, Types: 300, Threads: 4}, 1))
	p.visit("view=flame", ".flame canvas")
	p.until(`Number(document.querySelector("canvas").dataset.frames) > 0`)
	p.comes(100_000)
	frames, visited := eval[int](p, `Number(document.querySelector("canvas").dataset.frames)`), eval[int](p,
		`Number(document.querySelector("canvas").dataset.visited)`)
	t.Logf("%d of %d frames visited", visited, frames)
	if frames < 100_000 || visited == 0 || visited > 20_000 {
		t.Errorf("%d of %d frames are visited", visited, frames)
	}
	p.enter("#find", "Area3")
	p.until(`/matches: .* \(.* %\)/.test(document.querySelector(".flame").innerText)`)
	box := eval[[]float64](p,
		`(() => { const b = document.querySelector("canvas").getBoundingClientRect(); return [b.left, b.top]; })()`)
	p.do(chromedp.MouseClickXY(box[0]+60, box[1]+50))
	p.until(`location.search.includes("at=") && document.querySelector(".crumbs")`)
	zoomed := eval[string](p, `document.querySelector(".crumbs").innerText`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector(".crumbs")`)
	if again := eval[string](p, `document.querySelector(".crumbs").innerText`); again != zoomed {
		t.Errorf("zoomed to %q, after reloading to %q", zoomed, again)
	}
	p.refused()
}
