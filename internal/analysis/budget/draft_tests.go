package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// testDrafts returns what is limited where tests ran: each test with what it calls, in the processes that ran tests.
// Most of what else is in such a session is done by the .NET SDK and the test runner, and differs from run to run.
// Without tests there is nothing. modules are the user's code.
func testDrafts(s *session.Session, modules []string) ([]draft, error) {
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		return nil, err
	}
	tests, err := src.Entries(analysis.EntryTests)
	if err != nil || len(tests.List) == 0 {
		return nil, err
	}
	bytes, calls, ran, err := sumTests(s, tests.List)
	if err != nil {
		return nil, err
	}
	host, err := processNames(s, ran)
	if err != nil {
		return nil, err
	}
	out := []draft{{"What your code and what it calls allocate in " + strings.Join(host, ", ") + ".",
		Limit{Name: "your code", Metric: "bytes", Mine: true, Processes: host}, true}}
	if len(modules) > 0 {
		l := draftOfCalls
		l.Modules, l.Processes = modules, host
		out = append(out, draft{"Calls of your own functions and of tests.", l, true})
	}
	findings := draftOfFindings
	findings.limit.Processes, findings.median = host, true
	out = append(out, findings)
	about := "Each test, with what it calls."
	of, metric := bytes, "bytes"
	if len(bytes) == 0 {
		of, metric = calls, metricCalls
	}
	if len(of) > draftTests {
		about = fmt.Sprintf("The %d tests with most, of %d, each with what it calls.", draftTests, len(of))
	}
	for _, name := range heaviest(of, draftTests) {
		l := Limit{Name: "test " + name, Metric: metric, Processes: host, Tests: []string{name}}
		if metric == metricCalls { // the calls of the test itself are counted, not the calls that it makes
			l.Modules, l.Focus, l.Tests = modules, l.Tests, nil
		}
		out, about = append(out, draft{about, l, true}), ""
	}
	return out, nil
}

// sumTests adds up what tests allocated, and how many calls they are, by the names that mean each of them alone. ran:
// the processes that ran tests.
func sumTests(s *session.Session, list []analysis.EntryValue) (bytes, calls map[string]int64,
	ran map[session.ProcessID]bool, err error) {
	functions, err := s.Functions()
	if err != nil {
		return nil, nil, nil, err
	}
	names := map[session.FunctionID]string{}
	for i := range functions {
		names[functions[i].ID] = functions[i].DisplayName()
	}
	bytes, calls, ran = map[string]int64{}, map[string]int64{}, map[session.ProcessID]bool{}
	for i := range list {
		t := &list[i]
		ran[t.Process] = true
		name := names[t.Function]
		if name == "" || strings.ContainsAny(name, "*!") {
			continue
		}
		if n := int64(t.Amounts.Inclusive.Bytes); n > 0 {
			bytes[name] += n
		}
		if n := int64(t.Time.Calls); n > 0 {
			calls[name] += n
		}
	}
	return bytes, calls, ran, nil
}

// processNames returns the names of processes.
func processNames(s *session.Session, of map[session.ProcessID]bool) ([]string, error) {
	all, err := s.Processes()
	found := map[string]bool{}
	for i := range all {
		if of[all[i].ID] {
			found[all[i].Name] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), err
}

// testsKey is a session and what is selected of it.
type testsKey struct {
	of       *session.Session
	selected string
}

// measureTests returns what the tests of a limit did, of what else the limit and only select. A stack of a test's code
// is not enough to know that: an async test that ends runs what waited for it, which is the runner.
func (l *Limit) measureTests(s *session.Session, only analysis.Terms, b *Budget) (measure, error) {
	focus, err := analysis.Terms{Focus: l.Tests, MayMiss: true}.Select(s)
	if err != nil {
		return measure{}, err
	}
	terms := l.terms()
	terms.Focus, terms.MayMiss = l.Focus, true
	terms = terms.And(only)
	key := testsKey{s, fmt.Sprintf("%+v", terms)}
	if b.tests[key] == nil {
		sel, err := terms.Select(s)
		if err != nil {
			return measure{}, err
		}
		src, err := analysis.Open(s, sel)
		if err != nil {
			return measure{}, err
		}
		found, err := src.Entries(analysis.EntryTests)
		if err != nil {
			return measure{}, err
		}
		if b.tests == nil {
			b.tests = map[testsKey]*analysis.Entries{}
		}
		b.tests[key] = found
	}
	value := measure{}
	for i := range b.tests[key].List {
		if t := &b.tests[key].List[i]; slices.ContainsFunc(t.Functions, focus.Focuses) {
			value = value.add(l.metric.test(t))
		}
	}
	return value, nil
}
