package report

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Reader builds many views of one source and reads names and totals once. It belongs to one goroutine.
type Reader struct {
	context *context
	tree    *shapedTree // the one that was asked for last
	// the call tree that was drawn last, for who asks for its greatest frames first and then for all of it
	laid   *laidOut
	colors map[string]*flameColors // of the physical call tree
}

// laidOut is a call tree with the values of a metric.
type laidOut struct {
	metric  string
	shape   FlameShape
	tree    *flameTree
	context *context
}

// NewReader reads what all views need. With raw, elapsed times are shown with what the probes added.
func NewReader(src *analysis.Source, raw bool) (*Reader, error) {
	c, err := newContext(src, raw)
	if err != nil {
		return nil, err
	}
	return &Reader{context: c}, nil
}

// own is a context for one table: what some columns read besides is not shared, as tables outlive each other.
func (r *Reader) own() *context {
	c := *r.context
	return &c
}

// Build computes a view, as View.Build does; o.Raw is the reader's.
func (r *Reader) Build(v View, o Options) (*Table, error) { return v.buildIn(r.own(), o) }

// Summarize computes the summary, as Summarize does.
func (r *Reader) Summarize(o Options) (*Summary, error) { return summarize(r.own(), o) }

// HasMemory reports whether allocations were counted.
func (r *Reader) HasMemory() bool { return r.context.hasMemory() }

// HasTime reports whether calls were timed, and times are selected.
func (r *Reader) HasTime() bool { return r.context.hasTime() }

// TimedThreads is over how many threads times are added up, 0 without times.
func (r *Reader) TimedThreads() (q.Count, error) {
	if !r.HasTime() {
		return 0, nil
	}
	return r.context.timedThreads()
}

// TicksPerSecond is the rate of the clock that times were measured with, 0 without times.
func (r *Reader) TicksPerSecond() int64 { return r.context.ticksPerSecond() }

// shapedTree is a call tree in a shape, which is made once for all of its levels.
type shapedTree struct {
	shape   string
	logical pathTree
	roots   []Row
	notes   []Note
}

// shaped has a builder show the call tree in the shape that its options ask for, and returns its roots.
func (r *Reader) shaped(b *builder) ([]Row, error) {
	o := &b.options
	shape := fmt.Sprintf("%t %q %t %g %t %q %t", o.Physical, o.Root, o.Fold, o.MinShare, b.lifetimes.paths != nil, o.By,
		o.BottomUp)
	if r.tree == nil || r.tree.shape != shape {
		r.tree = nil // two of them would be much memory
		roots, err := b.processRows()
		if err != nil {
			return nil, err
		}
		for i := range roots {
			asRoot(&roots[i])
		}
		before := len(b.table.Notes)
		if roots, err = b.shape(roots); err != nil {
			return nil, err
		}
		r.tree = &shapedTree{shape, b.logical, roots, slices.Clone(b.table.Notes[before:])}
		return slices.Clone(roots), nil
	}
	b.logical, b.treeBy, b.table.Notes = r.tree.logical, o.By, append(b.table.Notes, r.tree.notes...)
	return slices.Clone(r.tree.roots), nil
}

// inTree builds rows of the call tree in the shape that the options ask for. No limit applies.
func (r *Reader) inTree(o Options, rows func(b *builder, roots []Row) ([]Row, error)) (*Table, error) {
	view := callTreeView
	view.build = func(b *builder) error {
		b.keeps = true
		roots, err := r.shaped(b)
		if err == nil {
			b.table.Rows, err = rows(b, roots)
		}
		return err
	}
	return view.buildIn(r.own(), o)
}

// Below returns the rows of the call tree below a path, in the order of o.Sort; below path 0 of process 0 are the
// roots, mostly the processes, below path 0 of a process what it began with. Paths are those of the tree in the shape
// that o asks for. Of a tree from below all paths are wanted on the way to it, which is the last. Errors are those of
// Build, and analysis.ErrNoRow.
func (r *Reader) Below(process session.ProcessID, path []session.PathID, o Options) (*Table, error) {
	return r.inTree(o, func(b *builder, roots []Row) (_ []Row, err error) {
		rows := roots
		turned, isTurned := b.logical.(*analysis.BottomUpTree)
		if isTurned {
			if err := turned.Open(path); err != nil {
				return nil, err
			}
		}
		if process != 0 {
			of := Row{process: process}
			if len(path) > 0 {
				of.path = path[len(path)-1]
			}
			rows, err = b.pathsBelow(&of)
		}
		b.table.isLeaf = func(r *Row) bool {
			if isTurned && r.path != 0 {
				return turned.IsLeaf(r.path)
			}
			below, err := b.pathsBelow(r)
			return err == nil && len(below) == 0
		}
		return b.sorted(rows), err
	})
}

// HotPath returns the hot path of the call tree in a shape: from the heaviest root down to where the work is done
// itself.
func (r *Reader) HotPath(o Options) (*Table, error) {
	return r.inTree(o, func(b *builder, roots []Row) ([]Row, error) {
		if len(roots) == 0 {
			return nil, nil
		}
		heaviest, hot, err := b.hottest(roots)
		return append([]Row{heaviest}, hot...), err
	})
}
