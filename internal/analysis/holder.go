package analysis

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Hold is what one holder holds of the objects of a type from one place in user code.
type Hold struct {
	Holder session.SnapshotHolder // without site and amount
	From   Place                  // zero: no user code made them, or it is not known who did
	q.Amount

	// of these, what objects that were sampled stand for; zero: all was counted
	Estimate q.Amount
}

// holdSums adds up a Hold.
type holdSums struct {
	counted, estimate q.Amount
}

// Holds returns who holds the objects of a type, in each process, those of most bytes first; nothing if it is not
// known: there is no snapshot, or it is of a version without holders.
func (v *Source) Holds(typ session.TypeID) ([]Hold, error) {
	return v.holds(func(h *session.SnapshotHolder) bool { return h.Type == typ })
}

// OtherHolds returns what other holders than static fields hold, of all types, as Holds does.
func (v *Source) OtherHolds() ([]Hold, error) {
	return v.holds(func(h *session.SnapshotHolder) bool {
		return h.Kind != session.HolderStatic && h.Kind != session.HolderNone && h.Kind != session.HolderFrozen
	})
}

// holds returns what the holders hold that are chosen.
func (v *Source) holds(chosen func(*session.SnapshotHolder) bool) ([]Hold, error) {
	list, err := v.session.SnapshotHolders()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(h session.SnapshotHolder) bool { return !chosen(&h) })
	if len(list) == 0 {
		return nil, nil
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	type key struct {
		holder session.SnapshotHolder
		from   Place
	}
	sums, a := map[key]*holdSums{}, d.attribute()
	for _, h := range list {
		k := key{holder: h}
		k.holder.Site, k.holder.Amount = 0, q.Amount{}
		at, known := slices.BinarySearchFunc(d.Sites, h.Site, func(s session.Site, id session.SiteID) int {
			return cmp.Compare(s.ID, id)
		})
		if known && d.siteNode[at] >= 0 {
			k.from = d.place(a.nearest[d.siteNode[at]])
		}
		if sums[k] == nil {
			sums[k] = &holdSums{}
		}
		sums[k].counted = sums[k].counted.Add(h.Amount)
		if known {
			sums[k].estimate = sums[k].estimate.Add(d.scaled(at, h.Amount))
		}
	}
	out := make([]Hold, 0, len(sums))
	for k, sum := range sums {
		out = append(out, Hold{k.holder, k.from, sum.counted, sum.estimate})
	}
	slices.SortFunc(out, func(x, y Hold) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Holder.Process, y.Holder.Process),
			cmp.Compare(x.Holder.Kind, y.Holder.Kind), cmp.Compare(x.Holder.Flags, y.Holder.Flags),
			cmp.Compare(x.Holder.Function, y.Holder.Function), cmp.Compare(x.Holder.Static, y.Holder.Static),
			cmp.Compare(x.Holder.Through, y.Holder.Through), cmp.Compare(x.Holder.Type, y.Holder.Type),
			comparePlaces(x.From, y.From))
	})
	return out, nil
}
