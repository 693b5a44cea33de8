package collect_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/capture/instrument"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// chainArena has functions 1…n, each in a module of its own (M1.dll, …), and paths of calls between them.
func chainArena(functions int, paths [][]int) *wiretest.Arena {
	a := wiretest.New()
	a.Add(wire.Thread{ID: 1, OSID: 1, BeginNS: 1000}, wire.Type{ID: 1, Kind: wire.TypeOther})
	for f := 1; f <= functions; f++ {
		id := uint32(f)
		a.Add(wire.Module{ID: id, MVID: [16]byte{byte(f)}, Path: fmt.Sprintf("/M%d.dll", f), Name: "M"},
			wire.Function{ID: id, Module: id, Token: 0x06000001, Name: "F"})
		a.IP(uint64(f)<<8, id, 0)
	}
	children := map[[2]uint32]uint32{}
	for i, path := range paths {
		node := uint32(wire.NodeRoot)
		for _, f := range path {
			key := [2]uint32{node, uint32(wire.IPFirst - 1 + f)}
			if children[key] == 0 {
				children[key] = a.Node(key[0], key[1])
			}
			node = children[key]
		}
		a.Site(1, node, 1, uint64(i+1), uint64(24*(i+1)))
	}
	return a
}

// TestFilterFolds: a frame that is left out counts for the nearest caller that is kept.
func TestFilterFolds(t *testing.T) {
	a := chainArena(4, [][]int{{1, 2, 3}, {1, 2, 4}, {2, 3}, {2}, {2, 1, 2, 1}})
	s := record(t, a, instrument.NewRules(nil, []string{"M2", "M4"}))
	names := map[session.FunctionID]string{0: "?"}
	modules := map[session.ModuleID]string{0: ""}
	for _, m := range get[session.Module](t)(s.Modules()) {
		modules[m.ID] = m.Name
	}
	for _, f := range get[session.Function](t)(s.Functions()) {
		names[f.ID] = modules[f.Module] + " " + f.RawName
	}
	paths := map[session.NodeID]string{}
	for _, n := range get[session.Node](t)(s.Nodes()) {
		paths[n.ID] = paths[n.Parent] + "/" + names[n.Function]
	}
	sites := map[session.SiteID]session.NodeID{}
	for _, site := range get[session.Site](t)(s.Sites()) {
		sites[site.ID] = site.Node
	}
	have := map[string]quantity.Count{}
	for _, v := range get[session.SiteValue](t)(s.SiteValues()) {
		have[paths[sites[v.Site]]] += v.Allocations
	}
	want := map[string]quantity.Count{
		"/M1.dll F/M3.dll F":             1,
		"/M1.dll F":                      2, // 4, called by 2, called by 1
		"/ (excluded)/M3.dll F":          3,
		"/ (excluded)":                   4,
		"/ (excluded)/M1.dll F/M1.dll F": 5,
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("have %v\nwant %v", have, want)
	}
}

// TestFilterKeepsTotals: whatever is left out, every allocation is counted once.
func TestFilterKeepsTotals(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		const functions = 5
		path := rapid.SliceOfN(rapid.IntRange(1, functions), 1, 6)
		paths := rapid.SliceOfN(path, 1, 8).Draw(rt, "paths")
		pattern := rapid.SliceOfN(rapid.SampledFrom([]string{"M1", "M2", "M3.dll", "M4", "M*", "nothing"}), 0, 3)
		filter := instrument.NewRules(pattern.Draw(rt, "include"), pattern.Draw(rt, "exclude"))
		n++
		r := &recordingTest{t: t, dir: filepath.Join(dir, fmt.Sprint(n)),
			path: filepath.Join(dir, fmt.Sprint(n)+".clrprof")}
		want := quantity.Amount{}
		a := chainArena(functions, paths)
		for _, s := range a.Sites {
			want = want.Add(quantity.Amount{Allocations: quantity.Count(s.Objects), Bytes: quantity.Bytes(s.Bytes)})
		}
		r.begin(filter)
		write(t, a, filepath.Join(r.dir, "1-1.arena"))
		r.sync(5000)
		if have := total(t, r.finish()); have != want {
			rt.Fatalf("have %+v, want %+v", have, want)
		}
	})
}
