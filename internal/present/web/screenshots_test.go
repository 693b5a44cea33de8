package web_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/session"
)

var (
	pictures = flag.String("screenshots", "", "write pictures of the page into this folder")
	pictured = flag.String("sessions", "", "the session that is shown, and an older one: NEW,OLD")
)

// shots are the pictures: name, address, what to wait for, and whether there is a dark one too.
var shots = []struct {
	name, query, wait string
	dark              bool
}{
	{"overview", "view=overview", ".findings li", true},
	{"flame", "view=flame&color=type&metric=inclusive_bytes", "canvas[data-boxes]", true},
	{"differences", "view=flame&diff=new", "canvas[data-boxes]", false},
	{"calltree", "view=calltree", ".row.hot", false},
	{"lifetime", "view=lifetime", ".rows .row:not(.head)", false},
	{"collections", "view=gcs", ".rows .row:not(.head)", false},
	{"comparison", "view=compare", ".bar i", false},
}

// TestScreenshots makes the pictures of the documents; see make screenshots.
func TestScreenshots(t *testing.T) {
	if *pictures == "" {
		t.Skip("no folder for pictures is given")
	}
	var sessions []*session.Session
	for _, path := range strings.Split(*pictured, ",") {
		t.Chdir(filepath.Dir(path)) // so that commands in the pictures name no folder
		s, err := session.Open(filepath.Base(path))
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
			if (shot.name == "comparison" || shot.name == "differences") && len(sessions) < 2 || theme == "dark" &&
				!shot.dark {
				continue
			}
			p.visit(shot.query, shot.wait)
			eval[bool](p, `(localStorage.setItem("theme", "`+theme+`"), document.documentElement.dataset.theme = "`+
				theme+`", true)`)
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
		b, err = fewColors(b)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name+".png"), b, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// fewColors makes a picture smaller by leaving it the 256 colours that it has most of: the others are the edges of
// letters.
func fewColors(b []byte) ([]byte, error) {
	whole, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	size, counts := whole.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(whole.At(x, y)).(color.RGBA) }
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G),
			cmp.Compare(a.B, b.B))
	})
	var kept color.Palette
	for _, c := range most[:min(len(most), 256)] {
		kept = append(kept, c)
	}
	few, nearest := image.NewPaletted(size, kept), map[color.RGBA]uint8{}
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			c := at(x, y)
			n, ok := nearest[c]
			if !ok {
				n = uint8(kept.Index(c))
				nearest[c] = n
			}
			few.SetColorIndex(x, y, n)
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few)
	return out.Bytes(), err
}
