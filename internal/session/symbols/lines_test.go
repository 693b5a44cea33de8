package symbols

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session"
)

const (
	noMapping = session.ILNoMapping
	prolog    = session.ILProlog
	epilog    = session.ILEpilog
)

// TestMapIL maps return addresses by hand-made maps.
func TestMapIL(t *testing.T) {
	usual := []session.ILPoint{{Native: 0, IL: prolog}, {Native: 8, IL: 0}, {Native: 20, IL: 7}, {Native: 40, IL: 3},
		{Native: 60, IL: epilog}, {Native: 70, IL: noMapping}}
	ties := []session.ILPoint{{Native: 0, IL: prolog}, {Native: 0, IL: 0}, {Native: 10, IL: 4}, {Native: 10, IL: 9},
		{Native: 10, IL: noMapping}, {Native: 30, IL: epilog}}
	inlined := []session.ILPoint{{Native: 0, IL: prolog}, {Native: 5, IL: noMapping}, {Native: 9, IL: 6},
		{Native: 20, IL: noMapping}, {Native: 30, IL: noMapping}, {Native: 40, IL: 19}, {Native: 40, IL: epilog},
		{Native: 50, IL: noMapping}}
	for _, c := range []struct {
		points []session.ILPoint
		native int64
		want   int64
	}{
		{usual, 1, 0},    // in the prolog
		{usual, 8, 0},    // the call before the first statement
		{usual, 9, 0},    // in the first statement
		{usual, 20, 0},   // its last call returns to the next statement
		{usual, 21, 7},   // in the second
		{usual, 41, 3},   // code is not in the order of the source
		{usual, 61, 3},   // in the epilog
		{usual, 71, -1},  // code of no statement, after the epilog
		{usual, 500, -1}, // beyond the body, as far as the map says
		{usual, 0, -1},   // nothing returns to the first byte
		{usual, -5, -1},
		{nil, 10, -1},
		{ties, 1, 0},
		{ties, 10, 0},
		{ties, 11, 9}, // the last statement of those at one place
		{ties, 31, 9},
		{inlined, 7, 0},   // between the prolog and the first statement
		{inlined, 25, 6},  // in the middle of a statement
		{inlined, 35, 6},  // and further on
		{inlined, 45, 19}, // the epilog, and a statement that made no other code
		{inlined, 55, -1}, // moved out of line
		{[]session.ILPoint{{Native: 5, IL: 2}}, 5, -1}, // before the first entry
		{[]session.ILPoint{{Native: 0, IL: noMapping}, {Native: 5, IL: epilog}}, 9, -1},
	} {
		point, ok := mapIL(c.points, c.native)
		have := int64(point.IL)
		if !ok {
			have = -1
		}
		if have != c.want {
			t.Errorf("native offset %d: have IL %d, want %d", c.native, have, c.want)
		}
	}
}

// TestMapILIsTheLastBefore compares with the plain definition, for maps without
// special entries: of the entries at the largest native offset below the return
// address, the largest IL offset.
func TestMapILIsTheLastBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []session.ILPoint
		native := uint32(0)
		for range rapid.IntRange(0, 20).Draw(t, "entries") {
			native += rapid.Uint32Range(0, 3).Draw(t, "step")
			points = append(points, session.ILPoint{Native: native, IL: rapid.Uint32Range(0, 50).Draw(t, "il")})
		}
		at := rapid.Int64Range(0, 70).Draw(t, "return offset")
		bestNative, bestIL := int64(-1), int64(-1)
		for _, p := range points {
			if n := int64(p.Native); n < at && (n > bestNative || n == bestNative && int64(p.IL) > bestIL) {
				bestNative, bestIL = n, int64(p.IL)
			}
		}
		point, ok := mapIL(points, at)
		if have := int64(point.IL); ok != (bestIL >= 0) || ok && have != bestIL {
			t.Fatalf("have %d %v, want %d", have, ok, bestIL)
		}
	})
}
