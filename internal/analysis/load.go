package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// none is the position of id 0.
const none = -1

// index finds the position of a row by its id.
type index[ID ~int64 | ~uint32] struct {
	rows int
	ids  []ID // nil: they are 1, 2, …, as collectors number rows
}

// newIndex takes rows in ascending order of id, as the session returns them.
func newIndex[ID ~int64 | ~uint32, Row any](rows []Row, id func(*Row) ID) index[ID] {
	return indexOf(len(rows), func(i int) ID { return id(&rows[i]) })
}

// indexOf is newIndex for rows that are not in a list.
func indexOf[ID ~int64 | ~uint32](rows int, id func(int) ID) index[ID] {
	x := index[ID]{rows: rows}
	for i := range rows {
		if int64(id(i)) == int64(i)+1 {
			continue
		}
		x.ids = make([]ID, rows)
		for i := range rows {
			x.ids[i] = id(i)
		}
		break
	}
	return x
}

// find returns the position of id; none for id 0, and for an id that is missing.
func (x index[ID]) find(id ID) (pos int32, ok bool) {
	if id == 0 {
		return none, true
	}
	if x.ids == nil {
		if id < 0 || int64(id) > int64(x.rows) {
			return none, false
		}
		return int32(id - 1), true
	}
	if i, ok := slices.BinarySearch(x.ids, id); ok {
		return int32(i), true
	}
	return none, false
}

// references replaces the ids in a column by positions.
func references[ID ~int64 | ~uint32, Row any](x index[ID], rows []Row, id func(*Row) ID, from, to string) ([]int32,
	error) {
	out := make([]int32, len(rows))
	for i := range rows {
		of := id(&rows[i])
		if x.ids == nil && of >= 0 && int64(of) <= int64(x.rows) {
			out[i] = int32(of) - 1 // none for 0
			continue
		}
		pos, ok := x.find(of)
		if !ok {
			return nil, fmt.Errorf("%w: a row of %s refers to %s %d, which does not exist", session.ErrCorrupt, from,
				to, of)
		}
		out[i] = pos
	}
	return out, nil
}

// refer returns what sets a list to the references in a column.
func refer[ID ~int64 | ~uint32, Row any](list *[]int32, x index[ID], rows []Row, id func(*Row) ID,
	from, to string) func() error {
	return func() (err error) {
		*list, err = references(x, rows, id, from, to)
		return err
	}
}

// atOnce calls functions that do not depend on each other, and returns the error of the first of them that has one.
func atOnce(functions ...func() error) error {
	errs := make([]error, len(functions))
	var all together
	for i, fn := range functions {
		all.Go(func() { errs[i] = fn() })
	}
	all.Wait()
	return cmp.Or(errs...)
}

// Data is the recorded part of a session in memory, but for the values of sites by slice, which are read when they are
// added up: the session must stay open. Its fields are the tables in the order of their ids; the unexported ones hold
// positions instead of ids.
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
	Followed     []session.ProcessLifetime // of the processes whose objects were followed; empty: none
	timeTables

	session    *session.Session // for what is too large to keep: values of sites by slice
	estimates  bool             // amounts say what of them is estimated
	typeIndex  index[session.TypeID]
	siteIndex  index[session.SiteID]
	sliceIndex index[session.SliceID]

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

	in        *scope // what is selected of it
	paths     calltree.Merged
	pathNodes bool // paths is there

	// the session is being completed: the times of timings are added up once, and rows of Nodes and Timings may be gone
	addedUpOnce bool

	attributed *attribution // nil until something needs it
	amounts    []q.Amount   // of sites, likewise
	grows      []bool       // sites that only grow, likewise
	ends       *Lifetimes   // of sites, likewise
}

// Load reads the recorded and resolved tables of s and checks their references. Everything is selected.
func Load(s *session.Session) (*Data, error) {
	return load(s, nil)
}

// load is Load for who may have the sums of the timings already.
func load(s *session.Session, counted Counted) (*Data, error) {
	d := &Data{}
	d.counted = counted
	if err := d.read(s); err != nil {
		return nil, err
	}
	if err := d.link(); err != nil {
		return nil, fmt.Errorf("session %s: %w", s.Path(), err)
	}
	return d.Select(Selection{})
}

// read reads the tables.
func (d *Data) read(s *session.Session) error {
	d.session = s
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
	read(d.readRows(s))
	read(into(&d.Sites, s.Sites))
	read(into(&d.Slices, s.Slices))
	read(into(&d.Followed, s.ProcessLifetimes))
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
	d.typeIndex = newIndex(d.Types, func(r *session.Type) session.TypeID { return r.ID })
	functions := newIndex(d.Functions, func(r *session.Function) session.FunctionID { return r.ID })
	instructions := newIndex(d.Instructions, func(r *session.Instruction) session.InstructionID { return r.ID })
	lines := newIndex(d.Lines, func(r *session.Line) session.LineID { return r.ID })
	nodes := newIndex(d.Nodes, func(r *session.Node) session.NodeID { return r.ID })
	d.siteIndex = newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	d.sliceIndex = newIndex(d.Slices, func(r *session.Slice) session.SliceID { return r.ID })

	var parents []int32
	if err := atOnce(
		refer(&parents, nodes, d.Nodes, func(r *session.Node) session.NodeID { return r.Parent }, "node", "parent"),
		refer(&d.nodeFunction, functions, d.Nodes, func(r *session.Node) session.FunctionID { return r.Function },
			"node", "function"),
		refer(&d.nodeProcess, processes, d.Nodes, func(r *session.Node) session.ProcessID { return r.Process },
			"node", "process"),
		refer(&d.nodeInstruction, instructions, d.Nodes, func(r *session.Node) session.InstructionID {
			return r.Instruction
		}, "node", "instruction"),
		refer(&d.instructionLine, lines, d.Instructions, func(r *session.Instruction) session.LineID { return r.Line },
			"instruction", "line"),
		refer(&d.functionModule, modules, d.Functions, func(r *session.Function) session.ModuleID { return r.Module },
			"function", "module"),
		refer(&d.siteNode, nodes, d.Sites, func(r *session.Site) session.NodeID { return r.Node }, "site", "node"),
		refer(&d.siteThread, threads, d.Sites, func(r *session.Site) session.ThreadID { return r.Thread },
			"site", "thread"),
		refer(&d.siteType, d.typeIndex, d.Sites, func(r *session.Site) session.TypeID { return r.Type },
			"site", "type"),
		refer(&d.threadProcess, processes, d.Threads, func(r *session.Thread) session.ProcessID { return r.Process },
			"thread", "process"),
	); err != nil {
		return err
	}
	if err := d.required(); err != nil {
		return err
	}
	if err := d.timeTables.link(d.session, threads, nodes, d.sliceIndex); err != nil {
		return err
	}
	var err error
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

// eachRow calls fn for the rows of a table by slice and site in a span of slices, with the positions of both.
func eachRow[T any](d *Data, table string, read func(from, to session.SliceID, fn func(*T)) error,
	of [2]session.SliceID,
	ids func(*T) (session.SliceID, session.SiteID), fn func(slice, site int32, row *T)) error {
	var missing error
	last, lastAt := session.SliceID(-1), int32(none) // a slice has many rows, one after the other
	err := read(of[0], of[1], func(row *T) {
		at, of := ids(row)
		if at == last && d.siteIndex.ids == nil && of > 0 && int64(of) <= int64(d.siteIndex.rows) {
			fn(lastAt, int32(of-1), row)
			return
		}
		slice, site, err := d.find(table, at, of)
		if err == nil {
			last, lastAt = at, slice
			fn(slice, site, row)
		} else if missing == nil {
			missing = err
		}
	})
	return cmp.Or(err, missing)
}

// eachValue is eachRow for what sites allocated.
func (d *Data) eachValue(of [2]session.SliceID, fn func(slice, site int32, v *session.SiteValue)) error {
	ids := func(v *session.SiteValue) (session.SliceID, session.SiteID) { return v.Slice, v.Site }
	mark := fn
	if d.estimates {
		mark = func(slice, site int32, v *session.SiteValue) {
			d.markSampled(site, &v.Amount)
			fn(slice, site, v)
		}
	}
	return eachRow(d, "site_value", d.session.EachSiteValue, of, ids, mark)
}

// eachDeath is eachRow for what died.
func (d *Data) eachDeath(of [2]session.SliceID, fn func(slice, site int32, f *session.SiteDeath)) error {
	ids := func(f *session.SiteDeath) (session.SliceID, session.SiteID) { return f.Slice, f.Site }
	mark := fn
	if d.estimates {
		mark = func(slice, site int32, f *session.SiteDeath) {
			d.markSampled(site, &f.Amount)
			fn(slice, site, f)
		}
	}
	return eachRow(d, "site_death", d.session.EachSiteDeath, of, ids, mark)
}

// errNotThere is wrapped by errors that say that a row refers to one that does not exist.
var errNotThere = fmt.Errorf("%w: a reference to nothing", session.ErrCorrupt)

// find returns the positions of a slice, which may be none, and of a site.
func (d *Data) find(table string, slice session.SliceID, site session.SiteID) (sliceAt, siteAt int32, err error) {
	sliceAt, found := d.sliceIndex.find(slice)
	if !found {
		return 0, 0, fmt.Errorf("session %s: %w: a row of %s refers to slice %d, which does not exist",
			d.session.Path(), errNotThere, table, slice)
	}
	siteAt, found = d.siteIndex.find(site)
	switch {
	case !found:
		return 0, 0, fmt.Errorf("session %s: %w: a row of %s refers to site %d, which does not exist", d.session.Path(),
			errNotThere, table, site)
	case siteAt == none:
		return 0, 0, fmt.Errorf("session %s: %w: a row of %s has no site", d.session.Path(), errNotThere, table)
	}
	return sliceAt, siteAt, nil
}

// SiteAmounts returns what each site allocated, in the order of Sites. It is kept, and not to be changed.
func (d *Data) SiteAmounts() ([]q.Amount, error) {
	if d.amounts != nil {
		return d.amounts, nil // which two may ask for at once
	}
	out, err := d.addUpSites()
	if err == nil {
		d.amounts = out
	}
	return out, err
}

// addUpSites is SiteAmounts for those who keep the amounts in another form: they are not kept twice.
func (d *Data) addUpSites() ([]q.Amount, error) {
	if d.amounts != nil {
		return d.amounts, nil
	}
	out := make([]q.Amount, len(d.Sites))
	if d.in.gcs != nil {
		return out, d.bornBetween(out)
	}
	err := d.eachValue(d.in.span, func(slice, site int32, v *session.SiteValue) {
		if d.in.inSlice(slice) && lets(d.in.sites, site) {
			out[site] = out[site].Add(v.Amount)
		}
	})
	return out, err
}

// markSampled notes of an amount of a site, by position, what of it is estimated.
func (d *Data) markSampled(site int32, a *q.Amount) {
	if d.estimates && d.Sites[site].Weight > 0 {
		a.Sampled = q.SamplesOf(a.Allocations, q.Count(d.Sites[site].Weight))
	}
}

// scaled is what objects of a site stand for that were counted one by one, as in a snapshot of the heap: of samples
// more than themselves.
func (d *Data) scaled(site int, a q.Amount) q.Amount {
	if weight := d.Sites[site].Weight; d.estimates && weight > 0 {
		a.Allocations, a.Bytes = a.Allocations*q.Count(weight), a.Bytes*q.Bytes(weight)
		d.markSampled(int32(site), &a)
	}
	return a
}
