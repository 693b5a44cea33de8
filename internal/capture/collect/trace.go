package collect

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/capture/steer"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session/calltrace"
	"github.com/clrprof/clrprof/internal/wire"
)

// Trace says where the events of a call trace are kept until the recording is complete. Zero: there is none.
type Trace struct {
	Path  string // of a file that does not exist yet; see calltrace.Store
	Limit int64  // bytes of events
	Keep  calltrace.Keep
}

const (
	// drainInterval is the time from one look at the agents' chunks to the next, if nothing was there. An agent has
	// room for some hundred milliseconds of the most events that a thread can have.
	drainInterval = 10 * time.Millisecond

	// findEach is how many of these pass until arenas are looked for where the kernel does not tell of them.
	findEach = 10
)

// tracer takes events out of arenas, beside the recorder, which may be writing for a long time.
type tracer struct {
	files  *safefs.Dir
	store  *calltrace.Store
	arenas map[string]*tracedArena // by file name
	stop   chan struct{}
	done   chan struct{}
	err    error // of the tracer's own work: what it was about is in Run's result
	fill   atomic.Pointer[steer.Trace]
}

type tracedArena struct {
	arena *arena.Arena
	key   calltrace.Key
	freed uint64

	shortened bool // by its process: nothing more can be read
}

func newTracer(files *safefs.Dir, store *calltrace.Store) *tracer {
	t := &tracer{files: files, store: store, arenas: map[string]*tracedArena{}}
	t.tell()
	return t
}

// createTracer returns nil if no trace is wanted.
func createTracer(d *launch.Directory, o Trace) (*tracer, error) {
	if o.Path == "" {
		return nil, nil
	}
	store, err := calltrace.Create(o.Path, o.Limit, o.Keep)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w: another run is writing it, or was killed: use clrprof recover, or remove the file", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the call trace: %w", ErrWrite, err)
	}
	_ = d.SetTrace(o.Path) // without it only what is not recovered is lost
	return newTracer(d.Files(), store), nil
}

// discard removes the file of a recording that has none.
func (t *tracer) discard() error {
	if t == nil {
		return nil
	}
	return errors.Join(t.store.Close(), os.Remove(t.store.Path()))
}

// begin lets the tracer work until halt is called.
func (t *tracer) begin() {
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	go t.work(t.stop)
}

// halt ends the tracer's work, if it has begun.
func (t *tracer) halt() {
	if t.stop == nil {
		return
	}
	close(t.stop)
	<-t.done
	t.stop = nil
}

func (t *tracer) work(stop <-chan struct{}) {
	defer close(t.done)
	w := newWatch(t.files)
	defer w.close()
	ticker := time.NewTicker(drainInterval)
	defer ticker.Stop()
	for n := 0; ; n++ {
		appeared := w.file == nil && n%findEach == 0 || n == 0
		select {
		case <-stop:
			return
		case <-w.appeared:
			appeared = true
		case <-ticker.C:
		}
		if appeared {
			t.note(t.find())
		}
		for !t.store.Full() && t.drain(false) {
			t.tell()
		}
		t.tell()
	}
}

// tell notes for others how full the store is.
func (t *tracer) tell() {
	d := t.store.Dropped()
	t.fill.Store(&steer.Trace{Events: t.store.Events(), Limit: t.store.Limit(), Ring: t.store.Keeps() == calltrace.Last,
		Dropped: int64(d.Events)})
}

// status says how full the store is; nil: there is none.
func (t *tracer) status() *steer.Trace {
	if t == nil {
		return nil
	}
	return t.fill.Load()
}

func (t *tracer) note(err error) {
	if t.err == nil {
		t.err = err
	}
}

// find opens the arenas that are new. One that is damaged is the recorder's affair.
func (t *tracer) find() error {
	names, err := t.files.Names()
	if err != nil {
		return fmt.Errorf("look for arenas: %w", err)
	}
	for _, name := range names {
		if t.arenas[name] != nil || !strings.HasSuffix(name, launch.ArenaSuffix) {
			continue
		}
		a, err := openArena(t.files, name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, wire.ErrCorrupt) || errors.Is(err, errNoArena) {
			continue
		}
		if err != nil {
			return err
		}
		var h *wire.Header
		err = arena.Guard(func() (err error) { h, err = a.Header(); return err })
		if err != nil {
			t.note(a.Close())
			continue
		}
		t.arenas[name] = &tracedArena{arena: a, key: calltrace.Key{PID: h.PID, Start: h.StartNS}, freed: h.TraceFreed}
	}
	return nil
}

// names are those of the arenas, in the order of their processes' start.
func (t *tracer) names() []string {
	var out []string
	for name := range t.arenas {
		out = append(out, name)
	}
	slices.SortFunc(out, compareStarts)
	return out
}

// drain stores what is in chunks that are full, or in the end in all, and says whether there was anything.
func (t *tracer) drain(last bool) bool {
	found := false
	for _, name := range t.names() {
		a := t.arenas[name]
		if a.shortened {
			continue
		}
		err := arena.Guard(func() error {
			found = a.drain(t.store, last, t.note) || found
			return nil
		})
		if err != nil {
			a.shortened = true
			t.note(err)
		}
	}
	return found
}

func (a *tracedArena) drain(store *calltrace.Store, last bool, note func(error)) bool {
	type chunk struct {
		index  int
		head   wire.TraceChunkHead
		events []byte
	}
	var full []chunk
	chunks := a.arena.TraceChunks()
	for i := range chunks {
		head, events := arena.TraceChunk(&chunks[i])
		if head.State == wire.TraceFull || last && head.State == wire.TraceTaken {
			full = append(full, chunk{i, head, events})
		}
	}
	slices.SortFunc(full, func(a, b chunk) int { return cmp.Compare(a.head.Sequence, b.head.Sequence) })
	var free []int
	for _, c := range full {
		store.Add(a.key, c.head, c.events)
		free = append(free, c.index)
	}
	if len(free) > 0 && !last {
		note(a.arena.FreeTraceChunks(free, a.freed))
		a.freed += uint64(len(free))
	}
	return len(full) > 0
}

// trace lets a tracer work beside the recorder; nil: there is none.
func (r *Recorder) trace(t *tracer) {
	if r.tracer = t; t != nil {
		t.begin()
	}
}

// openTrace goes on with the file of events that a killed collector left, and takes what is left; "": there was none.
func (v *recovery) openTrace(path string) error {
	if path == "" {
		return nil
	}
	store, err := calltrace.Open(path)
	if err == nil {
		v.tracer = newTracer(v.directory.Files(), store)
		v.tracer.drainLast()
	}
	return err
}

// traced is what came of the tracer, if there is one.
func (r *Recorder) traced() (*calltrace.Recorded, error) {
	if r.tracer == nil {
		return nil, nil
	}
	return r.tracer.recorded(r)
}

// drainLast takes what is left; nothing is taken any more.
func (t *tracer) drainLast() {
	if t == nil {
		return
	}
	t.halt()
	t.note(t.find())
	t.drain(true)
}

// recorded says what the numbers of the events mean, when the recorder has read all that arenas have.
func (t *tracer) recorded(r *Recorder) (*calltrace.Recorded, error) {
	out := &calltrace.Recorded{Store: t.store}
	for _, name := range t.names() {
		if p := r.processes[name]; p != nil && p.data&wire.DataTrace != 0 {
			out.Processes = append(out.Processes, p.traced(t.arenas[name], r.start))
		}
	}
	return out, t.err
}

// lost is how many events of a process are not in the store: as the agent says and, in the end, as the store does.
func (t *tracer) lost(p *process, h *wire.Header, last bool) (n uint64, err error) {
	if h.Data&wire.DataTrace == 0 {
		return 0, nil
	}
	clocks := p.arena.Clocks()
	for i := range clocks {
		lost := arena.Clock(&clocks[i]).TraceLost
		if lost > recording.MaxCounter || n+lost > recording.MaxCounter {
			return 0, fmt.Errorf("%w: thread %d: %d events lost", wire.ErrCorrupt, i+1, lost)
		}
		n += lost
	}
	if t != nil && last {
		n += t.store.DroppedOf(calltrace.Key{PID: h.PID, Start: h.StartNS})
	}
	return n, nil
}

// close lets go of the arenas.
func (t *tracer) close() {
	if t == nil {
		return
	}
	t.halt()
	for _, a := range t.arenas {
		t.note(a.arena.Close())
	}
	t.arenas = nil
}

// traced is what is known of a process whose events are in a store.
func (p *process) traced(a *tracedArena, start quantity.Nanoseconds) calltrace.Process {
	functions, types, threads := map[uint32]int64{}, map[uint32]int64{}, map[uint32]int64{}
	for id, f := range p.names.functions {
		functions[id] = int64(f.id)
	}
	for id, t := range p.names.types {
		types[id] = int64(t.id)
	}
	for id, t := range p.threads.byID {
		threads[id] = int64(t.ID())
	}
	clock, lost, notTold := p.times.clock, map[uint32]calltrace.Missed{}, uint64(0)
	if h, err := a.arena.Header(); err == nil {
		notTold = h.Losses[wire.LossTrace].Events
	}
	clocks := a.arena.Clocks()
	for i := range clocks {
		if c := arena.Clock(&clocks[i]); c.TraceLost != 0 {
			lost[uint32(i+1)] = calltrace.Missed{Events: c.TraceLost, Ticks: c.TraceLostTicks}
		}
	}
	return calltrace.Process{Key: a.key, ID: int64(p.rec.ID()), Lost: lost, Others: p.collections,
		NotTold:   notTold,
		Functions: func(id uint32) int64 { return functions[id] },
		Types:     func(id uint32) int64 { return types[id] },
		Threads:   func(id uint32) int64 { return threads[id] },
		Time: func(ticks uint64) (int64, error) {
			if clock.perSecond == 0 {
				return 0, fmt.Errorf("%w: events of a process without a clock", wire.ErrCorrupt)
			}
			at, err := clock.monotonic(ticks)
			return int64(at - start), err
		}}
}

// addCollection notes a garbage collection that began or ended, for the trace.
func (p *process) addCollection(r *Recorder, c *wire.Collection) {
	at := calltrace.Record{Kind: calltrace.Begin, Time: int64(quantity.Nanoseconds(c.TimeNS) - r.start),
		Process: int64(p.rec.ID()), Generations: c.Collected, Induced: c.Induced != 0}
	if c.Collected == 0 {
		at.Kind = calltrace.End
	}
	if thread, ok := p.threads.id(c.Thread); ok {
		at.Thread = int64(thread)
	}
	p.collections = append(p.collections, at)
}
