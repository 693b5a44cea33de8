package web_test

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// fetchTime is how long packages may take to come.
const fetchTime = 3 * time.Minute

// TestBundle: the committed bundle is what web/src makes, its types are right, and it is small.
func TestBundle(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-check")
	cmd.Dir = "../../tools/webbuild"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	text, err := cmd.CombinedOutput()
	if err != nil && (ctx.Err() != nil || strings.Contains(string(text), "npm pack") ||
		strings.Contains(string(text), "dial tcp") || strings.Contains(string(text), "lookup ")) {
		t.Skipf("SKIPPED: the packages of the page cannot be had here, so its bundle was not made anew: %v\n%s", err,
			text)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// axe is the accessibility checker that is run in the page: a package of npm, with the hash of its tarball.
const (
	axePackage = "axe-core@4.14.1"
	axeSHA512  = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axe returns the script of the checker.
func axe(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), fetchTime)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", axePackage)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: %s cannot be had here, so accessibility was not checked: %v\n%s", axePackage, err, text)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(b); base64.StdEncoding.EncodeToString(sum[:]) != axeSHA512 {
		t.Fatalf("%s is not the one that is locked", axePackage)
	}
	script, err := exec.CommandContext(ctx, "tar", "xzOf", found[0], "package/axe.min.js").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// TestAccessible: the checker finds nothing serious in any view, light or dark.
func TestAccessible(t *testing.T) {
	script := axe(t)
	p := open(t, sessiontest.Aging())
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, `(localStorage.setItem("theme", "`+theme+`"), true)`)
		for query, wait := range map[string]string{"view=overview": ".findings",
			"view=functions": ".rows .row:not(.head)", "view=calltree": ".row.hot",
			"view=flame": "canvas[data-boxes]", "view=sql": ".result td", "view=lifetime": ".ends i"} {
			p.visit(query, wait)
			p.accessible(script, theme+" "+query)
		}
	}
}

// accessible checks the page as it is.
func (p *page) accessible(script, what string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => {`+script+`;
		const r = await axe.run(document);
		if (r.passes.length < 5) throw new Error("nothing was checked");
		return JSON.stringify(r.violations.filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | ")));
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(what, err)
	}
	var list []string
	if err := json.Unmarshal([]byte(found), &list); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range list {
		p.t.Errorf("%s: %s", what, v)
	}
}
