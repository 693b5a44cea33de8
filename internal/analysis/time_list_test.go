package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/calltree"
	"github.com/clrprof/clrprof/internal/differ"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// times draws times, many of which have no waits, or are zero.
func times(rt *rapid.T, n int) []q.Time {
	out, number := make([]q.Time, n), rapid.Int64Range(-2, 9)
	draw := func() q.Nanoseconds { return q.Nanoseconds(number.Draw(rt, "number")) }
	for i := range out {
		switch rapid.IntRange(0, 3).Draw(rt, "kind") {
		case 3:
			out[i].Counters = q.Counters{0, q.Count(draw())}
			fallthrough
		case 2:
			out[i].Waits = q.Waits{Intervals: q.Count(draw()), Blocked: draw()}
			fallthrough
		case 1:
			out[i].Elapsed, out[i].Application, out[i].CPU, out[i].Overhead = draw(), draw(), draw(), draw()
		}
	}
	return out
}

// TestTimeList compares sums over lists of times with those over times.
func TestTimeList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n, groups := rapid.IntRange(0, 12).Draw(rt, "nodes"), 4
		parents, group := make([]int32, n), make([]int32, n)
		for i := range parents {
			parents[i] = rapid.Int32Range(none, int32(i)-1).Draw(rt, "parent")
			group[i] = rapid.Int32Range(none, int32(groups)-1).Draw(rt, "group")
		}
		tree, err := calltree.New(parents)
		if err != nil {
			rt.Fatal(err)
		}
		want, list := times(rt, n), newTimeList(n)
		for i, more := range times(rt, n) { // added in two steps
			first := want[i].Sub(more)
			list.add(int32(i), &first)
			list.add(int32(i), &more)
		}
		if i := int32(n) - 1; i >= 0 && rapid.Bool().Draw(rt, "clear") {
			list.clear(i)
			want[i] = q.Time{}
		}
		for i := range want {
			if list.isZero(int32(i)) != want[i].IsZero() {
				rt.Fatalf("time %d is zero: %t", i, list.isZero(int32(i)))
			}
		}
		inclusive := calltree.Inclusive(tree, want)
		for what, of := range map[string][2][]q.Time{
			"all": {want, list.all()}, "inclusive": {inclusive, list.inclusive(tree).all()},
			"sums": {calltree.Sum(want, group, groups), list.sum(group, groups)},
			"presence": {calltree.Presence(tree, inclusive, group, groups),
				list.inclusive(tree).sumOf(tree.Topmost(group, groups), group, groups)},
		} {
			if diff := differ.Of(of[0], of[1], cmpopts.EquateEmpty()); diff != "" {
				rt.Fatal(what, diff)
			}
		}
	})
}
