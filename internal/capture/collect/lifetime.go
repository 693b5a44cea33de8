package collect

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
	"github.com/clrprof/clrprof/internal/wire"
)

// lifetime is how far the ends of one process's objects were read.
type lifetime struct {
	ages    pieces.List[uint64] // by index in the arena: how many objects those have that are written
	callers []wire.GCCaller     // of collections, whose stacks are not written yet
}

func amountOf(p wire.Population) quantity.Amount {
	return quantity.Amount{Allocations: quantity.Count(p.Objects), Bytes: quantity.Bytes(p.Bytes)}
}

// addLifetime takes a record of the log. Records of one collection and site may come in parts.
func (p *process) addLifetime(r *Recorder, record any) error {
	switch record := record.(type) {
	case wire.GC:
		return p.addGC(r, &record)
	case wire.GCCaller:
		p.lifetime.callers = append(p.lifetime.callers, record)
	case wire.Changes:
		return p.addChanges(&record)
	case wire.Freed:
		return p.addFreed(&record)
	case wire.Alive:
		if record.Site == 0 || record.Generation >= session.Generations {
			return fmt.Errorf("%w: alive of site %d in generation %d", wire.ErrCorrupt, record.Site, record.Generation)
		}
		p.rec.AddAlive(record.Site-1, record.Generation, record.Born, record.Beginning,
			amountOf(record.Objects))
	case wire.Why:
		if record.Site == 0 {
			return fmt.Errorf("%w: survivors of no site", wire.ErrCorrupt)
		}
		p.rec.AddSurvivors(record.GC, record.Site-1, recording.Survivors{Uncollected: amountOf(record.Uncollected),
			Rooted: amountOf(record.Rooted), Reachable: amountOf(record.Reachable)})
	case wire.Roots:
		if record.Site == 0 || int(record.Kind) >= len(rootKinds) {
			return fmt.Errorf("%w: root of kind %d to site %d", wire.ErrCorrupt, record.Kind, record.Site)
		}
		root := recording.Root{Kind: rootKinds[record.Kind], Flags: record.Flags,
			Function: p.names.functions[record.Function].id}
		p.rec.AddRoots(record.GC, record.Site-1, root, quantity.Count(record.References))
	}
	return nil
}

// rootKinds are by COR_PRF_GC_ROOT_KIND.
var rootKinds = [...]string{session.RootOther, session.RootStack, session.RootFinalizer, session.RootHandle}

func (p *process) addGC(r *Recorder, g *wire.GC) error {
	if g.Collected>>session.Generations != 0 {
		return fmt.Errorf("%w: garbage collection %d, generations %#x", wire.ErrCorrupt, g.Number, g.Collected)
	}
	begin := g.SuspendNS
	if begin == 0 {
		begin = g.StartNS
	}
	gc := recording.GC{Number: g.Number, Since: g.Since, Pinned: quantity.Count(g.Pinned),
		GC: session.GC{Collected: int64(g.Collected),
			Generation: int64(max(0, bits.Len32(g.Collected&7)-1)), Induced: g.Induced != 0,
			Begin: max(0, quantity.Nanoseconds(begin)-r.start),
			Pause: quantity.Nanoseconds(max(g.DoneNS, begin) - begin),
			Agent: quantity.Nanoseconds(max(g.DoneNS, g.EndNS) - g.EndNS), Finalizable: quantity.Count(g.Finalizable)}}
	for i, found := range g.Generations {
		heap := session.GCHeap{Generation: int64(i), Before: amountOf(found.Before), After: amountOf(found.After),
			Extent: quantity.Bytes(min(found.Extent, recording.MaxCounter))}
		if !heap.Before.IsZero() || !heap.After.IsZero() || heap.Extent != 0 {
			gc.Heaps = append(gc.Heaps, heap)
		}
		if g.Collected>>i&1 == 0 {
			continue
		}
		gc.Generations = append(gc.Generations,
			session.GCGeneration{Generation: int64(i), Before: amountOf(found.Before),
				Dead: amountOf(found.Dead), Promoted: amountOf(found.Promoted)})
		if freed := amountOf(found.Freed); !freed.IsZero() {
			gc.Freed = append(gc.Freed, session.GCFreed{Generation: int64(i), Amount: freed})
		}
	}
	if err := p.rec.AddGC(&gc); err != nil {
		return err
	}
	r.watched.addGC(p, g, &gc.GC)
	return nil
}

// addCallers takes the stacks of those who asked for collections. Once the log is read, the tree has them.
func (l *lifetime) addCallers(p *process, f *found) error {
	for _, c := range l.callers {
		if c.Node == wire.NodeRoot || int(c.Node) >= len(f.nodes) {
			return fmt.Errorf("%w: the caller of garbage collection %d at node %d", wire.ErrCorrupt, c.GC, c.Node)
		}
		stack, err := p.interactions.stack(p, f, c.Node)
		if err == nil && stack != 0 {
			err = p.rec.AddGCCaller(c.GC, stack)
		}
		if err != nil {
			return err
		}
	}
	l.callers = nil
	return nil
}

func (p *process) addChanges(record *wire.Changes) error {
	list := make([]recording.Change, len(record.Changes))
	for i, x := range record.Changes {
		if x.Site == 0 || max(x.Objects.Objects, x.Objects.Bytes) > recording.MaxCounter {
			return fmt.Errorf("%w: counter %d of site %d is %d objects, %d bytes", wire.ErrCorrupt, x.Counter, x.Site,
				x.Objects.Objects, x.Objects.Bytes)
		}
		list[i] = recording.Change{Site: x.Site - 1, Counter: x.Counter, Objects: amountOf(x.Objects)}
	}
	return p.rec.AddChanges(list)
}

func (p *process) addFreed(record *wire.Freed) error {
	for _, x := range record.Freed {
		if x.Site == 0 || x.Counter >= session.Generations ||
			max(x.Objects.Objects, x.Objects.Bytes) > recording.MaxCounter {
			return fmt.Errorf("%w: site %d freed %d objects, %d bytes in generation %d", wire.ErrCorrupt, x.Site,
				x.Objects.Objects, x.Objects.Bytes, x.Counter)
		}
		p.rec.SetFreed(x.Site-1, x.Counter, record.Beginning, amountOf(x.Objects))
	}
	return nil
}

// readDeaths reads how many objects of some sites are dead, as far as the agent has room for that, and returns those
// that it read.
func readDeaths(deaths []wire.SiteDeaths, to []recording.Dead) []recording.Dead {
	to = to[:min(len(to), len(deaths))]
	for i := range to {
		f := &deaths[i]
		for g := range f.DeadObjects {
			bytes := atomic.LoadUint64(&f.DeadBytes[g]) // counted after the object
			to[i][g] = quantity.Amount{Allocations: quantity.Count(atomic.LoadUint64(&f.DeadObjects[g])),
				Bytes: quantity.Bytes(bytes)}
		}
	}
	return to
}

// write writes what is new and known as a whole.
func (l *lifetime) write(r *Recorder, p *process, h *wire.Header, ended bool) error {
	if h.Data&wire.DataLifetime == 0 {
		return nil
	}
	all := recording.Lifetime{AliveKnown: h.AliveKnown != 0, Ended: ended, Walked: quantity.Count(h.Walks),
		LeftOut: quantity.Amount{Allocations: quantity.Count(h.LeftOut), Bytes: quantity.Bytes(h.LeftOutBytes)}}
	if h.EndingGC != 0 {
		if int(h.EndingSign) >= len(endingSigns) || endingSigns[h.EndingSign] == "" {
			return fmt.Errorf("%w: sign %d of the end", wire.ErrCorrupt, h.EndingSign)
		}
		all.Ending = session.ProcessEnding{Sign: endingSigns[h.EndingSign], GCNumber: int64(h.EndingGC),
			Begin: max(0, quantity.Nanoseconds(h.EndingNS)-r.start)}
	}
	if err := p.rec.WriteGCs(all); err != nil {
		return err
	}
	if err := l.writeAges(p); err != nil {
		return err
	}
	return p.rec.WriteSurvivors()
}

// endingSigns are by the sign of wire.
var endingSigns = [...]string{wire.EndingSignal: session.SignSignal, wire.EndingHost: session.SignHost,
	wire.EndingExit: session.SignExit}

// writeAges writes the ages of sites whose ages changed: all of them, as what is kept of those that are written is
// their sum.
func (l *lifetime) writeAges(p *process) error {
	var rows []session.SiteAge
	deaths, ages := p.arena.Deaths(), p.arena.Ages()
	for l.ages.Len() < len(ages) {
		l.ages.Add(0)
	}
	for i := range deaths[:min(len(deaths), p.rec.Sites())] {
		n := atomic.LoadUint32(&deaths[i].Ages)
		if n == 0 || int(n) > len(ages) {
			continue
		}
		now, written := ages[n-1], l.ages.At(int(n-1))
		sum := objectsOf(&now)
		if sum == *written {
			continue
		}
		*written = sum
		for b, objects := range now.ByCollections {
			if objects != 0 {
				rows = append(rows, session.SiteAge{Site: p.rec.Site(i), Measure: session.AgeGCs, Bucket: int64(b),
					Objects: quantity.Count(objects)})
			}
		}
		for b, objects := range now.ByTime {
			if objects != 0 {
				rows = append(rows, session.SiteAge{Site: p.rec.Site(i), Measure: session.AgeTime, Bucket: int64(b),
					Objects: quantity.Count(objects)})
			}
		}
		if len(rows) >= recording.ChunkRows {
			if err := p.rec.ReplaceAges(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return p.rec.ReplaceAges(rows)
}

// objectsOf is how many objects ages count. They only grow, so the sum changes when one does.
func objectsOf(a *wire.Ages) uint64 {
	sum := uint64(0)
	for _, n := range a.ByCollections {
		sum += n
	}
	for _, n := range a.ByTime {
		sum += n
	}
	return sum
}
