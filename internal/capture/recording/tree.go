package recording

import (
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/pieces"
)

// tree is the instructions and nodes of a process.
type tree struct {
	joined bool // nodes are found by what they say
	nodes  pieces.List[branch]
	ids    numbering // of nodes
	parent short     // the greatest that has a node: what is above it has none
	index  pieces.Index
	places map[place]session.InstructionID // the same of instructions

	newInstructions []session.Instruction
	newNodes        []session.Node
}

// branch is what a node of one process says, by the ids of the session.
type branch struct{ parent, function, instruction short }

func (b branch) hash() uint64 {
	return mixed(mixed(uint64(b.parent)<<32|uint64(b.function)) ^ uint64(b.instruction))
}

// mixed returns a number each bit of which depends on all of n: the last step of MurmurHash3, which is reversible.
func mixed(n uint64) uint64 {
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53
	return n ^ n>>33
}

// place is a return address in a body of a function.
type place struct {
	function session.FunctionID
	body     session.BodyID
	address  session.Address
}

// Join makes equal instructions and equal nodes one from now on. Without it, a source that has such a tree itself
// needs no memory for that.
func (p *Process) Join() {
	if !p.tree.joined {
		p.tree.joined, p.tree.places = true, map[place]session.InstructionID{}
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
	if t.joined && at.parent <= t.parent {
		if row, ok := t.index.Find(at.hash(), func(row uint32) bool { return *t.nodes.At(int(row)) == at }); ok {
			return session.NodeID(t.ids.id(int(row)))
		}
	}
	p.recording.next.node++
	id := p.recording.next.node
	if t.joined {
		t.addBranch(at, short(id))
	}
	t.newNodes = append(t.newNodes, session.Node{ID: id, Parent: parent, Process: p.id, Function: function,
		Instruction: instruction})
	return id
}

// addBranch adds a node that is found from now on.
func (t *tree) addBranch(b branch, id short) {
	row := t.nodes.Len()
	t.ids.add(row, id)
	t.nodes.Add(b)
	t.parent = max(t.parent, b.parent)
	t.index.Add(b.hash(), uint32(row), func(row uint32) uint64 { return t.nodes.At(int(row)).hash() })
}

// NodeParts returns the parent and the function of a node that was added after Join.
func (p *Process) NodeParts(id session.NodeID) (parent session.NodeID, function session.FunctionID) {
	b := p.tree.nodes.At(p.tree.ids.row(short(id)))
	return session.NodeID(b.parent), session.FunctionID(b.function)
}

// WaitingNodes is how many nodes are not written.
func (p *Process) WaitingNodes() int { return len(p.tree.newNodes) }

// WriteTree writes what is new of names, instructions and nodes.
func (p *Process) WriteTree() error {
	if err := p.WriteNames(); err != nil { // pseudo functions
		return err
	}
	t, w := &p.tree, p.recording.w
	p.recording.described += int64(len(t.newInstructions))
	if err := w.InsertInstructions(t.newInstructions); err != nil {
		return err
	}
	if err := w.InsertNodes(t.newNodes); err != nil {
		return err
	}
	t.newInstructions, t.newNodes = t.newInstructions[:0], t.newNodes[:0]
	return nil
}
