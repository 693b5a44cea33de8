package dotnettest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// turns are the runtimes for each of eight ways.
func turns(of func(i int) []Runtime) (out []string) {
	for i := range 8 {
		var row []string
		for _, r := range of(i) {
			row = append(row, r.Name)
		}
		out = append(out, strings.Join(row, " "))
	}
	return out
}

// TestTurns: which runtimes a test is run on.
func TestTurns(t *testing.T) {
	t.Setenv(suiteVariable, "")
	in := &Install{runtimes: []Runtime{{Name: "10"}, {Name: "9"}, {Name: "8"}, {Name: "6"}}}
	one := func(runtimes []Runtime) func(i int) []Runtime {
		return func(i int) []Runtime { return OneInTurn(runtimes, i) }
	}
	for _, tt := range []struct {
		have, want []string
	}{
		{turns(in.InTurn), []string{"10 9 8 6", "10 9", "10 8", "10 6", "10 9", "10 8", "10 6", "10 9"}},
		{turns(one(in.Runtimes())), []string{"10 9 8 6", "6", "10", "8", "10", "9", "10", "6"}},
		{turns(one(in.NewestAndOldest())), []string{"10 6", "6", "10", "6", "10", "6", "10", "6"}},
		{turns(one(in.runtimes[:1])), []string{"10", "10", "10", "10", "10", "10", "10", "10"}},
	} {
		if d := cmp.Diff(tt.want, tt.have); d != "" {
			t.Error(d)
		}
	}
	alone := &Install{runtimes: in.runtimes[:1]}
	if n := len(alone.NewestAndOldest()) + len(alone.InTurn(3)); n != 2 {
		t.Errorf("of the only runtime there are %d runs, want 2", n)
	}
	t.Setenv(suiteVariable, suiteAll)
	if n := len(OneInTurn(in.Runtimes(), 3)) + len(in.InTurn(3)); n != 8 {
		t.Errorf("of every runtime %d runs, want 8", n)
	}
}

// TestQuickTurns: the quick suite uses the newest runtime and draws few others; with other seeds it draws others, and of
// some seeds together nothing is left out.
func TestQuickTurns(t *testing.T) {
	t.Setenv(suiteVariable, suiteQuick)
	in := &Install{runtimes: []Runtime{{Name: "10"}, {Name: "9"}, {Name: "8"}}}
	seen, runs, cases := map[string]int{}, 0, 0
	const seeds = 300
	for seed := range seeds {
		t.Setenv(SeedVariable, fmt.Sprint(seed))
		all, ways := in.Runtimes(), turns(in.InTurn)
		var twice [2][]string
		for i := range twice {
			twice[i] = turns(in.InTurn)
		}
		if d := cmp.Diff(twice[0], twice[1]); d != "" {
			t.Errorf("the same seed draws others: %s", d)
		}
		if all[0].Name != "10" || len(all) > 2 || len(in.NewestAndOldest()) > 2 {
			t.Errorf("seed %d: %v", seed, all)
		}
		runs += len(all)
		for i, way := range ways[1:] {
			seen[fmt.Sprint(i, way)]++
		}
		for i := range 9 {
			if Drawn(i, 3) {
				cases++
			}
		}
	}
	if len(seen) != 7*3 {
		t.Errorf("seen are %v", seen)
	}
	for way, n := range seen {
		if n < seeds/10 {
			t.Errorf("%s is drawn %d times of %d", way, n, seeds)
		}
	}
	if least, most := seeds+seeds/5, 2*seeds-seeds/2; runs < least || runs > most {
		t.Errorf("%d runs of %d tests, want %d to %d", runs, seeds, least, most)
	}
	if cases < 2*seeds || cases > 4*seeds {
		t.Errorf("of %d cases %d are drawn, want a third", 9*seeds, cases)
	}
}

// TestSome: the quick suite tries the first of several ways always, and with many seeds each of the others; the other
// suites try all.
func TestSome(t *testing.T) {
	ways := []string{"a", "b", "c", "d"}
	t.Setenv(suiteVariable, "")
	if d := cmp.Diff(ways, Some(ways)); d != "" {
		t.Error(d)
	}
	t.Setenv(suiteVariable, suiteQuick)
	seen := map[string]int{}
	const seeds = 400
	for seed := range seeds {
		t.Setenv(SeedVariable, fmt.Sprint(seed))
		some := Some(ways)
		if some[0] != "a" || len(some) > 2 {
			t.Errorf("seed %d: %v", seed, some)
		}
		for _, way := range some {
			seen[way]++
		}
	}
	for _, way := range ways {
		if n := seen[way]; n < seeds/6 {
			t.Errorf("%s is tried %d times of %d", way, n, seeds)
		}
	}
	if one := Some(ways[:1]); len(one) != 1 {
		t.Errorf("of one way: %v", one)
	}
}

// TestPaired: of a product the quick suite runs as few cases as have each value of both kinds, and with other seeds others.
func TestPaired(t *testing.T) {
	t.Setenv(suiteVariable, suiteQuick)
	for _, size := range [][2]int{{1, 1}, {2, 8}, {8, 2}, {4, 5}, {3, 3}} {
		m, n := size[0], size[1]
		ever := map[[2]int]bool{}
		for seed := range 200 {
			t.Setenv(SeedVariable, fmt.Sprint(seed))
			rows, columns, cases := map[int]bool{}, map[int]bool{}, 0
			for i := range m {
				for j := range n {
					if Paired(i, m, j, n) {
						rows[i], columns[j], ever[[2]int{i, j}] = true, true, true
						cases++
					}
				}
			}
			if len(rows) != m || len(columns) != n || cases > max(m, n)+min(m, n) {
				t.Fatalf("of %d x %d, %d cases have %d and %d values", m, n, cases, len(rows), len(columns))
			}
		}
		if len(ever) != m*n {
			t.Errorf("of %d x %d only %d cases are ever drawn", m, n, len(ever))
		}
	}
	t.Setenv(suiteVariable, "")
	if !Paired(0, 2, 0, 2) || !Paired(0, 2, 1, 2) {
		t.Error("by hand the product is not whole")
	}
}
