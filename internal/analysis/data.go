package analysis

import (
	"fmt"
	"sort"

	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// none is the position of id 0.
const none = -1

// index finds the position of a row by its id.
type index[ID ~int64] []ID

// newIndex takes rows in ascending order of id, as the session returns them.
func newIndex[ID ~int64, Row any](rows []Row, id func(*Row) ID) index[ID] {
	ids := make(index[ID], len(rows))
	for i := range rows {
		ids[i] = id(&rows[i])
	}
	return ids
}

// find returns the position of id; none for id 0, and for an id that is missing.
func (x index[ID]) find(id ID) (pos int32, ok bool) {
	if id == 0 {
		return none, true
	}
	if id > 0 && int64(id) <= int64(len(x)) && x[id-1] == id { // no gaps: the usual case
		return int32(id - 1), true
	}
	i := sort.Search(len(x), func(i int) bool { return x[i] >= id })
	if i < len(x) && x[i] == id {
		return int32(i), true
	}
	return none, false
}

// references replaces the ids in a column by positions.
func references[ID ~int64, Row any](x index[ID], rows []Row, id func(*Row) ID, from, to string) ([]int32, error) {
	out := make([]int32, len(rows))
	for i := range rows {
		pos, ok := x.find(id(&rows[i]))
		if !ok {
			return nil, fmt.Errorf("%w: a row of %s refers to %s %d, which does not exist", session.ErrCorrupt, from, to, id(&rows[i]))
		}
		out[i] = pos
	}
	return out, nil
}

// Data is the recorded part of a session in memory. Its fields are the tables
// in the order of their ids; the unexported ones hold positions instead of ids.
type Data struct {
	Processes    []session.Process
	Threads      []session.Thread
	Modules      []session.Module
	Types        []session.Type
	Functions    []session.Function
	Instructions []session.Instruction
	Lines        []session.Line
	Nodes        []session.Node
	Sites        []session.Site
	Slices       []session.Slice
	SiteValues   []session.SiteValue
	Lifetimes    []session.ProcessLifetime // of the processes whose objects were followed; empty: none
	Fates        []session.SiteFate
	timeTables

	tree            calltree.Tree
	nodeFunction    []int32
	nodeProcess     []int32
	nodeInstruction []int32
	instructionLine []int32
	functionModule  []int32
	siteNode        []int32
	siteThread      []int32
	siteType        []int32
	threadProcess   []int32
	valueSite       []int32
	valueSlice      []int32
	fateSite        []int32
	fateSlice       []int32

	paths     calltree.Merged
	pathNodes bool // paths is there
}

// Load reads the recorded and resolved tables of s and checks their references.
func Load(s *session.Session) (*Data, error) {
	d := &Data{}
	if err := d.read(s); err != nil {
		return nil, err
	}
	if err := d.link(); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	return d, nil
}

// read reads the tables.
func (d *Data) read(s *session.Session) error {
	var err error
	read := func(step error) {
		if err == nil {
			err = step
		}
	}
	read(into(&d.Processes, s.Processes))
	read(into(&d.Threads, s.Threads))
	read(into(&d.Modules, s.Modules))
	read(into(&d.Types, s.Types))
	read(into(&d.Functions, s.Functions))
	read(into(&d.Instructions, s.Instructions))
	read(into(&d.Lines, s.Lines))
	read(into(&d.Nodes, s.Nodes))
	read(into(&d.Sites, s.Sites))
	read(into(&d.Slices, s.Slices))
	read(into(&d.SiteValues, s.SiteValues))
	read(into(&d.Lifetimes, s.ProcessLifetimes))
	read(into(&d.Fates, s.SiteFates))
	read(d.timeTables.read(s))
	return err
}

func into[T any](to *[]T, read func() ([]T, error)) error {
	rows, err := read()
	*to = rows
	return err
}

// link replaces ids by positions.
func (d *Data) link() error {
	processes := newIndex(d.Processes, func(r *session.Process) session.ProcessID { return r.ID })
	threads := newIndex(d.Threads, func(r *session.Thread) session.ThreadID { return r.ID })
	modules := newIndex(d.Modules, func(r *session.Module) session.ModuleID { return r.ID })
	types := newIndex(d.Types, func(r *session.Type) session.TypeID { return r.ID })
	functions := newIndex(d.Functions, func(r *session.Function) session.FunctionID { return r.ID })
	instructions := newIndex(d.Instructions, func(r *session.Instruction) session.InstructionID { return r.ID })
	lines := newIndex(d.Lines, func(r *session.Line) session.LineID { return r.ID })
	nodes := newIndex(d.Nodes, func(r *session.Node) session.NodeID { return r.ID })
	sites := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	slices := newIndex(d.Slices, func(r *session.Slice) session.SliceID { return r.ID })

	var parents []int32
	var err error
	set := func(to *[]int32, from []int32, e error) {
		if *to = from; err == nil {
			err = e
		}
	}
	set2 := func(to *[]int32) func([]int32, error) { return func(p []int32, e error) { set(to, p, e) } }
	set2(&parents)(references(nodes, d.Nodes, func(r *session.Node) session.NodeID { return r.Parent }, "node", "parent"))
	set2(&d.nodeFunction)(references(functions, d.Nodes, func(r *session.Node) session.FunctionID { return r.Function }, "node", "function"))
	set2(&d.nodeProcess)(references(processes, d.Nodes, func(r *session.Node) session.ProcessID { return r.Process }, "node", "process"))
	set2(&d.nodeInstruction)(references(instructions, d.Nodes, func(r *session.Node) session.InstructionID { return r.Instruction }, "node", "instruction"))
	set2(&d.instructionLine)(references(lines, d.Instructions, func(r *session.Instruction) session.LineID { return r.Line }, "instruction", "line"))
	set2(&d.functionModule)(references(modules, d.Functions, func(r *session.Function) session.ModuleID { return r.Module }, "function", "module"))
	set2(&d.siteNode)(references(nodes, d.Sites, func(r *session.Site) session.NodeID { return r.Node }, "site", "node"))
	set2(&d.siteThread)(references(threads, d.Sites, func(r *session.Site) session.ThreadID { return r.Thread }, "site", "thread"))
	set2(&d.siteType)(references(types, d.Sites, func(r *session.Site) session.TypeID { return r.Type }, "site", "type"))
	set2(&d.threadProcess)(references(processes, d.Threads, func(r *session.Thread) session.ProcessID { return r.Process }, "thread", "process"))
	set2(&d.valueSite)(references(sites, d.SiteValues, func(r *session.SiteValue) session.SiteID { return r.Site }, "site_value", "site"))
	set2(&d.valueSlice)(references(slices, d.SiteValues, func(r *session.SiteValue) session.SliceID { return r.Slice }, "site_value", "slice"))
	set2(&d.fateSite)(references(sites, d.Fates, func(r *session.SiteFate) session.SiteID { return r.Site }, "site_fate", "site"))
	set2(&d.fateSlice)(references(slices, d.Fates, func(r *session.SiteFate) session.SliceID { return r.Slice }, "site_fate", "slice"))
	if err != nil {
		return err
	}
	if err := d.required(); err != nil {
		return err
	}
	if err := d.timeTables.link(threads, nodes, slices); err != nil {
		return err
	}
	if d.tree, err = calltree.New(parents); err != nil {
		return fmt.Errorf("%w: %w", session.ErrCorrupt, err)
	}
	return nil
}

// required checks references that must not be "none".
func (d *Data) required() error {
	for i := range d.Nodes {
		if d.nodeFunction[i] == none {
			return fmt.Errorf("%w: node %d has no function", session.ErrCorrupt, d.Nodes[i].ID)
		}
	}
	for i := range d.SiteValues {
		if d.valueSite[i] == none {
			return fmt.Errorf("%w: a row of site_value has no site", session.ErrCorrupt)
		}
	}
	for i := range d.Fates {
		if d.fateSite[i] == none {
			return fmt.Errorf("%w: a row of site_fate has no site", session.ErrCorrupt)
		}
	}
	return nil
}

// merged returns the tree without call sites, computed at the first use.
func (d *Data) merged() *calltree.Merged {
	if !d.pathNodes {
		d.paths = d.tree.Merge(d.nodeFunction)
		d.pathNodes = true
	}
	return &d.paths
}

// SiteAmounts returns what each site allocated as far as f lets it through, in
// the order of Sites.
func (d *Data) SiteAmounts(f Filter) ([]q.Amount, error) {
	if err := f.check(d); err != nil {
		return nil, err
	}
	return d.siteAmounts(f), nil
}

// siteAmounts returns what each site allocated as far as the filter lets it through.
func (d *Data) siteAmounts(f Filter) []q.Amount {
	pass := d.passes(f)
	out := make([]q.Amount, len(d.Sites))
	for i := range d.SiteValues {
		if site := d.valueSite[i]; pass(d.valueSlice[i], d.siteThread[site]) {
			out[site] = out[site].Add(d.SiteValues[i].Amount)
		}
	}
	return out
}

// passes returns whether the filter lets through what belongs to a slice and a thread, both by position. None of either
// is let through.
func (d *Data) passes(f Filter) func(slice, thread int32) bool {
	slices := make([]bool, len(d.Slices))
	for i, s := range d.Slices {
		slices[i] = f.overlaps(s)
	}
	threads := make([]bool, len(d.Threads))
	for i, t := range d.Threads {
		threads[i] = (f.Thread == 0 || f.Thread == t.ID) && (f.Process == 0 || f.Process == t.Process)
	}
	return func(slice, thread int32) bool {
		return (slice < 0 || slices[slice]) && (thread < 0 || threads[thread])
	}
}
