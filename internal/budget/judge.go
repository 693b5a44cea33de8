package budget

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/rules"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/usercode"
)

// State is what became of a limit.
type State string

// States. A limit is unknown if the session does not hold its metric, or has lost some of what it is about and holds it
// as far as is known: it could be broken.
const (
	Held    State = "held"
	Broken  State = "broken"
	Unknown State = "unknown"
)

// Verdict is a limit and what a session has of it.
type Verdict struct {
	Title    string
	Metric   string
	State    State
	Value    int64  // bytes, nanoseconds or a number
	Limit    int64  // the most that is allowed
	Baseline int64  // if HasBase
	HasBase  bool   // Limit follows from Baseline
	Why      string // one sentence

	unit unit
}

// Print writes a value of the verdict for a person.
func (v *Verdict) Print(n int64) string { return v.unit.print(n) }

// metric is something that can be limited.
type metric struct {
	name  string
	unit  unit
	times bool // of calls: not by type
	whole bool // of processes: not by code
	finds bool // of what rules find
	value func(*analysis.Source) (int64, error)
}

var metrics = []metric{
	{name: "bytes", unit: bytes, value: allocated(func(a q.Amount) int64 { return int64(a.Bytes) })},
	{name: "allocations", unit: count, value: allocated(func(a q.Amount) int64 { return int64(a.Allocations) })},
	{name: "gen0_bytes", unit: bytes, value: dead(0)},
	{name: "gen1_bytes", unit: bytes, value: dead(1)},
	{name: "gen2_bytes", unit: bytes, value: dead(2)},
	{name: "loh_bytes", unit: bytes, value: dead(session.GenerationLarge)},
	{name: "alive_bytes", unit: bytes, value: func(s *analysis.Source) (int64, error) {
		l, err := s.Lifetimes()
		if err != nil {
			return 0, err
		}
		alive := l.Total().Alive()
		return int64(alive.Bytes), nil
	}},
	{name: "gcs", unit: count, whole: true, value: func(s *analysis.Source) (int64, error) {
		n, _, _, err := collections(s)
		return n, err
	}},
	{name: "pause", unit: duration, whole: true, value: func(s *analysis.Source) (int64, error) {
		_, all, _, err := collections(s)
		return all, err
	}},
	{name: "longest_pause", unit: duration, whole: true, value: func(s *analysis.Source) (int64, error) {
		_, _, most, err := collections(s)
		return most, err
	}},
	{name: "calls", unit: count, times: true, value: timed(func(t session.TimeValue) int64 { return int64(t.Calls) })},
	{name: "elapsed", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.Elapsed)
	})},
	{name: "application", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.Application)
	})},
	{name: "cpu", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.CPU)
	})},
	{name: "findings", unit: count, finds: true},
	{name: "blocked", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.Blocked)
	})},
}

// Metrics returns the names of all metrics, in the order of the documentation.
func Metrics() []string {
	var out []string
	for _, m := range metrics {
		out = append(out, m.name)
	}
	return out
}

// errAbsent means that a session does not hold what a limit is about.
var errAbsent = errors.New("the session does not hold it")

// errNoTimes means that a filter selects by what times are not known by.
var errNoTimes = errors.New("the filter is of objects")

// errDivided means that a filter takes a part of a process, of which a limit can only be about the whole.
var errDivided = errors.New("the filter divides processes")

func allocated(value func(q.Amount) int64) func(*analysis.Source) (int64, error) {
	return func(s *analysis.Source) (int64, error) {
		info, err := s.Session().Info()
		if err != nil {
			return 0, err
		}
		if !slices.Contains(strings.Split(info[session.KeyMode], ","), session.ModeMemory) {
			return 0, errAbsent
		}
		a, err := s.Total()
		return value(a), err
	}
}

func dead(generation int) func(*analysis.Source) (int64, error) {
	return func(s *analysis.Source) (int64, error) {
		l, err := s.Lifetimes()
		if err != nil {
			return 0, err
		}
		return int64(l.Total().Dead[generation].Bytes), nil
	}
}

func timed(value func(session.TimeValue) int64) func(*analysis.Source) (int64, error) {
	return func(s *analysis.Source) (int64, error) {
		rows, err := s.ProcessesTimed()
		if err != nil {
			return 0, err
		}
		if len(rows) == 0 {
			return 0, analysis.ErrNoTime
		}
		t, err := s.TotalTime()
		return value(t), err
	}
}

func collections(s *analysis.Source) (n, all, most int64, err error) {
	followed, err := s.Session().ProcessLifetimes()
	if err == nil && len(followed) == 0 {
		err = analysis.ErrNoLifetime
	}
	if err != nil {
		return 0, 0, 0, err
	}
	gcs, err := s.Session().GCs()
	for _, g := range gcs {
		if s.Selection().HasGC(&g) {
			n, all, most = n+1, all+int64(g.Pause), max(most, int64(g.Pause))
		}
	}
	return n, all, most, err
}

// Judge returns a verdict for each limit, in their order. old is the baseline; nil: there is none. Errors are those of
// reading the sessions, and of patterns.
func (b *Budget) Judge(ctx context.Context, s, old *session.Session) ([]Verdict, error) {
	out := make([]Verdict, len(b.Limits))
	for i := range b.Limits {
		l := &b.Limits[i]
		v, err := l.judge(s, old, b)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: %w", l.Title(), err)
		}
		out[i] = v
	}
	return out, nil
}

func (l *Limit) judge(s, old *session.Session, b *Budget) (Verdict, error) {
	v := Verdict{Title: l.titleAfter(b.AfterMark), Metric: l.Metric, unit: l.metric.unit}
	value, lost, err := l.measure(s, b)
	switch {
	case errors.Is(err, errAbsent):
		v.State, v.Why = Unknown, "the session does not hold "+l.needs()+l.recorded()
		return v, nil
	case errors.Is(err, errDivided):
		v.State, v.Why = Unknown, l.Metric+" is known only for whole processes, and the filter divides them"
		return v, nil
	case errors.Is(err, errNoTimes):
		v.State, v.Why = Unknown, l.Metric+" is known neither by type nor between collections, which the filter needs"
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.Value, v.Limit = value, l.max
	if l.hasGrowth {
		if old == nil {
			v.State, v.Why = Unknown, "it limits growth, and there is no baseline"
			return v, nil
		}
		base, baseLost, err := l.measure(old, b)
		if errors.Is(err, errAbsent) {
			v.State, v.Why = Unknown, "the baseline does not hold "+l.needs()+l.recorded()
			return v, nil
		}
		if err != nil {
			return v, err
		}
		v.Baseline, v.HasBase, lost = base, true, lost || baseLost
		allowed := base + max(int64(float64(base)*l.grow), l.floor)
		if !l.hasMax || allowed < v.Limit {
			v.Limit = allowed
		}
	}
	v.decide(lost)
	return v, nil
}

func (v *Verdict) decide(lost bool) {
	against := ""
	if v.HasBase {
		against = fmt.Sprintf(", %s before", v.Print(v.Baseline))
	}
	switch {
	case v.Value > v.Limit && v.HasBase && lost:
		v.State, v.Why = Unknown, fmt.Sprintf("%s of at most %s%s; but a session has losses, so they cannot be "+
			"compared", v.Print(v.Value), v.Print(v.Limit), against)
	case v.Value > v.Limit:
		v.State, v.Why = Broken, fmt.Sprintf("%s of at most %s%s", v.Print(v.Value), v.Print(v.Limit), against)
	case lost:
		v.State, v.Why = Unknown, fmt.Sprintf("%s of at most %s%s; but a session has losses, so it can be more",
			v.Print(v.Value), v.Print(v.Limit), against)
	default:
		v.State, v.Why = Held, fmt.Sprintf("%s of at most %s%s", v.Print(v.Value), v.Print(v.Limit), against)
	}
}

// titleAfter is the title, with the mark after which things count.
func (l *Limit) titleAfter(mark string) string {
	if mark == "" {
		return l.Title()
	}
	return fmt.Sprintf("%s, after mark %s", l.Title(), mark)
}

// needs names what a session must hold.
func (l *Limit) needs() string {
	if l.metric.finds {
		return "the data that the rules need"
	}
	return l.Metric
}

// recorded says how what a limit needs is recorded.
func (l *Limit) recorded() string {
	switch {
	case l.metric.finds:
		return ""
	case l.metric.times:
		return ": clrprof run --time records it"
	case l.Metric == "bytes" || l.Metric == "allocations":
		return ": clrprof run --memory records it"
	}
	return ": clrprof run --lifetime records it"
}

// findings counts the places that break the rules of the limit.
func (l *Limit) findings(src *analysis.Source) (int64, error) {
	var disabled []string
	if len(l.Rules) > 0 {
		disabled = slices.DeleteFunc(rules.IDs(), func(id string) bool { return slices.Contains(l.Rules, id) })
	}
	found, err := rules.Judge(src, disabled)
	switch {
	case err != nil:
		return 0, err
	case len(l.Rules) > 0 && len(found.Unjudged) > 0:
		return 0, errAbsent
	}
	return int64(len(found.Findings) + found.Hidden), nil
}

// only are the terms that hold for all limits, but for the mark.
func (b *Budget) only(s *session.Session) (analysis.Terms, error) {
	out := analysis.Terms{}
	if b.Only != nil {
		var err error
		if out, err = b.Only(s); err != nil {
			return out, fmt.Errorf("session %s: %w", s.Path(), err)
		}
	}
	return out.And(analysis.Terms{Filter: b.Filter}), nil
}

// Notes say in sentences which part of a session all limits are about; none: all of it. Of a mark each title tells.
func (b *Budget) Notes(s *session.Session) ([]string, error) {
	only, err := b.only(s)
	if err != nil {
		return nil, err
	}
	only.MayMiss = true
	sel, err := only.Select(s)
	if err != nil {
		return nil, err
	}
	return sel.Notes(s, "")
}

// measure returns the value of the metric in what a budget is about, and whether some of that may be missing.
func (l *Limit) measure(s *session.Session, b *Budget) (value int64, lost bool, err error) {
	terms := analysis.Terms{Processes: l.Processes, Threads: l.Threads, Modules: l.Modules, Namespaces: l.Namespaces,
		Functions: l.Functions, Types: l.Types, Focus: l.Focus, Filter: l.Filter, MayMiss: true}
	if l.Mine {
		names, err := userModules(s)
		if err != nil {
			return 0, false, err
		}
		if len(names) == 0 {
			return 0, false, nil
		}
		terms.Focus = append(names, terms.Focus...)
	}
	only, err := b.only(s)
	if err != nil {
		return 0, false, err
	}
	if b.AfterMark != "" {
		from, _, err := analysis.BetweenMarks(s, b.AfterMark, "")
		if err != nil {
			return 0, false, fmt.Errorf("session %s: %w", s.Path(), err)
		}
		only = only.And(analysis.Terms{From: from})
	}
	sel, err := terms.And(only).Select(s)
	if err != nil {
		return 0, false, err
	}
	if l.metric.whole && sel.Divides() {
		return 0, false, errDivided
	}
	if l.metric.times && !sel.HasTimes() {
		return 0, false, errNoTimes
	}
	src, err := analysis.Open(s, sel)
	if err != nil {
		return 0, false, absent(err)
	}
	measured := l.metric.value
	if l.metric.finds {
		measured = l.findings
	}
	if value, err = measured(src); err != nil {
		return 0, false, absent(err)
	}
	losses, err := s.Losses()
	for _, loss := range losses {
		lost = lost || loss.IsMissing() && sel.HasProcess(loss.Process)
	}
	return value, lost, err
}

// absent replaces the errors that mean that a session was recorded without a set of data.
func absent(err error) error {
	for _, known := range []error{analysis.ErrNoTime, analysis.ErrNoLifetime} {
		if errors.Is(err, known) {
			return errAbsent
		}
	}
	return err
}

// userModules returns the names of the modules that are user code, as patterns.
func userModules(s *session.Session) ([]string, error) {
	modules, err := s.Modules()
	var out []string
	for _, m := range modules {
		if usercode.Origin(m.Origin).IsUser() {
			out = append(out, m.Name)
		}
	}
	return out, err
}
