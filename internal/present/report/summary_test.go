package report

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestSummaryGivesWay: between the parts of a summary others go on, who can also end it; it is the same summary.
func TestSummaryGivesWay(t *testing.T) {
	r := made(t, sessiontest.Aging())
	want, err := r.Summarize(Options{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	parts := 0
	got, err := r.Summarize(Options{Top: 5, Between: func() error { parts++; return nil }})
	if err != nil || parts < 12 {
		t.Errorf("%d parts: %v", parts, err)
	}
	if !reflect.DeepEqual(Writers.Sheet(got), Writers.Sheet(want)) {
		t.Errorf("%+v\nwant\n%+v", Writers.Sheet(got), Writers.Sheet(want))
	}
	enough := errors.New("enough")
	for end := range parts {
		at := 0
		if _, err := r.Summarize(Options{Top: 5, Between: func() error {
			if at++; at > end {
				return enough
			}
			return nil
		}}); !errors.Is(err, enough) || at != end+1 {
			t.Errorf("ended after part %d: %v after %d", end, err, at)
		}
	}
}

// TestSummaryExitCode: that the command failed stands above all numbers.
func TestSummaryExitCode(t *testing.T) {
	for code, want := range map[string]string{"3": "exit code  3 of the command\n", "0": "", "": ""} {
		b := sessiontest.Aging()
		delete(b.Info, session.KeyExitCode)
		if code != "" {
			b.Info[session.KeyExitCode] = code
		}
		s, err := made(t, b).Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		var text, object strings.Builder
		if err := errors.Join(Writers.SummaryText(&text, s), Writers.SummaryJSON(&object, s)); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(text.String(), "exit code"); has != (want != "") ||
			!strings.Contains(text.String(), want) {
			t.Errorf("code %q: the summary says\n%s", code, &text)
		}
		if has := strings.Contains(object.String(), "\"exit_code\": "+code+",\n"); has != (code != "") {
			t.Errorf("code %q: the summary says\n%s", code, &object)
		}
	}
}

// TestFlameAgain: a call tree whose greatest frames were asked for first is the same as one that nothing was asked of
// before.
func TestFlameAgain(t *testing.T) {
	for name, b := range sessiontest.Various(4, 9) {
		t.Run(name, func(t *testing.T) {
			r := made(t, b)
			colors, err := r.FlameColors()
			if err != nil {
				t.Fatal(err)
			}
			for _, color := range append([]string{""}, colors...) {
				for _, up := range []bool{false, true} {
					for _, most := range []int{3, 1_000_000} {
						o := FlameOptions{Most: most, Color: color, BottomUp: up}
						got, err := r.Flame(o)
						if err != nil {
							t.Skip(err) // as TestFlame says
						}
						fresh, err := (&Reader{context: r.context}).Flame(o)
						if err != nil {
							t.Fatal(err)
						}
						if !reflect.DeepEqual(got, fresh) {
							t.Errorf("%+v: %+v\nwant\n%+v", o, got, fresh)
						}
					}
				}
			}
		})
	}
}
