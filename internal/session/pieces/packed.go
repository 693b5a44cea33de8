package pieces

// Packed is a list of rows of some numbers, nearly all of which fit into a few words. The others are kept apart, as a
// whole. What words say is the user's, except for the highest two bits of the first: those that are both set stand for
// a row that is kept apart. The zero Packed has no rows.
type Packed[W words, L any] struct {
	rows  List[W]
	large List[L]
}

// words are what a small row is.
type words interface{ ~[2]uint32 | ~[3]uint32 }

const (
	// FormShift is where the bits of the first word begin that say what the words are.
	FormShift = 30
	// MostSmall bounds a number in the other bits of the first word.
	MostSmall = 1<<FormShift - 1

	largeForm = 3
)

// Len is how many rows there are.
func (p *Packed[W, L]) Len() int { return p.rows.Len() }

// Add adds a row at the end.
func (p *Packed[W, L]) Add(row W) { p.rows.Add(row) }

// Reset makes the list one of so many rows, all zero.
func (p *Packed[W, L]) Reset(rows int) {
	p.rows.Reset(rows)
	p.large = List[L]{}
}

// At returns the words of a row, or it itself if it is kept apart. It can be changed at both places.
func (p *Packed[W, L]) At(i int) (small *W, large *L) {
	w := p.rows.At(i)
	if (*w)[0]>>FormShift == largeForm {
		return w, p.large.At(int((*w)[0] & MostSmall))
	}
	return w, nil
}

// SetLarge keeps a row apart from now on. There can be no more than MostSmall of them.
func (p *Packed[W, L]) SetLarge(i int, row L) {
	w, large := p.At(i)
	if large != nil {
		*large = row
		return
	}
	(*w)[0] = largeForm<<FormShift | uint32(p.large.Len())
	p.large.Add(row)
}
