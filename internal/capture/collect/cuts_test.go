package collect

import (
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/wire"
)

// TestCuts: a slice ends at the mark at which a thread waits for that, unless it waited in vain, or the slice before
// has that already.
func TestCuts(t *testing.T) {
	r, a := newRecording(t), newArena(1)
	a.Header.PID = uint32(os.Getpid()) // a process that runs
	const ms, wait = 1_000_000, quantity.Nanoseconds(wire.CutWait)
	for _, look := range []struct{ cut, now, end quantity.Nanoseconds }{
		{0, 100 * ms, 100 * ms},
		{150 * ms, 170 * ms, 150 * ms},
		{150 * ms, 180 * ms, 180 * ms},           // it is the same mark
		{500 * ms, 500*ms + wait, 500*ms + wait}, // the thread has gone on
		{1 << 62, 1700 * ms, 1700 * ms},          // a time that is none
		{1650 * ms, 1710 * ms, 1710 * ms},        // the slice before has it
		{1900 * ms, 1899*ms + wait, 1900 * ms},   // just in time
		{3000 * ms, 3000 * ms, 3000 * ms},        // at once
		{3002 * ms, 3001 * ms, 3001 * ms},        // not yet
		{3002 * ms, 3003 * ms, 3002 * ms},
	} {
		a.Header.CutNS = uint64(look.cut)
		r.now = look.now - 1e9 // sync adds a second
		r.mustSync(a)
		all, err := r.w.Slices()
		if err != nil || all[len(all)-1].End != look.end {
			t.Errorf("%+v: %v, %v", look, all, err)
		}
	}
	r.check()
}
