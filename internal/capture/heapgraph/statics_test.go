package heapgraph

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"testing"
	"unicode/utf16"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fileStatic is a static field in a file.
type fileStatic struct {
	slot, object         uint64
	typ, field, ofThread uint32
	name                 string
}

// withStatics is a heap in which the runtime's array at 0x10 is the place of two fields and 0x90 that of a thread's; 0x38
// is a box; 0x80 is held by a field and a stack.
var withStatics = file{
	objects: []fileObject{
		{0x10, 32, 1, []uint64{0x50, 0x80, 0x38}}, {0x38, 24, 5, []uint64{0x60}}, {0x50, 16, 2, []uint64{0x60, 0x70}},
		{0x60, 16, 3, nil}, {0x70, 16, 3, nil}, {0x80, 16, 4, []uint64{0x88}}, {0x88, 8, 3, nil},
		{0x90, 16, 1, []uint64{0xa0}}, {0xa0, 8, 3, nil},
	},
	roots: []fileRoot{{0x10, 3, 1, 0}, {0x80, 1, 0, 5}, {0x90, 3, 0, 0}},
	sites: []fileSite{{0x60, 1, 0}, {0x70, 1, 0}, {0x88, 2, 0}, {0xa0, 1, 0}},
	statics: []fileStatic{
		{0x28, 0x80, 9, 0x4000002, 0, "Second"}, {0x20, 0x50, 9, 0x4000001, 0, "<Erstes Ä 😀>k__BackingField"},
		{0, 0x38, 9, 0x4000003, 0, "Box"}, {0x98, 0xa0, 9, 0x4000004, 1, "Own"},
		{0, 0x999, 9, 0x4000005, 0, "A number"},       // no object
		{0x998, 0x50, 9, 0x4000006, 0, "Elsewhere"},   // its place is in none
		{0x50, 0x80, 9, 0x4000007, 0, "Wrong"},        // in one that does not refer to it
		{0x28, 0x80, 9, 0x4000002, 0, "Second"},       // once more
		{0x28, 0x80, 8, 0x4000008, 0, "Second too"},   // of another class, before it
		{0x90, 0xa0, 9, 0x4000004, 1, "Own"},          // at the begin of the array
		{0x37, 0x50, 9, 0x4000009, 0, "Between them"}, // behind the end of the array
	},
	leftOut: 17,
}

func TestStatics(t *testing.T) {
	g := New(read(t, withStatics.encode()))
	want := []Static{{-1, 1, 9, 0x4000003, "Box", false},
		{0, 2, 9, 0x4000001, "<Erstes Ä 😀>k__BackingField", false}, {0, 5, 8, 0x4000008, "Second too", false},
		{0, 5, 9, 0x4000002, "Second", false}, {7, 8, 9, 0x4000004, "Own", true}}
	if diff := gocmp.Diff(want, g.Statics); diff != "" {
		t.Errorf("static fields (-want +got):\n%s", diff)
	}
	if g.StaticsLeftOut != 17 {
		t.Errorf("%d classes are left out", g.StaticsLeftOut)
	}
	// The tables at 0x10 and 0x90 retain themselves alone; the box does not retain what a list refers to as well.
	if diff := gocmp.Diff([]uint64{32, 24, 32, 16, 16, 24, 8, 16, 8}, g.Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		path            []int32
		position, field int
	}{
		{[]int32{0, 2, 4}, 1, 1}, {[]int32{0, 1, 3}, 1, 0}, {[]int32{1}, 0, 0}, // a box is where it is
		{[]int32{0, 5, 6}, 1, 2}, {[]int32{5, 6}, -1, -1}, // the stack holds it
		{[]int32{7, 8}, 1, 4}, {[]int32{0}, -1, -1}, {nil, -1, -1},
	} {
		if position, field := g.StaticOn(c.path); position != c.position || field != c.field {
			t.Errorf("on %v field %d holds object %d, want %d and %d", c.path, field, position, c.field, c.position)
		}
	}
	// Of type 3 the list's field has 0x70, and nobody alone has 0x60; the object on the stack is also a field's.
	if diff := gocmp.Diff(map[uint32]Held{2: {1, 16}, 3: {1, 16}, 4: {2, 16}, 5: {0, 24}}, g.HeldTypes()); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(map[uint32]Held{0: {0, 24}, 1: {1, 16}, 2: {2, 8}}, g.HeldSites()); diff != "" {
		t.Errorf("sites (-want +got):\n%s", diff)
	}
}

// TestHolders has an object for each kind of holder: static fields, the root of a table whose field is not known, the key
// of a dependent handle, two holders together, and none.
func TestHolders(t *testing.T) {
	f := withStatics
	f.objects = slices.Concat(f.objects, []fileObject{{0xb0, 8, 6, nil}, {0xb8, 16, 7, nil}, {0xc8, 8, 8, nil}})
	f.objects[0].references = append(slices.Clone(f.objects[0].references), 0xb8) // no field is known there
	f.dependents = [][2]uint64{{0xb8, 0xb0}}
	g := New(read(t, f.encode()))
	distinct, of := g.Holders()
	have := make([]Holder, len(of))
	for i, at := range of {
		have[i] = distinct[at]
	}
	table, list, box := Holder{Kind: HeldByRoot, Field: -1, Root: Root{Kind: 3, Flags: 1}, Through: 1},
		Holder{Kind: HeldByStatic, Field: 1}, Holder{Kind: HeldByStatic}
	second, own := Holder{Kind: HeldByStatic, Field: 2}, Holder{Kind: HeldByStatic, Field: 4}
	other := table
	other.Through = 7
	want := []Holder{table, box, list, {Kind: HeldBySeveral, Field: -1, Through: 3}, list, second, second,
		{Kind: HeldByRoot, Field: -1, Root: Root{Kind: 3}, Through: 1}, own,
		{Kind: HeldByDependent, Field: -1, Through: 7}, other, {Field: -1}}
	if diff := gocmp.Diff(want, have); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

// TestHoldersAgree: an object has a holder if it is reachable or waits for its finalizer, and one that a root refers to
// is held by a root.
func TestHoldersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := New(read(t, randomFile(t).encode()))
		distinct, of := g.Holders()
		for i, at := range of {
			if held := g.State[i] == Reachable || g.State[i] == Finalizable; held != (distinct[at].Kind != HeldByNone) {
				t.Fatalf("object %d, state %d, has the holder %+v", i, g.State[i], distinct[at])
			}
			for _, r := range g.Roots {
				if h := distinct[at]; r.Object == int32(i) && r.Flags&flagWeak == 0 && (h.Kind != HeldByRoot || h.Through != g.Type[i]) {
					t.Fatalf("root %+v refers to object %d, and its holder is %+v", r, i, h)
				}
			}
		}
	})
}

// TestWithoutStatics reads a file of a version that has none.
func TestWithoutStatics(t *testing.T) {
	f := withStatics
	f.version = 1
	g := New(read(t, f.encode()))
	if len(g.Statics) != 0 || g.StaticsLeftOut != 0 || len(g.Address) != len(withStatics.objects) {
		t.Errorf("%d static fields of %d objects", len(g.Statics), len(g.Address))
	}
	if held := g.HeldTypes(); len(held) != 0 {
		t.Errorf("held: %v", held)
	}
}

func TestStaticErrors(t *testing.T) {
	whole := withStatics.encode()
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n]), int64(n)); !errors.Is(err, ErrIncomplete) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	long := file{statics: []fileStatic{{0, 8, 1, 1, 0, string(make([]byte, maxName+1))}}}
	if _, err := Read(bytes.NewReader(long.encode()), int64(len(long.encode()))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a long name: %v", err)
	}
}

// TestHeldAgrees compares what static fields retain with what is lost when the object of the field goes.
func TestHeldAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := randomFile(t)
		held := rapid.IntRange(1, len(f.objects)).Draw(t, "held")
		f.statics = []fileStatic{{0, uint64(held) << 3, 1, 1, 0, "Field"}}
		g := New(read(t, f.encode()))
		sum := int64(0)
		for _, h := range g.HeldTypes() {
			sum += h.Bytes
		}
		if want := int64(g.Retained[held-1]); sum != want {
			t.Fatalf("the field retains %d bytes, its object %d", sum, want)
		}
	})
}

// TestTablesOfThreads: the tables of a thread are in an array of that thread. All of these retain only themselves, which
// an array of another type that refers to such a table does not.
func TestTablesOfThreads(t *testing.T) {
	f := file{
		objects: []fileObject{{0x10, 24, 1, []uint64{0x28}}, {0x28, 24, 1, []uint64{0x40}}, {0x40, 8, 3, nil},
			{0x50, 24, 2, []uint64{0x68}}, {0x68, 24, 1, []uint64{0x80}}, {0x80, 8, 3, nil}},
		roots:   []fileRoot{{0x10, 1, 0, 0}, {0x50, 1, 0, 0}},
		statics: []fileStatic{{0x38, 0x40, 9, 1, 1, "Own"}, {0x78, 0x80, 9, 1, 1, "Own"}},
	}
	if diff := gocmp.Diff([]uint64{24, 24, 8, 56, 32, 8}, New(read(t, f.encode())).Retained); diff != "" {
		t.Errorf("retained (-want +got):\n%s", diff)
	}
}

// TestTables: with a table of static fields everything retains what it does if roots hold what the table refers to.
func TestTables(t *testing.T) {
	tables := 0
	rapid.Check(t, func(t *rapid.T) {
		f := randomFile(t)
		h, same := read(t, f.encode()), read(t, f.encode())
		for _, r := range same.Roots {
			if r.Object < 0 || r.Flags&flagWeak != 0 {
				continue
			}
			for _, to := range h.References(r.Object) {
				h.Statics = append(h.Statics, Static{Holder: r.Object, Object: to})
				same.Roots = append(same.Roots, Root{Object: to, Kind: r.Kind})
				tables++
			}
		}
		slices.SortFunc(h.Statics, func(a, b Static) int { return cmp.Compare(a.Object, b.Object) })
		if diff := gocmp.Diff(New(same).Retained, New(h).Retained); diff != "" {
			t.Fatal(diff)
		}
	})
	if tables == 0 {
		t.Error("no object was held by a table")
	}
}

// encodeStatics is the end of a file.
func (f *file) encodeStatics(u32 func(...uint32), u64 func(...uint64), u16 func([]uint16)) {
	for _, s := range f.statics {
		name := utf16.Encode([]rune(s.name))
		u64(s.slot, s.object)
		u32(s.typ, s.field, s.ofThread, uint32(len(name)))
		u16(name)
	}
	u64(0, 0, 0, 0)
	u64(f.leftOut)
}
