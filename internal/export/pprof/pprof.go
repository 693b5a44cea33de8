// Package pprof writes a session in the format of pprof (profile.proto,
// github.com/google/pprof), which go tool pprof, speedscope, Grafana and others read.
//
// Every site becomes a sample: its stack, leaf first, with the values allocations
// (count) and bytes (bytes) and the labels type, thread and process. With lifetimes it also has,
// for each generation in which objects died and for those alive, two more: gen0_objects, gen0_bytes, …,
// alive_objects, alive_bytes. A location is an
// instruction of the session; its mapping is the module. Nothing is rounded or
// merged, so a total, flat or cumulative value in pprof equals the one in the views.
//
// With times, every node on which a thread spent time becomes a sample too, with the values calls (count), elapsed and
// application (nanoseconds): the exclusive time of the node, without what the probes added. Its last location is a call
// site, for the time before that call, or the line of the function itself, for the time after its last one.
//
// The output depends on nothing but the session.
package pprof

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// Write writes the part of s that is selected to w, compressed with gzip as
// the format demands. Errors are those of reading s, of f, and of w.
func Write(w io.Writer, s *session.Session, sel analysis.Selection) error {
	p, err := Convert(s, sel)
	if err != nil {
		return err
	}
	if err := p.Write(w); err != nil {
		return fmt.Errorf("writing a pprof profile: %w", err)
	}
	return nil
}

// converter holds the ids that pprof objects are made for.
type converter struct {
	*analysis.Data
	files     map[session.FileID]string
	mappings  map[session.ModuleID]*profile.Mapping
	functions map[session.FunctionID]*profile.Function
	locations map[place]*profile.Location
	byID      ids
	profile   *profile.Profile
}

// place is what a location stands for: an instruction, or a pseudo function.
type place struct {
	function    session.FunctionID
	instruction session.InstructionID
}

// ids find rows by id.
type ids struct {
	functions    map[session.FunctionID]*session.Function
	instructions map[session.InstructionID]*session.Instruction
	modules      map[session.ModuleID]*session.Module
	lines        map[session.LineID]*session.Line
	types        map[session.TypeID]*session.Type
	threads      map[session.ThreadID]*session.Thread
	processes    map[session.ProcessID]*session.Process
	nodes        map[session.NodeID]*session.Node
}

func byID[ID comparable, Row any](list []Row, id func(*Row) ID) map[ID]*Row {
	out := make(map[ID]*Row, len(list))
	for i := range list {
		out[id(&list[i])] = &list[i]
	}
	return out
}

// Convert makes a profile of the part of s that is selected.
func Convert(s *session.Session, sel analysis.Selection) (*profile.Profile, error) {
	c := &converter{
		files: map[session.FileID]string{}, mappings: map[session.ModuleID]*profile.Mapping{},
		functions: map[session.FunctionID]*profile.Function{}, locations: map[place]*profile.Location{},
		profile: &profile.Profile{Period: 1}, // every allocation, every call
	}
	all, err := analysis.Load(s)
	if err != nil {
		return nil, err
	}
	if c.Data, err = all.Select(sel); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	if err := c.readNames(s); err != nil {
		return nil, err
	}
	timed, hasMemory := len(c.Times) > 0, len(c.Times) == 0 || len(c.Sites) > 0
	if hasMemory {
		if err := c.addSites(timed); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.Path(), err)
		}
	}
	if timed {
		if err := c.addTimings(); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.Path(), err)
		}
	}
	if err := c.profile.CheckValid(); err != nil {
		return nil, fmt.Errorf("session %s: making a pprof profile: %w", s.Path(), err)
	}
	return c.profile, nil
}

// addTypes adds types of values: pairs of a name and a unit. The period is of the first of all.
func (c *converter) addTypes(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		c.profile.SampleType = append(c.profile.SampleType, &profile.ValueType{Type: pairs[i], Unit: pairs[i+1]})
	}
	if c.profile.PeriodType == nil {
		c.profile.PeriodType = &profile.ValueType{Type: pairs[0], Unit: pairs[1]}
	}
}

// timeValues is how many values times have.
const timeValues = 4

// addSites adds a sample for each site. With times each has zeros for them.
func (c *converter) addSites(timed bool) error {
	amounts, err := c.SiteAmounts()
	if err != nil {
		return err
	}
	c.addTypes("allocations", "count", "bytes", "bytes")
	c.profile.DefaultSampleType = "bytes"
	lifetimes, err := c.lifetimes()
	if err != nil {
		return err
	}
	for i := range c.Sites {
		a, lifetime := amounts[i], lifetimes[c.Sites[i].ID]
		if a.IsZero() && lifetime.IsZero() {
			continue
		}
		values := []int64{int64(a.Allocations), int64(a.Bytes)}
		if lifetimes != nil {
			values = append(values, endValues(lifetime)...)
		}
		if timed {
			values = append(values, make([]int64, timeValues)...)
		}
		sample := c.addSample(c.Sites[i].Node, c.Sites[i].Thread, values)
		sample.Label["type"] = []string{session.TypeDisplayName(c.Sites[i].Type, func(id session.TypeID) *session.Type {
			return orEmpty(c.byID.types[id])
		})}
	}
	return nil
}

// addTimings adds a sample for each timing, with zeros for the values of allocations.
func (c *converter) addTimings() error {
	times := c.TimingTimes()
	before := len(c.profile.SampleType)
	c.addTypes("calls", "count", "elapsed", "nanoseconds", "application", "nanoseconds", "cpu", "nanoseconds")
	c.profile.DefaultSampleType = "elapsed"
	for i, t := range times {
		if t.Calls == 0 && t.Elapsed == 0 && t.Application == 0 {
			continue
		}
		values := append(make([]int64, before), int64(t.Calls), int64(t.Elapsed), int64(t.Application), int64(t.CPU))
		c.addSample(c.Timings[i].Node, c.Timings[i].Thread, values)
	}
	return nil
}

// endNames begin the names of the values of lifetimes, in their order.
var endNames = []string{"gen0", "gen1", "gen2", "loh", "poh", "alive"}

// lifetimes returns what became of the objects of the sites and adds the types of their values; nil without lifetimes.
func (c *converter) lifetimes() (map[session.SiteID]analysis.Lifetime, error) {
	lifetimes, err := c.Lifetimes()
	if errors.Is(err, analysis.ErrNoLifetime) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range endNames {
		c.addTypes(name+"_objects", "count", name+"_bytes", "bytes")
	}
	return lifetimes.Sites(), nil
}

// endValues are in the order of endNames.
func endValues(l analysis.Lifetime) []int64 {
	var out []int64
	for _, a := range append(l.Dead[:], l.Alive()) {
		out = append(out, int64(a.Allocations), int64(a.Bytes))
	}
	return out
}

func (c *converter) readNames(s *session.Session) error {
	files, err := s.SourceFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		c.files[f.ID] = f.Path
	}
	info, err := s.Info()
	if err != nil {
		return err
	}
	if created, err := time.Parse(time.RFC3339, info[session.KeyCreated]); err == nil {
		c.profile.TimeNanos = created.UnixNano()
	}
	if n, err := strconv.ParseInt(info[session.KeyDuration], 10, 64); err == nil {
		c.profile.DurationNanos = n
	}
	c.byID = ids{
		functions:    byID(c.Functions, func(r *session.Function) session.FunctionID { return r.ID }),
		instructions: byID(c.Instructions, func(r *session.Instruction) session.InstructionID { return r.ID }),
		modules:      byID(c.Modules, func(r *session.Module) session.ModuleID { return r.ID }),
		lines:        byID(c.Lines, func(r *session.Line) session.LineID { return r.ID }),
		types:        byID(c.Types, func(r *session.Type) session.TypeID { return r.ID }),
		threads:      byID(c.Threads, func(r *session.Thread) session.ThreadID { return r.ID }),
		processes:    byID(c.Processes, func(r *session.Process) session.ProcessID { return r.ID }),
		nodes:        byID(c.Nodes, func(r *session.Node) session.NodeID { return r.ID }),
	}
	return nil
}

func (c *converter) addSample(at session.NodeID, on session.ThreadID, values []int64) *profile.Sample {
	sample := &profile.Sample{Value: values, Label: map[string][]string{}, NumLabel: map[string][]int64{}}
	// analysis.Load has checked that parents exist and come before their children.
	for node := c.byID.nodes[at]; node != nil; node = c.byID.nodes[node.Parent] {
		sample.Location = append(sample.Location, c.location(node))
	}
	thread := orEmpty(c.byID.threads[on])
	process := orEmpty(c.byID.processes[thread.Process])
	name := thread.Name
	if name == "" {
		name = fmt.Sprintf("thread %d", thread.OSID)
	}
	sample.Label["thread"] = []string{name}
	sample.Label["process"] = []string{process.Name}
	sample.NumLabel["thread_id"] = []int64{thread.OSID}
	sample.NumLabel["process_id"] = []int64{process.PID}
	c.profile.Sample = append(c.profile.Sample, sample)
	return sample
}

// orEmpty returns p, or an empty row where an id refers to nothing.
func orEmpty[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

func (c *converter) location(node *session.Node) *profile.Location {
	key := place{node.Function, node.Instruction}
	if known := c.locations[key]; known != nil {
		return known
	}
	in := orEmpty(c.byID.instructions[node.Instruction])
	line := orEmpty(c.byID.lines[in.Line])
	f := orEmpty(c.byID.functions[node.Function])
	number := line.LineBegin
	if node.Instruction == 0 && len(c.Times) > 0 { // the function itself
		number = f.Line
	}
	l := &profile.Location{
		ID: uint64(len(c.profile.Location) + 1), Mapping: c.mapping(f.Module), Address: uint64(in.Address),
		Line: []profile.Line{{Function: c.function(f), Line: number, Column: line.ColumnBegin}},
	}
	c.locations[key] = l
	c.profile.Location = append(c.profile.Location, l)
	return l
}

func (c *converter) function(f *session.Function) *profile.Function {
	if known := c.functions[f.ID]; known != nil {
		return known
	}
	system := f.RawName
	if f.RawType != "" {
		system = f.RawType + "." + f.RawName
	}
	out := &profile.Function{
		ID: uint64(len(c.profile.Function) + 1), Name: f.DisplayName(), SystemName: system,
		Filename: c.files[f.File], StartLine: f.Line,
	}
	c.functions[f.ID] = out
	c.profile.Function = append(c.profile.Function, out)
	return out
}

// mapping returns the mapping of a module; nil for functions without one. Modules
// have no address range here: a body's code is not in the module's file.
func (c *converter) mapping(id session.ModuleID) *profile.Mapping {
	m := c.byID.modules[id]
	if m == nil {
		return nil
	}
	if known := c.mappings[id]; known != nil {
		return known
	}
	file := m.Path
	if file == "" {
		file = m.Name
	}
	out := &profile.Mapping{
		ID: uint64(len(c.profile.Mapping) + 1), File: file, BuildID: m.MVID,
		HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}
	c.mappings[id] = out
	c.profile.Mapping = append(c.profile.Mapping, out)
	return out
}
