package web_test

import (
	"context"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/web"
)

var (
	pictures = flag.String("screenshots", "", "write pictures of the page into this folder")
	pictured = flag.String("sessions", "", "the session that is shown, and an older one: NEW,OLD")
)

// shots are the pictures: name, address, and what to wait for.
var shots = []struct{ name, query, wait string }{
	{"overview", "view=overview", ".findings li"},
	{"flame", "view=flame", "canvas[data-boxes]"},
	{"calltree", "view=calltree", ".row.hot"},
	{"lifetime", "view=lifetime", ".rows .row:not(.head)"},
	{"collections", "view=gcs", ".rows .row:not(.head)"},
	{"comparison", "view=compare", ".bar i"},
}

// TestScreenshots makes the pictures of the documents; see make screenshots.
func TestScreenshots(t *testing.T) {
	if *pictures == "" {
		t.Skip("no folder for pictures is given")
	}
	var sessions []*session.Session
	for _, path := range strings.Split(*pictured, ",") {
		s, err := session.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sessions = append(sessions, s)
	}
	h := httptest.NewUnstartedServer(nil)
	server, err := web.New(h.Listener.Addr().String(), sessions...)
	if err != nil {
		t.Fatal(err)
	}
	h.Config.Handler = server
	h.Start()
	defer h.Close()
	p := browse(t, &served{t: t}, h.URL)
	p.do(chromedp.Navigate(server.URL()))
	for _, theme := range []string{"light", "dark"} {
		for _, shot := range shots {
			if shot.name == "comparison" && len(sessions) < 2 {
				continue
			}
			p.visit(shot.query, shot.wait)
			eval[bool](p, `(localStorage.setItem("theme", "`+theme+`"), document.documentElement.dataset.theme = "`+theme+`", true)`)
			p.visit(shot.query, shot.wait)
			p.until(`document.visibilityState === "visible" && !document.querySelector(".stale")`)
			p.picture(shot.name + "-" + theme)
		}
	}
}

// picture keeps what the page looks like, if there is a folder for it.
func (p *page) picture(name string) {
	p.t.Helper()
	if *pictures == "" {
		return
	}
	b, err := chromedp.Run(context.WithoutCancel(p.ctx), chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), b, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
