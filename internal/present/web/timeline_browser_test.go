package web_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/web"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestCounters: a recording of times alone has a timeline too, with what was used and marked; each counter can be
// chosen, also in a file, and has the values that the terminal lists.
func TestCounters(t *testing.T) {
	b := sessiontest.Timed()
	b.Marks = append(b.Marks, session.Mark{ID: session.MarkID(len(b.Marks) + 1), Time: 500_000_000, Process: 1,
		Source: session.MarkAPI, Name: "half"})
	b.Counters = []session.Counter{{ID: 1, Name: "process.cpu_user", Unit: "ns", IsSum: true,
		Meaning: "time in the program"},
		{ID: 2, Name: "process.resident", Unit: "bytes", Meaning: "memory in RAM"},
		{ID: 3, Name: "process.open_files", Unit: "count", Meaning: "open files"}}
	for i := range 4 {
		for id, value := range []int64{100 * int64(i), 4096, 7 + int64(i)} {
			b.CounterValues = append(b.CounterValues, session.CounterValue{Time: q.Nanoseconds(i+1) * 200_000_000,
				Process: 1, Counter: int64(id + 1), Value: value})
		}
	}
	p := open(t, b)
	p.visit("view=overview", "#counter")
	titles := func() string {
		return eval[string](p, `[...document.querySelectorAll(".charts .u-title")].map(e => e.innerText).join("|")`)
	}
	p.until(`document.querySelectorAll(".charts .u-title").length === 2`)
	if got := titles(); got != "Processors used|Memory in RAM" {
		t.Errorf("charts %s", got)
	}
	eval[bool](p,
		`(e => { e.value = "process.open_files"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("#counter"))`)
	p.until(
		`location.search.includes("counter=process.open_files") && [...document.querySelectorAll(".charts .u-title")].some(e => e.innerText.startsWith("Open files"))`)
	var got struct{ Value []int64 }
	p.get("/api/counter?name=process.open_files", &got)
	if len(got.Value) != 4 || got.Value[3] != 10 {
		t.Errorf("open files %v", got.Value)
	}
	p.refused()

	var page bytes.Buffer
	if err := web.Write(&page, p.session, analysis.Selection{}, 0); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate("file://" + path + "?view=overview&counter=process.cpu_user"))
	p.until(
		`[...document.querySelectorAll(".charts .u-title")].some(e => e.innerText.includes(", in processors"))`)
	if failed := eval[string](p, `document.querySelector(".failed")?.innerText ?? ""`); failed != "" ||
		!strings.HasPrefix(titles(), "Processors used|") {
		t.Errorf("the file shows %s %s", titles(), failed)
	}
	p.refused()
}

// TestManyMarks: a few marks are lines across a chart; a thousand, as of requests, would hide it, so they are short.
func TestManyMarks(t *testing.T) {
	for _, tt := range []struct {
		marks  int
		across bool
	}{{3, true}, {1000, false}} {
		b := sessiontest.Timed()
		b.Marks = nil
		for i := range tt.marks {
			b.Marks = append(b.Marks, session.Mark{ID: session.MarkID(i + 1), Process: 1, Source: session.MarkAPI,
				Time: q.Nanoseconds(i+1) * 900_000_000 / q.Nanoseconds(tt.marks), Name: "request"})
		}
		b.Counters = []session.Counter{{ID: 1, Name: "process.resident", Unit: "bytes", Meaning: "memory in RAM"}}
		for i := range q.Nanoseconds(4) {
			b.CounterValues = append(b.CounterValues, session.CounterValue{Time: (i + 1) * 200_000_000, Process: 1,
				Counter: 1, Value: 4096})
		}
		p := open(t, b)
		p.visit("view=overview", ".charts canvas")
		// How many rows of pixels have the colour of marks at three places, and at a hundred.
		got := eval[[]int](p, `(() => {
			const of = document.querySelector(".charts canvas"), soft = document.createElement("canvas").getContext("2d");
			const probe = document.body.appendChild(document.createElement("i"));
			probe.style.color = "var(--soft)"; soft.fillStyle = getComputedStyle(probe).color; probe.remove();
			soft.fillRect(0, 0, 1, 1);
			const want = soft.getImageData(0, 0, 1, 1).data, all = of.getContext("2d").getImageData(0, 0, of.width, of.height).data;
			const rows = [];
			for (let y = 0; y < of.height; y++) {
				let n = 0;
				for (let x = 0; x < of.width; x++) {
					const at = 4 * (y * of.width + x);
					if (all[at + 3] > 100 && [0, 1, 2].every(i => Math.abs(all[at + i] - want[i]) < 8)) n++;
				}
				rows.push(n);
			}
			return [rows.filter(n => n >= 3).length, rows.filter(n => n >= 100).length];
		})()`)
		if few, many := got[0], got[1]; tt.across && few < 20 || !tt.across && (many == 0 || many > 10) {
			t.Errorf("%d marks: three in %d rows of pixels, a hundred in %d", tt.marks, few, many)
		}
		p.refused()
	}
}
