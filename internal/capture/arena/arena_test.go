package arena_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// seed is an arena that the agent wrote; see internal/wire.
func seed(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../wire/testdata/agent.arena")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// aligned copies bytes to memory that begins at a multiple of 8.
func aligned(b []byte) []byte {
	words := make([]uint64, len(b)/8+1)
	out := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))[:len(b)]
	copy(out, b)
	return out
}

func header(t testing.TB, b []byte) *wire.Header {
	t.Helper()
	h, err := wire.DecodeHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// withHeader returns the seed with a changed header.
func withHeader(t testing.TB, change func(h *wire.Header)) []byte {
	t.Helper()
	b := seed(t)
	h := header(t, b)
	change(h)
	encoded, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		t.Fatal(err)
	}
	copy(b, encoded)
	return b
}

// TestOpen reads every table through a mapping and compares with a decoding of the bytes.
func TestOpen(t *testing.T) {
	b := seed(t)
	h := header(t, b)
	path := filepath.Join(t.TempDir(), "1-2.arena")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := arena.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	have, err := a.Header()
	if err != nil || *have != *h {
		t.Errorf("%+v, %v", have, err)
	}
	if e := h.Regions[wire.RegionLog]; !bytes.Equal(a.Log(), b[e.Offset:][:e.Used]) {
		t.Error("the log differs")
	}
	checkTable(t, b, h, wire.RegionIPs, a.IPs())
	checkTable(t, b, h, wire.RegionNodes, a.Nodes())
	checkTable(t, b, h, wire.RegionSites, a.Sites())
	for i := range a.Sites() {
		s := &a.Sites()[i]
		if objects, n := arena.Count(s); objects != s.Objects || n != s.Bytes || objects == 0 {
			t.Errorf("site %d: %d objects, %d bytes", i, objects, n)
		}
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func checkTable[T comparable](t *testing.T, b []byte, h *wire.Header, r wire.Region, have []T) {
	t.Helper()
	e := h.Regions[r]
	want := make([]T, e.Used/uint64(unsafe.Sizeof(*new(T))))
	if _, err := binary.Decode(b[e.Offset:], binary.LittleEndian, want); err != nil {
		t.Fatal(err)
	}
	if len(have) != len(want) || len(have) == 0 {
		t.Fatalf("region %d: %d rows, want %d", r, len(have), len(want))
	}
	for i := range want {
		if have[i] != want[i] {
			t.Errorf("region %d row %d: have %+v, want %+v", r, i, have[i], want[i])
		}
	}
}

// TestTimes reads made-up tables of times.
func TestTimes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := wiretest.New()
		want.Timings = rapid.SliceOfN(rapid.Make[wire.Timing](), 1, 5).Draw(rt, "timings")
		want.Waits = rapid.SliceOfN(rapid.Make[wire.Waits](), 1, 5).Draw(rt, "waits")
		want.Clocks = rapid.SliceOfN(rapid.Make[wire.Clock](), 1, 5).Draw(rt, "clocks")
		want.Activations = rapid.SliceOfN(rapid.Make[wire.Activation](), 1, 5).Draw(rt, "activations")
		b, err := want.Compact()
		if err != nil {
			rt.Fatal(err)
		}
		a, err := arena.FromBytes(aligned(b))
		if err != nil {
			rt.Fatal(err)
		}
		have := wiretest.Arena{}
		for i := range a.Timings() {
			have.Timings = append(have.Timings, arena.Timing(&a.Timings()[i]))
		}
		for i := range a.Waits() {
			have.Waits = append(have.Waits, arena.Waits(&a.Waits()[i]))
		}
		for i := range a.Clocks() {
			have.Clocks = append(have.Clocks, arena.Clock(&a.Clocks()[i]))
		}
		for i := range a.Activations() {
			have.Activations = append(have.Activations, arena.Activation(&a.Activations()[i]))
		}
		for i := range want.Clocks {
			want.Clocks[i].Reserved = 0
		}
		for i := range want.Timings {
			want.Timings[i].First, want.Timings[i].Next, want.Timings[i].Present = 0, 0, 0 // only the agent's
		}
		if !slices.Equal(have.Timings, want.Timings) || !slices.Equal(have.Waits, want.Waits) ||
			!slices.Equal(have.Clocks, want.Clocks) ||
			!slices.Equal(have.Activations, want.Activations) {
			rt.Errorf("have %+v, want %+v", have, want)
		}
	})
}

// TestTimingChanges reads a timing as fast as it can while another thread counts in it.
func TestTimingChanges(t *testing.T) {
	var x wire.Timing
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := uint64(1); !stop.Load(); i++ {
			atomic.StoreUint64(&x.LeadElapsed, i)
			atomic.StoreUint64(&x.Calls, i)
			atomic.StoreUint64(&x.TailElapsed, 2*i)
			atomic.StoreUint64(&x.TailWaited, i)
			atomic.StoreUint64(&x.Ended, i)
		}
	}()
	last := wire.Timing{}
	for range 200_000 {
		now := arena.Timing(&x)
		if now.Ended > now.Calls || now.TailWaited > now.TailElapsed {
			t.Fatalf("%+v", now)
		}
		if now.Calls < last.Calls || now.Ended < last.Ended || now.TailElapsed < last.TailElapsed ||
			now.TailWaited < last.TailWaited {
			t.Fatalf("%+v after %+v", now, last)
		}
		last = now
	}
	stop.Store(true)
	<-done
}

func TestOpenErrors(t *testing.T) {
	const size = 19300 // about the seed's
	hostile := func(change func(r *wire.RegionEntry)) []byte {
		return withHeader(t, func(h *wire.Header) { change(&h.Regions[wire.RegionNodes]) })
	}
	for _, c := range []struct {
		name, message string
		b             []byte
	}{
		{"empty", "0 bytes", nil},
		{"less than a header", "100 bytes", seed(t)[:100]},
		{"no arena", "no magic number", bytes.Repeat([]byte("x"), size)},
		{"cut in the last region", "region 15", seed(t)[:len(seed(t))-8]},
		{"cut after the header", "region 0", seed(t)[:wire.HeaderSize]},
		{"of another version", "layout version", withHeader(t, func(h *wire.Header) { h.Version++ })},
		{"region in the header", "region 2", hostile(func(r *wire.RegionEntry) { r.Offset = wire.HeaderSize - 8 })},
		{"region at 0", "region 2", hostile(func(r *wire.RegionEntry) { r.Offset = 0 })},
		{"region not aligned", "region 2", hostile(func(r *wire.RegionEntry) { r.Offset += 4 })},
		{"region behind the end", "region 2", hostile(func(r *wire.RegionEntry) { r.Offset = 1 << 40 })},
		{"offset of almost everything", "region 2", hostile(func(r *wire.RegionEntry) {
			r.Offset = math.MaxUint64 &^ 7
		})},
		{"capacity of everything", "region 2", hostile(func(r *wire.RegionEntry) { r.Capacity = math.MaxUint64 })},
		{"offset and capacity wrap around", "region 2", hostile(func(r *wire.RegionEntry) { r.Capacity = -r.Offset })},
	} {
		path := filepath.Join(t.TempDir(), "1-2.arena")
		if err := os.WriteFile(path, c.b, 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := arena.Open(path); !errors.Is(err, wire.ErrCorrupt) || a != nil ||
			!strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: Open: %v", c.name, err)
		}
		if a, err := arena.FromBytes(aligned(c.b)); !errors.Is(err, wire.ErrCorrupt) || a != nil {
			t.Errorf("%s: FromBytes: %v", c.name, err)
		}
	}
	if a, err := arena.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) || a != nil {
		t.Errorf("no file: %v", err)
	}
	if a, err := arena.FromBytes(aligned(append([]byte{0}, seed(t)...))[1:]); !errors.Is(err, wire.ErrCorrupt) ||
		a != nil {
		t.Errorf("not aligned: %v", err)
	}
}

// TestOpenMapsWhatHasMemory: of a file with holes only the parts with memory are mapped, and more when there is more.
// So nobody who reads this process's memory fills the holes.
func TestOpenMapsWhatHasMemory(t *testing.T) {
	const capacity, backed = 64 << 20, 64 << 10
	h := header(t, seed(t))
	for i := range h.Regions {
		h.Regions[i] = wire.RegionEntry{Offset: wire.HeaderSize + uint64(i)*capacity, Capacity: capacity,
			Used: backed / 2, Backed: backed}
	}
	path := filepath.Join(t.TempDir(), "1-2.arena")
	write := func() {
		encoded, err := binary.Append(nil, binary.LittleEndian, h)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			_, err = f.WriteAt(encoded, 0)
		}
		if err := errors.Join(err, os.Truncate(path, wire.HeaderSize+wire.RegionCount*capacity),
			f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write()
	a, err := arena.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := mappedBytes(t, path); n != wire.HeaderSize {
		t.Errorf("%d bytes are mapped at first", n)
	}
	a.Nodes()
	a.Sites()
	if n := mappedBytes(t, path); n != wire.HeaderSize+2*backed {
		t.Errorf("%d bytes are mapped for two tables", n)
	}
	h.Regions[wire.RegionNodes].Used, h.Regions[wire.RegionNodes].Backed = 3*backed, 4*backed
	write()
	if n := len(a.Nodes()); n != 3*backed/24 {
		t.Errorf("%d nodes", n)
	}
	if n := mappedBytes(t, path); n != wire.HeaderSize+5*backed {
		t.Errorf("%d bytes are mapped after one table grew", n)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if n := mappedBytes(t, path); n != 0 {
		t.Errorf("%d bytes are mapped at the end", n)
	}
}

// mappedBytes adds up this process's mappings of a file.
func mappedBytes(t *testing.T, path string) (n uint64) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var begin, end uint64
		if strings.HasSuffix(line, path+"\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &begin, &end); err != nil {
				t.Fatal(err)
			}
			n += end - begin
		}
	}
	return n
}

// TestUsedBeyondCapacity: the target can write anything into its arena, also while it is read.
func TestUsedBeyondCapacity(t *testing.T) {
	b := aligned(seed(t))
	h := header(t, b)
	a, err := arena.FromBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	nodes := len(a.Nodes())
	for _, used := range []uint64{math.MaxUint64, h.Regions[wire.RegionNodes].Capacity + 24, 1 << 50} {
		encoded := withHeader(t, func(h *wire.Header) { h.Regions[wire.RegionNodes].Used = used })
		copy(b, encoded[:wire.HeaderSize])
		if n := uint64(len(a.Nodes())); n != h.Regions[wire.RegionNodes].Capacity/24 || int(n) < nodes {
			t.Errorf("used %d: %d nodes", used, n)
		}
	}
	copy(b, withHeader(t, func(h *wire.Header) { h.Regions[wire.RegionNodes].Used = 23 })[:wire.HeaderSize])
	if a.Nodes() != nil {
		t.Error("a part of a row is a row")
	}
	// Regions that move after Open are not followed.
	copy(b, withHeader(t, func(h *wire.Header) { h.Regions[wire.RegionNodes].Offset = 1 << 40 })[:wire.HeaderSize])
	if n := len(a.Nodes()); n != nodes {
		t.Errorf("%d nodes, want %d", n, nodes)
	}
	b[0] ^= 1
	if _, err := a.Header(); !errors.Is(err, wire.ErrCorrupt) {
		t.Errorf("the header was overwritten: %v", err)
	}
}

func FuzzFromBytes(f *testing.F) {
	f.Add(seed(f))
	f.Add(withHeader(f, func(h *wire.Header) { h.Regions[wire.RegionSites].Used = math.MaxUint64 }))
	f.Add(seed(f)[:wire.HeaderSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := arena.FromBytes(aligned(b))
		if err != nil {
			if !errors.Is(err, wire.ErrCorrupt) || a != nil {
				t.Fatalf("%v, %v", a, err)
			}
			return
		}
		n := len(a.Log()) + 24*len(a.IPs()) + 24*len(a.Nodes()) + 32*len(a.Sites()) +
			int(unsafe.Sizeof(wire.Timing{}))*len(a.Timings()) +
			int(unsafe.Sizeof(wire.Waits{}))*len(a.Waits()) + int(unsafe.Sizeof(wire.Clock{}))*len(a.Clocks()) +
			int(unsafe.Sizeof(wire.Activation{}))*len(a.Activations())
		if n > wire.RegionCount*len(b) {
			t.Fatalf("%d bytes of rows in %d", n, len(b))
		}
		for i := range a.Sites() {
			arena.Count(&a.Sites()[i])
		}
		for i := range a.Timings() {
			arena.Timing(&a.Timings()[i])
		}
	})
}
