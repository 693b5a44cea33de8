package web_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/report"
	"github.com/clrprof/clrprof/internal/present/report/text"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// heads are the titles of the columns in sight.
const heads = `[...document.querySelectorAll(".rows .row.head > span")].map(h => h.innerText.replace(/ [▴▾]$/, "").trim())`

// TestUnits: cells of every table have the texts that the terminal prints with --unit, and bytes exactly; shares go
// where they are switched off. The command beside it has the flag.
func TestUnits(t *testing.T) {
	p := open(t, sessiontest.Kitchen(), sessiontest.Timed())
	src, err := analysis.Open(p.session, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, unit := range text.Units() {
		for _, name := range []string{"functions", "lines", "threads", "modules"} {
			view, err := report.FindView(name)
			if err != nil {
				t.Fatal(err)
			}
			o := report.Options{Columns: strings.Fields("name elapsed_inclusive cpu_exclusive inclusive_bytes calls")}
			if name == "lines" || name == "threads" {
				o = report.Options{}
			}
			if view.IsTree() {
				o.Top, o.Depth = view.Text.Top, view.Text.Depth
			}
			table, err := view.Build(src, o)
			if err != nil {
				t.Fatal(err)
			}
			columns := strings.Join(o.Columns, ",")
			p.visit(fmt.Sprintf("view=%s&unit=%s&bytes=exact&percent=off&more=%s&cols=%s", name, unit, columns, columns),
				".rows .row:not(.head)")
			compared += p.hasUnits(table, unit, name)
			if command := eval[string](p, `document.querySelector(".command code").innerText`); !strings.HasSuffix(command,
				" --unit "+string(unit)) {
				t.Errorf("%s: command %q", name, command)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d cells were compared", compared)
	}
	p.refused()
}

// hasUnits compares the rows in sight with a table as the terminal prints it in a unit, and returns how many cells.
func (p *page) hasUnits(table *report.Table, unit text.Unit, what string) (compared int) {
	p.t.Helper()
	titles, shown := eval[[]string](p, heads), eval[[][]string](p, cells)
	for k, title := range titles {
		if title == "%" || strings.HasPrefix(title, "% of") {
			p.t.Errorf("%s: column %q is there, but shares are off", what, title)
		}
		name, of, hasUnit := strings.Cut(strings.TrimSuffix(title, ")"), " (")
		at := slices.IndexFunc(table.Columns, func(c report.Column) bool {
			return c.Title == name && (c.Kind == report.Bytes || c.Kind == report.Duration)
		})
		if at < 0 {
			continue
		}
		c := table.Columns[at]
		if want := strings.Replace(string(unit), "us", "µs", 1); c.Kind == report.Duration && (!hasUnit || of != want) {
			p.t.Errorf("%s: the title of %s is %q", what, c.Key, title)
		}
		printed := text.Cells(table, c, text.Options{Unit: unit})
		for i, row := range shown {
			if i >= len(table.Rows) || table.IsRest(i) {
				break
			}
			want := printed(i)
			if cell := table.Cell(i, c); c.Kind == report.Bytes && !cell.Empty {
				want = q.Bytes(cell.Number).Exact()
			}
			if row[k] != want {
				p.t.Errorf("%s: row %d, %s is %q, want %q", what, i, c.Key, row[k], want)
			}
			compared++
		}
	}
	return compared
}

// TestUnitsInSentences: the flame graph, the comparison and what is pointed at follow the units.
func TestUnitsInSentences(t *testing.T) {
	p := open(t, sessiontest.Kitchen(), sessiontest.Shop())
	src, err := analysis.Open(p.session, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := report.FindView("calltree")
	if err != nil {
		t.Fatal(err)
	}
	table, err := view.Build(src, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for i := range table.Rows {
		for _, c := range table.Columns {
			if cell := table.Cell(i, c); table.Rows[i].Level() == 0 && !cell.Empty {
				sums[c.Key] += cell.Number
			}
		}
	}
	for metric, want := range map[string]string{
		"inclusive_bytes":   q.Bytes(sums["inclusive_bytes"]).Exact(),
		"elapsed_inclusive": q.Count(sums["elapsed_inclusive"]).String() + " ns",
	} {
		p.visit("view=flame&unit=ns&bytes=exact&metric="+metric+"&find=e", "canvas[data-boxes]")
		p.until(fmt.Sprintf(`document.querySelector(".flame .count")?.innerText.includes(%q)`, " matches: "+want+" ("))
		p.do(chromedp.Focus("canvas"), chromedp.KeyEvent("\u0304"))
		p.until(`document.querySelector(".details").innerText.includes("% ") || ` +
			`document.querySelector(".details").innerText.includes("%)")`)
		p.visit("view=flame&unit=ns&bytes=exact&percent=off&metric="+metric+"&find=e", "canvas[data-boxes]")
		p.until(fmt.Sprintf(`document.querySelector(".flame .count")?.innerText.includes(%q)`, " matches: "+want+","))
		p.do(chromedp.Focus("canvas"), chromedp.KeyEvent("\u0304"))
		p.until(`/, itself /.test(document.querySelector(".details").innerText)`)
		if said := eval[string](p, `document.querySelector(".details").innerText`); strings.Contains(said, "%") {
			t.Errorf("%s: shares are off, and the details are %q", metric, said)
		}
	}
	p.visit("view=compare&of=functions&column=exclusive_bytes&bytes=exact&percent=off", ".rows .row:not(.head)")
	if titles := eval[[]string](p, heads); slices.Contains(titles, "%") || len(titles) != 6 {
		t.Errorf("the comparison has %q", titles)
	}
	var compared struct{ Names []string }
	p.of(p.url, "/api/compare?of=functions&column=exclusive_bytes", &compared)
	for i, row := range eval[[][]string](p, cells) {
		if row[0] != compared.Names[i] || !strings.HasSuffix(row[2], " B") || strings.Contains(row[2], "iB") {
			t.Errorf("the comparison has %q", row)
		}
	}
	p.refused()
}

// TestUnitsAreKept: what is chosen is in the address of every view, and in the browser for addresses that say nothing, also
// of another port; what a link says goes before.
func TestUnitsAreKept(t *testing.T) {
	p := open(t, sessiontest.Kitchen())
	p.visit("view=functions", ".rows .row:not(.head)")
	choose := func(id, value string) {
		eval[bool](p, fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })
			(document.querySelector(%q))`, value, id))
	}
	p.click(".numbers summary")
	choose("#bytes", "exact")
	choose("#unit", "us")
	p.click("#percent")
	const all = `["unit=us", "bytes=exact", "percent=off"].every(s => location.search.includes(s))`
	p.until(all)
	p.do(chromedp.KeyEvent("\x1b"))
	p.until(`!document.querySelector(".numbers").open && location.search.includes("view=functions")`)
	p.click(`nav a[href*="view=threads"]`)
	p.until(`location.search.includes("view=threads") && ` + all)
	p.visit("view=modules", ".rows .row:not(.head)")
	p.until(all)
	p.visit("view=modules&unit=ms", ".rows .row:not(.head)")
	p.until(`location.search.includes("unit=ms") && document.querySelector(".head").innerText.includes("(ms)")`)
	p.click(`nav a[href*="view=functions"]`)
	p.until(`location.search.includes("unit=ms") && document.querySelector(".head").innerText.includes("(ms)")`)

	h := httptest.NewUnstartedServer(nil) // the next time: another port
	server := p.again(h.Listener.Addr().String())
	h.Config.Handler = server
	h.Start()
	t.Cleanup(h.Close)
	p.do(chromedp.Navigate(server.URL() + "&view=functions"))
	p.until(`document.querySelector(".rows .row:not(.head)") && ` + all)
	p.click(".numbers summary")
	choose("#bytes", "")
	choose("#unit", "")
	p.click("#percent")
	p.until(`!/unit|bytes|percent=/.test(location.search) && document.querySelector(".share")`)
	p.url = h.URL
	p.visit("view=modules", ".rows .share")
	if at := eval[string](p, "location.search"); strings.Contains(at, "unit") {
		t.Errorf("the usual units are in the address: %s", at)
	}
	p.refused()
}
