package heapgraph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// file is a snapshot to encode. Objects are named by their addresses.
type file struct {
	objects    []fileObject
	dependents [][2]uint64
	roots      []fileRoot
	sites      []fileSite
	statics    []fileStatic
	leftOut    uint64
	version    byte // 0: the newest
}

type fileObject struct {
	address, size uint64
	typ           uint32
	references    []uint64
}

type fileRoot struct {
	object                uint64
	kind, flags, function uint32
}

type fileSite struct {
	address    uint64
	site, born uint32
}

func (f *file) encode() []byte {
	made := f.version
	if made == 0 {
		made = version
	}
	b := append([]byte(magic), made, 0, 0, 0, 7, 0, 0, 0)
	u32 := func(list ...uint32) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
	}
	u64 := func(list ...uint64) {
		for _, v := range list {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	for _, o := range f.objects {
		u64(o.address, o.size)
		u32(o.typ, uint32(len(o.references)))
		u64(o.references...)
	}
	u64(0, 0, 0)
	for _, d := range f.dependents {
		u64(d[0], d[1])
	}
	u64(0, 0)
	for _, r := range f.roots {
		u64(r.object)
		u32(r.kind, r.flags, r.function, 0)
	}
	u64(0, 0, 0)
	for _, s := range f.sites {
		u64(s.address)
		u32(s.site, s.born)
	}
	u64(0, 0)
	if made > 1 {
		f.encodeStatics(u32, u64, func(list []uint16) {
			for _, v := range list {
				b = binary.LittleEndian.AppendUint16(b, v)
			}
		})
	}
	return append(b, complete...)
}

func read(t interface{ Fatal(...any) }, b []byte) *Heap {
	h, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// sample is a list of three behind a table, two nodes that share one, a cycle, and what only weak references, the
// finalizer and a dependent handle hold. Its objects are not in the order of their addresses.
var sample = file{
	objects: []fileObject{
		{0x50, 24, 2, []uint64{0x60}}, {0x60, 24, 2, []uint64{0x70}}, {0x70, 24, 2, nil}, // the list
		// the table; 0x999 is no object
		{0x10, 100 << 3, 1, []uint64{0x50, 0x80, 0x90, 0x999}},
		{0x80, 32, 3, []uint64{0xa0}}, {0x90, 32, 3, []uint64{0xa0}}, {0xa0, 40, 4, nil}, // shared
		{0x20, 48, 5, []uint64{0x30}}, {0x30, 48, 5, []uint64{0x20}}, // the cycle, by the second
		{0x40, 56, 6, nil}, // weak
		{0x48, 64, 7, nil}, // to be finalized
		{0xb0, 72, 8, nil}, // the value of 0x90
		{0xc0, 80, 9, nil}, // frozen
	},
	dependents: [][2]uint64{{0x90, 0xb0}, {0x90, 0x999}, {0x80, 0}},
	roots: []fileRoot{{0x10, 3, 0, 0}, {0x30, 1, 1, 17}, {0x40, 3, 2, 0}, {0x48, 2, 0, 0}, {0x999, 0, 0, 0},
		{0x30, 0, 0, 0}},
	sites: []fileSite{{0x10, 1, 0}, {0x20, 2, 1}, {0x30, 2, 1}, {0x40, 3, 2}, {0x48, 3, 2}, {0x50, 4, 3}, {0x60, 4, 3},
		{0x70, 5, 3},
		{0x80, 6, 3}, {0x90, 6, 3}, {0xa0, 6, 3}, {0xb0, 7, 9}},
}

func TestSample(t *testing.T) {
	g := New(read(t, sample.encode()))
	if g.GC != 7 || g.Outside != 3 {
		t.Errorf("collection %d, %d outside", g.GC, g.Outside)
	}
	want := []Group{
		{1, 1, 800, [States]int64{1}, 800 + 72 + 64 + 40 + 72, 0},
		{2, 3, 72, [States]int64{3}, 72, 5},
		{3, 2, 64, [States]int64{2}, 64 + 72, 9}, // each alone does not hold the shared one
		{4, 1, 40, [States]int64{1}, 40, 10},
		{5, 2, 96, [States]int64{2}, 96, 2},
		{6, 1, 56, [States]int64{Unreachable: 1}, 0, 3},
		{7, 1, 64, [States]int64{Finalizable: 1}, 64, 4},
		{8, 1, 72, [States]int64{1}, 72, 11},
		{9, 1, 80, [States]int64{Frozen: 1}, 0, 12},
	}
	if diff := cmp.Diff(want, g.Types()); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	sites := map[uint32]int64{}
	for _, s := range g.Sites() {
		sites[s.Key] = s.Retained
	}
	if diff := cmp.Diff(map[uint32]int64{0: 0, 1: 1048, 2: 96, 3: 64, 4: 72, 5: 24, 6: 64 + 40 + 72, 7: 72},
		sites); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}
	root, path := g.Path(7) // the end of the list
	if root.Kind != 3 || !cmp.Equal(path, []int32{0, 5, 6, 7}) {
		t.Errorf("path to the end of the list: %v from %+v", path, root)
	}
	if root, path = g.Path(1); root.Function != 17 || !cmp.Equal(path, []int32{2, 1}) {
		t.Errorf("path into the cycle: %v from %+v", path, root)
	}
	if root, path = g.Path(11); !cmp.Equal(path, []int32{0, 9, 11}) {
		t.Errorf("path to the value of a dependent handle: %v from %+v", path, root)
	}
	if _, path = g.Path(3); path != nil {
		t.Errorf("path to what is only weakly referred to: %v", path)
	}
	if d := g.Dominator(10); d != 0 {
		t.Errorf("the shared object is dominated by %d", d)
	}
}

// TestDominance compares with what dominance means: an object's retained size is that of what cannot be reached without
// it.
func TestDominance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomFile(t)
		h := read(t, f.encode())
		g := New(h)
		strong := func(r Root) bool { return r.Flags&flagWeak == 0 }
		all := reach(h, strong, nil)
		queue := reach(h, func(r Root) bool { return strong(r) && r.Kind != kindFinalizer }, nil)
		for i := range h.Address {
			without := reach(h, strong, func(o int32) bool { return o == int32(i) })
			lost := difference(h, all, without)
			if g.Retained[i] != lost {
				t.Fatalf("object %d retains %d, want %d", i, g.Retained[i], lost)
			}
			reachable, finalizable := all[i] < far && queue[i] < far, all[i] < far && queue[i] == far
			if reachable != (g.State[i] == Reachable) || finalizable != (g.State[i] == Finalizable) {
				t.Fatalf("object %d is in state %d", i, g.State[i])
			}
			checkPath(t, g, int32(i), all[i])
			if d := g.Dominator(int32(i)); d >= 0 && reach(h, strong, func(o int32) bool { return o == d })[i] < far {
				t.Fatalf("object %d is reachable without its dominator %d", i, d)
			}
		}
		for _, group := range g.Types() {
			checkGroup(t, h, group, h.Type, all)
		}
		for _, group := range g.Sites() {
			checkGroup(t, h, group, h.Site, all)
		}
	})
}

// checkGroup compares with what is out of reach without any of the group's objects.
func checkGroup(t *rapid.T, h *Heap, group Group, key []uint32, all []int32) {
	strong := func(r Root) bool { return r.Flags&flagWeak == 0 }
	without := reach(h, strong, func(o int32) bool { return key[o] == group.Key })
	// What an object outside the group and one of the group hold only together is of the group's set, not of an
	// object's.
	lost := difference(h, all, without)
	objects, bytes, single := int64(0), int64(0), uint64(0)
	for i := range h.Address {
		if key[i] != group.Key {
			continue
		}
		objects++
		bytes += int64(h.Size[i])
		others := reach(h, strong, func(o int32) bool {
			return o != int32(i) && key[o] == group.Key && dominates(h, o, int32(i), all)
		})
		if all[i] < far && others[i] < far {
			single += difference(h, all, reach(h, strong, func(o int32) bool { return o == int32(i) }))
		}
	}
	if group.Objects != objects || group.Bytes != bytes || uint64(group.Retained) != single || single > lost {
		t.Fatalf("group %+v: want %d objects, %d bytes, %d retained, at most %d", group, objects, bytes, single, lost)
	}
}

func dominates(h *Heap, d, o int32, all []int32) bool {
	return all[o] < far && reach(h, func(r Root) bool { return r.Flags&flagWeak == 0 }, func(x int32) bool {
		return x == d
	})[o] == far
}

func checkPath(t *rapid.T, g *Graph, i, depth int32) {
	root, path := g.Path(i)
	if depth == far {
		if path != nil {
			t.Fatalf("path %v to unreachable %d", path, i)
		}
		return
	}
	if len(path) != int(depth)+1 || path[len(path)-1] != i || root.Object != path[0] || root.Flags&flagWeak != 0 {
		t.Fatalf("path %v from %+v to %d at depth %d", path, root, i, depth)
	}
	for n := 1; n < len(path); n++ {
		found := false
		for _, to := range g.References(path[n-1]) {
			found = found || to == path[n]
		}
		if !found {
			t.Fatalf("path %v: no reference to step %d", path, n)
		}
	}
}

// reach returns the distance of each object from the roots, without going through some; by repeated relaxation.
func reach(h *Heap, holds func(Root) bool, gone func(int32) bool) []int32 {
	depth := make([]int32, len(h.Address))
	for i := range depth {
		depth[i] = far
	}
	for _, r := range h.Roots {
		if r.Object >= 0 && holds(r) && (gone == nil || !gone(r.Object)) {
			depth[r.Object] = 0
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range depth {
			for _, to := range h.References(int32(i)) {
				if depth[i] < far && depth[to] > depth[i]+1 && (gone == nil || !gone(to)) {
					depth[to], changed = depth[i]+1, true
				}
			}
		}
	}
	return depth
}

func difference(h *Heap, all, without []int32) (lost uint64) {
	for i := range all {
		if all[i] < far && without[i] == far {
			lost += h.Size[i]
		}
	}
	return lost
}

func randomFile(t *rapid.T) *file {
	n := rapid.IntRange(1, 12).Draw(t, "n")
	address := rapid.Custom(func(t *rapid.T) uint64 { return uint64(rapid.IntRange(1, n).Draw(t, "i")) << 3 })
	f := &file{}
	order := rapid.Permutation(indices(n)).Draw(t, "order")
	for _, i := range order {
		f.objects = append(f.objects,
			fileObject{uint64(i+1) << 3, 1 << i << 3, uint32(rapid.IntRange(1, 3).Draw(t, "type")),
				rapid.SliceOfN(address, 0, 3).Draw(t, "references")})
		if site := rapid.IntRange(0, 3).Draw(t, "site"); site != 0 {
			f.sites = append(f.sites, fileSite{uint64(i+1) << 3, uint32(site), 0})
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "dependents") {
		f.dependents = append(f.dependents, [2]uint64{address.Draw(t, "key"), address.Draw(t, "value")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "roots") {
		f.roots = append(f.roots, fileRoot{address.Draw(t, "root"), uint32(rapid.IntRange(0, 3).Draw(t, "kind")),
			uint32(rapid.IntRange(0, 3).Draw(t, "flags")), 0})
	}
	return f
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// TestDeep reads a list of a million objects: nothing recurses.
func TestDeep(t *testing.T) {
	const n = 1_000_000
	f := &file{roots: []fileRoot{{8, 1, 0, 0}}}
	for i := uint64(1); i <= n; i++ {
		f.objects = append(f.objects, fileObject{i << 3, 24, 1, []uint64{(i%n + 1) << 3}})
	}
	g := New(read(t, f.encode()))
	types := g.Types()
	if types[0].Retained != 24*n || g.Retained[n-1] != 24 || types[0].Example != 0 {
		t.Errorf("%+v, the last retains %d", types, g.Retained[n-1])
	}
	if _, path := g.Path(n - 1); len(path) != n {
		t.Errorf("a path of %d objects", len(path))
	}
}

func TestErrors(t *testing.T) {
	whole := sample.encode()
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n]), int64(n)); !errors.Is(err, ErrIncomplete) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	twice := sample
	twice.objects = append(twice.objects, sample.objects[0])
	huge := file{objects: []fileObject{{8, math.MaxUint64, 1, nil}}}
	for name, b := range map[string][]byte{"magic": append([]byte("x"), whole[1:]...),
		"version": append([]byte(magic+"\x03"), whole[9:]...), "version 0": append([]byte(magic+"\x00"), whole[9:]...),
		"twice": twice.encode(), "huge": huge.encode(), "end": append(whole[:len(whole)-1:len(whole)-1], 'X')} {
		if _, err := Read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	empty := (&file{}).encode()
	if types := New(read(t, empty)).Types(); len(types) != 0 {
		t.Errorf("an empty heap has types %v", types)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample.encode())
	f.Add((&file{}).encode())
	f.Add(withStatics.encode())
	f.Add(sample.encode()[:100])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrIncomplete) {
				t.Fatal(err)
			}
			return
		}
		g := New(h)
		total, reachable := uint64(0), uint64(0)
		for i := range h.Size {
			total += h.Size[i]
			if g.State[i] == Reachable || g.State[i] == Finalizable {
				reachable += h.Size[i]
			}
			g.Path(int32(i))
		}
		sum := uint64(0)
		for i := range h.Size {
			if g.Retained[i] > reachable || g.Retained[i] != 0 && g.Dominator(int32(i)) < 0 &&
				g.Retained[i] < h.Size[i] {
				t.Fatalf("object %d retains %d of %d", i, g.Retained[i], reachable)
			}
			if g.Dominator(int32(i)) < 0 {
				sum += g.Retained[i]
			}
		}
		if sum != reachable {
			t.Fatalf("roots retain %d, %d are reachable", sum, reachable)
		}
		for _, group := range g.Types() {
			if uint64(group.Bytes) > total || uint64(group.Retained) > reachable {
				t.Fatalf("group %+v of %d, %d reachable", group, total, reachable)
			}
		}
	})
}
