package imported

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

const (
	// deepest is how many addresses the runtime keeps of a stack: one with so many may have had more.
	deepest = 100
	// otherBuild is the version id of a module whose file is not the one that was loaded: none has it.
	otherBuild = "00000000-0000-0000-0000-000000000000"
	// nameUnknown is the name of the pseudo function that stands for code that the file does not describe.
	nameUnknown = "(code that the file does not describe)"
	// nameUnmanaged is the name of the pseudo function of what no managed code did.
	nameUnmanaged = "(runtime: no managed code on the stack)"
)

// writer tells a recording of what was read.
type writer struct {
	*Trace
	rec       *recording.Recording
	process   *recording.Process
	row       session.Process
	samples   *samples
	finder    finder
	functions []session.FunctionID // by index of the finder's methods; 0: not needed yet
	bodies    []session.BodyID
	modules   map[uint64]session.ModuleID
	types     map[string]session.TypeID
	threadIDs map[uint64]session.ThreadID
	deep      map[uint32]bool // sites whose stacks are not known as a whole
	unnamed   map[uint64]bool
	totals    []quantity.Amount // by site
}

// Write writes what was read into a session that is being recorded. Keep says which arguments of the command are kept.
func (t *Trace) Write(to *session.Writer, keep secrets.Keep) (*Result, error) {
	w := &writer{Trace: t, rec: recording.New(to), finder: newFinder(t.code.methods),
		modules: map[uint64]session.ModuleID{}, types: map[string]session.TypeID{},
		threadIDs: map[uint64]session.ThreadID{}, deep: map[uint32]bool{}, unnamed: map[uint64]bool{}}
	w.functions = make([]session.FunctionID, len(w.finder.methods))
	w.bodies = make([]session.BodyID, len(w.finder.methods))
	t.end = max(t.end, t.rundown, 1)
	w.row = session.Process{PID: t.res.Head.PID, RuntimeVersion: t.version, End: t.end, EndState: session.EndUnknown}
	w.choose()
	w.process = w.rec.NewProcess()
	w.process.Join()
	if err := w.describeProcess(keep); err != nil {
		return nil, err
	}
	list := collections(t.gcs)
	err := w.rec.Batch(func() error { return w.begin(list) })
	if err == nil {
		err = w.slices()
	}
	t.res.Process, t.res.Duration, t.res.Samples = w.row.Name, t.end, len(w.samples.list)
	t.res.Sampler, t.res.Collections = w.row.Sampler, len(list)
	t.res.Methods, t.res.Unnamed = len(w.finder.methods), len(w.unnamed)
	return &t.res, err
}

// choose chooses the kind of samples: of two kinds, of the same allocations, the better one.
func (w *writer) choose() {
	w.samples = &w.sampled
	switch ticks := len(w.ticks.list); {
	case len(w.sampled.list) > 0:
		w.row.Sampler = session.SamplerRandom
		if ticks > 0 {
			w.res.LeftOut = append(w.res.LeftOut,
				LeftOut{Provider: providerRuntime, ID: eventTick, Events: uint64(ticks)})
		}
	case ticks > 0:
		w.row.Sampler = session.SamplerTicks
		w.samples = &w.ticks
	}
	slices.SortStableFunc(w.samples.list, func(a, b sample) int { return cmp.Compare(a.time, b.time) })
}

// describeProcess names the process by its command line.
func (w *writer) describeProcess(keep secrets.Keep) error {
	arguments := append([]string{}, keep.Of(strings.Fields(w.command))...)
	text, err := json.Marshal(arguments)
	if err != nil {
		return fmt.Errorf("encode arguments: %w", err)
	}
	w.row.Arguments = string(text)
	if all := strings.Fields(w.command); len(all) > 0 {
		w.row.Path = all[0]
		w.row.Name = recording.ProgramName(all[0], all)
	}
	w.row.Name = cmp.Or(w.row.Name, fmt.Sprintf("process %d", w.row.PID))
	return nil
}

// begin writes all that slices refer to.
func (w *writer) begin(list []*collection) error {
	w.process.MarkRun(&w.row, true)
	if err := w.process.Write(w.row); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(w.threads)) {
		row := session.Thread{OSID: int64(id & (1<<63 - 1)), Begin: w.threads[id].first}
		w.threadIDs[id] = w.process.AddThread(row).ID()
	}
	if err := w.process.WriteThreads(w.row.End, nil); err != nil {
		return err
	}
	if err := w.sites(); err != nil {
		return err
	}
	for i, c := range list {
		c.Number = uint32(i + 1) // of those in the file
		c.Since = c.Number
		if err := w.process.AddGC(&c.GC); err != nil {
			return err
		}
	}
	if err := w.process.WriteCollections(); err != nil {
		return err
	}
	return w.writeLosses()
}

// sites adds the sites of all samples.
func (w *writer) sites() error {
	first := make([]quantity.Nanoseconds, len(w.samples.sites))
	for i := len(w.samples.list) - 1; i >= 0; i-- {
		first[w.samples.list[i].site] = w.samples.list[i].time
	}
	for i := range w.samples.sites {
		s := &w.samples.sites[i]
		row := session.Site{Thread: w.threadIDs[s.thread], Node: w.node(s.stack, first[i], uint32(i)),
			Type: w.namedType(w.Trace.types.list[s.typ]), Weight: s.weight}
		if err := w.process.AddSite(row); err != nil {
			return err
		}
	}
	w.totals = make([]quantity.Amount, len(w.samples.sites))
	return w.process.WriteSites()
}

// node returns the place of a stack in the tree.
func (w *writer) node(stack uint32, at quantity.Nanoseconds, site uint32) session.NodeID {
	text := w.stacks.list[stack]
	node := session.NodeID(0)
	if len(text) == 0 {
		return w.process.Node(0, w.process.Pseudo(nameUnmanaged), 0)
	}
	addresses := slices.Collect(eventpipe.Addresses([]byte(text)))
	if len(addresses) >= deepest {
		w.deep[site] = true
		node = w.process.Node(0, w.process.Pseudo(session.NameTruncated), 0)
	}
	for _, address := range addresses {
		i := w.finder.find(address, at)
		if i < 0 {
			w.unnamed[address] = true
			node = w.process.Node(node, w.process.Pseudo(nameUnknown), 0)
			continue
		}
		function := w.function(i)
		m := &w.finder.methods[i]
		row := session.Instruction{Function: function, Body: w.bodies[i], Address: session.Address(address),
			NativeOffset: int64(address - m.start), ILOffset: -1}
		node = w.process.Node(node, function, w.process.Instruction(row))
	}
	return node
}

// function returns the row of a method, and adds its native code.
func (w *writer) function(i int) session.FunctionID {
	if w.functions[i] != 0 {
		return w.functions[i]
	}
	m := &w.finder.methods[i]
	class := parseTypeName(m.class)
	row := session.Function{Module: w.module(m.module), Token: session.Token(m.token), Kind: session.FunctionMethod,
		RawType: class.raw, RawName: m.name}
	if m.dynamic {
		row.Kind, row.RawType, row.Token = session.FunctionDynamic, "", 0
	} else if len(class.arguments) > 0 {
		row.Type = w.typeOf(&class)
	}
	w.functions[i] = w.process.Function(row, nil)
	w.bodies[i] = w.process.Body(session.Body{Function: w.functions[i], Address: session.Address(m.start),
		Size: int64(m.size), ILMap: session.EncodeILMap(m.points)})
	return w.functions[i]
}

// module returns the row of a module, 0 if the file does not describe it.
func (w *writer) module(id uint64) session.ModuleID {
	if row, known := w.modules[id]; known {
		return row
	}
	m, described := w.code.modules[id]
	if !described {
		w.modules[id] = 0
		return 0
	}
	row := session.Module{Name: path.Base(m.path), Path: m.path, IsDynamic: m.dynamic}
	if m.dynamic {
		row.Path = ""
	} else {
		row.MVID = fileVersion(&m)
	}
	w.modules[id] = w.process.Module(row)
	return w.modules[id]
}

// fileVersion returns the version id of a module's file: otherBuild if it is not known to be the one that was loaded,
// and "" without a file.
func fileVersion(m *module) string {
	if !path.IsAbs(m.path) {
		return ""
	}
	f, err := symbols.OpenFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return otherBuild
	}
	defer f.Close() // nothing was written
	image, err := clrmeta.Open(f, f.Size())
	if err != nil {
		return otherBuild
	}
	debug, err := image.Debug()
	if err != nil {
		return otherBuild
	}
	mvid, err := image.Metadata().MVID()
	if err != nil || !slices.ContainsFunc(debug.CodeView, func(c clrmeta.CodeView) bool {
		return [16]byte(c.GUID) == m.pdb && c.Age == m.pdbAge
	}) {
		return otherBuild
	}
	return strings.ToLower(mvid.String())
}

// slices writes the samples as slices, in the order of time.
func (w *writer) slices() error {
	list := w.samples.list
	for end := quantity.Nanoseconds(0); end < w.row.End; {
		end = min(recording.Schedule(end, 0), w.row.End)
		n, _ := slices.BinarySearchFunc(list, end, func(s sample, end quantity.Nanoseconds) int {
			if s.time <= end {
				return -1
			}
			return 1
		})
		if end == w.row.End {
			n = len(list)
		}
		if err := w.rec.Batch(func() error { return w.slice(list[:n], end) }); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// slice adds what some samples stand for, up to a time.
func (w *writer) slice(list []sample, end quantity.Nanoseconds) error {
	var grown []uint32
	for _, s := range list {
		of := &w.samples.sites[s.site]
		w.totals[s.site] = w.totals[s.site].Add(amount(of))
		grown = append(grown, s.site)
	}
	slices.Sort(grown)
	for _, site := range slices.Compact(grown) {
		if err := w.process.GrowSites(int(site), w.totals[site:site+1], nil); err != nil {
			return err
		}
	}
	return w.rec.EndSlice(end)
}

// amount is what a sample of a site stands for.
func amount(s *siteKey) quantity.Amount {
	return quantity.Amount{Allocations: quantity.Count(s.weight), Bytes: quantity.Bytes(uint64(s.weight) * s.size)}
}

// writeLosses tells what the session does not have.
func (w *writer) writeLosses() error {
	var rows []session.Loss
	if lost := w.samples.lost; lost.Events > 0 {
		lost.Reason = session.LossSamples
		rows = append(rows, lost)
	}
	deep := session.Loss{Reason: session.LossStackTruncated}
	for _, s := range w.samples.list {
		if w.deep[s.site] {
			a := amount(&w.samples.sites[s.site])
			deep.Events, deep.Amount = deep.Events+a.Allocations, deep.Amount.Add(a)
		}
	}
	if deep.Events > 0 {
		rows = append(rows, deep)
	}
	lost := quantity.Count(w.res.Lost + w.lostGCs + w.unreadable + w.code.left)
	if w.res.Cut {
		lost++
	}
	if lost > 0 {
		rows = append(rows, session.Loss{Reason: session.LossFileEvents, Events: lost})
	}
	return w.process.WriteLosses(rows)
}
