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
	names   []uint32 // of keys of the tree: position in Names + 1; 0: none has it
	modules map[string]int
	colors  []uint32 // of colours of the tree, likewise
	sums    colorSums
	at      []int32 // of keys of the tree, while frames of one caller are put together: which it is + 1
}

// begin forgets all frames, and makes room for so many.
func (w *flameWriter) begin(frames int) {
	f := w.Flame
	w.names, w.modules = make([]uint32, len(w.tree.keys)), map[string]int{}
	w.Flame = &Flame{Metric: f.Metric, Notes: f.Notes, Name: room(f.Name, frames), Depth: room(f.Depth, frames),
		Value: room(f.Value, frames), Hidden: room(f.Hidden, frames)}
	if w.tree.other != nil {
		w.Other = room(f.Other, frames)
	}
	if w.tree.colors != nil {
		w.Color, w.Share = room(f.Color, frames), room(f.Share, frames)
		w.colors = make([]uint32, len(w.tree.colors.names))
	}
}

// room empties a list, and makes room for so many.
func room[T any](list []T, n int) []T { return slices.Grow(list[:0], n) }

// name is the name that a key of the tree stands for.
func (w *flameWriter) name(key int32) flameFunction {
	known := &w.tree.names[key]
	if known.Full == "" {
		*known = w.flameFunction(w.tree.keys[key])
	}
	return *known
}

// flameFunction is the name of a function, or of a process, and its module.
type flameFunction struct {
	Short, Full, Module string
	isUser              bool // it is user code
}

// flameFunction is the name of a function, or of a process below 0.
func (c *context) flameFunction(key int64) flameFunction {
	if key < 0 {
		name := c.processes.get(session.ProcessID(-key)).Name
		return flameFunction{Short: name, Full: name}
	}
	id, role := frameOf(key)
	row := Row{function: id, async: role}
	if role == analysis.AsyncRuntime || role == analysis.AsyncLeftOut { // no function
		name := asyncName(&row, c.functionName)
		return flameFunction{Short: name, Full: name}
	}
	return flameFunction{asyncName(&row, c.rowFunctionName), asyncName(&row, c.functionName),
		c.moduleName(c.functions.get(id).Module), c.isUser(id)}
}

// framed is a frame that is written, or what stands for several.
type framed struct {
	key          int32 // position in the keys of the tree
	depth        int32
	left         int32 // frames that it stands for; 0: it is one
	value, other int64
	color        colored
}

// frame writes a frame.
func (w *flameWriter) frame(f *framed) {
	name := uint32(hiddenFrame)
	if f.left == 0 {
		if w.names[f.key] == 0 {
			w.addName(w.name(f.key))
			w.names[f.key] = uint32(len(w.Names))
		}
		name = w.names[f.key] - 1
	}
	w.append(name, f)
}

func (w *flameWriter) addName(n flameFunction) {
	at, ok := w.modules[n.Module]
	if !ok {
		at = len(w.Modules)
		w.modules[n.Module] = at
		w.Modules, w.UserCode = append(w.Modules, n.Module), append(w.UserCode, n.isUser)
	}
	w.Names = append(w.Names, FlameName{n.Short, n.Full, at})
}

func (w *flameWriter) append(name uint32, f *framed) {
	w.Name, w.Depth = append(w.Name, name), append(w.Depth, uint16(f.depth))
	w.Value, w.Hidden = append(w.Value, f.value), append(w.Hidden, uint32(f.left))
	if w.tree.other != nil {
		w.Other = append(w.Other, f.other)
	}
	if w.tree.colors == nil {
		return
	}
	color, share := uint32(noColor), uint8(0)
	if f.left == 0 && f.color.bytes > 0 {
		if w.colors[f.color.color] == 0 {
			w.Colors = append(w.Colors, w.tree.colors.names[f.color.color])
			w.colors[f.color.color] = uint32(len(w.Colors))
		}
		color = w.colors[f.color.color] - 1
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
		if called := list[first[i]:first[i+1]]; len(called) > 1 {
			slices.SortFunc(called, func(x, y int32) int {
				return cmp.Or(cmp.Compare(t.value[y], t.value[x]), cmp.Compare(t.keys[t.key[x]], t.keys[t.key[y]]))
			})
		}
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

// least is the value below which frames are left out so that about so many stay, and how many do.
func (t *flameTree) least(most int) (least int64, kept int) {
	least = 1
	if len(t.value) > most {
		least = max(1, greatest(slices.Clone(t.value), most))
	}
	count := func() (n int) {
		for _, v := range t.value {
			if v >= least {
				n++
			}
		}
		return n
	}
	if kept = count(); kept > 2*most { // many of one size
		least++
		kept = count()
	}
	return least, kept
}

// greatest is the n-th greatest value of a list, whose order it changes. It looks at about three times as many values
// as there are: the list is parted by one of them until what is wanted is left (Hoare, Algorithm 65: Find).
func greatest(list []int64, n int) int64 {
	n--
	for from, to := 0, len(list)-1; from < to; {
		middle := median(list[from], list[from+(to-from)/2], list[to])
		i, k := from, to
		for i <= k {
			for list[i] > middle {
				i++
			}
			for list[k] < middle {
				k--
			}
			if i <= k {
				list[i], list[k] = list[k], list[i]
				i, k = i+1, k-1
			}
		}
		switch {
		case n <= k:
			to = k
		case n >= i:
			from = i
		default:
			return middle
		}
	}
	return list[n]
}

func median(x, y, z int64) int64 { return max(min(x, y), min(max(x, y), z)) }

func (t *flameTree) topDown(w *flameWriter, most int) {
	order := t.children()
	least, kept := t.least(most)
	var best []colored
	if t.colors != nil {
		best = t.colors.ofTrees(t.parent)
	}
	type step struct {
		node  int32 // of what is left out, its caller
		depth int32
		rest  *framed // what is left out; nil: it is a frame
	}
	var stack []step
	roots := t.roots()
	w.begin(kept + kept/2) // and those that stand for others
	for i := len(roots) - 1; i >= 0; i-- {
		w.Frames += 1 + int(order.below[roots[i]])
		stack = append(stack, step{node: roots[i]})
	}
	w.Gone = t.gone()
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if s.rest != nil {
			w.frame(s.rest)
			continue
		}
		f := framed{key: t.key[s.node], depth: s.depth, value: t.value[s.node], other: t.otherOf(s.node)}
		if best != nil {
			f.color = best[s.node]
		}
		w.frame(&f)
		called := order.list[order.first[s.node]:order.first[s.node+1]] // the greatest first
		shown := len(called)
		if s.depth+1 >= mostLevels {
			shown = 0
		}
		for shown > 0 && t.value[called[shown-1]] < least {
			shown--
		}
		if rest := t.rest(order, called[shown:], s.depth+1); rest != nil {
			stack = append(stack, step{rest: rest})
		}
		for i := shown - 1; i >= 0; i-- {
			stack = append(stack, step{node: called[i], depth: s.depth + 1})
		}
	}
}

// rest stands for frames that are left out, with all below them; nil if there are none.
func (t *flameTree) rest(order *frameOrder, nodes []int32, depth int32) *framed {
	if len(nodes) == 0 {
		return nil
	}
	out := &framed{depth: depth}
	for _, c := range nodes {
		out.left, out.value, out.other = out.left+1+order.below[c], out.value+t.value[c], out.other+t.otherOf(c)
	}
	return out
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

// callers appends what the callers of some parts are together, by function, the greatest first. What is less than
// least or too deep is one of them, the last. What only the other session has is none.
func (t *flameTree) callers(w *flameWriter, out []spenders, parts []spent, depth int32, least int64) []spenders {
	kept := len(out)
	out = t.split(w, out, parts, depth)
	all := out[kept:]
	all = slices.DeleteFunc(all, func(g spenders) bool {
		if g.value == 0 && g.other > 0 {
			w.Gone.Frames, w.Gone.Value = w.Gone.Frames+1, w.Gone.Value+g.other
		}
		return g.value == 0
	})
	if len(all) > 1 {
		slices.SortFunc(all, func(x, y spenders) int {
			return cmp.Or(cmp.Compare(y.value, x.value), cmp.Compare(t.keys[x.key], t.keys[y.key]))
		})
	}
	rest := spenders{framed: framed{depth: depth}}
	shown := len(all)
	for shown > 0 && (all[shown-1].value < least || depth >= mostLevels) {
		shown--
		rest.left, rest.value, rest.other = rest.left+1, rest.value+all[shown].value, rest.other+all[shown].other
	}
	if all = all[:shown]; rest.left > 0 {
		all = append(all, rest)
	}
	return append(out[:kept], all...)
}

// split groups parts by the function of their node, and goes on with their callers. Parts of one function are changed
// in their place: they are needed no more.
func (t *flameTree) split(w *flameWriter, out []spenders, parts []spent, depth int32) []spenders {
	kept := len(out)
	var sizes []int32
	calling := 0
	for i := range parts {
		e := &parts[i]
		if t.isProcess(e.node) { // which calls nothing
			continue
		}
		key := t.key[e.node]
		if w.at[key] == 0 {
			out = append(out, spenders{framed: framed{key: key, depth: depth}})
			w.at[key] = int32(len(out) - kept)
			sizes = append(sizes, 0)
		}
		n := w.at[key] - 1
		g := &out[kept+int(n)]
		g.value, g.other = g.value+e.value, g.other+e.other
		sizes[n]++
		calling++
	}
	groups := out[kept:]
	if len(groups) == 1 && calling == len(parts) {
		groups[0].parts = parts
		for i := range parts {
			parts[i].node = t.parent[parts[i].node]
		}
		w.at[groups[0].key] = 0
		return out
	}
	above := make([]spent, calling)
	for n := range groups {
		groups[n].parts, above = above[:0:sizes[n]], above[sizes[n]:]
	}
	for _, e := range parts {
		if !t.isProcess(e.node) {
			g := &groups[w.at[t.key[e.node]]-1]
			g.parts = append(g.parts, spent{t.parent[e.node], e.origin, e.value, e.other})
		}
	}
	for n := range groups {
		w.at[groups[n].key] = 0
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
	w.at = make([]int32, len(t.keys))
	all := t.spent()
	for least := max(1, total/int64(most)); ; least = least*4 + 1 {
		w.begin(min(2*most, len(t.value)))
		if t.bottomUpFrom(w, slices.Clone(all), total, least, 2*most) || least >= total {
			return
		}
	}
}

// spent are what functions had themselves.
func (t *flameTree) spent() []spent {
	own, others := slices.Clone(t.value), slices.Clone(t.other)
	for i, p := range t.parent {
		if p >= 0 {
			own[p] -= t.value[i]
			if others != nil {
				others[p] -= t.other[i]
			}
		}
	}
	var out []spent
	for i, n := range own {
		other := int64(0)
		if others != nil {
			other = others[i]
		}
		if (n > 0 || other > 0 || t.colors.has(i)) && !t.isProcess(int32(i)) {
			out = append(out, spent{int32(i), int32(i), n, other})
		}
	}
	return out
}

// bottomUpFrom lays out frames of at least a value, and reports whether they are at most so many.
func (t *flameTree) bottomUpFrom(w *flameWriter, all []spent, total, least int64, most int) bool {
	w.Gone.Total = t.gone().Total
	stack := t.callers(w, nil, all, w.root(t, total, all), least)
	slices.Reverse(stack)
	for len(stack) > 0 {
		if len(w.Name) > max(most, leastFrames) {
			return false
		}
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		w.Frames++
		if t.colors != nil && g.left == 0 {
			g.color = w.sums.of(t.colors, g.parts)
		}
		w.frame(&g.framed)
		if g.left > 0 {
			continue
		}
		kept := len(stack)
		stack = t.callers(w, stack, g.parts, g.depth+1, least)
		slices.Reverse(stack[kept:])
	}
	return true
}

// leastFrames is how many frames are never too many.
const leastFrames = 1000

// root writes the frame of all processes together and returns the depth of what is on it.
func (w *flameWriter) root(t *flameTree, total int64, all []spent) int32 {
	roots := t.roots()
	if len(roots) == 0 {
		return 0
	}
	w.Frames++
	f := framed{key: t.key[roots[0]], value: total, other: w.Gone.Total}
	if t.colors != nil {
		f.color = w.sums.of(t.colors, all)
	}
	if len(roots) == 1 {
		w.frame(&f)
		return 1
	}
	w.addName(flameFunction{Short: "all processes", Full: "all processes"})
	w.append(uint32(len(w.Names)-1), &f)
	return 1
}
