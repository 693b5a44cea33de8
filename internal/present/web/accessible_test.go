package web_test

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// axe is the accessibility checker that is run in the page: a package of npm, with the hash of its tarball.
const (
	axePackage = "axe-core@4.14.1"
	axeSHA512  = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// fetched is the script of the checker, which is fetched once.
var fetched string

// axe returns the script of the checker.
func axe(t *testing.T) string {
	t.Helper()
	if fetched != "" {
		return fetched
	}
	ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", axePackage)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: %s cannot be had here, so accessibility was not checked: %v\n%s", axePackage, err, text)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(b); base64.StdEncoding.EncodeToString(sum[:]) != axeSHA512 {
		t.Fatalf("%s is not the one that is locked", axePackage)
	}
	script, err := exec.CommandContext(ctx, "tar", "xzOf", found[0], "package/axe.min.js").Output()
	if err != nil {
		t.Fatal(err)
	}
	fetched = string(script)
	return fetched
}

// there is what a view has when it is all there.
const there = `!document.querySelector(".waiting, .stale") && document.querySelector(".findings ol, .findings .hint, .rows .row:not(.head), .result td, " +
	"canvas[data-boxes], .rules section, .gone, .view .hint") && !document.querySelector("main > .failed")`

// unfolded are parts of the page that are not there at first, by the selector of what opens them.
var unfolded = []struct{ query, click, wait string }{
	{"view=overview", `[aria-label=keys]`, ".overlay dl"},
	{"view=overview", ".facts details summary", ".facts details[open]"},
	{"view=functions", ".chooser summary", ".chooser[open]"},
	{"view=calltree", ".chooser summary", ".chooser[open]"},
	{"view=calltree&bottom-up=1", ".row .twist", ".row[aria-expanded=true]"},
	{"view=flame&color=generation", "canvas", ".details b"},
	{"view=flame&diff=new", "canvas", ".gone"},
	{"view=functions&function=*Lo*&filter=bytes+>+0&my-code=1", ".mine", ".undo"},
	{"view=calltree&function=nothing", ".mine", ".failed, .hint, .undo"},
	{"view=sql", "aside details summary", "aside details[open]"},
}

// TestAccessible: the checker finds nothing in any view, nor in what opens there, dark or light, at the width of a desk
// and of a phone.
func TestAccessible(t *testing.T) {
	script := axe(t)
	p := open(t, sessiontest.Aging(), sessiontest.Heap())
	p.checkViews(script, 20)
	check := func(p *page, queries ...string) {
		for _, query := range queries {
			p.visit(query, "main h1")
			p.until(there)
			p.everyLook(script, query)
		}
	}
	check(p.open(sessiontest.Broken()), "view=rules", "view=overview")
	check(p.open(sessiontest.Several()), "view=overview", "view=processes", "view=calltree", "view=types")
	check(p.open(sessiontest.Timed()), "view=functions", "view=calltree", "view=threads")
	for _, o := range unfolded {
		p.visit(o.query, "main h1")
		p.until(there + ` || document.querySelector(".failed")`)
		p.click(o.click)
		p.until(fmt.Sprintf("document.querySelector(%q)", o.wait))
		p.everyLook(script, o.query+" "+o.click)
	}
}

// TestAccessibleRecorded: the checker finds nothing in any view of real recordings: one with lifetimes, counters and a
// snapshot, compared with an older one, and one with times, memory and events.
func TestAccessibleRecorded(t *testing.T) {
	dotnettest.NotQuick(t, "TestAccessible looks at every view, too")
	script := axe(t)
	chromium(t)
	recorded := func(names ...string) *page {
		var sessions []*session.Session
		for _, name := range names {
			path := filepath.Join(t.TempDir(), name+".clrprof")
			if err := sessiontest.WriteRecorded("../../..", name, path); err != nil {
				t.Fatal(err)
			}
			s, err := session.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			sessions = append(sessions, s)
		}
		of := serveOpened(t, sessions)
		return browse(t, of, "").enterAt(of)
	}
	recorded("net10", "netcore31").checkViews(script, 25)
	recorded("net10-time").checkViews(script, 19)
}

// checkViews checks every view that the page lists, which are so many at least.
func (p *page) checkViews(script string, least int) {
	p.t.Helper()
	var functions struct {
		Rows []struct{ Link struct{ Argument string } }
	}
	p.get("/api/view?view=functions", &functions)
	function := url.QueryEscape(functions.Rows[0].Link.Argument)
	arguments := map[string]string{"view=callers": function, "view=function": function, "view=diff-gcs": "1+2"}
	views := eval[[]string](p, `[...document.querySelectorAll("nav a")].map(a => a.getAttribute("href").slice(1))`)
	if len(views) < least {
		p.t.Fatalf("the page lists few views: %q", views)
	}
	for _, query := range views {
		if argument, ok := arguments[query]; ok {
			query += "&argument=" + argument
		}
		p.visit(query, "main h1")
		p.until(there)
		p.everyLook(script, query)
	}
}

// looks are how the page can look. Only in the first of a width all is checked: of the others nothing but colours can
// differ.
var looks = []struct {
	theme string
	width int64
	rules string
}{{"light", 1280, ""}, {"dark", 1280, "color-contrast"}, {"dark", 390, ""}, {"light", 390, "color-contrast"}}

// everyLook checks the page as it is in all looks.
func (p *page) everyLook(script, what string) {
	p.t.Helper()
	for _, look := range looks {
		p.do(chromedp.EmulateViewport(look.width, 900))
		eval[bool](p, fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })
			(document.querySelector(".right select"))`, look.theme))
		p.check(script, fmt.Sprintf("%s, %d wide, %s", look.theme, look.width, what), look.rules)
	}
	p.do(chromedp.EmulateViewport(1280, 900))
}

// accessible checks the page as it is.
func (p *page) accessible(script, what string) {
	p.t.Helper()
	p.check(script, what, "")
}

// check checks the page as it is by one rule of the checker, "": all of them. Nothing may be wider than the page.
func (p *page) check(script, what, rule string) {
	p.t.Helper()
	if eval[bool](p, `!window.axe`) {
		eval[bool](p, `(() => {`+script+`; return true; })()`)
	}
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => {
		await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
		const rule = `+fmt.Sprintf("%q", rule)+`, r = await axe.run(document, rule ? {runOnly: [rule]} : {});
		if (!rule && r.passes.length < 5) throw new Error("nothing was checked");
		const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
		return JSON.stringify([...(wide > 0 ? ["the page is " + wide + " pixels wider than the window"] : []),
			...r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | "))]);
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(what, err)
	}
	var list []string
	if err := json.Unmarshal([]byte(found), &list); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range list {
		p.t.Errorf("%s: %s", what, v)
	}
}
