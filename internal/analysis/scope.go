package analysis

import (
	"fmt"
	"math"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	"github.com/clrprof/clrprof/internal/session"
)

// scope is what a selection lets through of Data, by position. A nil list lets through everything.
type scope struct {
	selection Selection
	slices    []bool
	span      [2]session.SliceID // the slices from the first that is let through to the last
	last      int32              // the last slice that is let through, or none
	sites     []bool
	timings   []bool
	moved     []bool   // timings of hidden functions: their time counts for their callers, their calls do not
	gcs       *gcScope // nil: no span of collections
}

// everySlice is a span of slices that has all of them, and what belongs to none.
var everySlice = [2]session.SliceID{0, math.MaxInt64}

// Select returns the part of the data that is selected. Errors are those of the selection: ErrNoProcess,
// ErrNoThread, ErrNoSlice, ErrGCsInTime, and for a span of collections ErrNoLifetime, ErrNoChanges, ErrNoGC and
// those of reading.
func (d *Data) Select(sel Selection) (*Data, error) {
	if err := sel.check(d); err != nil {
		return nil, err
	}
	out := *d
	out.amounts, out.ends = nil, nil
	in := &scope{selection: sel, span: everySlice, last: none}
	out.in = in
	if sel.InTime() {
		in.slices, in.span = make([]bool, len(d.Slices)), [2]session.SliceID{1, 0}
	}
	for i, s := range d.Slices { // in the order of time
		if !sel.overlaps(s) {
			continue
		}
		if in.last = int32(i); sel.InTime() {
			if in.slices[i] = true; in.span[1] == 0 {
				in.span[0] = s.ID
			}
			in.span[1] = s.ID
		}
	}
	nodes, threads := d.selectNodes(sel), d.selectThreads(sel)
	in.sites = d.selectSites(sel, nodes, threads)
	if nodes != nil || threads != nil {
		in.timings = make([]bool, len(d.Timings))
		for i := range d.Timings {
			in.timings[i] = lets(nodes, d.timingNode[i]) && lets(threads, d.timingThread[i])
		}
	}
	if sel.filter != nil {
		in.filtered(d)
	}
	if !sel.HasTimes() {
		out.timeTables = timeTables{}
	}
	if sel.InGCs() {
		gcs, err := out.gcScope(sel)
		if err != nil {
			return nil, err
		}
		in.gcs = gcs
	}
	if sel.hidden != nil || sel.code != nil {
		if err := out.hide(sel); err != nil {
			return nil, err
		}
	}
	if sel.FoldRecursion {
		return &out, out.foldRecursion()
	}
	return &out, nil
}

// lets reports whether a list lets a position through. None is let through where there is no list.
func lets(list []bool, at int32) bool { return list == nil || at >= 0 && list[at] }

// inSlice reports whether what belongs to a slice, or none, is let through.
func (p *scope) inSlice(slice int32) bool { return slice < 0 || p.slices == nil || p.slices[slice] }

// selectThreads returns which threads are selected; nil: all.
func (d *Data) selectThreads(sel Selection) []bool {
	if len(sel.Processes) == 0 && len(sel.Threads) == 0 {
		return nil
	}
	out := make([]bool, len(d.Threads))
	for i := range d.Threads {
		out[i] = sel.HasThread(&d.Threads[i])
	}
	return out
}

// selectNodes returns at which nodes an allocation or an interval is selected, by its function and those around it;
// nil: all.
func (d *Data) selectNodes(sel Selection) []bool {
	if sel.own == nil && sel.with == nil && sel.without == nil {
		return nil
	}
	out, with, without := make([]bool, len(d.Nodes)), make([]bool, len(d.Nodes)), make([]bool, len(d.Nodes))
	for i := range d.Nodes { // parents first
		function, p := d.Nodes[i].Function, d.tree.Parent[i]
		with[i] = sel.with == nil || sel.with[function] || p >= 0 && with[p]
		without[i] = sel.without[function] || p >= 0 && without[p]
		out[i] = (sel.own == nil || sel.own[function]) && with[i] && !without[i]
	}
	return out
}

// selectSites returns which sites are selected; nil: all.
func (d *Data) selectSites(sel Selection, nodes, threads []bool) []bool {
	if nodes == nil && threads == nil && sel.types == nil {
		return nil
	}
	out := make([]bool, len(d.Sites))
	for i := range d.Sites {
		out[i] = lets(nodes, d.siteNode[i]) && lets(threads, d.siteThread[i]) &&
			(sel.types == nil || sel.types[d.Sites[i].Type])
	}
	return out
}

// hide takes functions out of stacks. What they did counts for the nearest caller that is shown. The outermost
// function of a stack stays, so that nothing loses its place, and so do functions of folded calls, which have no
// stacks. Of framework code only what is near to user code is shown, if that is selected.
func (d *Data) hide(sel Selection) error {
	stays := make([]bool, len(d.Nodes))
	copy(stays, d.foldedNodes())
	d.inclusives.each(func(_, timing int32, _ *session.TimingInclusive) { stays[d.timingNode[timing]] = true })
	above := d.tree.Parent
	if sel.code != nil {
		above = d.returned()
	}
	code := d.nearUserCode(sel, above)
	// For which node each counts, and the parent of that.
	shown, parents := make([]int32, len(d.Nodes)), make([]int32, len(d.Nodes))
	for i := range d.Nodes {
		n, caller := int32(i), int32(calltree.None)
		if p := above[i]; p >= 0 {
			caller = shown[p]
		}
		shown[i], parents[i] = n, caller
		far := code != nil && code.isFar(n, caller)
		if caller >= 0 && !stays[i] && (far || sel.hidden[d.Nodes[i].Function]) {
			shown[i] = caller
		}
	}
	d.siteNode, _ = moved(d.siteNode, shown)
	d.timingNode, d.in.moved = moved(d.timingNode, shown)
	return d.reparent(parents)
}

// reparent gives the nodes other parents.
func (d *Data) reparent(parents []int32) error {
	var err error
	if d.tree, err = calltree.New(parents); err != nil {
		return fmt.Errorf("%w: %w", session.ErrCorrupt, err)
	}
	d.paths, d.pathNodes, d.attributed = calltree.Merged{}, false, nil
	return nil
}

// moved returns the nodes that others count for, and which of them are others.
func moved(nodes, shown []int32) (to []int32, other []bool) {
	to, other = make([]int32, len(nodes)), make([]bool, len(nodes))
	for i, n := range nodes {
		if to[i] = n; n >= 0 {
			to[i], other[i] = shown[n], shown[n] != n
		}
	}
	return to, other
}
