package collect

// pieceRows is how many rows a piece has: some hundred kilobytes.
const pieceRows = 1 << 12

// pieces is a list of rows that can be some million. It grows by pieces, as a slice that grows is copied, and for that
// moment takes twice the memory and more. Pointers into it are good until the next add.
type pieces[T any] struct {
	list [][]T
	rows int
}

func (p *pieces[T]) len() int { return p.rows }

func (p *pieces[T]) at(i int) *T { return &p.list[i/pieceRows][i%pieceRows] }

func (p *pieces[T]) add(row T) {
	if p.rows%pieceRows == 0 {
		piece := []T(nil)
		if p.rows > 0 { // a first piece grows: most processes need no more
			piece = make([]T, 0, pieceRows)
		}
		p.list = append(p.list, piece)
	}
	last := &p.list[len(p.list)-1]
	*last = append(*last, row)
	p.rows++
}
