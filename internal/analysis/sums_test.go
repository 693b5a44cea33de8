package analysis

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
)

// drawNumber draws what is small, what is about to be not, and what only a damaged session has.
func drawNumber(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 9), rapid.Int64Range(math.MaxUint32-2, math.MaxUint32+2),
		rapid.Int64()).Draw(t, "number")
}

func drawSum(t *rapid.T) (q.Time, counts) {
	number := func() int64 { return drawNumber(t) }
	v := q.Time{Elapsed: q.Nanoseconds(number()), Application: q.Nanoseconds(number()), CPU: q.Nanoseconds(number()),
		Overhead: q.Nanoseconds(number())}
	c := counts{calls: q.Count(number()), made: q.Count(number())}
	switch rapid.IntRange(0, 9).Draw(t, "more") {
	case 0:
		v.Voluntary, v.Blocked = q.Count(number()), q.Nanoseconds(number())
	case 1:
		v.Counters[q.MaxCounters-1] = q.Count(number())
	case 2:
		c.running, c.pending = q.Count(number()), q.Count(number())
	}
	return v, c
}

// TestSums: small and large sums are those of whole ones, by row and by group, with what is below them and without.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, groups := rapid.IntRange(1, 12).Draw(t, "nodes"), rapid.IntRange(1, 4).Draw(t, "groups")
		var tree calltree.Tree
		group, got := make([]int32, n), newSums(n)
		times, calls := make([]q.Time, n), make([]counts, n)
		for i := range n {
			tree.Parent = append(tree.Parent, rapid.Int32Range(none, int32(i)-1).Draw(t, "parent"))
			group[i] = rapid.Int32Range(none, int32(groups)-1).Draw(t, "group")
		}
		for range rapid.IntRange(0, 20).Draw(t, "additions") {
			i := rapid.IntRange(0, n-1).Draw(t, "row")
			if rapid.IntRange(0, 9).Draw(t, "clear") == 0 {
				got.clear(int32(i))
				times[i], calls[i] = q.Time{}, counts{}
			}
			v, c := drawSum(t)
			got.add(int32(i), &v, c)
			times[i], calls[i] = times[i].Add(v), calls[i].Add(c)
		}
		compareSums(t, "rows", got, times, calls)
		compareSums(t, "groups", got.group(group, groups), calltree.Sum(times, group, groups),
			calltree.Sum(calls, group, groups))
		if d := differ.Of(calltree.Sum(times, group, groups), got.times(group, groups)); d != "" {
			t.Errorf("times of groups (-put +got):\n%s", d)
		}
		if d := differ.Of(calltree.Sum(calls, group, groups), got.calls(group, groups)); d != "" {
			t.Errorf("calls of groups (-put +got):\n%s", d)
		}
		all, inclusive := got.inclusive(tree), calltree.Inclusive(tree, times)
		compareSums(t, "inclusive", all, inclusive, calltree.Inclusive(tree, calls))
		want := presence{inclusive: calltree.Presence(tree, inclusive, group, groups)}
		walks := rapid.IntRange(1, 4).Draw(t, "walks")
		of := []grouping{{group, groups}, {slices.Repeat([]int32{none}, n), 0}, {make([]int32, n), 1}}
		shown := got.presenceIn(walks, tree, false, of)
		if d := differ.Of(want.inclusive, shown[0].inclusive); d != "" {
			t.Errorf("presence (-put +got):\n%s", d)
		}
		if all := calltree.Presence(tree, inclusive, of[2].of, 1); len(shown[1].inclusive) != 0 ||
			!slices.Equal(all, shown[2].inclusive) {
			t.Errorf("presence of all nodes: %+v, want %v", shown[1:], all)
		}
		for _, one := range calltree.Sum(inclusive, group, groups) {
			want.each = append(want.each, singleTime{one.Elapsed, one.Application, one.CPU})
		}
		have := got.presenceIn(walks, tree, true, of[:1])[0]
		if !slices.Equal(want.inclusive, have.inclusive) || !slices.Equal(want.each, have.each) {
			t.Errorf("presence of each: %v, want %v", have, want)
		}
		compareSums(t, "rows again", got, times, calls)
	})
}

func compareSums(t *rapid.T, what string, got *sums, times []q.Time, calls []counts) {
	t.Helper()
	for i := range times {
		row := int32(i)
		sum := q.Time{}
		got.addTo(&sum, row)
		if sum != times[i] || got.time(row) != times[i] || got.counts(row) != calls[i] ||
			got.hasTime(row) == times[i].IsZero() || got.isZero(row) != (times[i].IsZero() && calls[i].IsZero()) {
			t.Errorf("%s: row %d has %+v %+v, want %+v %+v", what, i, got.time(row), got.counts(row), times[i], calls[i])
		}
	}
}

// TestMeasures: likewise what was measured of timings.
func TestMeasures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, want := measures{small: make([]smallMeasure, 3)}, make([]measured, 3)
		for range rapid.IntRange(0, 20).Draw(t, "additions") {
			i := rapid.Int32Range(0, 2).Draw(t, "timing")
			number := func() int64 { return drawNumber(t) }
			v := measured{calls: q.Count(number()), ended: q.Count(number()), made: q.Count(number()),
				running: q.Count(number()), elapsed: q.Nanoseconds(number()), waited: q.Nanoseconds(number())}
			if rapid.Bool().Draw(t, "acted") {
				v.Waits = q.Waits{Intervals: q.Count(number()), OffCPU: q.Nanoseconds(number())}
			}
			got.add(i, &smallSums{int64(v.calls), int64(v.ended), int64(v.made), int64(v.running), int64(v.elapsed),
				int64(v.waited)}, &v.Waits)
			w := &want[i]
			w.calls, w.ended, w.made, w.running = w.calls+v.calls, w.ended+v.ended, w.made+v.made, w.running+v.running
			w.elapsed, w.waited, w.Waits = w.elapsed+v.elapsed, w.waited+v.waited, w.Waits.Add(v.Waits)
		}
		if d := differ.Of(want, got.all()); d != "" {
			t.Errorf("(-put +got):\n%s", d)
		}
	})
}

// TestExtents: small and large extents widen as whole ones do.
func TestExtents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, want := extents{small: make([]smallExtent, 3)}, make([]extent, 3)
		for range rapid.IntRange(0, 20).Draw(t, "additions") {
			i, e := rapid.Int32Range(0, 2).Draw(t, "path"), extent{known: true}
			for _, r := range e.ranges() {
				*r = session.Range{Min: q.Nanoseconds(drawNumber(t)), Max: q.Nanoseconds(drawNumber(t))}
			}
			got.add(i, &e)
			want[i] = want[i].Add(e)
		}
		for i := range want {
			if e := got.at(int32(i)); e != want[i] {
				t.Errorf("path %d has %+v, want %+v", i, e, want[i])
			}
		}
	})
}
