package report

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Flame is a call tree laid out for drawing, as arrays of frames in preorder. Frames of one caller are in the order of their
// values, the greatest first; the value of a frame is at least that of the frames it has called. What is left out of it, because
// there would be too many frames or levels, is one frame for each caller with the name HiddenFrame, the last there.
type Flame struct {
	Metric  FlameMetric
	Frames  int         // of the whole tree that have a value
	Names   []FlameName // of functions and processes, by the positions in Name
	Modules []string
	Name    []uint32
	Depth   []uint16
	Value   []int64
	Hidden  []uint32 // how many frames one of HiddenFrame stands for
}

// HiddenFrame is the name of frames that stand for others.
const HiddenFrame = math.MaxUint32

// FlameName is the name of frames.
type FlameName struct {
	Short, Full string
	Module      int // position in Modules
}

// FlameMetric is a column of the call tree that frames can be as wide as.
type FlameMetric struct {
	Key   string `json:"key"`
	Title string `json:"title"`
	Kind  string `json:"kind"`
	About string `json:"about"`
}

// FlameOptions say how a call tree is laid out.
type FlameOptions struct {
	Metric   string // key of a column; "": that by which the call tree is ordered
	BottomUp bool   // the functions that had the values themselves come first, and on them those that called them
	Most     int    // frames, but for those that stand for others
}

// mostLevels is how deep drawn trees can be; the deepest known trees are recursions, whose levels look the same.
const mostLevels = 4096

// ErrNegative means that a metric cannot be drawn: a selection made it less than nothing somewhere.
var ErrNegative = errors.New("in this span more died than were born on some paths: what is less than nothing cannot be drawn")

// FlameMetrics returns the metrics that the session has, that by which the call tree is ordered first.
func (r *Reader) FlameMetrics() ([]FlameMetric, error) {
	view, err := FindView("calltree")
	if err != nil {
		return nil, err
	}
	lived, err := r.context.source.Session().ProcessLifetimes()
	if err != nil {
		return nil, err
	}
	var out []FlameMetric
	seen := map[string]bool{}
	for _, key := range view.available() {
		c := allColumns[key]
		drawn := strings.Contains(key, "inclusive") && (c.Kind == Bytes || c.Kind == Count || c.Kind == Duration)
		if seen[key] || !drawn || strings.Contains(c.Title, "Avg") || strings.Contains(c.Title, "Min") || strings.Contains(c.Title, "Max") || r.context.checkData(key) != nil {
			continue
		}
		if slices.Contains(view.optional(), key) && (len(lived) == 0 || !r.context.hasMemory()) {
			continue
		}
		seen[key] = true
		out = append(out, flameMetric(c))
	}
	first := "inclusive_bytes"
	if r.context.hasTime() {
		first = timedViews["calltree"].sort
	}
	slices.SortStableFunc(out, func(a, b FlameMetric) int {
		return cmp.Compare(pick(a.Key == first, "0", "1"), pick(b.Key == first, "0", "1"))
	})
	return out, nil
}

func flameMetric(c Column) FlameMetric {
	return FlameMetric{c.Key, c.Title, kindNames[c.Kind], Describe(c.Key)}
}

// flameTree is a call tree with one value, parents before children.
type flameTree struct {
	parent []int32 // -1: a process
	key    []int64 // function, or process below 0
	value  []int64
}

// Flame lays the call tree out.
func (r *Reader) Flame(o FlameOptions) (*Flame, error) {
	view, err := FindView("calltree")
	if err != nil {
		return nil, err
	}
	metrics, err := r.FlameMetrics()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(metrics, func(m FlameMetric) bool { return m.Key == o.Metric || o.Metric == "" })
	if at < 0 {
		names := make([]string, 0, len(metrics))
		for _, m := range metrics {
			names = append(names, m.Key)
		}
		return nil, Unknown("metric", o.Metric, names)
	}
	var tree *flameTree
	view.build = func(b *builder) (err error) {
		tree, err = b.flameTree(allColumns[metrics[at].Key])
		return err
	}
	table, err := view.buildIn(r.own(), Options{Sort: metrics[at].Key, Columns: []string{"name", metrics[at].Key}})
	if err != nil {
		return nil, err
	}
	out := &flameWriter{context: table.context, Flame: &Flame{Metric: metrics[at]}, names: map[int64]uint32{}, modules: map[string]int{}}
	if o.BottomUp {
		tree.bottomUp(out, max(1, o.Most))
	} else {
		tree.topDown(out, max(1, o.Most))
	}
	return out.Flame, nil
}

// flameTree reads the values of all paths.
func (b *builder) flameTree(metric Column) (*flameTree, error) {
	t := &flameTree{}
	processes, err := b.processRows()
	if err != nil {
		return nil, err
	}
	process := map[session.ProcessID]int32{}
	add := func(row *Row, parent int32, key int64) (int32, error) {
		n := metric.cell(b.context, row).Number
		if n < 0 {
			return 0, ErrNegative
		}
		t.parent, t.key, t.value = append(t.parent, parent), append(t.key, key), append(t.value, n)
		return int32(len(t.parent) - 1), nil
	}
	for i := range processes {
		if process[processes[i].process], err = add(&processes[i], -1, -int64(processes[i].process)); err != nil {
			return nil, err
		}
		t.value[len(t.value)-1] = 0 // the sum of its roots
	}
	rows, err := b.allPaths()
	if err != nil {
		return nil, err
	}
	at := make(map[session.PathID]int32, len(rows))
	for i := range rows {
		p := &rows[i]
		row := b.pathRow(p.PathValue)
		row.time = p.time
		parent, known := at[p.Parent]
		if !known {
			if parent, known = process[p.Process]; !known {
				continue
			}
		}
		n, err := add(&row, parent, int64(p.Function))
		if err != nil {
			return nil, err
		}
		at[p.ID] = n
		if t.parent[parent] < 0 {
			t.value[parent] += t.value[n]
		}
	}
	return t, nil
}

// timedPath is a path with what it has of memory and of time.
type timedPath struct {
	session.PathValue
	time *rowTime
}

func (c *context) allPaths() ([]timedPath, error) {
	amounts, err := c.source.Paths()
	if err != nil {
		return nil, err
	}
	var times []session.PathTime
	if c.hasTime() {
		if times, err = c.source.PathTimes(); err != nil {
			return nil, err
		}
	}
	list := make([]timedPath, 0, max(len(amounts), len(times)))
	union(amounts, times, func(a *session.PathValue, t *session.PathTime) int { return cmp.Compare(a.ID, t.ID) },
		func(a *session.PathValue, t *session.PathTime) {
			p := timedPath{}
			if a != nil {
				p.PathValue = *a
			}
			if t != nil {
				p.ID, p.Parent, p.Level, p.Process, p.Function = t.ID, t.Parent, t.Level, t.Process, t.Function
				p.time = single(t.TimeValue, t.SingleCalls)
			}
			list = append(list, p)
		})
	return list, nil
}

// flameWriter makes the arrays.
type flameWriter struct {
	*context
	*Flame
	names   map[int64]uint32
	modules map[string]int
}

func (w *flameWriter) frame(key int64, depth int, value int64) {
	name, ok := w.names[key]
	if !ok {
		name = uint32(len(w.Names))
		w.names[key] = name
		n := FlameName{Short: w.processes.get(session.ProcessID(-key)).Name}
		n.Full = n.Short
		module := ""
		if key >= 0 {
			id := session.FunctionID(key)
			n.Short, n.Full, module = w.shortFunctionName(id), w.functionName(id), w.moduleName(w.functions.get(id).Module)
		}
		if n.Module, ok = w.modules[module]; !ok {
			n.Module = len(w.Modules)
			w.modules[module] = n.Module
			w.Modules = append(w.Modules, module)
		}
		w.Names = append(w.Names, n)
	}
	w.append(name, depth, value, 0)
}

func (w *flameWriter) append(name uint32, depth int, value int64, hidden int) {
	w.Name, w.Depth = append(w.Name, name), append(w.Depth, uint16(depth))
	w.Value, w.Hidden = append(w.Value, value), append(w.Hidden, uint32(hidden))
}

// children returns the frames called by each frame that have a value, those of frame i being list[first[i]:first[i+1]], the
// greatest first, and how many frames with a value are below each.
func (t *flameTree) children() (first, list, below []int32) {
	n := len(t.parent)
	first, below = make([]int32, n+2), make([]int32, n)
	for i := n - 1; i >= 0; i-- {
		if p := t.parent[i]; p >= 0 && t.value[i] > 0 {
			first[p+2]++
			below[p] += below[i] + 1
		}
	}
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	list = make([]int32, first[n+1])
	for i, p := range t.parent {
		if p >= 0 && t.value[i] > 0 {
			list[first[p+1]] = int32(i)
			first[p+1]++
		}
	}
	for i := range n {
		slices.SortFunc(list[first[i]:first[i+1]], func(x, y int32) int {
			return cmp.Or(cmp.Compare(t.value[y], t.value[x]), cmp.Compare(t.key[x], t.key[y]))
		})
	}
	return first, list, below
}

// roots are the processes, in the order of value.
func (t *flameTree) roots() []int32 {
	var out []int32
	for i, p := range t.parent {
		if p < 0 && t.value[i] > 0 {
			out = append(out, int32(i))
		}
	}
	slices.SortFunc(out, func(x, y int32) int { return cmp.Or(cmp.Compare(t.value[y], t.value[x]), cmp.Compare(x, y)) })
	return out
}

// least is the value below which frames are left out so that about so many stay.
func (t *flameTree) least(most int) int64 {
	if len(t.value) <= most {
		return 1
	}
	sorted := slices.Clone(t.value)
	slices.Sort(sorted)
	least := max(1, sorted[len(sorted)-most])
	if at, _ := slices.BinarySearch(sorted, least); len(sorted)-at > 2*most { // many of one size
		least++
	}
	return least
}

func (t *flameTree) topDown(w *flameWriter, most int) {
	first, list, below := t.children()
	least := t.least(most)
	type step struct {
		node  int32
		depth int
		value int64
		left  int // frames that this step stands for; 0: it is node
	}
	var stack []step
	roots := t.roots()
	for i := len(roots) - 1; i >= 0; i-- {
		w.Frames += 1 + int(below[roots[i]])
		stack = append(stack, step{node: roots[i]})
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.left > 0 {
			w.append(HiddenFrame, s.depth, s.value, s.left)
			continue
		}
		w.frame(t.key[s.node], s.depth, t.value[s.node])
		rest := step{depth: s.depth + 1}
		kept := len(stack)
		for _, c := range list[first[s.node]:first[s.node+1]] {
			if t.value[c] < least || s.depth+1 >= mostLevels {
				rest.left, rest.value = rest.left+1+int(below[c]), rest.value+t.value[c]
				continue
			}
			stack = append(stack, step{node: c, depth: s.depth + 1})
		}
		if rest.left > 0 {
			stack = append(stack, rest)
		}
		slices.Reverse(stack[kept:])
	}
}

// spent is a part of what a function had itself, at the node of a caller.
type spent struct {
	node  int32
	value int64
}

// spenders are the parts of one function, or of those that are left out.
type spenders struct {
	key   int64
	value int64
	depth int
	parts []spent
	left  int // how many functions; 0: one, key
}

// split groups parts by the function of their node, the greatest first, and goes on with their callers. What is less than least or
// too deep is one group, the last.
func (t *flameTree) split(parts []spent, depth int, least int64) []spenders {
	at, out := map[int64]int{}, []spenders(nil)
	for _, e := range parts {
		key := t.key[e.node]
		if key < 0 { // a process calls nothing
			continue
		}
		n, ok := at[key]
		if !ok {
			n = len(out)
			at[key] = n
			out = append(out, spenders{key: key, depth: depth})
		}
		out[n].value += e.value
		out[n].parts = append(out[n].parts, spent{t.parent[e.node], e.value})
	}
	slices.SortFunc(out, func(x, y spenders) int { return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.key, y.key)) })
	rest := spenders{depth: depth}
	kept := len(out)
	for kept > 0 && (out[kept-1].value < least || depth >= mostLevels) {
		kept--
		rest.left, rest.value = rest.left+1, rest.value+out[kept].value
	}
	if out = out[:kept]; rest.left > 0 {
		out = append(out, rest)
	}
	return out
}

// bottomUp lays out who spends: below the processes the functions that had values themselves, and on these their callers.
func (t *flameTree) bottomUp(w *flameWriter, most int) {
	own := slices.Clone(t.value)
	for i, p := range t.parent {
		if p >= 0 {
			own[p] -= t.value[i]
		}
	}
	total := int64(0)
	for _, r := range t.roots() {
		total += t.value[r]
	}
	least := max(1, total/int64(most))
	var all []spent
	for i, n := range own {
		if n > 0 && t.key[i] >= 0 {
			all = append(all, spent{int32(i), n})
		}
	}
	stack := t.split(all, w.root(t, total), least)
	slices.Reverse(stack)
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		w.Frames++
		if g.left > 0 {
			w.append(HiddenFrame, g.depth, g.value, g.left)
			continue
		}
		w.frame(g.key, g.depth, g.value)
		above := t.split(g.parts, g.depth+1, least)
		slices.Reverse(above)
		stack = append(stack, above...)
	}
}

// root writes the frame of all processes together and returns the depth of what is on it.
func (w *flameWriter) root(t *flameTree, total int64) int {
	roots := t.roots()
	if len(roots) == 0 {
		return 0
	}
	w.Frames++
	if len(roots) == 1 {
		w.frame(t.key[roots[0]], 0, total)
		return 1
	}
	w.Names = append(w.Names, FlameName{Short: "all processes", Full: "all processes"})
	w.Modules = append(w.Modules, "")
	w.modules[""] = 0
	w.append(uint32(len(w.Names)-1), 0, total, 0)
	return 1
}
