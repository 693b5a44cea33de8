package report

import (
	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// leastPinned is from how many pinned objects in a collection on a summary looks at what pins them.
const leastPinned = 100

// findPinned says of the last collection in which many objects were pinned how much of the heap are objects of user
// code to which pinned handles alone refer of all roots, and where most of it is made, if that is much. A handle that
// nobody frees holds its object for ever.
func (s *Summary) findPinned() error {
	// Where objects were sampled, the handles that refer to samples are some of all.
	if s.Lifetime == nil || !s.context.source.Selection().IsZero() || s.Estimated {
		return nil
	}
	gc, after, err := s.lastPinned()
	if err != nil || gc == 0 {
		return err
	}
	held, err := s.heldByHandles(gc)
	if err != nil || len(held) == 0 {
		return err
	}
	var all q.Amount
	most, handles := &held[0], q.Count(0)
	for i := range held {
		all, handles = all.Add(held[i].Amount), handles+held[i].handles
		if held[i].Bytes > most.Bytes {
			most = &held[i]
		}
	}
	if handles < leastPinned || all.Bytes < leastBytes || !isShare(all.Bytes, after, leastShare) {
		return nil
	}
	share := q.PercentOf(all.Bytes, after)
	about := Row{kind: rowFunction, from: most.from}
	s.findShare(&about, Explains{rules.OfAlive, share}, FindingPinned, Things{int(handles), "pinned handle"}, share,
		all.Bytes, Things{int(all.Allocations), "object"}, most.Bytes, s.context.shortTypeName(most.typ),
		s.context.placeText(most.from))
	return nil
}

// heldByHandle are the objects of a type from a place in user code to which pinned handles alone refer of all roots.
type heldByHandle struct {
	from    analysis.Place
	typ     session.TypeID
	handles q.Count
	q.Amount
}

// lastPinned is the last collection, of all processes, in which many objects were pinned and of which roots are known,
// and the bytes of the heap after it; 0: there is none.
func (s *Summary) lastPinned() (last session.GCID, after q.Bytes, err error) {
	details, err := s.context.source.Session().GCDetails()
	if err != nil {
		return 0, 0, err
	}
	many := map[session.GCID]bool{}
	for _, d := range details {
		many[d.GC] = d.Pinned >= leastPinned
	}
	if len(many) == 0 {
		return 0, 0, nil
	}
	roots, err := s.context.source.Session().Roots()
	if err != nil {
		return 0, 0, err
	}
	for _, r := range roots {
		if many[r.GC] {
			last = max(last, r.GC)
		}
	}
	heaps, err := s.context.source.Session().GCHeaps()
	for _, h := range heaps {
		if h.GC == last {
			after += h.After.Bytes
		}
	}
	return last, after, err
}

// heldByHandles are what pinned handles hold of a collection's survivors, in the order of sites.
func (s *Summary) heldByHandles(gc session.GCID) ([]heldByHandle, error) {
	roots, err := s.context.source.Session().Roots()
	if err != nil {
		return nil, err
	}
	pinned, others := map[session.SiteID]q.Count{}, map[session.SiteID]bool{}
	for _, r := range roots {
		switch {
		case r.GC != gc || r.Flags&session.RootWeak != 0:
		case r.Kind == session.RootHandle && r.Flags&session.RootPinning != 0:
			pinned[r.Site] += r.References
		default:
			others[r.Site] = true
		}
	}
	if len(pinned) == 0 {
		return nil, nil
	}
	survivals, err := s.context.source.Session().Survivals()
	if err != nil {
		return nil, err
	}
	rooted := map[session.SiteID]q.Amount{}
	for _, x := range survivals {
		if x.GC == gc {
			rooted[x.Site] = x.Rooted
		}
	}
	sites, err := s.context.source.Session().Sites()
	if err != nil {
		return nil, err
	}
	type key struct {
		from analysis.Place
		typ  session.TypeID
	}
	var out []heldByHandle
	at := map[key]int{}
	for i := range sites {
		x := &sites[i]
		if pinned[x.ID] == 0 || others[x.ID] {
			continue
		}
		from, err := s.userPlace(x.Node)
		if err != nil {
			return nil, err
		}
		if from.Function == 0 {
			continue // the runtime's own
		}
		k := key{from, x.Type}
		n, known := at[k]
		if !known {
			n = len(out)
			at[k], out = n, append(out, heldByHandle{from: from, typ: x.Type})
		}
		out[n].handles, out[n].Amount = out[n].handles+pinned[x.ID], out[n].Add(rooted[x.ID])
	}
	return out, nil
}

// userPlace is the innermost place of user code on the stack of a node; zero: there is none.
func (s *Summary) userPlace(node session.NodeID) (analysis.Place, error) {
	stack, err := s.context.source.Stack(node, maxStack)
	for _, f := range stack {
		if s.context.isUser(f.Function) {
			return analysis.Place(f), nil
		}
	}
	return analysis.Place{}, err
}
