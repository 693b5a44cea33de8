// Package arena maps the file that an agent writes and shows it as Go values.
//
// Problem: an arena may still be growing, its writer may have been killed in the middle of a store, and it can hold
// tens of millions of rows. So nothing is copied: the fixed-size tables are slices over the mapping, cut at the
// "used" mark that the agent stores after the rows themselves. Counters of a site are plain words with one writer;
// a read beside a write sees the old or the new value of each word (x86-64 and arm64: aligned 64-bit loads are
// atomic), so objects and bytes of one site can be one allocation apart while the target runs, and are exact after it.
//
// The file is sparse, and reading a hole of a file in shared memory fills it. So addresses are reserved for all of the
// file, and what the agent has asked memory for is mapped when it is first looked at: neither this package nor whoever
// reads this process's memory makes an arena larger than its agent did.
//
// This is the only package that uses unsafe.
package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/wire"
)

// Arena is one process's tables. It is used by one goroutine.
type Arena struct {
	data   []byte
	header *wire.Header             // as it was at Open; only the parts that never change are used from it
	file   *os.File                 // nil: the data is ordinary memory
	mapped [wire.RegionCount]uint64 // bytes from the start of each region
	torn   bool                     // a part could not be mapped: its addresses may be somebody else's now
}

// Open maps the arena file at path. The error wraps wire.ErrCorrupt if the file is not one.
func Open(path string) (*Arena, error) {
	f, err := openfile.OpenRegular(path)
	if err != nil {
		return nil, fmt.Errorf("open arena: %w", err)
	}
	return Map(f)
}

// Map maps an arena file, which is the Arena's from now on. The error wraps wire.ErrCorrupt if the file is not one.
func Map(f *os.File) (*Arena, error) {
	a, err := mapHeader(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open arena %s: %w", f.Name(), err), f.Close())
	}
	if err := Guard(a.check); err != nil {
		return nil, errors.Join(fmt.Errorf("open arena %s: %w", f.Name(), err), a.Close())
	}
	return a, nil
}

// mapHeader reserves addresses for the file and maps its first page.
func mapHeader(f *os.File) (*Arena, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < wire.HeaderSize {
		return nil, fmt.Errorf("%w: %d bytes", wire.ErrCorrupt, st.Size())
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(st.Size()), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("%w: no address space has room for its %d bytes: %w", wire.ErrCorrupt, st.Size(), err)
	}
	a := &Arena{data: unsafe.Slice((*byte)(p), st.Size()), file: f}
	return a, a.mapPart(0, wire.HeaderSize)
}

// mapPart maps the pages of the file that hold the bytes from begin to end. Regions may share a page: it is mapped
// again.
func (a *Arena) mapPart(begin, end uint64) error {
	page := uint64(os.Getpagesize())
	begin &^= page - 1
	end = min((end+page-1)&^(page-1), uint64(len(a.data)))
	_, err := unix.MmapPtr(int(a.file.Fd()), int64(begin), unsafe.Pointer(&a.data[begin]), uintptr(end-begin),
		unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		a.torn = true
		return fmt.Errorf("map: %w", err)
	}
	return nil
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
			return fmt.Errorf("%w: region %d at %d, %d bytes, lies outside the file", wire.ErrCorrupt, i, r.Offset,
				r.Capacity)
		}
	}
	a.header = h
	return nil
}

// Close unmaps the file. Slices taken from the arena must not be used any more.
func (a *Arena) Close() error {
	data := a.data
	a.data = nil
	if a.file == nil {
		return nil
	}
	if a.torn {
		return a.file.Close()
	}
	return errors.Join(unix.MunmapPtr(unsafe.Pointer(&data[0]), uintptr(len(data))), a.file.Close())
}

// LowerMemoryLimit makes the agent take no more memory than so many bytes, all of its tables together; what it has it
// keeps. With FreeTraceChunks it is all that is written into an arena from outside.
func (a *Arena) LowerMemoryLimit(bytes uint64) error {
	return a.write("lower the memory limit", func(f *os.File) error {
		_, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, bytes), int64(unsafe.Offsetof(a.header.MemoryLimit)))
		return err
	})
}

// write opens the file once more, to write into it.
func (a *Arena) write(what string, fn func(f *os.File) error) error {
	if a.file == nil {
		return fmt.Errorf("%s: the arena has no file", what)
	}
	f, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", a.file.Fd()), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return errors.Join(fn(f), f.Close())
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

// SiteTimings returns in which calls the objects of each site were allocated, by the index of Sites; empty where stacks
// say that. They are at least as many as the sites that were asked for before.
func (a *Arena) SiteTimings() []wire.SiteTiming {
	return rows[wire.SiteTiming](a.region(wire.RegionSiteTimings))
}

// SiteSamples returns which sites have samples, by the index of Sites; empty where no objects are sampled.
func (a *Arena) SiteSamples() []wire.SiteSample {
	return rows[wire.SiteSample](a.region(wire.RegionSiteSamples))
}

// Deaths returns what became of the objects of each site, by the index of Sites; empty without lifetime. They change at
// the end of a garbage collection, all at once for a reader that does not look during one.
func (a *Arena) Deaths() []wire.SiteDeaths { return rows[wire.SiteDeaths](a.region(wire.RegionDeaths)) }

// Ages returns the ages of dead objects; wire.SiteDeaths refers to them.
func (a *Arena) Ages() []wire.Ages { return rows[wire.Ages](a.region(wire.RegionAges)) }

// ThreadSets returns the threads that share an id so far. They may still change: see ThreadSet.
func (a *Arena) ThreadSets() []wire.ThreadSet {
	return rows[wire.ThreadSet](a.region(wire.RegionThreadSets))
}

// Scopes returns how often and how long threads were in functions that limit what is recorded; a thread's id is its
// index plus one. They change: see Scope.
func (a *Arena) Scopes() []wire.Scope { return rows[wire.Scope](a.region(wire.RegionScopes)) }

// Interactions returns what is known of calls to databases and over HTTP. They change: see Interaction.
func (a *Arena) Interactions() []wire.Interaction {
	return rows[wire.Interaction](a.region(wire.RegionInteractions))
}

// MeterValues returns what instruments of meters measured, by wire.MeterCounter.ID less one. They change: see
// MeterValue.
func (a *Arena) MeterValues() []wire.MeterValue {
	return rows[wire.MeterValue](a.region(wire.RegionMeterValues))
}

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

// Acted returns extremes; wire.Timing refers to them. They may still change: see Acted.
func (a *Arena) Acted() []wire.Acted { return rows[wire.Acted](a.region(wire.RegionActed)) }

// Inclusives returns the time of folded calls; wire.Timing refers to them. They may still grow: see Inclusive.
func (a *Arena) Inclusives() []wire.Inclusive {
	return rows[wire.Inclusive](a.region(wire.RegionInclusives))
}

// Counts returns what CPU counters counted in the intervals of each timing; none if no counters are read. They may
// still grow: see Counts.
func (a *Arena) Counts() []wire.Counts { return rows[wire.Counts](a.region(wire.RegionCounts)) }

// SystemEvents returns the intervals in which the operating system acted, as far as they are listed. They do not
// change.
func (a *Arena) SystemEvents() []wire.SystemEvent {
	return rows[wire.SystemEvent](a.region(wire.RegionSystemEvents))
}

// SystemCalls returns which system calls were made in these intervals. To be asked for after SystemEvents: what those
// refer to is there.
func (a *Arena) SystemCalls() []wire.SystemCall {
	return rows[wire.SystemCall](a.region(wire.RegionSystemCalls))
}

// TraceChunks returns the chunks of the call trace so far. The agent writes into them, and reads only whether they are
// free: see TraceChunk, FreeTraceChunk.
func (a *Arena) TraceChunks() []wire.TraceChunk {
	return rows[wire.TraceChunk](a.region(wire.RegionTrace))
}

// TraceChunk reads a chunk while a thread may write into it: what it says of itself, and its events so far as they are
// in the file.
func TraceChunk(c *wire.TraceChunk) (head wire.TraceChunkHead, events []byte) {
	h := &c.Head
	head = wire.TraceChunkHead{State: atomic.LoadUint32(&h.State), Thread: h.Thread, Used: atomic.LoadUint32(&h.Used),
		Kept: h.Kept, Sequence: h.Sequence, Lost: h.Lost, LostTicks: h.LostTicks}
	head.Used = min(head.Used, wire.TraceChunkEvents) // the target can overwrite its own memory
	return head, unsafe.Slice((*byte)(unsafe.Pointer(&c.Events[0])), uintptr(head.Used)*unsafe.Sizeof(c.Events[0]))
}

// FreeTraceChunks gives chunks of which nothing will be read any more back to the agent; before: how many were, in all.
func (a *Arena) FreeTraceChunks(chunks []int, before uint64) error {
	return a.write("give back parts of the call trace", func(f *os.File) error {
		for _, i := range chunks {
			at := a.header.Regions[wire.RegionTrace].Offset + uint64(i)*uint64(unsafe.Sizeof(wire.TraceChunk{}))
			if _, err := f.WriteAt(binary.NativeEndian.AppendUint32(nil, wire.TraceFree), int64(at)); err != nil {
				return err
			}
		}
		_, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, before+uint64(len(chunks))),
			int64(unsafe.Offsetof(a.header.TraceFreed)))
		return err
	})
}

// readings is how often a timing is read to find its counters at rest. A thread is between the additions to two of them
// for nanoseconds, unless it is interrupted there.
const readings = 4

// Timing reads a timing while its thread may change it: each field whole, and in an order in which what is counted
// later is read first. So calls that ended are not more than calls that began. Elapsed times can be an interval ahead
// of the calls, and, if the thread was interrupted between the two, an interval behind what of it was waited.
func Timing(t *wire.Timing) wire.Timing {
	out := wire.Timing{Parent: t.Parent, Function: t.Function, ReturnAddress: t.ReturnAddress, Thread: t.Thread}
	for range readings {
		out.IP, out.LeadWaits, out.TailWaits = atomic.LoadUint32(&t.IP), atomic.LoadUint32(
			&t.LeadWaits), atomic.LoadUint32(&t.TailWaits)
		out.Unmatched, out.Folded = atomic.LoadUint64(&t.Unmatched), atomic.LoadUint64(&t.Folded)
		out.Ended = atomic.LoadUint64(&t.Ended)
		out.TailWaited = atomic.LoadUint64(&t.TailWaited)
		out.LeadWaited = atomic.LoadUint64(&t.LeadWaited)
		out.TailElapsed = atomic.LoadUint64(&t.TailElapsed)
		out.LeadElapsed = atomic.LoadUint64(&t.LeadElapsed)
		out.Calls = atomic.LoadUint64(&t.Calls)
		out.Began = atomic.LoadUint64(&t.Began)
		out.Acted, out.Inclusive, out.Callee = atomic.LoadUint32(&t.Acted), atomic.LoadUint32(
			&t.Inclusive), atomic.LoadUint32(&t.Callee)
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

// Counted returns a number, never 0, that is hardly ever the same again once a timing has counted more. Waits says
// whether the operating system has acted in its intervals: what is known of that can change by itself.
func Counted(t *wire.Timing) (number uint32, waits bool) {
	const golden = 0x9E3779B97F4A7C15 // 2⁶⁴ divided by the golden ratio; as it is odd, no step loses anything
	h := uint64(0)
	for _, v := range [...]uint64{atomic.LoadUint64(&t.Calls), atomic.LoadUint64(&t.Ended),
		atomic.LoadUint64(&t.LeadElapsed), atomic.LoadUint64(&t.TailElapsed), atomic.LoadUint64(&t.Folded)} {
		h = (h ^ v) * golden
		h ^= h >> 32
	}
	return uint32(h) | 1, atomic.LoadUint64(&t.LeadWaited)|atomic.LoadUint64(&t.TailWaited) != 0 ||
		atomic.LoadUint32(&t.LeadWaits)|atomic.LoadUint32(&t.TailWaits) != 0
}

// Waits reads a row of waits while its thread may change it, each field whole.
func Waits(w *wire.Waits) wire.Waits {
	return wire.Waits{Intervals: atomic.LoadUint64(&w.Intervals), Voluntary: atomic.LoadUint64(&w.Voluntary),
		Preempted: atomic.LoadUint64(&w.Preempted), Faults: atomic.LoadUint64(&w.Faults),
		Reads:   atomic.LoadUint64(&w.Reads),
		Blocked: atomic.LoadUint64(&w.Blocked), Ready: atomic.LoadUint64(&w.Ready)}
}

// Acted reads the extremes of calls in which the operating system acted while they may change, each field whole.
func Acted(a *wire.Acted) wire.Acted {
	var out wire.Acted
	for i := range a.Min {
		out.Min[i], out.Max[i] = atomic.LoadUint64(&a.Min[i]), atomic.LoadUint64(&a.Max[i])
	}
	return out
}

// Inclusive reads the time of folded calls while their thread may change it, each field whole. What they are counted by
// is read first, so calls are not more than those whose time is there.
func Inclusive(v *wire.Inclusive) wire.Inclusive {
	out := wire.Inclusive{Times: atomic.LoadUint64(&v.Times), Calls: atomic.LoadUint64(&v.Calls),
		EachCalls: atomic.LoadUint64(&v.EachCalls)}
	out.Waits = Waits(&v.Waits)
	out.Waited, out.EachWaited, out.EachOff = atomic.LoadUint64(&v.Waited), atomic.LoadUint64(
		&v.EachWaited), atomic.LoadUint64(&v.EachOff)
	out.Elapsed, out.EachElapsed = atomic.LoadUint64(&v.Elapsed), atomic.LoadUint64(&v.EachElapsed)
	return out
}

// Counts reads what CPU counters counted, each number whole, while a thread may add to them.
func Counts(c *wire.Counts) wire.Counts {
	var out wire.Counts
	for i := range out.Lead {
		out.Lead[i], out.Tail[i] = atomic.LoadUint64(&c.Lead[i]), atomic.LoadUint64(&c.Tail[i])
		out.Inclusive[i], out.Each[i] = atomic.LoadUint64(&c.Inclusive[i]), atomic.LoadUint64(&c.Each[i])
	}
	return out
}

// Clock reads where a thread stands while it may go on, each field whole.
func Clock(c *wire.Clock) wire.Clock {
	return wire.Clock{Depth: atomic.LoadUint32(&c.Depth), Capacity: atomic.LoadUint32(&c.Capacity),
		Activations: atomic.LoadUint64(&c.Activations), Elapsed: atomic.LoadUint64(&c.Elapsed),
		Waited: atomic.LoadUint64(&c.Waited),
		Calls:  atomic.LoadUint64(&c.Calls), Last: atomic.LoadUint64(&c.Last),
		Mechanism: atomic.LoadUint32(&c.Mechanism),
		Own:       atomic.LoadUint64(&c.Own), Acted: atomic.LoadUint64(&c.Acted), Jumps: atomic.LoadUint64(&c.Jumps),
		TraceLost: atomic.LoadUint64(&c.TraceLost), TraceLostTicks: atomic.LoadUint64(&c.TraceLostTicks)}
}

// Activation reads a call that has not ended while it may end, each field whole.
func Activation(a *wire.Activation) wire.Activation {
	return wire.Activation{CallerSP: atomic.LoadUint64(&a.CallerSP), Timing: atomic.LoadUint32(&a.Timing),
		Flags:   atomic.LoadUint32(&a.Flags),
		Elapsed: atomic.LoadUint64(&a.Elapsed), Waited: atomic.LoadUint64(&a.Waited),
		ChildElapsed: atomic.LoadUint64(&a.ChildElapsed),
		Acted:        atomic.LoadUint64(&a.Acted), Calls: atomic.LoadUint64(&a.Calls),
		Children: atomic.LoadUint64(&a.Children)}
}

// ThreadSet reads a row while threads may join the set or end, each field whole. How many there were is read first, so
// whoever is counted has a name and an id.
func ThreadSet(s *wire.ThreadSet) wire.ThreadSet {
	return wire.ThreadSet{Threads: atomic.LoadUint32(&s.Threads), Thread: s.Thread, OSID: atomic.LoadUint32(&s.OSID),
		Several: atomic.LoadUint32(&s.Several), NameAt: s.NameAt, BeginNS: s.BeginNS,
		EndNS: atomic.LoadUint64(&s.EndNS)}
}

// Scope reads a row while its thread may change it, each field whole. A span of time that ends meanwhile counts once.
func Scope(s *wire.Scope) wire.Scope {
	spells := func(s *wire.Spells) wire.Spells {
		out := wire.Spells{SinceNS: atomic.LoadUint64(&s.SinceNS)}
		out.Times = atomic.LoadUint64(&s.Times)
		out.NS = atomic.LoadUint64(&s.NS)
		if atomic.LoadUint64(&s.SinceNS) != out.SinceNS {
			out.SinceNS = 0
		}
		return out
	}
	return wire.Scope{Off: atomic.LoadUint32(&s.Off), Inside: spells(&s.Inside), Outside: spells(&s.Outside)}
}

// Interaction reads a row while threads may change it, each field whole. No more calls have ended than the times are
// of.
func Interaction(i *wire.Interaction) wire.Interaction {
	out := wire.Interaction{Kind: i.Kind, Text: i.Text, Node: atomic.LoadUint32(&i.Node)}
	out.Ended = atomic.LoadUint64(&i.Ended)
	out.Failed, out.Unwaited = atomic.LoadUint64(&i.Failed), atomic.LoadUint64(&i.Unwaited)
	out.TotalNS = atomic.LoadUint64(&i.TotalNS)
	out.MinNS, out.MaxNS = atomic.LoadUint64(&i.MinNS), atomic.LoadUint64(&i.MaxNS)
	out.Started = atomic.LoadUint64(&i.Started)
	return out
}

// MeterValue reads a row while threads may change it, each field whole. How many measurements there were is read first,
// so what is counted is in the sum.
func MeterValue(v *wire.MeterValue) wire.MeterValue {
	out := wire.MeterValue{Count: atomic.LoadUint64(&v.Count)}
	out.Sum, out.Last = atomic.LoadUint64(&v.Sum), atomic.LoadUint64(&v.Last)
	out.Min, out.Max = atomic.LoadUint64(&v.Min), atomic.LoadUint64(&v.Max)
	return out
}

// Count reads the two counters of a site, each whole.
func Count(s *wire.Site) (objects, bytes uint64) {
	return atomic.LoadUint64(&s.Objects), atomic.LoadUint64(&s.Bytes)
}

// region returns the valid part of a region. A mark beyond what has memory is cut: the target can overwrite its own
// memory, and what is read is checked again by whoever decodes it. So is what this process has no room to map.
func (a *Arena) region(r wire.Region) []byte {
	used := a.mark(r, unsafe.Offsetof(wire.RegionEntry{}.Used)) // before Backed, which is stored first
	backed := a.mark(r, unsafe.Offsetof(wire.RegionEntry{}.Backed))
	entry := a.header.Regions[r]
	backed = min(backed, entry.Capacity)
	used = min(used, backed)
	if a.file != nil && used > a.mapped[r] {
		if !a.torn && a.mapPart(entry.Offset+a.mapped[r], entry.Offset+backed) == nil {
			a.mapped[r] = backed
		}
		used = min(used, a.mapped[r])
	}
	return a.data[entry.Offset:][:used]
}

// mark reads a field of a region's entry that the agent may change.
func (a *Arena) mark(r wire.Region, field uintptr) uint64 {
	entry := unsafe.Offsetof(wire.Header{}.Regions) + uintptr(r)*unsafe.Sizeof(wire.RegionEntry{})
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&a.data[entry+field])))
}

func rows[T any](b []byte) []T {
	var row T
	n := uintptr(len(b)) / unsafe.Sizeof(row)
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}
