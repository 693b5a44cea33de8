package budget

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestDraft: a session holds the budget that is made of it, with headroom to spare and not much more, and does not hold
// one made of half of it.
func TestDraft(t *testing.T) {
	for name, build := range sessiontest.Samples {
		s := analysistest.Open(t, build(), filepath.Join(t.TempDir(), name+".clrprof"))
		text, err := Draft([]*session.Session{s}, 0.1)
		if name == "empty" {
			if !errors.Is(err, ErrNothing) {
				t.Errorf("%v: %s", err, text)
			}
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		again, err := Draft([]*session.Session{s}, 0.1)
		if err != nil || again != text {
			t.Errorf("%s: two drafts differ, %v", name, err)
		}
		b, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		verdicts, err := b.Judge(context.Background(), []*session.Session{s}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, v := range verdicts {
			losses, err := s.Losses()
			if err != nil {
				t.Fatal(err)
			}
			if v.State != Held && !(v.State == Unknown && len(losses) > 0) {
				t.Errorf("%s: %s is %s: %s", name, v.Title, v.State, v.Why)
			}
			if v.Metric == metricFindings {
				if v.Limit != v.Value {
					t.Errorf("%s: %d findings, and %d are allowed", name, v.Value, v.Limit)
				}
				continue
			}
			if float64(v.Limit) < 1.1*float64(v.Value) && v.unit != count || float64(v.Limit) > 1.17*float64(v.Value)+
				1024 {
				t.Errorf("%s: %s: the limit is %d for %d", name, v.Title, v.Limit, v.Value)
			}
		}
	}
}

// testRun builds a session of dotnet test: the SDK, and a host that runs two tests. The first test allocates as many
// strings more as extra says.
func testRun(extra int) *sessiontest.Builder {
	b := sessiontest.New()
	sdk, host := b.Process("dotnet", 1), b.Process("testhost", 2)
	for _, p := range []session.ProcessID{sdk, host} {
		t, core := b.Thread(p, "main"), b.Module(p, "System.Private.CoreLib.dll", false)
		str := b.Type(core, "string")
		if p == sdk {
			b.Allocate(1, t, str, 1_000_000, 50_000_000, sessiontest.Frame{Function: b.Function(core, "Main()", "", 0)})
			continue
		}
		runner, mine := b.Module(p, "xunit.dll", false), b.Module(p, "Tests.dll", true)
		invoke := sessiontest.Frame{Function: b.Function(runner, "Xunit.Invoker.Run()", "", 0)}
		b.Allocate(1, t, str, 70_000, 2_800_000, invoke)
		for i, name := range []string{"Shop.Tests.Parses()", "Shop.Tests.Renders(int)"} {
			f := b.Function(mine, name, "/src/Tests.cs", int64(10*i+5))
			b.Functions[f-1].Test = "Xunit.FactAttribute"
			n := q.Count(1000 + extra*(1-i))
			b.Allocate(1, t, str, n, 40*q.Bytes(n), invoke, sessiontest.Frame{Function: f, Line: int64(10*i + 6)})
		}
	}
	return b
}

// TestDraftOfTests: in a first budget of test runs each test has a limit, of what it allocates in the process that runs
// the tests: the median, headroom, and as much as the runs differ by. What the SDK and the runner do has none.
func TestDraftOfTests(t *testing.T) {
	var runs []*session.Session
	for i, extra := range []int{0, 50, 0} {
		runs = append(runs, analysistest.Open(t, testRun(extra), filepath.Join(t.TempDir(), fmt.Sprint(i, ".clrprof"))))
	}
	text, err := Draft(runs, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	verdicts, err := b.Judge(context.Background(), runs, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]int64{}
	for _, v := range verdicts {
		if got[v.Title] = [2]int64{v.Value, v.Limit}; v.State != Held {
			t.Errorf("%s is %s: %s", v.Title, v.State, v.Why)
		}
	}
	want := map[string][2]int64{ // 10 % of 40,000, and 50 strings of 40 bytes, rounded up to two digits and half of a third
		"test Shop.Tests.Parses()": {40_000, 46_000}, "test Shop.Tests.Renders(int)": {40_000, 44_000},
		"your code": {80_000, 90_000}, "findings of testhost": {0, 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s\n%s", d, text)
	}
}

// TestWithoutStaticConstructors: what docs/budgets.md says leaves out what static constructors make, and nothing else.
func TestWithoutStaticConstructors(t *testing.T) {
	b := sessiontest.New()
	p := b.Process("App", 1)
	main, app := b.Thread(p, "main"), b.Module(p, "App.dll", true)
	typ := b.Type(app, "App.Row")
	run := sessiontest.Frame{Function: b.Function(app, "App.Run()", "/src/App.cs", 1), Line: 2}
	once := sessiontest.Frame{Function: b.Function(app, "App.Cache..cctor()", "/src/App.cs", 5), Line: 6}
	fill := sessiontest.Frame{Function: b.Function(app, "App.Cache.Fill()", "/src/App.cs", 8), Line: 9}
	b.Allocate(1, main, typ, 10, 1000, run)
	b.Allocate(1, main, typ, 20, 200, run, once)
	b.Allocate(1, main, typ, 30, 30, run, once, fill)
	b.Allocate(1, main, typ, 40, 4, run, fill)
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s.clrprof"))
	limits, err := Parse("[[limit]]\nmetric = \"bytes\"\nfocus = [\"!*..cctor\"]\nmax = \"1G\"\n")
	if err != nil {
		t.Fatal(err)
	}
	v, err := limits.Judge(context.Background(), []*session.Session{s}, nil)
	if err != nil || len(v) != 1 || v[0].State != Held || v[0].Value != 1004 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]int64{0.2: 1, 7.1: 8, 99.5: 100, 100: 100, 101: 105, 999: 1000, 1024: 1050,
		12_345: 12_500, 12_501: 13_000} {
		if got := roundUp(v); got != want {
			t.Errorf("%v: %d, want %d", v, got, want)
		}
	}
}
