package symbols

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// Resolve names types and functions and finds the lines of instructions.
// progress, which may be nil, is called after each module file that was dealt
// with: done of total.
//
// There is no error: a file that is missing, of another build or corrupt shows
// in the status of its module, and names come from what was recorded.
//
// The result depends on the input and the files alone. The name of a function
// or type does not depend on what else the session holds.
func Resolve(in Input, open Opener, progress func(done, total int)) Output {
	r := newResolver(in)
	keys := r.openModules(open)
	r.nameTypes()
	r.findTraits()
	r.params = r.newParamsFinder()
	for i, key := range keys {
		r.resolveFunctions(r.files[key])
		if progress != nil {
			progress(i+1, len(keys))
		}
	}
	r.calls.decide(r.in.CalledFrom)
	r.finishLines()
	r.summarize()
	return r.out
}

// resolver holds the state of one Resolve.
type resolver struct {
	in    Input
	out   Output
	files map[moduleKey]*moduleFile

	moduleFiles   map[session.ModuleID]*moduleFile
	types         map[session.TypeID]*session.Type // into out.Types
	typeArgs      map[session.TypeID][]session.TypeID
	methodArgs    map[session.FunctionID][]session.TypeID
	bodies        map[session.BodyID]*session.Body
	instructions  map[session.FunctionID][]int // into out.Instructions
	names         map[session.TypeID]typeText
	lines         lineTable
	calls         callLines
	functionLines []place               // by index of out.Functions
	definitions   map[string]definition // types of all modules by name; nil until something needs it
	bundled       bundles
	params        *paramsFinder             // nil: arrays of params are not asked for
	routes        *routes                   // nil until something needs them
	users         map[session.ModuleID]bool // which modules are user code; nil until something needs it
}

func newResolver(in Input) *resolver {
	r := &resolver{
		in: in,
		out: Output{
			Modules:      slices.Clone(in.Modules),
			Types:        slices.Clone(in.Types),
			Functions:    slices.Clone(in.Functions),
			Instructions: slices.Clone(in.Instructions),
		},
		files:         map[moduleKey]*moduleFile{},
		moduleFiles:   make(map[session.ModuleID]*moduleFile, len(in.Modules)),
		types:         make(map[session.TypeID]*session.Type, len(in.Types)),
		typeArgs:      map[session.TypeID][]session.TypeID{},
		methodArgs:    map[session.FunctionID][]session.TypeID{},
		bodies:        make(map[session.BodyID]*session.Body, len(in.Bodies)),
		instructions:  make(map[session.FunctionID][]int, len(in.Functions)),
		names:         make(map[session.TypeID]typeText, len(in.Types)),
		functionLines: make([]place, len(in.Functions)),
	}
	r.calls.r = r
	for i := range r.out.Types {
		r.types[r.out.Types[i].ID] = &r.out.Types[i]
	}
	for i := range in.Bodies {
		r.bodies[in.Bodies[i].ID] = &in.Bodies[i]
	}
	for i, n := range in.Instructions {
		r.instructions[n.Function] = append(r.instructions[n.Function], i)
		r.out.Instructions[i].ILOffset, r.out.Instructions[i].Line = -1, 0
	}
	r.lines.of = make([]place, len(in.Instructions))
	for _, a := range slices.SortedFunc(slices.Values(in.TypeArguments), func(a, b session.TypeArgument) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Position, b.Position))
	}) {
		r.typeArgs[a.Type] = appendArgument(r.typeArgs[a.Type], a.Position, a.Argument)
	}
	for _, a := range slices.SortedFunc(slices.Values(in.FunctionArguments), func(a, b session.FunctionArgument) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Position, b.Position))
	}) {
		r.methodArgs[a.Function] = appendArgument(r.methodArgs[a.Function], a.Position, a.Argument)
	}
	return r
}

// appendArgument adds an argument at its position. Positions count from 0 and
// come in order; a gap, which a correct session does not have, is filled with
// "unknown", and positions that no type has are dropped.
func appendArgument(args []session.TypeID, position int64, id session.TypeID) []session.TypeID {
	if position < int64(len(args)) || position >= maxArguments {
		return args
	}
	for int64(len(args)) < position {
		args = append(args, 0)
	}
	return append(args, id)
}

func (r *resolver) summarize() {
	s := &r.out.Summary
	for i := range r.out.Functions {
		if r.out.Functions[i].Kind == session.FunctionPseudo {
			continue
		}
		s.Functions++
		if r.out.Functions[i].Line == 0 {
			s.FunctionsWithoutLines++
		}
	}
	for i := range r.out.Instructions {
		if r.out.Instructions[i].Body == 0 {
			continue
		}
		s.Instructions++
		if r.out.Instructions[i].ILOffset < 0 {
			s.InstructionsUnmapped++
		}
	}
}
