package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// rowTime is what a row has of times.
type rowTime struct {
	session.TimeValue
	calls *session.SingleCalls // those of the row itself; nil: it has none
}

// parts of a time that have columns: the key of a column is the part with the rule after it.
var timeParts = []struct {
	key, title string
	value      func(*context, q.Time) q.Nanoseconds
	of         func(e *session.Extremes, inclusive bool) session.Range
	nodes      func(*session.SingleCalls) q.Nanoseconds // of all calls, each with what it called
}{
	{"elapsed", "Elapsed", (*context).elapsed,
		func(e *session.Extremes, inclusive bool) session.Range {
			return pickRange(inclusive, e.ElapsedInclusive, e.ElapsedExclusive)
		},
		func(s *session.SingleCalls) q.Nanoseconds { return s.NodesElapsed }},
	{"application", "App.", func(_ *context, t q.Time) q.Nanoseconds { return t.Application },
		func(e *session.Extremes, inclusive bool) session.Range {
			return pickRange(inclusive, e.ApplicationInclusive, e.ApplicationExclusive)
		},
		func(s *session.SingleCalls) q.Nanoseconds { return s.NodesApplication }},
	{"cpu", "CPU", func(_ *context, t q.Time) q.Nanoseconds { return t.CPU },
		func(e *session.Extremes, inclusive bool) session.Range {
			return pickRange(inclusive, e.CPUInclusive, e.CPUExclusive)
		},
		func(s *session.SingleCalls) q.Nanoseconds { return s.NodesCPU }},
}

func pickRange(condition bool, yes, no session.Range) session.Range {
	if condition {
		return yes
	}
	return no
}

// sumRules are the two ways to sum times, with what they add to keys and titles.
var sumRules = []struct {
	key, title string
	inclusive  bool
}{{"_inclusive", " incl.", true}, {"_exclusive", " excl.", false}}

// elapsed is the elapsed time as the report shows it: without what the probes added, unless that is asked for.
func (c *context) elapsed(t q.Time) q.Nanoseconds { return elapsed(t, c.raw) }

func elapsed(t q.Time, raw bool) q.Nanoseconds {
	if raw {
		return t.Elapsed + t.Overhead
	}
	return t.Elapsed
}

// uncertainty is by how much a sum of times may be wrong, up or down, because what the probes took was measured as
// that of one call, and taken out for each: the same part of it in each sum.
func (c *context) uncertainty(t q.Time) q.Nanoseconds {
	most := 0.0
	for _, p := range c.timed {
		if both := p.Inside + p.Outside; both > 0 && p.Uncertain > 0 {
			most = max(most, p.Uncertain/both)
		}
	}
	return q.Nanoseconds(math.Round(min(most*float64(max(t.Overhead, 0)), math.MaxInt64/2)))
}

// uncertain is the cell of that; empty, if a session of an earlier clrprof does not say it.
func (c *context) uncertain(t q.Time) Cell {
	u := c.uncertainty(t)
	return Cell{Number: int64(u), Empty: u == 0 && t.Overhead != 0}
}

// isKnown reports whether a part of a sum of times is larger than what may be wrong with it.
func (c *context) isKnown(part q.Nanoseconds, of q.Time) bool {
	u := c.uncertainty(of)
	return u == 0 || part > u
}

// share is the cell of a part's share of all; empty, if one of them may be as wrong as it is large.
func (c *context) share(part q.Nanoseconds, of q.Time, all q.Nanoseconds) Cell {
	if part != 0 && !c.raw && !(c.isKnown(part, of) && c.isKnown(all, c.totalTime.Inclusive)) {
		return Cell{Empty: true}
	}
	return Cell{Percent: q.PercentOf(part, all)}
}

// waited is the part of the elapsed time in which the operating system acted; what the probes added is not of it.
func waited(t q.Time) q.Nanoseconds { return t.Elapsed - t.Application }

// timeKeys are the columns of times of rows that have calls of their own; placeKeys of those that have not: places in a
// function, threads, processes.
func timeKeys(single bool) string {
	var b strings.Builder
	b.WriteString("calls running ")
	for _, part := range timeParts {
		for _, rule := range sumRules {
			key := part.key + rule.key
			b.WriteString(key + " " + key + "_percent ")
			if single {
				b.WriteString("avg_" + key + " min_" + key + " max_" + key + " ")
			}
		}
	}
	return b.String() + "probe_overhead_inclusive probe_overhead_exclusive "
}

// waitParts are the columns of what the operating system did, which a view has only when they are asked for.
var waitParts = []struct {
	key, title string
	kind       Kind
	value      func(q.Time) int64
}{
	{"waited", "Waited", Duration, func(t q.Time) int64 { return int64(waited(t)) }},
	{"wait_intervals", "Wait intervals", Count, func(t q.Time) int64 { return int64(t.Intervals) }},
	{"voluntary", "Voluntary", Count, func(t q.Time) int64 { return int64(t.Voluntary) }},
	{"preempted", "Preempted", Count, func(t q.Time) int64 { return int64(t.Preempted) }},
	{"faults", "Faults", Count, func(t q.Time) int64 { return int64(t.Faults) }},
	{"reads", "Reads", Count, func(t q.Time) int64 { return int64(t.Reads) }},
	{"off_cpu", "Off CPU", Duration, func(t q.Time) int64 { return int64(t.OffCPU) }},
	{"blocked", "Blocked", Duration, func(t q.Time) int64 { return int64(t.Blocked) }},
	{"ready", "Ready", Duration, func(t q.Time) int64 { return int64(t.Ready) }},
}

func waitKeys() string {
	var b strings.Builder
	for _, part := range waitParts {
		for _, rule := range sumRules {
			b.WriteString(part.key + rule.key + " ")
			if part.kind == Duration {
				b.WriteString(part.key + rule.key + "_percent ")
			}
		}
	}
	return b.String()
}

// by returns a time of a row by a rule.
func (t *rowTime) by(inclusive bool) q.Time {
	if inclusive {
		return t.Inclusive
	}
	return t.Exclusive
}

// timed makes the cell of rows that have times.
func timed(cell func(*context, *rowTime) Cell) func(*context, *Row) Cell {
	return func(c *context, r *Row) Cell {
		if r.time == nil {
			return Cell{Empty: true}
		}
		return cell(c, r.time)
	}
}

// ofCalls makes the cell of a number of calls. The body of a function has none: the calls of the function are in the
// function's row, and each is at the line that makes it, so that lines add up to all calls.
func ofCalls(number func(*rowTime) q.Count) func(*context, *Row) Cell {
	cell := timed(func(_ *context, t *rowTime) Cell { return numberCell(number(t)) })
	return func(c *context, r *Row) Cell {
		if isBody(*r) {
			return Cell{Empty: true}
		}
		return cell(c, r)
	}
}

// timeColumns makes the columns of times.
func timeColumns() []Column {
	out := []Column{
		{Key: "calls", Title: "Calls", Kind: Count, cell: ofCalls(func(t *rowTime) q.Count { return t.Calls })},
		{Key: "running", Title: "Running", Kind: Count, cell: ofCalls(func(t *rowTime) q.Count { return t.Running })},
	}
	out = append(out, awaitColumns...)
	for _, rule := range sumRules {
		by := func(value func(*context, q.Time) q.Nanoseconds) func(*context, *Row) Cell {
			return timed(func(c *context, t *rowTime) Cell { return numberCell(value(c, t.by(rule.inclusive))) })
		}
		share := func(value func(*context, q.Time) q.Nanoseconds,
			whole func(*context, q.Time) q.Nanoseconds) func(*context, *Row) Cell {
			return timed(func(c *context, t *rowTime) Cell {
				return c.share(value(c, t.by(rule.inclusive)), t.by(rule.inclusive), whole(c, c.totalTime.Inclusive))
			})
		}
		for _, part := range timeParts {
			key, title := part.key+rule.key, part.title+rule.title
			lower := strings.ToLower(title)
			one := func(pick func(session.Range) q.Nanoseconds) func(*context, *Row) Cell {
				return timed(func(c *context, t *rowTime) Cell {
					if t.calls == nil {
						return Cell{Empty: true}
					}
					return c.extreme(t, pick(part.of(&t.calls.Extremes, rule.inclusive)))
				})
			}
			out = append(out,
				Column{Key: key, Title: title, Kind: Duration, cell: by(part.value)},
				Column{Key: key + "_percent", Title: "%", Kind: Percent, cell: share(part.value, part.value)},
				Column{Key: "avg_" + key, Title: "Avg " + lower, Kind: Duration,
					cell: timed(func(c *context, t *rowTime) Cell {
						if t.calls == nil {
							return Cell{Empty: true}
						}
						sum := part.nodes(t.calls)
						if !rule.inclusive {
							sum = part.value(c, t.Exclusive)
						}
						return c.average(t, sum, part.of(&t.calls.Extremes, rule.inclusive))
					})},
				Column{Key: "min_" + key, Title: "Min " + lower, Kind: Duration,
					cell: one(func(r session.Range) q.Nanoseconds { return r.Min })},
				Column{Key: "max_" + key, Title: "Max " + lower, Kind: Duration,
					cell: one(func(r session.Range) q.Nanoseconds { return r.Max })})
		}
		out = append(out, Column{Key: "probe_overhead" + rule.key, Title: "Probes" + rule.title, Kind: Duration,
			cell: by(func(_ *context, t q.Time) q.Nanoseconds { return t.Overhead })},
			Column{Key: "uncertainty" + rule.key, Title: "±" + rule.title, Kind: Duration,
				cell: timed(func(c *context, t *rowTime) Cell { return c.uncertain(t.by(rule.inclusive)) })})
		for _, part := range waitParts {
			key := part.key + rule.key
			out = append(out, Column{Key: key, Title: part.title + rule.title, Kind: part.kind,
				cell: timed(func(_ *context, t *rowTime) Cell {
					return Cell{Number: part.value(t.by(rule.inclusive))}
				})})
			if part.kind == Duration {
				value := func(_ *context, t q.Time) q.Nanoseconds { return q.Nanoseconds(part.value(t)) }
				out = append(out, Column{Key: key + "_percent", Title: "%", Kind: Percent,
					cell: share(value, (*context).elapsed)})
			}
		}
	}
	for i := range out {
		out[i].data = dataTime
	}
	return out
}

// average is the mean of single calls. Those that run count as long as they have run. There is none of raw times, of
// which the parts of single calls are not known.
func (c *context) average(t *rowTime, sum q.Nanoseconds, of session.Range) Cell {
	if t.Calls <= 0 || c.raw {
		return Cell{Empty: true}
	}
	mean := sum / q.Nanoseconds(t.Calls)
	if rest := sum % q.Nanoseconds(t.Calls); rest >= q.Nanoseconds(t.Calls)-rest {
		mean++
	}
	// what the probes added is taken out of sums here, and of each call there
	if t.Running == 0 && c.source.SingleCalls() {
		mean = min(max(mean, of.Min), of.Max)
	}
	return numberCell(mean)
}

// extreme is the least or greatest of the calls that ended, in the whole run.
func (c *context) extreme(t *rowTime, n q.Nanoseconds) Cell {
	if t.Calls <= t.Running || c.raw || !c.source.SingleCalls() {
		return Cell{Empty: true}
	}
	return numberCell(n)
}

// readTimes reads how calls were timed and the totals.
func (c *context) readTimes(whole *analysis.Source) error {
	var err error
	if c.allTimed, err = whole.ProcessesTimed(); err != nil {
		return err
	}
	if c.timed, err = c.source.ProcessesTimed(); err != nil || len(c.timed) == 0 {
		return err
	}
	if c.shownTime, err = c.source.TotalTime(); err != nil {
		return err
	}
	awaits, err := c.source.FunctionAwaits()
	if err != nil {
		return err
	}
	c.awaits = make(map[session.FunctionID]*session.FunctionAwait, len(awaits))
	for i := range awaits {
		c.awaits[awaits[i].Function] = &awaits[i]
	}
	c.totalTime, err = whole.TotalTime()
	return err
}

// hasTime reports whether calls were timed; hasMemory whether allocations were counted: every .NET program that runs
// at all allocates something.
func (c *context) hasTime() bool { return len(c.timed) > 0 }

func (c *context) hasMemory() bool { return len(c.allTimed) == 0 || !c.total.IsZero() }

// suspended is how long the machine slept while calls were timed.
func (c *context) suspended() (q.Nanoseconds, error) {
	if !c.hasTime() {
		return 0, nil
	}
	info, err := c.source.Session().Info()
	n, bad := strconv.ParseInt(info[session.KeySuspended], 10, 64)
	if bad != nil { // absent, or damaged: it is only a remark
		n = 0
	}
	return q.Nanoseconds(n), err
}

// leastStolen is the percentage of processor time from which on it is said that the host of a virtual machine took it:
// less is within what two runs differ by.
const leastStolen = 1

// stolen says how much processor time the host of a virtual machine took from it while times were recorded.
func (c *context) stolen() ([]Note, error) {
	if !c.hasTime() {
		return nil, nil
	}
	used, stolen, err := analysis.Stolen(c.source.Session())
	share := q.PercentOf(stolen, used+stolen)
	if err != nil || stolen == 0 || share.Float() < leastStolen {
		return nil, err
	}
	return []Note{note(NoteStolen, stolen, share)}, nil
}

// truncated are the pseudo functions that stand for calls without paths.
func (c *context) truncated() map[session.FunctionID]bool {
	truncated := map[session.FunctionID]bool{}
	for i := range c.functions.list {
		if f := &c.functions.list[i]; f.Kind == session.FunctionPseudo && f.DisplayName() == session.NameTruncated {
			truncated[f.ID] = true
		}
	}
	return truncated
}

// folded says how many calls have no paths, since there were more than the agent keeps.
func (c *context) folded() ([]Note, error) {
	truncated := c.truncated()
	if !c.hasTime() || len(truncated) == 0 {
		return nil, nil
	}
	calls := q.Count(0)
	err := c.source.EachPathCalls(func(v *session.PathTime) {
		if truncated[v.Function] {
			calls += v.Calls
		}
	})
	if err != nil || calls <= 0 {
		return nil, err
	}
	return []Note{note(NoteFolded, calls, q.PercentOf(calls, c.shownTime.Calls))}, nil
}

// findFolded says which part of the work has no paths, if trees lack much.
func (s *Summary) findFolded() error {
	truncated := s.context.truncated()
	if s.Timing == nil || len(truncated) == 0 {
		return nil
	}
	cpu := q.Nanoseconds(0)
	err := s.context.source.EachPathTime(func(v *session.PathTime) {
		if truncated[v.Function] {
			cpu += v.Exclusive.CPU
		}
	})
	if share := q.PercentOf(cpu, s.Timing.Total.Inclusive.CPU); err == nil && share.Float() >= leastShare {
		s.find(nil, FindingFolded, share, cpu)
	}
	return err
}

// ticksPerSecond is the rate of the clock, 0 without times. Processes of one machine have the same clock, but for what
// the measurement of its rate is inexact.
func (c *context) ticksPerSecond() int64 {
	if !c.hasTime() {
		return 0
	}
	return c.timed[0].TicksPerSec
}
