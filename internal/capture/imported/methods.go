package imported

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Limits of what describes code. A large server has 200,000 methods.
const (
	maxMethods   = 1 << 21
	maxModules   = 1 << 16
	maxNameBytes = 256 << 20 // of names of types, and as many of those of methods
	maxMapPoints = 1 << 24   // of all maps
)

// Flags of methods and modules in events.
const (
	methodDynamic = 1
	moduleDynamic = 4
)

// method is native code of one.
type method struct {
	id, module  uint64
	start, size uint64
	from, to    quantity.Nanoseconds // when it was there; to is 0 if it was there at the end
	token       uint32
	dynamic     bool
	class, name string
	points      []session.ILPoint
}

// module is a module that was loaded.
type module struct {
	path    string
	dynamic bool
	pdb     [16]byte // the id of its symbols
	pdbAge  uint32
}

// code is what a file says of methods and modules.
type code struct {
	methods   []method
	open      map[uint64]int // methods that are there, by where they begin
	modules   map[uint64]module
	maps      map[uint64][]session.ILPoint // by method, until the event with the address of its code comes
	points    int
	nameBytes int
	left      uint64 // methods, modules and maps for which there was no room
}

// addMethod reads MethodLoadVerbose, or what a rundown says of a method that was there. from is when it came.
func (c *code) addMethod(e *eventpipe.Event, from quantity.Nanoseconds) bool {
	f := e.Fields()
	m := method{id: f.Uint64(), module: f.Uint64(), start: f.Uint64(), size: uint64(f.Uint32()), token: f.Uint32(),
		from: from}
	m.dynamic = f.Uint32()&methodDynamic != 0
	m.class, m.name = f.Text(), f.Text()
	if f.Failed() || m.size == 0 || m.start+m.size < m.start {
		return false
	}
	if c.open == nil {
		c.open = map[uint64]int{}
	}
	if at, known := c.open[m.start]; known && c.methods[at].id == m.id && c.methods[at].size == m.size {
		return true // it came when it was made, and again at the end
	}
	if len(c.methods) >= maxMethods || c.nameBytes > maxNameBytes {
		c.left++
		return true
	}
	c.nameBytes += len(m.class) + len(m.name)
	m.points = c.maps[m.id]
	delete(c.maps, m.id)
	c.open[m.start] = len(c.methods)
	c.methods = append(c.methods, m)
	return true
}

// endMethod reads MethodUnloadVerbose: from now on other code can be where it was.
func (c *code) endMethod(e *eventpipe.Event, at quantity.Nanoseconds) bool {
	f := e.Fields()
	f.Skip(8 + 8)
	start := f.Uint64()
	if i, known := c.open[start]; known {
		c.methods[i].to = max(at, 1)
		delete(c.open, start)
	}
	return !f.Failed()
}

// addMap reads MethodILToNativeMap, which comes before or after the event of its method.
func (c *code) addMap(e *eventpipe.Event) bool {
	f := e.Fields()
	id := f.Uint64()
	f.Skip(8 + 1) // version of its IL, extent
	n := int(f.Uint16())
	if f.Left() < 8*n {
		return false
	}
	if c.points+n > maxMapPoints || len(c.maps) >= maxMethods {
		c.left++
		return true
	}
	points := make([]session.ILPoint, n)
	for i := range points {
		points[i].IL = f.Uint32()
	}
	for i := range points {
		points[i].Native = f.Uint32()
	}
	slices.SortStableFunc(points, func(a, b session.ILPoint) int { return cmp.Compare(a.Native, b.Native) })
	c.points += n
	if last := len(c.methods) - 1; last >= 0 && c.methods[last].id == id && c.methods[last].points == nil {
		c.methods[last].points = points
		return true
	}
	if c.maps == nil {
		c.maps = map[uint64][]session.ILPoint{}
	}
	c.maps[id] = points
	return true
}

// addModule reads ModuleLoad, or what a rundown says of a module that was there.
func (c *code) addModule(e *eventpipe.Event) bool {
	f := e.Fields()
	id := f.Uint64()
	f.Skip(8) // assembly
	m := module{dynamic: f.Uint32()&moduleDynamic != 0}
	f.Skip(4)
	m.path = f.Text()
	f.Text() // of precompiled code
	f.Skip(2)
	if f.Failed() {
		return false
	}
	if m.pdb, m.pdbAge = f.GUID(), f.Uint32(); f.Failed() { // version 1 has no symbols
		m.pdb = [16]byte{}
	}
	if c.modules == nil {
		c.modules = map[uint64]module{}
	}
	if _, known := c.modules[id]; !known && (len(c.modules) >= maxModules || len(m.path) > 1<<16) {
		c.left++
		return true
	}
	c.modules[id] = m
	return true
}

// finder finds code by address.
type finder struct {
	methods []method // by start, and those of one place by time
	longest uint64
}

func newFinder(methods []method) finder {
	f := finder{methods: methods}
	slices.SortStableFunc(f.methods, func(a, b method) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.from, b.from))
	})
	for i := range f.methods {
		f.longest = max(f.longest, f.methods[i].size)
	}
	return f
}

// find returns the index of the code that was at an address at some time, or else at any time; -1: none is known. What
// is called last in a method may not return, so a return address can be the first behind it.
func (f *finder) find(address uint64, at quantity.Nanoseconds) int {
	call := address - 1
	end, _ := slices.BinarySearchFunc(f.methods, call, func(m method, x uint64) int {
		if m.start <= x {
			return -1
		}
		return 1
	})
	other := -1
	for i := end - 1; i >= 0 && call-f.methods[i].start < f.longest; i-- {
		m := &f.methods[i]
		if call-m.start >= m.size {
			continue
		}
		if m.from <= at && (m.to == 0 || at <= m.to) {
			return i
		}
		if other < 0 {
			other = i
		}
	}
	return other
}
