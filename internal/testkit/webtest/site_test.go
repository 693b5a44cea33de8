package webtest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var sitePictures = flag.String("site-pictures", "", "folder for pictures of the site")

// TestSite makes the site of the documents, of which the tests of its own module (tools/site) hold links and bytes, and opens
// it in a browser: no page is wider than the window, wide or narrow; the search finds what documents say and leads there;
// and it works from a folder, without a server.
func TestSite(t *testing.T) {
	Chromium(t)
	out := filepath.Join(t.TempDir(), "site")
	tests := exec.Command("go", "test", "-vet=off", "./...")
	build := exec.Command("go", "run", ".", "-o", out)
	for _, cmd := range []*exec.Cmd{tests, build} {
		cmd.Dir = "../../../tools/site"
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, text)
		}
	}
	server := httptest.NewServer(http.FileServer(http.Dir(out)))
	t.Cleanup(server.Close)
	b := Start(t)
	pages := []string{"index.html", "docs/cli.html", "docs/session.html", "docs/tour.html", "docs/comparison.html",
		"docs/guides/README.html", "docs/guides/production.html"}
	for _, look := range []struct {
		width  int64
		scheme string
	}{{1280, "light"}, {1280, "dark"}, {390, "light"}, {390, "dark"}} {
		b.Do(chromedp.EmulateViewport(look.width, 900))
		b.in(look.scheme)
		for _, page := range pages {
			b.Do(chromedp.Navigate(server.URL + "/" + page))
			b.Until(`document.querySelector("main h1")`)
			if over := Eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
				t.Errorf("%s is %d pixels wider than a window of %d", page, over, look.width)
			}
			if least := Eval[float64](b, contrast); least < leastContrast {
				t.Errorf("%s, %s: a text has a contrast of %.1f", page, look.scheme, least)
			}
			b.picture(fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(page, "/", "-"), look.scheme, look.width))
		}
	}
	b.Do(chromedp.EmulateViewport(1280, 900))
	b.guides(server.URL)
	for _, address := range []string{server.URL, "file://" + out} {
		b.Do(chromedp.Navigate(address + "/docs/tour.html"))
		b.searches("retained snapshot", "docs/metrics.html#snapshots-of-the-heap")
		b.picture("search")
		b.searches("xyzzy", "")
		b.searches("exit codes", "docs/cli.html#exit-codes")
		b.Do(chromedp.Navigate(Eval[string](b, `document.querySelector('#found a[href$="docs/cli.html#exit-codes"]').href`)))
		b.Until(`document.querySelector(":target").textContent === "Exit codes"`)
	}
}

// questions are those that the guides answer, as their page lists them.
var questions = []string{"Find a leak", "Why is the GC busy?", "What does one request cost?",
	"Make a loop allocation-free", "A budget in CI", "Compare two releases", "A slow test", "A slow start",
	"A service in production"}

// guides wants each question on the page of guides to lead to a page with that title, which shows commands.
func (b *Browser) guides(site string) {
	b.T.Helper()
	const page = "/docs/guides/README.html"
	for _, question := range questions {
		b.Do(chromedp.Navigate(site + page))
		b.Until(`document.querySelector("main h1")`)
		to := Eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("main li a")].find(a => a.textContent === %q)?.href ?? ""`,
			question))
		if to == "" {
			b.T.Errorf("the page of guides does not list %q", question)
			continue
		}
		b.Do(chromedp.Navigate(to))
		b.Until(`document.querySelector("main h1")`)
		title := Eval[string](b, `document.querySelector("main h1").textContent`)
		if commands := Eval[int](b, `document.querySelectorAll("main pre").length`); title != question || commands == 0 {
			b.T.Errorf("%s leads to %q, with %d blocks of commands", question, title, commands)
		}
	}
}

// searches types words and wants a result that leads there, or none at all.
func (b *Browser) searches(words, want string) {
	b.T.Helper()
	Eval[bool](b, fmt.Sprintf(`(e => { e.value = %q; return e.dispatchEvent(new Event("input")); })(document.getElementById("search"))`,
		words))
	found := Eval[[]string](b, `[...document.querySelectorAll("#found a")].map(a => a.getAttribute("href"))`)
	if want == "" && len(found) > 0 {
		b.T.Errorf("a search for %s finds %v", words, found)
	}
	for _, to := range found {
		if to == "../"+want {
			return
		}
	}
	if want != "" {
		b.T.Errorf("a search for %s finds %v, not %s", words, found, want)
	}
}

// in has pages be light or dark, as a reader's system asks for.
func (b *Browser) in(scheme string) {
	b.T.Helper()
	b.Do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return chromedp.Void{}, err
	})
}

// picture keeps what the browser shows, if somebody wants to look at it.
func (b *Browser) picture(name string) {
	b.T.Helper()
	if *sitePictures == "" {
		return
	}
	png, err := chromedp.Run(context.WithoutCancel(b.Ctx), chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*sitePictures, name+".png"), png, 0o644)
	}
	if err != nil {
		b.T.Fatal(err)
	}
}

// contrast is a script with the least contrast of a text of the page to what it stands on, as WCAG 2 defines it.
const contrast = `(() => {
	const parse = c => c.match(/[0-9.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
		if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
	return Math.min(...[...document.querySelectorAll("main *, nav a, header *")].filter(e => e.innerText).map(e => {
		const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));
})()`

// leastContrast is what WCAG 2 asks for, for texts of this size.
const leastContrast = 4.5
