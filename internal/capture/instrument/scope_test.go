package instrument_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/instrument"
)

// TestParseScopes: patterns are read as they are given, for each flag as many as the agent takes, and passed to it by
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
		{[]string{"A:process", "A"}, []string{"B:process", "C"}, ""},
		{[]string{"A:global"}, nil, `--record-inside: "A:global": want PATTERN[:thread|process], such as ` +
			"Shop.Orders.Load:process"},
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
		var limits []instrument.Limit
		for _, s := range scopes {
			limits = append(limits, s)
		}
		lines, err := instrument.ActionLines(nil, limits)
		var reported []string
		tell := func(thread, process string, patterns []string) {
			for _, p := range patterns {
				line := thread + p
				if name, ok := strings.CutSuffix(p, ":process"); ok {
					line = process + name
				}
				reported = append(reported, line)
			}
		}
		tell("4+", "6+", c.inside)
		tell("5+", "7+", c.outside)
		if d := cmp.Diff(reported, lines); d != "" || err != nil {
			t.Errorf("the agent gets (-want +have), %v: %s", err, d)
		}
	}
}
