package il

// Site is an instruction that calls a function or makes an object.
type Site struct {
	At    int    // its offset
	Op    int    // OpCall, OpCalli, OpCallvirt, OpNewobj, OpNewarr or OpBox
	Token uint32 // what it names
	// Statement is where its evaluation began: the last offset up to At at which nothing is on the stack.
	Statement int
	// Joined: a branch leads to an offset since then, with something on the stack.
	Joined bool
}

// sites takes note of sites. It knows nothing of values.
type sites struct {
	flow  *flow[struct{}]
	found []Site
}

func (s *sites) meet(struct{}, struct{}) struct{} { return struct{}{} }

func (s *sites) lose(struct{}) {}

func (s *sites) use(i *Instruction, _ Signature, _ []struct{}) struct{} {
	if i.IsCall() || i.Op == OpNewarr || i.Op == OpBox {
		s.found = append(s.found, Site{At: i.At, Op: i.Op, Token: i.Token(), Statement: s.flow.empty,
			Joined: s.flow.joined})
	}
	return struct{}{}
}

// Sites finds the instructions of a method that call or make objects, in the order of the code. Errors are those of
// Objects.
func Sites(body *Body, signature Calls) ([]Site, error) {
	s := &sites{}
	s.flow = newFlow[struct{}](body, signature, s)
	if err := s.flow.follow(body); err != nil {
		return nil, err
	}
	return s.found, nil
}
