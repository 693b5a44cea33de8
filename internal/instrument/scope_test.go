package instrument_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/instrument"
)

// TestParseScopes: patterns are read as they are given, for each flag as many as the agent takes, and told to it by
// kind.
func TestParseScopes(t *testing.T) {
	many := strings.Split(strings.Repeat("A ", instrument.MaxPatterns), " ")[:instrument.MaxPatterns]
	for _, c := range []struct {
		inside, outside []string
		err             string
	}{
		{nil, nil, ""},
		{[]string{"Shop.*", "A"}, []string{"B"}, ""},
		{many, many, ""},
		{append(many, "A"), nil, "--record-inside: "},
		{nil, []string{""}, "--record-outside: "},
		{nil, []string{"/A/"}, "--record-outside: /A/ is a regular expression"},
	} {
		scopes, err := instrument.ParseScopes(c.inside, c.outside)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("%v, %v: %v, want %s…", c.inside, c.outside, err, c.err)
			}
			continue
		}
		var have, want []string
		for _, s := range scopes {
			have = append(have, s.String())
		}
		for _, p := range c.inside {
			want = append(want, "--record-inside "+p)
		}
		for _, p := range c.outside {
			want = append(want, "--record-outside "+p)
		}
		if d := cmp.Diff(want, have); d != "" || err != nil {
			t.Errorf("scopes (-want +have), %v: %s", err, d)
		}
		for k, patterns := range [][]string{c.inside, c.outside} {
			lines := strings.Join(instrument.ScopeLines(scopes, k == 1), "\n")
			if text := "+" + strings.Join(patterns, "\n+"); len(patterns) > 0 && lines != text ||
				len(patterns) == 0 && lines != "" {
				t.Errorf("the agent is told %q of %q", lines, patterns)
			}
		}
	}
}
