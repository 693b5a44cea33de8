package analysis

import q "github.com/clrprof/clrprof/internal/quantity"

// value is what something has in a column, and what of it is estimated.
type value struct {
	n       int64
	sampled q.Sampled
}

func bytesOf(a q.Amount) value { return value{int64(a.Bytes), a.Sampled} }

func objectsOf(a q.Amount) value { return value{int64(a.Allocations), a.Sampled} }

// isCounted reports whether a column is counted also where objects were sampled.
func (c *comparedColumn) isCounted() bool { return c.time || c.gcs != nil && c.once }

// intervalOf is where a value of a unit lies; canBeMore: of a part of what was sampled, so that without samples, too,
// there can be more than was counted.
func intervalOf(unit string, v value, canBeMore bool) q.Interval {
	switch {
	case v.sampled.Samples == 0 && !canBeMore:
		return q.Interval{Low: v.n, High: v.n}
	case unit == "bytes":
		return q.Amount{Bytes: q.Bytes(v.n), Sampled: v.sampled}.BytesWithin()
	}
	return q.Amount{Allocations: q.Count(v.n), Sampled: v.sampled}.AllocationsWithin()
}

// estimateOf is what is known of the values with a number; nil: all were counted. Of what has samples in one session,
// there can be more than was counted in another one that samples.
func (c *Comparison) estimateOf(n int32, all []comparedRun) *changeEstimate {
	some := false
	for i := range all {
		some = some || all[i].sampledOf(n).Samples > 0
	}
	if !some {
		return nil
	}
	out, seen := &changeEstimate{}, [2]bool{}
	for i := range all {
		r := &all[i]
		v := value{r.of(n).value, r.sampledOf(n)}
		in := intervalOf(c.Unit, v, r.estimates)
		if of := &out.within[r.side]; seen[r.side] {
			of.Low, of.High = min(of.Low, in.Low), max(of.High, in.High)
		} else {
			*of, seen[r.side] = in, true
		}
		out.samples[r.side] += v.sampled.Samples
	}
	return out
}

// sampledOf is what of the value with a number is estimated.
func (r *comparedRun) sampledOf(n int32) q.Sampled {
	if int(n) < len(r.sampled) {
		return r.sampled[n]
	}
	return q.Sampled{}
}
