package report

import (
	q "github.com/clrprof/clrprof/internal/quantity"
)

// objectsCell is how many objects an amount has. It is a part of whole, which has samples if there can be more of it
// than was counted.
func (c *context) objectsCell(a, whole q.Amount) Cell {
	return c.estimated(a, whole, int64(a.Allocations), q.Amount.AllocationsInterval)
}

// bytesCell is the bytes of an amount, which is a part of whole as in objectsCell.
func (c *context) bytesCell(a, whole q.Amount) Cell {
	return c.estimated(a, whole, int64(a.Bytes), q.Amount.BytesInterval)
}

func (c *context) estimated(a, whole q.Amount, n int64, interval func(q.Amount) q.Interval) Cell {
	switch samples := a.Sampled.Samples; {
	case isFew(a, whole):
		return Cell{Empty: true, Estimate: &Estimate{Samples: samples}}
	case samples > 0:
		return Cell{Number: n, Estimate: &Estimate{samples, new(interval(a))}}
	}
	return Cell{Number: n}
}

// isFew reports whether an amount has too few samples for a number. None at all, where others of the same kind were
// sampled, does not mean that there is no more than what was counted.
func isFew(a, whole q.Amount) bool {
	return a.Sampled.Samples < q.LeastSamples && max(a.Sampled.Samples, whole.Sampled.Samples) > 0
}

// shareCell is the share of an amount in all, which is estimated if all is.
func (c *context) shareCell(a, whole q.Amount, p q.Percent) Cell {
	switch {
	case isFew(a, whole):
		return Cell{Empty: true, Estimate: &Estimate{Samples: a.Sampled.Samples}}
	case c.total.Sampled.Samples > 0:
		return Cell{Percent: p, Estimate: &Estimate{Samples: c.total.Sampled.Samples}}
	}
	return Cell{Percent: p}
}

// sign is what stands before shares of bytes that are parts of texts.
func (s *Summary) sign() string {
	if s.Estimated {
		return q.EstimateSign
	}
	return ""
}

// Few reports whether a part of what a summary is about has too few samples for a number.
func (s *Summary) Few(part q.Amount) bool { return s.Estimated && isFew(part, s.Total) }
