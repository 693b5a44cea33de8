package budget

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// opened opens a session without losses.
func opened(t *testing.T, b *sessiontest.Builder) *session.Session {
	t.Helper()
	b.Losses = nil
	return analysistest.Open(t, b, filepath.Join(t.TempDir(), "a"))
}

// verdictsOn judges a session against a baseline.
func verdictsOn(t *testing.T, s, old *session.Session, text string) []Verdict {
	t.Helper()
	b, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var olds []*session.Session
	if old != nil {
		olds = append(olds, old)
	}
	verdicts, err := b.Judge(context.Background(), []*session.Session{s}, olds)
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// TestPlaces: the places of a broken limit have what the lines of user code have, of which they are those with most.
func TestPlaces(t *testing.T) {
	for seed := range uint64(20) {
		s := opened(t, sessiontest.Random(seed))
		v := verdictsOn(t, s, nil, "[[limit]]\nmetric = \"bytes\"\nmax = 0\n[[limit]]\nmetric = \"allocations\"\nmax = 0\n")
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		lines, err := src.UserLines()
		if err != nil {
			t.Fatal(err)
		}
		want := [2]map[int64]int{{}, {}} // how many places have a value
		for _, l := range lines {
			if l.Function != 0 {
				want[0][int64(l.Bytes)]++
				want[1][int64(l.Allocations)]++
			}
		}
		for i, counts := range want {
			for j, p := range v[i].Places {
				if counts[p.Value] == 0 {
					t.Errorf("seed %d: %s has %d of %s, as no line", seed, &v[i].Places[j], p.Value, v[i].Metric)
				}
				counts[p.Value]--
			}
			for value, n := range counts {
				if last := len(v[i].Places) - 1; n > 0 && value > 0 && (last < maxPlaces-1 || value > v[i].Places[last].Value) {
					t.Errorf("seed %d: a line with %d of %s is no place", seed, value, v[i].Metric)
				}
			}
		}
	}
}

// TestGrownPlaces: with a baseline the places are those that have more than before, by the difference.
func TestGrownPlaces(t *testing.T) {
	old := opened(t, sessiontest.Shop())
	more := sessiontest.Shop()
	value := &more.SiteValues[len(more.SiteValues)/2]
	value.Amount = value.Amount.Add(quantity.Amount{Allocations: 10, Bytes: 1_000_000})
	s := opened(t, more)
	v := verdictsOn(t, s, old, "[[limit]]\nmetric = \"bytes\"\ngrow = \"5%\"\n")[0]
	if v.State != Broken || len(v.Places) != 1 || v.Places[0].Value != 1_000_000 ||
		!strings.Contains(v.Why, "Most of the growth: "+v.Places[0].String()+", 976.56 KiB") ||
		!strings.HasPrefix(v.Next, "clrprof diff ") {
		t.Errorf("%+v", v)
	}
	if strings.Contains(v.Why, "all other code") {
		t.Errorf("nothing else differs: %s", v.Why)
	}
	less := sessiontest.Shop() // as much more there, and all else gone
	for i := range less.SiteValues {
		if i == len(less.SiteValues)/2 {
			less.SiteValues[i] = *value
		} else {
			less.SiteValues[i].Bytes = 0
		}
	}
	v = verdictsOn(t, opened(t, less), old, "[[limit]]\nmetric = \"bytes\"\ngrow = \"5%\"\n")[0]
	if rest := v.Print(v.Places[0].Value - (v.Value - v.Baseline)); !strings.HasSuffix(v.Why,
		"; all other code together has "+rest+" less than before") {
		t.Errorf("%+v", v)
	}
	if v := verdictsOn(t, old, s, "[[limit]]\nmetric = \"bytes\"\ngrow = \"5%\"\n")[0]; v.State != Held || v.Places != nil {
		t.Errorf("%+v", v)
	}
}

// TestNamesNothing: a limit on what the session does not have is not held, unless it is optional; and says what the
// function may be called now.
func TestNamesNothing(t *testing.T) {
	old := opened(t, sessiontest.Shop())
	changed := sessiontest.Shop()
	renamed := ""
	for i := range changed.Functions {
		if f := &changed.Functions[i]; strings.Contains(f.Name, "Main") {
			f.Name, renamed = "Begin", f.Name
		}
	}
	if renamed == "" {
		t.Fatal("no function is called Main")
	}
	s := opened(t, changed)
	limit := "[[limit]]\nmetric = \"bytes\"\nmax = \"1G\"\n"
	for what, pattern := range map[string]string{"function": "functions = [\"*.Main\"]", "type": "types = [\"No.Such\"]",
		"module": "modules = [\"No.dll\"]", "namespace": "namespaces = [\"No.Such\"]",
		"stacks": "focus = [\"No.Such\"]", "filter": "filter = \"function = No.Such\""} {
		v := verdictsOn(t, s, nil, limit+pattern)[0]
		if v.State != Unknown || !strings.Contains(v.Why, "of this session is called") {
			t.Errorf("%s: %+v", what, v)
		}
		if v := verdictsOn(t, s, nil, limit+pattern+"\noptional = true")[0]; v.State != Held || v.Value != 0 {
			t.Errorf("%s: %+v", what, v)
		}
	}
	if v := verdictsOn(t, s, nil, "filter = \"function = No.Such\"\n"+limit)[0]; v.State != Unknown {
		t.Errorf("%+v", v)
	}
	v := verdictsOn(t, s, old, limit+"functions = [\"*.Main\"]")[0]
	if v.State != Unknown || !strings.Contains(v.Why, "Begin") || !strings.Contains(v.Why, "renamed?") {
		t.Errorf("%+v", v)
	}
}

// TestExitCode: what a program did that failed says nothing of what it does.
func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		code, allowed string
		want          State
	}{{"0", "", Held}, {"134", "", Unknown}, {"3", "allow_exit = [0, 3]\n", Held}, {"0", "allow_exit = [3]\n", Unknown},
		{"134", "allow_exit = []\n", Held}, {"", "", ""}} {
		b := sessiontest.Shop()
		b.Info[session.KeyExitCode] = c.code
		v := verdictsOn(t, opened(t, b), nil, c.allowed+"[[limit]]\nmetric = \"bytes\"\nmax = \"1G\"\n")
		switch {
		case c.want == "" && len(v) == 1:
		case len(v) != 2 || v[0].State != c.want || v[1].State != Held ||
			!strings.Contains(v[0].Why, fmt.Sprintf("the program ended with %s", c.code)):
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

// TestRecordedNothing: what was not recorded holds no limit.
func TestRecordedNothing(t *testing.T) {
	s := opened(t, sessiontest.Empty())
	for _, v := range verdictsOn(t, s, nil, "[[limit]]\nmetric = \"bytes\"\nmax = \"1G\"\n[[limit]]\nmetric = \"gcs\"\nmax = 5\n") {
		if v.State != Unknown || !strings.Contains(v.Why, "nothing was recorded") {
			t.Errorf("%+v", v)
		}
	}
}

// TestSeveralRuns: of several runs the median counts, what the baseline's runs reach is no growth, and a first budget
// allows what differs between runs.
func TestSeveralRuns(t *testing.T) {
	run := func(more quantity.Bytes) *session.Session {
		b := sessiontest.Shop()
		b.SiteValues[0].Bytes += more
		return opened(t, b)
	}
	all := func(more ...quantity.Bytes) (out []*session.Session) {
		for _, m := range more {
			out = append(out, run(m))
		}
		return out
	}
	src, err := analysis.Open(run(0), analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	total, err := src.Total()
	if err != nil {
		t.Fatal(err)
	}
	base := int64(total.Bytes)
	b, err := Parse(fmt.Sprintf("[[limit]]\nmetric = \"bytes\"\ngrow = \"0%%\"\n[[limit]]\nmetric = \"bytes\"\nmax = %d\n",
		base+4000))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		now, before []quantity.Bytes
		states      [2]State
		median      quantity.Bytes
	}{
		{[]quantity.Bytes{3000, 0, 8000}, []quantity.Bytes{0, 1000, 2000}, [2]State{Held, Held}, 3000},
		{[]quantity.Bytes{5000, 2001, 8000}, []quantity.Bytes{0, 1000, 2000}, [2]State{Broken, Broken}, 5000},
		{[]quantity.Bytes{0, 100, 9000, 9000}, []quantity.Bytes{500}, [2]State{Held, Held}, 100},
		{[]quantity.Bytes{1000}, []quantity.Bytes{0, 0, 5000}, [2]State{Held, Held}, 1000},
		{[]quantity.Bytes{1000}, []quantity.Bytes{0}, [2]State{Broken, Held}, 1000},
	} {
		v, err := b.Judge(context.Background(), all(c.now...), all(c.before...))
		if err != nil {
			t.Fatal(err)
		}
		if v[0].State != c.states[0] || v[1].State != c.states[1] || v[0].Value != base+int64(c.median) {
			t.Errorf("%v after %v: %+v", c.now, c.before, v)
		}
		if c.states[0] == Held && v[0].Value > v[0].Limit != strings.Contains(v[0].Why, "within the spread") {
			t.Errorf("%v after %v: %s", c.now, c.before, v[0].Why)
		}
	}
	text, err := Draft(all(0, 100_000, 20_000), 0.01)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Parse(text); err != nil {
		t.Fatal(err)
	}
	for _, more := range []quantity.Bytes{0, 100_000, 150_000} {
		v, err := b.Judge(context.Background(), all(more), nil)
		if err != nil || v[0].Metric != "bytes" || v[0].State != Held {
			t.Errorf("%d more: %+v, %v\n%s", more, v[0], err, text)
		}
	}
}
