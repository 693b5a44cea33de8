package collect_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestWorkOfALook counts the rows that a look adds to the packed tables, which are nearly all of its work: those of
// what was counted since the look before, however much there is. It guards what a recording costs without a clock.
func TestWorkOfALook(t *testing.T) {
	const timings, sites, changed = 3000, 2000, 7
	a := timedArena()
	a.Capacity = 1 << 20
	a.Header.PID = uint32(os.Getpid()) // a process that runs
	a.Header.Data |= wire.DataMemory
	a.Add(wire.Type{ID: 1, Module: 1, Token: 0x02000003, Kind: wire.TypeClass, Names: []string{"N.Type"}})
	main := a.Timing(1, 0, mainFunction, 0)
	calls(&a.Timings[main-1], 1, 0, 0, 300)
	for i := range timings {
		work := a.Timing(1, main, workFunction, 0x1000+uint64(i))
		calls(&a.Timings[work-1], 1, 1, 30, 300)
	}
	for i := range sites {
		a.Site(1, a.Node(0, a.IP(0x1000+uint64(i), mainFunction, mainFunction)), 1, 1, 24)
	}
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	before := map[string]int64{}
	look := func(now int64, want map[string]int64) {
		t.Helper()
		write(t, a, path)
		r.sync(quantity.Nanoseconds(now))
		rows, err := r.writer.PackedRows()
		if err != nil {
			t.Fatal(err)
		}
		added := maps.Clone(rows)
		for table, n := range before {
			added[table] -= n
		}
		maps.DeleteFunc(added, func(_ string, n int64) bool { return n == 0 })
		if before = rows; !maps.Equal(added, want) {
			t.Errorf("the look at %d added the rows %v, want %v", now, added, want)
		}
	}
	// Each call is a function and a place in its caller; of the caller itself there is one more.
	look(1_000_000, map[string]int64{"node": 2*timings + 1, "timing": 2*timings + 1, "timing_value": 2*timings + 1,
		"timing_extreme": timings, "site": sites, "site_value": sites})
	look(2_000_000, map[string]int64{})
	for i := range changed {
		calls(&a.Timings[100*(i+1)], 2, 2, 30, 900)
		a.Sites[100*i].Objects, a.Sites[100*i].Bytes = 2, 48
	}
	look(3_000_000, map[string]int64{"timing_value": 2 * changed, "timing_extreme": changed, "site_value": changed})
	look(4_000_000, map[string]int64{})
	s := r.unchecked()
	equal(t, "slices", get[session.Slice](t)(s.Slices()), []session.Slice{{ID: 1, End: 1_000_000},
		{ID: 2, Begin: 1_000_000, End: 2_000_000}, {ID: 3, Begin: 2_000_000, End: 3_000_000},
		{ID: 4, Begin: 3_000_000, End: 4_000_000}})
}
