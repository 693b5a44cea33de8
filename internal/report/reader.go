package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// Reader builds many views of one source and reads names and totals once. It belongs to one goroutine.
type Reader struct {
	context *context
}

// NewReader reads what all views need. With raw, elapsed times are shown with what the probes added.
func NewReader(src *analysis.Source, raw bool) (*Reader, error) {
	c, err := newContext(src, raw)
	if err != nil {
		return nil, err
	}
	return &Reader{c}, nil
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

// Below returns the rows of the call tree below a path, in the order of o.Sort; below path 0 of process 0 are the processes, below
// path 0 of a process its roots. No limit applies.
func (r *Reader) Below(process session.ProcessID, path session.PathID, o Options) (*Table, error) {
	view, err := FindView("calltree")
	if err != nil {
		return nil, err
	}
	view.build = func(b *builder) error {
		var rows []Row
		var err error
		if process == 0 {
			if rows, err = b.processRows(); err == nil {
				for i := range rows {
					asRoot(&rows[i])
				}
			}
		} else {
			rows, err = b.pathsBelow(&Row{process: process, path: path})
		}
		b.table.Rows = b.sorted(rows)
		return err
	}
	return view.buildIn(r.own(), Options{Sort: o.Sort, Columns: o.Columns})
}

// HotPath returns the hot path of the call tree: from the heaviest process down to where the work is done itself.
func (r *Reader) HotPath(o Options) (*Table, error) {
	view, err := FindView("calltree")
	if err != nil {
		return nil, err
	}
	view.build = func(b *builder) error {
		weight := b.heavier()
		roots, err := b.processRows()
		if err != nil || len(roots) == 0 {
			return err
		}
		for i := range roots {
			asRoot(&roots[i])
		}
		heaviest := slices.MaxFunc(roots, func(x, y Row) int { return int(min(1, max(-1, weight(inclusiveCost(&x))-weight(inclusiveCost(&y))))) })
		hot, err := b.hotPath(heaviest, weight)
		b.table.Rows = append([]Row{heaviest}, hot...)
		return err
	}
	return view.buildIn(r.own(), Options{Sort: o.Sort, Columns: o.Columns})
}
