package web_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// tab opens another tab of the page's browser, which has the same cookies.
func (p *page) tab() *page {
	p.t.Helper()
	ctx, end := chromedp.NewContext(p.ctx)
	p.t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		p.t.Fatal(err)
	}
	return &page{p.served, ctx, p.url}
}

// serveAt serves at an address, which another server may have had.
func serveAt(t *testing.T, at string, handler func(listen string) http.Handler) *httptest.Server {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	h := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler(listener.Addr().String())}}
	h.Start()
	t.Cleanup(h.Close)
	return h
}

// warning is what the page says about the server.
const warning = `(document.querySelector("main > .failed")?.innerText ?? "")`

// TestServerGone: the page says that clrprof has gone and how to start it, keeps what it shows, and goes on with what
// it asked for in vain when the same session is back; of another session it says so.
func TestServerGone(t *testing.T) {
	chromium(t)
	s := serve(t, sessiontest.Shop())
	var server *web.Server
	again := func(listen string) http.Handler { server = s.again(listen); return server }
	h := serveAt(t, "127.0.0.1:0", again)
	at := h.Listener.Addr().String()
	p := browse(t, s, h.URL)
	p.do(chromedp.Navigate(server.URL() + "&view=functions"))
	p.until(`document.querySelectorAll(".rows .row:not(.head)").length > 3`)
	before := eval[string](p, `document.querySelector(".rows").innerText`)
	h.CloseClientConnections()
	h.Close()
	p.click(`button[title*="(exclusive_bytes)"]`)
	p.until(warning + `.includes("clrprof does not answer")`)
	want := fmt.Sprintf("clrprof view %s --listen %s", s.session.Path(), at)
	if got := eval[string](p, `document.querySelector("main > .failed code").innerText`); got != want {
		t.Errorf("to type is %q, want %q", got, want)
	}
	if after := eval[string](p, `document.querySelector(".rows").innerText`); after != before {
		t.Errorf("it shows\n%s\nand showed\n%s", after, before)
	}
	h = serveAt(t, at, again)
	p.until(warning + `.includes("was started again")`)
	other := p.tab()
	other.do(chromedp.Navigate(server.URL() + "&view=types"))
	other.until(`document.querySelector(".rows .row:not(.head)")`)
	p.until(
		warning + ` === "" && document.querySelector("[aria-sort]") &&
			document.querySelector(".rows .row:not(.head)").innerText.toLowerCase().startsWith("string.format")`,
	)
	p.refused()
	h.CloseClientConnections()
	h.Close()
	p.click(`nav a[href*="view=lines"]`)
	p.until(warning + `.includes("clrprof does not answer")`)
	s = serve(t, sessiontest.Aging())
	serveAt(t, at, again)
	other.do(chromedp.Navigate(server.URL()))
	p.until(warning + `.includes("Another session is served here now")`)
	p.click("main > .failed a")
	p.reloaded(".findings")
}

// TestSessionDeleted: the page shows a session that was deleted; queries, which need the file, say why they cannot,
// also when it was replaced by another file.
func TestSessionDeleted(t *testing.T) {
	p := open(t, sessiontest.Shop())
	path := p.session.Path()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, view := range []string{"functions", "calltree", "types"} {
		p.visit("view="+view, ".rows .row:not(.head)")
	}
	p.visit("view=sql", ".failed")
	if said := eval[string](p, `document.querySelector(".failed").innerText`); !strings.Contains(said, "was deleted") {
		t.Errorf("deleted: %s", said)
	}
	analysistest.Open(t, sessiontest.Aging(), path)
	p.visit("view=sql", ".failed")
	if said := eval[string](p, `document.querySelector(".failed").innerText`); !strings.Contains(
		said,
		"was replaced by another file: start clrprof view again",
	) {
		t.Errorf("replaced: %s", said)
	}
	p.refused()
}

// TestSessionDamaged: what cannot be read of a session is said, and the page and its server stay.
func TestSessionDamaged(t *testing.T) {
	for name, damage := range map[string]func(*os.File, int64) error{
		"cut": func(f *os.File, _ int64) error { return f.Truncate(8192) },
		"overwritten": func(f *os.File, size int64) error {
			_, err := f.WriteAt(make([]byte, size-8192), 8192)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, sessiontest.Generate(sessiontest.Size{Nodes: 60_000, Functions: 5_000, Types: 300, Threads: 4},
				1))
			f, err := os.OpenFile(p.session.Path(), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err == nil {
				err = damage(f, info.Size())
			}
			if err != nil {
				t.Fatal(err)
			}
			p.click(`nav a[href*="view=flame"]`)
			p.until(`document.querySelector(".failed")`)
			if said := eval[string](p, `document.querySelector(".failed").innerText`); !strings.Contains(
				said,
				p.session.Path(),
			) ||
				!strings.Contains(said, session.ErrCorrupt.Error()) {
				t.Errorf("it says %q", said)
			}
			if eval[string](p, warning) != "" {
				t.Error("the server has gone")
			}
			p.click(`nav a[href*="view=header"]`)
			p.until(
				`document.querySelector("h1").innerText.toLowerCase() === "session" &&
					document.querySelector(".rows .row:not(.head), .failed")`,
			)
			p.refused()
		})
	}
}

// TestTwoTabs: two tabs look at different parts of a session, each with its own history.
func TestTwoTabs(t *testing.T) {
	p := open(t, sessiontest.Several())
	q := p.tab()
	p.visit("view=functions", ".rows .row:not(.head)")
	q.visit("view=types&process=%231", ".chip")
	for range 5 { // by turns
		p.click(`button[title*="(exclusive_bytes)"]`)
		q.click(`button[title*="(bytes)"]`)
		p.until(`location.search.includes("sort=exclusive_bytes") && !document.querySelector(".stale")`)
		q.until(`location.search.includes("sort=bytes") && !document.querySelector(".stale")`)
		p.do(chromedp.NavigateBack())
		p.until(`!location.search.includes("sort=")`)
		if got := eval[string](q, `document.querySelector(".chip").innerText`); !strings.Contains(got, "#1") ||
			eval[bool](p, `!!document.querySelector(".chip")`) {
			t.Fatalf("the other tab's filter is %q", got)
		}
		q.do(chromedp.NavigateBack())
		q.until(`!location.search.includes("sort=")`)
	}
	p.refused()
	q.refused()
}

// slow lets the bytes of long answers through when it is asked to.
type slow struct {
	http.Handler
	pass chan struct{} // one for each piece; closed: all
}

const piece = 256 << 10

type slowWriter struct {
	http.ResponseWriter
	r    *http.Request
	pass chan struct{}
}

func (w *slowWriter) Write(b []byte) (int, error) {
	n := 0
	for len(b) > n {
		if n > 0 || len(b) > piece {
			select {
			case <-w.pass:
			case <-w.r.Context().Done():
				return n, w.r.Context().Err()
			}
		}
		k, err := w.ResponseWriter.Write(b[n:min(len(b), n+piece)])
		if n += k; err != nil {
			return n, err
		}
		if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (s *slow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Handler.ServeHTTP(&slowWriter{w, r, s.pass}, r)
}

// TestSlowLink: while an answer of many megabytes comes the page says how much of it has, and nothing else waits for
// it, neither in this tab nor in another.
func TestSlowLink(t *testing.T) {
	if testing.Short() {
		t.Skip("a large session takes a while")
	}
	chromium(t)
	s := serve(t, sessiontest.Generate(sessiontest.Million, 1))
	var server *web.Server
	link := &slow{pass: make(chan struct{})}
	h := serveAt(
		t,
		"127.0.0.1:0",
		func(listen string) http.Handler { server = s.again(listen); link.Handler = server; return link },
	)
	p := browse(t, s, h.URL)
	p.do(chromedp.Navigate(server.URL() + "&view=header"))
	p.until(`document.querySelector(".rows .row:not(.head)")`)
	p.do(chromedp.Navigate(h.URL + "/?view=flame&most=1000000")) // all at once, not the greatest frames first
	for range 4 {
		link.pass <- struct{}{}
	}
	p.until(`/^Reading… 1\.\d\d MiB of 1\d\.\d\d MiB$/.test(document.querySelector(".waiting")?.innerText)`)
	other := p.tab()
	other.visit("view=functions", ".rows .row:not(.head)")
	p.click(`nav a[href*="view=types"]`)
	p.until(`location.search.includes("view=types") && document.querySelector(".rows .row:not(.head)")`)
	close(link.pass)
	p.click(`nav a[href*="view=flame"]`)
	p.until(`Number(document.querySelector("canvas").dataset.boxes) > 100`)
	p.refused()
}

// TestRecorderGone: when the one that records is killed, the page of the recording says so, keeps its numbers, and goes
// on as the page of the session when that is served in its place.
func TestRecorderGone(t *testing.T) {
	chromium(t)
	made := serve(t, sessiontest.Aging())
	r := recordAt(t, made.session.Path())
	p := browse(t, r.served, r.at)
	p.do(chromedp.Navigate(r.server.URL()))
	<-r.feed.Wake()
	r.work(false)
	p.until(`document.querySelector(".live[data-id='1'] .now")`)
	other := p.tab()
	other.visit("", ".live .now") // both watch
	r.work(false)
	for _, tab := range []*page{p, other} {
		tab.until(`document.querySelector(".live[data-id='2']")`)
	}
	r.http.CloseClientConnections()
	r.feed.Close()
	r.http.Close()
	p.until(warning + `.includes("clrprof does not answer")`)
	allocated := eval[string](p, `document.querySelector("[data-fact=allocated] strong").innerText`)
	if allocated != "2,001 objects" {
		t.Errorf("it shows %s", allocated)
	}
	var server *web.Server
	serveAt(
		t,
		strings.TrimPrefix(r.at, "http://"),
		func(listen string) http.Handler { server = made.again(listen); return server },
	)
	third := p.tab()
	third.do(chromedp.Navigate(server.URL()))
	for _, tab := range []*page{p, other} {
		tab.until(warning + ` === "" && document.querySelector(".findings")`)
	}
}

// TestRedirect: a file that leads to the page does so in a browser, which has the cookie then although another page led
// there.
func TestRedirect(t *testing.T) {
	chromium(t)
	s := serve(t, sessiontest.Shop())
	var server *web.Server
	h := serveAt(t, "127.0.0.1:0", func(listen string) http.Handler { server = s.again(listen); return server })
	p := browse(t, s, h.URL)
	file := filepath.Join(t.TempDir(), "open.html")
	if err := os.WriteFile(file, server.Redirect(), 0o600); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate("file://" + file))
	<-server.Entry()
	p.reloaded(".findings")
}
