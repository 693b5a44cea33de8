// Package budget judges a session by limits that a file sets: what a program may allocate, keep, wait and take.
//
// Problem: a change that makes a program allocate twice as much is seen in review only if a machine says so, and a
// machine that cries wolf is switched off. So a limit is about exact numbers, of named code, and what cannot be known
// is said to be unknown, neither held nor broken.
//
// Idea: a limit is a metric and a selection, in the words of the filters of a report ([analysis.Terms]); its value is
// the total of that selection. There is no second way to add up.
//
//	[[limit]]
//	name = "orders"                # in messages; without it: what the limit is about
//	metric = "bytes"               # see judge.go
//	functions = ["Shop.Orders.*"]  # also modules, namespaces, types, focus, processes, threads, as in a report
//	rules = ["boxing"]             # of the metric findings
//	filter = "function = A or not type = B" # clauses, as in a file of report --filter
//	mine = true                    # only what user code did or called
//	steady = true                  # without what fills once per process or thread
//	max = "10M"                    # absolute; K, M, G are powers of 1024, times as 1.5s or 200ms, counts plain
//	grow = "5%"                    # against a baseline, and then at most so much more …
//	floor = "100K"                 # … or by so little that it does not matter
package budget

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// errBudget means that a file is no budget. The error says what is wrong with it.
var errBudget = errors.New("not a budget")

// Limit bounds a metric of a selection.
type Limit struct {
	Name       string   `toml:"name"`
	Metric     string   `toml:"metric"`
	Max        text     `toml:"max"`
	Grow       text     `toml:"grow"`
	Floor      text     `toml:"floor"`
	Mine       bool     `toml:"mine"`
	Modules    []string `toml:"modules"`
	Namespaces []string `toml:"namespaces"`
	Functions  []string `toml:"functions"`
	Types      []string `toml:"types"`
	Focus      []string `toml:"focus"`
	Tests      []string `toml:"tests"` // test methods, each with all that it does, also after it has waited
	Processes  []string `toml:"processes"`
	Threads    []string `toml:"threads"`
	Rules      []string `toml:"rules"`  // of findings; empty: all that a session can tell
	Filter     string   `toml:"filter"` // the text of a filter; "": none
	// Optional limits are held where what they name is not in the session. Others are unknown then, so that a limit
	// does not hold for ever because a function was renamed.
	Optional bool `toml:"optional"`
	// Steady limits leave out what fills once per process or thread, as far as a session knows it: steadyTerms.
	Steady bool `toml:"steady"`

	metric            *metric
	max, floor        int64
	grow              float64 // of the baseline's value: 0.05
	hasMax, hasGrowth bool
}

// text is a value as a file has it, in quotes or, if it is a number, without.
type text string

// UnmarshalTOML is called by the decoder.
func (t *text) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*t = text(v)
	case int64:
		*t = text(strconv.FormatInt(v, 10))
	case float64:
		*t = text(strconv.FormatFloat(v, 'f', -1, 64))
	default:
		return fmt.Errorf("%v is neither a text nor a number", value)
	}
	return nil
}

// Budget is a list of limits.
type Budget struct {
	// AfterMark is the name of a mark, or #ID: what was before it does not count, such as a warm-up. "": everything
	// counts.
	AfterMark string `toml:"after_mark"`
	// Filter is the text of a filter (docs/metrics.md), for all limits; "": everything counts.
	Filter string `toml:"filter"`
	// AllowExit are the exit codes of the program with which limits can be held; nil: only 0; empty: all.
	AllowExit *[]int64 `toml:"allow_exit"`
	// Only are terms that what is judged of a session must be within; nil: there are none. Times since the start differ
	// from session to session.
	Only func(*session.Session) (analysis.Terms, error) `toml:"-"`

	Limits []Limit `toml:"limit"`

	names map[*session.Session]*rules.SessionNames // of the sessions that were judged
	tests map[testsKey]*analysis.Entries           // read once for all limits that select the same of a session
}

// LimitsGrowth reports whether a limit is about growth against a baseline.
func (b *Budget) LimitsGrowth() bool {
	return slices.ContainsFunc(b.Limits, func(l Limit) bool { return l.hasGrowth })
}

// LeaveOutGrowth leaves out what limits growth, for a first run, which has no baseline: whole limits that limit nothing
// else.
func (b *Budget) LeaveOutGrowth() {
	b.Limits = slices.DeleteFunc(b.Limits, func(l Limit) bool { return l.hasGrowth && !l.hasMax })
	for i := range b.Limits {
		b.Limits[i].hasGrowth = false
	}
}

// maxLimits bounds a file: each limit is a pass over the session.
const maxLimits = 1000

// Parse reads a budget. Errors wrap errBudget and are one line.
func Parse(text string) (*Budget, error) {
	var b Budget
	meta, err := toml.Decode(text, &b)
	if err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("%w: line %d: %s", errBudget, at.Position.Line, at.Message)
		}
		return nil, fmt.Errorf("%w: %w", errBudget, err)
	}
	if keys := meta.Undecoded(); len(keys) > 0 {
		return nil, fmt.Errorf("%w: there is no key %q", errBudget, keys[0].String())
	}
	switch n := len(b.Limits); {
	case n == 0:
		return nil, fmt.Errorf("%w: it has no [[limit]]", errBudget)
	case n > maxLimits:
		return nil, fmt.Errorf("%w: %d limits are more than %d", errBudget, n, maxLimits)
	}
	if err := checkFilter(b.Filter); err != nil {
		return nil, fmt.Errorf("%w: %w", errBudget, err)
	}
	for i := range b.Limits {
		l := &b.Limits[i]
		if err := l.compile(); err != nil {
			return nil, fmt.Errorf("%w: limit %d (%s): %w", errBudget, i+1, l.Title(), err)
		}
	}
	return &b, nil
}

// checkFilter refuses a filter that cannot be read.
func checkFilter(text string) error {
	if text == "" {
		return nil
	}
	if _, err := analysis.CheckFilter(text); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return nil
}

func (l *Limit) compile() error {
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == l.Metric })
	if i < 0 {
		return fmt.Errorf("metric %q is none of %s", l.Metric, strings.Join(metricNames(), ", "))
	}
	l.metric = &metrics[i]
	if l.metric.whole && (l.Mine || len(l.Modules)+len(l.Namespaces)+len(l.Functions)+len(l.Types)+len(l.Focus)+
		len(l.Tests)+len(l.Threads) > 0) {
		return fmt.Errorf("%s is known of whole processes only", l.Metric)
	}
	if l.Steady && (l.metric.whole || l.metric.finds) {
		return fmt.Errorf("steady leaves out objects and calls, which %s does not count", l.Metric)
	}
	if l.metric.times && len(l.Types) > 0 {
		return fmt.Errorf("%s is not known by type", l.Metric)
	}
	if l.metric.test == nil && len(l.Tests) > 0 {
		return fmt.Errorf("%s is not known by test: focus = [...] limits what is on the stacks of a test", l.Metric)
	}
	if l.Mine && len(l.Focus)+len(l.Tests) > 0 {
		return errors.New("mine and focus exclude each other, as do mine and tests")
	}
	if len(l.Rules) > 0 && !l.metric.finds {
		return fmt.Errorf("rules can only be given with the metric findings, not with %s", l.Metric)
	}
	for _, id := range l.Rules {
		if !slices.Contains(rules.IDs(), id) {
			return fmt.Errorf("there is no rule %q", id)
		}
	}
	if err := checkFilter(l.Filter); err != nil {
		return err
	}
	l.hasMax, l.hasGrowth = l.Max != "", l.Grow != ""
	if !l.hasMax && !l.hasGrowth {
		return errors.New("it has neither max nor grow")
	}
	if l.Floor != "" && !l.hasGrowth {
		return errors.New("floor goes with grow")
	}
	var errs [3]error
	l.max, errs[0] = l.metric.unit.parse("max", string(l.Max))
	l.floor, errs[1] = l.metric.unit.parse("floor", string(l.Floor))
	l.grow, errs[2] = parseShare(string(l.Grow))
	return errors.Join(errs[:]...)
}

// Title names the limit in messages.
func (l *Limit) Title() string {
	if l.Name != "" {
		return l.Name
	}
	var of []string
	for _, list := range [][]string{l.Modules, l.Namespaces, l.Types, l.Processes, l.Threads, l.Rules} {
		of = append(of, list...)
	}
	for _, f := range l.Functions {
		if l.Metric != metricCalls { // a call is of a function, whatever that calls
			f += " itself"
		}
		of = append(of, f)
	}
	for _, f := range slices.Concat(l.Focus, l.Tests) {
		of = append(of, f+" with what it calls")
	}
	if l.Mine {
		of = append(of, "your code with what it calls")
	}
	if l.Filter != "" {
		line, err := analysis.CheckFilter(l.Filter)
		if err != nil {
			line = l.Filter
		}
		of = append(of, line)
	}
	title := l.Metric
	if len(of) > 0 {
		title += " of " + strings.Join(of, ", ")
	}
	if l.Steady {
		title += ", without what fills once"
	}
	return title
}

// parseShare reads "5%".
func parseShare(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !ok || err != nil || share < 0 || math.IsNaN(share) || math.IsInf(share, 0) {
		return 0, fmt.Errorf("grow %q: want a percentage, such as 5%%", text)
	}
	return share / 100, nil
}

// unit says how values of a metric are written.
type unit int

const (
	count unit = iota
	bytes
	duration
)

// print writes a value for a person.
func (u unit) print(n int64) string {
	switch u {
	case bytes:
		return q.Bytes(n).String()
	case duration:
		return q.Nanoseconds(n).String()
	}
	return q.Count(n).String()
}

// ParseValue reads a value as a budget has it, of something that is counted in bytes, nanoseconds or things (count);
// messages call it key.
func ParseValue(of, key, text string) (int64, error) {
	u := count
	switch of {
	case "bytes":
		u = bytes
	case "nanoseconds":
		u = duration
	}
	return u.parse(key, text)
}

// parse reads a value; "" is 0.
func (u unit) parse(key, text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	n, err, wanted := int64(0), error(nil), ""
	switch u {
	case duration:
		var d time.Duration
		d, err = time.ParseDuration(strings.ReplaceAll(text, " ", ""))
		n, wanted = int64(d), "a time, such as 1.5s or 200ms"
	case bytes:
		n, err = parseBytes(text)
		wanted = "bytes, such as 4096, 512K or 10M"
	default:
		n, err = strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		wanted = "a whole number"
	}
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s %q: want %s", key, text, wanted)
	}
	return n, nil
}

// parseBytes reads 10M, 10MB and 10 MiB, which are the same.
func parseBytes(text string) (int64, error) {
	number, shift := q.CutUnit(strings.TrimRight(text, " "))
	factor := float64(int64(1) << shift)
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err == nil && !(n >= 0 && n*factor < math.MaxInt64) {
		err = strconv.ErrRange
	}
	return int64(n * factor), err
}
