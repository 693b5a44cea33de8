package instrument_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/instrument"
)

// TestParseMarks: what is given is what the agent gets, and what messages say.
func TestParseMarks(t *testing.T) {
	marks, err := instrument.ParseMarks(list("Shop.Orders.Load", "Shop.*:after", "A:before", "B..ctor:top", "C:bottom"))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := instrument.ActionLines(marks, nil)
	if d := cmp.Diff(list("0+Shop.Orders.Load", "1+Shop.*", "0+A", "2+B..ctor", "3+C"), lines); d != "" || err != nil {
		t.Error(d, err)
	}
	var said []string
	for _, m := range marks {
		said = append(said, m.String())
	}
	if d := cmp.Diff(list("Shop.Orders.Load", "Shop.*:after", "A", "B..ctor:top", "C:bottom"), said); d != "" {
		t.Error(d)
	}
	if !marks[0].Matches("Shop.dll", "Shop.Orders", "Load") || marks[0].Matches("Shop.dll", "Shop.Orders", "Save") ||
		!marks[1].Matches("x.dll", "Shop.Orders/Row", "Get") {
		t.Error("the patterns match other functions than those of --include would")
	}
	if none, err := instrument.ParseMarks(nil); len(none) != 0 || err != nil {
		t.Errorf("nothing: %v, %v", none, err)
	}
}

// TestParseMarksRefused: what cannot be meant, and what the agent could not read.
func TestParseMarksRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "want PATTERN",
		":after":                 "want PATTERN",
		"A:":                     "want PATTERN",
		"A:middle":               "want PATTERN",
		"A:after:top":            "want PATTERN",
		"A:after:global":         "want PATTERN",
		"A::B":                   "want PATTERN",
		"/A/:after":              "regular expression",
		strings.Repeat("x", 257): "1 to 256 characters",
		"a\nb":                   "on one line",
	} {
		if _, err := instrument.ParseMarks(list(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	if _, err := instrument.ParseMarks(strings.Split(strings.Repeat("A ", 65), " ")[:65]); err == nil ||
		!strings.Contains(err.Error(), "at most 64") {
		t.Errorf("65 patterns: %v", err)
	}
}
