package report

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
)

// compared are differences in the order of analysis: +40 of 400, -30 of 60, +20 from nothing, -10 of 10.
func compared() *analysis.Comparison {
	return &analysis.Comparison{Unit: "count", Changes: []analysis.Change{{Name: "b", Old: 400, New: 440},
		{Name: "d", Old: 60, New: 30}, {Name: "a", New: 20}, {Name: "c", Old: 10}}}
}

func namesOf(c *analysis.Comparison) string {
	var names []string
	for _, x := range c.Changes {
		names = append(names, x.Name)
	}
	return strings.Join(names, "")
}

func TestThreshold(t *testing.T) {
	for _, c := range []struct {
		threshold  Threshold
		want, said string
	}{
		{Threshold{}, "bdac", ""},
		{Threshold{Least: 10}, "bdac", ""},
		{Threshold{Least: 11}, "bda", "Left out: 1 difference of less than 11."},
		{Threshold{Least: 30}, "bd", "Left out: 2 differences of less than 30."},
		{Threshold{Least: 41}, "", "Left out: 4 differences of less than 41."},
		{Threshold{Percent: 10}, "bdac", ""},
		{Threshold{Percent: 50}, "dac", "Left out: 1 difference of less than 50 %."},
		{Threshold{Percent: 100.5}, "a", "Left out: 3 differences of less than 100.5 %."},
	} {
		have := compared()
		if said := c.threshold.Apply(have); namesOf(have) != c.want || said != c.said {
			t.Errorf("%+v: %s, %q, want %s, %q", c.threshold, namesOf(have), said, c.want, c.said)
		}
	}
}

func TestOrderDifferences(t *testing.T) {
	for column, want := range map[string]string{"delta": "bdac", "delta_percent": "acdb", "baseline": "bdca",
		"comparison": "bdac", "name": "abcd"} {
		have := compared()
		if err := OrderDifferences(have, column); err != nil || namesOf(have) != want {
			t.Errorf("%s: %s, %v, want %s", column, namesOf(have), err, want)
		}
	}
	if OrderDifferences(compared(), "module") == nil {
		t.Error("differences are ordered by a column that they have no values of")
	}
}
