package rules

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/analysistest"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
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
		b.Functions[i].RawType = rapid.SampledFrom([]string{"System.String", "A.B",
			"System.Threading.Monitor"}).Draw(rt, "of")
		b.Functions[i].RawName = rapid.SampledFrom([]string{"Concat", "Equals", "Enter"}).Draw(rt, "name")
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
	found, waits, left := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		b := weighty(rt)
		s := analysistest.Open(t, b, filepath.Join(t.TempDir(), "a"))
		sel := analysis.Selection{}
		if rapid.Bool().Draw(rt, "span") {
			sel.To = b.Slices[rapid.IntRange(0, len(b.Slices)-1).Draw(rt, "last")].End
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
	if found < 100 || waits < 20 || left < 20 {
		t.Errorf("%d findings, %d of waits, %d uses left out: too few", found, waits, left)
	}
}

// judgedBy judges by the uses that are asked for, and says how many these are.
func judgedBy(rt *rapid.T, src *analysis.Source, asked func(*facts) *analysis.UsesOf) (out Result, uses int) {
	f, err := gather(src, asked)
	if err != nil {
		rt.Fatal(err)
	}
	f.Each(func(*analysis.Use) { uses++ })
	f.judge(nil, &out)
	return out, uses
}
