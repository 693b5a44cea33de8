package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Collection is a garbage collection with the size of the heap around it.
type Collection struct {
	session.GC
	Heap  [session.Generations]session.GCHeap // of each generation
	Known bool                                // Heap is: sessions without lifetimes do not say it
}

// After returns the size of the heap after the collection.
func (c *Collection) After() q.Amount {
	var out q.Amount
	for g := range c.Heap {
		out = out.Add(c.Heap[g].After)
	}
	return out
}

// Collections returns the garbage collections that are selected, in the order of their ids.
func Collections(s *session.Session, sel Selection) ([]Collection, error) {
	gcs, err := s.GCs()
	if err != nil {
		return nil, err
	}
	heaps, err := s.GCHeaps()
	if err != nil {
		return nil, err
	}
	var out []Collection
	at := map[session.GCID]int{}
	for i := range gcs {
		if sel.HasGC(&gcs[i]) {
			at[gcs[i].ID] = len(out)
			out = append(out, Collection{GC: gcs[i]})
		}
	}
	for _, h := range heaps {
		if i, selected := at[h.GC]; selected && h.Generation >= 0 && h.Generation < session.Generations {
			out[i].Heap[h.Generation], out[i].Known = h, true
		}
	}
	return out, nil
}
