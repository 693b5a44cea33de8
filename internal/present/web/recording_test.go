package web_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/present/web"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// recording is a made-up recording that goes on, and its server.
type recording struct {
	*served
	http *httptest.Server
	feed *live.Feed
	now  q.Nanoseconds
	sums live.Sums
	mode string // "": everything
}

// record makes a recording of two functions and a type.
func record(t *testing.T) *recording {
	t.Helper()
	return recordAt(t, "/srv/app.clrprof")
}

// recordAt makes one whose session will have a path.
func recordAt(t *testing.T, path string) *recording {
	t.Helper()
	r := &recording{served: &served{t: t}, feed: live.NewFeed()}
	r.feed.SetSession(path)
	r.feed.Describe(&symbols.Input{
		Modules: []session.Module{{ID: 1, Path: "/srv/app.dll"}},
		Functions: []session.Function{{ID: 1, Module: 1, RawType: "Shop.Orders", RawName: "Load"},
			{ID: 2, Module: 1, RawType: "Shop.Orders", RawName: "Save"}},
		Types: []session.Type{{ID: 1, Module: 1, RawName: "Shop.Order"}},
	})
	r.feed.AddCounters([]session.Counter{{ID: 1, Name: "process.cpu_user", Unit: "ns", IsSum: true, Meaning: "CPU time in the program"},
		{ID: 3, Name: "process.resident", Unit: "bytes", Meaning: "memory that is in RAM <b>"}})
	h := httptest.NewUnstartedServer(nil)
	var err error
	if r.server, err = web.NewLive(h.Listener.Addr().String(), path, r.feed.Follow); err != nil {
		t.Fatal(err)
	}
	h.Config.Handler = r.server
	h.Start()
	t.Cleanup(h.Close)
	r.http, r.at = h, h.URL
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r.client = &http.Client{Jar: jar}
	return r
}

// work records a quarter of a second in which Load allocated and called, and a collection.
func (r *recording) work(last bool) {
	r.t.Helper()
	r.now += 250_000_000
	r.sums = r.sums.Add(live.Sums{Amount: q.Amount{Allocations: 1000, Bytes: 1 << 20}, Calls: 500})
	heap := []live.Population{{}, {Objects: 100, Bytes: 40 << 10}, {Objects: 2000, Bytes: q.Bytes(r.now / 2500)},
		{Objects: 1, Bytes: 90 << 10}, {}}
	r.feed.AddGC(live.GC{Process: 7, Number: int64(r.now / 250_000_000), Generation: 1, Begin: r.now - 10_000_000,
		Pause: 5_000_000,
		Died:  live.Population{Objects: 900, Bytes: 900 << 10}, Heap: heap})
	r.feed.AddMark(live.Mark{At: r.now, Name: fmt.Sprintf("turn <%d>", r.now/250_000_000), Text: "\u202e",
		Source: session.MarkAPI})
	r.feed.AddCounterValues([]session.CounterValue{{Time: r.now, Process: 1, Counter: 1, Value: int64(r.now) / 2},
		{Time: r.now, Process: 1, Counter: 3, Value: int64(r.now) / 250 * 1024}})
	if r.now == 500_000_000 {
		r.feed.AddPause(live.Pause{ID: 1, Level: session.LevelGlobal, Begin: 290_000_000})
		r.feed.AddPause(live.Pause{ID: 1, Level: session.LevelGlobal, Begin: 290_000_000, End: 310_000_000, Ended: true})
		r.feed.AddPause(live.Pause{ID: 2, Level: session.LevelGlobal, Begin: 490_000_000})
	} else if r.now == 750_000_000 {
		r.feed.AddPause(live.Pause{ID: 2, Level: session.LevelGlobal, Begin: 490_000_000, End: 510_000_000, Ended: true})
	}
	save := live.Sums{Amount: q.Amount{Allocations: 1, Bytes: 24}}
	all := r.sums.Add(save)
	s := &live.State{Time: r.now, Mode: cmp.Or(r.mode, "memory,lifetime,time"), Processes: 1, Threads: 3, Calls: true,
		Paused:    r.now == 500_000_000,
		Functions: []live.Sums{{}, r.sums, save}, Types: []live.Sums{{}, {Amount: all.Amount}}}
	if err := r.feed.Publish(s, last); err != nil {
		r.t.Fatal(err)
	}
}

// finish ends the recording: the session is there.
func (r *recording) finish() {
	r.t.Helper()
	r.feed.Close()
	r.session = analysistest.Open(r.t, sessiontest.Aging(), filepath.Join(r.t.TempDir(), "made.clrprof"))
	r.t.Cleanup(r.http.Close) // before the session is closed, which it reads
	r.server.Finish(r.session)
}

// enter opens the address that is printed.
func (r *recording) enter() {
	r.t.Helper()
	got, err := r.client.Get(r.server.URL())
	if err != nil {
		r.t.Fatal(err)
	}
	got.Body.Close()
}

// event is one of a stream.
type event struct{ id, name, data string }

// events reads a stream up to its end.
func (r *recording) events(path, last string, each func(event)) {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodGet, r.at+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	got, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer got.Body.Close()
	if kind := got.Header.Get("Content-Type"); kind != "text/event-stream; charset=utf-8" {
		r.t.Fatalf("%s: %s", got.Status, kind)
	}
	var e event
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				each(e)
			}
			e = event{}
		}
	}
}

// TestLive: a stream has the messages of the recording, and says when the session is there; then that is what there is.
func TestLive(t *testing.T) {
	r := record(t)
	if r.server.Entered() {
		t.Error("somebody has entered")
	}
	if got, _ := r.ask(http.MethodGet, "/api/live", nil); got.StatusCode != http.StatusForbidden {
		t.Errorf("a stranger watches: %s", got.Status)
	}
	r.enter()
	if !r.server.Entered() {
		t.Error("nobody has entered")
	}
	var described struct {
		Live bool
		Path string
	}
	if r.get("/api/session", &described); !described.Live || described.Path != "/srv/app.clrprof" {
		t.Errorf("session: %+v", described)
	}
	for _, path := range []string{"/api/summary", "/api/view?view=functions", "/api/tree", "/api/schema"} {
		if got, text := r.ask(http.MethodGet, path, nil); got.StatusCode != http.StatusBadRequest ||
			!strings.Contains(text, "is being recorded") {
			t.Errorf("%s: %s: %s", path, got.Status, text)
		}
	}
	go func() { // nothing is published before somebody watches
		<-r.feed.Wake()
		r.work(false)
	}()
	var sum, total live.Numbers
	var ids []string
	r.events("/api/live", "", func(e event) {
		if e.name == "finished" {
			ids = append(ids, e.name)
			return
		}
		var m live.Message
		if err := json.Unmarshal([]byte(e.data), &m); err != nil {
			t.Fatal(err)
		}
		sum = live.Numbers{Allocations: sum.Allocations + m.New.Allocations, Bytes: sum.Bytes + m.New.Bytes,
			Calls: sum.Calls + m.New.Calls}
		total, ids = m.Total, append(ids, e.id)
		switch len(ids) {
		case 1:
			r.work(false)
		case 2:
			r.work(true)
		default:
			r.finish()
		}
	})
	if got := strings.Join(ids, " "); got != "1 2 3 finished" || sum != total || total.Bytes != 3<<20+24 {
		t.Errorf("events %s: %+v in sum, the last one says %+v", got, sum, total)
	}
	r.events("/api/live", "3", func(e event) {
		if e.name != "finished" {
			t.Errorf("after the end: %+v", e)
		}
	})
	described.Live = false
	if r.get("/api/session", &described); described.Live || described.Path != r.session.Path() {
		t.Errorf("session: %+v", described)
	}
	var found struct{ Rows []any }
	if r.get("/api/view?view=functions", &found); len(found.Rows) == 0 {
		t.Error("the session has no functions")
	}
}

// TestTooManyWatch: who cannot watch gets an answer that says so.
func TestTooManyWatch(t *testing.T) {
	r := record(t)
	r.enter()
	for range live.MaxWatchers {
		w, err := r.feed.Watch(0)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
	}
	n := 0
	r.events("/api/live", "", func(e event) {
		if n++; e.name != "failed" || !strings.Contains(e.data, live.ErrTooMany.Error()) {
			t.Errorf("%+v", e)
		}
	})
	if n != 1 {
		t.Errorf("%d events, want one", n)
	}
}

// TestLivePageModes: the page has no numbers of what is not recorded: no "calls 0" without --time.
func TestLivePageModes(t *testing.T) {
	chromium(t)
	for mode, want := range map[string]string{"memory": "allocated", "time": "calls",
		"memory,lifetime,time": "allocated calls"} {
		r := record(t)
		r.mode = mode
		p := browse(t, r.served, r.at)
		p.do(chromedp.Navigate(r.server.URL()))
		<-r.feed.Wake()
		r.work(false)
		p.until(`document.querySelector(".live .now")`)
		facts := eval[[]string](p, `["allocated", "calls"].filter(n => document.querySelector("[data-fact=" + n + "]"))`)
		text := eval[string](p, `document.querySelector(".live").innerText.toLowerCase()`)
		if got := strings.Join(facts, " "); got != want || mode == "memory" && strings.Contains(text, "calls") {
			t.Errorf("%s: facts %q, want %q, in:\n%s", mode, got, want, text)
		}
	}
}

// TestLivePage: the page shows the numbers of the last message, goes on with each, and becomes that of the session.
func TestLivePage(t *testing.T) {
	script := axe(t)
	chromium(t)
	r := record(t)
	p := browse(t, r.served, r.at)
	p.do(chromedp.Navigate(r.server.URL()))
	<-r.feed.Wake()
	for id := 1; id <= 3; id++ {
		r.work(false)
		p.until(fmt.Sprintf(`document.querySelector(".live[data-id='%d'] .now")`, id))
		want := fmt.Sprintf("%d,%03d objects", id, 1)
		if got := eval[string](p, `document.querySelector("[data-fact=allocated] strong").innerText`); got != want {
			t.Errorf("message %d: allocated %q, want %q", id, got, want)
		}
		title := map[bool]string{true: "Paused", false: "Recording"}[id == 2]
		if got := eval[string](p, `document.querySelector("h1").innerText`); got != title {
			t.Errorf("message %d: it is %s, want %s", id, got, title)
		}
	}
	p.until(`document.querySelectorAll(".charts canvas").length === 4`)
	type row struct{ Name, Value string }
	rows := eval[[]row](p,
		`[...document.querySelector(".lists section").querySelectorAll("tbody tr")].map(r => ({Name: r.cells[0].innerText, Value: r.cells[1].innerText}))`)
	// 3 MiB in 0.75 s, and 24 bytes.
	if want := []row{{"Orders.Load(?)", "4.00 MiB"}, {"Orders.Save(?)", "32 B"}}; fmt.Sprint(
		rows) != fmt.Sprint(want) {
		t.Errorf("functions: %v, want %v", rows, want)
	}
	eval[bool](p, `(document.querySelector(".tools input").click(), true)`)
	p.until(`document.querySelector(".lists tbody tr").cells[1].innerText === "3.00 MiB"`)
	marks := eval[[]string](p, `[...document.querySelectorAll(".marks tbody tr")].map(r =>
		r.cells[0].innerText + "|" + r.cells[1].innerText + "|" + r.cells[2].innerText)`)
	if want := []string{"turn <3>|\ufffd|api", "turn <2>|\ufffd|api", "turn <1>|\ufffd|api"}; !slices.Equal(marks, want) {
		t.Errorf("marks: %q, want %q", marks, want)
	}
	counters := eval[[]string](p, `[...document.querySelectorAll(".counters tbody tr")].map(r =>
		r.cells[0].innerText + "|" + r.cells[2].innerText + "|" + r.querySelector("polyline").points.length)`)
	if want := []string{"CPU time in the program|0.50|2", "Memory that is in RAM <b>|2.9 GiB|3"}; !slices.Equal(counters, want) {
		t.Errorf("counters: %q, want %q", counters, want)
	}
	eval[bool](p, `(document.querySelector(".counters button").click(), true)`)
	p.until(`[...document.querySelectorAll(".u-title")].some(e => e.innerText.startsWith("CPU time in the program, in processors"))`)
	p.accessible(script, "live")
	p.picture("live")
	if refused := eval[string](p, `document.documentElement.dataset.refused ?? ""`); refused != "" {
		t.Errorf("the policy refused %s", refused)
	}
	r.work(true)
	p.until(`document.querySelector("h1").innerText === "Recorded"`)
	r.finish()
	p.reloaded(".findings")
}

// reloaded waits until the page has loaded itself anew, which ends a script that waits in it, and has what a selector
// names.
func (p *page) reloaded(selector string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	script := fmt.Sprintf("!!document.querySelector(%q)", selector)
	for {
		found, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script))
		if found {
			return
		}
		if ctx.Err() != nil {
			p.t.Fatalf("waited in vain for %s: %v", selector, err)
		}
	}
}
