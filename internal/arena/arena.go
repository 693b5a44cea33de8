// Package arena maps the file that an agent writes and shows it as Go values.
//
// Problem: an arena may still be growing, its writer may have been killed in the middle of a store, and it can hold
// tens of millions of rows. So nothing is copied: the fixed-size tables are slices over the mapping, cut at the
// "used" mark that the agent stores after the rows themselves. Counters of a site are plain words with one writer;
// a read beside a write sees the old or the new value of each word (x86-64 and arm64: aligned 64-bit loads are
// atomic), so objects and bytes of one site can be one allocation apart while the target runs, and are exact after it.
//
// This is the only package that uses unsafe.
package arena

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/wire"
)

// Arena is one process's tables. It is used by one goroutine.
type Arena struct {
	data   []byte
	header *wire.Header // as it was at Open; only the parts that never change are used from it
}

// Open maps the arena file at path. The error wraps wire.ErrCorrupt if the file is not one.
func Open(path string) (*Arena, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open arena: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open arena: %w", err)
	}
	if st.Size() < wire.HeaderSize {
		return nil, fmt.Errorf("open arena %s: %w: %d bytes", path, wire.ErrCorrupt, st.Size())
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map arena %s: %w", path, err)
	}
	a := &Arena{data: data}
	if err := a.check(); err != nil {
		a.Close()
		return nil, fmt.Errorf("open arena %s: %w", path, err)
	}
	return a, nil
}

// FromBytes shows an arena that is in memory; for tests. The bytes must be aligned to 8.
func FromBytes(data []byte) (*Arena, error) {
	if len(data) > 0 && uintptr(unsafe.Pointer(&data[0]))%8 != 0 {
		return nil, fmt.Errorf("%w: bytes are not aligned", wire.ErrCorrupt)
	}
	a := &Arena{data: data}
	if err := a.check(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Arena) check() error {
	h, err := wire.DecodeHeader(a.data)
	if err != nil {
		return err
	}
	for i, r := range h.Regions {
		size := uint64(len(a.data))
		if r.Offset < wire.HeaderSize || r.Offset%8 != 0 || r.Offset > size || r.Capacity > size-r.Offset {
			return fmt.Errorf("%w: region %d at %d, %d bytes, lies outside the file", wire.ErrCorrupt, i, r.Offset, r.Capacity)
		}
	}
	a.header = h
	return nil
}

// Close unmaps the file. Slices taken from the arena must not be used any more.
func (a *Arena) Close() error {
	data := a.data
	a.data = nil
	return unix.Munmap(data)
}

// Header returns the header as it is now.
func (a *Arena) Header() (*wire.Header, error) { return wire.DecodeHeader(a.data) }

// Log returns the records written so far; see wire.Next.
func (a *Arena) Log() []byte { return a.region(wire.RegionLog) }

// IPs returns the return addresses met so far, by id.
func (a *Arena) IPs() []wire.IP { return rows[wire.IP](a.region(wire.RegionIPs)) }

// Nodes returns the calling-context tree so far, by id.
func (a *Arena) Nodes() []wire.Node { return rows[wire.Node](a.region(wire.RegionNodes)) }

// Sites returns the sites so far, in the order of their making. Their counters may still grow.
func (a *Arena) Sites() []wire.Site { return rows[wire.Site](a.region(wire.RegionSites)) }

// Fates returns what became of the objects of each site, by the index of Sites; empty without lifetime. They change at
// the end of a garbage collection, all at once for a reader that does not look during one.
func (a *Arena) Fates() []wire.Fate { return rows[wire.Fate](a.region(wire.RegionFates)) }

// Ages returns the ages of dead objects; wire.Fate refers to them.
func (a *Arena) Ages() []wire.Ages { return rows[wire.Ages](a.region(wire.RegionAges)) }

// Timings returns the calling-context trees of all threads so far; a timing's number is its index plus one. Their
// counters may still grow: see Timing.
func (a *Arena) Timings() []wire.Timing { return rows[wire.Timing](a.region(wire.RegionTimings)) }

// Waits returns what the operating system did; wire.Timing refers to them. They may still grow: see Waits.
func (a *Arena) Waits() []wire.Waits { return rows[wire.Waits](a.region(wire.RegionWaits)) }

// Clocks returns where the threads stand; a thread's id is its index plus one. They change: see Clock.
func (a *Arena) Clocks() []wire.Clock { return rows[wire.Clock](a.region(wire.RegionClocks)) }

// Activations returns the calls that have not ended, of all threads: wire.Clock says which are whose. Those of a thread
// that runs change.
func (a *Arena) Activations() []wire.Activation {
	return rows[wire.Activation](a.region(wire.RegionActivations))
}

// readings is how often a timing is read to find its counters at rest. A thread is between the additions to two of them
// for nanoseconds, unless it is interrupted there.
const readings = 4

// Timing reads a timing while its thread may change it: each field whole, and in an order in which what is counted later
// is read first. So calls that ended are not more than calls that began. Elapsed times can be an interval ahead of the
// calls, and, if the thread was interrupted between the two, of what of them is counted as waited.
func Timing(t *wire.Timing) wire.Timing {
	out := wire.Timing{Parent: t.Parent, Function: t.Function, ReturnAddress: t.ReturnAddress, Thread: t.Thread}
	for range readings {
		out.IP, out.LeadWaits, out.TailWaits = atomic.LoadUint32(&t.IP), atomic.LoadUint32(&t.LeadWaits), atomic.LoadUint32(&t.TailWaits)
		out.Unmatched, out.Folded = atomic.LoadUint64(&t.Unmatched), atomic.LoadUint64(&t.Folded)
		out.Ended = atomic.LoadUint64(&t.Ended)
		out.TailWaited = atomic.LoadUint64(&t.TailWaited)
		out.LeadWaited = atomic.LoadUint64(&t.LeadWaited)
		out.TailElapsed = atomic.LoadUint64(&t.TailElapsed)
		out.LeadElapsed = atomic.LoadUint64(&t.LeadElapsed)
		out.Calls = atomic.LoadUint64(&t.Calls)
		for i := range t.Min {
			out.Min[i] = atomic.LoadUint64(&t.Min[i])
			out.Max[i] = atomic.LoadUint64(&t.Max[i])
		}
		if out.TailWaited == atomic.LoadUint64(&t.TailWaited) && out.LeadWaited == atomic.LoadUint64(&t.LeadWaited) {
			break
		}
	}
	return out
}

// Waits reads a row of waits while its thread may change it, each field whole.
func Waits(w *wire.Waits) wire.Waits {
	return wire.Waits{Intervals: atomic.LoadUint64(&w.Intervals), Voluntary: atomic.LoadUint64(&w.Voluntary),
		Preempted: atomic.LoadUint64(&w.Preempted), Faults: atomic.LoadUint64(&w.Faults), Reads: atomic.LoadUint64(&w.Reads),
		OffNS: atomic.LoadUint64(&w.OffNS)}
}

// Clock reads where a thread stands while it may go on, each field whole.
func Clock(c *wire.Clock) wire.Clock {
	return wire.Clock{Depth: atomic.LoadUint32(&c.Depth), Capacity: atomic.LoadUint32(&c.Capacity),
		Activations: atomic.LoadUint64(&c.Activations), Elapsed: atomic.LoadUint64(&c.Elapsed), Waited: atomic.LoadUint64(&c.Waited),
		Calls: atomic.LoadUint64(&c.Calls), Last: atomic.LoadUint64(&c.Last), Mechanism: atomic.LoadUint32(&c.Mechanism),
		Own: atomic.LoadUint64(&c.Own)}
}

// Activation reads a call that has not ended while it may end, each field whole.
func Activation(a *wire.Activation) wire.Activation {
	return wire.Activation{CallerSP: atomic.LoadUint64(&a.CallerSP), Timing: atomic.LoadUint32(&a.Timing), Flags: atomic.LoadUint32(&a.Flags),
		Elapsed: atomic.LoadUint64(&a.Elapsed), Waited: atomic.LoadUint64(&a.Waited), ChildElapsed: atomic.LoadUint64(&a.ChildElapsed),
		ChildWaited: atomic.LoadUint64(&a.ChildWaited), Calls: atomic.LoadUint64(&a.Calls), Children: atomic.LoadUint64(&a.Children)}
}

// Count reads the two counters of a site, each whole.
func Count(s *wire.Site) (objects, bytes uint64) {
	return atomic.LoadUint64(&s.Objects), atomic.LoadUint64(&s.Bytes)
}

// region returns the valid part of a region. A mark beyond the capacity is cut: the target can overwrite its own
// memory, and what is read is checked again by whoever decodes it.
func (a *Arena) region(r wire.Region) []byte {
	offset := unsafe.Offsetof(wire.Header{}.Regions) + uintptr(r)*unsafe.Sizeof(wire.RegionEntry{}) +
		unsafe.Offsetof(wire.RegionEntry{}.Used)
	used := atomic.LoadUint64((*uint64)(unsafe.Pointer(&a.data[offset])))
	entry := a.header.Regions[r]
	return a.data[entry.Offset:][:min(used, entry.Capacity)]
}

func rows[T any](b []byte) []T {
	var row T
	n := uintptr(len(b)) / unsafe.Sizeof(row)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
