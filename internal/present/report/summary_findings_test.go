package report

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// waiting is a session in which user code waits for a lock, for a task and for a time, in one function each.
func waiting() *sessiontest.Builder {
	b := sessiontest.New()
	b.Info[session.KeyMode] = session.ModeTime
	b.Slices = []session.Slice{{ID: 1, End: 1_000_000_000}}
	p := b.Process("Wait", 600)
	b.Timed(p, 8, 7)
	thread := b.Thread(p, "main")
	app, core := b.Module(p, "Wait.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
	b.Modules[app-1].Origin = "project"
	framework := func(typ, name string) session.FunctionID {
		id := b.Function(core, typ+"."+name+"()", "", 0)
		b.Functions[id-1].RawType, b.Functions[id-1].RawName = typ, name
		return id
	}
	enter, result := framework("System.Threading.Monitor", "Enter"), framework("System.Threading.Tasks.Task", "Wait")
	one, release := framework("System.Threading.WaitHandle", "WaitOne"), framework("System.Threading.Mutex", "ReleaseMutex")
	sleep := framework("System.Threading.Thread", "Sleep")
	main := b.Function(app, "Wait.Program.Main()", "/src/Program.cs", 10)
	run := b.Run(thread).Call(0, main, sessiontest.Interval{})
	for range 20 {
		for i, f := range []session.FunctionID{enter, result, sleep} {
			run.Call(int64(12+i), f, sessiontest.Interval{Elapsed: 1000}).
				End(sessiontest.Interval{Elapsed: 5_000_000, Slept: true})
		}
	}
	// one function waits for a mutex, the other for an event
	pay, next := b.Function(app, "Wait.Program.Pay()", "/src/Program.cs", 20), b.Function(app, "Wait.Program.Next()",
		"/src/Program.cs", 30)
	for range 10 {
		for _, f := range []session.FunctionID{pay, next} {
			run.Call(16, f, sessiontest.Interval{Elapsed: 1000})
			run.Call(21, one, sessiontest.Interval{Elapsed: 1000}).
				End(sessiontest.Interval{Elapsed: 6_000_000, Slept: true})
			if f == pay {
				run.Call(22, release, sessiontest.Interval{Elapsed: 1000}).End(sessiontest.Interval{Elapsed: 1000})
			}
			run.End(sessiontest.Interval{Elapsed: 1000})
		}
	}
	run.End(sessiontest.Interval{Elapsed: 1000})
	return b
}

// findings returns what a summary finds: what it says of rules, by id, and the kinds of all.
func findings(t *testing.T, r *Reader, disabled ...string) (map[string][]string, []NoteKind) {
	t.Helper()
	s, err := r.Summarize(Options{Top: 5, Disabled: disabled})
	if err != nil {
		t.Fatal(err)
	}
	said, kinds := map[string][]string{}, []NoteKind{}
	for _, f := range s.Findings {
		if kinds = append(kinds, f.Kind); f.Kind == FindingRule {
			id := fmt.Sprint(f.Facts[2])
			said[id] = append(said[id], fmt.Sprintf("%s: %s (rule %s)", f.Facts[:3]...))
		}
	}
	return said, kinds
}

// called is a session in which a function calls another one so often that what the probes took is most of all time.
// uncertain is by how many nanoseconds a call that may be wrong. If it works, the function is called once more, for
// long.
func called(uncertain float64, works bool) *sessiontest.Builder {
	b := sessiontest.New()
	b.Info[session.KeyMode] = session.ModeTime
	b.Slices = []session.Slice{{ID: 1, End: 1_000_000_000}}
	p := b.Process("Called", 600)
	b.Timed(p, 8, 7)
	b.ProcessTimes[len(b.ProcessTimes)-1].Uncertain = uncertain
	app := b.Module(p, "Called.dll", true)
	b.Modules[app-1].Origin = "project"
	functions := map[string]session.FunctionID{}
	for _, name := range []string{"Main", "Total", "Price"} {
		id := b.Function(app, "Called.Program."+name+"()", "/src/Program.cs", 10)
		b.Functions[id-1].RawType, b.Functions[id-1].RawName = "Called.Program", name
		functions[name] = id
	}
	run := b.Run(b.Thread(p, "main")).Call(0, functions["Main"], sessiontest.Interval{}).
		Call(12, functions["Total"], sessiontest.Interval{Elapsed: 100})
	for range 2000 {
		run.Call(14, functions["Price"], sessiontest.Interval{Elapsed: 10}).End(sessiontest.Interval{Elapsed: 11})
	}
	run.End(sessiontest.Interval{Elapsed: 100})
	if works {
		run.Call(13, functions["Price"], sessiontest.Interval{Elapsed: 10}).End(sessiontest.Interval{Elapsed: 2 * leastCPU})
	}
	run.End(sessiontest.Interval{Elapsed: 100})
	return b
}

// TestUncertainTimes: 2,000 calls of 21 ns, of which probes take 15. Where that may be wrong by more than the 6 that
// remain, no place, no rank and no share is named, but the function that is called, and how to measure it.
func TestUncertainTimes(t *testing.T) {
	for _, x := range []struct {
		uncertain float64
		works     bool
		known     bool
	}{{0, true, true}, {5, true, true}, {5, false, true}, {7, false, false}} {
		r := made(t, called(x.uncertain, x.works))
		s, err := r.Summarize(Options{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		_, kinds := findings(t, r)
		if known := !slices.Contains(kinds, FindingUncertain); known != x.known ||
			slices.Contains(kinds, FindingWork) != x.works || slices.Contains(kinds, FindingMeasure) == known {
			t.Errorf("± %g ns: findings %v", x.uncertain, kinds)
		}
		if want := q.Nanoseconds(2000 * x.uncertain); s.Timing.Uncertain < want || s.Timing.Uncertain > want+100 {
			t.Errorf("± %g ns a call: ± %v in all", x.uncertain, s.Timing.Uncertain)
		}
		work := s.section(sectionWork)
		percent := slices.IndexFunc(work.Columns, func(c Column) bool { return c.Key == "cpu_exclusive_percent" })
		if empty := work.Cell(0, work.Columns[percent]).Empty; empty == x.known {
			t.Errorf("± %g ns: the share of the first row is empty: %t", x.uncertain, empty)
		}
		for _, f := range s.Findings {
			if f.Kind == FindingMeasure && !slices.Equal(f.Facts, []any{"Called.Program.Total"}) ||
				f.Kind == FindingUncertain && f.Facts[5] != q.Count(2000) {
				t.Errorf("%v", f)
			}
		}
	}
}

// waitPlace is what the view rules says of a wait: its place, the function that waits, and for how long.
var waitPlace = regexp.MustCompile(`^(.*): off the processor .* in \d+ calls? of (.*), for (.*) ms in all\.$`)

// inOne is the finding of several waits, from what the view rules says of each.
func inOne(t *testing.T, title, rule string, said []string) string {
	t.Helper()
	sum, places := 0.0, []string{}
	for _, s := range said {
		at := waitPlace.FindStringSubmatch(s)
		if at == nil {
			t.Fatalf("%q is no wait", s)
		}
		ms, err := strconv.ParseFloat(at[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += ms
		places = append(places, fmt.Sprintf("%s %s ms (%s)", at[1], at[3], at[2]))
	}
	return fmt.Sprintf("%s: off the processor in %d places, for %.2f ms in all: %s. (rule %s)", title, len(said), sum,
		strings.Join(places, ", "), rule)
}

// TestFindingsAreRules: what a rule is about is said by the summary as by the view rules, of each warning the gravest, of
// one about waiting all places, and not if the rule is disabled; nor does another finding say it then.
func TestFindingsAreRules(t *testing.T) {
	reported := map[string]bool{}
	for name, b := range map[string]*sessiontest.Builder{"broken": sessiontest.Broken(), "aging": sessiontest.Aging(),
		"waiting": waiting()} {
		t.Run(name, func(t *testing.T) {
			r := made(t, b)
			table, err := r.Build(rulesView, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := r.Summarize(Options{Top: 5})
			if err != nil {
				t.Fatal(err)
			}
			want, waits := map[string][]string{}, map[*rules.Rule][]string{}
			for i := range table.Rows {
				rule, said := table.Broken(i)
				if rule.Waiting {
					waits[rule] = append(waits[rule], said)
				}
				part := s.partOf(table.Rows[i].finding.Finding)
				if rule.Severity == rules.Warning && want[rule.ID] == nil &&
					part.Share.Float() >= rules.LeastPercent {
					want[rule.ID] = append(want[rule.ID], fmt.Sprintf("%s: %s (rule %s)", rule.Title, said, rule.ID))
				}
			}
			for rule, said := range waits {
				if len(said) > 1 {
					want[rule.ID] = []string{inOne(t, rule.Title, rule.ID, said)}
				}
			}
			have, kinds := findings(t, r)
			for id := range have {
				reported[id] = true
			}
			if len(kinds) < maxFindings {
				if diff := cmp.Diff(want, have); diff != "" {
					t.Errorf("(-rules +summary):\n%s", diff)
				}
			}
			for id := range have {
				without, _ := findings(t, r, id)
				if len(without[id]) > 0 {
					t.Errorf("%s is disabled: %q", id, without[id])
				}
			}
			said := slices.Concat(slices.Collect(maps.Values(have))...)
			if _, less := findings(t, r, rules.IDs()...); len(less) != len(kinds)-len(said) {
				t.Errorf("without rules %v, with them %v", less, kinds)
			}
		})
	}
	for _, r := range rules.All() {
		if r.Waiting && !reported[r.ID] {
			t.Errorf("%s: no session breaks it", r.ID)
		}
	}
}

// TestManyWaits: of many waits the finding has all that is known, and names the longest.
func TestManyWaits(t *testing.T) {
	r := made(t, waiting())
	s, err := r.Summarize(Options{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	rule := rules.All()[slices.IndexFunc(rules.All(), func(r *rules.Rule) bool { return r.ID == "lock-contention" })]
	var places []*Row
	for i := range 8 {
		f := &rules.Finding{Rule: rule, Waited: q.Nanoseconds(80-i) * 1e6}
		places = append(places, &Row{from: analysis.Place{Function: 5}, finding: &findingRow{f, ""}})
	}
	for hidden, want := range map[int]string{
		0: "off the processor in 8 places, for 612.00 ms in all: ",
		3: "off the processor in 11 places, for 612.00 ms in the 8 where it is most: ",
	} {
		part, said := s.waitedIn(places, hidden)
		if !strings.HasPrefix(said, want) || strings.Count(said, " ms (") != mostWaitPlaces ||
			!strings.HasSuffix(said, fmt.Sprintf(", … %d more.", 2+hidden)) || part.Share.Part != 612e6 {
			t.Errorf("%d more: %q, %v", hidden, said, part.Share)
		}
	}
}

// TestPlainWaits: waiting that no rule is about is said as such.
func TestPlainWaits(t *testing.T) {
	_, kinds := findings(t, made(t, waiting()))
	// Sleep and the event
	if n := len(slices.DeleteFunc(kinds, func(k NoteKind) bool { return k != FindingWait })); n != 2 {
		t.Errorf("%d waits without a rule", n)
	}
}

// TestWaitsForEnd: what waits until the program is stopped, a server's Run or the entry point of an async Main, stands
// for nothing that one could mend: no finding is about it, nor a row of the list of waits, whose last line has it.
func TestWaitsForEnd(t *testing.T) {
	for name, entry := range map[string]string{"server": "Main", "async Main": entryOfAsyncMain} {
		t.Run(name, func(t *testing.T) {
			b := sessiontest.New()
			b.Info[session.KeyMode] = session.ModeTime
			b.Slices = []session.Slice{{ID: 1, End: 1_000_000_000}}
			p := b.Process("Serve", 600)
			b.Timed(p, 8, 7)
			app, asp := b.Module(p, "Serve.dll", true), b.Module(p, "Microsoft.AspNetCore.dll", false)
			b.Modules[app-1].Origin = "project"
			main := b.Function(app, "Serve.Program.Main()", "/src/Program.cs", 10)
			b.Functions[main-1].RawName = entry
			waits := b.Function(asp, "Microsoft.AspNetCore.Builder.WebApplication.Run(string)", "", 0)
			b.Functions[waits-1].RawName, b.Functions[waits-1].RawType = "Run",
				"Microsoft.AspNetCore.Builder.WebApplication"
			if entry != "Main" { // whatever it calls
				b.Functions[waits-1].RawName = "Walk"
			}
			run := b.Run(b.Thread(p, "main")).Call(0, main, sessiontest.Interval{})
			for range 5 {
				run.Call(12, waits, sessiontest.Interval{Elapsed: 1000}).
					End(sessiontest.Interval{Elapsed: 100_000_000, Slept: true})
			}
			run.End(sessiontest.Interval{Elapsed: 1000})
			r := readerOf(t, b)
			s, err := r.Summarize(Options{Top: FitTop})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range s.Findings {
				if f.Kind == FindingWait {
					t.Errorf("found %+v", f)
				}
			}
			i := slices.IndexFunc(s.Sections, func(x Section) bool { return x.Key == sectionWaits })
			if rows := s.Sections[i].Table.Rows; len(rows) != 1 || rows[0].kind != rowRest {
				t.Errorf("waits: %+v", rows)
			}
			if !slices.ContainsFunc(s.Timing.Notes, func(n Note) bool { return n.Kind == NoteWaitsForEnd }) {
				t.Errorf("nothing is said of it: %+v", s.Timing.Notes)
			}
		})
	}
}

// TestWaitsForOthers: a function that waits once, for most of the run, for what other threads do is no finding; one that
// waits for less, again, or while nobody works, is.
func TestWaitsForOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		waits   q.Nanoseconds
		times   int
		works   q.Nanoseconds // another thread, recorded
		begin   string        // with what the thread that waits begins
		finding bool
	}{
		"a build":        {800e6, 1, 800e6, "Main", false},
		"nobody works":   {800e6, 1, 0, "Main", true},
		"not long":       {300e6, 1, 800e6, "Main", true},
		"again":          {400e6, 2, 800e6, "Main", true},
		"another thread": {800e6, 1, 800e6, "Serve", true},
	} {
		b := sessiontest.New()
		b.Info[session.KeyMode] = session.ModeTime
		b.Slices = []session.Slice{{ID: 1, End: 1_000_000_000}}
		p := b.Process("Build", 600)
		b.Timed(p, 8, 7)
		app, core := b.Module(p, "Build.dll", true), b.Module(p, "System.Private.CoreLib.dll", false)
		b.Modules[app-1].Origin = "project"
		main := b.Function(app, "Build.Program.Main()", "/src/Program.cs", 10)
		b.Functions[main-1].RawName = tt.begin
		execute, compile := b.Function(app, "Build.Submission.Execute()", "/src/Program.cs", 20),
			b.Function(app, "Build.Worker.Compile()", "/src/Program.cs", 30)
		one := b.Function(core, "System.Threading.WaitHandle.WaitOne()", "", 0)
		b.Functions[one-1].RawType, b.Functions[one-1].RawName = "System.Threading.WaitHandle", "WaitOne"
		run := b.Run(b.Thread(p, "main")).Call(0, main, sessiontest.Interval{})
		for range tt.times {
			run.Call(12, execute, sessiontest.Interval{Elapsed: 1000}).
				Call(21, one, sessiontest.Interval{Elapsed: 1000}).
				End(sessiontest.Interval{Elapsed: tt.waits, Slept: true}).End(sessiontest.Interval{Elapsed: 1000})
		}
		run.End(sessiontest.Interval{Elapsed: 1_000_000_000 - tt.waits*q.Nanoseconds(tt.times)})
		if tt.works > 0 {
			b.Run(b.Thread(p, "worker")).Call(0, compile, sessiontest.Interval{}).End(sessiontest.Interval{Elapsed: tt.works})
		}
		_, kinds := findings(t, readerOf(t, b))
		if have := slices.Contains(kinds, FindingWait); have != tt.finding {
			t.Errorf("%s: a finding about the wait: %v, want %v (%v)", name, have, tt.finding, kinds)
		}
	}
}

// TestFitTop: the more was recorded, the fewer rows the lists have; what was promoted in vain is listed if it is worth
// a look.
func TestFitTop(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    *sessiontest.Builder
		all  bool
		want int
	}{
		{"memory", sessiontest.Shop(), false, 8}, {"time", sessiontest.Timed(), false, 6},
		{"lifetime", sessiontest.Aging(), false, 6}, {"all code", sessiontest.Aging(), true, allFitting},
	} {
		got, err := readerOf(t, tt.b).own().fittingTop(Options{AllCode: tt.all})
		if err != nil || got != tt.want {
			t.Errorf("%s: %d rows, want %d, %v", tt.name, got, tt.want, err)
		}
	}
	for _, memory := range []bool{false, true} { // which leaves no room for waits that are nothing
		of := q.Nanoseconds(waitsShown)
		if memory {
			of = waitsShownMemory
		}
		for _, wait := range []q.Nanoseconds{0, 99, 100} {
			const forEnd = 1_000_000 // which is no wait of the program
			s := &Summary{context: readerOf(t, sessiontest.Timed()).own(), HasMemory: memory, Timing: &Timing{},
				Sections: []Section{{Key: sectionWaits}, {Key: sectionAwaits}}, forEnd: forEnd, awaited: wait}
			s.Timing.Total.Inclusive.Elapsed, s.Timing.Total.Inclusive.Blocked = of*100+forEnd, wait+forEnd
			s.chooseSections()
			for _, x := range s.Sections {
				if x.Shown != (wait == 100) {
					t.Errorf("%s: %d of %d, memory %t: shown %t", x.Key, wait, of*100, memory, x.Shown)
				}
			}
		}
	}
	for _, share := range []q.Bytes{wasteShown + 100, wasteShown - 100} {
		s := &Summary{context: readerOf(t, sessiontest.Aging()).own(), Lifetime: &Lifetime{},
			Total:    q.Amount{Bytes: share * 1000},
			Sections: []Section{{Key: analysis.SectionWaste, all: true}}, allCode: true}
		s.Lifetime.Lifetime.Dead[2].Bytes = 1000
		if s.chooseSections(); s.Sections[0].Shown != (share < wasteShown) {
			t.Errorf("1 of %d: shown %t", share, s.Sections[0].Shown)
		}
	}
}

// TestHideSaid: a list is left out if the findings that a screen has say all of it, not if later ones do.
func TestHideSaid(t *testing.T) {
	for _, before := range []int{SurelyRead - 2, SurelyRead - 1} {
		s := &Summary{}
		for _, key := range []string{sectionWork, sectionWaits, sectionCauses} {
			rows := []Row{{kind: rowFunction}, {kind: rowFunction}, {kind: rowRest}}
			s.Sections = append(s.Sections, Section{Key: key, Shown: true, Table: &Table{Rows: rows}})
		}
		for range before {
			s.Findings = append(s.Findings, Note{Kind: FindingInteractions})
		}
		s.Findings = append(s.Findings, Note{Kind: FindingWork}, Note{Kind: FindingWork})
		s.hideSaid()
		if shown := s.Sections[0].Shown; shown != (before == SurelyRead-1) {
			t.Errorf("%d findings before: the list is shown: %t", before, shown)
		}
	}
}
