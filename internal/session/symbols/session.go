package symbols

import (
	"errors"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// Read collects the input of Resolve from a session.
func Read(s *session.Session) (in Input, err error) {
	var errs [8]error
	in.ReadCode = true
	in.Modules, errs[0] = s.Modules()
	in.Types, errs[1] = s.Types()
	in.TypeArguments, errs[2] = s.TypeArguments()
	in.Functions, errs[3] = s.Functions()
	in.FunctionArguments, errs[4] = s.FunctionArguments()
	in.Bodies, errs[5] = s.Bodies()
	in.Instructions, errs[6] = s.Instructions()
	in.Processes, errs[7] = s.Processes()
	in.Allocated = func(functions map[session.FunctionID]bool) map[session.FunctionID]map[session.TypeID]bool {
		return AllocatedBy(s, functions)
	}
	in.CalledFrom = func(instructions map[session.InstructionID]bool) map[session.InstructionID]CalledFrom {
		return ReadCalledFrom(s, instructions)
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Input{}, fmt.Errorf("reading what is to be resolved: %w", err)
	}
	return in, nil
}

// Write stores the output of Resolve in the session that its input came from.
// The session must not have source files or lines yet.
func (o *Output) Write(w *session.Writer) error {
	err := w.Batch(func() error {
		for _, step := range []func() error{
			func() error { return w.InsertSourceFiles(o.SourceFiles) },
			func() error { return w.InsertLines(o.Lines) },
			func() error { return w.InsertParamsArrays(o.ParamsArrays) },
			func() error { return w.ResolveModules(o.Modules) },
			func() error { return w.ResolveTypes(o.Types) },
			func() error { return w.ResolveFunctions(o.Functions) },
			func() error { return w.ResolveInstructions(o.Instructions) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storing names and lines: %w", err)
	}
	return nil
}

// AllocatedBy returns the types of the objects that some functions made themselves, as far as they can be read: what
// adds up the same rows says what is wrong with them.
func AllocatedBy(s *session.Session,
	functions map[session.FunctionID]bool) map[session.FunctionID]map[session.TypeID]bool {
	nodes, sites := places(s)
	by := map[session.NodeID]session.FunctionID{}
	for i := range nodes {
		if functions[nodes[i].Function] {
			by[nodes[i].ID] = nodes[i].Function
		}
	}
	types := map[session.FunctionID]map[session.TypeID]bool{}
	for i := range sites {
		function, ok := by[sites[i].Node]
		if !ok {
			continue
		}
		if types[function] == nil {
			types[function] = map[session.TypeID]bool{}
		}
		types[function][sites[i].Type] = true
	}
	return types
}

// ReadCalledFrom returns what happened at some return addresses, as far as it can be read: see AllocatedBy.
func ReadCalledFrom(s *session.Session,
	instructions map[session.InstructionID]bool) map[session.InstructionID]CalledFrom {
	nodes, sites := places(s)
	at := map[session.NodeID]session.InstructionID{}
	for i := range nodes {
		if instructions[nodes[i].Instruction] {
			at[nodes[i].ID] = nodes[i].Instruction
		}
	}
	called := map[session.InstructionID]CalledFrom{}
	for i := range nodes {
		if id, ok := at[nodes[i].Parent]; ok && nodes[i].Function != 0 {
			c := called[id]
			if !slices.Contains(c.Functions, nodes[i].Function) {
				c.Functions = append(c.Functions, nodes[i].Function)
				called[id] = c
			}
		}
	}
	for i := range sites {
		if id, ok := at[sites[i].Node]; ok {
			c := called[id]
			if !slices.Contains(c.Types, sites[i].Type) {
				c.Types = append(c.Types, sites[i].Type)
				called[id] = c
			}
		}
	}
	return called
}

// places returns the nodes and sites of a session; none if they cannot be read.
func places(s *session.Session) ([]session.Node, []session.Site) {
	nodes, err := s.Nodes()
	if err != nil {
		return nil, nil
	}
	sites, err := s.Sites()
	if err != nil {
		return nil, nil
	}
	return nodes, sites
}
