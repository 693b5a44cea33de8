package recording

import (
	"cmp"
	"fmt"

	"github.com/clrprof/clrprof/internal/session"
)

// names finds the rows of a process by what they say, and holds those that are not written yet.
type names struct {
	modules   map[string]session.ModuleID
	types     map[string]session.TypeID
	functions map[string]session.FunctionID
	pseudo    map[string]session.FunctionID

	newModules   []session.Module
	newTypes     []session.Type
	replaceTypes []session.Type
	newTypeArgs  []session.TypeArgument
	newFunctions []session.Function
	newFuncArgs  []session.FunctionArgument
	newBodies    []session.Body
}

func newNames() names {
	return names{modules: map[string]session.ModuleID{}, types: map[string]session.TypeID{},
		functions: map[string]session.FunctionID{},
		pseudo:    map[string]session.FunctionID{}}
}

// fileKey is the key of a module's file among the known modules.
func fileKey(path, mvid string) string { return path + "\x00" + mvid }

// Module returns the id of a module that was loaded. Two without a version id are never the same.
func (p *Process) Module(row session.Module) session.ModuleID {
	if row.MVID == "" {
		return p.newModule(row)
	}
	key := fileKey(row.Path, row.MVID)
	if row.Path == "" {
		key = fmt.Sprintf("\x00%s\x00%s\x00%t\x00%s", row.Name, row.MVID, row.IsDynamic, row.Origin)
	}
	return p.module(key, row)
}

// File returns the id of a module that need not be loaded: of a file or, without a version id, of an assembly of
// which only the name is known, which is its path then.
func (p *Process) File(path, mvid string, row session.Module) session.ModuleID {
	return p.module(fileKey(path, mvid), row)
}

func (p *Process) module(key string, row session.Module) session.ModuleID {
	id, ok := p.names.modules[key]
	if !ok {
		id = p.newModule(row)
		p.names.modules[key] = id
	}
	return id
}

func (p *Process) newModule(row session.Module) session.ModuleID {
	p.recording.next.module++
	row.ID, row.Process = p.recording.next.module, p.id
	p.names.newModules = append(p.names.newModules, row)
	return row.ID
}

// Type returns the id of a type. Two that are unknown are never the same.
func (p *Process) Type(row session.Type, arguments []session.TypeID) session.TypeID {
	row.Process = p.id
	key := typeKey(&row, arguments)
	if row.Kind != session.TypeUnknown {
		if id, ok := p.names.types[key]; ok {
			return id
		}
	}
	p.recording.next.typ++
	row.ID = p.recording.next.typ
	p.names.newTypes = append(p.names.newTypes, row)
	p.describeType(key, &row, arguments)
	return row.ID
}

// DescribeType says what a type is that was not known, or was something else.
func (p *Process) DescribeType(id session.TypeID, row session.Type, arguments []session.TypeID) {
	row.Process = p.id
	key := typeKey(&row, arguments)
	row.ID = id
	p.names.replaceTypes = append(p.names.replaceTypes, row)
	p.describeType(key, &row, arguments)
}

// typeKey is of a row without an id.
func typeKey(row *session.Type, arguments []session.TypeID) string {
	return fmt.Sprintf("%+v %v", *row, arguments)
}

func (p *Process) describeType(key string, row *session.Type, arguments []session.TypeID) {
	if row.Kind != session.TypeUnknown {
		p.names.types[key] = row.ID
	}
	for i, a := range arguments {
		p.names.newTypeArgs = append(p.names.newTypeArgs, session.TypeArgument{Type: row.ID, Position: int64(i),
			Argument: a})
	}
}

// Function returns the id of a function with its type arguments.
func (p *Process) Function(row session.Function, arguments []session.TypeID) session.FunctionID {
	key := fmt.Sprintf("%d %d %d %v", row.Module, row.Token, row.Type, arguments)
	if id, ok := p.names.functions[key]; ok && row.Kind == session.FunctionMethod {
		return id
	}
	id := p.newFunction(row)
	if row.Token != 0 && row.Module != 0 {
		p.names.functions[key] = id
	}
	for i, a := range arguments {
		p.names.newFuncArgs = append(p.names.newFuncArgs, session.FunctionArgument{Function: id, Position: int64(i),
			Argument: a})
	}
	return id
}

// Declared returns the id of a function of which only a declaration is known, without type arguments: declarations of
// several instances are one.
func (p *Process) Declared(row session.Function) session.FunctionID {
	key := fmt.Sprintf("declared %d %d %s %s %x", row.Module, row.Token, row.RawType, row.RawName, row.Signature)
	id, ok := p.names.functions[key]
	if !ok {
		id = p.newFunction(row)
		p.names.functions[key] = id
	}
	return id
}

// Pseudo returns the function that stands for frames which are not a method's.
func (p *Process) Pseudo(name string) session.FunctionID {
	id, ok := p.names.pseudo[name]
	if !ok {
		id = p.newFunction(session.Function{Kind: session.FunctionPseudo, RawName: name})
		p.names.pseudo[name] = id
	}
	return id
}

// FindPseudo is like Pseudo, but 0 if there is none yet.
func (p *Process) FindPseudo(name string) session.FunctionID { return p.names.pseudo[name] }

func (p *Process) newFunction(row session.Function) session.FunctionID {
	p.recording.next.function++
	row.ID, row.Process = p.recording.next.function, p.id
	p.names.newFunctions = append(p.names.newFunctions, row)
	return row.ID
}

// Body adds native code of a function.
func (p *Process) Body(row session.Body) session.BodyID {
	p.recording.next.body++
	row.ID = p.recording.next.body
	p.names.newBodies = append(p.names.newBodies, row)
	return row.ID
}

// WriteNames writes what is new of modules, types, functions and bodies.
func (p *Process) WriteNames() error {
	n, w := &p.names, p.recording.w
	p.recording.watched.describe(n)
	p.recording.described += int64(len(n.newModules) + len(n.newTypes) + len(n.replaceTypes) + len(n.newTypeArgs) +
		len(n.newFunctions) + len(n.newFuncArgs) + len(n.newBodies))
	err := cmp.Or(
		w.InsertModules(n.newModules),
		w.InsertTypes(n.newTypes),
		w.ReplaceTypes(n.replaceTypes),
		w.InsertTypeArguments(n.newTypeArgs),
		w.InsertFunctions(n.newFunctions),
		w.InsertFunctionArguments(n.newFuncArgs),
		w.InsertBodies(n.newBodies),
	)
	n.newModules, n.newTypes, n.replaceTypes, n.newTypeArgs = nil, nil, nil, nil
	n.newFunctions, n.newFuncArgs, n.newBodies = nil, nil, nil
	return err
}
