package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestPairNumbering: pairs have the numbers that a map gives them, whatever is expected.
func TestPairNumbering(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var have pairNumbering
		var want numbering[pair]
		small := rapid.Int32Range(-1, 20)
		for i, n := 0, rapid.IntRange(0, 400).Draw(rt, "pairs"); i < n; i++ {
			if rapid.IntRange(0, 50).Draw(rt, "what") == 0 {
				have.expect(rapid.IntRange(0, 300).Draw(rt, "expected"))
			}
			key := pair{small.Draw(rt, "above"), small.Draw(rt, "name")}
			if h, w := have.number(key), want.number(key); h != w {
				rt.Fatalf("%v has number %d, want %d", key, h, w)
			}
		}
		if !slices.Equal(have.list, want.list) {
			rt.Fatalf("%v, want %v", have.list, want.list)
		}
	})
}

// oneBuild makes all modules those of one build, so that no line has moved.
func oneBuild(b *sessiontest.Builder) *sessiontest.Builder {
	for i := range b.Modules {
		b.Modules[i].MVID = "one"
	}
	return b
}

// naiveSites returns the bytes of sites by the keys that each is given by itself.
func naiveSites(t *testing.T, v *Source) map[string]int64 {
	t.Helper()
	d, err := Load(v.session)
	if err != nil {
		t.Fatal(err)
	}
	amounts, err := d.SiteAmounts()
	if err != nil {
		t.Fatal(err)
	}
	out, keys := map[string]int64{}, d.Keys()
	for i, a := range amounts {
		out[keys.Site(i)] += int64(a.Bytes)
	}
	return out
}

// TestCompareSites: sites are compared as they are by their keys.
func TestCompareSites(t *testing.T) {
	differences := 0
	for seed := range uint64(40) {
		from := source(t, oneBuild(sessiontest.Random(seed)), Selection{})
		to := source(t, oneBuild(sessiontest.Random(seed/2+100)), Selection{})
		before, after := naiveSites(t, from), naiveSites(t, to)
		want := map[string]string{}
		for _, side := range []map[string]int64{before, after} {
			for key := range side {
				if before[key] != after[key] {
					want[key] = fmt.Sprint(before[key], after[key])
				}
			}
		}
		changes := compared(t, from, to, "sites", "bytes").All()
		areWanted(t, seed, changes, want, func(x *Change) string { return fmt.Sprint(x.Old, x.New) })
		differences += len(changes)
	}
	if differences < 100 {
		t.Errorf("only %d differences", differences)
	}
}

// naiveDoings returns what the lines of a session do in words, from each site and each call by itself.
func naiveDoings(t *testing.T, v *comparedSource, d *Data) []string {
	t.Helper()
	does := make([][]string, len(d.Lines))
	note := func(node int32, text string) {
		if node >= 0 && d.nodeInstruction[node] >= 0 {
			if line := d.instructionLine[d.nodeInstruction[node]]; line >= 0 && !slices.Contains(does[line], text) {
				does[line] = append(does[line], text)
			}
		}
	}
	for i := range d.Sites {
		note(d.siteNode[i], "new "+v.keys.Type(int(d.siteType[i])))
	}
	for i, parent := range d.tree.Parent {
		note(parent, "call "+v.keys.Function(int(d.nodeFunction[i])))
	}
	out := make([]string, len(does))
	for i, words := range does {
		slices.Sort(words)
		out[i] = strings.Join(words, "\n")
	}
	return out
}

// TestDoings: two lines, of one session or of two, have one number if they do the same, and 0 if nothing is known.
func TestDoings(t *testing.T) {
	same := 0
	for seed := range uint64(30) {
		from := source(t, sessiontest.Random(seed), Selection{})
		to := source(t, sessiontest.Random(seed/2+50), Selection{})
		sides, err := prepare([]*Source{from}, []*Source{to}, "functions")
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		var numbers []int32
		var all doings
		for _, v := range []*comparedSource{sides[0][0], sides[1][0]} {
			d, err := v.codeData()
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, naiveDoings(t, v, d)...)
			numbers = append(numbers, v.whatLinesDo(d, rebuilt([]*comparedSource{v}), &all)...)
		}
		for i, x := range words {
			if (x == "") != (numbers[i] == 0) {
				t.Fatalf("seed %d: what does %q has number %d", seed, x, numbers[i])
			}
			for j, y := range words[:i] {
				if (x == y) != (numbers[i] == numbers[j]) {
					t.Fatalf("seed %d: %q and %q have the numbers %d and %d", seed, x, y, numbers[i], numbers[j])
				}
				if x == y && x != "" {
					same++
				}
			}
		}
	}
	if same < 10 {
		t.Errorf("only %d lines did the same as another one", same)
	}
}
