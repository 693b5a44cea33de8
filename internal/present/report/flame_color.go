package report

import (
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// What frames can be coloured by, beside their modules.
const (
	colorType       = "type"       // of which most of their bytes are
	colorGeneration = "generation" // in which most of their bytes ended
)

// noColor means that a frame has no bytes.
const noColor = math.MaxUint32

// FlameColors returns what frames of the session can be coloured by.
func (r *Reader) FlameColors() ([]string, error) {
	if !r.context.hasMemory() {
		return nil, nil
	}
	lived, err := r.context.source.Session().ProcessLifetimes()
	if err != nil || len(lived) == 0 {
		return []string{colorType}, err
	}
	return []string{colorType, colorGeneration}, nil
}

// colored is how many bytes of all are of a colour.
type colored struct {
	color      uint32
	bytes, all int64
}

// ownColor is how many bytes of a colour a node has itself.
type ownColor struct {
	color uint32
	bytes int64
}

// flameColors are the bytes that the nodes of a tree have themselves, by colour: those of node i are
// list[first[i]:first[i+1]].
type flameColors struct {
	names []string
	first []int32
	list  []ownColor
	trees []colored // see ofTrees; nil: it was not needed yet
}

// coloredTree is a tree with colours. They are read once: nodes are the same whatever the metric is.
func (r *Reader) coloredTree(t *flameTree, by string) (*flameTree, error) {
	colors := r.colors[by]
	if colors == nil {
		known, err := r.FlameColors()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, by) {
			return nil, Unknown("colour", by, known)
		}
		if colors, err = r.context.flameColors(t, by); err != nil {
			return nil, err
		}
		if r.colors == nil {
			r.colors = map[string]*flameColors{}
		}
		r.colors[by] = colors
	}
	out := *t
	out.colors = colors
	return &out, nil
}

// flameColors reads by what the frames of a tree are coloured.
func (c *context) flameColors(t *flameTree, by string) (*flameColors, error) {
	out := &flameColors{first: make([]int32, len(t.parent)+1)}
	next := int32(0) // the first node whose colours were not returned yet
	add := func(node int32, color uint32, bytes int64) {
		for ; next < node; next++ {
			out.first[next+1] = int32(len(out.list))
		}
		out.list = append(out.list, ownColor{color, bytes})
	}
	tell := c.colorTypes
	if by == colorGeneration {
		tell = c.colorEnds
	}
	err := tell(t, out, add)
	add(int32(len(t.parent)), 0, 0)
	out.list = out.list[:len(out.list)-1]
	return out, err
}

// colorTypes tells the types that nodes allocated. Types of one name in several processes have one colour.
func (c *context) colorTypes(t *flameTree, out *flameColors, add func(node int32, color uint32, bytes int64)) error {
	values, err := c.source.PathTypes()
	if err != nil {
		return err
	}
	out.list = make([]ownColor, 0, len(values)+1)
	colors, names := map[session.TypeID]uint32{}, map[string]uint32{}
	for _, v := range values {
		at, ok := t.at.find(v.Path)
		if !ok || v.Bytes <= 0 {
			continue
		}
		color, ok := colors[v.Type]
		if !ok {
			name := c.typeName(v.Type)
			if color, ok = names[name]; !ok {
				color = uint32(len(out.names))
				names[name] = color
				out.names = append(out.names, name)
			}
			colors[v.Type] = color
		}
		add(at, color, int64(v.Bytes))
	}
	return nil
}

// colorEnds tells how the objects of nodes ended: in which generation they died, or that they are alive.
func (c *context) colorEnds(t *flameTree, out *flameColors, add func(node int32, color uint32, bytes int64)) error {
	lifetimes, err := c.source.Lifetimes()
	if err != nil {
		return err
	}
	out.names = endKeys[:]
	paths := lifetimes.Paths()
	for i, id := range t.at.ids {
		l, ok := paths[id]
		if !ok {
			continue
		}
		for end := range endKeys {
			if bytes := int64(ended(&l.Exclusive, end).Bytes); bytes > 0 {
				add(t.at.nodes[i], uint32(end), bytes)
			}
		}
	}
	return nil
}

// colorSums are bytes by colour.
type colorSums struct {
	bytes []int64  // of each colour
	some  []uint32 // those that have some
	best  colored
}

// add adds bytes of a colour. Of equal colours the one with the lower number is the best.
func (s *colorSums) add(list []ownColor) {
	for _, own := range list {
		n := s.bytes[own.color]
		if n == 0 {
			s.some = append(s.some, own.color)
		}
		n += own.bytes
		s.bytes[own.color] = n
		s.best.all += own.bytes
		if n > s.best.bytes || n == s.best.bytes && own.color < s.best.color {
			s.best.color, s.best.bytes = own.color, n
		}
	}
}

// clear forgets all, of so many colours.
func (s *colorSums) clear(colors int) {
	for _, color := range s.some {
		s.bytes[color] = 0
	}
	if len(s.bytes) < colors {
		s.bytes = make([]int64, colors)
	}
	s.some, s.best = s.some[:0], colored{}
}

// of is the colour of what functions had themselves.
func (s *colorSums) of(c *flameColors, parts []spent) colored {
	s.clear(len(c.names))
	for _, p := range parts {
		s.add(c.list[c.first[p.origin]:c.first[p.origin+1]])
	}
	return s.best
}

// has reports whether a node has bytes itself.
func (c *flameColors) has(node int) bool { return c != nil && c.first[node+1] > c.first[node] }

// ofTrees is the colour of each node with all that it called; children come after their parents. Sums go up from a node
// to its caller as long as that has nothing with more colours; the rest of what a caller has is added to them. So what
// a node has is added anew only where at least as much again comes to it.
func (c *flameColors) ofTrees(parent []int32) []colored {
	if c.trees == nil {
		c.trees = c.inTrees(parent)
	}
	return c.trees
}

func (c *flameColors) inTrees(parent []int32) []colored {
	p := c.preorder(parent)
	out := make([]colored, len(parent))
	var sums colorSums
	var path []int32
	for head := range parent {
		if up := parent[head]; up >= 0 && p.largest[up] == int32(head) || p.begin[head] == p.end[head] {
			continue
		}
		path = path[:0]
		for n := int32(head); n >= 0; n = p.largest[n] {
			path = append(path, n)
		}
		sums.clear(len(c.names))
		for i := len(path) - 1; i >= 0; i-- {
			n, from, to := path[i], p.end[path[i]], p.end[path[i]]
			if l := p.largest[n]; l >= 0 { // its sums are there
				from, to = p.begin[l], p.end[l]
			}
			sums.add(p.list[p.begin[n]:from])
			sums.add(p.list[to:p.end[n]])
			out[n] = sums.best
		}
	}
	return out
}

// preorder are the colours that nodes have themselves, in preorder: those of a node and of all that it called are
// list[begin[i]:end[i]].
type preorder struct {
	list       []ownColor
	begin, end []int32
	largest    []int32 // of what each has called that which has most of them, -1: none has any
}

func (c *flameColors) preorder(parent []int32) preorder {
	n := len(parent)
	sizes := make([]int32, n) // of what each has with what it called
	p := preorder{make([]ownColor, len(c.list)), make([]int32, n), make([]int32, n), make([]int32, n)}
	for i := n - 1; i >= 0; i-- {
		sizes[i] += c.first[i+1] - c.first[i]
		if up := parent[i]; up >= 0 {
			sizes[up] += sizes[i]
		}
		p.largest[i] = -1
	}
	roots := int32(0)
	next := make([]int32, n) // where the next that each has called begins
	for i, up := range parent {
		at := &roots
		if up >= 0 {
			at = &next[up]
			if l := p.largest[up]; sizes[i] > 0 && (l < 0 || sizes[i] > sizes[l]) {
				p.largest[up] = int32(i)
			}
		}
		p.begin[i] = *at
		*at += sizes[i]
		p.end[i] = *at
		next[i] = p.begin[i] + int32(copy(p.list[p.begin[i]:], c.list[c.first[i]:c.first[i+1]]))
	}
	return p
}
