package pieces

import "slices"

// Index finds the rows of a list by what they say. It has only their numbers, 6 to 9 bytes for each: what they say is
// in the list. It grows part by part, so that it is never there twice. The zero Index has no rows.
type Index struct {
	parts []*part // by the first bits of the hash, as many as depth says; neighbours can be the same part
	depth int
}

// part has the rows with a hash that begins with some bits.
type part struct {
	depth int // how many bits
	used  int
	tags  []uint8 // of a slot, the last bits of the hash; 0: it is free
	rows  []uint32
}

const (
	leastSlots = 32      // of a part: few processes of a recording have many rows
	mostSlots  = 1 << 12 // a part that is full then becomes two: rows are moved within some kilobytes
	mostDepth  = 16      // parts enough for 100 million rows; what more a bad hash would need grows
	usedTag    = 0x80
)

// Find returns the number of a row with a hash, for which is says that it is the one; false: there is none.
func (x *Index) Find(hash uint64, is func(row uint32) bool) (uint32, bool) {
	if x.parts == nil {
		return 0, false
	}
	p, tag := x.parts[x.at(hash)], uint8(hash)|usedTag
	for i := p.slot(hash); p.tags[i] != 0; i = p.next(i) {
		if p.tags[i] == tag && is(p.rows[i]) {
			return p.rows[i], true
		}
	}
	return 0, false
}

// Add adds a row that is not there. All hashes are those that hashOf returns.
func (x *Index) Add(hash uint64, row uint32, hashOf func(row uint32) uint64) {
	if x.parts == nil {
		x.parts = []*part{newPart(0, leastSlots)}
	}
	p := x.parts[x.at(hash)]
	for p.isFull() {
		if len(p.tags) < mostSlots || p.depth == mostDepth {
			p.grow(hashOf)
			break
		}
		x.split(p, hashOf)
		p = x.parts[x.at(hash)]
	}
	p.add(hash, row)
}

// at is where the part of a hash is.
func (x *Index) at(hash uint64) uint64 { return hash >> (64 - x.depth) }

// split makes two parts of one.
func (x *Index) split(p *part, hashOf func(row uint32) uint64) {
	if p.depth == x.depth {
		parts := make([]*part, 0, 2*len(x.parts))
		for _, q := range x.parts {
			parts = append(parts, q, q)
		}
		x.parts = parts
		x.depth++
	}
	halves := [2]*part{newPart(p.depth+1, mostSlots/4*3), newPart(p.depth+1, mostSlots/4*3)}
	for i, row := range p.rows {
		if p.tags[i] == 0 {
			continue
		}
		hash := hashOf(row)
		half := halves[hash>>(63-p.depth)&1]
		if half.isFull() { // hardly ever are there so many more in one
			half.grow(hashOf)
		}
		half.add(hash, row)
	}
	first := slices.Index(x.parts, p)
	for i := range 1 << (x.depth - p.depth) {
		x.parts[first+i] = halves[i>>(x.depth-p.depth-1)]
	}
}

func newPart(depth, slots int) *part {
	return &part{depth: depth, tags: make([]uint8, slots), rows: make([]uint32, slots)}
}

// isFull says whether another row would make finding slow.
func (p *part) isFull() bool { return p.used >= len(p.tags)/8*7 }

// slot is where to begin looking for a hash.
func (p *part) slot(hash uint64) int { return int(uint64(uint32(hash>>8)) * uint64(len(p.tags)) >> 32) }

func (p *part) next(slot int) int {
	if slot++; slot == len(p.tags) {
		return 0
	}
	return slot
}

func (p *part) add(hash uint64, row uint32) {
	i := p.slot(hash)
	for p.tags[i] != 0 {
		i = p.next(i)
	}
	p.tags[i], p.rows[i] = uint8(hash)|usedTag, row
	p.used++
}

// grow gives a part a half or a third more slots: 32, 48, 64, 96 and so on.
func (p *part) grow(hashOf func(row uint32) uint64) {
	slots := len(p.tags)
	if slots&(slots-1) == 0 {
		slots += slots / 2
	} else {
		slots += slots / 3
	}
	larger := newPart(p.depth, slots)
	for i, row := range p.rows {
		if p.tags[i] != 0 {
			larger.add(hashOf(row), row)
		}
	}
	*p = *larger
}
