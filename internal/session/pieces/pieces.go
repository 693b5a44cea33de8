// Package pieces holds lists of millions of rows. They grow piece by piece: a slice that grows is copied, which for a
// moment takes more than twice the memory.
package pieces

// pieceRows is how many rows a piece has: some hundred kilobytes.
const pieceRows = 1 << 12

// List is a list of rows. Pointers into it are good until the next Add. The zero List has no rows.
type List[T any] struct {
	list [][]T
	rows int
}

// Len is how many rows there are.
func (p *List[T]) Len() int { return p.rows }

// At is the row with an index.
func (p *List[T]) At(i int) *T { return &p.list[i/pieceRows][i%pieceRows] }

// Add adds a row at the end.
func (p *List[T]) Add(row T) {
	if p.rows%pieceRows == 0 {
		piece := []T(nil)
		if p.rows > 0 { // a first piece grows: most lists need no more
			piece = make([]T, 0, pieceRows)
		}
		p.list = append(p.list, piece)
	}
	last := &p.list[len(p.list)-1]
	*last = append(*last, row)
	p.rows++
}

// Reset makes the list one of so many rows, all zero. It uses its memory again.
func (p *List[T]) Reset(rows int) {
	count := (rows + pieceRows - 1) / pieceRows
	for len(p.list) < count {
		p.list = append(p.list, nil)
	}
	clear(p.list[count:])
	p.list, p.rows = p.list[:count], rows
	for i := range p.list {
		n := min(pieceRows, rows-i*pieceRows)
		if cap(p.list[i]) < n {
			room := pieceRows
			if i == 0 {
				room = n
			}
			p.list[i] = make([]T, n, room)
			continue
		}
		p.list[i] = p.list[i][:n]
		clear(p.list[i])
	}
}
