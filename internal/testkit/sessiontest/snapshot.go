package sessiontest

import (
	"errors"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Heaps are the tables of snapshots.
type Heaps struct {
	Snapshots     []session.Snapshot
	SnapshotTypes []session.SnapshotType
	SnapshotSites []session.SnapshotSite
	SnapshotRoots []session.SnapshotRoot
	SnapshotPaths []session.SnapshotPath

	SnapshotStatics []session.SnapshotStatic
	SnapshotHolders []session.SnapshotHolder
}

func (h *Heaps) write(w *session.Writer) error {
	return errors.Join(w.InsertSnapshots(h.Snapshots), w.InsertSnapshotTypes(h.SnapshotTypes),
		w.InsertSnapshotSites(h.SnapshotSites),
		w.InsertSnapshotRoots(h.SnapshotRoots), w.InsertSnapshotPaths(h.SnapshotPaths),
		w.InsertSnapshotStatics(h.SnapshotStatics), w.InsertSnapshotHolders(h.SnapshotHolders))
}

// Heap is Shop with a snapshot of its heap: 1000 orders in an array in a list, which a stack holds; 3 orders that wait
// for their finalizer; a chain of 100 nodes, of whose path the middle is left out, and which a static field holds; and
// frozen strings.
func Heap() *Builder {
	const str, list, node, order, array = 1, 2, 3, 4, 5
	amount := func(objects, bytes int64) q.Amount {
		return q.Amount{Allocations: q.Count(objects), Bytes: q.Bytes(bytes)}
	}
	b := Shop()
	objects := b.Type(b.Types[array-1].Module, "object[]")
	b.Snapshots = []session.Snapshot{{Process: 1, GCNumber: 12, All: amount(1110, 61_320),
		Reachable:   amount(1103, 61_040),
		Finalizable: amount(3, 120), Frozen: amount(4, 160), StaticsLeftOut: 2}}
	b.SnapshotTypes = []session.SnapshotType{
		{Process: 1, Type: str, Amount: amount(4, 160), Frozen: 4},
		{Process: 1, Type: list, Amount: amount(1, 32), Retained: 48_056},
		{Process: 1, Type: node, Amount: amount(100, 4800), Retained: 4800, Static: 1, StaticBytes: 4800},
		{Process: 1, Type: order, Amount: amount(1003, 40_120), Retained: 40_120, Finalizable: 3},
		{Process: 1, Type: array, Amount: amount(1, 8024), Retained: 48_024},
		{Process: 1, Type: objects, Amount: amount(1, 8184), Retained: 12_984},
	}
	orders := []q.Amount{amount(1000, 40_000), amount(3, 120)}
	stack := session.SnapshotHolder{Process: 1, Kind: session.RootStack, Flags: session.RootPinning, Function: 1,
		Through: list}
	of := func(h session.SnapshotHolder, typ session.TypeID, site session.SiteID, a q.Amount) {
		h.Type, h.Site, h.Amount = typ, site, a
		b.SnapshotHolders = append(b.SnapshotHolders, h)
	}
	of(session.SnapshotHolder{Process: 1, Kind: session.HolderFrozen}, str, 0, amount(4, 160))
	of(stack, list, 0, amount(1, 32))
	of(session.SnapshotHolder{Process: 1, Kind: session.HolderStatic, Static: 1}, node, 0, amount(100, 4800))
	handle := session.SnapshotHolder{Process: 1, Kind: session.RootHandle, Flags: session.RootPinning, Through: objects}
	of(handle, objects, 0, amount(1, 8184))
	finalizer := session.SnapshotHolder{Process: 1, Kind: session.RootFinalizer, Through: order}
	for _, s := range b.Sites {
		switch {
		case s.Type == order:
			of([]session.SnapshotHolder{finalizer, stack}[len(orders)-1], order, s.ID, orders[0])
			b.SnapshotSites = append(b.SnapshotSites, session.SnapshotSite{Site: s.ID, Amount: orders[0],
				Retained: orders[0].Bytes})
			orders = orders[1:]
		case s.Type == array:
			of(stack, array, s.ID, amount(1, 8024))
			b.SnapshotSites = append(b.SnapshotSites, session.SnapshotSite{Site: s.ID, Amount: amount(1, 8024),
				Retained: 48_024})
		}
	}
	b.SnapshotRoots = []session.SnapshotRoot{{Process: 1, Kind: session.RootHandle, References: 1,
		Amount: amount(1, 48)},
		{Process: 1, Kind: session.RootStack, Flags: session.RootPinning, Function: 1, References: 2,
			Amount: amount(1, 32)}}
	b.SnapshotStatics = []session.SnapshotStatic{{Process: 1, ID: 1, Type: node, Token: 0x4000007,
		Name: "<Root>k__BackingField", ObjectType: node, Bytes: 48, Retained: 4800}}
	b.SnapshotPaths = []session.SnapshotPath{{Process: 1, Type: node, ObjectType: objects, Bytes: 8184,
		Retained: 12_984, Kind: session.RootHandle, Flags: session.RootPinning}}
	for i := range int64(100) {
		if i < 2 || i >= 98 {
			b.SnapshotPaths = append(b.SnapshotPaths, session.SnapshotPath{Process: 1, Type: node, Position: i + 1,
				ObjectType: node, Bytes: 48, Retained: q.Bytes(48 * (100 - i))})
		}
	}
	b.SnapshotPaths[1].Static = 1
	held := []session.SnapshotPath{{ObjectType: list, Bytes: 32, Retained: 48_056, Kind: session.RootStack,
		Flags: session.RootPinning, Function: 1},
		{ObjectType: array, Bytes: 8024, Retained: 48_024}, {ObjectType: order, Bytes: 40, Retained: 40}}
	for i, step := range held {
		step.Process, step.Type, step.Position = 1, order, int64(i)
		b.SnapshotPaths = append(b.SnapshotPaths, step)
	}
	return b
}
