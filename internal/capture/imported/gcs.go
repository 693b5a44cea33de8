package imported

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// maxGCEvents bounds what is kept of collections; each has six events or more.
const maxGCEvents = 1 << 23

// maxStops bounds how many threads can have the others stopped, or wait for that.
const maxStops = 10_000

// Events of collections.
const (
	eventGCStart      = 1
	eventGCEnd        = 2
	eventRestartEnd   = 3
	eventHeapStats    = 4
	eventSuspendBegin = 9
)

// gcBackground is the type of a collection that runs while the program does.
const gcBackground = 1

// The reasons of collections that a program asks for.
var inducedReasons = []uint32{1, 7, 9, 10} // induced, not forced, on low memory, compacting

// The reasons of stops that are for collections: for one, and for a step of one in the background.
var stopReasons = []uint32{1, 6}

// oldest is the oldest generation that a collection can be of by its number.
const oldest = 2

// gcEvent is what an event tells of a collection.
type gcEvent struct {
	time         quantity.Nanoseconds
	thread       uint64
	id           uint32
	number       uint32
	depth        uint32 // generation
	reason, kind uint32
	sizes        [session.Generations]uint64
	finalizable  uint64
	pinned       uint64
}

// readGC reads an event of collections; ok is false if it cannot be read.
func readGC(e *eventpipe.Event) (g gcEvent, ok bool) {
	f := e.Fields()
	g.id, g.thread = e.ID, e.Thread
	switch e.ID {
	case eventGCStart:
		g.number, g.depth, g.reason, g.kind = f.Uint32(), f.Uint32(), f.Uint32(), f.Uint32()
	case eventGCEnd:
		g.number, g.depth = f.Uint32(), f.Uint32()
	case eventSuspendBegin:
		g.reason = f.Uint32()
	case eventHeapStats:
		for i := range g.sizes[:4] {
			g.sizes[i] = f.Uint64()
			f.Skip(8) // promoted
		}
		f.Skip(8) // bytes of objects that wait for finalization
		g.finalizable = f.Uint64()
		g.pinned = uint64(f.Uint32())
		f.Skip(4 + 4 + 2) // sync blocks, handles, which runtime
		if f.Failed() {
			return g, false
		}
		g.sizes[session.GenerationPinned] = f.Uint64() // from version 2 on
		return g, slices.Max(g.sizes[:]) <= recording.MaxCounter && g.finalizable <= recording.MaxCounter
	}
	return g, !f.Failed() && g.depth <= oldest
}

// collection is a garbage collection, put together from its events.
type collection struct {
	recording.GC
	background bool
}

// gcs puts collections together.
type gcs struct {
	done    []*collection
	last    *collection      // the one that began last
	ended   *collection      // the one that ended last, which the sizes are of that come next
	running *collection      // the one in the background that has not ended
	stops   map[uint64]*stop // that go on, by the thread that stops the others
}

// stop is a time in which a thread had the others stopped. Those of two threads can overlap: one waits for the other.
type stop struct {
	begin quantity.Nanoseconds
	forGC bool        // by what it says
	of    *collection // that began in it, the last one; nil: none did
}

// collections makes collections of their events, which it brings into the order of time.
func collections(events []gcEvent) []*collection {
	slices.SortStableFunc(events, func(a, b gcEvent) int { return cmp.Compare(a.time, b.time) })
	g := gcs{stops: map[uint64]*stop{}}
	for i := range events {
		g.add(&events[i])
	}
	return g.done
}

func (g *gcs) add(e *gcEvent) {
	switch e.id {
	case eventSuspendBegin:
		if g.stops[e.thread] != nil || len(g.stops) < maxStops {
			g.stops[e.thread] = &stop{begin: e.time, forGC: slices.Contains(stopReasons, e.reason)}
		}
	case eventGCStart:
		g.begin(e)
	case eventGCEnd:
		for _, c := range []*collection{g.last, g.running} {
			if c != nil && c.Number == e.number {
				g.ended = c
			}
		}
		if g.running == g.ended {
			g.running = nil
		}
	case eventHeapStats:
		g.measure(e)
	case eventRestartEnd:
		g.restart(e)
	}
}

func (g *gcs) begin(e *gcEvent) {
	c := &collection{background: e.kind == gcBackground}
	c.Number = e.number
	c.Begin = e.time
	if s := g.stops[e.thread]; s != nil {
		c.Begin, s.of = s.begin, c
	}
	c.Generation = int64(e.depth)
	c.Collected = 1<<(e.depth+1) - 1
	if e.depth == oldest {
		c.Collected = 1<<session.Generations - 1
	}
	c.Induced = slices.Contains(inducedReasons, e.reason)
	g.done, g.last = append(g.done, c), c
	if c.background {
		g.running = c
	}
}

// measure takes the sizes of the heap after a collection.
func (g *gcs) measure(e *gcEvent) {
	c := g.ended
	if c == nil {
		c = g.last
	}
	if c == nil || c.Heaps != nil {
		return
	}
	c.Finalizable, c.Pinned = quantity.Count(e.finalizable), quantity.Count(e.pinned)
	for i, size := range e.sizes {
		if size != 0 {
			c.Heaps = append(c.Heaps, session.GCHeap{Generation: int64(i), Extent: quantity.Bytes(size)})
		}
	}
}

// restart ends a stop. It was for the collection that began in it, or else for the one in the background, if it says
// so: other stops are for none.
func (g *gcs) restart(e *gcEvent) {
	s := g.stops[e.thread]
	if s == nil {
		return // it began before the recording
	}
	delete(g.stops, e.thread)
	c := s.of
	if c == nil && s.forGC {
		c = g.running
	}
	if c != nil {
		c.Pause += max(0, e.time-s.begin)
	}
}
