package analysis

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawnLines draws the lines of a function, and what each of them does.
func drawnLines(t *rapid.T, name string, n *doings) []comparedLine {
	distances := rapid.SliceOfNDistinct(rapid.Int64Range(0, 9), 0, 5, rapid.ID[int64]).Draw(t, name)
	slices.Sort(distances)
	out := make([]comparedLine, len(distances))
	for i, d := range distances {
		codes := rapid.SliceOfNDistinct(rapid.Int32Range(0, 5), 0, 3, rapid.ID[int32]).Draw(t, name+" does")
		out[i] = comparedLine{at: []int32{int32(i)}, distance: d, does: n.number(codes)}
	}
	return out
}

// likeness is how much two lists of lines have in common: lines that do exactly the same, and parts of others.
type likeness struct{ same, parts int }

func (a likeness) compare(b likeness) int {
	return cmp.Or(cmp.Compare(a.same, b.same), cmp.Compare(a.parts, b.parts))
}

// of adds what two lines have in common. It looks at each code of the one for each of the other.
func (a likeness) of(x, y comparedLine, n *doings) likeness {
	if x.does == y.does && x.does != 0 {
		return likeness{a.same + 1, a.parts}
	}
	for _, c := range n.codes(x.does) {
		for _, d := range n.codes(y.does) {
			if c == d {
				a.parts++
			}
		}
	}
	return a
}

// mostAlike tries all ways to match two lists in their order.
func mostAlike(a, b []comparedLine, n *doings) likeness {
	if len(a) == 0 || len(b) == 0 {
		return likeness{}
	}
	best := mostAlike(a[1:], b, n)
	for j := range b {
		if with := mostAlike(a[1:], b[j+1:], n).of(a[0], b[j], n); with.compare(best) > 0 {
			best = with
		}
	}
	return best
}

// TestMovedLines: lines are matched in the way, of all, in which they do most of the same; they stay where they are if
// that is such a way. So two lines that do something of the same are never one gone and one new, unless a line between
// them was matched across.
func TestMovedLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &doings{}
		a, b := drawnLines(t, "mine", n), drawnLines(t, "theirs", n)
		best, staying := mostAlike(a, b, n), likeness{}
		var pairs [][2]int
		for i, x := range a {
			for j, y := range b {
				if x.distance == y.distance {
					staying, pairs = staying.of(x, y, n), append(pairs, [2]int{i, j})
				}
			}
		}
		got, moved := movedLines(a, b, n)
		if want := best.compare(staying) > 0; moved != want {
			t.Fatalf("moved %v, want %v: %+v where they were, at best %+v", moved, want, staying, best)
		}
		if moved {
			pairs = got
		}
		have := likeness{}
		for i, p := range pairs {
			have = have.of(a[p[0]], b[p[1]], n)
			if i > 0 && (pairs[i-1][0] >= p[0] || pairs[i-1][1] >= p[1]) {
				t.Fatalf("%v is not in the order of the lines", pairs)
			}
		}
		if have != best {
			t.Fatalf("%v have %+v in common, and at best %+v", pairs, have, best)
		}
	})
}
