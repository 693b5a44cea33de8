// Package pprof writes a session in the format of pprof (profile.proto,
// github.com/google/pprof), which go tool pprof, speedscope, Grafana and others read.
//
// Every site becomes a sample: its stack, leaf first, with the values allocations
// (count) and bytes (bytes) and the labels type, thread and process. With lifetimes it also has,
// for each generation in which objects died and for those alive, two more: gen0_objects, gen0_bytes, …,
// alive_objects, alive_bytes. A location is an
// instruction of the session; its mapping is the module. Nothing is rounded or
// merged, so a total, flat or cumulative value in pprof equals the one in the views.
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

// Write writes the part of s that f lets through to w, compressed with gzip as
// the format demands. Errors are those of reading s, of f, and of w.
func Write(w io.Writer, s *session.Session, f analysis.Filter) error {
	p, err := Convert(s, f)
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

// Convert makes a profile of the part of s that f lets through.
func Convert(s *session.Session, f analysis.Filter) (*profile.Profile, error) {
	c := &converter{
		files: map[session.FileID]string{}, mappings: map[session.ModuleID]*profile.Mapping{},
		functions: map[session.FunctionID]*profile.Function{}, locations: map[place]*profile.Location{},
		profile: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "allocations", Unit: "count"}, {Type: "bytes", Unit: "bytes"}},
			DefaultSampleType: "bytes",
			PeriodType:        &profile.ValueType{Type: "allocations", Unit: "count"},
			Period:            1, // every allocation
		},
	}
	var err error
	if c.Data, err = analysis.Load(s); err != nil {
		return nil, err
	}
	amounts, err := c.SiteAmounts(f)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	if err := c.readNames(s); err != nil {
		return nil, err
	}
	lives, err := c.lives(f)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	for i := range c.Sites {
		a, life := amounts[i], lives[c.Sites[i].ID]
		if a.IsZero() && life.IsZero() {
			continue
		}
		values := []int64{int64(a.Allocations), int64(a.Bytes)}
		if lives != nil {
			values = append(values, endValues(life)...)
		}
		c.addSample(&c.Sites[i], values)
	}
	if err := c.profile.CheckValid(); err != nil {
		return nil, fmt.Errorf("session %s: making a pprof profile: %w", s.Path(), err)
	}
	return c.profile, nil
}

// endNames begin the names of the values of lifetimes, in their order.
var endNames = []string{"gen0", "gen1", "gen2", "loh", "poh", "alive"}

// lives returns what became of the objects of the sites and adds the types of their values; nil without lifetimes.
func (c *converter) lives(f analysis.Filter) (map[session.SiteID]analysis.Life, error) {
	lives, err := c.Lives(f)
	if errors.Is(err, analysis.ErrNoLifetime) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range endNames {
		c.profile.SampleType = append(c.profile.SampleType, &profile.ValueType{Type: name + "_objects", Unit: "count"},
			&profile.ValueType{Type: name + "_bytes", Unit: "bytes"})
	}
	return lives.Sites(), nil
}

// endValues are in the order of endNames.
func endValues(l analysis.Life) []int64 {
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

func (c *converter) addSample(site *session.Site, values []int64) {
	sample := &profile.Sample{Value: values, Label: map[string][]string{}, NumLabel: map[string][]int64{}}
	// analysis.Load has checked that parents exist and come before their children.
	for node := c.byID.nodes[site.Node]; node != nil; node = c.byID.nodes[node.Parent] {
		sample.Location = append(sample.Location, c.location(node))
	}
	sample.Label["type"] = []string{session.TypeDisplayName(site.Type, func(id session.TypeID) *session.Type {
		return orEmpty(c.byID.types[id])
	})}
	thread := orEmpty(c.byID.threads[site.Thread])
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
	l := &profile.Location{
		ID: uint64(len(c.profile.Location) + 1), Mapping: c.mapping(f.Module), Address: uint64(in.Address),
		Line: []profile.Line{{Function: c.function(f), Line: line.LineBegin, Column: line.ColumnBegin}},
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
