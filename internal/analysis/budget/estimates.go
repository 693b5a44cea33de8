package budget

import (
	"errors"
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// errSampled means that a first budget was asked for of a session whose small objects were sampled.
var errSampled = errors.New("small objects were sampled, so its values are estimates, and a first budget is made of " +
	"values that were counted: record with clrprof run")

// measure is a value of a metric, and what of it is estimated.
type measure struct {
	n       int64
	sampled q.Sampled
}

func ofBytes(a q.Amount) measure { return measure{int64(a.Bytes), a.Sampled} }

func ofObjects(a q.Amount) measure { return measure{int64(a.Allocations), a.Sampled} }

func counted[T ~int64](n T) measure { return measure{n: int64(n)} }

func (m measure) add(o measure) measure { return measure{m.n + o.n, m.sampled.Add(o.sampled)} }

// within is where a measure lies, of what can be more than was counted.
func (m measure) within(u unit) q.Interval {
	if u == bytes {
		return q.Amount{Bytes: q.Bytes(m.n), Sampled: m.sampled}.BytesWithin()
	}
	return q.Amount{Allocations: q.Count(m.n), Sampled: m.sampled}.AllocationsWithin()
}

// isEstimated reports whether a metric of a session is estimated. On the large object heap all objects are counted, and
// so are collections.
func (m *metric) isEstimated(src *analysis.Source) bool {
	return src.HasEstimates() && !m.times && !m.whole && m.name != metricLarge
}

// metricLarge is the name of the metric of what died on the large object heap.
const metricLarge = "loh_bytes"

// Estimate says where a value lies that is an estimate.
type Estimate struct {
	Samples uint32
	Within  q.Interval // in 95 of 100 recordings
}

// isFew reports whether an estimate has too few samples for a number.
func (e *Estimate) isFew() bool { return e != nil && e.Samples < q.LeastSamples }

// span is where a value lies: of one that was counted there is one number.
func (e *Estimate) span(value int64) q.Interval {
	if e == nil {
		return q.Interval{Low: value, High: value}
	}
	return e.Within
}

// said prints a value that may be an estimate.
func (v *Verdict) said(value int64, e *Estimate) string {
	switch {
	case e == nil:
		return v.Print(value)
	case e.isFew():
		return "fewer than 10 samples, up to " + v.Print(e.Within.High)
	}
	return fmt.Sprintf("%s%s (95 %%: %s to %s)", q.EstimateSign, v.Print(value), v.Print(e.Within.Low),
		v.Print(e.Within.High))
}

// decideEstimate is decide where the value or the baseline is an estimate: a limit is broken only where all values that
// there may be are beyond it, and held only where none is. allowed is what a baseline allows.
func (v *Verdict) decideEstimate(lost bool, allowed func(baseline int64) int64) {
	least, most := v.Limit, v.Limit
	against := ""
	if v.HasBase {
		base := v.BaseEstimate.span(v.Baseline)
		least, most = allowed(base.Low), allowed(base.High)
		against = ", " + v.said(v.Baseline, v.BaseEstimate) + " before"
	}
	in := v.Estimate.span(v.Value)
	said := v.said(v.Value, v.Estimate)
	switch {
	case in.Low > most && lost && v.HasBase:
		v.State, v.Why = Unknown, said+against+"; but a session has losses, so they cannot be compared"
	case in.Low > most:
		v.State, v.Why = Broken, fmt.Sprintf("%s, and %s are allowed%s", said, v.Print(v.Limit), against)
	case in.High > least:
		v.State = Unknown
		v.Why = fmt.Sprintf("%s of at most %s%s: the estimate does not say which is more; a longer recording says it more "+
			"exactly", said, v.Print(v.Limit), against)
	case lost:
		v.State, v.Why = Unknown, fmt.Sprintf("%s of at most %s%s; but a session has losses, so it can be more", said,
			v.Print(v.Limit), against)
	default:
		v.State, v.Why = Held, fmt.Sprintf("%s of at most %s%s", said, v.Print(v.Limit), against)
	}
}

// ofSamples says why a limit is unknown where objects were sampled; "": it can be judged.
func (l *Limit) ofSamples(list []*session.Session) (string, error) {
	if !l.metric.finds && !l.Steady {
		return "", nil
	}
	for _, s := range list {
		sampled, err := s.IsSampled()
		switch {
		case err != nil:
			return "", err
		case sampled && l.metric.finds:
			return "small objects were sampled, so that some places that break a rule may be missing or be none", nil
		case sampled:
			return "small objects were sampled, so what fills once cannot be told apart (steady)", nil
		}
	}
	return "", nil
}
