package analysis

import (
	"errors"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// SampleValue is a kind of value that samples have.
type SampleValue struct {
	Name string // snake_case, as in columns: "bytes", "gen0_objects", "elapsed"
	Unit string // count, bytes or nanoseconds
	// Difference says that it is by how much something changed, so that it can be less than zero.
	Difference bool
}

// SampleFrame is a function on a stack, and where in it the next one was called, or the allocation made.
type SampleFrame struct {
	Function     *session.Function
	Module       *session.Module // with ID 0 for functions without one
	File         string          // where the function is; "" without symbols
	Line, Column int64           // of the call or the allocation; 0: not known
	Address      session.Address // of the instruction; 0 for the function itself
}

// Sample is what a thread allocated of a type on a stack, or the time that it spent there, and the calls that began.
type Sample struct {
	Stack   []int32 // numbers of frames, the leaf first
	Path    int32   // the number of the stack's functions: see SampleSet.Path
	Thread  *session.Thread
	Process *session.Process
	Type    string  // of what was allocated; "" for times
	Values  []int64 // as SampleSet.Values says
}

// SampleSet is what is selected of a session as samples: what files of other tools are made of. Nothing is rounded
// or merged, so each sum over samples is one of the session.
type SampleSet struct {
	Values    []SampleValue
	Default   int      // of Values: the one to look at first
	Notes     []string // what is selected, in sentences
	Processes int      // of the session

	data      *Data
	amounts   []Lifetime // of sites, by position; without lifetimes only what was born
	times     []TimingTime
	before    int // values of memory, which come before those of times
	frames    []SampleFrame
	frameOf   map[sampleKey]int32
	files     map[session.FileID]string
	processOf map[session.ProcessID]*session.Process
}

type sampleKey struct {
	function    session.FunctionID
	instruction session.InstructionID
}

// lifetimeValues begin the names of the values of lifetimes, in their order.
var lifetimeValues = []string{"gen0", "gen1", "gen2", "loh", "poh", "alive"}

// Samples reads what is selected of a session. Errors are those of Data.Select and of reading.
func Samples(s *session.Session, sel Selection) (*SampleSet, error) {
	all, err := Load(s)
	if err != nil {
		return nil, err
	}
	d, err := all.Select(sel)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	x := &SampleSet{Processes: len(d.Processes), data: d, frameOf: map[sampleKey]int32{},
		files: map[session.FileID]string{}, processOf: map[session.ProcessID]*session.Process{}}
	if x.Notes, err = sel.Notes(s, ""); err != nil {
		return nil, err
	}
	files, err := s.SourceFiles()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		x.files[f.ID] = f.Path
	}
	for i := range d.Processes {
		x.processOf[d.Processes[i].ID] = &d.Processes[i]
	}
	if timed := len(d.Times) > 0; !timed || len(d.Sites) > 0 {
		if err := x.readMemory(sel); err != nil {
			return nil, fmt.Errorf("session %s: %w", s.Path(), err)
		}
	}
	x.before = len(x.Values)
	if len(d.Times) > 0 {
		x.Default = len(x.Values) + 1
		x.Values = append(x.Values,
			SampleValue{Name: "calls", Unit: "count"}, SampleValue{Name: "elapsed", Unit: "nanoseconds"},
			SampleValue{Name: "application", Unit: "nanoseconds"}, SampleValue{Name: "cpu", Unit: "nanoseconds"})
		x.times = d.TimingTimes()
	}
	return x, nil
}

// readMemory reads what sites allocated, and what became of it.
func (x *SampleSet) readMemory(sel Selection) error {
	x.Default = 1
	x.Values = append(x.Values, SampleValue{Name: "allocations", Unit: "count"}, SampleValue{Name: "bytes", Unit: "bytes"})
	lifetimes, err := x.data.Lifetimes()
	if err == nil {
		x.amounts = lifetimes.sites
		for _, name := range lifetimeValues {
			changes := name == "alive" && sel.Spans()
			x.Values = append(x.Values,
				SampleValue{name + "_objects", "count", changes}, SampleValue{name + "_bytes", "bytes", changes})
		}
		return nil
	}
	if !errors.Is(err, ErrNoLifetime) {
		return err
	}
	born, err := x.data.SiteAmounts()
	x.amounts = make([]Lifetime, len(born))
	for i, a := range born {
		x.amounts[i].Born = a
	}
	return err
}

// Each calls fn for each sample: first those of memory, in the order of sites, then those of times. The sample is
// overwritten by the next one. An error of fn ends it and is returned.
func (x *SampleSet) Each(fn func(*Sample) error) error {
	d := x.data
	types := newIndex(d.Types, func(r *session.Type) session.TypeID { return r.ID })
	get := func(id session.TypeID) *session.Type { return at(d.Types, types, id) }
	sample := Sample{Values: make([]int64, len(x.Values))}
	for i := range x.amounts {
		if x.amounts[i].IsZero() {
			continue
		}
		putLifetime(&x.amounts[i], sample.Values[:x.before])
		sample.Type = session.TypeDisplayName(d.Sites[i].Type, get)
		x.place(&sample, d.siteNode[i], d.siteThread[i])
		if err := fn(&sample); err != nil {
			return err
		}
	}
	clear(sample.Values)
	sample.Type = ""
	for i, t := range x.times {
		if t.Calls == 0 && t.Elapsed == 0 && t.Application == 0 && t.CPU == 0 {
			continue
		}
		v := sample.Values[x.before:]
		v[0], v[1], v[2], v[3] = int64(t.Calls), int64(t.Elapsed), int64(t.Application), int64(t.CPU)
		x.place(&sample, d.timingNode[i], d.timingThread[i])
		if err := fn(&sample); err != nil {
			return err
		}
	}
	return nil
}

// putLifetime writes the values of a site.
func putLifetime(l *Lifetime, to []int64) {
	to[0], to[1] = int64(l.Born.Allocations), int64(l.Born.Bytes)
	for i := 2; i+1 < len(to); i += 2 {
		end := l.Alive()
		if g := i/2 - 1; g < session.Generations {
			end = l.Dead[g]
		}
		to[i], to[i+1] = int64(end.Allocations), int64(end.Bytes)
	}
}

// place writes where a sample is.
func (x *SampleSet) place(to *Sample, node, thread int32) {
	d := x.data
	to.Stack, to.Path = to.Stack[:0], none
	to.Thread, to.Process = new(session.Thread), new(session.Process)
	if node >= 0 {
		to.Path = d.merged().Of[node]
	}
	for n := node; n >= 0; n = d.tree.Parent[n] {
		to.Stack = append(to.Stack, x.frame(n))
	}
	if thread >= 0 {
		to.Thread = &d.Threads[thread]
		if p := x.processOf[to.Thread.Process]; p != nil {
			to.Process = p
		}
	}
}

// frame returns the number of the frame of a node: frames are numbered as samples come to use them.
func (x *SampleSet) frame(node int32) int32 {
	d := x.data
	key := sampleKey{d.Nodes[node].Function, d.Nodes[node].Instruction}
	if known, ok := x.frameOf[key]; ok {
		return known
	}
	f := SampleFrame{Function: &d.Functions[d.nodeFunction[node]], Module: new(session.Module)}
	if m := d.functionModule[d.nodeFunction[node]]; m >= 0 {
		f.Module = &d.Modules[m]
	}
	f.File = x.files[f.Function.File]
	if in := d.nodeInstruction[node]; in >= 0 {
		f.Address = d.Instructions[in].Address
		if line := d.instructionLine[in]; line >= 0 {
			f.Line, f.Column = d.Lines[line].LineBegin, d.Lines[line].ColumnBegin
		}
	} else if len(d.Times) > 0 { // the function itself
		f.Line = f.Function.Line
	}
	n := int32(len(x.frames))
	x.frames, x.frameOf[key] = append(x.frames, f), n
	return n
}

// Frames returns the frames that samples had so far, by number.
func (x *SampleSet) Frames() []SampleFrame { return x.frames }

// ErrDifference means that a value can be less than zero and a format has no place for that.
var ErrDifference = errors.New("within a span it is by how much the living changed, and can be less than zero: " +
	"this format has no place for that")

// Find returns the number of a kind of value, of "" the default. The error is a *TermError, or ErrDifference.
func (x *SampleSet) Find(name string) (int, error) {
	if name == "" {
		return x.Default, nil
	}
	var names []string
	for i, v := range x.Values {
		if v.Name == name && v.Difference {
			return 0, fmt.Errorf("value %s: %w", name, ErrDifference)
		}
		if v.Name == name {
			return i, nil
		}
		names = append(names, v.Name)
	}
	return 0, &TermError{What: "value", Text: name, Names: names}
}

// SamplePath is what stacks of the same functions share.
type SamplePath struct {
	Process   *session.Process
	Functions []*session.Function // the root first
	Files     []string            // in which they are; "" without symbols
}

// Paths returns how many paths there are: numbers from 0 on.
func (x *SampleSet) Paths() int { return x.data.merged().Len() }

// Path returns a path.
func (x *SampleSet) Path(path int32) SamplePath {
	var out SamplePath
	all := x.data.merged()
	for p := path; p >= 0; p = all.Parent[p] {
		f := &x.data.Functions[all.Group[p]]
		out.Functions, out.Files = append(out.Functions, f), append(out.Files, x.files[f.File])
	}
	slices.Reverse(out.Functions)
	slices.Reverse(out.Files)
	out.Process = new(session.Process)
	if len(out.Functions) > 0 && x.processOf[out.Functions[0].Process] != nil {
		out.Process = x.processOf[out.Functions[0].Process]
	}
	return out
}

// at returns the row with an id, or an empty one.
func at[ID ~int64 | ~uint32, Row any](rows []Row, index index[ID], id ID) *Row {
	if i, ok := index.find(id); ok && i >= 0 {
		return &rows[i]
	}
	return new(Row)
}
