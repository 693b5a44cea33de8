package imported

import (
	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// The heaps of events of allocations.
const (
	heapSmall  = 0
	heapPinned = 2
)

// Limits of what is kept of samples. What exceeds them is lost, and counted.
const (
	maxSamples    = 1 << 24   // of 100 KB each: 1.6 TB of allocations
	maxSites      = 1 << 22   // different stacks, types, sizes, threads
	maxStackBytes = 512 << 20 // of different stacks
	maxObject     = 1 << 36   // bytes of one object, and of a tick: all samples are no more than a counter holds
)

// sample is one of an event.
type sample struct {
	time quantity.Nanoseconds
	site uint32
}

// siteKey says what samples have in common that one row of the session is of.
type siteKey struct {
	thread uint64
	stack  uint32 // index of stacks
	typ    uint32 // index of types
	weight uint32
	size   uint64
}

// samples are those of one kind of event.
type samples struct {
	list  []sample
	index map[siteKey]uint32
	sites []siteKey
	lost  session.Loss // what there was no room for, or could not be read
}

// texts numbers texts.
type texts struct {
	index map[string]uint32
	list  []string
	bytes int
}

// add returns the number of a text; false: there is no room for it.
func (x *texts) add(s []byte, most int) (uint32, bool) {
	if i, ok := x.index[string(s)]; ok {
		return i, true
	}
	if x.bytes += len(s); x.bytes > most {
		x.bytes -= len(s)
		return 0, false
	}
	if x.index == nil {
		x.index = map[string]uint32{}
	}
	i, text := uint32(len(x.list)), string(s)
	x.index[text], x.list = i, append(x.list, text)
	return i, true
}

// allocation is what an event tells of an object.
type allocation struct {
	heap         uint32
	typ          string
	size, amount uint64
}

// readTick reads AllocationTick. Before version 4 it does not have the object's size.
func readTick(e *eventpipe.Event) (a allocation, ok bool) {
	f := e.Fields()
	f.Uint32() // the amount, in 32 bits
	a.heap = f.Uint32()
	f.Skip(2) // which runtime
	a.amount = f.Uint64()
	f.Skip(8) // the type
	a.typ = f.Text()
	f.Skip(4 + 8) // number of the heap, address
	a.size = f.Uint64()
	return a, !f.Failed() && a.amount != 0 && a.amount < maxObject && a.isPossible()
}

// readSampled reads AllocationSampled.
func readSampled(e *eventpipe.Event) (a allocation, ok bool) {
	f := e.Fields()
	a.heap = f.Uint32()
	f.Skip(2 + 8) // which runtime, the type
	a.typ = f.Text()
	f.Skip(8) // address
	a.size = f.Uint64()
	return a, !f.Failed() && a.isPossible()
}

// isPossible rounds the size to what the object takes, and says whether there can be such an object.
func (a *allocation) isPossible() bool {
	a.size = (a.size + objectAlign - 1) &^ (objectAlign - 1)
	return a.size >= leastObject && a.size <= maxObject && a.heap <= heapPinned
}

// addSample adds a sample that stands for weight objects.
func (t *Trace) addSample(to *samples, e *eventpipe.Event, a *allocation, weight uint32) {
	stack, hasStack := t.stacks.add(e.Stack, maxStackBytes)
	typ, hasType := t.types.add([]byte(a.typ), maxNameBytes)
	key := siteKey{e.Thread, stack, typ, weight, a.size}
	site, known := to.index[key]
	if !hasStack || !hasType || len(to.list) >= maxSamples || !known && len(to.sites) >= maxSites {
		to.lose(quantity.Amount{Allocations: quantity.Count(weight), Bytes: quantity.Bytes(uint64(weight) * a.size)})
		return
	}
	if !known {
		if to.index == nil {
			to.index = map[siteKey]uint32{}
		}
		site = uint32(len(to.sites))
		to.index[key], to.sites = site, append(to.sites, key)
	}
	to.list = append(to.list, sample{t.since(e.Time), site})
}

// lose counts a sample that is not kept; the amount is zero if it is not known what it stands for.
func (s *samples) lose(of quantity.Amount) {
	s.lost.Events++
	s.lost.Amount = s.lost.Add(of)
}
