package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// fill is the colour of the canvas in the middle of a row; named is that of a name in the legend.
const (
	fill = `(row => { const c = document.querySelector("canvas"), r = devicePixelRatio;
		const pixel = c.getContext("2d").getImageData(c.width - 12 * r, (row * 19 + 3) * r, 1, 1).data;
		return "rgb(" + [...pixel].slice(0, 3).join(", ") + ")"; })`
	named = `(name => getComputedStyle(
		[...document.querySelectorAll(".flame .legend li")].find(li => li.innerText === name)).backgroundColor)`
)

// most returns the column, or the name, that has most bytes in a view.
func (p *page) most(view string, columns map[string]string) string {
	p.t.Helper()
	var rows shownSheet
	p.get("/api/view?view="+view+"&limit=10000", &rows)
	sums := map[string]float64{}
	for _, r := range rows.Rows {
		for i, c := range rows.Columns {
			if r.Level > 0 || r.Hidden > 0 {
				continue
			}
			n, _ := r.Values[i].(float64)
			if said, ok := columns[c.Key]; ok {
				sums[said] += n
			} else if columns == nil && c.Key == "bytes" {
				sums[fmt.Sprint(r.Values[0])] += n
			}
		}
	}
	best := ""
	for name, n := range sums {
		if n > sums[best] {
			best = name
		}
	}
	return best
}

// TestFlameColors: the root of the flame graph has the colour of the type, and of the end, that most bytes have by
// other views, and its details say so; colours can be distinguished from the text on them in either theme.
func TestFlameColors(t *testing.T) {
	p := open(t, sessiontest.Aging())
	want := map[string]string{
		"type": p.most("types", nil),
		"generation": p.most("lifetime", map[string]string{"gen0_bytes": "died in gen 0",
			"gen1_bytes": "died in gen 1", "gen2_bytes": "died in gen 2", "loh_bytes": "died in the LOH",
			"poh_bytes": "died in the POH", "alive_bytes": "alive at the end"}),
	}
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, `(localStorage.setItem("theme", "`+theme+`"), true)`)
		for by, name := range want {
			p.visit("view=flame&metric=inclusive_bytes&color="+by, "canvas[data-boxes]")
			if got, legend := eval[string](p, fill+`(0)`), eval[string](p,
				fmt.Sprintf("%s(%q)", named, name)); got != legend {
				t.Errorf("%s, %s: the root is %s, want %s as %s", theme, by, got, legend, name)
			}
			p.do(chromedp.Focus("canvas"), chromedp.KeyEvent("\u0304")) // up: to the root
			p.until(fmt.Sprintf(`document.querySelector(".details").innerText.includes(%q)`, "% of its bytes"))
			if said := eval[string](p, `document.querySelector(".details").innerText`); !strings.HasSuffix(said, name) {
				t.Errorf("%s: the root's details are %q, want …%s", by, said, name)
			}
		}
	}
	eval[bool](
		p,
		`(e => { e.value = ""; e.dispatchEvent(new Event("change", {bubbles: true}));
			return true; })(document.querySelector("#color"))`,
	)
	p.until(
		`!location.search.includes("color=") &&
			[...document.querySelectorAll(".legend li")].some(li => li.innerText.endsWith(".dll"))`,
	)
	p.refused()
}

// TestFlameShapes: the flame graph has the shapes of the call tree, one click each; the command beside it says the
// same.
func TestFlameShapes(t *testing.T) {
	b := sessiontest.Shop()
	machine := &b.Functions[1]
	machine.RawName, machine.Name = "MoveNext", "Store.Load() [async]"
	p := open(t, b)
	p.visit("view=flame", "canvas[data-boxes]")
	if first := eval[string](p, `document.querySelector(".legend li").innerText`); first != "Shop.dll" {
		t.Errorf("the legend begins with %s, which has more bytes of its own, and not with the user's module", first)
	}
	says := func(command, note string) {
		p.t.Helper()
		p.until(fmt.Sprintf(`document.querySelector(".command code")?.innerText.endsWith(%q) &&
			(document.querySelector(".notes")?.innerText ?? "").includes(%q)`, command, note))
	}
	says("--sort inclusive_bytes --async logical", "Async methods") // as in the call tree, so that rows have one value
	p.click("#fold-recursion")
	says("--sort inclusive_bytes --async logical --fold-recursion", "Recursion is folded")
	p.click("#async")
	says("--sort inclusive_bytes --fold-recursion --async physical", "Recursion is folded")
	eval[bool](p, `(e => { e.value = "Tree.Insert"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })`+
		`(document.querySelector("#function-root"))`)
	says("--sort inclusive_bytes --root Tree.Insert --fold-recursion --async physical", "Tree.Insert")
	p.until(`!document.querySelector("#color")`) // what frames are coloured by is of the call tree as it was
	p.refused()
}

// TestFlameDifferences: frames have the difference that the comparison has, in words, signs and colours; what one
// session alone has is said, and one click away.
func TestFlameDifferences(t *testing.T) {
	now, older := sessiontest.Shop(), sessiontest.Shop()
	entry := sessiontest.Frame{Function: 1, Line: 12}
	extra := sessiontest.Frame{Function: now.Function(1, "Shop.Extra.Make()", "/src/Shop/Extra.cs", 5), Line: 6}
	now.Allocate(1, 1, 1, 10, 100_000, entry, extra)
	gone := sessiontest.Frame{Function: older.Function(1, "Shop.Former.Make()", "/src/Shop/Former.cs", 5), Line: 6}
	older.Allocate(1, 1, 1, 10, 2_000_000, entry, gone)
	p := open(t, now, older)
	p.visit("view=flame&diff=new&find=Extra.Make", "canvas[data-boxes]")
	p.do(chromedp.KeyEvent("n"))
	p.until(
		`document.querySelector(".details").innerText.includes("0 B → 97.66 KiB, +97.66 KiB") &&
			document.querySelector(".details").innerText.endsWith("only in this one")`,
	)
	p.until(`document.querySelector(".gone").innerText.startsWith("1 frame with 1.91 MiB")`)
	p.visit("view=flame&diff=new", "canvas[data-boxes]")
	root := p.difference("Shop.Program.Main(string[])")
	p.do(chromedp.Focus("canvas"), chromedp.KeyEvent("\u0301")) // down
	p.until(`document.querySelector(".details").innerText.includes("→")`)
	for range 3 {
		if eval[bool](p, `document.querySelector(".details").innerText.startsWith("Shop.Program.Main(string[])\n")`) {
			break
		}
		said := eval[string](p, `document.querySelector(".details").innerText`)
		p.do(chromedp.KeyEvent("\u0303")) // right
		p.until(fmt.Sprintf(`document.querySelector(".details").innerText !== %q`, said))
	}
	said := strings.ReplaceAll(eval[string](p, `document.querySelector(".details").innerText`), "−", "-")
	if !strings.Contains(said, root) {
		t.Errorf("Main's details are %q, want …%s", said, root)
	}
	if got, want := eval[string](p, fill+`(0)`), eval[string](p, named+`("▼▼ half or less")`); got != want {
		t.Errorf("the root is %s, want %s", got, want)
	}
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, `(localStorage.setItem("theme", "`+theme+`"), true)`)
		p.visit("view=flame&diff=new", "canvas[data-boxes]")
	}
	p.click(".gone button")
	p.until(
		`location.search.includes("diff=old") &&
			document.querySelector(".gone").innerText.startsWith("1 frame with 97.66 KiB")`,
	)
	p.visit("view=flame&diff=old&find=Former", "canvas[data-boxes]")
	p.do(chromedp.KeyEvent("n"))
	p.until(
		`document.querySelector(".details").innerText.includes("1.91 MiB → 0 B") &&
			document.querySelector(".details").innerText.endsWith("only in the older one")`,
	)
	p.refused()
}

// difference is what the comparison of functions says of one, as the details of a frame do.
func (p *page) difference(name string) string {
	p.t.Helper()
	var c struct {
		Columns []string
		Texts   [][]string
	}
	p.of(p.url, "/api/compare?of=functions&column=inclusive_bytes", &c)
	for _, r := range c.Texts {
		if r[4] == name {
			return fmt.Sprintf("%s → %s, %s (%s %%)", r[2], r[3], r[0], r[1])
		}
	}
	p.t.Fatalf("%s is not among %v", name, c.Texts)
	return ""
}

// of decodes an answer of the browser's own server.
func (p *page) of(at, path string, into any) {
	p.t.Helper()
	text := eval[string](
		p,
		fmt.Sprintf(
			`(() => { const r = new XMLHttpRequest(); r.open("GET", %q, false); r.send(); return r.responseText; })()`,
			at+path,
		),
	)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		p.t.Fatalf("%s: %v: %s", path, err, text)
	}
}
