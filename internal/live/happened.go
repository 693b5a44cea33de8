package live

import "slices"

// happened are things that happened in a recording, of which the last ones are kept for those who come later. The zero
// value has none.
type happened[T any] struct {
	last  []T
	all   int64
	fresh int // of them, since the last message
}

// add takes one more. So many are kept at least, and twice as many at most.
func (h *happened[T]) add(x T, kept int) {
	if len(h.last) >= 2*kept {
		h.last = slices.Delete(h.last, 0, len(h.last)-kept+1)
	}
	h.last = append(h.last, x)
	h.all++
	h.fresh++
}

// told returns so many of those before the later ones, as far as so many are kept, how many of them are left out, and
// how many there are in all without the later ones.
func (h *happened[T]) told(count, later, kept int) (rows []T, leftOut int, total int64) {
	there := h.last[:max(0, len(h.last)-later)]
	rows = append([]T{}, there[len(there)-min(count, len(there), kept):]...)
	return rows, count - len(rows), h.all - int64(later)
}
