package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// tree holds the session's id for each instruction and node of one arena, by the arena's id.
//
// In a process whose calls are timed, stacks of allocations and timings are one tree: nodes are found by what they say,
// and of the stacks only those frames are kept whose calls are timed.
type tree struct {
	instructions []instruction
	nodes        []node

	joined map[branch]short                // with timings: the nodes
	places map[place]session.InstructionID // the same of instructions

	newInstructions []session.Instruction
	newNodes        []session.Node
}

type instruction struct {
	id       session.InstructionID // 0: native code
	function session.FunctionID
	keep     bool
	class    uint32 // of the function, wire.FunctionInstrumented and so on
}

// branch is what a node of one process says, by the ids of the session.
type branch struct{ parent, function, instruction short }

// place is a return address in a body of a function.
type place struct {
	function session.FunctionID
	body     session.BodyID
	address  uint64
}

type node struct {
	id        session.NodeID // that of its parent if its function is left out; 0 if that has none
	function  short          // of node id
	truncated bool           // at or below (truncated)
	class     uint8          // of the function of node id
}

// join says that timings are part of the tree.
func (t *tree) join() {
	if t.joined == nil {
		t.joined, t.places = map[branch]short{}, map[place]session.InstructionID{}
	}
}

func (t *tree) len() int { return len(t.nodes) }

// id returns the session's id of a node, 0 if nothing on its stack is kept.
func (t *tree) id(id uint32) (session.NodeID, bool) {
	if id == wire.NodeRoot || int(id) >= len(t.nodes) {
		return 0, false
	}
	return t.nodes[id].id, true
}

func (t *tree) isTruncated(id uint32) bool { return t.nodes[id].truncated }

// extend adds the instructions and nodes that are new in the arena's tables. What of them is not written when it returns is for write.
func (t *tree) extend(r *Recorder, p *process, ips []wire.IP, nodes []wire.Node) error {
	if err := t.extendInstructions(r, p, ips); err != nil {
		return err
	}
	for i := len(t.nodes); i < len(nodes); i++ {
		n := nodes[i]
		if i == wire.NodeRoot {
			t.nodes = append(t.nodes, node{})
			continue
		}
		if int(n.Parent) >= i || int(n.IP) >= len(t.instructions) || n.IP == wire.IPNone {
			return fmt.Errorf("%w: node %d has parent %d and instruction %d", wire.ErrCorrupt, i, n.Parent, n.IP)
		}
		t.nodes = append(t.nodes, t.place(r, p, n))
		if len(t.newNodes) >= rowsAtOnce {
			if err := t.write(r, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes what is new.
func (t *tree) write(r *Recorder, p *process) error {
	if err := p.names.write(r); err != nil { // pseudo functions
		return err
	}
	if err := r.w.InsertInstructions(t.newInstructions); err != nil {
		return err
	}
	if err := r.w.InsertNodes(t.newNodes); err != nil {
		return err
	}
	t.newInstructions, t.newNodes = t.newInstructions[:0], t.newNodes[:0]
	return nil
}

// place finds the place of a node of the arena in the session's tree.
func (t *tree) place(r *Recorder, p *process, n wire.Node) node {
	parent, at := t.nodes[n.Parent], t.instructions[n.IP]
	out := node{id: parent.id, function: parent.function, truncated: parent.truncated || n.IP == wire.IPTruncated, class: parent.class}
	row := session.Node{Parent: parent.id, Process: p.id, Function: at.function, Instruction: at.id}
	switch {
	case n.IP == wire.IPTruncated:
		row.Function = p.names.pseudo(r, p.id, session.NameTruncated)
	case n.IP == wire.IPUnknown:
		row.Function = p.names.pseudo(r, p.id, unmanagedFunction)
	case t.joined != nil:
		if !isTimed(uint32(parent.class), at.class) {
			return out
		}
	case !at.keep && parent.id != 0:
		return out
	case !at.keep:
		row.Function, row.Instruction = p.names.pseudo(r, p.id, excludedFunction), 0
	}
	out.id, out.function, out.class = t.node(r, row), short(row.Function), uint8(at.class)
	return out
}

// isTimed says whether the calls of a function are timed when the function around the call, the nearest whose own are,
// is of the given class.
func isTimed(caller, class uint32) bool {
	return class&wire.FunctionInstrumented != 0 || (class&wire.FunctionBoundary != 0 && caller&wire.FunctionInstrumented != 0)
}

// node returns the id of a node that is given without one. With timings equal nodes are one.
func (t *tree) node(r *Recorder, row session.Node) session.NodeID {
	at := branch{short(row.Parent), short(row.Function), short(row.Instruction)}
	if id, ok := t.joined[at]; ok {
		return session.NodeID(id)
	}
	r.next.node++
	if t.joined != nil {
		t.joined[at] = short(r.next.node)
	}
	row.ID = r.next.node
	t.newNodes = append(t.newNodes, row)
	return row.ID
}

func (t *tree) extendInstructions(r *Recorder, p *process, ips []wire.IP) error {
	for i := len(t.instructions); i < len(ips); i++ {
		ip := ips[i]
		if i < wire.IPFirst || ip.Flags&(wire.IPManaged|wire.IPHelper) != wire.IPManaged {
			t.instructions = append(t.instructions, instruction{keep: i == wire.IPTruncated || i == wire.IPUnknown})
			continue
		}
		f, ok := p.names.functions[ip.Function]
		b, described := p.names.bodies[ip.Body]
		if !ok || (ip.Body != 0 && !described) {
			return fmt.Errorf("%w: instruction %d in function %d, body %d", wire.ErrCorrupt, i, ip.Function, ip.Body)
		}
		t.instructions = append(t.instructions, instruction{t.instruction(r, f.id, b, ip.Address), f.id, f.keep, f.class})
	}
	return nil
}

// instruction returns the id of the instruction at an address. With timings equal ones are one.
func (t *tree) instruction(r *Recorder, f session.FunctionID, b body, address uint64) session.InstructionID {
	key := place{f, b.id, address}
	if id, ok := t.places[key]; ok {
		return id
	}
	r.next.instruction++
	if t.places != nil {
		t.places[key] = r.next.instruction
	}
	t.newInstructions = append(t.newInstructions, session.Instruction{ID: r.next.instruction, Function: f, Body: b.id,
		Address: session.Address(address), NativeOffset: b.nativeOffset(address), ILOffset: -1})
	return r.next.instruction
}

// instructionAt returns the instruction of a timing's return address, if that is in the given function, else 0. What the
// agent has not described itself is found in the function's bodies, which it describes before they run.
func (t *tree) instructionAt(r *Recorder, p *process, f session.FunctionID, x *wire.Timing) (session.InstructionID, error) {
	switch described := int64(x.IP) < int64(len(t.instructions)); {
	case !described && p.over:
		return 0, fmt.Errorf("%w: instruction %d of %d", wire.ErrCorrupt, x.IP, len(t.instructions))
	case x.IP != wire.IPNone && described && t.instructions[x.IP].function == f:
		return t.instructions[x.IP].id, nil
	}
	b, ok := p.names.bodyAt(f, x.ReturnAddress)
	if !ok {
		return 0, nil
	}
	return t.instruction(r, f, b, x.ReturnAddress), nil
}
