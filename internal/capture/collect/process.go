package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/arena"
	"github.com/clrprof/clrprof/internal/capture/proc"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/dotnet/callee"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/calltrace"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/wire"
)

// unmanagedFunction is the name of the pseudo function of what no managed code did.
const unmanagedFunction = "(runtime: no managed code on the stack)"

// lossReasons are those of wire.Loss. More of them are found here.
var lossReasons = [wire.LossCount]string{
	wire.LossArenaFull: session.LossArenaFull, wire.LossNoThreadState: session.LossNoThreadState,
	wire.LossReentered:      session.LossReentered,
	wire.LossILMapTruncated: session.LossILMapTruncated, wire.LossNameTruncated: session.LossNameTruncated,
	wire.LossUntracked: session.LossUntracked, wire.LossLifetimeFull: session.LossLifetimeFull,
	wire.LossMoves:    session.LossMoves,
	wire.LossSnapshot: session.LossSnapshot, wire.LossChanges: session.LossChanges,
	wire.LossSurvivors:  session.LossSurvivors,
	wire.LossUnreported: session.LossUnreported, wire.LossStacks: session.LossStacks, wire.LossAges: session.LossAges,
	wire.LossCallsFolded: session.LossCallsFolded, wire.LossCallsUnmatched: session.LossCallsUnmatched,
	wire.LossClockBackwards: session.LossClockBackwards, wire.LossNotHooked: session.LossNotHooked,
	wire.LossAsyncNotHooked: session.LossAsyncNotHooked, wire.LossNotProbed: session.LossNotProbed,
	wire.LossCallsCut: session.LossCallsCut, wire.LossWaits: session.LossWaits,
	wire.LossCounts: session.LossCPUCounters, wire.LossControl: session.LossControl,
	wire.LossMarks: session.LossMarks, wire.LossNotLimited: session.LossNotLimited,
	wire.LossTrace: session.LossTrace, wire.LossInteractions: session.LossInteractions,
	wire.LossInteractionTexts: session.LossInteractionTexts, wire.LossSystemEvents: session.LossSystemEvents,
	wire.LossCallsNested: session.LossCallsNested,
	wire.LossSamples:     session.LossSamples,
	wire.LossMeters:      session.LossMeters, wire.LossMeterCallbacks: session.LossMeterCallbacks,
}

// lossEvents returns how often a loss happened. Losses of calls count these as objects.
func lossEvents(loss wire.Loss, l *wire.LossEntry) (events uint64, amount quantity.Amount) {
	switch loss {
	case wire.LossCallsFolded, wire.LossCallsUnmatched, wire.LossCallsCut, wire.LossCallsNested:
		return max(l.Events, l.Objects), quantity.Amount{}
	case wire.LossClockBackwards, wire.LossNotHooked, wire.LossAsyncNotHooked, wire.LossNotProbed, wire.LossWaits,
		wire.LossCounts, wire.LossSystemEvents,
		wire.LossNotLimited, wire.LossInteractions, wire.LossInteractionTexts, wire.LossMeters, wire.LossMeterCallbacks:
		return l.Events, quantity.Amount{}
	}
	return l.Events, quantity.Amount{Allocations: quantity.Count(l.Objects), Bytes: quantity.Bytes(l.Bytes)}
}

const (
	reasonStackTruncated = "stack_truncated"
	reasonTypeUnknown    = "type_unknown"
	reasonGCCut          = session.LossGCCut
)

// process is one arena and how far it was read.
type process struct {
	rec   *recording.Process
	arena *arena.Arena

	pid   int                 // here
	outer func(inner int) int // it, of that in its own namespace, which the header has
	alive func(pid int) bool
	// it does not run any more, and did not before the arena was read: decided once for each sync
	over         bool
	died         quantity.Nanoseconds // when it was found over without having shut down; 0: it was not
	data         uint32               // wire.DataMemory and so on
	end          quantity.Nanoseconds // of the process, or now
	failure      string               // why its agent does not record; "": it does
	exe          string
	arguments    []string
	named        string // by the program itself; "": it has not
	logRead      int
	names        names
	tree         tree
	places       places
	threads      threads
	lifetime     lifetime
	times        times
	scopes       scopes
	interactions interactions
	cases        testCases
	measured     measured

	collections []calltrace.Record // for the call trace

	damage    *damage         // nil: the arena is taken to be whole, and what is wrong in it is an error
	reading   uint32          // the part that sync is at: wire.DataTime, wire.DataLifetime or 0
	leftOut   uint32          // parts that the arena has and the session does not
	damaged   uint64          // records and rows that are left out, or in which something is
	lostSites quantity.Amount // of sites that are left out

	unclear []siteOf // sites whose stack was cut, or whose type had no name when they were new
}

// siteOf is a place and a type by their ids in the arena, as they were when the site was new: the target can overwrite
// its arena.
type siteOf struct {
	site      int // index
	node, typ uint32
}

func newProcess(rec *recording.Process, a *arena.Arena, r *Recorder) *process {
	return &process{rec: rec, arena: a, outer: r.outer, alive: r.alive, names: newNames(), threads: newThreads()}
}

// readHeader also finds out whether the process is over. If it is, the header and all that is read later is final. A
// process that ends while its arena is read runs, as far as this sync is concerned: what is read then is of different
// moments.
func (p *process) readHeader() (*wire.Header, error) {
	header, err := p.arena.Header()
	if err == nil && !p.over && (wire.State(header.State) == wire.StateDetached || !p.alive(int(header.PID))) {
		p.over = true
		header, err = p.arena.Header()
	}
	if err == nil {
		header.Data = p.wanted(header.Data)
		p.pid = p.outer(int(header.PID))
		p.note(header)
	}
	return header, err
}

// note takes from the header what the process records.
func (p *process) note(h *wire.Header) {
	p.data = h.Data
	p.scopes.missing = quantity.Count(h.Losses[wire.LossNotLimited].Events)
	if p.tree.len() > 1 || p.times.taken.Len() != 0 {
		return
	}
	p.places.on = h.Data&wire.DataMemory != 0 && h.Data&wire.DataTime != 0 &&
		h.Instrument == wire.InstrumentBoundary|wire.InstrumentIL
}

// sync writes what is new in the arena and adds by how much each site and timing grew. The tables are read in the
// reverse of the order in which the agent fills them, so whatever a row refers to is there.
func (p *process) sync(r *Recorder, now quantity.Nanoseconds, last bool) error {
	header, err := p.readHeader()
	if err != nil {
		return err
	}
	found, err := p.read(r)
	if err != nil {
		return err
	}
	p.mend(r, &found, header)
	if err := p.writeProcess(r, header, now, last); err != nil {
		return err
	}
	p.followGroup(r, header)
	if err := p.threads.addSets(r, p.rec, found.sets, p.skips); err != nil {
		return err
	}
	if err := p.threads.write(p.rec, p.end); err != nil {
		return err
	}
	if err := p.scopes.write(r, p, p.end+r.start); err != nil {
		return err
	}
	if err := p.rec.WriteNames(); err != nil {
		return err
	}
	if err := p.tree.extend(p, found.ips, found.nodes); err != nil {
		return err
	}
	if err := p.rec.WriteTree(); err != nil {
		return err
	}
	if err := p.interactions.write(r, p, &found, last); err != nil {
		return err
	}
	if err := p.cases.write(r); err != nil {
		return err
	}
	p.reading = wire.DataTime
	if err := p.times.add(r, p, header, found.timings); err != nil {
		return err
	}
	p.reading = 0
	if err := p.readSites(r, &found); err != nil {
		return err
	}
	p.reading = wire.DataTime
	if err := p.times.findFolded(p, header, found.timings); err != nil {
		return err
	}
	r.isNamed(last)
	if err := p.times.sync(r, p, header, found.timings, last || p.over); err != nil {
		return err
	}
	if err := p.times.writeSystemEvents(r, p, header, &found); err != nil {
		return err
	}
	p.reading = wire.DataLifetime
	if err := p.lifetime.addCallers(p, &found); err != nil && !p.skips(err) {
		return err
	}
	if err := p.lifetime.write(r, p, header, last || p.over); err != nil {
		return err
	}
	p.reading = 0
	return p.writeLosses(r, header, last)
}

// found is what the tables of an arena hold at one moment.
type found struct {
	sites   []wire.Site
	called  []wire.SiteTiming // by site; empty without timings
	sampled []wire.SiteSample // by site; empty if nothing is sampled
	timings []wire.Timing
	acted   []wire.SystemEvent
	calls   []wire.SystemCall // of these
	sets    []wire.ThreadSet
	nodes   []wire.Node
	ips     []wire.IP
}

// read reads the log, and looks at the tables before it: the log describes what they refer to.
func (p *process) read(r *Recorder) (found, error) {
	if p.data&wire.DataTime != 0 {
		p.tree.join(p.rec)
	}
	if p.damage != nil {
		p.names.lostType = p.lostType
	}
	var f found
	f.acted = p.arena.SystemEvents()
	f.calls = p.arena.SystemCalls()
	f.sites, f.called, f.sampled = p.arena.Sites(), p.arena.SiteTimings(), p.arena.SiteSamples()
	f.timings, f.sets = p.arena.Timings(), p.arena.ThreadSets()
	f.nodes, f.ips = p.arena.Nodes(), p.arena.IPs()
	p.scopes.read(p.arena)
	p.interactions.read(p.arena)
	// A record has at least 8 bytes (wire.Next).
	if err := r.rec.Room(len(f.timings), len(f.sites), len(f.sets), len(f.nodes), len(f.ips),
		(len(p.arena.Log())-p.logRead)/8); err != nil {
		return found{}, err
	}
	return f, p.readLog(r)
}

func (p *process) readLog(r *Recorder) error {
	log := p.arena.Log()
	for p.logRead < len(log) {
		record, rest, err := wire.Next(log[p.logRead:])
		if err == nil {
			err = p.readRecord(r, record)
		}
		if err != nil && !p.skips(err) {
			return fmt.Errorf("log at %d: %w", p.logRead, err)
		}
		if rest == nil && err != nil {
			rest = wire.Skip(log[p.logRead:])
		}
		p.logRead = len(log) - len(rest)
	}
	return nil
}

func (p *process) readRecord(r *Recorder, record any) error {
	switch record := record.(type) {
	case wire.Process:
		p.exe = string(record.Executable)
		open := symbols.Within(p.exe)
		p.names.finder.Open = func(path string) (callee.File, error) { return open(path) }
		p.arguments = strings.Split(strings.TrimSuffix(string(record.CommandLine), "\x00"), "\x00")
	case wire.ProcessName:
		p.named = record.Name
	case wire.Thread, wire.ThreadEnd, wire.ThreadName:
		p.threads.add(r, p.rec, record, p.logRead)
	case wire.Control, wire.Mark, wire.FunctionMark, wire.RequestMark:
		return p.addControl(r, record)
	case wire.Collection:
		p.addCollection(r, &record)
	case wire.GC, wire.GCCaller, wire.Alive, wire.Why, wire.Roots, wire.Changes, wire.Freed:
		if p.leftOut&wire.DataLifetime != 0 {
			return nil
		}
		return p.addLifetime(r, record)
	case wire.TestCase:
		return p.cases.add(r, p, &record)
	case wire.InteractionText:
		p.interactions.addText(&record)
	case wire.MeterState:
		p.measured.addState(&record)
	case wire.MeterCounter:
		return p.measured.addCounter(&record)
	case wire.NotProbed:
		return p.addNotProbed(&record)
	default:
		return p.names.add(r, p.rec, record)
	}
	return nil
}

func (p *process) writeProcess(r *Recorder, h *wire.Header, now quantity.Nanoseconds, last bool) error {
	arguments, err := json.Marshal(r.arguments.Of(p.arguments))
	if err != nil {
		return fmt.Errorf("encode arguments: %w", err)
	}
	row := session.Process{
		PID: int64(p.pid), ParentPID: int64(h.ParentPID), Name: p.name(), Path: p.exe,
		Arguments:      string(arguments),
		RuntimeVersion: p.runtimeVersion(h),
		Begin:          max(0, quantity.Nanoseconds(h.StartNS)-r.start), End: now, EndState: session.EndRunning,
		AgentBytes: quantity.Bytes(h.SharedBytes + h.PrivateBytes), AgentPrivate: quantity.Bytes(h.PrivateBytes),
		Compiled: quantity.Count(h.Compiled), CompiledTime: nanoseconds(h.CompiledNS),
		Recompiled: quantity.Count(h.Recompiled), RecompiledTime: nanoseconds(h.RecompiledNS),
		CompiledMissed: quantity.Count(h.CompiledMissed),
	}
	if int(h.Sampler) < len(samplers) {
		row.Sampler = samplers[h.Sampler]
	}
	switch {
	case wire.State(h.State) == wire.StateShutDown:
		row.End, row.EndState = quantity.Nanoseconds(h.EndNS)-r.start, session.EndExited
	case wire.State(h.State) == wire.StateDetached:
		row.End = quantity.Nanoseconds(h.EndNS) - r.start // of its recording: it runs on
	case p.over:
		if p.died == 0 {
			p.died = max(now, 1)
		}
		row.End, row.EndState = p.died, session.EndDied
	}
	if wire.State(h.State) == wire.StateFailed {
		p.failure = failureReason(wire.Failure(h.Failure))
	}
	p.end = row.End
	if p.failure == "" {
		p.rec.MarkRun(&row, last)
	}
	return p.rec.Write(row)
}

// coreLibrary is the file of the core library, which lies in a directory with the runtime's version as name:
// shared/Microsoft.NETCore.App/3.1.2.
const coreLibrary = "System.Private.CoreLib.dll"

// runtimeVersion is the version of the process's runtime. .NET Core 2 and 3 tell that of the .NET Framework, 4.0.30319;
// where a shared runtime lies says more.
func (p *process) runtimeVersion(h *wire.Header) string {
	if h.RuntimeMajor == 4 && h.RuntimeMinor == 0 && filepath.Base(p.names.corePath) == coreLibrary {
		version := filepath.Base(filepath.Dir(p.names.corePath))
		var major, minor, patch int
		if n, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err == nil && n == 3 {
			return version
		}
	}
	return fmt.Sprintf("%d.%d.%d", h.RuntimeMajor, h.RuntimeMinor, h.RuntimeBuild)
}

// samplers are by the sampler of wire.
var samplers = [...]string{wire.SamplerRandom: session.SamplerRandom, wire.SamplerTicks: session.SamplerTicks}

// alive says whether a process runs. A zombie has ended: its parent did not ask for its exit code yet.
func alive(pid int) bool {
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return false
	}
	fields := proc.Stat(pid)
	return len(fields) > 0 && fields[proc.FieldState] != "Z" && fields[proc.FieldState] != "X"
}

// name is what the program calls its process, or what recording.ProgramName makes of how it was started.
func (p *process) name() string {
	if p.named != "" {
		return p.named
	}
	return recording.ProgramName(p.exe, p.arguments)
}

// sitesAtOnce is how many sites are read before the recording gets what they have counted: what was read stays in
// the processor's cache.
const sitesAtOnce = 256

// readSites adds new sites, and tells what all have counted. What died is read before what was allocated: what is dead
// by then was allocated before, so dead never exceeds allocated.
func (p *process) readSites(r *Recorder, f *found) error {
	deaths, sites := p.arena.Deaths(), f.sites
	if p.leftOut&wire.DataLifetime != 0 {
		deaths = nil
	}
	var allocated [sitesAtOnce]quantity.Amount
	var dead [sitesAtOnce]recording.Dead
	for first := 0; first < len(sites); first += sitesAtOnce {
		r.report(partSites, first, len(sites))
		some := sites[first:min(first+sitesAtOnce, len(sites))]
		for i := range some {
			if err := p.meet(first+i, f); err != nil {
				return err
			}
		}
		reported := readDeaths(deaths[min(first, len(deaths)):], dead[:len(some)])
		for i := range some {
			objects, bytes := arena.Count(&some[i])
			if objects > recording.MaxCounter || bytes > recording.MaxCounter {
				return fmt.Errorf("site %d: %w: %d objects, %d bytes", first+i, wire.ErrCorrupt, objects, bytes)
			}
			allocated[i] = quantity.Amount{Allocations: quantity.Count(objects), Bytes: quantity.Bytes(bytes)}
		}
		if err := p.rec.GrowSites(first, allocated[:len(some)], reported); err != nil {
			return err
		}
	}
	return p.rec.EndSites()
}

// meet adds a site that was not seen before.
func (p *process) meet(i int, f *found) error {
	if i != p.rec.Sites() {
		return nil
	}
	s := &f.sites[i]
	of := siteOf{i, s.Node, s.Type &^ wire.SiteFrozen}
	timing := uint32(0)
	if i < len(f.called) {
		timing = f.called[i].Timing
	}
	row, err := p.newSite(s.Thread, of, timing, s.Type&wire.SiteFrozen != 0)
	if err != nil {
		return fmt.Errorf("site %d: %w", i, err)
	}
	if i < len(f.sampled) {
		row.Weight = f.sampled[i].Weight
	}
	if p.tree.isTruncated(of.node) || p.names.typeUnknown(of.typ) {
		p.unclear = append(p.unclear, of)
	}
	return p.rec.AddSite(row)
}

func (p *process) newSite(threadID uint32, of siteOf, timing uint32, frozen bool) (session.Site, error) {
	thread, ok := p.threads.id(threadID)
	if !ok {
		return session.Site{}, fmt.Errorf("%w: thread %d was never described", wire.ErrCorrupt, threadID)
	}
	node, err := p.place(of, timing, frozen)
	if err != nil {
		return session.Site{}, err
	}
	if node == 0 { // nothing of its stack is kept
		node = p.rec.Node(0, p.rec.Pseudo(session.NameExcluded), 0)
	}
	typ, ok := p.names.typeID(of.typ)
	if !ok {
		return session.Site{}, fmt.Errorf("%w: type %d was never described", wire.ErrCorrupt, of.typ)
	}
	return session.Site{Thread: thread, Node: node, Type: typ, Frozen: frozen}, nil
}

// writeLosses writes the agent's counters, and what follows from the sites: allocations below (truncated) and of
// types that the runtime never named. The last time, a collection that goes on is one whose end the session will not
// have.
func (p *process) writeLosses(r *Recorder, h *wire.Header, last bool) error {
	losses := map[string]session.Loss{}
	add := func(reason string, events uint64, amount quantity.Amount) {
		l := losses[reason]
		l.Reason = reason
		l.Events += quantity.Count(events)
		l.Amount = l.Add(amount)
		losses[reason] = l
	}
	for i, l := range h.Losses {
		if max(l.Events, l.Objects, l.Bytes) > recording.MaxCounter {
			err := fmt.Errorf("%w: loss of %d events, %d objects, %d bytes", wire.ErrCorrupt, l.Events, l.Objects,
				l.Bytes)
			if p.skips(err) {
				continue
			}
			return err
		}
		if events, amount := lossEvents(wire.Loss(i), &l); events != 0 {
			add(lossReasons[i], events, amount)
		}
	}
	if p.failure != "" {
		add(p.failure, 1, quantity.Amount{})
	}
	if found, ok := p.rec.CutGC(); ok && (p.died != 0 || last) {
		add(reasonGCCut, 1, found)
	}
	jumps, err := p.times.jumps(p)
	if p.skips(err) {
		jumps, err = 0, nil
	}
	if err != nil {
		return err
	}
	if jumps != 0 {
		add(session.LossCallsJumped, jumps, quantity.Amount{})
	}
	events, err := r.tracer.lost(p, h, last)
	if err != nil {
		return err
	}
	if events != 0 {
		add(session.LossTrace, events, quantity.Amount{})
	}
	if n := p.threads.folded(); n != 0 {
		add(session.LossThreadsFolded, n, quantity.Amount{})
	}
	for _, of := range p.unclear {
		counted := p.rec.Allocated(of.site)
		if p.tree.isTruncated(of.node) {
			add(reasonStackTruncated, uint64(counted.Allocations), counted)
		}
		if p.names.typeUnknown(of.typ) { // it can have got a name meanwhile
			add(reasonTypeUnknown, uint64(counted.Allocations), counted)
		}
	}
	p.addDamage(add)
	var rows []session.Loss
	for _, reason := range append(lossReasons[:], reasonStackTruncated, reasonTypeUnknown, reasonGCCut,
		session.LossCallsJumped, session.LossThreadsFolded, session.LossDamaged, session.LossDamagedTimes,
		session.LossDamagedLifetimes, p.failure) {
		if l, ok := losses[reason]; ok {
			rows = append(rows, l)
		}
	}
	return p.rec.WriteLosses(rows)
}
