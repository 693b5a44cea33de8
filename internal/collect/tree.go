package collect

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// tree holds the session's id for each instruction and node of one arena, by the arena's id.
type tree struct {
	instructions []instruction
	nodes        []node
}

type instruction struct {
	id       session.InstructionID // 0: native code
	function session.FunctionID
	keep     bool
}

type node struct {
	id        session.NodeID // that of its parent if the filter leaves its function out
	truncated bool           // at or below (truncated)
}

func (t *tree) len() int { return len(t.nodes) }

func (t *tree) id(id uint32) (session.NodeID, bool) {
	if id == wire.NodeRoot || int(id) >= len(t.nodes) {
		return 0, false
	}
	return t.nodes[id].id, true
}

func (t *tree) isTruncated(id uint32) bool { return t.nodes[id].truncated }

// extend writes the instructions and nodes that are new in the arena's tables.
func (t *tree) extend(r *Recorder, p *process, ips []wire.IP, nodes []wire.Node) error {
	if err := t.extendInstructions(r, p, ips); err != nil {
		return err
	}
	var rows []session.Node
	for i := len(t.nodes); i < len(nodes); i++ {
		n := nodes[i]
		if i == wire.NodeRoot {
			t.nodes = append(t.nodes, node{})
			continue
		}
		if int(n.Parent) >= i || int(n.IP) >= len(t.instructions) || n.IP == wire.IPNone {
			return fmt.Errorf("%w: node %d has parent %d and instruction %d", wire.ErrCorrupt, i, n.Parent, n.IP)
		}
		rows = t.addNode(r, p, n, rows)
	}
	if err := p.names.write(r); err != nil { // pseudo functions
		return err
	}
	return r.w.InsertNodes(rows)
}

func (t *tree) addNode(r *Recorder, p *process, n wire.Node, rows []session.Node) []session.Node {
	parent, at := t.nodes[n.Parent], t.instructions[n.IP]
	row := session.Node{Parent: parent.id, Process: p.id, Function: at.function, Instruction: at.id}
	truncated := parent.truncated || n.IP == wire.IPTruncated
	switch n.IP {
	case wire.IPTruncated:
		row.Function = p.names.pseudo(r, p.id, truncatedFunction)
	case wire.IPUnknown:
		row.Function = p.names.pseudo(r, p.id, unmanagedFunction)
	}
	if !at.keep {
		if parent.id != 0 {
			t.nodes = append(t.nodes, node{parent.id, truncated})
			return rows
		}
		row.Function, row.Instruction = p.names.pseudo(r, p.id, excludedFunction), 0
	}
	r.next.node++
	row.ID = r.next.node
	t.nodes = append(t.nodes, node{row.ID, truncated})
	return append(rows, row)
}

func (t *tree) extendInstructions(r *Recorder, p *process, ips []wire.IP) error {
	var rows []session.Instruction
	for i := len(t.instructions); i < len(ips); i++ {
		ip := ips[i]
		if i < wire.IPFirst || ip.Flags&wire.IPManaged == 0 {
			t.instructions = append(t.instructions, instruction{keep: i == wire.IPTruncated || i == wire.IPUnknown})
			continue
		}
		f, ok := p.names.functions[ip.Function]
		b, described := p.names.bodies[ip.Body]
		if !ok || (ip.Body != 0 && !described) {
			return fmt.Errorf("%w: instruction %d in function %d, body %d", wire.ErrCorrupt, i, ip.Function, ip.Body)
		}
		r.next.instruction++
		t.instructions = append(t.instructions, instruction{r.next.instruction, f.id, f.keep})
		rows = append(rows, session.Instruction{ID: r.next.instruction, Function: f.id, Body: b.id,
			Address: session.Address(ip.Address), NativeOffset: b.nativeOffset(ip.Address), ILOffset: -1})
	}
	return r.w.InsertInstructions(rows)
}
