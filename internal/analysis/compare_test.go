package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

func source(t *testing.T, b *sessiontest.Builder, sel Selection) *Source {
	t.Helper()
	s := open(t, b, filepath.Join(t.TempDir(), "s"))
	t.Cleanup(func() { s.Close() })
	v, err := Open(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compared(t *testing.T, from, to *Source, view, column string) *Comparison {
	t.Helper()
	c, err := Compare([]*Source{from}, []*Source{to}, view, column)
	if err != nil {
		t.Fatalf("%s %s: %v", view, column, err)
	}
	return c
}

// areWanted: there are all changes of these keys, each once, no others, and of each this is said.
func areWanted(t *testing.T, seed uint64, changes []Change, want map[string]string, said func(*Change) string) {
	t.Helper()
	for i := range changes {
		x := &changes[i]
		if got := said(x); got != want[x.Key] {
			t.Fatalf("seed %d: %s: %s, want %s", seed, x.Key, got, want[x.Key])
		}
		delete(want, x.Key)
	}
	if len(want) > 0 {
		t.Fatalf("seed %d: missing: %v", seed, want)
	}
}

// checkOrder checks that changes that differ as much are in the order of their names, also in a comparison of which
// the last ones are asked for first.
func checkOrder(t *testing.T, want []Change, c *Comparison) {
	t.Helper()
	for i := len(c.Changes) - 1; i >= 0; i-- {
		if x := c.At(i); x.Key != want[i].Key || x.Name != want[i].Name || x.Delta() != want[i].Delta() {
			t.Errorf("change %d is %+v, want %+v", i, x, want[i])
		}
		if i+1 < len(want) && want[i].Beyond() == want[i+1].Beyond() && want[i].distance() == want[i+1].distance() &&
			cmp.Or(strings.Compare(want[i].Name, want[i+1].Name), strings.Compare(want[i].Key, want[i+1].Key)) >= 0 {
			t.Errorf("%+v comes before %+v", want[i], want[i+1])
		}
	}
}

// TestCompareRandom: a session does not differ from itself; differences add up to the difference of the wholes, and
// are those of the other direction with the other sign.
func TestCompareRandom(t *testing.T) {
	differences := 0
	for seed := range uint64(12) {
		random := sessiontest.Random
		if seed%3 == 0 {
			random = sessiontest.RandomTimes
		}
		a, b := source(t, random(seed), Selection{}), source(t, random(seed+100), Selection{})
		for _, v := range comparedViews {
			for _, c := range v.columns {
				if has, err := a.dataSets(); err != nil || !has.has(&c) || withoutEntries(a, b, v.name) {
					continue
				}
				if self := compared(t, a, a, v.name, c.key); len(self.Changes) > 0 {
					t.Errorf("seed %d: %s %s: %d differences of a session from itself", seed, v.name, c.key,
						len(self.Changes))
				}
				if has, err := b.dataSets(); err != nil || !has.has(&c) {
					continue
				}
				byLine := v.name == "lines" || v.name == "sites" // a line that moved has the key of the newer session
				there, back := compared(t, a, b, v.name, c.key), compared(t, b, a, v.name, c.key)
				sum := int64(0)
				for i := range there.All() {
					x := &there.Changes[i]
					sum += x.Delta()
					at := slices.IndexFunc(back.All(), func(y Change) bool { return y.Key == x.Key })
					if !byLine && (at < 0 || back.Changes[at].Delta() != -x.Delta() ||
						back.Changes[at].InOld != x.InNew) {
						t.Errorf("seed %d: %s %s: %+v is not so the other way round", seed, v.name, c.key, x)
					}
					if i > 0 && abs(x.Delta()) > abs(there.Changes[i-1].Delta()) {
						t.Errorf("seed %d: %s %s: %d after %d", seed, v.name, c.key, x.Delta(),
							there.Changes[i-1].Delta())
					}
				}
				checkOrder(t, there.All(), compared(t, a, b, v.name, c.key))
				if whole := wholeOf(t, b, c.key); there.AddsUp && c.ends == nil && c.gcs == nil && v.name != "lines" &&
					there.New != whole {
					t.Errorf("seed %d: %s %s: %d in all, want %d", seed, v.name, c.key, there.New, whole)
				}
				if differences += len(there.Changes); there.AddsUp && sum != there.New-there.Old {
					t.Errorf("seed %d: %s %s: differences add up to %d, the wholes differ by %d", seed, v.name, c.key,
						sum, there.New-there.Old)
				}
			}
		}
	}
	if differences == 0 {
		t.Error("no two sessions differed")
	}
}

// wholeOf is what a session has in all of a column that adds up.
func wholeOf(t *testing.T, v *Source, column string) int64 {
	t.Helper()
	total, err := v.Total()
	if err != nil {
		t.Fatal(err)
	}
	time, err := v.TotalTime()
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case strings.HasSuffix(column, "bytes"):
		return int64(total.Bytes)
	case strings.HasSuffix(column, "allocations"), column == "instances":
		return int64(total.Allocations)
	case column == "calls":
		return int64(time.Calls)
	case strings.HasPrefix(column, "elapsed"):
		return int64(time.Inclusive.Elapsed)
	case strings.HasPrefix(column, "application"):
		return int64(time.Inclusive.Application)
	}
	return int64(time.Inclusive.CPU)
}

// lineSum is what a line of the test program allocates: objects of a type.
type lineSum struct {
	line  int64
	typ   string
	bytes q.Bytes
}

// linesBuild is a program of one function with these lines, of a build.
func linesBuild(build string, lines ...lineSum) *sessiontest.Builder {
	b := sessiontest.New()
	p := b.Process("App", 7)
	m := b.Module(p, "App.dll", true)
	b.Modules[m-1].MVID = build
	main, f, thread := b.Function(m, "App.Main()", "App.cs", 1), b.Function(m, "App.Run()", "App.cs", 10), b.Thread(p,
		"main")
	types := map[string]session.TypeID{}
	for _, l := range lines {
		if types[l.typ] == 0 {
			types[l.typ] = b.Type(m, l.typ)
		}
		b.Allocate(1, thread, types[l.typ], 1, l.bytes, sessiontest.Frame{Function: main, Line: 2},
			sessiontest.Frame{Function: f, Line: l.line})
	}
	return b
}

// TestCompareMovedLines: lines of a function that was written anew are those that do the same in the same order; if as
// many do so where they were, none has moved.
func TestCompareMovedLines(t *testing.T) {
	a, b, c, d := lineSum{11, "A", 100}, lineSum{12, "B", 200}, lineSum{13, "C", 300}, lineSum{14, "A", 400}
	at := func(l lineSum, line int64, more q.Bytes) lineSum { return lineSum{line, l.typ, l.bytes + more} }
	for name, tt := range map[string]struct {
		old, new *sessiontest.Builder
		want     []string
	}{
		"a line before": {linesBuild("1", a, b, c), linesBuild("2", lineSum{11, "N", 50}, at(a, 12, 0), at(b, 13, 8),
			at(c, 14, 0)),
			[]string{"0 -> 11: +50", "12 -> 13 moved: +8"}},
		"a line gone": {linesBuild("1", a, b, c, d), linesBuild("2", at(b, 11, 0), at(c, 12, 1), at(d, 13, 0)),
			[]string{"11 -> 0: -100", "13 -> 12 moved: +1"}},
		"a line before, and others changed": {linesBuild("1", a, b, c, d), linesBuild("2", lineSum{11, "N", 50},
			at(a, 12, 0), at(b, 13, 0), lineSum{13, "N", 50}, at(c, 14, 0), lineSum{15, "N", 500}),
			[]string{"0 -> 11: +50", "12 -> 13 moved: +50", "14 -> 15 moved: +100"}},
		"more on two lines of several": {linesBuild("1", a, at(b, 11, 0), b, c), linesBuild("2", a, at(b, 11, 0),
			lineSum{11, "N", 50}, b, lineSum{12, "N", 50}, c), []string{"11 -> 11: +50", "12 -> 12: +50"}},
		"the same build": {linesBuild("1", a, b), linesBuild("1", at(a, 12, 0), at(b, 13, 0)),
			[]string{"0 -> 13: +200", "11 -> 0: -100", "12 -> 12: -100"}},
		"as many where they were": {linesBuild("1", at(d, 14, 0)), linesBuild("2", a, at(d, 14, 0)),
			[]string{"0 -> 11: +100"}},
		"no line as it was": {linesBuild("1", at(a, 15, 0), at(b, 15, 0), at(c, 17, 0)), linesBuild("2",
			lineSum{11, "N", 50}, at(a, 12, 0), lineSum{12, "M", 5}, at(c, 14, 0), lineSum{14, "M", 5}),
			[]string{"0 -> 11: +50", "15 -> 12 moved: -195", "17 -> 14 moved: +5"}},
		"another type": {linesBuild("1", a, b), linesBuild("2", a, lineSum{12, "N", 240}), []string{"12 -> 12: +40"}},
	} {
		for _, view := range []string{"lines", "sites"} {
			t.Run(name+" "+view, func(t *testing.T) {
				if view == "sites" && slices.Contains([]string{"another type", "the same build", "more on two lines of several",
					"a line before, and others changed", "no line as it was"}, name) {
					t.Skip("the sites are others")
				}
				var got []string
				for _, x := range compared(t, source(t, tt.old, Selection{}), source(t, tt.new, Selection{}), view,
					"").All() {
					from, to := x.OldLine, x.Line
					if !x.InNew {
						to = 0
					}
					got = append(got,
						fmt.Sprintf("%d -> %d%s: %+d", from, to, map[bool]string{true: " moved"}[x.Moved()], x.Delta()))
				}
				slices.Sort(got)
				if diff := differ.Of(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestCompareRuns: of several runs the means are compared, and a difference is beyond their spread if no run of one
// side has a value between those of the other.
func TestCompareRuns(t *testing.T) {
	run := func(a, b, c q.Bytes) *Source {
		return source(t, linesBuild("1", lineSum{11, "A", a}, lineSum{12, "B", b}, lineSum{13, "C", c}), Selection{})
	}
	from := []*Source{run(100, 100, 7), run(110, 120, 7), run(120, 140, 7)}
	to := []*Source{run(121, 130, 7), run(131, 150, 7)}
	for _, view := range []string{"types", "lines", "sites", "calltree"} {
		c, err := Compare(from, to, view, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range c.All() {
			x := &c.Changes[i]
			old, now := x.Ranges()
			got = append(got, fmt.Sprint(x.Old, old, x.New, now, x.Beyond()))
		}
		want := []string{"110 [100 120] 126 [121 131] true", "120 [100 140] 140 [130 150] false"}
		if view == "calltree" {
			want = []string{"237 [207 267] 273 [258 288] false"}
		}
		if diff := differ.Of(want, got); diff != "" || c.Old != 237 || c.New != 273 {
			t.Errorf("%s: %d %d %s", view, c.Old, c.New, diff)
		}
	}
	if c, err := Compare(from, from, "lines", ""); err != nil || slices.ContainsFunc(c.All(), func(x Change) bool {
		return x.Delta() != 0 || x.Beyond()
	}) {
		t.Errorf("runs differ from themselves: %+v %v", c, err)
	}
}

// withoutEntries reports whether a view is about tests or endpoints, and a session does not have any.
func withoutEntries(a, b *Source, view string) bool {
	_, before := Compare([]*Source{a}, []*Source{a}, view, "")
	_, after := Compare([]*Source{b}, []*Source{b}, view, "")
	return errors.Is(before, ErrNoEntries) || errors.Is(after, ErrNoEntries)
}

func abs(n int64) int64 { return max(n, -n) }

// TestCompareBuilds: a program that was built again after something was written above differs in nothing; what was
// added is new, and a line that moved is the same line.
func TestCompareBuilds(t *testing.T) {
	old := source(t, programBuild(0, 1), Selection{})
	for _, v := range comparedViews {
		if v.name == "lifetime" || v.name == "gcs" || withoutEntries(old, old, v.name) { // it has none
			continue
		}
		if c := compared(t, old, source(t, programBuild(3, 1), Selection{}), v.name, ""); len(c.Changes) > 0 {
			t.Errorf("%s: %+v", v.name, c.All())
		}
	}
	b := programBuild(3, 1)
	n := len(b.SiteValues)
	for i := range b.SiteValues { // the first site allocates more, the last one nothing
		switch i {
		case 0:
			b.SiteValues[i].Bytes += 8
		case n - 1:
			b.SiteValues[i].Bytes, b.SiteValues[i].Allocations = 0, 0
		}
	}
	c := compared(t, old, source(t, b, Selection{}), "lines", "exclusive_bytes")
	var got []string
	for i := range c.All() {
		x := &c.Changes[i]
		got = append(got, fmt.Sprintf("%s %d -> %d: %+d", x.Key, x.OldLine, x.Line, x.Delta()))
	}
	if diff := differ.Of([]string{"App.dll!App.Program.Main():+2 12 -> 15: -24",
		"App.dll!App.Program.Main():+0 10 -> 13: +8"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestCompareErrors: what one of the sessions does not have cannot be compared.
func TestCompareErrors(t *testing.T) {
	shop, timed := source(t, sessiontest.Shop(), Selection{}), source(t, sessiontest.Timed(), Selection{})
	var term *TermError
	for _, c := range []struct {
		from, to     *Source
		view, column string
		want         error
	}{
		{shop, timed, "functions", "", ErrNothingInCommon},
		{shop, timed, "functions", "elapsed_exclusive", ErrNoTime},
		{timed, shop, "functions", "elapsed_exclusive", ErrNoTime},
		{shop, timed, "types", "bytes", ErrNoMemory},
		{shop, shop, "processes", "", nil},
		{shop, shop, "lifetime", "", ErrNoLifetime},
		{shop, shop, "types", "exclusive_bytes", nil},
	} {
		_, err := Compare([]*Source{c.from}, []*Source{c.to}, c.view, c.column)
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && !errors.As(err, &term) {
			t.Errorf("%s %s: %v", c.view, c.column, err)
		}
	}
	shopPath, timedPath := shop.Session().Path(), timed.Session().Path()
	_, err := Compare([]*Source{shop}, []*Source{timed}, "functions", "")
	if want := fmt.Sprintf("the sessions have nothing in common: %s holds no times (clrprof run --time records them), %s "+
		"holds no allocations (clrprof run --time --memory records both)", shopPath, timedPath); err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if several := source(t, sessiontest.Several(), Selection{Processes: []session.ProcessID{2}}); len(
		compared(t, several, several, "functions", "").Changes) > 0 {
		t.Error("a selection differs from itself")
	}
}
