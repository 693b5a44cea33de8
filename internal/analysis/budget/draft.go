package budget

import (
	"cmp"
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
	draftTests     = 200  // with a limit each: judging one reads the session once more
)

// draft is a limit of a first budget, with what is said above it.
type draft struct {
	about  string
	limit  Limit
	median bool // of several runs the median is the measure: what a test does differs little
}

// drafts are the limits of a first budget. Of tests, which are a part of a program that is not the user's, testDrafts
// are.
var drafts = []draft{
	{"Everything that the program allocates. Threads, caches and the runtime's version change it a little:\n" +
		"# record several runs before you tighten it.",
		Limit{Name: "all bytes", Metric: "bytes"}, false},
	{"", Limit{Name: "all objects", Metric: "allocations"}, false},
	{"What your code and what it calls allocate: without the runtime's startup.",
		Limit{Name: "your code", Metric: "bytes", Mine: true}, false},
	{"Objects that lived long and then died: caches and buffers that are too short-lived.",
		Limit{Name: "died in generation 2", Metric: "gen2_bytes"}, false},
	{"What is alive at the end: leaks make it grow.", Limit{Name: "alive at the end", Metric: "alive_bytes"}, false},
	{"Collections depend a little on the machine's memory.", Limit{Name: "collections", Metric: "gcs"}, false},
	{"Calls of your own functions. Calls of the framework have no limit: a cheaper program can make more of them.",
		draftOfCalls, false},
	draftOfFindings,
}

// draftOfCalls and draftOfFindings are in all first budgets.
var (
	draftOfCalls    = Limit{Name: "calls of your functions", Metric: metricCalls}
	draftOfFindings = draft{"Places that break a rule (docs/rules.md): no new ones.", Limit{Metric: metricFindings},
		false}
)

// Draft returns the text of a first budget: the most that runs have, and so much more, such as 0.1, but at least as
// much as they differ by; of tests the median, headroom, and as much as they differ by. Errors are ErrNothing, and
// errors of reading the sessions.
func Draft(runs []*session.Session, headroom float64) (string, error) {
	var out strings.Builder
	names := make([]string, len(runs))
	for i, s := range runs {
		if sampled, err := s.IsSampled(); err != nil || sampled {
			return "", cmp.Or(err, fmt.Errorf("session %s: %w", s.Path(), errSampled))
		}
		names[i] = strconv.Quote(filepath.Base(s.Path()))
	}
	list, err := draftsOf(runs[0])
	if err != nil {
		return "", err
	}
	of := "the values of that run plus " + percent(headroom)
	switch last := len(list) - 1; {
	case len(runs) > 1 && list[last].median:
		of = "the median of these runs, plus " + percent(headroom) + ", plus as much as they differ by"
	case len(runs) > 1:
		of = "the greatest values of these runs plus " + percent(headroom) + ", or as much as they differ by"
	}
	fmt.Fprintf(&out, "# A first budget, made from %s: %s.\n"+
		"# Raise, lower and delete limits as you like: docs/budgets.md describes the format.\n",
		strings.Join(names, ", "), of)
	found, b := false, &Budget{}
	for _, d := range list {
		written, err := draftLimit(&out, runs, b, d, headroom)
		if err != nil {
			return "", err
		}
		found = found || written
	}
	if !found {
		return "", ErrNothing
	}
	out.WriteString("\n# Times and pauses depend on the machine: limits on them need a quiet machine, and should " +
		"be generous.\n# [[limit]]\n# metric = \"longest_pause\"\n# max = \"200ms\"\n")
	return out.String(), nil
}

// draftsOf returns what is limited in a session like s.
func draftsOf(s *session.Session) ([]draft, error) {
	modules, err := userModules(s)
	if err != nil {
		return nil, err
	}
	if len(modules) > draftModules {
		modules = nil
	}
	if list, err := testDrafts(s, modules); err != nil || len(list) > 0 {
		return list, err
	}
	var out []draft
	for _, d := range drafts {
		if d.limit.Modules = modules; d.limit.Metric != metricCalls {
			d.limit.Modules = nil
		} else if len(modules) == 0 {
			continue
		}
		out = append(out, d)
	}
	functions, err := largest(s)
	about := "The functions of your code that allocate most, with what they call."
	for _, f := range functions {
		out, about = append(out, draft{about, Limit{Metric: "bytes", Focus: []string{f}}, false}), ""
	}
	return out, err
}

// draftLimit writes a limit, unless a session does not hold its metric, or has none of it.
func draftLimit(out *strings.Builder, runs []*session.Session, b *Budget, d draft, headroom float64) (bool, error) {
	l := d.limit
	l.Max = "0"
	if err := l.compile(); err != nil {
		return false, fmt.Errorf("a draft of %s: %w", l.Title(), err)
	}
	m, why, err := l.measureAll(runs, b, "a session")
	if err != nil {
		return false, fmt.Errorf("limit %s: %w", l.Title(), err)
	}
	if why != "" || m.value <= 0 && !l.metric.finds {
		return false, nil
	}
	value, least, most := m.value, m.value, m.value
	if n := len(m.runs); n > 0 {
		least, most = m.runs[0], m.runs[n-1]
	}
	spread := float64(most - least)
	more := headroom + spread/float64(max(value, 1))
	if !d.median {
		value = most
		more = max(headroom, spread/float64(max(value, 1)))
	}
	out.WriteString("\n")
	if d.about != "" {
		fmt.Fprintf(out, "# %s\n", d.about)
	}
	out.WriteString("[[limit]]\n")
	if l.Name != "" {
		fmt.Fprintf(out, "name = %s\n", quote(l.Name))
	}
	fmt.Fprintf(out, "metric = %s\n", quote(l.Metric))
	writeNames(out, "modules", l.Modules)
	writeNames(out, "processes", l.Processes)
	writeNames(out, "focus", l.Focus)
	writeNames(out, "tests", l.Tests)
	if l.Mine {
		out.WriteString("mine = true\n")
	}
	if l.metric.finds { // each is one too many
		fmt.Fprintf(out, "max = \"%d\" # as the run has\n", most)
		return most > 0, nil
	}
	print := func(n int64) string { return l.metric.unit.inUnitOf(n, value, more) }
	had := fmt.Sprintf("the run: %s, plus %s", print(value), percent(headroom))
	if len(runs) > 1 {
		had = fmt.Sprintf("%d runs: %s to %s", len(runs), print(least), print(most))
		if d.median {
			had += ", median " + print(value)
		}
		had += ", plus " + percent(more)
	}
	fmt.Fprintf(out, "max = %s # %s\n", quote(l.metric.unit.text(value, more)), had)
	return true, nil
}

// percent writes a share such as 0.1.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(share*1000)/10, 'f', -1, 64) + " %"
}

// writeNames writes a list of names; of none it writes nothing.
func writeNames(out *strings.Builder, key string, list []string) {
	quoted := make([]string, len(list))
	for i, name := range list {
		quoted[i] = quote(name)
	}
	if len(list) > 0 {
		fmt.Fprintf(out, "%s = [%s]\n", key, strings.Join(quoted, ", "))
	}
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
