package analysis

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// testValues names the values of tests: each with its inclusive and exclusive objects.
func (a *asyncSession) testValues(t *testing.T) []string {
	t.Helper()
	v, err := Open(open(t, a.Builder, filepath.Join(t.TempDir(), "s")), Selection{})
	if err != nil {
		t.Fatal(err)
	}
	tests, err := v.Entries(EntryTests)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(name string, list []EntryValue) {
		for _, x := range list {
			own := name
			if x.Function != 0 {
				own = a.Functions[x.Function-1].Name
			}
			out = append(out, fmt.Sprint(own, " ", x.Amounts.Inclusive.Allocations, " ", x.Amounts.Exclusive.Allocations))
		}
	}
	add("", tests.List)
	add("several", tests.Several)
	add("outside", tests.Outside)
	return out
}

// TestEntryValues: what is done in the calls of a test counts for it, once, and what async methods did later for the only
// test that called them, or for the row of several.
func TestEntryValues(t *testing.T) {
	isTest := func(a *asyncSession, list ...session.FunctionID) {
		for _, id := range list {
			a.Functions[id-1].Test = "Xunit.FactAttribute"
		}
	}
	for name, c := range map[string]struct {
		make func(a *asyncSession)
		want []string
	}{
		"none": {func(a *asyncSession) { a.allocate(a.thread, 1, a.main, a.use) }, nil},
		"two, and a fixture": {func(a *asyncSession) {
			isTest(a, a.main, a.other)
			a.allocate(a.thread, 1, a.main)
			a.allocate(a.thread, 10, a.main, a.use)
			a.allocate(a.thread, 100, a.use, a.other)
			a.allocate(a.thread, 1000, a.use)
		}, []string{"Main 11 1", "Other 100 100", "outside 1,000 1,000"}},
		"recursive": {func(a *asyncSession) {
			isTest(a, a.main)
			a.allocate(a.thread, 10, a.main, a.use, a.main)
			a.allocate(a.thread, 1, a.main, a.use, a.main, a.use)
		}, []string{"Main 11 10"}},
		"one that another one calls": {func(a *asyncSession) {
			isTest(a, a.main, a.other)
			a.allocate(a.thread, 10, a.main, a.other)
		}, []string{"Main 10 0"}},
		"async": {func(a *asyncSession) {
			isTest(a, a.load, a.machine)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine, a.use)
			a.allocate(a.pool, 1000, a.resume)
		}, []string{"Load 111 11", "outside 1,000 1,000"}},
		"async, of which only the machine is known": {func(a *asyncSession) {
			isTest(a, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine)
		}, []string{"Load [async] 10 10"}},
		"an async method that one test calls on two paths": {func(a *asyncSession) {
			isTest(a, a.main)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 2, a.other, a.main, a.use, a.load, a.start, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine)
		}, []string{"Main 103 0"}},
		"an async method that two tests call": {func(a *asyncSession) {
			isTest(a, a.main, a.other)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 2, a.other, a.load, a.start, a.machine)
			a.allocate(a.pool, 100, a.resume, a.machine)
			a.allocate(a.pool, 1000, a.resume, a.machine, a.use)
		}, []string{"Main 1 0", "Other 2 0", "several 1,100 1,100"}},
		"an async method that a test calls, and a fixture": {func(a *asyncSession) {
			isTest(a, a.main)
			a.allocate(a.pool, 100, a.resume, a.machine)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 2, a.other, a.load, a.start, a.machine)
		}, []string{"Main 1 0", "several 100 100", "outside 2 2"}},
		"an async method that calls itself after it has waited": {func(a *asyncSession) {
			isTest(a, a.main)
			a.allocate(a.pool, 10, a.resume, a.machine, a.load, a.start, a.machine)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
		}, []string{"Main 11 0"}},
		"a test within what several called": {func(a *asyncSession) {
			isTest(a, a.main, a.other)
			a.allocate(a.pool, 10, a.resume, a.machine, a.other)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 2, a.other, a.load, a.start, a.machine)
		}, []string{"Main 1 0", "Other 12 10"}},
		"one that begins when an async one has ended, on its stack": {func(a *asyncSession) {
			isTest(a, a.load, a.machine, a.other)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.pool, 10, a.resume, a.machine, a.end)
			a.allocate(a.pool, 100, a.resume, a.machine, a.end, a.use)
			a.allocate(a.pool, 1000, a.resume, a.machine, a.end, a.other, a.use)
		}, []string{"Other 1,000 0", "Load 1 1", "outside 110 110"}},
		"an async method that a test resumes and another one calls": {func(a *asyncSession) {
			isTest(a, a.main, a.other)
			a.allocate(a.thread, 1, a.main, a.load, a.start, a.machine)
			a.allocate(a.thread, 10, a.other, a.resume, a.machine)
		}, []string{"Main 11 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsyncSession()
			c.make(a)
			if diff := cmp.Diff(c.want, a.testValues(t)); diff != "" {
				t.Errorf("(-want +have)\n%s", diff)
			}
		})
	}
}

// TestEntryValuesAddUp: whatever calls whatever, tests and what is beside them are all that their processes did; and
// where no async method is, a test that no other one calls has the inclusive values of its function.
func TestEntryValuesAddUp(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		if rapid.Bool().Draw(rt, "times") {
			b = sessiontest.RandomTimes(rapid.Uint64().Draw(rt, "seed"))
		}
		isAsync := rapid.Bool().Draw(rt, "async")
		only := rapid.Bool().Draw(rt, "only one")
		for i := range b.Functions {
			f := &b.Functions[i]
			if f.Kind != session.FunctionMethod {
				continue
			}
			f.RawType, f.RawName, f.Name = "App", fmt.Sprint("F", i), fmt.Sprintf("App.F%d()", i)
			if isAsync && i%6 == 5 {
				f.RawType, f.RawName = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder", "SetResult"
				continue
			}
			if isAsync && i%3 == 1 {
				f.RawType, f.RawName = fmt.Sprintf("App/<F%d>d__1", i-1), "MoveNext"
				f.Name = fmt.Sprintf("App.F%d() [async]", i-1)
			}
			if rapid.IntRange(0, 4).Draw(rt, "test") == 0 && !(only && hasTests(b)) {
				f.Test = "Xunit.FactAttribute"
			}
		}
		s := open(rt, b, filepath.Join(dir, "a"))
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		tests, err := v.Entries(EntryTests)
		if err != nil {
			rt.Fatal(err)
		}
		checkTestsAddUp(rt, v, tests)
		if only && !isAsync && len(tests.List) == 1 {
			checkIsFunction(rt, v, tests.List[0])
		}
	})
}

func hasTests(b *sessiontest.Builder) bool { return HasEntries(b.Functions, EntryTests) }

// testSum is what a process did.
type testSum struct {
	Amount q.Amount
	Time   q.Time
}

func checkTestsAddUp(t *rapid.T, v *Source, tests *Entries) {
	have, want := map[session.ProcessID]testSum{}, map[session.ProcessID]testSum{}
	var elsewhere testSum // of processes in which no test ran
	for _, list := range [][]EntryValue{tests.List, tests.Several, tests.Outside} {
		for _, x := range list {
			sum := have[x.Process]
			have[x.Process] = testSum{sum.Amount.Add(x.Amounts.Inclusive), sum.Time.Add(x.Time.Inclusive)}
		}
	}
	processes, err := v.Processes()
	if err != nil {
		t.Fatal(err)
	}
	times, err := v.ProcessTimes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if _, ran := have[p.Process]; ran {
			want[p.Process] = testSum{Amount: p.Amount}
		} else {
			elsewhere.Amount = elsewhere.Amount.Add(p.Amount)
		}
	}
	for _, p := range times {
		if _, ran := have[p.Process]; ran {
			sum := want[p.Process]
			sum.Time = p.Inclusive
			want[p.Process] = sum
		} else {
			elsewhere.Time = elsewhere.Time.Add(p.Inclusive)
		}
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Fatalf("by process (-all +tests and the rest):\n%s", d)
	}
	functions, err := v.session.Functions()
	if err != nil {
		t.Fatal(err)
	}
	if !HasEntries(functions, EntryTests) { // then there is nothing to divide
		elsewhere = testSum{}
	}
	x := tests.Elsewhere
	if d := cmp.Diff(elsewhere, testSum{x.Amounts.Inclusive, x.Time.Inclusive}); d != "" {
		t.Fatalf("in processes without tests (-all +tests):\n%s", d)
	}
}

// checkIsFunction compares the only test with its function.
func checkIsFunction(t *rapid.T, v *Source, test EntryValue) {
	functions, err := v.Functions()
	if err != nil {
		t.Fatal(err)
	}
	times, err := v.FunctionTimes()
	if err != nil {
		t.Fatal(err)
	}
	var amounts q.Amounts
	var time session.TimeValue
	for _, f := range functions {
		if f.Function == test.Function {
			amounts = f.Amounts
		}
	}
	for _, f := range times {
		if f.Function == test.Function {
			time = f.TimeValue
		}
	}
	if test.Amounts != amounts || test.Time != time {
		t.Fatalf("the test is %+v, its function %+v %+v", test, amounts, time)
	}
}

// TestEntryValuesEnd: findOwners ends where each async method is called within the next one.
func TestEntryValuesEnd(t *testing.T) {
	a := newAsyncSession()
	app := a.Functions[a.main-1].Module
	a.Functions[a.main-1].Test = "Xunit.FactAttribute"
	before := []session.FunctionID{a.main}
	for i := range 40 {
		name := fmt.Sprint("M", i)
		load, machine := a.Function(app, name, "", 0), a.Function(app, name+" [async]", "", 0)
		a.Functions[load-1].RawType, a.Functions[load-1].RawName = "App", name
		a.Functions[machine-1].RawType, a.Functions[machine-1].RawName = fmt.Sprintf("App/<%s>d__1", name), "MoveNext"
		a.allocate(a.pool, 1, a.resume, machine)
		a.allocate(a.pool, 1, append(before, load, a.start, machine)...)
		before = []session.FunctionID{a.resume, machine}
	}
	if have := strings.Join(a.testValues(t), ", "); have != "Main 80 0" {
		t.Errorf("have %s", have)
	}
}
