package rules

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// weighty makes a random session of which rules have something to say.
func weighty(rt *rapid.T) *sessiontest.Builder {
	b := sessiontest.RandomTimes(rapid.Uint64().Draw(rt, "seed"))
	for i := range b.Modules {
		b.Modules[i].Origin = rapid.SampledFrom([]string{"project", "framework"}).Draw(rt, "origin")
	}
	for i := range b.Types {
		b.Types[i].Trait = rapid.SampledFrom([]string{"", session.TraitException, session.TraitValue,
			session.TraitDelegate, session.TraitFinalizer}).Draw(rt, "trait")
		b.Types[i].RawName = rapid.SampledFrom([]string{"A.B", regexType, "System.String"}).Draw(rt, "type")
	}
	for i := range b.Functions {
		of := rapid.SampledFrom([][2]string{{"System.String", "Concat"}, {"System.String", "Equals"}, {"A.B", "Equals"},
			{"A.B", "Enter"}, {"System.IO.Stream", "Read"}, {"System.IO.Stream", "Write"}, {"System.Threading.Monitor", "Enter"}, {"System.Threading.Monitor", "Enter"}}).Draw(rt, "of")
		b.Functions[i].RawType, b.Functions[i].RawName = of[0], of[1]
	}
	b.Counters = []session.Counter{{ID: 1, Name: reading.bytes, Unit: "bytes", IsSum: true},
		{ID: 2, Name: reading.calls, Unit: "count", IsSum: true}, {ID: 3, Name: writing.bytes, Unit: "bytes", IsSum: true},
		{ID: 4, Name: writing.calls, Unit: "count", IsSum: true}}
	b.CounterValues = nil
	for _, p := range b.Processes {
		for sample := range rapid.Int64Range(0, 3).Draw(rt, "samples") {
			at := q.Nanoseconds(sample+1) * 500_000_000
			b.CounterValues = append(b.CounterValues,
				session.CounterValue{Time: at, Process: p.ID, Counter: 1, Value: sample * 300_000},
				session.CounterValue{Time: at, Process: p.ID, Counter: 2,
					Value: sample * rapid.Int64Range(0, 30_000).Draw(rt, "reads")},
				session.CounterValue{Time: at, Process: p.ID, Counter: 3, Value: sample * 300_000},
				session.CounterValue{Time: at, Process: p.ID, Counter: 4,
					Value: sample * rapid.Int64Range(0, 30_000).Draw(rt, "writes")})
		}
	}
	for range rapid.IntRange(0, 9).Draw(rt, "params") {
		a := session.ParamsArray{Type: rapid.SampledFrom(b.Types).Draw(rt, "array").ID}
		if line := rapid.IntRange(0, len(b.Lines)).Draw(rt, "line"); line > 0 {
			a.Function, a.Line = b.Lines[line-1].Function, b.Lines[line-1].ID
		} else {
			a.Function = rapid.SampledFrom(b.Functions).Draw(rt, "function").ID
		}
		if !slices.Contains(b.ParamsArrays, a) {
			b.ParamsArrays = append(b.ParamsArrays, a)
		}
	}
	objects, size := map[session.SiteID]q.Count{}, map[session.SiteID]q.Bytes{}
	scaled := func(site session.SiteID, a q.Amount) q.Amount {
		if objects[site] == 0 {
			objects[site] = q.Count(rapid.SampledFrom([]int{1, 20, 3000}).Draw(rt, "times"))
			size[site] = q.Bytes(rapid.SampledFrom([]int{1, 100, 1800}).Draw(rt, "larger"))
		}
		return q.Amount{Allocations: a.Allocations * objects[site], Bytes: a.Bytes * q.Bytes(objects[site]) * size[site]}
	}
	for i := range b.SiteValues {
		v := &b.SiteValues[i]
		v.Amount = scaled(v.Site, v.Amount)
	}
	for i := range b.Deaths {
		v := &b.Deaths[i]
		v.Amount = scaled(v.Site, v.Amount)
	}
	for i := range b.TimingValues {
		v := &b.TimingValues[i]
		for _, t := range []*q.Nanoseconds{&v.Elapsed, &v.Waited, &v.OffCPU, &v.Blocked} {
			*t *= 1_000_000
		}
		v.Voluntary *= 10
	}
	return b
}

// TestWanted: what is left out of the uses that rules look at breaks no rule.
func TestWanted(t *testing.T) {
	found, waits, left, cases := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		cases++
		b := weighty(rt)
		s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "a"))
		sel := analysis.Selection{}
		if rapid.Bool().Draw(rt, "span") {
			sel.To = b.Slices[rapid.IntRange(0, len(b.Slices)-1).Draw(rt, "last")].End
		}
		if rapid.IntRange(0, 3).Draw(rt, "completed") == 0 { // it takes long
			checkStored(rt, s)
		}
		src, err := analysis.Open(s, sel)
		if err != nil {
			rt.Fatal(err)
		}
		want, all := judgedBy(rt, src, func(*facts) *analysis.UsesOf { return nil })
		have, some := judgedBy(rt, src, (*facts).wanted)
		if diff := cmp.Diff(want, have, cmpopts.IgnoreUnexported(Finding{}),
			cmp.Comparer(func(x, y *Rule) bool { return x == y })); diff != "" {
			rt.Fatal(diff)
		}
		found, left = found+len(want.Findings), left+all-some
		for _, f := range want.Findings {
			if f.Rule.Waiting {
				waits++
			}
		}
	})
	t.Logf("%d cases: %d findings, %d of waits, %d uses left out", cases, found, waits, left)
	if found < cases || waits < cases/5 || left < cases/5 { // there are several times as many
		t.Error("too few")
	}
}

// checkStored checks that what is stored when a session is completed is what is found in it.
func checkStored(rt *rapid.T, s *session.Session) {
	w, err := s.InMemory()
	if err != nil {
		rt.Fatal(err)
	}
	defer w.Close()
	if err := Complete(w, nil, nil); err != nil {
		rt.Fatal(err)
	}
	if found, err := Check(w.Session); err != nil || len(found) > 0 {
		rt.Fatal(found, err)
	}
	src, err := analysis.Open(w.Session, analysis.Selection{})
	if err != nil {
		rt.Fatal(err)
	}
	have, err := Judge(src, nil)
	if err != nil {
		rt.Fatal(err)
	}
	want, _ := judgedBy(rt, src, (*facts).wanted)
	if diff := cmp.Diff(want, *have, cmpopts.IgnoreUnexported(Finding{}),
		cmp.Comparer(func(x, y *Rule) bool { return x == y })); diff != "" {
		rt.Fatal(diff)
	}
	for i := range want.Findings {
		if x, y := want.Findings[i].Evidence(unnamed{}), have.Findings[i].Evidence(unnamed{}); x != y {
			rt.Fatalf("%q, want %q", y, x)
		}
	}
	rows, findings := (&judged{findings: have.Findings, hidden: map[string]int{"linq": 7}}).rows()
	if err := w.WriteDerived(&session.Derived{RulesJudged: rows, Findings: findings}); err != nil {
		rt.Fatal(err)
	}
	if found, err := Check(w.Session); err != nil || len(found) == 0 {
		rt.Fatal("what is stored and was not found is not seen", err)
	}
}

// unnamed has no names.
type unnamed struct{}

func (unnamed) Type(session.TypeID) string { return "type" }

func (unnamed) Place(analysis.Place) string { return "place" }

func (unnamed) Function(session.FunctionID) string { return "function" }

// Holder knows none.
func (unnamed) Holder(analysis.Place, session.TypeID) (string, q.Bytes) { return "", 0 }

// judgedBy judges by the uses that are asked for, and says how many these are.
func judgedBy(rt *rapid.T, src *analysis.Source, asked func(*facts) *analysis.UsesOf) (out Result, uses int) {
	f, err := gather(src, asked)
	if err != nil {
		rt.Fatal(err)
	}
	f.Each(func(*analysis.Use) { uses++ })
	return *f.judge().without(nil), uses
}

// TestEdition: whoever changes what rules find makes the edition one more, so that no session shows what other rules
// found in it, and writes down here what these find.
func TestEdition(t *testing.T) {
	const edition, sum = 11, "5090b6d8db86db06"
	hash := sha256.New()
	for seed := range 20 {
		s := analysistest.Open(t, rapid.Custom(weighty).Example(seed), filepath.Join(t.TempDir(), "a"))
		src, err := analysis.Open(s, analysis.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := judgeAll(src)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(hash, fmt.Sprint(found.rows()))
	}
	if have := fmt.Sprintf("%x", hash.Sum(nil))[:16]; have != sum || currentEdition != edition {
		t.Errorf("edition %d of %s: if rules find something else now, make Edition one more; then write %s here",
			currentEdition, sum, have)
	}
}
