package analysis

// numbering gives each key a number, in the order in which they are first met. The zero numbering has none.
type numbering[K comparable] struct {
	of   map[K]int32
	list []K // by number
}

// number returns the number of a key.
func (n *numbering[K]) number(key K) int32 {
	at, known := n.of[key]
	if !known {
		if n.of == nil {
			n.of = map[K]int32{}
		}
		at = int32(len(n.list))
		n.of[key], n.list = at, append(n.list, key)
	}
	return at
}
