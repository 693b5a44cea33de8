package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Flame is a call tree laid out for drawing, as arrays of frames in preorder. Frames of one caller are in the order of
// their values, the greatest first; the value of a frame is at least that of the frames it has called. What is left out
// of it, because there would be too many frames or levels, is one frame for each caller with the name hiddenFrame, the
// last there.
type Flame struct {
	Metric   FlameMetric
	Frames   int         // of the whole tree that have a value
	Names    []FlameName // of functions and processes, by the positions in Name
	Modules  []string
	UserCode []bool // of Modules: the user builds it
	Name     []uint32
	Depth    []uint16
	Value    []int64
	Hidden   []uint32 // how many frames one of hiddenFrame stands for

	// With FlameOptions.Color: what most bytes of a frame are, with what it called. Color has positions in Colors, or
	// noColor.
	Colors []string
	Color  []uint32
	Share  []uint8 // percent of the frame's bytes that are of its colour, rounded down

	// With FlameOptions.Against: the value of each frame in the other session, and what is there only.
	Other []int64 // 0: it is not there
	Gone  Gone

	Notes []Note // of the shape that was asked for
}

// Gone is what of a call tree another one does not have: frames whose callers it has, each with all that it called.
type Gone struct {
	Frames int   `json:"frames"` // with those that they called
	Value  int64 `json:"value"`
	Total  int64 `json:"total"` // of the whole tree that has them
}

// hiddenFrame is the name of frames that stand for others.
const hiddenFrame = math.MaxUint32

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
	Metric   string  // key of a column; "": that by which the call tree is ordered
	BottomUp bool    // the functions that had the values themselves come first, and on them those that called them
	Most     int     // frames, but for those that stand for others
	Color    string  // one of FlameColors: what frames are coloured by; "": nothing is said of that
	Against  *Reader // another session: paths are matched by their keys, and those of several processes are added up
	FlameShape
}

// FlameShape is which call tree is drawn: without any of these the physical one.
type FlameShape struct {
	Logical bool   // async methods are below their callers
	Root    string // it begins with a function, as Options.Root
	Fold    bool   // no path has a function twice
}

// options are those of the view of the call tree.
func (s FlameShape) options(metric string) Options {
	return Options{Sort: metric, Columns: []string{"name", metric}, Physical: !s.Logical, Root: s.Root, Fold: s.Fold}
}

// mostLevels is how deep drawn trees can be; the deepest known trees are recursions, whose levels look the same.
const mostLevels = 4096

// errNegative means that a metric cannot be drawn: a selection made it less than nothing somewhere.
var errNegative = errors.New("in this span more objects died than were born on some paths, and negative values " +
	"cannot be drawn")

// errShapedColors means that colours are asked for of a call tree that is not the physical one.
var errShapedColors = errors.New("colours are known only for the call tree as it was recorded, not for a tree with " +
	"folded recursion, a tree that begins with a function, or one with async methods below their callers")

// FlameMetrics returns the metrics that the session has, that which shows most first: the one by which the call tree is
// ordered, or CPU time where Main waits for most of the time.
func (r *Reader) FlameMetrics() ([]FlameMetric, error) {
	view := callTreeView
	lived, err := r.context.source.Session().ProcessLifetimes()
	if err != nil {
		return nil, err
	}
	var out []FlameMetric
	seen := map[string]bool{}
	for _, key := range slices.Concat(view.available(), r.context.counters.keys) {
		c := r.context.column(key)
		drawn := strings.Contains(key, "inclusive") && (c.Kind == Bytes || c.Kind == Count || c.Kind == Duration)
		if seen[key] || !drawn || strings.Contains(c.Title, "Avg") || strings.Contains(c.Title, "Min") ||
			strings.Contains(c.Title, "Max") || r.context.checkData(key) != nil {
			continue
		}
		if slices.Contains(view.optional, key) && (len(lived) == 0 || !r.context.hasMemory()) {
			continue
		}
		seen[key] = true
		out = append(out, flameMetric(c))
	}
	first := "inclusive_bytes"
	if r.context.hasTime() {
		first = view.timed.sort
		if waits, err := r.mainWaits(); err != nil {
			return nil, err
		} else if waits {
			first = "cpu_inclusive"
		}
	}
	slices.SortStableFunc(out, func(a, b FlameMetric) int {
		return cmp.Compare(pick(a.Key == first, "0", "1"), pick(b.Key == first, "0", "1"))
	})
	return out, nil
}

// mainWaits reports whether most of all time is entry points that wait, as of servers.
func (r *Reader) mainWaits() (bool, error) {
	roots, err := r.context.processRows()
	if err != nil {
		return false, err
	}
	idle := q.Nanoseconds(0)
	for i := range roots {
		of, err := r.context.idle(&roots[i], nil)
		if err != nil {
			return false, err
		}
		idle += of
	}
	return idle > r.context.shownTime.Inclusive.Elapsed/2 && r.context.shownTime.Inclusive.CPU > 0, nil
}

func flameMetric(c Column) FlameMetric {
	return FlameMetric{c.Key, c.Title, c.Kind.String(), Describe(c.Key)}
}

// flameTree is a call tree with one value, parents before children.
type flameTree struct {
	parent []int32 // -1: a process
	key    []int32 // position in keys
	value  []int64
	keys   []int64         // frameKey, or process below 0, each once; of a compared tree, a name of it
	names  []flameFunction // of keys, those that were needed so far; of a compared tree all
	at     pathIndex
	order  *frameOrder  // nil: it was not needed yet
	other  []int64      // of a compared tree: the values of the other session
	colors *flameColors // nil: none
	notes  []Note       // of its shape
}

// frameKeys gives keys their positions.
type frameKeys struct {
	ofFunctions []int32 // position + 1, by frameKey; 0: none
	others      map[int64]int32
}

// position is where a key is among the keys of a tree.
func (k *frameKeys) position(t *flameTree, key int64) int32 {
	if key >= 0 && key < int64(len(k.ofFunctions)) {
		if k.ofFunctions[key] == 0 {
			t.keys = append(t.keys, key)
			k.ofFunctions[key] = int32(len(t.keys))
		}
		return k.ofFunctions[key] - 1
	}
	at, ok := k.others[key]
	if !ok {
		at = int32(len(t.keys))
		k.others[key] = at
		t.keys = append(t.keys, key)
	}
	return at
}

// isProcess reports whether a node is a process.
func (t *flameTree) isProcess(node int32) bool { return t.parent[node] < 0 }

// frameKey is what tells frames with one caller apart: the function, and what its row in a logical tree stands for.
func frameKey(f session.FunctionID, role analysis.AsyncRole) int64 {
	return int64(f)*int64(len(frameRoles)) + int64(slices.Index(frameRoles, role))
}

// frameOf is what a key that is not below 0 stands for.
func frameOf(key int64) (session.FunctionID, analysis.AsyncRole) {
	n := int64(len(frameRoles))
	return session.FunctionID(key / n), frameRoles[key%n]
}

// frameRoles are all that there are.
var frameRoles = []analysis.AsyncRole{analysis.AsyncNone, analysis.AsyncResumed, analysis.AsyncRuntime,
	analysis.AsyncLeftOut}

// Flame lays the call tree out.
func (r *Reader) Flame(o FlameOptions) (*Flame, error) {
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
	if o.Color != "" && o.FlameShape != (FlameShape{}) {
		return nil, errShapedColors
	}
	tree, c, err := r.flameTree(metrics[at], o.FlameShape)
	if err == nil && o.Color != "" {
		tree, err = r.coloredTree(tree, o.Color)
	}
	if err != nil {
		return nil, err
	}
	if o.Against != nil {
		if o.Color != "" {
			return nil, fmt.Errorf("a compared call tree is coloured by its differences, not by %s", o.Color)
		}
		if tree, err = r.comparedTree(tree, metrics[at], o.FlameShape, o.Against); err != nil {
			return nil, err
		}
	}
	out := &flameWriter{
		context: c,
		tree:    tree,
		Flame:   &Flame{Metric: metrics[at], Notes: tree.notes},
	}
	out.begin(0)
	if o.BottomUp {
		tree.bottomUp(out, max(1, o.Most))
	} else {
		tree.topDown(out, max(1, o.Most))
	}
	return out.Flame, nil
}

// flameTree reads the tree of a metric, in a context of its own, which it returns.
func (r *Reader) flameTree(metric FlameMetric, shape FlameShape) (*flameTree, *context, error) {
	if l := r.laid; l != nil && l.metric == metric.Key && l.shape == shape {
		return l.tree, l.context, nil
	}
	r.laid = nil // two of them would be much memory
	view, err := FindView("calltree")
	if err != nil {
		return nil, nil, err
	}
	var tree *flameTree
	view.build = func(b *builder) (err error) {
		tree, err = b.flameTree(b.column(metric.Key))
		return err
	}
	table, err := view.buildIn(r.own(), shape.options(metric.Key))
	if err != nil {
		return nil, nil, err
	}
	r.laid = &laidOut{metric.Key, shape, tree, table.context}
	return tree, table.context, nil
}

// flameTree reads the values of all paths of the call tree that the options ask for.
func (b *builder) flameTree(metric Column) (*flameTree, error) {
	t := &flameTree{}
	processes, err := b.processRows()
	if err != nil {
		return nil, err
	}
	before := len(b.table.Notes)
	if _, err := b.shape(slices.Clone(processes)); err != nil {
		return nil, err
	}
	t.notes = slices.Clone(b.table.Notes[before:])
	process := map[session.ProcessID]int32{}
	// ids of functions are mostly without gaps
	known := &frameKeys{make([]int32, (len(b.functions.list)+1)*len(frameRoles)), map[int64]int32{}}
	add := func(row *Row, parent int32, key int64) (int32, error) {
		n := metric.cell(b.context, row).Number
		if n < 0 {
			return 0, errNegative
		}
		t.parent, t.key, t.value =
			append(t.parent, parent), append(t.key, known.position(t, key)), append(t.value, n)
		return int32(len(t.parent) - 1), nil
	}
	for i := range processes {
		if process[processes[i].process], err = add(&processes[i], -1, -int64(processes[i].process)); err != nil {
			return nil, err
		}
		t.value[len(t.value)-1] = 0 // the sum of its roots
	}
	err = b.eachRow(processes, func(row *Row, above session.PathID) error {
		parent, known := t.at.find(above)
		if !known {
			if parent, known = process[row.process]; !known {
				return nil
			}
		}
		n, err := add(row, parent, frameKey(row.function, row.async))
		if err != nil {
			return err
		}
		t.at.ids, t.at.nodes = append(t.at.ids, row.path), append(t.at.nodes, n)
		if t.parent[parent] < 0 {
			t.value[parent] += t.value[n]
		}
		return nil
	}, t.grow)
	t.names = make([]flameFunction, len(t.keys))
	return t, err
}

// grow makes room for so many paths.
func (t *flameTree) grow(paths int) {
	t.at.ids, t.at.nodes = make([]session.PathID, 0, paths), make([]int32, 0, paths)
	t.parent, t.key, t.value = slices.Grow(t.parent, paths), slices.Grow(t.key, paths), slices.Grow(t.value, paths)
}

// pathIndex finds the nodes of paths, which come in the order of their ids. Mostly there are no gaps between these.
type pathIndex struct {
	ids   []session.PathID
	nodes []int32
}

func (x *pathIndex) find(id session.PathID) (node int32, ok bool) {
	i := int(id) - 1
	if i < 0 || i >= len(x.ids) || x.ids[i] != id {
		i, ok = slices.BinarySearch(x.ids, id)
		if !ok {
			return 0, false
		}
	}
	return x.nodes[i], true
}

// eachRow calls fn with the row of each path of the call tree that is shown, in the order of ids, callers first, and
// the path above it, as eachPath does. Processes are the roots of them.
func (b *builder) eachRow(processes []Row, fn func(row *Row, above session.PathID) error, about func(int)) error {
	if b.logical == nil {
		return b.eachPath(fn, about)
	}
	type called struct {
		row   Row
		above session.PathID
	}
	var rows []called
	open := slices.Clone(processes)
	for len(open) > 0 {
		r := open[len(open)-1]
		open = open[:len(open)-1]
		below, err := b.pathsBelow(&r)
		if err != nil {
			return err
		}
		for i := range below {
			rows = append(rows, called{below[i], r.path})
		}
		open = append(open, below...)
	}
	slices.SortFunc(rows, func(x, y called) int { return cmp.Compare(x.row.path, y.row.path) })
	about(len(rows))
	for i := range rows {
		if err := fn(&rows[i].row, rows[i].above); err != nil {
			return err
		}
	}
	return nil
}

// eachPath calls fn with the row of each path of the physical call tree, which is the same row anew each time, and the
// path above it; before that it tells about how many there are. Of the row there is what columns of numbers read.
func (c *context) eachPath(fn func(row *Row, above session.PathID) error, about func(paths int)) error {
	amounts, err := c.source.Paths()
	if err != nil {
		return err
	}
	var times []session.PathTime
	if c.hasTime() {
		if times, err = c.source.PathTimes(); err != nil {
			return err
		}
	}
	about(max(len(amounts), len(times)))
	row, time := Row{kind: rowFunction}, rowTime{}
	union(amounts, times, func(a *session.PathValue, t *session.PathTime) int { return cmp.Compare(a.ID, t.ID) },
		func(a *session.PathValue, t *session.PathTime) {
			var above session.PathID
			row.values, row.time = q.Amounts{}, nil
			if a != nil {
				row.path, above, row.process, row.function, row.values =
					a.ID, a.Parent, a.Process, a.Function, a.Amounts
			}
			if t != nil {
				row.path, above, row.process, row.function = t.ID, t.Parent, t.Process, t.Function
				time = rowTime{t.TimeValue, &t.SingleCalls}
				row.time = &time
			}
			if err == nil {
				err = fn(&row, above)
			}
		})
	return err
}
