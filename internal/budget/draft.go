package budget

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrNothing means that a session has nothing that a first budget could be made of.
var ErrNothing = errors.New("there is nothing to limit: the session has no allocations, collections or calls")

// Limits of a draft.
const (
	draftFunctions = 3    // of user code that allocates the most: a longer list is not read
	draftModules   = 20   // with your functions, whose calls are limited together
	draftShare     = 0.05 // of all bytes, that such a function has
)

// drafts are the limits of a first budget, with what is said above them.
var drafts = []struct {
	about string
	limit Limit
}{
	{"Everything that the program allocates. Threads, caches and the runtime's version change it a little:\n" +
		"# record several runs before you tighten it.",
		Limit{Name: "all bytes", Metric: "bytes"}},
	{"", Limit{Name: "all objects", Metric: "allocations"}},
	{"What your code and what it calls allocate: without the runtime's startup.",
		Limit{Name: "your code", Metric: "bytes", Mine: true}},
	{"Objects that lived long and then died: caches and buffers that are too short-lived.",
		Limit{Name: "died in generation 2", Metric: "gen2_bytes"}},
	{"What is alive at the end: leaks make it grow.", Limit{Name: "alive at the end", Metric: "alive_bytes"}},
	{"Collections depend a little on the machine's memory.", Limit{Name: "collections", Metric: "gcs"}},
	{"Calls of your own functions. Those of the framework are left out: a cheaper program can make more of them.",
		Limit{Name: "calls of your functions", Metric: metricCalls}},
	{"Places that break a rule (docs/rules.md): no new ones.", Limit{Metric: metricFindings}},
}

// Draft returns the text of a first budget: the most that runs have, and so much more, such as 0.1, but at least as
// much as they differ by. Errors are ErrNothing, and those of reading the sessions.
func Draft(runs []*session.Session, headroom float64) (string, error) {
	var out strings.Builder
	names := make([]string, len(runs))
	for i, s := range runs {
		names[i] = strconv.Quote(filepath.Base(s.Path()))
	}
	of := "the values of that run"
	if len(runs) > 1 {
		of = "the greatest values of these runs"
	}
	fmt.Fprintf(&out, "# A first budget, made from %s: %s plus %s %%.\n"+
		"# Raise, lower and delete limits as you like: docs/budgets.md describes the format.\n",
		strings.Join(names, ", "), of, strconv.FormatFloat(headroom*100, 'f', -1, 64))
	found := false
	for _, d := range drafts {
		l := d.limit
		if l.Metric == metricCalls {
			modules, err := userModules(runs[0])
			if err != nil {
				return "", err
			}
			if l.Modules = modules; len(modules) == 0 || len(modules) > draftModules {
				continue
			}
		}
		written, err := draftLimit(&out, runs, d.about, l, headroom)
		if err != nil {
			return "", err
		}
		found = found || written
	}
	functions, err := largest(runs[0])
	if err != nil {
		return "", err
	}
	about := "The functions of your code that allocate most, with what they call."
	for _, f := range functions {
		written, err := draftLimit(&out, runs, about, Limit{Metric: "bytes", Focus: []string{f}}, headroom)
		if err != nil {
			return "", err
		}
		if written {
			found, about = true, ""
		}
	}
	if !found {
		return "", ErrNothing
	}
	out.WriteString("\n# Times and pauses depend on the machine: limits on them need a quiet machine, and should " +
		"be generous.\n# [[limit]]\n# metric = \"longest_pause\"\n# max = \"200ms\"\n")
	return out.String(), nil
}

// draftLimit writes a limit, unless a session does not hold its metric, or has none of it.
func draftLimit(out *strings.Builder, runs []*session.Session, about string, l Limit, headroom float64) (bool, error) {
	l.Max = "0"
	if err := l.compile(); err != nil {
		return false, fmt.Errorf("a draft of %s: %w", l.Title(), err)
	}
	m, why, err := l.measureAll(runs, &Budget{}, "a session")
	if err != nil {
		return false, fmt.Errorf("limit %s: %w", l.Title(), err)
	}
	if why != "" || m.value <= 0 && !l.metric.finds {
		return false, nil
	}
	value, least := m.value, m.value
	if n := len(m.runs); n > 0 {
		value, least = m.runs[n-1], m.runs[0]
	}
	more := max(headroom, float64(value-least)/float64(max(value, 1)))
	out.WriteString("\n")
	if about != "" {
		fmt.Fprintf(out, "# %s\n", about)
	}
	out.WriteString("[[limit]]\n")
	if l.Name != "" {
		fmt.Fprintf(out, "name = %s\n", quote(l.Name))
	}
	fmt.Fprintf(out, "metric = %s\n", quote(l.Metric))
	if len(l.Modules) > 0 {
		modules := make([]string, len(l.Modules))
		for i, m := range l.Modules {
			modules[i] = quote(m)
		}
		fmt.Fprintf(out, "modules = [%s]\n", strings.Join(modules, ", "))
	}
	for _, f := range l.Focus {
		fmt.Fprintf(out, "focus = [%s]\n", quote(f))
	}
	if l.Mine {
		out.WriteString("mine = true\n")
	}
	if l.metric.finds { // each is one too many
		fmt.Fprintf(out, "max = \"%d\" # as the run has\n", value)
		return value > 0, nil
	}
	had := "the run: " + l.metric.unit.inUnitOf(value, value, more)
	if len(runs) > 1 {
		had = fmt.Sprintf("%d runs: %s to %s", len(runs), l.metric.unit.inUnitOf(least, value, more),
			l.metric.unit.inUnitOf(value, value, more))
	}
	fmt.Fprintf(out, "max = %s # %s, plus %s %%\n", quote(l.metric.unit.text(value, more)), had,
		strconv.FormatFloat(math.Round(more*1000)/10, 'f', -1, 64))
	return true, nil
}

// quote writes a text for TOML.
func quote(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7F:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// text writes a value with headroom as a limit, rounded up to two digits and half of a third.
func (u unit) text(value int64, headroom float64) string {
	most := roundUp(float64(value) * (1 + headroom))
	switch u {
	case bytes:
		shift, name := byteUnit(float64(value) * (1 + headroom))
		return strconv.FormatInt(roundUp(float64(value)*(1+headroom)/float64(int64(1)<<shift)), 10) + name
	case duration:
		return time.Duration(most).String()
	case count:
	}
	return strconv.FormatInt(max(most, value+1), 10) // one more of something is no regression
}

// byteUnit is the unit in which a limit of bytes is written: three digits at least, or rounding up would be much.
func byteUnit(limit float64) (shift int, name string) {
	for shift, name = range []string{"", "K", "M", "G"} {
		if limit/float64(int64(1)<<(10*shift)) < 100*1024 {
			break
		}
	}
	return 10 * shift, name
}

// inUnitOf writes a value in the unit in which text writes another one with headroom, so that they can be compared.
func (u unit) inUnitOf(value, other int64, headroom float64) string {
	if u != bytes {
		return u.print(value)
	}
	shift, name := byteUnit(float64(other) * (1 + headroom))
	scaled := float64(value) / float64(int64(1)<<shift)
	if shift == 0 {
		return strconv.FormatInt(value, 10) + " B"
	}
	return strconv.FormatFloat(scaled, 'f', 1, 64) + " " + name + "iB"
}

// roundUp rounds to two digits and half of a third, upwards.
func roundUp(v float64) int64 {
	if v < 100 {
		return int64(math.Ceil(v))
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1) / 2
	return int64(math.Ceil(v/step) * step)
}

// largest returns the functions of user code that allocate the most, with the framework code that they call, as
// patterns that mean each of them alone.
func largest(s *session.Session) ([]string, error) {
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		return nil, err
	}
	lines, err := src.UserLines()
	if err != nil {
		return nil, err
	}
	total, err := src.Total()
	if err != nil {
		return nil, err
	}
	functions, err := s.Functions()
	if err != nil {
		return nil, err
	}
	names, bytes := map[session.FunctionID]string{}, map[string]int64{}
	for i := range functions {
		names[functions[i].ID] = functions[i].DisplayName()
	}
	for _, l := range lines {
		if name := names[l.Function]; name != "" && !strings.ContainsAny(name, "*!") {
			bytes[name] += int64(l.Bytes)
		}
	}
	return slices.DeleteFunc(heaviest(bytes, draftFunctions), func(name string) bool {
		return float64(bytes[name]) < draftShare*float64(total.Bytes)
	}), nil
}
