package collect

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/live"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/symbols"
	"github.com/clrprof/clrprof/internal/wire"
)

const (
	// tickInterval is the least time from one look of watchers to the next.
	tickInterval quantity.Nanoseconds = 250_000_000

	// tickShare is how much longer than a look itself the collector rests before the next: they take less than a hundredth of
	// a core, however many sites there are.
	tickShare = 100
)

// watched is what a recording knows while it is watched.
type watched struct {
	feed      *live.Feed           // nil: it cannot be watched
	next      quantity.Nanoseconds // when to look next; 0: nobody watches
	described bool                 // the feed knows the names of what is in the session
}

// watch lets others watch the recording by a feed; nil: none.
func (r *Recorder) watch(feed *live.Feed) {
	if r.watched.feed = feed; feed == nil {
		return
	}
	path, err := filepath.Abs(r.w.Path()) // watchers may be in another folder
	if err != nil {
		path = r.w.Path()
	}
	feed.SetSession(path)
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

// look tells watchers how far the recording is, if there are any.
func (r *Recorder) look(now quantity.Nanoseconds) error {
	if r.watched.feed == nil || !r.watched.feed.Wanted() {
		r.watched.next, r.watched.described = 0, false
		return nil
	}
	begin := Monotonic()
	if err := r.publish(now, false); err != nil {
		return err
	}
	r.watched.next = nextTick(begin, Monotonic())
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
	s := &live.State{Time: max(0, now-r.start), Processes: r.Processes(), Calls: true}
	for _, name := range r.names {
		p := r.processes[name]
		if last {
			continue // it is all written
		}
		if err := r.meet(p, now); err != nil {
			return fmt.Errorf("record arena %s: %w", name, err)
		}
	}
	if err := r.describe(); err != nil {
		return err
	}
	s.Functions, s.Types = make([]live.Sums, r.next.function+1), make([]live.Sums, r.next.typ+1)
	for _, name := range r.names {
		p := r.processes[name]
		p.addSites(s, last)
		p.times.addCalls(p, s, last)
		s.Threads += p.threads.running()
		for _, loss := range p.losses { // the feed adds them up by reason
			s.Losses = append(s.Losses, loss)
		}
	}
	s.Mode = r.Mode()
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
	p.data = header.Data
	if p.waiting() >= rowsAtOnce/2 {
		return r.sync(now, false)
	}
	f, err := p.read(r)
	if err != nil {
		return err
	}
	if err := p.threads.addSets(r, f.sets); err != nil {
		return err
	}
	if err := p.tree.extend(r, p, f.ips, f.nodes); err != nil {
		return err
	}
	for i := p.sites.len(); i < len(f.sites); i++ {
		if err := p.meet(r, i, &f.sites[i]); err != nil {
			return err
		}
	}
	return p.times.meet(r, p, header, f.timings)
}

// waiting is how many rows at most wait to be written after what is new is taken.
func (p *process) waiting() int {
	rows := len(p.tree.newNodes) + len(p.arena.Nodes()) - len(p.tree.nodes)
	rows += len(p.newRows) + len(p.arena.Sites()) - p.sites.len()
	return rows + 2*(len(p.times.fresh)+len(p.arena.Timings())-p.times.taken.len()) // each has one of its caller's call site
}

// meet takes the timings that are new.
func (t *times) meet(r *Recorder, p *process, h *wire.Header, rows []wire.Timing) error {
	if h.Data&wire.DataTime == 0 {
		return nil
	}
	for i := t.taken.len(); i < len(rows); i++ {
		if err := t.take(r, p, rows); err != nil {
			return fmt.Errorf("timing %d: %w", i+1, err)
		}
	}
	return nil
}

// describe tells the feed what names are made from.
func (r *Recorder) describe() error {
	var in symbols.Input
	if !r.watched.described {
		var errs [5]error
		in.Modules, errs[0] = r.w.Modules()
		in.Types, errs[1] = r.w.Types()
		in.TypeArguments, errs[2] = r.w.TypeArguments()
		in.Functions, errs[3] = r.w.Functions()
		in.FunctionArguments, errs[4] = r.w.FunctionArguments()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
	}
	for _, name := range r.names {
		p := r.processes[name]
		in.Processes = append(in.Processes, session.Process{ID: p.id, Name: processName(p.exe, p.arguments), Path: p.exe})
	}
	r.watched.feed.Describe(&in)
	r.watched.described = true
	for _, name := range r.names {
		r.watched.describe(&r.processes[name].names)
	}
	return nil
}

// describe tells the feed of names that are not written yet.
func (w *watched) describe(n *names) {
	if !w.described {
		return
	}
	w.feed.Describe(&symbols.Input{Modules: n.newModules, Types: slices.Concat(n.newTypes, n.replaceTypes), TypeArguments: n.newTypeArgs,
		Functions: n.newFunctions, FunctionArguments: n.newFuncArgs})
}

// addSites adds what the sites of a process allocated.
func (p *process) addSites(s *live.State, last bool) {
	rows := p.arena.Sites()
	excluded := short(p.names.known.pseudo[excludedFunction])
	for i := range p.sites.len() {
		row := &rows[i]
		var sum live.Sums
		sum.Amount = p.counted.at(i)
		if !last {
			sum.Amount = newer(row, sum.Amount)
		}
		function := excluded
		if n := int(row.Node); n < len(p.tree.nodes) && p.tree.nodes[n].id != 0 {
			function = p.tree.nodes[n].function
		}
		typ := short(0)
		if id := int(row.Type &^ wire.SiteFrozen); id < len(p.names.order) {
			typ = p.names.order[id]
		}
		s.Functions[function] = s.Functions[function].Add(sum)
		s.Types[typ] = s.Types[typ].Add(sum)
	}
}

// newer is what a site has counted. An object without bytes is being counted at this moment, as in process.grow.
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
		seen := make([]bool, t.rows.len())
		for i := range t.taken.len() {
			if n := t.taken.at(i); !seen[n.own] {
				seen[n.own] = true
				s.Functions[n.function].Calls += t.rows.at(int(n.own)).calls
			}
		}
		return
	}
	rows := p.arena.Timings()
	for i := range t.taken.len() {
		s.Functions[t.taken.at(i).function].Calls += quantity.Count(min(atomic.LoadUint64(&rows[i].Calls), maxCounter))
	}
}

// running is how many threads have not ended.
func (t *threads) running() int {
	n := 0
	for _, ended := range t.ended {
		if !ended {
			n++
		}
	}
	return n
}

// addGC tells the feed of the collection that was added last.
func (w *watched) addGC(p *process, g *wire.GC) {
	if w.feed == nil {
		return
	}
	row := &p.lifetime.newGCs[len(p.lifetime.newGCs)-1]
	gc := live.GC{Process: int64(p.pid), Number: row.Number, Generation: row.Generation, Induced: row.Induced, Begin: row.Begin, Pause: row.Pause}
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
