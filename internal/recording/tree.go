package recording

import "github.com/clrprof/clrprof/internal/session"

// tree is the instructions and nodes of a process.
type tree struct {
	joined map[branch]short                // if nodes are found by what they say
	places map[place]session.InstructionID // the same of instructions

	newInstructions []session.Instruction
	newNodes        []session.Node
}

// branch is what a node of one process says, by the ids of the session.
type branch struct{ parent, function, instruction short }

// place is a return address in a body of a function.
type place struct {
	function session.FunctionID
	body     session.BodyID
	address  session.Address
}

// Join makes equal instructions and equal nodes one from now on. Without it, a source that has such a tree itself
// needs no memory for that.
func (p *Process) Join() {
	if p.tree.joined == nil {
		p.tree.joined, p.tree.places = map[branch]short{}, map[place]session.InstructionID{}
	}
}

// Instruction returns the id of an instruction.
func (p *Process) Instruction(row session.Instruction) session.InstructionID {
	t, key := &p.tree, place{row.Function, row.Body, row.Address}
	if id, ok := t.places[key]; ok {
		return id
	}
	p.recording.next.instruction++
	row.ID = p.recording.next.instruction
	if t.places != nil {
		t.places[key] = row.ID
	}
	t.newInstructions = append(t.newInstructions, row)
	return row.ID
}

// Node returns the id of a node: of a function, called from an instruction of the parent.
func (p *Process) Node(parent session.NodeID, function session.FunctionID,
	instruction session.InstructionID) session.NodeID {
	t, at := &p.tree, branch{short(parent), short(function), short(instruction)}
	if id, ok := t.joined[at]; ok {
		return session.NodeID(id)
	}
	p.recording.next.node++
	id := p.recording.next.node
	if t.joined != nil {
		t.joined[at] = short(id)
	}
	t.newNodes = append(t.newNodes, session.Node{ID: id, Parent: parent, Process: p.id, Function: function,
		Instruction: instruction})
	return id
}

// WaitingNodes is how many nodes are not written.
func (p *Process) WaitingNodes() int { return len(p.tree.newNodes) }

// WriteTree writes what is new of names, instructions and nodes.
func (p *Process) WriteTree() error {
	if err := p.WriteNames(); err != nil { // pseudo functions
		return err
	}
	t, w := &p.tree, p.recording.w
	if err := w.InsertInstructions(t.newInstructions); err != nil {
		return err
	}
	if err := w.InsertNodes(t.newNodes); err != nil {
		return err
	}
	t.newInstructions, t.newNodes = t.newInstructions[:0], t.newNodes[:0]
	return nil
}
