package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/capture/recording"
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

	joined bool // with timings
}

type instruction struct {
	id       session.InstructionID // 0: native code
	function session.FunctionID
	keep     bool
	class    uint32 // of the function, wire.FunctionInstrumented and so on
}

type node struct {
	id        session.NodeID // that of its parent if its function is left out; 0 if that has none
	function  short          // of node id
	truncated bool           // at or below (truncated)
	class     uint8          // of the function of node id
}

// join says that timings are part of the tree.
func (t *tree) join(p *recording.Process) {
	t.joined = true
	p.Join()
}

func (t *tree) len() int { return len(t.nodes) }

func (t *tree) isTruncated(id uint32) bool { return t.nodes[id].truncated }

// extend adds the instructions and nodes that are new in the arena's tables. Some are not written when it returns.
func (t *tree) extend(p *process, ips []wire.IP, nodes []wire.Node) error {
	if err := t.extendInstructions(p, ips); err != nil {
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
		if p.places.on {
			p.places.addFrame(t, n)
			t.nodes = append(t.nodes, node{truncated: t.nodes[n.Parent].truncated || n.IP == wire.IPTruncated})
			continue
		}
		t.nodes = append(t.nodes, t.place(p, n))
		if p.rec.WaitingNodes() >= recording.RowsAtOnce {
			if err := p.rec.WriteTree(); err != nil {
				return err
			}
		}
	}
	return nil
}

// place finds the place of a node of the arena in the session's tree.
func (t *tree) place(p *process, n wire.Node) node {
	parent, at := t.nodes[n.Parent], t.instructions[n.IP]
	out := node{id: parent.id, function: parent.function, truncated: parent.truncated || n.IP == wire.IPTruncated,
		class: parent.class}
	function, instruction := at.function, at.id
	switch {
	case n.IP == wire.IPTruncated:
		function = p.rec.Pseudo(session.NameTruncated)
	case n.IP == wire.IPUnknown:
		function = p.rec.Pseudo(unmanagedFunction)
	case t.joined:
		if !hasRow(uint32(parent.class), at.class) {
			return out
		}
	case !at.keep && parent.id != 0:
		return out
	case !at.keep:
		function, instruction = p.rec.Pseudo(session.NameExcluded), 0
	}
	out.id, out.function, out.class = p.rec.Node(parent.id, function, instruction), short(function), uint8(at.class)
	return out
}

// hasRow says whether a function on a stack has a row where calls are timed, when the function around the call, the
// nearest that has one, is of the given class: its calls are timed, or would be if it could have probes.
func hasRow(caller, class uint32) bool {
	const own = wire.FunctionInstrumented | wire.FunctionUnprobed
	return class&own != 0 || (class&wire.FunctionBoundary != 0 && caller&own != 0)
}

func (t *tree) extendInstructions(p *process, ips []wire.IP) error {
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
		t.instructions = append(t.instructions, instruction{p.instruction(f.id, b, ip.Address), f.id, f.keep, f.class})
	}
	return nil
}

// instruction returns the id of the instruction at an address.
func (p *process) instruction(f session.FunctionID, b body, address uint64) session.InstructionID {
	return p.rec.Instruction(session.Instruction{Function: f, Body: b.id, Address: session.Address(address),
		NativeOffset: b.nativeOffset(address), ILOffset: -1})
}

// instructionAt returns the instruction of a timing's return address, if that is in the given function, else 0. What
// the agent has not described itself is found in the function's bodies, which it describes before they run, but what
// other threads run while the runtime reports it.
func (t *tree) instructionAt(p *process, f session.FunctionID, x *wire.Timing) (session.InstructionID, error) {
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
	return p.instruction(f, b, x.ReturnAddress), nil
}
