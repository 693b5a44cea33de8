package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Threshold is how large a difference must be to be shown.
type Threshold struct {
	Least   int64   // in the unit of the column
	Percent float64 // of the baseline; what has none is as large as can be
}

// limits reports whether some differences are too small.
func (t Threshold) limits() bool { return t.Least > 0 || t.Percent > 0 }

// percentOf is by how much percent of its baseline a value differs, without a sign.
func percentOf(x *analysis.Change) float64 {
	if x.Old == 0 {
		return math.Inf(1)
	}
	return math.Abs(float64(x.Delta()) / float64(x.Old) * 100)
}

// Apply leaves out the differences that are less, and returns what to say of them; "" if there are none.
func (t Threshold) Apply(c *analysis.Comparison) string {
	all := len(c.Changes)
	c.Changes = slices.DeleteFunc(c.Changes, func(x analysis.Change) bool {
		return max(x.Delta(), -x.Delta()) < t.Least || percentOf(&x) < t.Percent ||
			c.Estimated && t.limits() && !x.Beyond()
	})
	if all == len(c.Changes) {
		return ""
	}
	least := withUnit(c.Unit, t.Least)
	if t.Percent > 0 {
		least = fmt.Sprintf("%g %%", t.Percent)
	}
	return fmt.Sprintf("Left out: %s of less than %s.", q.Count(all-len(c.Changes)).Of("difference"), least)
}

// differenceOrders are what differences can be ordered by: numbers descending, without their signs, and names.
var differenceOrders = map[string]func(x, y *analysis.Change) int{
	"delta": func(x, y *analysis.Change) int {
		return cmp.Compare(max(y.Delta(), -y.Delta()), max(x.Delta(), -x.Delta()))
	},
	"delta_percent": func(x, y *analysis.Change) int { return cmp.Compare(percentOf(y), percentOf(x)) },
	"baseline":      func(x, y *analysis.Change) int { return cmp.Compare(y.Old, x.Old) },
	"comparison":    func(x, y *analysis.Change) int { return cmp.Compare(y.New, x.New) },
	"name":          func(x, y *analysis.Change) int { return strings.Compare(x.Name, y.Name) },
}

// differenceOrderNames returns the columns that differences can be ordered by.
func differenceOrderNames() []string {
	return strings.Fields("delta delta_percent baseline comparison name")
}

// OrderDifferences orders them by a column; equal ones stay in the order of their differences.
func OrderDifferences(c *analysis.Comparison, column string) error {
	order, ok := differenceOrders[column]
	if !ok {
		return Unknown("column", column, differenceOrderNames())
	}
	slices.SortStableFunc(c.All(), func(x, y analysis.Change) int { return order(&x, &y) })
	return nil
}
