package collect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/heapgraph"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

const (
	// snapshotPaths is for how many types the session has a path from a root: those that retain most.
	snapshotPaths = 200

	// snapshotSteps is how many objects of a path are kept, half of them from each end: lists can be millions long.
	snapshotSteps = 64
)

// Snapshots writes what the heaps of the processes tell, as far as they left snapshots. It is called once, after the
// last Sync: a snapshot is of the whole run, and what it refers to must be known.
func (r *Recorder) Snapshots() error {
	last := map[int]*process{} // by pid: a process that replaced another by exec has its pid, and its own arena
	for _, name := range r.names {
		last[r.processes[name].pid] = r.processes[name]
	}
	return r.batch(func() error {
		for _, name := range r.names {
			if p := r.processes[name]; last[p.pid] == p {
				if err := p.readSnapshots(r.files); err != nil {
					return fmt.Errorf("record the heap of arena %s: %w", name, err)
				}
			}
		}
		return nil
	})
}

// readSnapshots writes the rows of the snapshot of a process. An agent leaves one at most; of several, which processes
// of one pid left, the last counts. One that is not complete, or too large for the memory, is a loss.
func (p *process) readSnapshots(files *safefs.Dir) error {
	names, err := files.Names()
	if err != nil {
		return err
	}
	prefix := strconv.Itoa(int(p.inner())) + "-"
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, launch.SnapshotSuffix)
	})
	if len(names) == 0 {
		return nil
	}
	f, err := files.Open(slices.MaxFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}))
	if err != nil { // no agent makes what cannot be opened
		return p.rec.AddLoss(session.LossSnapshot)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !fits(st.Size()) {
		return p.rec.AddLoss(session.LossSnapshot)
	}
	heap, err := heapgraph.Read(f, st.Size())
	if errors.Is(err, heapgraph.ErrIncomplete) || errors.Is(err, heapgraph.ErrCorrupt) {
		return p.rec.AddLoss(session.LossSnapshot)
	}
	if err != nil {
		return err
	}
	s := snapshot{process: p, graph: heapgraph.New(p.ownTypes(heap))}
	return s.write()
}

// ownTypes replaces the arena's ids of types by the session's: several of the former can be one of the latter.
func (p *process) ownTypes(h *heapgraph.Heap) *heapgraph.Heap {
	for i, t := range h.Type {
		id, _ := p.names.typeID(t)
		h.Type[i] = uint32(id)
	}
	return h
}

// staticRows are the rows of the static fields, and by index in the heap's list the id of each.
func (s *snapshot) staticRows() (rows []session.SnapshotStatic, ids []int64) {
	h := s.graph.Heap
	order := make([]int, len(h.Statics))
	types := make([]session.TypeID, len(h.Statics))
	for i, f := range h.Statics {
		order[i] = i
		types[i], _ = s.process.names.typeID(f.Type)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(types[a], types[b]), cmp.Compare(h.Statics[a].Field, h.Statics[b].Field))
	})
	ids = make([]int64, len(order))
	for i, at := range order {
		f := h.Statics[at]
		ids[at] = int64(i + 1)
		rows = append(rows, session.SnapshotStatic{ID: ids[at], Type: types[at], Token: session.Token(f.Field),
			Name: f.Name, ObjectType: session.TypeID(h.Type[f.Object]), Bytes: quantity.Bytes(h.Size[f.Object]),
			Retained: quantity.Bytes(s.graph.Retained[f.Object]), OfThread: f.OfThread})
	}
	return rows, ids
}

// snapshot is a snapshot on its way into the session.
type snapshot struct {
	process *process
	graph   *heapgraph.Graph
}

func (s *snapshot) write() error {
	types := s.graph.Types()
	statics, ids := s.staticRows()
	out := recording.Snapshot{Total: s.total(), Sites: s.sites(ids), Roots: s.roots(), Statics: statics}
	held := s.graph.HeldTypes()
	for _, t := range types {
		field, bytes := heldBy(held, t.Key, ids)
		out.Types = append(out.Types, session.SnapshotType{Type: session.TypeID(t.Key), Amount: groupAmount(&t),
			Retained: quantity.Bytes(t.Retained), Finalizable: quantity.Count(t.By[heapgraph.Finalizable]),
			Frozen:      quantity.Count(t.By[heapgraph.Frozen]),
			Unreachable: quantity.Count(t.By[heapgraph.Unreachable]),
			Static:      field, StaticBytes: bytes})
	}
	out.Paths, out.Holders = s.paths(types, ids), s.holders(ids)
	return s.process.rec.WriteSnapshot(&out)
}

func groupAmount(g *heapgraph.Group) quantity.Amount {
	return quantity.Amount{Allocations: quantity.Count(g.Objects), Bytes: quantity.Bytes(g.Bytes)}
}

func (s *snapshot) total() session.Snapshot {
	row := session.Snapshot{GCNumber: int64(s.graph.GC), Outside: quantity.Count(s.graph.Outside),
		StaticsLeftOut: quantity.Count(s.graph.StaticsLeftOut)}
	by := [heapgraph.States]*quantity.Amount{heapgraph.Reachable: &row.Reachable,
		heapgraph.Finalizable: &row.Finalizable,
		heapgraph.Frozen:      &row.Frozen, heapgraph.Unreachable: &row.Unreachable}
	for i, size := range s.graph.Size {
		one := quantity.Amount{Allocations: 1, Bytes: quantity.Bytes(size)}
		row.All = row.All.Add(one)
		*by[s.graph.State[i]] = by[s.graph.State[i]].Add(one)
	}
	return row
}

// heldBy returns the id of the static field that retains most of a group, and how many bytes of it; 0: none does.
func heldBy(held map[uint32]heapgraph.Held, key uint32, statics []int64) (int64, quantity.Bytes) {
	h, ok := held[key]
	if !ok {
		return 0, 0
	}
	return statics[h.Field], quantity.Bytes(h.Bytes)
}

// sites leaves out those that the arena does not have. Statics are the ids of static fields.
func (s *snapshot) sites(statics []int64) []session.SnapshotSite {
	var rows []session.SnapshotSite
	held := s.graph.HeldSites()
	for _, g := range s.graph.Sites() {
		if g.Key != 0 && int64(g.Key) <= int64(s.process.rec.Sites()) {
			field, bytes := heldBy(held, g.Key, statics)
			rows = append(rows, session.SnapshotSite{Site: s.process.rec.Site(int(g.Key - 1)), Amount: groupAmount(&g),
				Retained: quantity.Bytes(g.Retained), Static: field, StaticBytes: bytes})
		}
	}
	return rows
}

// rootOf is the row of a root, without amounts.
func (s *snapshot) rootOf(root heapgraph.Root) session.SnapshotRoot {
	kind := session.RootOther
	if int64(root.Kind) < int64(len(rootKinds)) {
		kind = rootKinds[root.Kind]
	}
	return session.SnapshotRoot{Kind: kind, Flags: int64(root.Flags),
		Function: s.process.names.functions[root.Function].id}
}

// holderRow is the row of a holder, without what it holds. Statics are the ids of static fields.
func (s *snapshot) holderRow(h *heapgraph.Holder, statics []int64) session.SnapshotHolder {
	row := session.SnapshotHolder{Through: session.TypeID(h.Through)}
	switch h.Kind {
	case heapgraph.HeldByStatic:
		row.Kind, row.Static = session.HolderStatic, statics[h.Field]
	case heapgraph.HeldByRoot:
		of := s.rootOf(h.Root)
		row.Kind, row.Flags, row.Function = of.Kind, of.Flags, of.Function
	case heapgraph.HeldByDependent:
		row.Kind = session.HolderDependent
	case heapgraph.HeldBySeveral:
		row.Kind = session.HolderSeveral
	default:
		row.Kind = session.HolderNone
	}
	return row
}

// holders has each object once, below its type, site and holder. Statics are the ids of static fields.
func (s *snapshot) holders(statics []int64) []session.SnapshotHolder {
	distinct, of := s.graph.Holders()
	type key struct {
		holder    int32
		typ, site uint32
		isFrozen  bool
	}
	sums := map[key]quantity.Amount{}
	for i, at := range of {
		k := key{at, s.graph.Type[i], s.graph.Site[i], s.graph.State[i] == heapgraph.Frozen}
		sums[k] = sums[k].Add(quantity.Amount{Allocations: 1, Bytes: quantity.Bytes(s.graph.Size[i])})
	}
	rows := map[session.SnapshotHolder]quantity.Amount{} // holders that the session cannot tell apart are one
	for k, amount := range sums {
		row := s.holderRow(&distinct[k.holder], statics)
		row.Type = session.TypeID(k.typ)
		if k.isFrozen {
			row.Kind = session.HolderFrozen
		}
		if k.site != 0 && int64(k.site) <= int64(s.process.rec.Sites()) {
			row.Site = s.process.rec.Site(int(k.site - 1))
		}
		rows[row] = rows[row].Add(amount)
	}
	out := make([]session.SnapshotHolder, 0, len(rows))
	for row, amount := range rows {
		row.Amount = amount
		out = append(out, row)
	}
	slices.SortFunc(out, func(a, b session.SnapshotHolder) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Site, b.Site), strings.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Flags, b.Flags), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Static, b.Static),
			cmp.Compare(a.Through, b.Through))
	})
	return out
}

func (s *snapshot) roots() []session.SnapshotRoot {
	list := slices.DeleteFunc(slices.Clone(s.graph.Roots), func(r heapgraph.Root) bool { return r.Object < 0 })
	slices.SortFunc(list, func(a, b heapgraph.Root) int {
		x, y := s.rootOf(a), s.rootOf(b)
		return cmp.Or(strings.Compare(x.Kind, y.Kind), cmp.Compare(x.Flags, y.Flags),
			cmp.Compare(x.Function, y.Function), cmp.Compare(a.Object, b.Object))
	})
	var rows []session.SnapshotRoot
	for i, root := range list {
		row := s.rootOf(root)
		n := len(rows)
		again := n > 0 && rows[n-1].Kind == row.Kind && rows[n-1].Flags == row.Flags &&
			rows[n-1].Function == row.Function
		if !again {
			rows = append(rows, row)
			n++
		}
		rows[n-1].References++
		if !again || list[i-1].Object != root.Object {
			one := quantity.Amount{Allocations: 1, Bytes: quantity.Bytes(s.graph.Size[root.Object])}
			rows[n-1].Amount = rows[n-1].Add(one)
		}
	}
	return rows
}

// paths explains the types that retain most, each by the object that retains most of it. Statics are the ids of static
// fields.
func (s *snapshot) paths(types []heapgraph.Group, statics []int64) []session.SnapshotPath {
	slices.SortFunc(types, func(a, b heapgraph.Group) int {
		return cmp.Or(cmp.Compare(b.Retained, a.Retained), cmp.Compare(a.Key, b.Key))
	})
	types = slices.Clone(types[:min(len(types), snapshotPaths)])
	slices.SortFunc(types, func(a, b heapgraph.Group) int { return cmp.Compare(a.Key, b.Key) })
	var rows []session.SnapshotPath
	for _, t := range types {
		root, path := s.graph.Path(t.Example)
		held, field := s.graph.StaticOn(path)
		for position, object := range path {
			if len(path) > snapshotSteps && position >= snapshotSteps/2 && position < len(path)-snapshotSteps/2 {
				continue
			}
			row := session.SnapshotPath{Type: session.TypeID(t.Key), Position: int64(position),
				ObjectType: session.TypeID(s.graph.Type[object]), Bytes: quantity.Bytes(s.graph.Size[object]),
				Retained: quantity.Bytes(s.graph.Retained[object])}
			if position == 0 {
				of := s.rootOf(root)
				row.Kind, row.Flags, row.Function = of.Kind, of.Flags, of.Function
			}
			if position == held {
				row.Static = statics[field]
			}
			rows = append(rows, row)
		}
	}
	return rows
}
