package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/webtest"
)

// lookedAt are where the findings of a session must lead, by the problem of the target Problems.
var lookedAt = map[string]string{"leak": "Problems.Sessions.Open(int)", "lock": "Problems.Till.Pay()"}

// TestBrowser opens the page of real runs in a browser: the findings lead to what is wrong, each view has the numbers of
// report --json in its first row, and sorting, a filter, a dragged range, a link and reloading work.
func TestBrowser(t *testing.T) {
	t.Parallel()
	webtest.Chromium(t)
	in := dotnettest.Need(t).NewestAndOldest()
	for i, p := range []struct{ problem, flag, sort string }{{"leak", "--lifetime", "exclusive_bytes"},
		{"lock", "--time", "elapsed_exclusive"}} {
		runtime := in[i%len(in)]
		t.Run(runtime.Name+"/"+p.problem, func(t *testing.T) {
			t.Parallel()
			record := mustRecord
			if p.flag == "--time" {
				record = mustRecordTime
			}
			r := record(t, runtime.Command(dotnettest.Target(t, "Problems", dotnettest.Options{}), p.problem), p.flag)
			s := newSandbox(t)
			view := s.start("view", r.session)
			if !view.lines.Scan() {
				t.Fatalf("no address: %s", view.said())
			}
			b := webtest.Start(t)
			b.Do(chromedp.Navigate(view.lines.Text()))
			const there = `!document.querySelector(".waiting, .stale")`
			b.Until(`document.querySelector(".findings li") && ` + there)
			b.Until(fmt.Sprintf(`[...document.querySelectorAll(".findings a")].some(a =>
				new URLSearchParams(a.getAttribute("href")).get("argument") === %q)`, lookedAt[p.problem]))
			s.firstRow(b, r.session, "functions", p.sort)
			b.Do(chromedp.Reload())
			s.firstRow(b, r.session, "functions", p.sort)
			s.firstRow(b, r.session, "threads", "")
			if p.flag == "--lifetime" {
				s.firstRow(b, r.session, "types", "bytes")
				s.dragRange(b)
			}
			openView(b, "flame")
			b.Until(`document.querySelector("canvas[data-boxes]")`)
			openView(b, "calltree")
			b.Until(`document.querySelector(".row.hot") && ` + there)
			if refused := webtest.Eval[string](b, `document.documentElement.dataset.refused ?? ""`); refused != "" {
				t.Errorf("the policy refused %s", refused)
			}
			view.signal(os.Interrupt)
			if ended := view.wait(); ended.exit != 0 {
				t.Errorf("after Ctrl-C, with the page open: exit code %d: %s", ended.exit, ended.stderr)
			}
		})
	}
}

// openView follows the link to a view, when it is there.
func openView(b *webtest.Browser, view string) {
	b.T.Helper()
	link := fmt.Sprintf(`document.querySelector('nav a[href*="view=%s"]')`, view)
	b.Until(link)
	webtest.Eval[bool](b, "("+link+".click(), true)")
}

// firstRow opens a view by its link, sorts it, and compares the text of its first row with the first of the report.
func (s *sandbox) firstRow(b *webtest.Browser, session, view, sort string) {
	s.t.Helper()
	arguments := []string{"report", session, view, "--json"}
	openView(b, view)
	b.Until(fmt.Sprintf(`location.search.includes("view=%s") && document.querySelector(".rows .row:not(.head)") &&
		!document.querySelector(".waiting, .stale")`, view))
	if sort != "" {
		arguments = append(arguments, "--sort", sort)
		webtest.Eval[bool](b, fmt.Sprintf(`(e => { if (!e.closest("[aria-sort]")) e.click(); return true; })
			(document.querySelector('.head button[title*="(%s)"]'))`, sort))
		b.Until(fmt.Sprintf(`document.querySelector('.head [aria-sort] button').title.includes("(%s)") &&
			!document.querySelector(".stale")`, sort))
	}
	var rows []map[string]any
	shown := s.run(arguments...)
	if err := json.Unmarshal([]byte(shown.stdout), &rows); err != nil || len(rows) == 0 {
		s.t.Fatal(err, shown.stderr)
	}
	name, _ := rows[0]["name"].(string)
	got := webtest.Eval[string](b, `document.querySelector(".rows .row:not(.head) .name > :last-child").title ||
		document.querySelector(".rows .row:not(.head)").innerText`)
	if name == "" || got != name {
		s.t.Errorf("the first row of %s is %q, want %q", view, got, name)
	}
}

// followMouse lets the page keep what it sees of the mouse, and of what can move the charts meanwhile.
const followMouse = `(() => {
	window.followed = [];
	const say = (e, more) => window.followed.push([Math.round(performance.now()), e.type, e.target.className ?? "document", more].join(" "));
	for (const type of ["mousedown", "mousemove", "mouseup"])
		addEventListener(type, e => say(e, [e.clientX, e.clientY, "moved", e.movementX, e.movementY, "buttons", e.buttons]), true);
	for (const type of ["scroll", "resize"])
		addEventListener(type, e => say(e, [scrollX, scrollY, document.documentElement.scrollHeight]), true);
	new MutationObserver(list => window.followed.push("charts replaced " + list.length)).observe(document.querySelector(".charts"), { childList: true });
	return true;
})()`

// dragRange drags a range over the timeline, which all views follow, and takes it back.
func (s *sandbox) dragRange(b *webtest.Browser) {
	s.t.Helper()
	openView(b, "overview")
	b.Until(`document.querySelector(".charts .u-over") && !document.querySelector(".waiting, .stale") &&
		[...document.querySelectorAll(".charts .u-title")].some(e => e.innerText.startsWith("Memory that is in RAM"))`)
	// Where it lies once it has not moved from one picture to the next.
	b.Until(`(() => { document.querySelector(".charts").scrollIntoView();
		const over = document.querySelector(".charts .u-over"), b = over.getBoundingClientRect(), box = [b.left, b.top, b.width, b.height];
		const still = window.settled?.over === over && String(window.settled.box) === String(box);
		requestAnimationFrame(() => requestAnimationFrame(() => window.settled = { over, box }));
		return still; })()`)
	box := webtest.Eval[[]float64](b, `window.settled.box`)
	x, y := box[0]+2, box[1]+box[3]/2
	webtest.Eval[bool](b, followMouse)
	defer func() {
		if b.T.Failed() {
			b.T.Logf("the charts were at %v; the page saw of the mouse:\n%s", box,
				webtest.Eval[string](b, `window.followed.join("\n")`))
		}
	}()
	b.Do(chromedp.MouseEvent("mouseMoved", x, y), chromedp.MouseEvent("mousePressed", x, y, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseMoved", x+box[2]/8, y, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseMoved", x+box[2]/4, y, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", x+box[2]/4, y, chromedp.ButtonLeft))
	b.Until(`location.search.includes("time=") && document.querySelector(".notes")?.innerText.includes("whole slices")`)
	webtest.Eval[bool](b, `(document.querySelector(".undo").click(), true)`)
	b.Until(`!document.querySelector(".chip") && !document.querySelector(".stale")`)
}
