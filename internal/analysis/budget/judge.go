package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/shell"
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
	// Runs are the values of several runs, in ascending order, of which Value is the median; BaseRuns those of several
	// baselines. Of one run they are nil.
	Runs, BaseRuns []int64
	// Places are where most of what is broken is done, or with a baseline most of what is more; the first first.
	Places []Place
	// Estimate says what is known of Value, and BaseEstimate of Baseline; nil: it was counted.
	Estimate, BaseEstimate *Estimate

	Next string // a command that shows more of what is broken; "": none

	unit unit
	sums bool // what the places have adds up to the value
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
	value func(*analysis.Source) (measure, error)
	test  func(*analysis.EntryValue) measure // the value of a test; nil: it is not known by test
	weigh func(*analysis.Use) measure        // what a place in user code has of the value; nil: not known by place
}

var metrics = []metric{
	{name: "bytes", unit: bytes, value: allocated(ofBytes),
		test:  func(t *analysis.EntryValue) measure { return ofBytes(t.Amounts.Inclusive) },
		weigh: func(u *analysis.Use) measure { return ofBytes(u.Born) }},
	{name: "allocations", unit: count, value: allocated(ofObjects),
		test:  func(t *analysis.EntryValue) measure { return ofObjects(t.Amounts.Inclusive) },
		weigh: func(u *analysis.Use) measure { return ofObjects(u.Born) }},
	{name: "gen0_bytes", unit: bytes, value: dead(0), weigh: deadOf(0)},
	{name: "gen1_bytes", unit: bytes, value: dead(1), weigh: deadOf(1)},
	{name: "gen2_bytes", unit: bytes, value: dead(2), weigh: deadOf(2)},
	{name: metricLarge, unit: bytes, value: dead(session.GenerationLarge), weigh: deadOf(session.GenerationLarge)},
	{name: "alive_bytes", unit: bytes, value: func(s *analysis.Source) (measure, error) {
		l, err := s.Lifetimes()
		if err != nil {
			return measure{}, err
		}
		return ofBytes(l.Total().Alive()), nil
	}, weigh: func(u *analysis.Use) measure { return ofBytes(u.Alive()) }},
	{name: "gcs", unit: count, whole: true, value: func(s *analysis.Source) (measure, error) {
		n, _, _, err := collections(s)
		return counted(n), err
	}},
	{name: "pause", unit: duration, whole: true, value: func(s *analysis.Source) (measure, error) {
		_, all, _, err := collections(s)
		return counted(all), err
	}},
	{name: "longest_pause", unit: duration, whole: true, value: func(s *analysis.Source) (measure, error) {
		_, _, most, err := collections(s)
		return counted(most), err
	}},
	{name: metricCalls, unit: count, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Calls)
	}), weigh: func(u *analysis.Use) measure { return counted(u.Calls) }},
	{name: "elapsed", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.Elapsed)
	}), test: func(t *analysis.EntryValue) measure { return counted(t.Time.Inclusive.Elapsed) },
		weigh: func(u *analysis.Use) measure { return counted(u.Time.Elapsed) }},
	{name: "application", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.Application)
	}), test: func(t *analysis.EntryValue) measure { return counted(t.Time.Inclusive.Application) },
		weigh: func(u *analysis.Use) measure { return counted(u.Time.Application) }},
	{name: "cpu", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.CPU)
	}), test: func(t *analysis.EntryValue) measure { return counted(t.Time.Inclusive.CPU) },
		weigh: func(u *analysis.Use) measure { return counted(u.Time.CPU) }},
	{name: metricFindings, unit: count, finds: true},
	{name: "blocked", unit: duration, times: true, value: timed(func(t session.TimeValue) int64 {
		return int64(t.Inclusive.Blocked)
	}), test: func(t *analysis.EntryValue) measure { return counted(t.Time.Inclusive.Blocked) },
		weigh: func(u *analysis.Use) measure { return counted(u.Time.Blocked) }},
}

// deadOf is what died in a generation of what a place made.
func deadOf(generation int) func(*analysis.Use) measure {
	return func(u *analysis.Use) measure { return ofBytes(u.Dead[generation]) }
}

// metricNames returns the names of all metrics, in the order of the documentation.
func metricNames() []string {
	var out []string
	for _, m := range metrics {
		out = append(out, m.name)
	}
	return out
}

// errAbsent means that a session does not hold what a limit is about.
var errAbsent = errors.New("the session does not hold it")

// errOnlyLarge means that a session has only large objects, of a process that was started without the agent.
var errOnlyLarge = fmt.Errorf("%w: only objects of 85,000 bytes and more are in it", errAbsent)

// errNoTimes means that a filter selects by what times are not known by.
var errNoTimes = errors.New("the filter is of objects")

// errDivided means that a filter takes a part of a process, of which a limit can only be about the whole.
var errDivided = errors.New("the filter divides processes")

func allocated(value func(q.Amount) measure) func(*analysis.Source) (measure, error) {
	return func(s *analysis.Source) (measure, error) {
		info, err := s.Session().Info()
		if err != nil {
			return measure{}, err
		}
		if !slices.Contains(strings.Split(info[session.KeyMode], ","), session.ModeMemory) {
			return measure{}, errAbsent
		}
		if info[session.KeyObjects] == session.ObjectsLarge && !s.HasEstimates() {
			return measure{}, errOnlyLarge
		}
		a, err := s.Total()
		return value(a), err
	}
}

func dead(generation int) func(*analysis.Source) (measure, error) {
	return func(s *analysis.Source) (measure, error) {
		l, err := s.Lifetimes()
		if err != nil {
			return measure{}, err
		}
		return ofBytes(l.Total().Dead[generation]), nil
	}
}

func timed(value func(session.TimeValue) int64) func(*analysis.Source) (measure, error) {
	return func(s *analysis.Source) (measure, error) {
		rows, err := s.ProcessesTimed()
		if err != nil {
			return measure{}, err
		}
		if len(rows) == 0 {
			return measure{}, analysis.ErrNoTime
		}
		t, err := s.TotalTime()
		return counted(value(t)), err
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

// Judge returns a verdict for each limit, in their order, and before them one on how the program ended, if the sessions
// know it. Several sessions are runs of the same: the median is judged. olds are the baselines; none: limits on growth
// are unknown. Errors are those of reading the sessions, and of patterns.
func (b *Budget) Judge(ctx context.Context, runs, olds []*session.Session) ([]Verdict, error) {
	out, nothing, missing := []Verdict(nil), false, ""
	for _, s := range runs {
		ended, err := b.judgeExit(s)
		if err != nil {
			return nil, err
		}
		if len(out) == 0 || len(ended) > 0 && ended[0].State == Unknown && out[0].State == Held {
			out = ended
		}
		without, err := recordedNothing(s)
		if err != nil {
			return nil, err
		}
		nothing = nothing || without
		why, err := b.missing(s)
		if err != nil {
			return nil, err
		}
		missing = cmp.Or(missing, why)
	}
	var err error
	for i := range b.Limits {
		l := &b.Limits[i]
		v := Verdict{Title: l.titleAfter(b.AfterMark), Metric: l.Metric, State: Unknown, unit: l.metric.unit}
		switch {
		case nothing:
			v.Why = "nothing was recorded: a session has neither an allocation nor a call"
		case missing != "":
			v.Why = missing
		default:
			v, err = l.judge(runs, olds, b)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: %w", l.Title(), err)
		}
		out = append(out, v)
	}
	return out, nil
}

// metricExit is the metric of the verdict on how the program ended; no limit has it.
const metricExit = "exit_code"

// judgeExit judges the exit code of the command. There is none if the program was attached to, or has not ended.
func (b *Budget) judgeExit(s *session.Session) ([]Verdict, error) {
	info, err := s.Info()
	if err != nil {
		return nil, err
	}
	code, err := strconv.ParseInt(info[session.KeyExitCode], 10, 32)
	if err != nil {
		return nil, nil
	}
	v := Verdict{Title: "exit code", Metric: metricExit, State: Held, Value: code, unit: count,
		Why: fmt.Sprintf("the program ended with %d", code)}
	allowed := b.AllowExit
	if allowed == nil {
		allowed = &[]int64{0}
	}
	if len(*allowed) > 0 && !slices.Contains(*allowed, code) {
		v.State = Unknown
		v.Why += ", so it may not have done all that the limits are for (allow_exit)"
	}
	return []Verdict{v}, nil
}

// recordedNothing reports whether a session has neither an allocation nor a call: a program of .NET that runs has some.
func recordedNothing(s *session.Session) (bool, error) {
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		return false, err
	}
	objects, err := src.Total()
	if err != nil || objects.Allocations > 0 {
		return false, err
	}
	times, err := src.TotalTime()
	return times.Calls == 0, err
}

// missing says what the filter of a budget selects by and the session does not have; "": nothing.
func (b *Budget) missing(s *session.Session) (string, error) {
	return missingTerm(s, analysis.Terms{Filter: b.Filter})
}

// missingTerm says which of terms matches nothing in a session; "": each matches something.
func missingTerm(s *session.Session, terms analysis.Terms) (string, error) {
	_, err := terms.Select(s)
	var term *analysis.TermError
	if errors.As(err, &term) && !term.Ambiguous {
		return fmt.Sprintf("no %s of this session is called %s (renamed?)", term.What, term.Text), nil
	}
	return "", err
}

func (l *Limit) judge(runs, olds []*session.Session, b *Budget) (Verdict, error) {
	v := Verdict{Title: l.titleAfter(b.AfterMark), Metric: l.Metric, unit: l.metric.unit}
	if !l.Optional {
		var err error
		if v.Why, err = l.absentFrom(runs, olds, b); err != nil || v.Why != "" {
			v.State = Unknown
			return v, err
		}
	}
	why, err := l.ofSamples(slices.Concat(runs, olds))
	if err != nil || why != "" {
		v.State, v.Why = Unknown, why
		return v, err
	}
	now, why, err := l.measureAll(runs, b, "the session")
	if err != nil || why != "" {
		v.State, v.Why = Unknown, why
		return v, err
	}
	v.Value, v.Runs, v.Limit, v.Estimate = now.value, now.runs, l.max, now.estimate
	before, lost := (*measured)(nil), now.lost
	if l.hasGrowth {
		if len(olds) == 0 {
			v.State, v.Why = Unknown, "it limits growth, and there is no baseline"
			return v, nil
		}
		before, why, err = l.measureAll(olds, b, "the baseline")
		if err != nil || why != "" {
			v.State, v.Why = Unknown, why
			return v, err
		}
		v.Baseline, v.HasBase, v.BaseRuns, lost = before.value, true, before.runs, lost || before.lost
		v.BaseEstimate, v.Limit = before.estimate, l.allowed(v.Baseline)
	}
	if v.Estimate != nil || v.BaseEstimate != nil {
		v.decideEstimate(lost, l.allowed)
	} else {
		v.decide(lost, !l.hasMax || v.Limit < l.max)
	}
	v.Why += now.once
	if v.State == Broken {
		v.Places, err = l.places(now, before, b)
		v.sums = len(l.Tests) == 0 // what a test does after it has waited is on no stack of its
		v.tellPlaces()
		v.Next = l.next(now, before, &v)
	}
	return v, err
}

// allowed is the most that is allowed where a baseline has so much.
func (l *Limit) allowed(baseline int64) int64 {
	allowed := baseline + max(int64(float64(baseline)*l.grow), l.floor)
	if l.hasMax {
		return min(l.max, allowed)
	}
	return allowed
}

// measureAll measures several runs, and returns the median with the values of all, or why it is not known.
func (l *Limit) measureAll(list []*session.Session, b *Budget, of string) (median *measured, why string, err error) {
	all, lost := make([]*measured, len(list)), false
	for i, s := range list {
		all[i], err = l.measure(s, b)
		if why := l.unknown(err, of); why != "" {
			return nil, why, nil
		}
		if err != nil {
			return nil, "", err
		}
		lost = lost || all[i].lost
	}
	slices.SortStableFunc(all, func(x, y *measured) int { return cmp.Compare(x.value, y.value) })
	median = all[(len(all)-1)/2]
	if median.lost = lost; len(all) > 1 {
		for _, m := range all {
			median.runs = append(median.runs, m.value)
		}
	}
	return median, "", nil
}

// unknown says why a limit cannot be judged after an error of measuring; "": the error does not say it.
func (l *Limit) unknown(err error, of string) string {
	switch {
	case errors.Is(err, errAbsent):
		return of + " does not hold " + l.needs() + l.recorded()
	case errors.Is(err, errDivided):
		return l.Metric + " is known only for whole processes, and the filter divides them"
	case errors.Is(err, errNoTimes):
		return l.Metric + " is known neither by type nor between collections, which the filter needs"
	case errors.Is(err, analysis.ErrMarkUncut):
		return fmt.Sprintf("%s has a mark in the middle of a slice of time: %v", of, err)
	}
	return ""
}

// absentFrom says what a limit is about and a session does not have; "": all have all.
func (l *Limit) absentFrom(runs, olds []*session.Session, b *Budget) (string, error) {
	for _, s := range runs {
		if l.Mine {
			if user, err := analysis.HasUserCode(s); err != nil || !user {
				return "no module of this session is your code", err
			}
		}
		why, err := missingTerm(s, l.terms())
		if why == "" && err == nil {
			continue
		}
		if err != nil || len(olds) == 0 {
			return why, err
		}
		before, err := l.measure(olds[0], b)
		if err != nil {
			return why, nil // what cannot be measured helps nobody
		}
		if name, err := l.sameCode(s, olds[0], b); err != nil || name != "" {
			return fmt.Sprintf("%s, and %s is new with the same code: renamed?", strings.TrimSuffix(why, " (renamed?)"),
				name), err
		}
		name, err := l.renamed(s, olds[0], b, before.value)
		if err != nil || name == "" {
			return why, err
		}
		return strings.TrimSuffix(why, " (renamed?)") + fmt.Sprintf(", and %s is new with the same %s, %s: renamed?",
			name, l.Metric, l.metric.unit.print(before.value)), nil
	}
	return "", nil
}

// decide says what became of a limit, but for places. byGrowth: the baseline decides.
func (v *Verdict) decide(lost, byGrowth bool) {
	against := v.spread(v.Runs, "of %d runs")
	if v.HasBase {
		against += fmt.Sprintf(", %s before%s", v.Print(v.Baseline), v.spread(v.BaseRuns, "in %d runs"))
	}
	within := fmt.Sprintf("%s of at most %s%s", v.Print(v.Value), v.Print(v.Limit), against)
	switch {
	case v.Value > v.Limit && v.HasBase && lost:
		v.State, v.Why = Unknown, within+"; but a session has losses, so they cannot be compared"
	case v.Value > v.Limit && v.HasBase && byGrowth && v.overlaps():
		v.State, v.Why = Held, within+": within the spread of the runs"
	case v.Value > v.Limit:
		v.State, v.Why = Broken, v.tooMuch()+against
	case lost:
		v.State, v.Why = Unknown, within+"; but a session has losses, so it can be more"
	default:
		v.State, v.Why = Held, within
	}
}

// overlaps reports whether some run had no more than some run of the baseline: then they cannot be told apart.
func (v *Verdict) overlaps() bool {
	least, most := v.Value, v.Baseline
	if len(v.Runs) > 0 {
		least = v.Runs[0]
	}
	if n := len(v.BaseRuns); n > 0 {
		most = v.BaseRuns[n-1]
	}
	return least <= most
}

// spread says how far the values of several runs are apart.
func (v *Verdict) spread(runs []int64, of string) string {
	if len(runs) == 0 {
		return ""
	}
	return fmt.Sprintf(" (median "+of+", %s to %s)", len(runs), v.Print(runs[0]), v.Print(runs[len(runs)-1]))
}

// tooMuch says how much more than is allowed there is.
func (v *Verdict) tooMuch() string {
	value := v.Print(v.Value)
	if v.Metric == metricFindings {
		value = fmt.Sprintf("%s places", value)
		if v.Value == 1 {
			value = "1 place"
		}
	}
	if v.Limit == 0 {
		return value + ", and none is allowed"
	}
	return fmt.Sprintf("%s, and %s are allowed (%s too much)", value, v.Print(v.Limit),
		q.PercentOf(q.Count(v.Value-v.Limit), q.Count(v.Limit)))
}

// tellPlaces adds the first place to the reason.
func (v *Verdict) tellPlaces() {
	if len(v.Places) == 0 {
		return
	}
	what := "Most: "
	switch {
	case v.Metric == metricFindings:
		what = "First: "
	case v.HasBase:
		what = "Most of the growth: "
	}
	v.Why += ". " + what + v.Places[0].describe(v.unit)
	counted := v.Estimate == nil && v.BaseEstimate == nil
	if more := v.Places[0].Value - (v.Value - v.Baseline); counted && v.HasBase && v.sums && more > 0 {
		v.Why += fmt.Sprintf("; all other code together has %s less than before", v.Print(more))
	}
}

// next is a command that shows more of what is broken.
func (l *Limit) next(now, before *measured, v *Verdict) string {
	s := now.src.Session()
	switch {
	case l.metric.whole:
		return shell.Line([]string{"clrprof", "report", s.Path(), "gcs"})
	case l.metric.finds:
		return shell.Line([]string{"clrprof", "report", s.Path(), "rules"})
	case v.HasBase:
		return shell.Line([]string{"clrprof", "diff", before.src.Session().Path(), s.Path(), "lines", "--my-code"})
	case len(v.Places) == 0:
		return ""
	}
	return shell.Line([]string{"clrprof", "report", s.Path(), "function", v.Places[0].Function})
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

// metricCalls is the name of the metric of calls.
const metricCalls = "calls"

// metricFindings is the name of the metric of what rules find.
const metricFindings = "findings"

// findings returns what the rules of the limit find.
func (l *Limit) findings(src *analysis.Source) (*rules.Result, error) {
	var disabled []string
	if len(l.Rules) > 0 {
		disabled = slices.DeleteFunc(rules.IDs(), func(id string) bool { return slices.Contains(l.Rules, id) })
	}
	found, err := rules.Judge(src, disabled)
	switch {
	case err != nil:
		return nil, err
	case len(l.Rules) > 0 && len(found.Unjudged) > 0:
		return nil, errAbsent
	}
	return found, nil
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

// terms are what a limit selects by itself, but for user code.
func (l *Limit) terms() analysis.Terms {
	return analysis.Terms{Processes: l.Processes, Threads: l.Threads, Modules: l.Modules, Namespaces: l.Namespaces,
		Functions: l.Functions, Types: l.Types, Focus: slices.Concat(l.Focus, l.Tests), Filter: l.Filter}
}

// measured is what a session has of what a limit is about.
type measured struct {
	value    int64
	estimate *Estimate        // nil: it was counted
	lost     bool             // some of it may be missing
	src      *analysis.Source // what is selected
	found    *rules.Result    // of findings
	once     string           // what is left out of a limit that is steady, as the end of a sentence
	runs     []int64          // of several runs: see Verdict.Runs
}

// measure returns the value of the metric in what a limit is about. What it names need not be there.
func (l *Limit) measure(s *session.Session, b *Budget) (*measured, error) {
	terms := l.terms()
	terms.MayMiss = true
	if l.Mine {
		modules, err := userModules(s)
		if err != nil {
			return nil, err
		}
		if len(modules) == 0 {
			return l.none(s)
		}
		terms.Focus = append(modules, terms.Focus...)
	}
	only, err := b.only(s)
	if err != nil {
		return nil, err
	}
	if b.AfterMark != "" {
		from, err := analysis.AfterMark(s, b.AfterMark)
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", s.Path(), err)
		}
		only = only.And(analysis.Terms{From: from})
	}
	m := &measured{}
	if l.Steady {
		steady, kept, err := l.steadyTerms(s, terms.And(only))
		if err != nil {
			return nil, err
		}
		only, m.once = only.And(steady), kept
	}
	sel, err := terms.And(only).Select(s)
	if err != nil {
		return nil, err
	}
	if l.metric.whole && sel.Divides() {
		return nil, errDivided
	}
	if l.metric.times && !sel.HasTimes() {
		return nil, errNoTimes
	}
	if m.src, err = analysis.Open(s, sel); err != nil {
		return nil, absent(err)
	}
	if err := l.value(m, s, only, b); err != nil {
		return nil, absent(err)
	}
	if l.Steady {
		if err := l.leftOut(s, b, m); err != nil {
			return nil, err
		}
	}
	losses, err := s.Losses()
	for _, loss := range losses {
		m.lost = m.lost || loss.IsMissing() && sel.HasProcess(loss.Process)
	}
	return m, err
}

// value measures what is selected.
func (l *Limit) value(m *measured, s *session.Session, only analysis.Terms, b *Budget) (err error) {
	var x measure
	switch {
	case len(l.Tests) > 0:
		x, err = l.measureTests(s, only, b)
	case l.metric.finds:
		if m.found, err = l.findings(m.src); err == nil {
			x.n = int64(len(m.found.Findings) + m.found.Hidden)
		}
	default:
		x, err = l.metric.value(m.src)
	}
	if m.value = x.n; err == nil && l.metric.isEstimated(m.src) {
		m.estimate = &Estimate{x.sampled.Samples, x.within(l.metric.unit)}
	}
	return err
}

// none is measured where nothing is selected.
func (l *Limit) none(s *session.Session) (*measured, error) {
	src, err := analysis.Open(s, analysis.Selection{})
	return &measured{src: src, found: &rules.Result{}}, err
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
