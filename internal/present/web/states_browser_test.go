package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// held lets requests wait whose address has some text, so that one can look at the page meanwhile.
type held struct {
	http.Handler
	mu    sync.Mutex
	text  string
	free  chan struct{} // closed: they may go on
	came  chan string   // the addresses of those that wait
	asked []string      // of all
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked = append(h.asked, r.URL.String())
	waits, free := h.text != "" && strings.Contains(r.URL.String(), h.text), h.free
	h.mu.Unlock()
	if waits {
		h.came <- r.URL.String()
		select {
		case <-free:
		case <-r.Context().Done():
			return
		}
	}
	h.Handler.ServeHTTP(w, r)
}

// hold lets requests with a text wait from now on, until the returned function is called.
func (h *held) hold(text string) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	free := make(chan struct{})
	h.text, h.free = text, free
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.text = ""
		close(free)
	}
}

// last is the address of the last request with a text.
func (h *held) last(text string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.asked) - 1; i >= 0; i-- {
		if strings.Contains(h.asked[i], text) {
			return h.asked[i]
		}
	}
	return ""
}

// openHeld opens the page of a made-up session through a server whose requests can be held.
func openHeld(t *testing.T, b *sessiontest.Builder, older ...*sessiontest.Builder) (*page, *held) {
	t.Helper()
	chromium(t)
	s := serve(t, b, older...)
	h := &held{came: make(chan string, 1000)}
	var server *web.Server
	at := serveAt(t, "127.0.0.1:0", func(listen string) http.Handler {
		server = s.again(listen)
		h.Handler = server
		return h
	})
	p := browse(t, s, at.URL)
	p.do(chromedp.Navigate(server.URL() + "&view=header"))
	p.until(`document.querySelector(".rows .row:not(.head)")`)
	return p, h
}

// TestStatesOfTables: while the answer to a filter or another order comes, the table that is there stays whole: more rows
// of it are asked for as it was, what is closed in it is closed in no other, and a second click is not lost.
func TestStatesOfTables(t *testing.T) {
	p, h := openHeld(t, sessiontest.Generate(sessiontest.Size{Nodes: 20_000, Functions: 3_000, Types: 40, Threads: 2}, 1))
	p.visit("view=functions", ".rows .row:not(.head)")
	release := h.hold("type=")
	p.filter("type", "*")
	<-h.came
	p.until(`document.querySelector(".rows").closest(".stale")`)
	eval[bool](p, `(e => { e.scrollTop = 1000 * 26; return true; })(document.querySelector(".rows"))`)
	p.until(`[...document.querySelectorAll(".rows .row[aria-rowindex]")].some(r => +r.getAttribute("aria-rowindex") > 990)`)
	if asked := h.last("offset=1000"); asked == "" || strings.Contains(asked, "type=") {
		t.Errorf("rows of the table before are asked for by %q", asked)
	}
	release()
	p.until(`!document.querySelector(".stale")`)

	p.visit("view=functions&by=module", ".rows .row:not(.head)")
	rows := `+document.querySelector(".rows").getAttribute("aria-rowcount")`
	all := eval[int](p, rows)
	p.click(".rows button.twist")
	p.until(`document.querySelector('.rows [aria-expanded="true"]')`)
	release = h.hold("type=")
	p.filter("type", "*")
	<-h.came
	if eval[int](p, rows) <= all {
		t.Error("what was opened is closed before the answer")
	}
	release()
	p.until(`!document.querySelector(".stale") && document.querySelector(".chip")`)
	if eval[bool](p, `!!document.querySelector('.rows [aria-expanded="true"]')`) {
		t.Error("what was opened in one table is open in another")
	}

	p.visit("view=functions", ".rows .row:not(.head)")
	release = h.hold("sort=")
	p.click(`button[title*="(exclusive_bytes)"]`)
	<-h.came
	p.click(`button[title*="(exclusive_bytes)"]`)
	release()
	p.until(`location.search.includes("reverse=1") && !document.querySelector(".stale") &&
		document.querySelector("[aria-sort=ascending]")`)
	p.refused()
}

// filter adds a filter as a user does.
func (p *page) filter(kind, value string) {
	p.t.Helper()
	p.enter(".chips select", kind)
	p.enter(".chips form input", value)
	p.click(".chips form button")
}

// TestStatesOfTrees: rows that are opened while another selection comes are those of the tree that is there; what opens
// by itself opens nothing when somebody has moved on.
func TestStatesOfTrees(t *testing.T) {
	p, h := openHeld(t, sessiontest.Shop())
	p.visit("view=calltree&sort=inclusive_bytes", ".row.hot")
	release := h.hold("type=string")
	p.filter("type", "string")
	<-h.came
	p.until(`document.querySelector(".rows").closest(".stale")`)
	p.click(`.rows [aria-expanded="false"] .twist`)
	p.until(`document.querySelector(".rows .row.current").getAttribute("aria-expanded") === "true"`)
	if asked := h.last("of_path="); asked == "" || strings.Contains(asked, "type=") {
		t.Errorf("rows of the tree before are asked for by %q", asked)
	}
	release()
	p.until(`!document.querySelector(".stale") && document.querySelector(".notes")?.innerText.includes("types string")`)

	release = h.hold("hot=1")
	p.visit("view=calltree", ".rows .row:not(.head)")
	<-h.came
	p.do(chromedp.Focus(".rows"), chromedp.KeyEvent("\u0303")) // right: the process is opened
	p.until(`document.querySelector(".rows .row.current").getAttribute("aria-expanded") === "true"`)
	release()
	p.do(chromedp.KeyEvent("\u0301")) // down
	p.until(`document.querySelectorAll(".rows .row:not(.head)")[1].classList.contains("current")`)
	p.do(chromedp.KeyEvent("h")) // asked for, it opens
	p.until(`document.querySelector(".row.hot.current")`)
	p.refused()
}

// TestStatesOfPictures: a flame graph says what it is about, and is zoomed, as long as it is there and no longer.
func TestStatesOfPictures(t *testing.T) {
	p, h := openHeld(t, sessiontest.Aging())
	p.visit("view=flame&metric=inclusive_bytes", "canvas[data-boxes]")
	about := eval[string](p, `document.querySelector(".about").innerText`)
	release := h.hold("metric=inclusive_allocations")
	eval[bool](p, `(e => { e.value = "inclusive_allocations"; e.dispatchEvent(new Event("change", {bubbles: true}));
		return true; })(document.querySelector("#metric"))`)
	<-h.came
	p.until(`document.querySelector("canvas").closest(".stale")`)
	if got := eval[string](p, `document.querySelector(".about").innerText`); got != about {
		t.Errorf("the graph of bytes is said to be of %s", got)
	}
	release()
	p.until(`!document.querySelector(".stale")`)
	if got := eval[string](p, `document.querySelector(".about").innerText`); got == about {
		t.Errorf("the graph of objects is said to be of %s", got)
	}
	const whole = `[...document.querySelectorAll(".tools button")].find(b => b.innerText === "All of it").disabled`
	p.wheel("canvas", -400, 1)
	p.until(`!` + whole)
	p.filter("type", "*")
	p.until(`document.querySelector(".chip") && !document.querySelector(".stale") && ` + whole)
	p.refused()
}

// TestStatesOfOthers: a comparison links to what its rows are of, a source file marks no line of another one, and a
// failure goes with what has failed.
func TestStatesOfOthers(t *testing.T) {
	p, h := openHeld(t, sessiontest.Shop(), sessiontest.Aging())
	p.visit("view=compare&of=functions", ".bar i")
	links := func() string { return eval[string](p, `document.querySelector(".rows .name a").getAttribute("href")`) }
	before := links()
	release := h.hold("of=types")
	eval[bool](p, `(e => { e.value = "types"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })
		(document.querySelector(".compare .tools select"))`)
	<-h.came
	p.until(`document.querySelector(".rows").closest(".stale")`)
	if got := links(); got != before {
		t.Errorf("a function leads to %s, want %s", got, before)
	}
	release()
	p.until(`!document.querySelector(".stale") && document.querySelector(".rows .name a").href.includes("view=types")`)

	var lines shownSheet
	p.get("/api/view?view=lines", &lines)
	files := map[string]int{}
	for _, r := range lines.Rows {
		file, line := "", 0
		for i, c := range lines.Columns {
			switch v := r.Values[i].(type) {
			case string:
				if c.Key == "source_file" {
					file = v
				}
			case float64:
				if c.Key == "line_begin" {
					line = int(v)
				}
			}
		}
		if file != "" {
			files[file] = line
		}
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	if len(names) < 2 {
		t.Fatalf("few files: %v", files)
	}
	p.visit(fmt.Sprintf("view=source&argument=%s:%d", names[0], files[names[0]]), ".source tr.current")
	release = h.hold("path=")
	eval[bool](p, fmt.Sprintf(`(history.pushState({step: 1}, "", "?view=source&argument=%s:%d"),
		dispatchEvent(new PopStateEvent("popstate")), true)`, names[1], files[names[0]]))
	<-h.came
	p.until(`document.querySelector(".result.stale")`)
	if eval[bool](p, `!!document.querySelector("tr.current")`) {
		t.Error("a line of one file is marked in another")
	}
	release()

	p.visit("view=functions&filter=type", ".failed")
	release = h.hold("view=functions")
	p.click(".chip button")
	<-h.came
	p.until(`document.querySelector(".waiting") && !document.querySelector(".failed")`)
	release()
	p.until(`document.querySelector(".rows .row:not(.head)")`)
	p.refused()
}

// TestHotPaths: the overview of a session with times and allocations has the hot path of each, with the numbers of the
// call tree; one with either has that.
func TestHotPaths(t *testing.T) {
	p := open(t, sessiontest.Kitchen())
	titles := func() []string {
		t.Helper()
		p.visit("view=overview", ".hot")
		return eval[[]string](p, `[...document.querySelectorAll("section.hot")].map(s => s.getAttribute("aria-label"))`)
	}
	if got := titles(); !slices.Equal(got, []string{"Hot path of times", "Hot path of allocations"}) {
		t.Errorf("the overview has %q", got)
	}
	var tree shownSheet
	p.get("/api/tree?hot=1", &tree)
	shown := eval[[][]string](p, strings.Replace(cells, ".rows", "section.hot", 1))
	for i, row := range tree.Rows[1:] { // the process, of which there are two, stands before it here too
		for k, c := range tree.Columns {
			if c.Key == "elapsed_inclusive" && shown[i+1][1] != row.Texts[k] {
				t.Errorf("level %d of the hot path has %q, want %s", i, shown[i+1], row.Texts[k])
			}
		}
	}
	for want, b := range map[string]*sessiontest.Builder{"Hot path": sessiontest.Timed(), "Hot path ": sessiontest.Shop()} {
		p = p.open(b)
		if got := titles(); !slices.Equal(got, []string{strings.TrimSpace(want)}) {
			t.Errorf("the overview has %q", got)
		}
	}
	p.refused()
}

// TestLineIsSeen: however long the name of a file is, the number of the line behind it is not cut off.
func TestLineIsSeen(t *testing.T) {
	p := open(t, sessiontest.Kitchen())
	p.visit("view=lines", ".rows .row:not(.head) .file")
	const long = `[...document.querySelectorAll(".rows .row:not(.head) .file")].map(f => {
		f.textContent = "Long".repeat(200) + ".cs";
		const cell = f.closest(".cell");
		return /\.cs:\d+$/.test(cell.innerText) && f.scrollWidth > f.clientWidth && cell.scrollWidth <= cell.clientWidth;
	})`
	if seen := eval[[]bool](p, long); len(seen) == 0 || slices.Contains(seen, false) {
		t.Errorf("line numbers are seen: %v", seen)
	}
}
