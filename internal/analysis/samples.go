package analysis

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// SampleValue is a kind of value that samples have.
type SampleValue struct {
	Name string // snake_case, as in columns: "bytes", "gen0_objects", "elapsed"
	Unit string // count, bytes or nanoseconds
	// Difference says that it is by how much something changed, so that it can be less than zero.
	Difference bool
	// Estimated says that it is what samples stand for, but for large objects.
	Estimated bool
}

// Title is the name, and that it is estimated if it is.
func (v *SampleValue) Title() string {
	if v.Estimated {
		return v.Name + " (estimated)"
	}
	return v.Name
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
	Stack   []int32 // numbers of frames, the leaf first; the caller must not change it
	Node    int32   // the number of the stack: see SampleSet.Parent; -1 for an empty one
	Thread  *session.Thread
	Process *session.Process
	Type    string // of what was allocated; "" for times
	TypeID  session.TypeID
	Sampled q.Sampled // what of the objects is estimated
	Values  []int64   // as SampleSet.Values says
}

// SampleSet is what is selected of a session as samples: what files of other tools are made of. Nothing is rounded
// or merged, so each sum over samples is one of the session.
type SampleSet struct {
	Values    []SampleValue
	Default   int           // of Values: the one to look at first
	Notes     []string      // what is selected, in sentences
	Processes int           // of the session
	Began     time.Time     // when the recording began; zero: not known
	Duration  q.Nanoseconds // of the recording; 0: not known

	path      string // of the session
	selection Selection
	data      *Data
	amounts   *lifetimeList // of sites, by position; without lifetimes only what was born
	times     []TimingTime
	before    int // values of memory, which come before those of times
	frames    []SampleFrame
	frameOf   map[sampleKey]int32
	lastFrame []functionFrame // by instruction after none: each is in one function, but for damaged sessions
	nodeFrame []int32         // of nodes: the number of the frame and one more; 0: not known yet
	files     map[session.FileID]string
	processOf map[session.ProcessID]*session.Process
}

type sampleKey struct {
	function    session.FunctionID
	instruction session.InstructionID
}

// functionFrame is the number of a frame of a function, by its position and one more; 0: none is known yet.
type functionFrame struct{ function, frame int32 }

// lifetimeValues begin the names of the values of lifetimes, in their order.
var lifetimeValues = []string{"gen0", "gen1", "gen2", "loh", "poh", "alive"}

// EstimatesNote says in formats that have values alone that these can be estimates.
const EstimatesNote = "Estimated: small objects were sampled, so these values are what the samples stand for. Values of " +
	"fewer than ten samples say hardly anything."

// Samples reads what is selected of a session. Errors are those of Data.Select and of reading. Notes say if
// values are estimates.
func Samples(s *session.Session, sel Selection) (*SampleSet, error) {
	all, err := Load(s)
	if err != nil {
		return nil, err
	}
	if all.estimates, err = s.IsSampled(); err != nil {
		return nil, err
	}
	d, err := all.Select(sel)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	x := &SampleSet{path: s.Path(), selection: sel, Processes: len(d.Processes), data: d,
		amounts: newLifetimeList(nil),
		frameOf: map[sampleKey]int32{}, lastFrame: make([]functionFrame, len(d.Instructions)+1),
		nodeFrame: make([]int32, len(d.Nodes)), files: map[session.FileID]string{},
		processOf: map[session.ProcessID]*session.Process{}}
	if x.Notes, err = sel.Notes(s, ""); err != nil {
		return nil, err
	}
	if d.estimates {
		x.Notes = append(x.Notes, EstimatesNote)
	}
	if x.Began, x.Duration, err = recorded(s); err != nil {
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
	for i := range x.Values { // on the large object heap all are counted
		large := strings.HasPrefix(x.Values[i].Name, lifetimeValues[session.GenerationLarge])
		x.Values[i].Estimated = d.estimates && !large
	}
	if len(d.Times) > 0 {
		x.Default = len(x.Values) + 1
		x.Values = append(x.Values,
			SampleValue{Name: "calls", Unit: "count"}, SampleValue{Name: "elapsed", Unit: "nanoseconds"},
			SampleValue{Name: "application", Unit: "nanoseconds"}, SampleValue{Name: "cpu", Unit: "nanoseconds"})
		x.times = d.TimingTimes()
	}
	if sel.Shape != nil && !sel.Shape.isZero() {
		err = x.shape(s, sel)
	}
	return x, err
}

// recorded returns when a recording began and how long it was; what is not known is zero.
func recorded(s *session.Session) (began time.Time, took q.Nanoseconds, err error) {
	info, err := s.Info()
	if err != nil {
		return began, 0, err
	}
	if at, err := time.Parse(time.RFC3339, info[session.KeyCreated]); err == nil {
		began = at
	}
	if n, err := strconv.ParseInt(info[session.KeyDuration], 10, 64); err == nil {
		took = q.Nanoseconds(n)
	}
	return began, took, nil
}

// readMemory reads what sites allocated, and what became of it.
func (x *SampleSet) readMemory(sel Selection) error {
	x.Default = 1
	lifetimes, err := x.data.Lifetimes()
	x.Values = append(x.Values, LifetimeValues(err == nil)...)
	if err == nil {
		x.amounts = lifetimes.sites
		for i := range x.Values {
			v := &x.Values[i]
			v.Difference = strings.HasPrefix(v.Name, "alive_") && sel.Spans()
		}
		return nil
	}
	if !errors.Is(err, ErrNoLifetime) {
		return err
	}
	born, err := x.data.addUpSites()
	x.amounts = newLifetimeList(born)
	return err
}

// Each calls fn for each sample: first those of memory, in the order of sites, then those of times. The sample is
// overwritten by the next one. An error of fn ends it and is returned.
func (x *SampleSet) Each(fn func(*Sample) error) error { return x.each(true, fn) }

// EachSum is Each for those who add up by Node: samples have no Stack, which is most of the work for deep ones.
func (x *SampleSet) EachSum(fn func(*Sample) error) error { return x.each(false, fn) }

func (x *SampleSet) each(stacks bool, fn func(*Sample) error) error {
	d := x.data
	types := newIndex(d.Types, func(r *session.Type) session.TypeID { return r.ID })
	get := func(id session.TypeID) *session.Type { return at(d.Types, types, id) }
	names := make([]string, len(d.Types))
	sample := Sample{Node: none, Thread: new(session.Thread), Process: new(session.Process),
		Values: make([]int64, len(x.Values))}
	for i := range x.amounts.len() {
		if x.amounts.isZero(i) {
			continue
		}
		lifetime := x.amounts.at(i)
		putLifetime(lifetime, sample.Values[:x.before])
		sample.Sampled = lifetime.Born.Sampled
		sample.Type, sample.TypeID = x.typeName(names, i, get), d.typeID(d.siteType[i])
		x.place(&sample, d.siteNode[i], d.siteThread[i], stacks)
		if err := fn(&sample); err != nil {
			return err
		}
	}
	clear(sample.Values)
	sample.Sampled = q.Sampled{}
	sample.Type, sample.TypeID = "", 0
	for i, t := range x.times {
		if t.Calls == 0 && t.Elapsed == 0 && t.Application == 0 && t.CPU == 0 {
			continue
		}
		v := sample.Values[x.before:]
		v[0], v[1], v[2], v[3] = int64(t.Calls), int64(t.Elapsed), int64(t.Application), int64(t.CPU)
		x.place(&sample, d.timingNode[i], d.timingThread[i], stacks)
		if err := fn(&sample); err != nil {
			return err
		}
	}
	return nil
}

// Title says in one line which session it is, and what is selected of it.
func (x *SampleSet) Title() string {
	return strings.Join(append([]string{filepath.Base(x.path)}, x.Notes...), ": ")
}

// ThreadSums is one value of a thread, added up by stack or by path.
type ThreadSums struct {
	*session.Thread
	Of   *session.Process
	Sums map[int32]int64 // by number; none is zero
}

// ByThread adds up a value, Values[at], by thread and what key says of a sample: its Node or its path. What has none is
// left out. The threads are in the order of their ids. The error wraps session.ErrCorrupt if something is less than
// zero.
func (x *SampleSet) ByThread(at int, key func(*Sample) int32) ([]ThreadSums, error) {
	byID := map[session.ThreadID]ThreadSums{}
	err := x.Each(func(s *Sample) error {
		v, k := s.Values[at], key(s)
		if v == 0 || k < 0 {
			return nil
		}
		if v < 0 {
			return fmt.Errorf("session %s: %w: a stack has %d of the value %s", x.path, session.ErrCorrupt, v,
				x.Values[at].Name)
		}
		t, ok := byID[s.Thread.ID]
		if !ok {
			t = ThreadSums{s.Thread, s.Process, map[int32]int64{}}
			byID[s.Thread.ID] = t
		}
		t.Sums[k] += v
		return nil
	})
	var out []ThreadSums
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, byID[id])
	}
	return out, err
}

// LifetimeValues are the kinds of values of allocations, followed or not, in the order of Lifetime.Values.
func LifetimeValues(followed bool) []SampleValue {
	out := []SampleValue{{Name: "allocations", Unit: "count"}, {Name: "bytes", Unit: "bytes"}}
	for _, name := range lifetimeValues {
		if followed {
			out = append(out, SampleValue{Name: name + "_objects", Unit: "count"},
				SampleValue{Name: name + "_bytes", Unit: "bytes"})
		}
	}
	return out
}

// Values are the first n values of a lifetime, in the order of LifetimeValues.
func (l Lifetime) Values(n int) []int64 {
	out := make([]int64, n)
	putLifetime(l, out)
	return out
}

// putLifetime writes the values of a site.
func putLifetime(l Lifetime, to []int64) {
	to[0], to[1] = int64(l.Born.Allocations), int64(l.Born.Bytes)
	for i := 2; i+1 < len(to); i += 2 {
		end := l.Alive()
		if g := i/2 - 1; g < session.Generations {
			end = l.Dead[g]
		}
		to[i], to[i+1] = int64(end.Allocations), int64(end.Bytes)
	}
}

// typeName returns the name of the type of a site; names are those that are known, by position.
func (x *SampleSet) typeName(names []string, site int, get func(session.TypeID) *session.Type) string {
	at := x.data.siteType[site]
	if at < 0 {
		return session.TypeDisplayName(0, get)
	}
	if names[at] == "" {
		names[at] = session.TypeDisplayName(x.data.Types[at].ID, get)
	}
	return names[at]
}

// place writes where a sample is, with its stack or without.
func (x *SampleSet) place(to *Sample, node, thread int32, stack bool) {
	d := x.data
	switch {
	case !stack:
		to.Node = node
	case node != to.Node: // sites of a stack are often neighbours
		to.Stack, to.Node = to.Stack[:0], node
		for n := node; n >= 0; n = d.tree.Parent[n] {
			to.Stack = append(to.Stack, x.Frame(n))
		}
	}
	switch {
	case thread < 0:
		to.Thread, to.Process = new(session.Thread), new(session.Process)
	case to.Thread != &d.Threads[thread]:
		to.Thread, to.Process = &d.Threads[thread], new(session.Process)
		if p := x.processOf[to.Thread.Process]; p != nil {
			to.Process = p
		}
	}
}

// Nodes returns how many stacks there are, those without samples too: their numbers are from 0 on.
func (x *SampleSet) Nodes() int { return len(x.nodeFrame) }

// Parent returns the stack without its leaf, whose number is smaller; -1 if there is no more.
func (x *SampleSet) Parent(node int32) int32 { return x.data.tree.Parent[node] }

// Frame returns the number of the frame that is the leaf of a stack: frames are numbered as they come to be used.
func (x *SampleSet) Frame(node int32) int32 {
	if x.nodeFrame[node] == 0 {
		x.nodeFrame[node] = x.newFrame(node) + 1
	}
	return x.nodeFrame[node] - 1
}

// newFrame finds or makes the frame of a node.
func (x *SampleSet) newFrame(node int32) int32 {
	d := x.data
	last := &x.lastFrame[d.nodeInstruction[node]+1]
	if last.function == d.nodeFunction[node]+1 {
		return last.frame
	}
	key := sampleKey{d.Nodes[node].Function, d.Nodes[node].Instruction}
	if known, ok := x.frameOf[key]; ok {
		*last = functionFrame{d.nodeFunction[node] + 1, known}
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
	*last = functionFrame{d.nodeFunction[node] + 1, n}
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

// IsTime reports whether a value is of calls and times, and not of memory.
func (x *SampleSet) IsTime(value int) bool { return value >= x.before }

// Paths returns how many paths there are: numbers from 0 on.
func (x *SampleSet) Paths() int { return x.data.merged().Len() }

// PathStep returns the last function of a path, and the path without it, whose number is smaller; -1 if that is
// nothing.
func (x *SampleSet) PathStep(path int32) (parent int32, last *session.Function) {
	all := x.data.merged()
	return all.Parent[path], &x.data.Functions[all.Group[path]]
}

// PathOf returns the number of the functions of a stack, which Path has; -1 for an empty one.
func (x *SampleSet) PathOf(node int32) int32 {
	if node < 0 {
		return none
	}
	return x.data.merged().Of[node]
}

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
