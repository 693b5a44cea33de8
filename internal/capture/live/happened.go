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

// reported returns what is new since the last message or, for who begins with that message, what was before, as far as
// so many are kept; how many of them are left out; and how many there are in all up to the message.
func (h *happened[T]) reported(begins bool, kept int) (rows []T, leftOut int, total int64) {
	count, later := h.fresh, 0
	if begins {
		count, later = int(h.all)-h.fresh, h.fresh
	}
	there := h.last[:max(0, len(h.last)-later)]
	rows = append([]T{}, there[len(there)-min(count, len(there), kept):]...)
	return rows, count - len(rows), h.all - int64(later)
}
