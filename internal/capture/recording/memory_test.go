package recording_test

import (
	"runtime"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
)

// TestMemoryOfTimings: a timing with a node of its own takes 55 bytes of the recording at most, between slices.
func TestMemoryOfTimings(t *testing.T) {
	s := newSource(t)
	s.thread = s.process.AddThread(session.Thread{OSID: 70, Begin: 150})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // pools keep what they have through the first one
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const timings, most = 1 << 18, 55
	before := uint64(0)
	err := s.r.Batch(func() error {
		values, rows := make([]session.TimingValue, 1<<10), make([]int32, 1<<10)
		for i := range timings {
			node := s.process.Node(s.inner, s.work, session.InstructionID(i+1))
			if _, err := s.process.Timing(s.thread.ID(), node); err != nil {
				return err
			}
			n := i % len(values)
			values[n], rows[n] = session.TimingValue{Calls: 1, Ended: 1, Elapsed: 100}, int32(i)
			if n+1 < len(values) {
				continue
			}
			if err := s.process.WriteTimings(); err != nil {
				return err
			}
			if err := s.process.GrowTimings(rows, values, false); err != nil {
				return err
			}
			if i+1 == timings/2 { // what is written has made its buffers
				before = heap()
			}
		}
		return s.process.WriteGrown()
	})
	if err != nil {
		t.Fatal(err)
	}
	if each := float64(heap()-before) / (timings / 2); each > most {
		t.Errorf("a timing takes %.1f bytes", each)
	}
	runtime.KeepAlive(s)
}
