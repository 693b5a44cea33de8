package web_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/encode"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// copies has the page keep what it copies instead of giving it to the clipboard.
const copies = `(navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }, true)`

// TestTSV: a table is copied whole, as report --tsv prints it, however little of it is in sight.
func TestTSV(t *testing.T) {
	sessions := map[string]*sessiontest.Builder{"shop": sessiontest.Shop(), "aging": sessiontest.Aging(),
		"timed": sessiontest.Timed()}
	for name, b := range sessions {
		t.Run(name, func(t *testing.T) {
			s, compared := serve(t, b), 0
			src, err := s.selected(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, view := range report.Views() {
				argument := viewArguments[name+" "+view.Name]
				table, err := view.Build(src, report.Options{Argument: argument})
				if err != nil {
					continue // as TestAgree checks
				}
				var want bytes.Buffer
				if err := encode.WriteTable(&want, table, encode.TSV); err != nil {
					t.Fatal(err)
				}
				path := "/api/tsv?" + url.Values{"view": {view.Name}, "argument": {argument}}.Encode()
				if got, body := s.ask(http.MethodGet, path, nil); got.StatusCode != http.StatusOK ||
					body != want.String() {
					t.Errorf("%s: %s\n%s\nwant\n%s", path, got.Status, body, want.String())
				}
				compared++
			}
			if compared < 8 {
				t.Errorf("only %d views were compared", compared)
			}
		})
	}
}

// offeredView is a view that the page offers to compare.
type offeredView struct {
	analysis.ComparedView
	Titles []string `json:"titles"`
}

// areTitled checks that each column that is offered is called as diff calls it.
func areTitled(t *testing.T, sources [2]*analysis.Source, offered []offeredView) {
	t.Helper()
	for _, v := range offered {
		if len(v.Titles) != len(v.Columns) {
			t.Fatalf("%s: columns %q, titles %q", v.Name, v.Columns, v.Titles)
		}
		for i, key := range v.Columns {
			c, err := analysis.Compare(sources[:1], sources[1:], v.Name, key)
			if err != nil {
				t.Fatal(err)
			}
			note := report.DifferenceNote(c, "", "")
			if v.Titles[i] == key || !strings.HasPrefix(note, v.Titles[i]+" of ") {
				t.Errorf("%s: %s is called %q, and diff says %q", v.Name, key, v.Titles[i], note)
			}
		}
	}
}

// TestCompareAgrees: the page's comparison has the rows of diff --json.
func TestCompareAgrees(t *testing.T) {
	s := serve(t, sessiontest.Shop(), sessiontest.Several())
	var sources [2]*analysis.Source
	for i, path := range []string{s.paths[1], s.paths[0]} {
		of, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { of.Close() })
		if sources[i], err = analysis.Open(of, analysis.Selection{}); err != nil {
			t.Fatal(err)
		}
	}
	var described struct {
		Offered []offeredView `json:"compared_views"`
	}
	s.get("/api/session", &described)
	areTitled(t, sources, described.Offered)
	for _, view := range analysis.ComparedViews() {
		offered := slices.ContainsFunc(described.Offered, func(v offeredView) bool { return v.Name == view })
		c, err := analysis.Compare(sources[:1], sources[1:], view, "")
		if offered != (err == nil) {
			t.Errorf("%s is offered: %t, but diff says: %v", view, offered, err)
		}
		if err != nil { // both refuse
			got, body := s.ask(http.MethodGet, "/api/compare?of="+view, nil)
			if got.StatusCode != http.StatusBadRequest || !errors.Is(err, analysis.ErrNoLifetime) && !errors.Is(err, analysis.ErrNoEntries) {
				t.Errorf("%s: %s %s, but diff says: %v", view, got.Status, body, err)
			}
			continue
		}
		rows := [][]any{}
		for records, i := report.Differences(c), 0; i < records.Len(); i++ {
			rows = append(rows, records.Row(i))
		}
		var names []string // as short as the terminal has them
		readable := report.ReadableDifferences(c, false)
		for i := range readable.Len() {
			names = append(names, fmt.Sprint(readable.Row(i)[slices.Index(readable.Columns, "name")]))
		}
		b, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		var want [][]any
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Rows    [][]any
			Names   []string
			Command string
		}
		s.get("/api/compare?of="+view, &got)
		if !slices.Equal(got.Names, names) {
			t.Errorf("%s: names %q, want %q", view, got.Names, names)
		}
		if len(want) == 0 || !reflect.DeepEqual(got.Rows, want) {
			t.Errorf("%s: %v, want %v", view, got.Rows, want)
		}
		command := fmt.Sprintf("clrprof diff %s %s %s --column %s", s.paths[1], s.paths[0], view, c.Column)
		if got.Command != command {
			t.Errorf("%s: command %s, want %s", view, got.Command, command)
		}
	}
}

// TestUndo: filters are taken back in the order in which they came, in whatever view.
func TestUndo(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.visit("view=functions", ".rows .row:not(.head)")
	for _, filter := range [][2]string{{"type", "string"}, {"function", "*Main*"}} {
		p.enter(".chips select", filter[0])
		p.enter(".chips form input", filter[1])
		p.click(".chips form button")
		p.until(fmt.Sprintf(`[...document.querySelectorAll(".chip")].some(c => c.innerText.includes(%q))`, filter[1]))
	}
	p.click(`nav a[href*="view=calltree"]`)
	p.until(`document.querySelector("h1").innerText === "Call tree" && document.querySelectorAll(".chip").length === 2`)
	p.click(".chip button") // the first one goes
	p.until(`document.querySelectorAll(".chip").length === 1`)
	p.click(".undo")
	p.until(`document.querySelectorAll(".chip").length === 2`)
	eval[bool](p, `(document.activeElement.blur(), true)`)
	p.do(chromedp.KeyEvent("u"))
	p.until(
		`document.querySelectorAll(".chip").length === 1 && document.querySelector(".chip").innerText.includes("string")`,
	)
	p.do(chromedp.KeyEvent("u"))
	p.until(
		`!document.querySelector(".chip") && !document.querySelector(".undo") &&
			document.querySelector("h1").innerText === "Call tree"`,
	)
	p.refused()
}

// TestFilters: clauses and spans between marks are chips as all filters are, one of a kind; the command says the same,
// and what was used is offered again.
func TestFilters(t *testing.T) {
	b := sessiontest.Shop()
	b.Marks = append(b.Marks, session.Mark{ID: 8, Name: "loaded", Time: 2, Process: 1, Source: session.MarkCtl},
		session.Mark{ID: 9, Name: "done", Time: 900_000_000, Process: 1, Source: session.MarkCtl})
	p := open(t, b)
	p.visit("view=functions", ".rows .row:not(.head)")
	add := func(kind, value string) {
		p.t.Helper()
		p.enter(".chips select", kind)
		p.enter(".chips form input", value)
		p.click(".chips form button")
		p.until(fmt.Sprintf(`[...document.querySelectorAll(".chip")].some(c => c.innerText.includes(%q))`, value))
	}
	command := func(end string) {
		p.t.Helper()
		p.until(fmt.Sprintf(`document.querySelector(".command code")?.innerText.endsWith(%q)`, end))
	}
	add("filter", "type = string")
	command("functions --filter <(printf %s 'type = string')")
	add("filter", "type <> string and function <> *Main*")
	command("functions --filter <(printf %s 'type <> string and function <> *Main*')")
	add("filter", "type = string")
	add("time", "0s..1s")
	add("mark", "loaded..done")
	command("functions --mark loaded..done --filter <(printf %s 'type = string')")
	p.until(`document.querySelectorAll(".chip").length === 2`)
	p.enter(".chips select", "filter")
	p.until(`[...document.querySelectorAll("#used option")].map(o => o.value).join("|") ===
		"type = string|type <> string and function <> *Main*"`)
	p.enter(".chips select", "mark")
	p.until(`document.querySelector("#used option").value === "loaded..done"`)
	p.visit("view=functions&filter=type", ".failed")
	p.until(`document.querySelector(".failed").innerText.includes("an operator")`)
	p.refused()
}

// TestParts: a row of a process, a thread, a module or a namespace leads to the functions of that alone, beside what is
// selected already; one of a kind.
func TestParts(t *testing.T) {
	p := open(t, sessiontest.Shop())
	first := `.rows .row:not(.head) a`
	for _, v := range []struct{ view, flag string }{{"processes", "process"}, {"threads", "thread"}, {"threads&by=name", "thread"},
		{"modules", "module"}, {"functions&by=namespace", "namespace"}} {
		p.visit("view="+v.view+"&type=string&"+v.flag+"=*", first)
		p.click(first)
		p.until(`document.querySelector("h1").innerText === "Functions" && document.querySelectorAll(".chip").length === 2 &&
			[...document.querySelectorAll(".chip")].some(c => c.innerText.includes("string"))`)
		p.until(fmt.Sprintf(`document.querySelector(".command code")?.innerText.includes("--%s") &&
			!new URLSearchParams(location.search).getAll(%[1]q).includes("*")`, v.flag))
	}
	p.refused()
}

// TestMyCode: the switch follows the filters through all views, says what it does, and the numbers are those of the
// server.
func TestMyCode(t *testing.T) {
	b := sessiontest.New()
	process := b.Process("web", 7)
	framework, own := b.Module(process, "System.Web.dll", true), b.Module(process, "Shop.dll", true)
	b.Modules[framework-1].Origin, b.Modules[own-1].Origin = "framework", "project"
	thread, text := b.Thread(process, "main"), b.Type(own, "Shop.Text")
	frame := func(module session.ModuleID, name string) sessiontest.Frame {
		return sessiontest.Frame{Function: b.Function(module, name, "/src/A.cs", 1), Line: 2}
	}
	host, pipe, action := frame(framework, "System.Host.Run()"), frame(framework, "System.Pipe.Next()"), frame(own,
		"Shop.Home.Index()")
	join, grow := frame(framework, "System.Text.Join()"), frame(framework, "System.Text.Grow()")
	b.Allocate(1, thread, text, 1, 1000, host, pipe, action, join, grow)
	b.Allocate(1, thread, text, 1, 10, host, pipe)
	p := open(t, b)
	names := func(view string) []string {
		p.until(`document.querySelector(".rows .row:not(.head)") && !document.querySelector(".stale")`)
		if view == "calltree" {
			p.until(`document.querySelector(".tools .count")?.innerText.includes("hot path")`)
		}
		got := eval[[]string](p,
			`[...document.querySelectorAll(".rows .row:not(.head) .name > :last-child")].map(e => e.innerText)`)
		slices.Sort(got)
		return got
	}
	all := []string{"Home.Index()", "Host.Run()", "Pipe.Next()", "Text.Grow()", "Text.Join()"}
	mine := []string{"Home.Index()", "Host.Run()", "Text.Join()"}
	p.visit("view=functions", ".mine")
	if got := names("functions"); !slices.Equal(got, all) {
		t.Errorf("%q, want %q", got, all)
	}
	// What is drawn while the answer comes belongs together: an observer sees each change before anything else runs.
	eval[bool](p, `(window.mixed = [], new MutationObserver(() => {
		const names = [...document.querySelectorAll(".rows .row:not(.head) .name > :last-child")].map(e => e.innerText);
		if (document.querySelector(".notes")?.innerText.includes("Your code and what it calls") &&
			!document.querySelector(".stale") && names.includes("Pipe.Next()")) mixed.push(names.join());
	}).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true}), true)`)
	p.click(".mine")
	p.until(
		`document.querySelector(".mine").getAttribute("aria-pressed") === "true" && document.querySelector(".notes")?.innerText.includes("Your code and what it calls")`)
	if got := names("functions"); !slices.Equal(got, mine) {
		t.Errorf("%q, want %q", got, mine)
	}
	if mixed := eval[[]string](p, `mixed`); len(mixed) > 0 {
		t.Errorf("rows of the sheet before are shown as those of your code: %q", mixed)
	}
	p.until(`document.querySelector(".command code").innerText.endsWith("functions --my-code")`)
	level := func(flag, value string) {
		eval[bool](p, fmt.Sprintf(`((input) => { input.value = %q; input.dispatchEvent(new Event("change", {bubbles: true})); return true; })(
			[...document.querySelectorAll(".level")].find(l => l.innerText.trim() === %q).querySelector("input"))`, value, flag))
	}
	level("callees", "2")
	level("callers", "1")
	p.until(`document.querySelector(".command code").innerText.endsWith("functions --my-code --my-code-callees 2 --my-code-callers 1")`)
	if got := names("functions"); !slices.Equal(got, all) {
		t.Errorf("%q, want %q", got, all)
	}
	level("callees", "1")
	level("callers", "0")
	p.until(`document.querySelector(".command code").innerText.endsWith("functions --my-code")`)
	p.click(`nav a[href*="view=calltree"]`)
	p.until(`document.querySelector("h1").innerText === "Call tree"`)
	if got, want := names("calltree"), append([]string{}, append(mine, "web")...); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p.click(`nav a[href*="view=flame"]`)
	p.until(`document.querySelector("canvas")?.dataset.frames === "4"`)
	for view, wait := range map[string]string{"lines": ".rows .row:not(.head)", "types": ".rows .row:not(.head)",
		"modules": ".rows .row:not(.head)", "overview": ".findings"} {
		p.click(fmt.Sprintf(`nav a[href*="view=%s"]`, view))
		p.until(
			fmt.Sprintf(
				`location.search.includes("view=%s") && document.querySelector(%q) && document.querySelector(".notes")?.innerText.includes("Your code and what it calls")`, view, wait))
	}
	eval[bool](p, `(document.activeElement.blur(), true)`)
	p.do(chromedp.KeyEvent("j"))
	p.until(
		`document.querySelector(".mine").getAttribute("aria-pressed") === "false" && !location.search.includes("my-code")`)
	p.refused()
}

// TestColumns: columns are left out, put elsewhere and added, also after reloading, and each says what it is.
func TestColumns(t *testing.T) {
	p := open(t, sessiontest.Aging())
	heads := func() []string {
		return eval[[]string](
			p,
			`[...document.querySelectorAll(".row.head [data-key]")].map(b => b.dataset.key)`,
		)
	}
	for _, view := range []string{"functions", "calltree"} {
		p.visit("view="+view, ".rows .row:not(.head)")
		before := heads()
		p.click(".chooser summary")
		if !eval[bool](p, `[...document.querySelectorAll(".chooser div div label")].every(l =>
			l.querySelector("small").innerText.endsWith("."))`) {
			t.Errorf("%s: a column does not say what it is", view)
		}
		last := before[len(before)-1]
		p.click(fmt.Sprintf(`[aria-label="move %s left"]`, last))
		want := slices.Clone(before)
		want[len(want)-1], want[len(want)-2] = want[len(want)-2], want[len(want)-1]
		p.until(`location.search.includes("cols=")`)
		if got := heads(); !slices.Equal(got, want) {
			t.Errorf("%s: %v after moving %s, want %v", view, got, last, want)
		}
		// The last one is dragged to the second place, and goes one to the right by the keyboard.
		eval[bool](p, `(() => { const all = [...document.querySelectorAll(".row.head [data-key]")], data = new DataTransfer();
			const tell = (e, name) => e.dispatchEvent(new DragEvent(name, {bubbles: true, cancelable: true, dataTransfer: data}));
			tell(all.at(-1), "dragstart"); tell(all[1], "dragover"); tell(all[1], "drop"); tell(all.at(-1), "dragend"); return true; })()`)
		want = slices.Insert(want[:len(want)-1], 1, want[len(want)-1])
		isThird := fmt.Sprintf(`document.querySelectorAll(".row.head [data-key]")[%%d].dataset.key === %q`, want[1])
		p.until(fmt.Sprintf(isThird, 1))
		p.do(chromedp.Focus(fmt.Sprintf("[data-key=%s] button", want[1])),
			chromedp.KeyEvent("\u0303", chromedp.KeyModifiers(chromedp.ModifierShift))) // to the right
		want[1], want[2] = want[2], want[1]
		p.until(fmt.Sprintf(isThird, 2) + fmt.Sprintf(` && document.activeElement.closest("[data-key]").dataset.key === %q`,
			want[2]))
		if got := heads(); !slices.Equal(got, want) {
			t.Errorf("%s: %v after dragging, want %v", view, got, want)
		}
		eval[bool](
			p,
			`([...document.querySelectorAll(".chooser label")].find(l =>
				l.innerText.trim().startsWith("inclusive_gen2_bytes")).querySelector("input").click(), true)`,
		)
		p.until(
			`[...document.querySelectorAll(".row.head button")].some(b => b.title.includes("(inclusive_gen2_bytes)"))`)
		want = append(want, "inclusive_gen2_bytes")
		p.do(chromedp.Reload())
		p.until(`document.querySelector(".rows .row:not(.head)")`)
		if got := heads(); !slices.Equal(got, want) {
			t.Errorf("%s: %v after reloading, want %v", view, got, want)
		}
	}
	p.refused()
}

// TestCallTree: a tree begins where one likes, and its stacks and open rows are copied.
func TestCallTree(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.visit("view=calltree", ".row.hot")
	eval[bool](p, copies)
	names := eval[[]string](
		p,
		`[...document.querySelectorAll(".row.hot")].map(r => r.querySelector(".name > :last-child").title)`,
	)
	p.do(chromedp.Focus(".rows"), chromedp.KeyEvent("c"))
	p.until(`window.copied`)
	want := slices.Clone(names[1:]) // of functions, not of the process
	slices.Reverse(want)
	if got := eval[string](p, "window.copied"); got != strings.Join(want, "\n") {
		t.Errorf("the stack is\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	eval[bool](
		p,
		`([...document.querySelectorAll(".tools button")].find(b => b.innerText === "Copy as TSV").click(), true)`,
	)
	p.until(`window.copied.startsWith("level\tname")`)
	rows := eval[int](p, `document.querySelectorAll(".rows .row").length`)
	if got := strings.Count(eval[string](p, "window.copied"), "\n"); got != rows {
		t.Errorf("%d lines are copied, want %d", got, rows)
	}
	eval[bool](p, `(document.querySelectorAll(".row.hot")[1].click(), true)`)
	p.until(`document.querySelectorAll(".row.hot")[1].classList.contains("current")`)
	p.do(chromedp.KeyEvent("r"))
	p.until(
		fmt.Sprintf(
			`location.search.includes("root=") &&
				document.querySelector(".rows .row:not(.head) .name > :last-child").title === %q`,
			names[2],
		),
	)
	p.click(".whole")
	p.until(
		fmt.Sprintf(
			`!location.search.includes("root=") &&
				document.querySelector(".rows .row:not(.head)").innerText.includes(%q)`,
			"Shop",
		),
	)
	p.refused()
}

// TestFits: at 1280 pixels the lists of the overview are whole, what is chosen is said, and an order that ascends is
// said to.
func TestFits(t *testing.T) {
	p := open(t, sessiontest.Aging())
	p.visit("view=overview", ".lists .small .row:not(.head)")
	if cut := eval[[]string](p,
		`[...document.querySelectorAll(".small")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.getAttribute("aria-label"))`); len(cut) > 0 {
		t.Errorf("%q are wider than their place", cut)
	}
	for view, by := range map[string]string{"lifetime": "type", "functions": "nothing", "lifetime&by=site": "site",
		"functions&by=module": "module"} {
		p.visit("view="+view, "#by")
		if got := eval[string](p, `document.querySelector("#by").selectedOptions[0]?.innerText ?? ""`); got != by {
			t.Errorf("%s: %q is chosen, want %q", view, got, by)
		}
	}
	for query, want := range map[string]string{"view=gcs": "ascending", "view=gcs&reverse=1": "descending",
		"view=functions":           "descending",
		"view=functions&sort=name": "ascending"} {
		p.visit(query, ".rows [aria-sort]")
		if got := eval[string](p, `document.querySelector("[aria-sort]").getAttribute("aria-sort")`); got != want {
			t.Errorf("%s is sorted %s, want %s", query, got, want)
		}
	}
}

// TestPhone: on a narrow screen no view is wider than it: what is wider is scrolled in its place.
func TestPhone(t *testing.T) {
	p := open(t, sessiontest.Aging(), sessiontest.Shop())
	p.do(chromedp.EmulateViewport(400, 800))
	const drawn, row = "canvas[data-boxes]", ".rows .row:not(.head)"
	for query, wait := range map[string]string{"view=overview": ".findings", "view=flame&color=type": drawn,
		"view=flame&diff=new": drawn,
		"view=calltree":       ".row.hot", "view=functions": row, "view=lifetime": ".ends i", "view=compare": ".bar i",
		"view=rules": ".view",
		"view=sql":   ".result td"} {
		p.visit(query, wait)
		if wide := eval[int](p, `document.documentElement.scrollWidth`); wide > 400 {
			t.Errorf("%s is %d pixels wide", query, wide)
		}
		if at := eval[float64](p, `document.querySelector("`+wait+`").getBoundingClientRect().top`); at > 560 {
			t.Errorf("%s: what is shown begins at %v of 800 pixels", query, at)
		}
	}
	p.click(`button[aria-label="keys"]`)
	p.until(`document.querySelectorAll(".overlay kbd").length > 20`)
}
