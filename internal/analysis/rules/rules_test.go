package rules_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

var update = flag.Bool("update", false, "write the list of rules in docs/rules.md")

// ids stand for names.
type ids struct{ s *session.Session }

// Type returns the raw name of a type.
func (n ids) Type(id session.TypeID) string {
	all, err := n.s.Types()
	return fmt.Sprint(all[id-1].RawName, errorText(err))
}

// Function returns the name of a function.
func (n ids) Function(id session.FunctionID) string {
	all, err := n.s.Functions()
	return fmt.Sprint(all[id-1].Name, errorText(err))
}

// Place returns the name of a function.
func (n ids) Place(p analysis.Place) string { return n.Function(p.Function) }

// Holder returns the name of a static field.
func (n ids) Holder(from analysis.Place, id session.TypeID) (string, q.Bytes) {
	src, err := analysis.Open(n.s, analysis.Selection{})
	if err != nil {
		return err.Error(), 0
	}
	holders, err := src.Holders()
	if err != nil {
		return err.Error(), 0
	}
	f, bytes := holders.Holder(from, id)
	if f == nil {
		return "", 0
	}
	return n.Type(f.Type) + "." + f.Member(), bytes
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func judge(t *testing.T, b *sessiontest.Builder, disabled ...string) (found, unjudged []string) {
	t.Helper()
	s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "s"))
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := rules.Judge(src, disabled)
	if err != nil {
		t.Fatal(err)
	}
	for i := range result.Findings {
		f := &result.Findings[i]
		place := ""
		if f.From.Function != 0 {
			place = ids{s}.Function(f.From.Function)
		}
		found = append(found, fmt.Sprintf("%s %s: %s", f.Rule.ID, place, f.Evidence(ids{s})))
	}
	for _, u := range result.Unjudged {
		unjudged = append(unjudged, u.Rule.ID+" "+u.Needs)
	}
	return found, unjudged
}

// TestJudge: what is broken is found with its numbers, at its place, and each object for one rule of a kind.
func TestJudge(t *testing.T) {
	found, unjudged := judge(t, sessiontest.Broken())
	if diff := cmp.Diff([]string{
		"boxing Till.Receipt.Build(int): 2,000 objects, 46.88 KiB, of type System.Int32",
		"boxing-keys Till.Program.Main(): 3,000 objects, 93.75 KiB, of type Till.Key by " +
			"System.Collections.Generic.Dictionary<Till.Key, int>.FindValue(Till.Key)",
		"equality-allocates Till.Item.GetHashCode(): 1,500 objects, 58.59 KiB, of type System.String",
		"exceptions Till.Program.Main(): 150 objects, 17.58 KiB, of type Till.Failure; at most 150 of them thrown",
		"gc-time Till.Receipt.Build(int): 24.32 % of the time (225.00 ms, without clrprof's part) is spent in pauses " +
			"of 1 collection; most bytes are allocated at Till.Receipt.Build(int)",
		"many-gen2-deaths Till.Program.Main(): 44.64 % of the bytes that died in generations 0 to 2 (1.23 MiB) died in " +
			"generation 2; most of it was allocated at Till.Program.Main()",
		"mid-life Till.Program.Main(): 1.23 MiB (15 objects) died in gen 2, of type System.Byte[]",
		"string-concat Till.Receipt.Build(int): 5,000 objects, 1.91 MiB, of type System.String by " +
			"string.Concat(string, string)",
		"just-above-loh Till.Program.Main(): 20 objects, 86,000 B each on average, of type System.Byte[]",
	}, found); diff != "" {
		t.Errorf("findings (-want +have):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"byte-by-byte --time", "lock-contention --time",
		needsSamples, needsWrites, "sync-over-async --time"},
		unjudged); diff != "" {
		t.Errorf("not judged (-want +have):\n%s", diff)
	}
}

// TestParams: arrays count by line and type, and not if framework code made them.
func TestParams(t *testing.T) {
	b := sessiontest.New()
	main := b.Thread(b.Process("Log", 1), "main")
	app, core := b.Module(1, "Log.dll", true), b.Module(1, "System.Private.CoreLib.dll", false)
	write := b.Function(app, "Log.Write()", "/src/Log.cs", 1)
	format := b.Function(core, "string.Format()", "", 0)
	array, other := b.Type(core, "System.Object[]"), b.Type(core, "System.String[]")
	b.Allocate(1, main, array, 2000, 48_000, sessiontest.Frame{Function: write, Line: 2})
	b.Allocate(1, main, other, 2000, 48_000, sessiontest.Frame{Function: write, Line: 2})
	b.Allocate(1, main, array, 2000, 48_000, sessiontest.Frame{Function: write, Line: 3})
	b.Allocate(1, main, array, 2000, 48_000, sessiontest.Frame{Function: write, Line: 2},
		sessiontest.Frame{Function: format})
	for _, line := range b.Lines {
		if line.LineBegin == 2 {
			b.ParamsArrays = append(b.ParamsArrays, session.ParamsArray{Function: write, Line: line.ID, Type: array})
		}
	}
	found, _ := judge(t, b)
	if diff := cmp.Diff([]string{"params Log.Write(): 2,000 objects, 46.88 KiB, of type System.Object[]"},
		found); diff != "" {
		t.Errorf("findings (-want +have):\n%s", diff)
	}
}

// TestNothingCalled: rules of times say that no call was recorded, and do not ask for the option that was there.
func TestNothingCalled(t *testing.T) {
	b := sessiontest.New()
	p := b.Process("Quiet", 1)
	b.Thread(p, "main")
	b.Timed(p, 20, 30)
	_, unjudged := judge(t, b)
	const want = "lock-contention a call of your code (--time recorded none)"
	if !slices.Contains(unjudged, want) {
		t.Errorf("%q is not in %q", want, unjudged)
	}
}

// needsSamples is what is said of a session without samples.
const (
	needsSamples = "small-reads two samples of counters (--sample-counters)"
	needsWrites  = "small-writes two samples of counters (--sample-counters)"
)

// sampled is a session with samples, one a second, of how often a process has read and how much; or written.
func sampled(writes bool, values ...[2]int64) *sessiontest.Builder {
	b := sessiontest.New()
	b.Process("Read", 7)
	b.Counters = []session.Counter{{ID: 9, Name: "process.read", Unit: "bytes", IsSum: true},
		{ID: 24, Name: "process.read_calls", Unit: "count", IsSum: true}}
	if writes {
		b.Counters[0].Name, b.Counters[1].Name = "process.written", "process.write_calls"
	}
	for i, v := range values {
		at := q.Nanoseconds(i+1) * 1_000_000_000
		b.CounterValues = append(b.CounterValues, session.CounterValue{Time: at, Process: 1, Counter: 9, Value: v[1]},
			session.CounterValue{Time: at, Process: 1, Counter: 24, Value: v[0]})
	}
	return b
}

// TestSmallReads: system calls are small on average between two samples, and often for the time of all.
func TestSmallReads(t *testing.T) {
	for _, c := range []struct {
		name   string
		values [][2]int64 // calls and bytes, since the process began
		want   string
	}{
		{"small", [][2]int64{{500, 90_000}, {40_500, 730_000}},
			"small-reads : process 7 (Read) made 40,000 system calls that read 16.0 B each on average, in 1.00 s"},
		{"large in between", [][2]int64{{0, 0}, {40_000, 400_000}, {50_000, 4_000_000_000}, {90_000, 4_000_500_000}},
			"small-reads : process 7 (Read) made 80,000 system calls that read 11.2 B each on average, in 2.00 s of " +
				"3.00 s between its first sample and its last one"},
		{"just small", [][2]int64{{0, 0}, {10_000, 10_239_999}},
			"small-reads : process 7 (Read) made 10,000 system calls that read 1024.0 B each on average, in 1.00 s"},
		{"large", [][2]int64{{0, 0}, {10_000, 10_240_000}}, ""},
		{"few", [][2]int64{{0, 0}, {9_999, 9_999}}, ""},
		{"few for the time", [][2]int64{{0, 0}, {15_000, 15_000}, {15_000, 15_000}}, ""},
		{"before the first sample", [][2]int64{{50_000, 50_000}, {50_001, 50_001}}, ""},
		{"damaged", [][2]int64{{90_000, 90_000}, {0, 0}}, ""},
	} {
		found, unjudged := judge(t, sampled(false, c.values...))
		if have := strings.Join(found, "\n"); have != c.want || slices.Contains(unjudged, needsSamples) {
			t.Errorf("%s: %q, want %q; not judged: %q", c.name, have, c.want, unjudged)
		}
		found, unjudged = judge(t, sampled(true, c.values...))
		want := strings.NewReplacer("small-reads", "small-writes", "that read", "that wrote").Replace(c.want)
		if have := strings.Join(found, "\n"); have != want || slices.Contains(unjudged, needsWrites) {
			t.Errorf("%s: %q, want %q; not judged: %q", c.name, have, want, unjudged)
		}
	}
	if _, unjudged := judge(t, sampled(false, [2]int64{50_000, 50_000})); !slices.Contains(unjudged, needsSamples) ||
		!slices.Contains(unjudged, needsWrites) {
		t.Errorf("one sample: not judged: %q", unjudged)
	}
	b := sampled(false, [2]int64{0, 0}, [2]int64{50_000, 50_000})
	b.Counters, b.CounterValues = b.Counters[:1], nil
	if _, unjudged := judge(t, b); !slices.Contains(unjudged, "small-reads a newer clrprof") {
		t.Errorf("without the calls: not judged: %q", unjudged)
	}
}

// TestSmallReadsPlaces: lines are named that call what reads often enough, in the processes that read so.
func TestSmallReadsPlaces(t *testing.T) {
	for _, c := range []struct {
		reads int64
		calls int
		want  bool
	}{{40_000, 30_000, true}, {400_000, 30_000, false}, {40_000, 9_999, false}, {9_000, 30_000, false}} {
		b := sampled(false, [2]int64{0, 0}, [2]int64{c.reads, c.reads})
		main := b.Thread(1, "main")
		app, core := b.Module(1, "Read.dll", true), b.Module(1, "System.Private.CoreLib.dll", false)
		of := b.Function(app, "Read.Main()", "/src/Read.cs", 1)
		read := b.Function(core, "System.IO.Stream.Read(byte[], int, int)", "", 0)
		b.Functions[read-1].RawType, b.Functions[read-1].RawName = "System.IO.Stream", "Read"
		b.Timed(1, 0, 0)
		run := b.Run(main).Call(0, of, sessiontest.Interval{})
		for range c.calls {
			run.Call(2, read, sessiontest.Interval{Elapsed: 10}).End(sessiontest.Interval{Elapsed: 10})
		}
		run.End(sessiontest.Interval{})
		found, _ := judge(t, b)
		if has := slices.ContainsFunc(found, func(f string) bool {
			return f == "small-reads Read.Main(): 30,000 calls of System.IO.Stream.Read(byte[], int, int), in a process that "+
				"reads in small pieces"
		}); has != c.want {
			t.Errorf("%+v: found %q", c, found)
		}
	}
}

// TestSmallWritesPlaces: a line that writes is named, and one that reads as often is not.
func TestSmallWritesPlaces(t *testing.T) {
	b := sampled(true, [2]int64{0, 0}, [2]int64{40_000, 40_000})
	main := b.Thread(1, "main")
	app, core := b.Module(1, "Write.dll", true), b.Module(1, "System.Private.CoreLib.dll", false)
	of := b.Function(app, "Write.Main()", "/src/Write.cs", 1)
	b.Timed(1, 0, 0)
	run := b.Run(main).Call(0, of, sessiontest.Interval{})
	for line, name := range []string{"Read", "Write", "WriteByte"} {
		called := b.Function(core, "System.IO.FileStream."+name, "", 0)
		b.Functions[called-1].RawType, b.Functions[called-1].RawName = "System.IO.FileStream", name
		for range leastCalls {
			run.Call(int64(line)+2, called, sessiontest.Interval{Elapsed: 10}).End(sessiontest.Interval{Elapsed: 10})
		}
	}
	run.End(sessiontest.Interval{})
	found, _ := judge(t, b)
	found = slices.DeleteFunc(found, func(f string) bool { return !strings.Contains(f, "Write.Main()") })
	if diff := cmp.Diff([]string{"byte-by-byte Write.Main(): 10,000 calls of System.IO.FileStream.WriteByte",
		"small-writes Write.Main(): 10,000 calls of System.IO.FileStream.Write, in a process that writes in small pieces",
	}, found); diff != "" {
		t.Errorf("-want +have:\n%s", diff)
	}
}

// leastCalls is from how many calls on a line is named.
const leastCalls = 10_000

// TestLastCollection: the pause of the collection that clrprof asks for at the end is not the program's.
func TestLastCollection(t *testing.T) {
	for _, last := range []bool{false, true} {
		b := sessiontest.New()
		p := b.Process("Short", 7)
		b.Followed(p, last)
		b.Collect(p, 2, last, 500_000_000, 400_000_000)
		found, _ := judge(t, b)
		if has := slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, "gc-time ") }); has == last {
			t.Errorf("clrprof's own: %v, found %q", last, found)
		}
	}
}

// TestDisabled: a rule that is disabled has no findings, and the others keep theirs.
func TestDisabled(t *testing.T) {
	all, _ := judge(t, sessiontest.Broken())
	for _, id := range rules.IDs() {
		found, _ := judge(t, sessiontest.Broken(), id)
		want := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return strings.HasPrefix(f, id+" ") })
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("without %s (-want +have):\n%s", id, diff)
		}
	}
}

// TestNothing: sessions without anything unusual break no rule, and an empty one is not judged.
func TestNothing(t *testing.T) {
	if found, unjudged := judge(t, sessiontest.Empty()); len(found) > 0 || len(unjudged) != len(rules.All()) {
		t.Errorf("%q, %q", found, unjudged)
	}
}

// TestList: docs/rules.md lists each rule as it is.
func TestList(t *testing.T) {
	const path, begin = "../../../docs/rules.md", "<!-- list -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), begin)
	if !ok {
		t.Fatalf("%s has no %q", path, begin)
	}
	want := before + begin +
		"\n| rule | severity | recorded with | what is wrong | from | a part of | what to do |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n"
	for _, r := range rules.All() {
		want += fmt.Sprintf("| `%s` | %s | `%s` | %s | %s | %s | %s |\n", r.ID, r.Severity, r.Needs(), r.Title, r.Floor(),
			r.Of, r.Advice)
	}
	if *update {
		err = errors.Join(err, os.WriteFile(path, []byte(want), 0o644))
	} else if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s (-want +have; -update writes it):\n%s", path, diff)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestOlder: a session that was recorded before clrprof found arrays for params is not judged by the rule about them.
func TestOlder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := sessiontest.WriteRecorded("../../..", "net10", path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	src, err := analysis.Open(s, analysis.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // of what is stored by other rules, and without it
		result, err := rules.Judge(src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(result.Unjudged, func(u rules.Unjudged) bool {
			return u.Rule.ID == "params" && u.Needs == "a newer clrprof"
		}) {
			t.Errorf("not judged: %+v", result.Unjudged)
		}
		if src, err = analysis.Computed(s); err != nil {
			t.Fatal(err)
		}
	}
}
