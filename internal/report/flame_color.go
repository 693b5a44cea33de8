package report

import (
	"math"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// What frames can be coloured by, beside their modules.
const (
	ColorType       = "type"       // of which most of their bytes are
	ColorGeneration = "generation" // in which most of their bytes ended
)

// NoColor means that a frame has no bytes.
const NoColor = math.MaxUint32

// FlameColors returns what frames of the session can be coloured by.
func (r *Reader) FlameColors() ([]string, error) {
	if !r.context.hasMemory() {
		return nil, nil
	}
	lived, err := r.context.source.Session().ProcessLifetimes()
	if err != nil || len(lived) == 0 {
		return []string{ColorType}, err
	}
	return []string{ColorType, ColorGeneration}, nil
}

// colored is how many bytes of all are of a colour.
type colored struct {
	color      uint32
	bytes, all int64
}

// flameColors are the bytes that the nodes of a tree have themselves, by colour: those of node i are
// list[first[i]:first[i+1]].
type flameColors struct {
	names []string
	first []int32
	list  []colored
}

// flameColors returns by what the frames of a tree are coloured: nodes are the same whatever the metric is.
func (r *Reader) flameColors(b *builder, t *flameTree, by string) (*flameColors, error) {
	if known := r.colors[by]; known != nil {
		return known, nil
	}
	out, err := b.flameColors(t, by)
	if err == nil && out != nil {
		if r.colors == nil {
			r.colors = map[string]*flameColors{}
		}
		r.colors[by] = out
	}
	return out, err
}

// flameColors reads by what the frames of a tree are coloured.
func (b *builder) flameColors(t *flameTree, by string) (*flameColors, error) {
	if by == "" {
		return nil, nil
	}
	known, err := (&Reader{context: b.context}).FlameColors()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(known, by) {
		return nil, Unknown("colour", by, known)
	}
	out, own := &flameColors{first: make([]int32, len(t.parent)+1)}, make([][]colored, len(t.parent))
	if by == ColorType {
		err = b.colorTypes(t, out, own)
	} else {
		err = b.colorEnds(t, out, own)
	}
	count := 0
	for _, list := range own {
		count += len(list)
	}
	out.list = make([]colored, 0, count)
	for i, list := range own {
		out.list = append(out.list, list...)
		out.first[i+1] = int32(len(out.list))
	}
	return out, err
}

// colorTypes reads the types that nodes allocated. Types of one name in several processes have one colour.
func (b *builder) colorTypes(t *flameTree, out *flameColors, own [][]colored) error {
	values, err := b.source.PathTypes()
	if err != nil {
		return err
	}
	colors, names := map[session.TypeID]uint32{}, map[string]uint32{}
	for _, v := range values {
		at, ok := t.at.find(v.Path)
		if !ok || v.Bytes <= 0 {
			continue
		}
		color, ok := colors[v.Type]
		if !ok {
			name := b.typeName(v.Type)
			if color, ok = names[name]; !ok {
				color = uint32(len(out.names))
				names[name] = color
				out.names = append(out.names, name)
			}
			colors[v.Type] = color
		}
		own[at] = append(own[at], colored{color: color, bytes: int64(v.Bytes)})
	}
	return nil
}

// colorEnds reads how the objects of nodes ended: in which generation they died, or that they are alive.
func (b *builder) colorEnds(t *flameTree, out *flameColors, own [][]colored) error {
	lifetimes, err := b.source.Lifetimes()
	if err != nil {
		return err
	}
	out.names = endKeys[:]
	for path, l := range lifetimes.Paths() {
		at, ok := t.at.find(path)
		if !ok {
			continue
		}
		for end := range endKeys {
			if bytes := int64(ended(&l.Exclusive, end).Bytes); bytes > 0 {
				own[at] = append(own[at], colored{color: uint32(end), bytes: bytes})
			}
		}
	}
	return nil
}

// fewColors is how many colours are looked through one by one: most frames have no more, and maps of as few would be
// most of what colouring takes.
const fewColors = 16

// colorSums are bytes by colour.
type colorSums struct {
	list []colored        // of each colour its bytes
	at   map[uint32]int32 // positions in list; nil: there are few
	best colored
}

// find is the position of a colour, len(list) if it is not there.
func (s *colorSums) find(color uint32) int {
	if s.at != nil {
		if at, ok := s.at[color]; ok {
			return int(at)
		}
		return len(s.list)
	}
	for i := range s.list {
		if s.list[i].color == color {
			return i
		}
	}
	return len(s.list)
}

// add adds bytes of a colour. Of equal colours the one with the lower number is the best.
func (s *colorSums) add(color uint32, bytes int64) {
	at := s.find(color)
	if at == len(s.list) {
		s.list = append(s.list, colored{color: color})
		if s.at != nil {
			s.at[color] = int32(at)
		} else if at == fewColors {
			s.at = make(map[uint32]int32, 2*fewColors)
			for i := range s.list {
				s.at[s.list[i].color] = int32(i)
			}
		}
	}
	s.list[at].bytes += bytes
	s.best.all += bytes
	if n := s.list[at].bytes; n > s.best.bytes || n == s.best.bytes && color < s.best.color {
		s.best.color, s.best.bytes = color, n
	}
}

// best returns the colour of each node with all that it called; children come after their parents. The sums of the
// child with most colours become those of its parent, so that each byte is added anew only where as many colours again
// come together.
func (c *flameColors) best(parent []int32) []colored {
	if c == nil {
		return nil
	}
	sums, out := make([]colorSums, len(parent)), make([]colored, len(parent))
	for i := len(parent) - 1; i >= 0; i-- {
		s := &sums[i]
		for _, own := range c.list[c.first[i]:c.first[i+1]] {
			s.add(own.color, own.bytes)
		}
		out[i] = s.best
		if p := parent[i]; p >= 0 && len(s.list) > 0 {
			into := &sums[p]
			if len(into.list) < len(s.list) {
				*into, *s = *s, *into
			}
			for _, had := range s.list {
				into.add(had.color, had.bytes)
			}
		}
		*s = colorSums{}
	}
	return out
}

// has reports whether a node has bytes itself.
func (c *flameColors) has(node int) bool { return c != nil && c.first[node+1] > c.first[node] }

// bestOf returns the colour of what functions had themselves.
func (c *flameColors) bestOf(parts []spent) colored {
	var s colorSums
	if c == nil {
		return s.best
	}
	for _, p := range parts {
		for _, own := range c.list[c.first[p.origin]:c.first[p.origin+1]] {
			s.add(own.color, own.bytes)
		}
	}
	return s.best
}
