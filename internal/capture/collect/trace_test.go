package collect

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/session/calltrace"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

func chunkOf(state, thread uint32, sequence uint64, events uint32) wire.TraceChunk {
	c := wire.TraceChunk{Head: wire.TraceChunkHead{State: state, Thread: thread, Used: events,
		Kept: wire.TraceAllKept, Sequence: sequence}}
	for i := range min(events, wire.TraceChunkEvents) {
		c.Events[i] = wire.TraceEvent{Ticks: uint64(i), Value: 1, What: 1<<wire.TraceKindBits | wire.TraceEnter}
	}
	return c
}

// TestDrain: chunks that are full are stored and given back; one that a thread writes into is stored in the end, and a
// number of events that cannot be is cut.
func TestDrain(t *testing.T) {
	dir := t.TempDir()
	a := wiretest.New()
	a.Capacity = 1 << 19
	a.Header.Data |= wire.DataTime | wire.DataTrace
	a.Trace = []wire.TraceChunk{chunkOf(wire.TraceFull, 1, 1, 3), chunkOf(wire.TraceFree, 2, 9, 7),
		chunkOf(wire.TraceTaken, 1, 3, 2), chunkOf(wire.TraceFull, 2, 2, math.MaxUint32)}
	path := filepath.Join(dir, "40000000-3e8.arena")
	if err := a.Write(path); err != nil {
		t.Fatal(err)
	}
	store, err := calltrace.Create(filepath.Join(dir, "events"), math.MaxInt64, calltrace.First)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tr := newTracer(folder(t, dir), store)
	defer tr.close()
	tr.note(tr.find())
	if !tr.drain(false) || tr.drain(false) || store.Events() != 3+wire.TraceChunkEvents {
		t.Errorf("%d events", store.Events())
	}
	states := func() (out []uint32) {
		reader, err := arena.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		chunks := reader.TraceChunks()
		for i := range chunks {
			head, _ := arena.TraceChunk(&chunks[i])
			out = append(out, head.State)
		}
		h, err := reader.Header()
		if err != nil || h.TraceFreed != 2 {
			t.Errorf("%d chunks were given back: %v", h.TraceFreed, err)
		}
		return out
	}
	for i, state := range states() {
		if want := []uint32{wire.TraceFree, wire.TraceFree, wire.TraceTaken, wire.TraceFree}[i]; state != want {
			t.Errorf("chunk %d has state %d, want %d", i, state, want)
		}
	}
	tr.drainLast()
	if store.Events() != 3+wire.TraceChunkEvents+2 || tr.err != nil {
		t.Errorf("%d events: %v", store.Events(), tr.err)
	}
	if err := tr.discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(store.Path()); err == nil {
		t.Error("the store is still there")
	}
}
