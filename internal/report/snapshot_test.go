package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/sessiontest"
)

// withHeap writes the sample shop with a snapshot of its heap: 1000 orders in an array that the list holds, which a
// stack holds; 3 orders that wait for their finalizer; a chain of nodes, of which one hundred are told; and frozen strings.
func withHeap(t *testing.T, path string) *session.Session {
	t.Helper()
	b := sessiontest.Shop()
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	amount := func(objects, bytes int64) q.Amount {
		return q.Amount{Allocations: q.Count(objects), Bytes: q.Bytes(bytes)}
	}
	const str, list, node, order, array = 1, 2, 3, 4, 5
	var sites []session.SnapshotSite
	orders := []q.Amount{amount(1000, 40_000), amount(3, 120)}
	for _, s := range b.Sites {
		switch {
		case s.Type == order:
			sites = append(sites, session.SnapshotSite{Site: s.ID, Amount: orders[0], Retained: orders[0].Bytes})
			orders = orders[1:]
		case s.Type == array:
			sites = append(sites, session.SnapshotSite{Site: s.ID, Amount: amount(1, 8024), Retained: 48_024})
		}
	}
	var paths []session.SnapshotPath
	for i := range int64(3) {
		paths = append(paths, session.SnapshotPath{Process: 1, Type: order, Position: i, ObjectType: []session.TypeID{list, array, order}[i],
			Bytes: []q.Bytes{32, 8024, 40}[i], Retained: []q.Bytes{48_056, 48_024, 40}[i]})
	}
	paths[0].Kind, paths[0].Flags, paths[0].Function = session.RootStack, session.RootPinning, 1
	for i := range int64(100) {
		if i < 2 || i >= 98 {
			paths = append(paths, session.SnapshotPath{Process: 1, Type: node, Position: i, ObjectType: node, Bytes: 48, Retained: q.Bytes(48 * (100 - i))})
		}
	}
	paths[3].Kind = session.RootHandle
	w, err := session.Edit(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		w.InsertSnapshots([]session.Snapshot{{Process: 1, GCNumber: 12, All: amount(1109, 53_136), Reachable: amount(1102, 52_856),
			Finalizable: amount(3, 120), Frozen: amount(4, 160)}}),
		w.InsertSnapshotTypes([]session.SnapshotType{
			{Process: 1, Type: str, Amount: amount(4, 160), Frozen: 4},
			{Process: 1, Type: list, Amount: amount(1, 32), Retained: 48_056},
			{Process: 1, Type: node, Amount: amount(100, 4800), Retained: 4800},
			{Process: 1, Type: order, Amount: amount(1003, 40_120), Retained: 40_120, Finalizable: 3},
			{Process: 1, Type: array, Amount: amount(1, 8024), Retained: 48_024},
		}),
		w.InsertSnapshotSites(sites),
		w.InsertSnapshotRoots([]session.SnapshotRoot{{Process: 1, Kind: session.RootStack, Flags: session.RootPinning, Function: 1, References: 2, Amount: amount(1, 32)}}),
		w.InsertSnapshotPaths(paths),
		analysis.Complete(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if found, err := analysis.Check(s); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	return s
}

func TestGoldenSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	folder := filepath.Join(packageFolder, "testdata", "heap")
	s := withHeap(t, "heap.clrprof")
	for _, flags := range []string{"snapshot", "snapshot top=2 width=80", "snapshot json", "snapshot sort=live_bytes csv", "snapshot argument=Shop.Order",
		"snapshot argument=Shop.Order json", "snapshot argument=Tree.Node", "snapshot argument=string", "snapshot thread=1 top=1"} {
		got := render(t, s, flags)
		path := filepath.Join(folder, strings.ReplaceAll(flags, " ", "_")+".txt")
		if *updateGolden {
			if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; -update writes it):\n%s", flags, diff)
		}
	}
	for _, argument := range []string{"Nothing", "Shop"} {
		view, err := FindView("snapshot")
		if err != nil {
			t.Fatal(err)
		}
		src, err := analysis.Open(s, analysis.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		var unknown *UnknownError
		if _, err := view.Build(src, Options{Argument: argument}); !errors.As(err, &unknown) || unknown.Ambiguous != (argument == "Shop") {
			t.Errorf("%s: %v", argument, err)
		}
	}
}
