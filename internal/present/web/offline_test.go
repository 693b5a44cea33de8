package web_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/present/web"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestOffline: the page in a file shows, without a server, what the page of a server shows.
func TestOffline(t *testing.T) {
	p := open(t, sessiontest.Aging())
	var b, again bytes.Buffer
	for _, to := range []*bytes.Buffer{&b, &again} {
		if err := web.Write(to, p.session, analysis.Selection{}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("the same session gives two different files")
	}
	if found := regexp.MustCompile(`(src|href)="?(http|//)`).FindString(b.String()); found != "" {
		t.Errorf("the file refers to the network: %s", found)
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	var texts [2]map[string]string
	for i, at := range []string{p.url + "/", "file://" + path} {
		texts[i] = map[string]string{}
		for _, view := range []string{"overview", "functions", "types", "gcs", "lifetime", "calltree"} {
			p.do(chromedp.Navigate(at + "?view=" + view))
			p.until(`document.querySelector(".rows .row:not(.head), .facts .fact")`)
			if view == "calltree" {
				p.until(`document.querySelector(".row.hot")`)
			}
			p.refused()
			texts[i][view] = eval[string](p,
				`[...document.querySelectorAll(".rows .row, .fact, .findings, .small .row")].map(e => e.innerText).join("\n")`)
		}
		p.do(chromedp.Navigate(at + "?view=flame"))
		p.until(`Number(document.querySelector("canvas").dataset.boxes) > 1`)
		texts[i]["flame"] = eval[string](p, `document.querySelector("canvas").dataset.frames`)
		p.refused()
		for _, query := range []string{"color=type", "color=generation", "color=type&up=1",
			"color=generation&metric=inclusive_allocations"} {
			p.do(chromedp.Navigate(at + "?view=flame&" + query))
			p.until(
				`Number(document.querySelector("canvas").dataset.boxes) > 1 && document.querySelector("#color").value`)
			legend := eval[[]string](p,
				`[...document.querySelectorAll(".legend li")].map(li => li.innerText + " " + getComputedStyle(li).backgroundColor)`)
			var pixels []string
			for row := range 5 {
				pixels = append(pixels, eval[string](p, fmt.Sprintf("%s(%d)", fill, row)))
			}
			texts[i][query] = fmt.Sprint(legend, pixels)
			p.refused()
		}
		p.do(chromedp.Navigate(at + "?view=functions"))
		p.click(`button[title*="(exclusive_bytes)"]`)
		p.until(`location.search.includes("sort=exclusive_bytes") && !document.querySelector(".stale")`)
		texts[i]["sorted"] = eval[string](p, `document.querySelector(".rows .row:not(.head)").innerText`)
	}
	for view, want := range texts[0] {
		if texts[1][view] != want {
			t.Errorf("%s shows\n%s\nand the server's\n%s", view, texts[1][view], want)
		}
	}
	if !strings.Contains(texts[1]["overview"], "allocated") {
		t.Errorf("the overview: %s", texts[1]["overview"])
	}
}
