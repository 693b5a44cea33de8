package budget

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestSample reads the budget of the sample program, which the documentation shows.
func TestSample(t *testing.T) {
	text, err := os.ReadFile("../../../samples/orderbook/budget.toml")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := Parse(string(text)); err != nil || len(b.Limits) < 4 {
		t.Errorf("%v, %v", b, err)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		metric, text string
		want         int64 // -1: an error
	}{
		{"bytes", "4096", 4096}, {"bytes", "512K", 512 << 10}, {"bytes", "10 MiB", 10 << 20},
		{"bytes", "1.5G", 3 << 29},
		{"bytes", "10MB", 10 << 20}, {"bytes", "-1", -1}, {"bytes", "1e40", -1}, {"bytes", "NaN", -1},
		{"bytes", "K", -1},
		{"pause", "1.5s", 1_500_000_000}, {"pause", "200 ms", 200_000_000}, {"pause", "3", -1},
		{"calls", "1_000_000", 1_000_000}, {"calls", "1.5", -1},
	} {
		b, err := Parse("[[limit]]\nmetric = \"" + c.metric + "\"\nmax = \"" + c.text + "\"\n")
		switch {
		case c.want < 0 && !errors.Is(err, errBudget), c.want >= 0 && err != nil:
			t.Errorf("%s %q: %v", c.metric, c.text, err)
		case c.want >= 0 && b.Limits[0].max != c.want:
			t.Errorf("%s %q is %d, want %d", c.metric, c.text, b.Limits[0].max, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"metric = \"bytes\"":                                            "neither max nor grow",
		"metric = \"bytes\"\nmax = \"1\"\nfloor = \"1\"":                "floor goes with grow",
		"metric = \"bytes\"\ngrow = \"5\"":                              "want a percentage",
		"metric = \"bytes\"\nmax = \"1\"\nrules = [\"boxing\"]":         "can only be given with the metric findings",
		"metric = \"findings\"\nmax = \"1\"\nrules = [\"boxin\"]":       "there is no rule \"boxin\"",
		"metric = \"pause\"\nmax = \"1s\"\nmine = true":                 "whole processes only",
		"metric = \"pause\"\nmax = \"1s\"\nsteady = true":               "steady leaves out objects and calls",
		"metric = \"cpu\"\nmax = \"1s\"\ntypes = [\"X\"]":               "not known by type",
		"metric = \"bytes\"\nmax = \"1\"\nmine = true\nfocus = [\"X\"]": "exclude each other",
	} {
		if _, err := Parse("[[limit]]\n" + text); !errors.Is(err, errBudget) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// lossy opens a small session of which so many objects were lost.
func lossy(t *testing.T, lost quantity.Count) *session.Session {
	t.Helper()
	b := sessiontest.Random(5)
	b.Losses = nil
	if lost > 0 {
		b.Losses = []session.Loss{{Process: 1, Reason: session.LossArenaFull, Events: 1,
			Amount: quantity.Amount{Allocations: lost, Bytes: 24}}}
	}
	return analysistest.Open(t, b, filepath.Join(t.TempDir(), "a"))
}

// TestLosses: what is broken by what is known is broken; what is held as far as is known is not known to be held.
func TestLosses(t *testing.T) {
	const limits = "[[limit]]\nmetric = \"bytes\"\nmax = \"1T\"\n[[limit]]\nmetric = \"bytes\"\nmax = \"1\"\n" +
		"[[limit]]\nmetric = \"bytes\"\ngrow = \"0%\"\n"
	b, err := Parse(limits)
	if err != nil {
		t.Fatal(err)
	}
	for lost, want := range map[quantity.Count][3]State{0: {Held, Broken, Held}, 1: {Unknown, Broken, Unknown}} {
		s := lossy(t, lost)
		verdicts, err := b.Judge(context.Background(), []*session.Session{s}, []*session.Session{s})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range verdicts {
			if v.State != want[i] {
				t.Errorf("%d lost: limit %d is %s (%s), want %s", lost, i+1, v.State, v.Why, want[i])
			}
		}
	}
}

// judged returns the verdicts of a budget on a session.
func judged(t *testing.T, b *sessiontest.Builder, text string) []Verdict {
	t.Helper()
	parsed, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	b.Losses = nil
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "a"))
	verdicts, err := parsed.Judge(context.Background(), []*session.Session{s}, []*session.Session{s})
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// TestAfterMark: what was before a mark does not count, in the baseline neither. What is in one slice of time with that
// cannot be judged.
func TestAfterMark(t *testing.T) {
	const limit = "[[limit]]\nmetric = \"bytes\"\nmax = \"4800\"\n[[limit]]\nmetric = \"bytes\"\ngrow = \"0%\"\n"
	for mark, want := range map[string]struct {
		value int64
		state State
		title string
	}{
		"":                        {5760, Broken, "bytes"},
		"after_mark = \"load\"\n": {4800, Held, "bytes, after mark load"},
	} {
		v := judged(t, sessiontest.Several(), mark+limit)
		if v[0].Value != want.value || v[0].State != want.state || v[0].Title != want.title ||
			v[1].Baseline != want.value || v[1].State != Held {
			t.Errorf("%q: %+v", mark, v)
		}
	}
	// It is at 2.1 s, in the slice from 2 s on.
	for _, v := range judged(t, sessiontest.Several(), "after_mark = \"#4\"\n"+limit) {
		if v.State != Unknown || !strings.Contains(v.Why, "in the slice of time from 2.00 s") {
			t.Errorf("%+v", v)
		}
	}
	b, err := Parse("after_mark = \"lod\"\n" + limit)
	if err != nil {
		t.Fatal(err)
	}
	s := analysistest.Open(t, sessiontest.Several(), filepath.Join(t.TempDir(), "a"))
	var term *analysis.TermError
	if _, err := b.Judge(context.Background(), []*session.Session{s}, nil); !errors.As(err, &term) {
		t.Error(err)
	}
}

// TestFilters: a limit has what its filter, that of the file and a pattern let through together.
func TestFilters(t *testing.T) {
	value := func(text string) Verdict { return judged(t, sessiontest.Several(), text)[0] }
	limit := func(of string) string { return "[[limit]]\nmetric = \"bytes\"\nmax = \"1G\"\n" + of }
	all := value(limit("")).Value
	for name, filter := range map[string]string{"processes": "process = 100", "threads": "thread > 0 and process = 100",
		"time": "time < 1s"} {
		v := value(limit("filter = '" + filter + "'\n"))
		if v.Value <= 0 || v.Value >= all || v.Title != "bytes of "+filter {
			t.Errorf("%s: %d of %d bytes, %q", name, v.Value, all, v.Title)
		}
		if w := value("filter = '" + filter + "'\n" + limit("")); w.Value != v.Value {
			t.Errorf("%s: %d bytes by the file's filter, %d by the limit's", name, w.Value, v.Value)
		}
		if name == "time" { // of which only whole slices are known
			continue
		}
		if w := value(limit("filter = 'not (" + filter + ")'\n")); w.Value != all-v.Value {
			t.Errorf("%s: %d bytes are let through, %d are not, of %d", name, v.Value, w.Value, all)
		}
		both := value("filter = \"\"\"# late\ntime >= 1s and process >= 0\"\"\"\n" + limit("filter = '"+filter+"'\n"))
		early := value("filter = 'time < 1s'\n" + limit("filter = '"+filter+"'\n"))
		if both.Value+early.Value != v.Value || both.Value == 0 {
			t.Errorf("%s: %d bytes before and %d after, of %d", name, early.Value, both.Value, v.Value)
		}
	}
	gcs := "[[limit]]\nmetric = \"gcs\"\nmax = \"1\"\n"
	if v := judged(t, sessiontest.Aging(), "filter = 'function = Aging.*'\n"+gcs); v[0].State != Unknown ||
		!strings.Contains(v[0].Why, "whole processes") {
		t.Errorf("%+v", v)
	}
	for _, text := range []string{"filter = 'function < A'\n" + gcs, limit("filter = 'speed = 1'\n")} {
		if _, err := Parse(text); !errors.Is(err, errBudget) || !strings.Contains(err.Error(), "filter") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestCollectionsAfterMark: collections count from the mark on.
func TestCollectionsAfterMark(t *testing.T) {
	b := sessiontest.Aging()
	first, later := b.GCs[0], 0
	for _, g := range b.GCs {
		if g.Begin >= b.Slices[1].Begin {
			later++
		}
	}
	b.Marks = []session.Mark{{ID: 1, Name: "warm", Time: b.Slices[1].Begin, Source: session.MarkCtl}}
	const limits = "[[limit]]\nmetric = \"gcs\"\nmax = \"100\"\n"
	all, after := judged(t, b, limits), judged(t, b, "after_mark = \"warm\"\n"+limits)
	if int(all[0].Value) != len(b.GCs) || int(after[0].Value) != later || later == len(b.GCs) ||
		first.Begin >= b.Slices[1].Begin {
		t.Errorf("%d collections, %d after the mark, want %d and %d", all[0].Value, after[0].Value, len(b.GCs), later)
	}
}

// TestFindings: as many places count as the rules find.
func TestFindings(t *testing.T) {
	s := analysistest.Open(t, sessiontest.Broken(), filepath.Join(t.TempDir(), "b"))
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := rules.Judge(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int64{}
	for _, f := range found.Findings {
		of[f.Rule.ID]++
	}
	if of["boxing"] == 0 || len(of) < 3 {
		t.Fatal(of)
	}
	v := judged(t, sessiontest.Broken(), "[[limit]]\nmetric = \"findings\"\nmax = \"0\"\n[[limit]]\nmetric = "+
		"\"findings\"\nrules = [\"boxing\", \"linq\"]\nmax = \"0\"\n"+
		"[[limit]]\nmetric = \"findings\"\nrules = [\"sync-over-async\"]\nmax = \"0\"\n[[limit]]\nmetric = "+
		"\"findings\"\nrules = [\"boxing\"]\nfunctions = [\"No.Such\"]\nmax = \"0\"\noptional = true\n")
	if v[0].Value != int64(len(found.Findings)) || v[0].State != Broken {
		t.Errorf("%+v, want %d", v[0], len(found.Findings))
	}
	if v[1].Value != of["boxing"]+of["linq"] || v[1].State != Broken || v[1].Title != "findings of boxing, linq" {
		t.Errorf("%+v, want %d", v[1], of["boxing"]+of["linq"])
	}
	if v[2].State != Unknown || !strings.Contains(v[2].Why, "the data that the rules need") {
		t.Errorf("%+v", v[2])
	}
	if v[3].Value != 0 || v[3].State != Held {
		t.Errorf("%+v", v[3])
	}
}

// FuzzParse: any text is a budget or not one; what is one can be titled.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "[[limit]]", "[[limit]]\nmetric = \"bytes\"\nmax = \"1K\"",
		"[[limit]]\nmetric = \"cpu\"\ngrow = \"1%\"\nfloor = \"1ms\"", "a = [", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := Parse(text)
		if (b == nil) != (err != nil) {
			t.Fatal(b, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
		if b != nil {
			for i := range b.Limits {
				b.Limits[i].Title()
			}
		}
	})
}
