// Package webtest opens the page in a browser, for tests: of the page itself, and of whole recordings.
package webtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// Patience is how long a step in the browser may take; a page on a busy machine needs a second or two.
const Patience = 60 * time.Second

// Browser is a tab of a browser.
type Browser struct {
	T   *testing.T
	Ctx context.Context // of the tab, for chromedp
}

// Chromium finds the browser, or installs Debian's where that is possible. Without one it skips the test, loudly.
func Chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Geteuid() == 0 {
		if text, err := exec.Command("apt-get", "install", "-y", "--no-install-recommends",
			"chromium").CombinedOutput(); err != nil {
			t.Logf("installing chromium: %v\n%s", err, text)
		} else if path, err := exec.LookPath("chromium"); err == nil {
			return path
		}
	}
	t.Skip("SKIPPED: chromium is not installed, so the page was not opened in a browser")
	return ""
}

// Start starts a browser, which ends with the test.
func Start(t *testing.T) *Browser {
	t.Helper()
	path := Chromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1280, 900),
		chromedp.Env("TMPDIR="+ownTemp(t)))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil { // starts it, without the timeout of a step
		t.Fatal(err)
	}
	return &Browser{t, ctx}
}

// ownTemp makes a directory for the temporary files of a browser, which leaves some when it is ended. Its path is
// short, as there are sockets in it.
func ownTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "clrprof-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a process that is ending may still write to it
	return dir
}

// Do takes steps in the browser.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.T.Fatal(err)
	}
}

// Eval runs a script and returns its value.
func Eval[T any](b *Browser, script string) T {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.T.Fatalf("%s: %v", script, err)
	}
	return out
}

// Worked is how long the page's own thread has had a processor: for its scripts, for laying it out and for drawing it.
func (b *Browser) Worked() time.Duration {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	seconds, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) (float64, error) {
		if _, err := cdp.Call(ctx, t, performance.Enable,
			performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
			return 0, err
		}
		got, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return 0, err
		}
		for _, m := range got.Metrics {
			if m.Name == "TaskDuration" {
				return m.Value, nil
			}
		}
		return 0, fmt.Errorf("the browser does not tell what its tasks took")
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return time.Duration(seconds * float64(time.Second))
}

// Until waits until a condition in the page holds.
func (b *Browser) Until(script string) {
	b.T.Helper()
	wait := fmt.Sprintf(
		`new Promise(done => { const end = Date.now() + %d, look = () => { let is; try { is = !!(%s); } catch { is = false; }
		is || Date.now() > end ? done(is) : setTimeout(look, 30); }; look(); })`, Patience.Milliseconds()/2, script)
	ctx, cancel := context.WithTimeout(b.Ctx, Patience)
	defer cancel()
	is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise))
	if err != nil || !is {
		b.T.Fatalf("waited in vain for %s (%v); the page at %s says:\n%s", script, err,
			Eval[string](b, "location.search"), Eval[string](b, "document.body.innerText"))
	}
}
