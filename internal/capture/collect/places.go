package collect

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
	"github.com/clrprof/clrprof/internal/wire"
)

// places finds where the objects of sites belong if calls are seen around them, as the calling code declares them. The
// stack of an object has what runs instead. Which call was the innermost one its site says, and how that was reached
// its timing.
//
// The stack tells two things: whether the code that made the call has allocated itself, and where; and whether the
// timing is that of the stack. Calls that are folded, or began in a pause, have none, and an exception may have ended
// some of which the agent does not know yet. Then the stack decides, as far as its functions have probes.
type places struct {
	on        bool
	paths     map[step]short // by what they end with; counted from 1
	frames    []frame        // by node of the arena
	calls     pieces.List[call]
	functions pieces.List[short] // by site; 0: none
}

// step is a function with probes at the end of a path of such functions.
type step struct{ path, function short }

// frame is a node of the arena. It gets a node of the session when one is needed.
type frame struct {
	parent, ip uint32
	probed     uint32 // the nearest node, this one or above it, whose function has probes; 0: none
	path       short  // of the functions with probes
	placed     bool
}

// call is a timing of the arena.
type call struct {
	parent   uint32 // number
	function uint32 // of the arena
	path     short  // of the functions with probes
	declared bool   // it is of what code calls: its caller's probes tell of it
}

// pathTo returns the path of functions that ends with one more.
func (s *places) pathTo(path, function short) short {
	if s.paths == nil {
		s.paths = map[step]short{}
	}
	at := step{path, function}
	if s.paths[at] == 0 {
		s.paths[at] = short(len(s.paths) + 1)
	}
	return s.paths[at]
}

// addFrame adds the node with the next id.
func (s *places) addFrame(t *tree, n wire.Node) {
	for len(s.frames) < len(t.nodes) { // the root
		s.frames = append(s.frames, frame{placed: true})
	}
	parent, at := s.frames[n.Parent], t.instructions[n.IP]
	f := frame{parent: n.Parent, ip: n.IP, probed: parent.probed, path: parent.path}
	if at.class&wire.FunctionInstrumented != 0 {
		f.probed, f.path = uint32(len(s.frames)), s.pathTo(parent.path, short(at.function))
	}
	s.frames = append(s.frames, f)
}

// addCall adds the timing with the next number.
func (s *places) addCall(x *wire.Timing, f function) {
	if !s.on {
		return
	}
	c := call{parent: x.Parent, function: x.Function, declared: f.class&wire.FunctionBoundary != 0}
	if x.Parent != 0 {
		c.path = s.calls.At(int(x.Parent - 1)).path
	}
	if !c.declared {
		c.path = s.pathTo(c.path, short(f.id))
	}
	s.calls.Add(c)
}

// function returns that of a site's node, 0 if it has none.
func (s *places) function(p *process, site int, row *wire.Site) short {
	if s.on {
		return *s.functions.At(site)
	}
	if n := int(row.Node); n < len(p.tree.nodes) && p.tree.nodes[n].id != 0 {
		return p.tree.nodes[n].function
	}
	return 0
}

// place returns the node of a site that is new, 0 if nothing of its stack is kept.
func (p *process) place(of siteOf, timing uint32, frozen bool) (session.NodeID, error) {
	if int64(of.node) >= int64(p.tree.len()) || of.node == wire.NodeRoot {
		return 0, fmt.Errorf("%w: node %d of %d", wire.ErrCorrupt, of.node, p.tree.len())
	}
	s := &p.places
	if !s.on {
		return p.tree.nodes[of.node].id, nil
	}
	if int64(timing) > int64(s.calls.Len()) {
		return 0, fmt.Errorf("%w: timing %d of %d", wire.ErrCorrupt, timing, s.calls.Len())
	}
	id, function := p.placeCalled(of.node, timing, frozen, p.names.types[of.typ].name)
	s.functions.Add(function)
	return id, nil
}

// placeCalled returns the place of objects with the given stack, innermost call and type, and its function.
func (p *process) placeCalled(id, timing uint32, frozen bool, typ string) (session.NodeID, short) {
	s := &p.places
	inner := s.frames[id].probed
	if timing == 0 || inner == 0 || p.tree.isTruncated(id) {
		return p.placeStack(id)
	}
	x, n := s.calls.At(int(timing-1)), *p.times.taken.At(int(timing - 1))
	called := n.place(p)
	caller := called
	if x.declared && x.parent != 0 {
		caller = p.times.taken.At(int(x.parent - 1)).place(p)
	}
	at := p.tree.instructions[s.frames[inner].ip]
	if at.function != caller.function {
		return p.placeStack(id)
	}
	itself := inner == id && (frozen || p.makesItself(x.function, typ))
	unprobed := s.outermost(&p.tree, id, inner, wire.FunctionUnprobed)
	switch isOf := !n.folded() && s.isOf(p, inner, timing); {
	case x.declared && !itself && isOf:
		return p.placeBelow(called.self, short(called.function), id, unprobed)
	case x.declared && !itself:
		node, _ := p.placeStack(inner)
		return p.placeBelow(p.rec.Node(node, called.function, 0), short(called.function), id, unprobed)
	case !isOf:
		return p.placeStack(id)
	}
	node, last := p.rec.Node(caller.above, at.function, at.id), id
	if unprobed != 0 {
		last = s.frames[unprobed].parent
	}
	outer := s.outermost(&p.tree, last, inner, wire.FunctionBoundary)
	if outer != 0 { // the runtime calls it, not the code
		at = p.tree.instructions[s.frames[outer].ip]
		node = p.rec.Node(node, at.function, at.id)
	}
	return p.placeBelow(node, short(at.function), id, unprobed)
}

// placeBelow returns the place below a node of what a stack has from one of its nodes on, the outermost function that
// cannot have probes, down to another; first 0: there is none.
func (p *process) placeBelow(node session.NodeID, function short, id, first uint32) (session.NodeID, short) {
	if first == 0 {
		return node, function
	}
	var below []uint32
	for at := id; at != p.places.frames[first].parent; at = p.places.frames[at].parent {
		below = append(below, at)
	}
	class := uint32(0)
	for _, frame := range slices.Backward(below) {
		at := p.tree.instructions[p.places.frames[frame].ip]
		if hasRow(class, at.class) {
			node, function, class = p.rec.Node(node, at.function, at.id), short(at.function), at.class
		}
	}
	return node, function
}

// makesItself says whether code allocates objects of a type itself within a call of a function, which it names: what it
// makes a constructor for, and boxes that the call is of. What else is allocated in its own frame is by code that the
// JIT has put there, or that has left its frame with a jump. Frozen objects are literals.
func (p *process) makesItself(function uint32, typ string) bool {
	f := p.names.functions[function]
	return f.boxes || (f.makes != "" && f.makes == typ)
}

// placeStack returns the place that the stack tells, as far as its functions have rows, and the function.
func (p *process) placeStack(id uint32) (session.NodeID, short) {
	t, s := &p.tree, &p.places
	var missing []uint32
	for at := id; !s.frames[at].placed; at = s.frames[at].parent {
		missing = append(missing, at)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		f := &s.frames[missing[i]]
		t.nodes[missing[i]] = t.place(p, wire.Node{Parent: f.parent, IP: f.ip})
		f.placed = true
	}
	return t.nodes[id].id, t.nodes[id].function
}

// isOf says whether a timing has the functions with probes of a stack. It can have more: those that have jumped have no
// frame.
func (s *places) isOf(p *process, node, timing uint32) bool {
	for node != 0 && timing != 0 {
		f, c := &s.frames[node], s.calls.At(int(timing-1))
		if f.path == c.path {
			return true
		}
		function := p.times.taken.At(int(timing - 1)).place(p).function
		if !c.declared && function == p.tree.instructions[f.ip].function {
			node = s.frames[f.parent].probed
		}
		timing = c.parent
	}
	return node == 0 && timing == 0
}

// outermost returns the node next to one with probes, among those below that down to another, whose function is of a
// class: wire.FunctionBoundary, which has a row as what functions with probes call, or wire.FunctionUnprobed, which
// cannot have any. 0: none is.
func (s *places) outermost(t *tree, id, probed, class uint32) uint32 {
	outer := uint32(0)
	for ; id != probed; id = s.frames[id].parent {
		if t.instructions[s.frames[id].ip].class&class != 0 {
			outer = id
		}
	}
	return outer
}
