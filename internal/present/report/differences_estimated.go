package report

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// estimatedKeys are the columns that say what is known of estimates that are compared. They come last, as sessions in
// which all objects were counted do not have them.
var estimatedKeys = []string{"beyond_uncertainty", "baseline_samples", "baseline_low_95", "baseline_high_95",
	"comparison_samples", "comparison_low_95", "comparison_high_95"}

// What text says in place of a number that too few samples are known of, and of a difference that can be none.
const (
	tooFewSamples     = "<10 samples"
	withinUncertainty = "within the uncertainty"
)

// unknownNumbers takes the numbers out of the beginning of a row that nobody knows: delta, its share, before and after.
func unknownNumbers(row []any, x *analysis.Change) {
	sides, estimated := x.Estimated()
	if !estimated {
		return
	}
	if !x.Beyond() {
		row[0], row[1] = nil, nil
	}
	for n, side := range sides {
		if side.Few {
			row[1], row[2+n] = nil, nil // by which share of an unknown value is not known
		}
	}
	if sides[0].Few || sides[1].Few {
		row[0] = nil
	}
}

// estimatedValues are the values of estimatedKeys.
func estimatedValues(x *analysis.Change) []any {
	out := make([]any, len(estimatedKeys))
	sides, estimated := x.Estimated()
	out[0] = pick(!estimated || x.Beyond(), "yes", "no")
	if !estimated {
		return out
	}
	for n, side := range sides {
		out[1+3*n], out[2+3*n], out[3+3*n] = int64(side.Samples), side.Within.Low, side.Within.High
	}
	return out
}

// estimatedText is a number of a row as a person reads it, if it is an estimate or there is none; nil: as others.
func estimatedText(c *analysis.Comparison, x *analysis.Change, column string) any {
	sides, estimated := x.Estimated()
	if !estimated {
		return nil
	}
	about := func(there bool, text string) any {
		if !there {
			return nil
		}
		return numberText(q.EstimateSign + text)
	}
	switch column {
	case "delta":
		switch {
		case !x.Beyond():
			return numberText(withinUncertainty)
		case sides[0].Few:
			return numberText("more")
		case sides[1].Few:
			return numberText("less")
		}
		return about(true, signed(c.Unit, x.Delta()))
	case "baseline", "comparison":
		n, there, number := 0, x.InOld, x.Old
		if column == "comparison" {
			n, there, number = 1, x.InNew, x.New
		}
		if sides[n].Few {
			return numberText(tooFewSamples)
		}
		if sides[n].Samples > 0 {
			return about(there, withUnit(c.Unit, number))
		}
	}
	return nil
}

// estimatedNote says how many differences are more than what is not known of estimates, and how much the whole is.
func estimatedNote(c *analysis.Comparison, from, to string) string {
	beyond := 0
	for i := range c.Changes {
		if c.Changes[i].Beyond() {
			beyond++
		}
	}
	said := fmt.Sprintf("%s, of samples: %s beyond the uncertainty of the estimates (their intervals of 95 %% are apart), "+
		"%s within it, which may be none.", whatDiffers(c), counted(beyond, "difference"),
		counted(len(c.Changes)-beyond, "difference"))
	switch {
	case !c.AddsUp || severalRuns(c):
	case c.WholeDiffers():
		said += fmt.Sprintf(" In all %s%s in %s, %s%s in %s, %s%s.", q.EstimateSign, withUnit(c.Unit, c.Old), from,
			q.EstimateSign, withUnit(c.Unit, c.New), to, q.EstimateSign, signed(c.Unit, c.New-c.Old))
	default:
		said += fmt.Sprintf(" In all %s%s in %s, %s%s in %s: the difference is within the uncertainty.", q.EstimateSign,
			withUnit(c.Unit, c.Old), from, q.EstimateSign, withUnit(c.Unit, c.New), to)
	}
	return said
}
