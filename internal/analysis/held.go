package analysis

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// HeldPlace is what a snapshot of a heap has of the objects of a type from one place in user code, and the static field
// that retains most of them.
type HeldPlace struct {
	Type        session.TypeID
	From        Place                   // zero: no user code made them
	q.Amount                            // where objects were sampled, what these stand for
	Static      *session.SnapshotStatic // nil: none retains any
	StaticBytes q.Bytes                 // of these objects that it retains
}

// Holders are who holds what snapshots of heaps have.
type Holders struct {
	Places []HeldPlace // those of most bytes first
	Bytes  q.Bytes     // of all objects of the snapshots, held or not: of as many are the percentages of the view
}

// Holder returns the static field that retains half of the objects of a type from a place or more, and how many bytes
// of them; nil: there is none.
func (h *Holders) Holder(from Place, typ session.TypeID) (*session.SnapshotStatic, q.Bytes) {
	for i := range h.Places {
		if p := &h.Places[i]; p.From == from && p.Type == typ && p.Static != nil && 2*p.StaticBytes >= p.Bytes &&
			!p.Sampled.IsFew() {
			return p.Static, p.StaticBytes
		}
	}
	return nil, 0
}

// Holders returns who holds what; nothing, if there is no snapshot.
func (v *Source) Holders() (*Holders, error) {
	out := &Holders{}
	taken, err := v.session.Snapshots()
	if err != nil {
		return nil, err
	}
	for _, s := range taken {
		if v.selection.HasProcess(s.Process) {
			out.Bytes += s.All.Bytes
		}
	}
	sites, err := v.session.SnapshotSites()
	if err != nil || len(sites) == 0 {
		return out, err
	}
	statics, err := ReadStatics(v.session)
	if err != nil {
		return nil, err
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	type key struct {
		from Place
		typ  session.TypeID
	}
	type sum struct {
		q.Amount
		by map[*session.SnapshotStatic]q.Bytes
	}
	sums, a := map[key]*sum{}, d.attribute()
	for i := range sites {
		row := &sites[i]
		at, known := slices.BinarySearchFunc(d.Sites, row.Site, func(s session.Site, id session.SiteID) int {
			return cmp.Compare(s.ID, id)
		})
		amount, bytes := row.Amount, row.StaticBytes
		if known {
			amount = d.scaled(at, amount)
			bytes = d.scaled(at, q.Amount{Bytes: bytes}).Bytes
		}
		if !known || d.siteNode[at] < 0 {
			continue
		}
		k := key{d.place(a.nearest[d.siteNode[at]]), d.Sites[at].Type}
		if sums[k] == nil {
			sums[k] = &sum{by: map[*session.SnapshotStatic]q.Bytes{}}
		}
		sums[k].Amount = sums[k].Add(amount)
		if p := d.siteProcess(at); row.Static != 0 {
			if f := statics.Field(p, row.Static); f != nil {
				sums[k].by[f] += bytes
			}
		}
	}
	for k, s := range sums {
		p := HeldPlace{Type: k.typ, From: k.from, Amount: s.Amount}
		for f, bytes := range s.by {
			if bytes > p.StaticBytes || bytes == p.StaticBytes && p.Static != nil && f.ID < p.Static.ID {
				p.Static, p.StaticBytes = f, bytes
			}
		}
		out.Places = append(out.Places, p)
	}
	slices.SortFunc(out.Places, func(a, b HeldPlace) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), comparePlaces(a.From, b.From), cmp.Compare(a.Type, b.Type))
	})
	return out, nil
}

// siteProcess is the process of a site.
func (d *Data) siteProcess(site int) session.ProcessID {
	if p := d.nodeProcess[d.siteNode[site]]; p >= 0 {
		return d.Processes[p].ID
	}
	return 0
}
