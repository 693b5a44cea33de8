package collect

import (
	"fmt"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/live"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

const (
	// tickInterval is the least time from one look of watchers to the next.
	tickInterval quantity.Nanoseconds = 250_000_000

	// tickShare is how much longer than a look itself the collector rests before the next: they take less than a
	// hundredth of a core, however many sites there are.
	tickShare = 100
)

// watched is what a recording knows while it is watched.
type watched struct {
	feed *live.Feed           // nil: it cannot be watched
	next quantity.Nanoseconds // when to look next; 0: nobody watches
}

// watch lets others watch the recording by a feed; nil: none.
func (r *Recorder) watch(feed *live.Feed) {
	if r.watched.feed = feed; feed != nil {
		r.rec.Watch(feed)
	}
}

// wake has a value when somebody begins to watch.
func (w *watched) wake() <-chan struct{} {
	if w.feed == nil {
		return nil
	}
	return w.feed.Wake()
}

// before is when to look for watchers, if that is before the given time.
func (w *watched) before(other quantity.Nanoseconds) (at quantity.Nanoseconds, look bool) {
	if w.next == 0 || w.next >= other {
		return other, false
	}
	return w.next, true
}

// nextTick is when to look again after a look.
func nextTick(begin, end quantity.Nanoseconds) quantity.Nanoseconds {
	return end + max(tickInterval-(end-begin), tickShare*(end-begin))
}

// look tells watchers how far the recording is, if there are any. greets: somebody begins to watch, and is told once
// more a moment later. Who only wants to know what happens now waits for that, and would otherwise wait for as long as
// a large recording rests after its first look.
func (r *Recorder) look(now quantity.Nanoseconds, greets bool) error {
	if r.watched.feed == nil || !r.watched.feed.Wanted() {
		r.watched.next = 0
		r.rec.Unwatched()
		return nil
	}
	return r.watched.look(greets, func() error { return r.publish(now, false) })
}

// look publishes, and says when to look next.
func (w *watched) look(greets bool, publish func() error) error {
	begin := Monotonic()
	if err := publish(); err != nil {
		return err
	}
	end := Monotonic()
	if w.next = nextTick(begin, end); greets {
		w.next = end + tickInterval
	}
	return nil
}

// lastLook tells watchers what the session has in the end.
func (r *Recorder) lastLook(now quantity.Nanoseconds) error {
	feed := r.watched.feed
	if feed == nil {
		return nil
	}
	defer feed.Close()
	if !feed.Wanted() {
		return nil
	}
	return r.publish(now, true)
}

// publish adds up what the processes counted: up to now or, in the end, up to what is written.
func (r *Recorder) publish(now quantity.Nanoseconds, last bool) error {
	if err := r.findArenas(); err != nil {
		return err
	}
	for _, name := range r.names {
		p := r.processes[name]
		if last {
			continue // it is all written
		}
		if err := r.meet(p, now); err != nil {
			return fmt.Errorf("record arena %s: %w", name, corrupt(err))
		}
	}
	if err := r.describe(); err != nil {
		return err
	}
	if r.meters != nil && !last {
		r.meters.takeAll(r)
	}
	s := r.rec.NewState(max(0, now-r.start))
	s.Mode, s.Processes = r.Mode(), r.Processes()
	for _, name := range r.names {
		p := r.processes[name]
		p.addSites(s, last)
		p.times.addCalls(p, s, last)
		s.Threads += p.rec.RunningThreads()
		p.rec.TellLosses(s)
		s.Estimated = s.Estimated || p.data&wire.DataSampled != 0
	}
	return r.watched.feed.Publish(s, last)
}

// meet takes what is new of a process. It is kept until the next slice writes it, or now, if it is much.
func (r *Recorder) meet(p *process, now quantity.Nanoseconds) error {
	if p.over || p.times.closed {
		return nil
	}
	header, err := p.arena.Header()
	if err != nil {
		return err
	}
	p.note(header)
	if p.waiting() >= recording.RowsAtOnce/2 {
		return r.sync(now, false)
	}
	f, err := p.read(r)
	if err != nil {
		return err
	}
	if err := p.threads.addSets(r, p.rec, f.sets, p.skips); err != nil {
		return err
	}
	if err := p.tree.extend(p, f.ips, f.nodes); err != nil {
		return err
	}
	if err := p.times.meet(p, header, f.timings); err != nil {
		return err
	}
	for i := p.rec.Sites(); i < len(f.sites); i++ {
		if err := p.meet(i, &f); err != nil {
			return err
		}
	}
	return nil
}

// waiting is how many rows at most wait to be written after what is new is taken.
func (p *process) waiting() int {
	rows := p.rec.WaitingNodes() + len(p.arena.Nodes()) - len(p.tree.nodes)
	rows += p.rec.WaitingSites() + len(p.arena.Sites()) - p.rec.Sites()
	// each has one of its caller's call site
	return rows + 2*(p.rec.WaitingTimings()+len(p.arena.Timings())-p.times.taken.Len())
}

// meet takes the timings that are new.
func (t *times) meet(p *process, h *wire.Header, rows []wire.Timing) error {
	if h.Data&wire.DataTime == 0 {
		return nil
	}
	for i := t.taken.Len(); i < len(rows); i++ {
		if err := t.take(p, rows); err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	return nil
}

// describe tells the feed what names are made from.
func (r *Recorder) describe() error {
	var rows []session.Process
	for _, name := range r.names {
		p := r.processes[name]
		rows = append(rows, session.Process{ID: p.rec.ID(), Name: p.name(), Path: p.exe})
	}
	return r.rec.Describe(rows)
}

// addSites adds what the sites of a process allocated.
func (p *process) addSites(s *live.State, last bool) {
	rows := p.arena.Sites()
	excluded := short(p.rec.FindPseudo(session.NameExcluded))
	for i := range p.rec.Sites() {
		row := &rows[i]
		var sum live.Sums
		sum.Amount = p.rec.Allocated(i)
		if !last {
			sum.Amount = newer(row, sum.Amount)
		}
		function := excluded
		if f := p.places.function(p, i, row); f != 0 {
			function = f
		}
		typ := short(0)
		if id := int(row.Type &^ wire.SiteFrozen); id < len(p.names.order) {
			typ = p.names.order[id]
		}
		s.Functions[function] = s.Functions[function].Add(sum)
		s.Types[typ] = s.Types[typ].Add(sum)
	}
}

// newer is what a site has counted. An object without bytes is being counted at this moment, as in Process.GrowSites.
func newer(row *wire.Site, before quantity.Amount) quantity.Amount {
	objects, bytes := arena.Count(row)
	now := quantity.Amount{Allocations: quantity.Count(objects), Bytes: quantity.Bytes(bytes)}
	if grown := now.Sub(before); grown.Allocations <= 0 || grown.Bytes <= 0 {
		return before
	}
	return now
}

// addCalls adds the calls of a process. In the end those that are written, which several timings can share.
func (t *times) addCalls(p *process, s *live.State, last bool) {
	if last {
		seen := make([]bool, p.rec.Timings())
		for i := range t.taken.Len() {
			if n := t.taken.At(i); !seen[n.own()] {
				seen[n.own()] = true
				calls, _ := p.rec.Calls(int(n.own()))
				s.Functions[short(n.place(p).function)].Calls += calls
			}
		}
		return
	}
	rows := p.arena.Timings()
	for i := range t.taken.Len() {
		calls := min(atomic.LoadUint64(&rows[i].Calls), recording.MaxCounter)
		s.Functions[short(t.taken.At(i).place(p).function)].Calls += quantity.Count(calls)
	}
}

// addGC tells the feed of a collection.
func (w *watched) addGC(p *process, g *wire.GC, row *session.GC) {
	if w.feed == nil {
		return
	}
	gc := live.GC{Process: int64(p.pid), Number: int64(g.Number), Generation: row.Generation, Induced: row.Induced,
		Begin: row.Begin, Pause: row.Pause}
	if header, err := p.arena.Header(); err == nil {
		gc.Process = int64(header.PID)
	}
	for i, found := range g.Generations {
		gc.Heap = append(gc.Heap, population(found.After))
		if g.Collected>>i&1 != 0 {
			gc.Died.Objects += quantity.Count(found.Dead.Objects)
			gc.Died.Bytes += quantity.Bytes(found.Dead.Bytes)
		}
	}
	w.feed.AddGC(gc)
}

func population(p wire.Population) live.Population {
	return live.Population{Objects: quantity.Count(p.Objects), Bytes: quantity.Bytes(p.Bytes)}
}
