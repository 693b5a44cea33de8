package live

import (
	shortnames "github.com/clrprof/clrprof/internal/dotnet/names"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
)

// names finds the readable names of rows, once each, from what was recorded of them.
type names struct {
	processes     map[session.ProcessID]session.Process
	modules       map[session.ModuleID]session.Module
	typeRows      map[session.TypeID]session.Type
	typeArguments map[session.TypeID][]session.TypeArgument
	functionRows  map[session.FunctionID]session.Function
	arguments     map[session.FunctionID][]session.FunctionArgument

	functions, types map[int]label // by id
}

// label is how a row is shown.
type label struct{ name, short, module string }

func newNames() names {
	return names{map[session.ProcessID]session.Process{}, map[session.ModuleID]session.Module{},
		map[session.TypeID]session.Type{},
		map[session.TypeID][]session.TypeArgument{}, map[session.FunctionID]session.Function{},
		map[session.FunctionID][]session.FunctionArgument{},
		map[int]label{}, map[int]label{}}
}

// describe takes rows; those that are there already are replaced.
func (n *names) describe(in *symbols.Input) {
	for _, row := range in.Processes {
		n.processes[row.ID] = row
	}
	for _, row := range in.Modules {
		n.modules[row.ID] = row
	}
	for _, row := range in.Types {
		if old, ok := n.typeRows[row.ID]; ok && old != row {
			delete(n.types, int(row.ID))
		}
		n.typeRows[row.ID] = row
		delete(n.typeArguments, row.ID)
	}
	for _, row := range in.TypeArguments {
		n.typeArguments[row.Type] = append(n.typeArguments[row.Type], row)
	}
	for _, row := range in.Functions {
		n.functionRows[row.ID] = row
		delete(n.arguments, row.ID)
	}
	for _, row := range in.FunctionArguments {
		n.arguments[row.Function] = append(n.arguments[row.Function], row)
	}
}

// nameFunctions finds the names of those that have none yet.
func (n *names) nameFunctions(rows []changed) {
	in := n.input()
	for _, row := range rows {
		if f, ok := n.functionRows[session.FunctionID(row.id)]; ok && n.functions[row.id] == (label{}) {
			in.addFunction(f)
		}
	}
	if len(in.Functions) == 0 {
		return
	}
	out := symbols.Resolve(in.Input, symbols.OpenFile, nil)
	modules := byModule(out.Modules)
	for i := range out.Functions {
		f := &out.Functions[i]
		n.functions[int(f.ID)] = modules.label(f.Module, f.Name,
			shortnames.ShortFunction(f.Name, shortnames.Namespace(f.RawType)))
	}
}

// nameTypes finds the names of those that have none yet.
func (n *names) nameTypes(rows []changed) {
	in := n.input()
	for _, row := range rows {
		if n.types[row.id] == (label{}) {
			in.addType(session.TypeID(row.id))
		}
	}
	if len(in.Types) == 0 {
		return
	}
	out := symbols.Resolve(in.Input, symbols.OpenFile, nil)
	modules := byModule(out.Modules)
	for i := range out.Types {
		t := &out.Types[i]
		named := session.NamedType(t.ID, n.typeRow)
		n.types[int(t.ID)] = modules.label(t.Module, t.Name,
			shortnames.ShortType(t.Name, shortnames.Namespace(named.RawName)))
	}
}

// typeRow returns what is known of a type.
func (n *names) typeRow(id session.TypeID) *session.Type {
	row := n.typeRows[id]
	return &row
}

// input gathers what symbols.Resolve needs to name some rows.
type input struct {
	symbols.Input
	names   *names
	types   map[session.TypeID]bool
	modules map[session.ModuleID]bool
}

func (n *names) input() *input {
	in := &input{names: n, types: map[session.TypeID]bool{}, modules: map[session.ModuleID]bool{}}
	for _, p := range n.processes {
		in.Processes = append(in.Processes, p)
	}
	return in
}

func (in *input) addFunction(f session.Function) {
	in.Functions = append(in.Functions, f)
	in.addModule(f.Module)
	in.addType(f.Type)
	for _, a := range in.names.arguments[f.ID] {
		in.FunctionArguments = append(in.FunctionArguments, a)
		in.addType(a.Argument)
	}
}

// addType adds a type and all that its name has in it.
func (in *input) addType(id session.TypeID) {
	for todo := []session.TypeID{id}; len(todo) > 0; {
		id, todo = todo[0], todo[1:]
		row, ok := in.names.typeRows[id]
		if !ok || in.types[id] {
			continue
		}
		in.types[id] = true
		in.Types = append(in.Types, row)
		in.addModule(row.Module)
		todo = append(todo, row.ElementType)
		for _, a := range in.names.typeArguments[id] {
			in.TypeArguments = append(in.TypeArguments, a)
			todo = append(todo, a.Argument)
		}
	}
}

func (in *input) addModule(id session.ModuleID) {
	if m, ok := in.names.modules[id]; ok && !in.modules[id] {
		in.modules[id] = true
		in.Modules = append(in.Modules, m)
	}
}

type moduleRows map[session.ModuleID]session.Module

func byModule(rows []session.Module) moduleRows {
	out := moduleRows{}
	for _, m := range rows {
		out[m.ID] = m
	}
	return out
}

func (m moduleRows) label(id session.ModuleID, name, short string) label {
	return label{name, short, m[id].Name}
}
