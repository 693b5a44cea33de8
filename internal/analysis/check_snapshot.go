package analysis

import (
	"errors"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrNoSnapshot means that there is no snapshot of the heap of a process.
var ErrNoSnapshot = errors.New("this session holds no snapshot of a heap: it was recorded without --snapshot, or the " +
	"snapshot was lost: clrprof run --snapshot end takes one")

// snapshots checks what the session says of the heaps of its processes.
func (c *checker) snapshots(s *session.Session, d *Data) error {
	list, err := s.Snapshots()
	if err != nil {
		return err
	}
	types, err := s.SnapshotTypes()
	if err != nil || len(list) == 0 && len(types) == 0 {
		return err
	}
	of := map[session.ProcessID]*session.Snapshot{}
	for i, r := range list {
		of[r.Process] = &list[i]
		if parts := r.Reachable.Add(r.Finalizable).Add(r.Frozen).Add(r.Unreachable); parts != r.All {
			c.add("snapshots", "of %d objects with %d bytes in process %d, %d and %d have a state", r.All.Allocations,
				r.All.Bytes, r.Process, parts.Allocations, parts.Bytes)
		}
	}
	c.snapshotTypes(of, types)
	if err := c.snapshotSites(s, d, of, types); err != nil {
		return err
	}
	if err := c.snapshotRoots(s, of); err != nil {
		return err
	}
	if err := c.snapshotStatics(s, of, types); err != nil {
		return err
	}
	if err := c.snapshotHolders(s, of, types); err != nil {
		return err
	}
	return c.snapshotPaths(s, of)
}

// snapshotHolders checks that each object of a type has a holder, and that static fields are there. Sessions that were
// made before have no holders.
func (c *checker) snapshotHolders(s *session.Session, of map[session.ProcessID]*session.Snapshot,
	types []session.SnapshotType) error {
	list, err := s.SnapshotHolders()
	if err != nil || len(list) == 0 {
		return err
	}
	statics, err := ReadStatics(s)
	if err != nil {
		return err
	}
	type key struct {
		process session.ProcessID
		typ     session.TypeID
	}
	sums, has := map[key]q.Amount{}, map[session.ProcessID]bool{}
	for _, h := range list {
		k := key{h.Process, h.Type}
		sums[k], has[h.Process] = sums[k].Add(h.Amount), true
		if of[h.Process] == nil {
			c.add("references", "process %d has holders and no snapshot", h.Process)
		}
		isThere := h.Static == 0 || statics.Field(h.Process, h.Static) != nil
		if (h.Kind == session.HolderStatic) != (h.Static != 0) || !isThere {
			c.add("references", "static field %d holds objects of type %d and is not there", h.Static, h.Type)
		}
	}
	for _, t := range types {
		if sum := sums[key{t.Process, t.Type}]; has[t.Process] && sum != t.Amount {
			c.add("snapshots", "of type %d %d objects have a holder, and there are %d", t.Type, sum.Allocations,
				t.Allocations)
		}
	}
	return nil
}

// snapshotStatics checks that what refers to static fields refers to those of its process, and that they retain no more
// than there is.
func (c *checker) snapshotStatics(s *session.Session, of map[session.ProcessID]*session.Snapshot,
	types []session.SnapshotType) error {
	list, err := s.SnapshotStatics()
	if err != nil {
		return err
	}
	paths, err := s.SnapshotPaths()
	if err != nil {
		return err
	}
	fields := map[staticKey]*session.SnapshotStatic{}
	for i, f := range list {
		fields[staticKey{f.Process, f.ID}] = &list[i]
		if of[f.Process] == nil {
			c.add("references", "process %d has static fields and no snapshot", f.Process)
		}
	}
	for _, t := range types {
		if t.Static != 0 && fields[staticKey{t.Process, t.Static}] == nil {
			c.add("references", "static field %d holds objects of type %d and is not there", t.Static, t.Type)
		} else if t.StaticBytes > t.Bytes || (t.Static == 0) != (t.StaticBytes == 0) {
			c.add("snapshots", "static field %d retains %d of %d bytes of type %d", t.Static, t.StaticBytes, t.Bytes,
				t.Type)
		}
	}
	for _, step := range paths {
		f := fields[staticKey{step.Process, step.Static}]
		if step.Static != 0 && (f == nil || f.ObjectType != step.ObjectType || f.Retained != step.Retained) {
			c.add("snapshots", "static field %d holds no object of type %d that retains %d bytes", step.Static,
				step.ObjectType, step.Retained)
		}
	}
	return nil
}

// snapshotTypes checks that the types are all of the heap, and that what they retain is between what must be and what
// can be.
func (c *checker) snapshotTypes(of map[session.ProcessID]*session.Snapshot, types []session.SnapshotType) {
	sums := map[session.ProcessID]session.SnapshotType{}
	for _, t := range types {
		r := of[t.Process]
		if r == nil {
			c.add("references", "type %d is in a snapshot of process %d, which has none", t.Type, t.Process)
			continue
		}
		sum := sums[t.Process]
		sum.Amount, sum.Finalizable, sum.Frozen, sum.Unreachable = sum.Add(t.Amount), sum.Finalizable+
			t.Finalizable, sum.Frozen+t.Frozen, sum.Unreachable+t.Unreachable
		sums[t.Process] = sum
		held := r.Reachable.Add(r.Finalizable).Bytes
		if t.Retained > held || t.Retained < t.Bytes && t.Frozen+t.Unreachable == 0 ||
			t.Frozen+t.Unreachable == t.Allocations && t.Retained != 0 {
			c.add("snapshots", "type %d with %d bytes retains %d of %d", t.Type, t.Bytes, t.Retained, held)
		}
	}
	for p, r := range of {
		want := session.SnapshotType{Amount: r.All, Finalizable: r.Finalizable.Allocations,
			Frozen: r.Frozen.Allocations, Unreachable: r.Unreachable.Allocations}
		if sums[p] != want {
			c.add("snapshots", "the types of process %d are %+v, the snapshot %+v", p, sums[p], want)
		}
	}
}

// snapshotSites checks that sites have no more objects than their types, and after a last collection those that it
// found alive.
func (c *checker) snapshotSites(s *session.Session, d *Data, of map[session.ProcessID]*session.Snapshot,
	types []session.SnapshotType) error {
	values, err := s.SnapshotSites()
	if err != nil {
		return err
	}
	alive, err := s.SiteAlive()
	if err != nil {
		return err
	}
	l := &lifetimeTables{cut: map[session.ProcessID]bool{}}
	if err := l.read(s); err != nil {
		return err
	}
	at := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	processOf := func(i int32) session.ProcessID { return d.Nodes[d.siteNode[i]].Process }
	left := map[session.TypeID]q.Amount{}
	for _, t := range types {
		left[t.Type] = t.Amount
	}
	known := map[session.SiteID]q.Amount{}
	for _, a := range alive {
		if i, _ := at.find(a.Site); i != none {
			if e, ends := l.endings[processOf(i)]; ends && !e.Has(&a) {
				continue // made after the snapshot
			}
		}
		known[a.Site] = known[a.Site].Add(a.Amount)
	}
	atEnd := map[session.ProcessID]bool{} // the snapshot is of the last collection
	for _, p := range d.Followed {
		r := of[p.Process]
		last := int64(p.GCs)
		if e, ends := l.endings[p.Process]; ends {
			last = e.GCNumber
		}
		atEnd[p.Process] = r != nil && p.AliveKnown && r.GCNumber == last && !l.cut[p.Process]
	}
	for _, v := range values {
		i, _ := at.find(v.Site)
		if i == none || of[processOf(i)] == nil {
			c.add("references", "site %d is in no snapshot", v.Site)
			continue
		}
		typ := d.Sites[i].Type
		if left[typ] = left[typ].Sub(v.Amount); left[typ].Allocations < 0 || left[typ].Bytes < 0 {
			c.add("snapshots", "the sites of type %d have more than the type", typ)
		}
		if atEnd[processOf(i)] && known[v.Site] != v.Amount {
			c.add("snapshots", "site %d has %d objects in the heap, %d are alive", v.Site, v.Allocations,
				known[v.Site].Allocations)
		}
		delete(known, v.Site)
	}
	for site, a := range known {
		if i, _ := at.find(site); i != none && atEnd[processOf(i)] {
			c.add("snapshots", "%d objects of site %d are alive and not in the heap", a.Allocations, site)
		}
	}
	return nil
}

func (c *checker) snapshotRoots(s *session.Session, of map[session.ProcessID]*session.Snapshot) error {
	roots, err := s.SnapshotRoots()
	for _, r := range roots {
		h := of[r.Process]
		if h == nil {
			c.add("references", "process %d has roots and no snapshot", r.Process)
			continue
		}
		if r.Allocations < 1 || r.Allocations > r.References || r.Allocations > h.All.Allocations ||
			r.Bytes > h.All.Bytes {
			c.add("snapshots", "%d references of roots are to %d objects of %d", r.References, r.Allocations,
				h.All.Allocations)
		}
	}
	return err
}

// snapshotPaths checks that paths begin at a root and end at their type.
func (c *checker) snapshotPaths(s *session.Session, of map[session.ProcessID]*session.Snapshot) error {
	steps, err := s.SnapshotPaths()
	if err != nil {
		return err
	}
	kinds := []string{session.RootOther, session.RootStack, session.RootFinalizer, session.RootHandle}
	for i, step := range steps {
		first := i == 0 || steps[i-1].Process != step.Process || steps[i-1].Type != step.Type
		last := i == len(steps)-1 || steps[i+1].Process != step.Process || steps[i+1].Type != step.Type
		switch h := of[step.Process]; {
		case h == nil:
			c.add("references", "process %d has paths and no snapshot", step.Process)
		case first != (step.Position == 0) || first != slices.Contains(kinds, step.Kind) ||
			step.Flags&session.RootWeak != 0:
			c.add("snapshots", "the path to type %d does not begin at a root", step.Type)
		case last && step.ObjectType != step.Type:
			c.add("snapshots", "the path to type %d ends at type %d", step.Type, step.ObjectType)
		case step.Retained < step.Bytes || step.Retained > h.All.Bytes:
			c.add("snapshots", "an object of %d bytes retains %d of %d", step.Bytes, step.Retained, h.All.Bytes)
		}
	}
	return nil
}
