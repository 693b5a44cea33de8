package web_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// loads makes what a file of web/src exports the members of the global "tested" in the page.
func (p *page) loads(file string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), fetchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "run", ".", "-print", file)
	cmd.Dir = "../../../tools/webbuild"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var said strings.Builder
	cmd.Stderr = &said
	script, err := cmd.Output()
	if err != nil {
		p.t.Skipf("SKIPPED: the packages of the page cannot be had here, so %s was not tested by itself: %v\n%s", file,
			err, said.String())
	}
	eval[bool](p, "(() => {"+string(script)+"; window.tested = tested; return true; })()")
}

// shade is red, green and blue, from 0 to 255.
type shade [3]float64

// luminance and contrast are those of WCAG 2.2.
func (c shade) luminance() float64 {
	var linear [3]float64
	for i, v := range c {
		if v /= 255; v <= 0.04045 {
			linear[i] = v / 12.92
		} else {
			linear[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
}

func contrast(a, b shade) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// seen are colours as the browser draws them over the panel, by how they are written.
func (p *page) seen(written []string) map[string]shade {
	p.t.Helper()
	var list strings.Builder
	for _, w := range written {
		fmt.Fprintf(&list, "%q,", w)
	}
	pixels := eval[[]shade](p, `(list => { const probe = document.createElement("i"), canvas = document.createElement("canvas");
		document.body.append(probe); canvas.width = canvas.height = 1;
		const g = canvas.getContext("2d", {willReadFrequently: true});
		const resolved = w => { probe.style.color = ""; probe.style.color = w; return getComputedStyle(probe).color; };
		const out = list.map(w => { for (const c of ["var(--panel)", w]) { g.fillStyle = resolved(c); g.fillRect(0, 0, 1, 1); }
			return [...g.getImageData(0, 0, 1, 1).data].slice(0, 3); });
		probe.remove(); return out; })([`+list.String()+`])`)
	out := map[string]shade{}
	for i, w := range written {
		out[w] = pixels[i]
	}
	return out
}

// What the colours of the page are for.
var (
	frameColors = strings.Fields("--frame-gen0 --frame-gen1 --frame-gen2 --frame-loh --frame-poh --frame-alive " +
		"--diff-new --diff-twice --diff-more --diff-same --diff-less --diff-half --diff-gone --found --merged")
	backgrounds = strings.Fields("--back --panel --hover --accent-back --hot")
	graphics    = strings.Fields("--gen0 --gen1 --gen2 --loh --poh --alive --bytes --accent")
)

// TestContrast: texts have a contrast of 4.5 : 1 with what they stand on, and lines, bars and outlines of 3 : 1, in
// either theme (WCAG 2.2 AA), for all colours of modules, types, generations and differences.
func TestContrast(t *testing.T) {
	p := open(t, sessiontest.Aging())
	p.loads("palette.ts")
	names := func(list []string) (out []string) {
		for _, name := range list {
			out = append(out, "var("+name+")")
		}
		return out
	}
	for _, theme := range []string{"light", "dark"} {
		eval[bool](p, fmt.Sprintf(`(document.documentElement.dataset.theme = %q, true)`, theme))
		frames := append(eval[[]string](p, fmt.Sprintf(`tested.all(%t)`, theme == "dark")), names(frameColors)...)
		if len(frames) < 1000 {
			t.Errorf("%s: only %d colours of frames", theme, len(frames))
		}
		texts := names(strings.Fields("--text --soft --accent --chosen --bad --share --bad-back"))
		all := p.seen(append(append(append(frames, texts...), names(backgrounds)...), names(graphics)...))
		check := func(of, on string, least float64) {
			if got := contrast(all[of], all[on]); got < least {
				t.Errorf("%s: %s on %s has %.2f : 1, want %.1f : 1", theme, of, on, got, least)
			}
		}
		for _, fill := range frames {
			check("var(--text)", fill, 4.5)
			check("var(--text)", fill, 3) // the outline of what is pointed at
			check("var(--chosen)", fill, 3)
		}
		for _, on := range names(backgrounds) {
			for _, text := range texts[:3] {
				check(text, on, 4.5)
			}
			for _, g := range names(graphics) {
				if on == "var(--back)" || on == "var(--panel)" {
					check(g, on, 3)
				}
			}
		}
		check("var(--text)", "var(--share)", 4.5)
		check("var(--bad)", "var(--bad-back)", 4.5)
		check("var(--bad)", "var(--back)", 4.5)
		check("var(--bad)", "var(--panel)", 4.5)
	}
}
