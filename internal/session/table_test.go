package session

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/session/columns"
)

// TestDirect compares the two ways in which rows of the largest packed tables are unpacked, also where a number is out
// of range, which only one of them finds.
func TestDirect(t *testing.T) {
	t.Run("node", func(t *testing.T) { directTest(t, nodeTable) })
	t.Run("site", func(t *testing.T) { directTest(t, siteTable) })
	t.Run("site_value", func(t *testing.T) { directTest(t, siteValueTable) })
	t.Run("site_death", func(t *testing.T) { directTest(t, siteDeathTable) })
	t.Run("gc_birth", func(t *testing.T) { directTest(t, gcBirthTable) })
	t.Run("gc_death", func(t *testing.T) { directTest(t, gcDeathTable) })
	t.Run("timing", func(t *testing.T) { directTest(t, timingTable) })
	t.Run("timing_value", func(t *testing.T) { directTest(t, timingValueTable) })
	t.Run("path_value", func(t *testing.T) { directTest(t, pathValueTable) })
}

func directTest[T comparable](t *testing.T, table table[T]) {
	rapid.Check(t, func(rt *rapid.T) {
		number := rapid.OneOf(rapid.Int64Range(0, math.MaxUint32), rapid.Int64())
		b := &columns.Block{}
		for range table.columns {
			b.Columns = append(b.Columns, []int64{number.Draw(rt, "number")})
		}
		var direct, visited T
		bits := table.direct(b.Columns, 0, &direct)
		c := cells{mode: unpackCells, block: b, columns: b.Columns}
		table.fields(&c, &visited)
		fits := uint64(bits) <= math.MaxUint32
		if fits != !errors.Is(c.err, ErrRange) {
			rt.Fatalf("%v: fits %t, error %v", b.Columns, fits, c.err)
		}
		if fits && direct != visited {
			rt.Fatalf("%v: %+v directly, %+v by its fields", b.Columns, direct, visited)
		}
	})
}
