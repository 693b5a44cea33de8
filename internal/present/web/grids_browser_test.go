package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// Keys, as chromedp names them.
const (
	keyDown   = "\u0301"
	keyUp     = "\u0304"
	keyEnd    = "\u0305"
	keyEscape = "\u001b"
)

// told is what the accessibility tree says of the row that the keyboard is at: nil without one.
func (p *page) told() map[string]string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	nodes, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]*accessibility.Node, error) {
		got, err := cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			return nil, err
		}
		return got.Nodes, nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	property := func(n *accessibility.Node, name accessibility.PropertyName) *accessibility.Value {
		for _, x := range n.Properties {
			if x.Name == name {
				return x.Value
			}
		}
		return nil
	}
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		var out any
		if err := json.Unmarshal(v.Value, &out); err != nil {
			p.t.Fatal(err)
		}
		return fmt.Sprint(out)
	}
	for _, focused := range nodes {
		if focused.Ignored || text(property(focused, accessibility.PropertyNameFocused)) != "true" {
			continue
		}
		v := property(focused, accessibility.PropertyNameActivedescendant)
		if v == nil || len(v.RelatedNodes) != 1 {
			continue
		}
		for _, n := range nodes {
			if n.BackendDOMNodeID == v.RelatedNodes[0].BackendDOMNodeID {
				return map[string]string{"of": text(focused.Role), "role": text(n.Role), "name": text(n.Name),
					"level":    text(property(n, accessibility.PropertyNameLevel)),
					"selected": text(property(n, accessibility.PropertyNameSelected))}
			}
		}
	}
	return nil
}

// TestRowsAreTold: a screen reader is told which row of a tree or of a table the keyboard is at: its name, its numbers
// with what they are called, and its level.
func TestRowsAreTold(t *testing.T) {
	p := open(t, sessiontest.Shop())
	for _, tt := range []struct{ query, wait, of, number string }{
		{"view=calltree", ".row.hot.current", "treegrid", "Incl. bytes "},
		{"view=modules", ".row.current", "treegrid", "Excl. bytes "},
		{"view=functions", ".row.current", "grid", "Excl. bytes "}} {
		p.visit(tt.query, tt.wait)
		p.do(chromedp.Focus(".rows"))
		for _, key := range []string{"", keyDown, keyEnd} {
			if key != "" {
				p.do(chromedp.KeyEvent(key))
			}
			p.until(`(a => a && document.getElementById(a)?.classList.contains("current"))(` +
				`document.querySelector(".rows").getAttribute("aria-activedescendant"))`)
			got := p.told()
			name := eval[string](p, `document.querySelector(".row.current .name").innerText.replace(/^[▾▸·]\s*/, "")`)
			if got["of"] != tt.of || got["role"] != "row" || got["selected"] != "true" ||
				!strings.HasPrefix(got["name"], name+", ") || !strings.Contains(got["name"], tt.number) {
				t.Errorf("%s, key %q: of the row %q is told %q", tt.query, key, name, got)
			}
			if level := eval[string](p, `document.querySelector(".row.current").getAttribute("aria-level") ?? ""`); level !=
				got["level"] {
				t.Errorf("%s: level %q, told %q", tt.query, level, got["level"])
			}
		}
	}
}

// TestEscape: the key closes what is open, wherever in it the focus is, and leaves the page where it is.
func TestEscape(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.visit("view=functions", ".rows .row:not(.head)")
	for open, inside := range map[string]string{".chooser": "input", ".numbers": "select"} {
		p.click(open + " summary")
		p.until(fmt.Sprintf(`document.querySelector("%s[open]")`, open))
		p.do(chromedp.Focus(open+" "+inside), chromedp.KeyEvent(keyEscape))
		p.until(fmt.Sprintf(`!document.querySelector("%s[open]") && document.activeElement.matches("%[1]s summary")`, open))
	}
	p.do(chromedp.Focus(`[aria-label=keys]`))
	p.click(`[aria-label=keys]`)
	p.until(`document.querySelector("dialog[open]")?.contains(document.activeElement)`)
	p.do(chromedp.KeyEvent(keyEscape))
	p.until(`!document.querySelector("dialog") && document.activeElement.matches("[aria-label=keys]")`)
	if at := eval[string](p, "location.search"); !strings.Contains(at, "view=functions") {
		t.Errorf("the page went to %s", at)
	}
}

// longNames is a session with functions whose class has a long name.
func longNames() *sessiontest.Builder {
	b := sessiontest.New()
	process := b.Process("app", 7)
	module, thread := b.Module(process, "App.dll", true), b.Thread(process, "main")
	for _, name := range []string{"Insert()", "Remove(App.Item)"} {
		f := b.Function(module, "App.TheRepositoryOfAllOrdersThatWereEverPlacedByAnybody."+name, "/src/App.cs", 1)
		b.Allocate(1, thread, b.Type(module, "App.Item"), 1, 24, sessiontest.Frame{Function: f, Line: 2})
	}
	return b
}

// TestNamesAreCutAtTheFront: the end of a name is seen however narrow its column is, and all of it where the keyboard is.
func TestNamesAreCutAtTheFront(t *testing.T) {
	p := open(t, longNames())
	p.do(chromedp.EmulateViewport(390, 800))
	p.visit("view=functions", ".rows .row:not(.head)")
	// What is seen of the class is its end: the last letter is within the cell, the first one is not.
	got := eval[[]bool](p, `(list => list.map(e => { const r = document.createRange(), text = e.firstChild.firstChild, box = e.getBoundingClientRect();
		const seen = at => { r.setStart(text, at); r.setEnd(text, at + 1); const b = r.getBoundingClientRect(); return b.left >= box.left - 1 && b.right <= box.right + 1; };
		return !seen(0) && seen(text.length - 1); }))([...document.querySelectorAll(".cell.name .class")])`)
	if len(got) != 2 || !got[0] || !got[1] {
		t.Errorf("cut at the front: %v", got)
	}
	p.do(chromedp.Focus(".rows"))
	for key, name := range map[string]string{keyEnd: "Remove(App.Item)", keyUp: "Insert()"} { // in any order: there are two rows
		p.do(chromedp.KeyEvent(key))
		p.until(fmt.Sprintf(`document.querySelector(".whole")?.innerText === %q`,
			"App.TheRepositoryOfAllOrdersThatWereEverPlacedByAnybody."+name))
	}
	p.do(chromedp.EmulateViewport(2600, 800)) // there is room for all of it
	p.do(chromedp.KeyEvent(keyEnd))
	p.until(`!document.querySelector(".whole")`)
}

// TestRenamedInComparison: a function that was renamed is one row of the comparison, which says how it was called, in
// full where somebody points at it.
func TestRenamedInComparison(t *testing.T) {
	p := open(t, sessiontest.Named("App.Parser.ReadLine(string)", 164), sessiontest.Named("App.Parser.ParseLine(string)", 100))
	p.visit("view=compare", ".rows .row:not(.head)")
	got := eval[[]string](p, `[...document.querySelectorAll(".rows .row:not(.head) .name > *")].map(e => e.innerText + " | " + e.title)`)
	want := "Parser.ReadLine(string) (was Parser.ParseLine) | App.Parser.ReadLine(string) (was App.Parser.ParseLine(string))"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, not %q", got, want)
	}
}

// TestRowsHaveNames: of a nested type its own name is seen, and each row has a name that says something, also
// an instruction without a line.
func TestRowsHaveNames(t *testing.T) {
	b := sessiontest.New()
	process := b.Process("app", 7)
	module, thread := b.Module(process, "App.dll", true), b.Thread(process, "main")
	plain := b.Module(process, "Plain.dll", false)
	f := b.Function(module, "App.Program.Main()", "/src/App.cs", 1)
	g := b.Function(plain, "Plain.Parts.Make()", "", 0)
	nested := b.Type(module, "App.TheDictionaryOfAllOrdersThatWereEverPlaced<string, App.Order>.Entry[]")
	b.Allocate(1, thread, nested, 1, 24, sessiontest.Frame{Function: f, Line: 2})
	b.Allocate(1, thread, nested, 1, 24, sessiontest.Frame{Function: f, Line: 3}, sessiontest.Frame{Function: g})
	p := open(t, b)
	p.do(chromedp.EmulateViewport(390, 800))
	p.visit("view=types", ".rows .row:not(.head)")
	if seen := eval[bool](p, `(a => { const cell = a.closest(".cell").getBoundingClientRect(), r = document.createRange(), own = [...a.childNodes].find(n => n.textContent === "Entry[]");
		r.selectNodeContents(own); const b = r.getBoundingClientRect(); return b.left >= cell.left && b.right <= cell.right; })(document.querySelector(".rows .row:not(.head) .name a"))`); !seen {
		t.Error("the end of a nested type's name is cut")
	}
	p.visit("view=ips", ".rows .row:not(.head)")
	names := eval[[]string](p, `[...document.querySelectorAll(".rows .row:not(.head) .name a")].map(a => a.innerText).sort()`)
	if len(names) != 2 || names[0] != "App.cs:2" || names[1] != "Parts.Make()" {
		t.Errorf("the rows are called %q", names)
	}
}

// TestSideways: what can be scrolled sideways says on which side there is more, and no field of a phone is cut.
func TestSideways(t *testing.T) {
	p := open(t, sessiontest.Aging(), sessiontest.Shop())
	p.do(chromedp.EmulateViewport(390, 800))
	p.visit("view=functions", ".rows .row:not(.head)")
	more := func(want string) {
		p.t.Helper()
		p.until(fmt.Sprintf(`(document.querySelector(".rows").dataset.more ?? "") === %q`, want))
	}
	more("right")
	eval[bool](p, `(e => { e.scrollLeft = 40; return true; })(document.querySelector(".rows"))`)
	more("left right")
	eval[bool](p, `(e => { e.scrollLeft = e.scrollWidth; return true; })(document.querySelector(".rows"))`)
	more("left")
	for _, view := range []string{"overview", "flame", "calltree", "compare", "functions", "types", "lifetime", "modules",
		"marks", "gcs", "sql"} {
		p.visit("view="+view, "main h1")
		p.until(there)
		for _, unfold := range []bool{false, true} {
			if unfold {
				eval[bool](p, `[...document.querySelectorAll(".unfold")].map(e => e.click()).length >= 0`)
				p.until(`!document.querySelector(".unfold[aria-expanded=false]")`)
			}
			cut := eval[[]string](p, `[...document.querySelectorAll("main :is(input, select, textarea, button), header :is(input, select, button)")]
				.filter(e => !e.closest(".rows, .now, details:not([open]) > :not(summary)") && e.checkVisibility())
				.filter(e => { const b = e.getBoundingClientRect(); return b.left < 0 || b.right > innerWidth; }).map(e => e.outerHTML.slice(0, 120))`)
			if len(cut) > 0 {
				t.Errorf("%s: fields are cut: %q", view, cut)
			}
		}
	}
	p.do(chromedp.EmulateViewport(1280, 800))
	p.visit("view=header", ".rows .row:not(.head)")
	more("")
}

// TestModuleColors: each module has a colour of its own, whatever their number and order, and keeps it among others.
func TestModuleColors(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.loads("palette.ts")
	const colors = `((n, user, dark, turned) => { const names = [...Array(n).keys()].map(i => "Module" + i + ".dll"); if (turned) names.reverse();
		return tested.ofModules(names, names.map(() => user), dark).map((c, i) => names[i] + " " + c).sort(); })`
	for _, user := range []bool{true, false} {
		for _, n := range []int{2, 50, 300} {
			got := eval[[]string](p, fmt.Sprintf("%s(%d, %t, false, false)", colors, n, user))
			turned := eval[[]string](p, fmt.Sprintf("%s(%d, %t, false, true)", colors, n, user))
			distinct := map[string]bool{}
			for i := range got {
				_, color, _ := strings.Cut(got[i], " ")
				distinct[color] = true
				if got[i] != turned[i] {
					t.Errorf("%s, in another order %s", got[i], turned[i])
				}
			}
			if len(distinct) != n {
				t.Errorf("%d modules have %d colours", n, len(distinct))
			}
		}
	}
}

// TestChartsHaveAxes: each chart says the seconds, and a counter is called by what it means.
func TestChartsHaveAxes(t *testing.T) {
	p := open(t, sessiontest.Aging())
	p.visit("view=overview", ".charts .uplot")
	heights := eval[[]float64](p, `[...document.querySelectorAll(".charts .uplot")].map(u => u.querySelector(".u-axis").clientHeight)`)
	if len(heights) < 3 {
		t.Errorf("%d charts", len(heights))
	}
	for i, h := range heights {
		if h < 28 {
			t.Errorf("the axis of chart %d has %v pixels: no room for seconds", i+1, h)
		}
	}
	p = p.open(sessiontest.Timed())
	for _, view := range []string{"functions", "calltree", "flame"} {
		p.visit("view="+view, "main h1")
		p.until(there)
		if text := eval[string](p, `document.querySelector("main").innerText`); !strings.Contains(text,
			"Elapsed times are added up over 2 threads.") {
			t.Errorf("%s does not say over how many threads times are added up:\n%s", view, text)
		}
	}
}
