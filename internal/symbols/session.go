package symbols

import (
	"errors"
	"fmt"

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
	nodes, err := s.Nodes()
	if err != nil {
		return nil
	}
	sites, err := s.Sites()
	if err != nil {
		return nil
	}
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
