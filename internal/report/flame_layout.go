package report

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// flameWriter makes the arrays.
type flameWriter struct {
	*context
	*Flame
	tree    *flameTree
	names   map[int64]uint32
	modules map[string]int
	colors  map[uint32]uint32 // positions in Colors
}

// FlameFunction is the name of a function, or of a process, and its module.
type FlameFunction struct {
	Short, Full, Module string
	isUser              bool // it is user code
}

// name is the name that a key of the tree stands for.
func (w *flameWriter) name(key int64) FlameFunction {
	if w.tree.names != nil {
		return w.tree.names[max(key, -key)-1]
	}
	return w.flameFunction(key)
}

// flameFunction is the name of a function, or of a process below 0.
func (c *context) flameFunction(key int64) FlameFunction {
	if key < 0 {
		name := c.processes.get(session.ProcessID(-key)).Name
		return FlameFunction{Short: name, Full: name}
	}
	id, role := frameOf(key)
	row := Row{function: id, async: role}
	if role == analysis.AsyncRuntime || role == analysis.AsyncLeftOut { // no function
		name := asyncName(&row, c.functionName)
		return FlameFunction{Short: name, Full: name}
	}
	return FlameFunction{asyncName(&row, c.shortFunctionName), asyncName(&row, c.functionName),
		c.moduleName(c.functions.get(id).Module), c.isUser(id)}
}

// framed is a frame that is written, or what stands for several.
type framed struct {
	key          int64
	depth        int
	value, other int64
	left         int // frames that it stands for; 0: it is one
	color        colored
}

// frame writes a frame.
func (w *flameWriter) frame(f framed) {
	name := uint32(HiddenFrame)
	if f.left == 0 {
		var ok bool
		if name, ok = w.names[f.key]; !ok {
			name = uint32(len(w.Names))
			w.names[f.key] = name
			w.addName(w.name(f.key))
		}
	}
	w.append(name, f)
}

func (w *flameWriter) addName(n FlameFunction) {
	at, ok := w.modules[n.Module]
	if !ok {
		at = len(w.Modules)
		w.modules[n.Module] = at
		w.Modules, w.UserCode = append(w.Modules, n.Module), append(w.UserCode, n.isUser)
	}
	w.Names = append(w.Names, FlameName{n.Short, n.Full, at})
}

func (w *flameWriter) append(name uint32, f framed) {
	w.Name, w.Depth = append(w.Name, name), append(w.Depth, uint16(f.depth))
	w.Value, w.Hidden = append(w.Value, f.value), append(w.Hidden, uint32(f.left))
	if w.tree.other != nil {
		w.Other = append(w.Other, f.other)
	}
	if w.tree.colors == nil {
		return
	}
	color, share := uint32(NoColor), uint8(0)
	if f.left == 0 && f.color.bytes > 0 {
		var ok bool
		if color, ok = w.colors[f.color.color]; !ok {
			color = uint32(len(w.Colors))
			w.colors[f.color.color] = color
			w.Colors = append(w.Colors, w.tree.colors.names[f.color.color])
		}
		share = uint8(100 * float64(f.color.bytes) / float64(f.color.all))
	}
	w.Color, w.Share = append(w.Color, color), append(w.Share, share)
}

// frameOrder are the frames called by each frame that have a value, those of frame i being list[first[i]:first[i+1]],
// the greatest first, and how many frames with a value are below each.
type frameOrder struct{ first, list, below []int32 }

// children returns the frames that each has called, in their order.
func (t *flameTree) children() *frameOrder {
	if t.order == nil {
		t.order = t.ordered()
	}
	return t.order
}

func (t *flameTree) ordered() *frameOrder {
	n := len(t.parent)
	first, below := make([]int32, n+2), make([]int32, n)
	for i := n - 1; i >= 0; i-- {
		if p := t.parent[i]; p >= 0 && t.value[i] > 0 {
			first[p+2]++
			below[p] += below[i] + 1
		}
	}
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	list := make([]int32, first[n+1])
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
	return &frameOrder{first, list, below}
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
	if t.sorted == nil {
		t.sorted = slices.Clone(t.value)
		slices.Sort(t.sorted)
	}
	sorted := t.sorted
	least := max(1, sorted[len(sorted)-most])
	if at, _ := slices.BinarySearch(sorted, least); len(sorted)-at > 2*most { // many of one size
		least++
	}
	return least
}

func (t *flameTree) topDown(w *flameWriter, most int) {
	order := t.children()
	least := t.least(most)
	if t.best == nil {
		t.best = t.colors.best(t.parent)
	}
	type step struct {
		framed
		node int32
	}
	one := func(node int32, depth int) step {
		f := framed{key: t.key[node], depth: depth, value: t.value[node], other: t.otherOf(node)}
		if t.best != nil {
			f.color = t.best[node]
		}
		return step{f, node}
	}
	var stack []step
	roots := t.roots()
	for i := len(roots) - 1; i >= 0; i-- {
		w.Frames += 1 + int(order.below[roots[i]])
		stack = append(stack, one(roots[i], 0))
	}
	w.Gone = t.gone()
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		w.frame(s.framed)
		if s.left > 0 {
			continue
		}
		rest := step{framed: framed{depth: s.depth + 1}}
		kept := len(stack)
		for _, c := range order.list[order.first[s.node]:order.first[s.node+1]] {
			if t.value[c] < least || s.depth+1 >= mostLevels {
				rest.left, rest.value, rest.other = rest.left+1+int(order.below[c]), rest.value+t.value[c], rest.other+
					t.otherOf(c)
				continue
			}
			stack = append(stack, one(c, s.depth+1))
		}
		if rest.left > 0 {
			stack = append(stack, rest)
		}
		slices.Reverse(stack[kept:])
	}
}

// spent is a part of what a function had itself, at the node of a caller.
type spent struct {
	node, origin int32 // origin is where the function was
	value, other int64
}

// spenders are the parts of one function, or of those that are left out.
type spenders struct {
	framed
	parts []spent
}

// split groups parts by the function of their node, the greatest first, and goes on with their callers. What is less
// than least or too deep is one group, the last. What only the other session has is no group.
func (t *flameTree) split(w *flameWriter, parts []spent, depth int, least int64) []spenders {
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
			out = append(out, spenders{framed: framed{key: key, depth: depth}})
		}
		out[n].value, out[n].other = out[n].value+e.value, out[n].other+e.other
		out[n].parts = append(out[n].parts, spent{t.parent[e.node], e.origin, e.value, e.other})
	}
	out = slices.DeleteFunc(out, func(g spenders) bool {
		if g.value == 0 && g.other > 0 {
			w.Gone.Frames, w.Gone.Value = w.Gone.Frames+1, w.Gone.Value+g.other
		}
		return g.value == 0
	})
	slices.SortFunc(
		out,
		func(x, y spenders) int { return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(x.key, y.key)) },
	)
	rest := spenders{framed: framed{depth: depth}}
	kept := len(out)
	for kept > 0 && (out[kept-1].value < least || depth >= mostLevels) {
		kept--
		rest.left, rest.value, rest.other = rest.left+1, rest.value+out[kept].value, rest.other+out[kept].other
	}
	for i := range out[:kept] {
		out[i].color = t.colors.bestOf(out[i].parts)
	}
	if out = out[:kept]; rest.left > 0 {
		out = append(out, rest)
	}
	return out
}

// bottomUp lays out who spends: below the processes the functions that had values themselves, and on these their
// callers. How many frames that gives is not known beforehand: where it is more than twice as many as wanted, smaller
// ones are left out from the start.
func (t *flameTree) bottomUp(w *flameWriter, most int) {
	total := int64(0)
	for _, r := range t.roots() {
		total += t.value[r]
	}
	for least := max(1, total/int64(most)); ; least = least*4 + 1 {
		again := *w
		again.Flame = &Flame{Metric: w.Metric}
		again.names, again.modules, again.colors = map[int64]uint32{}, map[string]int{}, map[uint32]uint32{}
		if t.bottomUpFrom(&again, total, least, 2*most) || least >= total {
			*w.Flame = *again.Flame
			return
		}
	}
}

// bottomUpFrom lays out frames of at least a value, and reports whether they are at most so many.
func (t *flameTree) bottomUpFrom(w *flameWriter, total, least int64, most int) bool {
	own, others := slices.Clone(t.value), slices.Clone(t.other)
	for i, p := range t.parent {
		if p >= 0 {
			own[p] -= t.value[i]
			if others != nil {
				others[p] -= t.other[i]
			}
		}
	}
	var all []spent
	for i, n := range own {
		other := int64(0)
		if others != nil {
			other = others[i]
		}
		if (n > 0 || other > 0 || t.colors.has(i)) && t.key[i] >= 0 {
			all = append(all, spent{int32(i), int32(i), n, other})
		}
	}
	w.Gone.Total = t.gone().Total
	stack := t.split(w, all, w.root(t, total, all), least)
	slices.Reverse(stack)
	for len(stack) > 0 {
		if len(w.Name) > max(most, leastFrames) {
			return false
		}
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		w.Frames++
		w.frame(g.framed)
		if g.left > 0 {
			continue
		}
		above := t.split(w, g.parts, g.depth+1, least)
		slices.Reverse(above)
		stack = append(stack, above...)
	}
	return true
}

// leastFrames is how many frames are never too many.
const leastFrames = 1000

// root writes the frame of all processes together and returns the depth of what is on it.
func (w *flameWriter) root(t *flameTree, total int64, all []spent) int {
	roots := t.roots()
	if len(roots) == 0 {
		return 0
	}
	w.Frames++
	f := framed{key: t.key[roots[0]], value: total, other: w.Gone.Total, color: t.colors.bestOf(all)}
	if len(roots) == 1 {
		w.frame(f)
		return 1
	}
	w.addName(FlameFunction{Short: "all processes", Full: "all processes"})
	w.append(uint32(len(w.Names)-1), f)
	return 1
}
