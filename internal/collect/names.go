package collect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/callee"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/usercode"
	"github.com/clrprof/clrprof/internal/wire"
)

// names holds what the log of one process said of modules, types, functions and bodies: the session's id for each of
// the arena's ids, and rows that are not written yet.
type names struct {
	modules   map[uint32]module
	corePath  string // of the core library
	types     map[uint32]typ
	functions map[uint32]function
	bodies    map[uint32]body
	known     known
	finder    callee.Finder
	marked    map[uint32]*markedFunction

	ofFunction map[session.FunctionID][]uint32 // bodies
	order      []short                         // ids of types, by the arena's

	newModules   []session.Module
	newTypes     []session.Type
	replaceTypes []session.Type
	newTypeArgs  []session.TypeArgument
	newFunctions []session.Function
	newFuncArgs  []session.FunctionArgument
	newBodies    []session.Body
}

type module struct {
	id         session.ModuleID
	name, path string
}

type typ struct {
	id      session.TypeID
	module  session.ModuleID
	unknown bool
}

type function struct {
	id    session.FunctionID
	keep  bool   // by the filter
	class uint32 // wire.FunctionInstrumented, FunctionBoundary or 0
	waits bool   // it can be what suspends or resumes an async method
}

type body struct {
	id     session.BodyID
	ranges []wire.Range
}

// known finds a row by what it says, so that equal descriptions share one.
type known struct {
	modules   map[string]session.ModuleID
	types     map[string]session.TypeID
	functions map[string]session.FunctionID
	pseudo    map[string]session.FunctionID
}

func newNames() names {
	return names{
		modules: map[uint32]module{}, types: map[uint32]typ{}, functions: map[uint32]function{}, bodies: map[uint32]body{}, marked: map[uint32]*markedFunction{},
		known: known{map[string]session.ModuleID{}, map[string]session.TypeID{}, map[string]session.FunctionID{}, map[string]session.FunctionID{}},

		ofFunction: map[session.FunctionID][]uint32{}, order: []short{0},
	}
}

func (n *names) typeID(id uint32) (session.TypeID, bool) {
	t, ok := n.types[id]
	return t.id, ok
}

func (n *names) typeUnknown(id uint32) bool { return n.types[id].unknown }

func (n *names) add(r *Recorder, p session.ProcessID, record any) error {
	switch record := record.(type) {
	case wire.Module:
		n.addModule(r, p, &record)
	case wire.Type:
		return n.addType(r, p, &record)
	case wire.Function:
		return n.addFunction(r, p, &record)
	case wire.Callee:
		return n.addCallee(r, p, &record)
	case wire.Body:
		return n.addBody(r, &record)
	}
	return nil
}

func (n *names) addModule(r *Recorder, p session.ProcessID, m *wire.Module) {
	name := m.Name
	if m.Path != "" {
		name = filepath.Base(m.Path)
	}
	if name == coreLibrary {
		n.corePath = m.Path
	}
	if m.Path != "" {
		n.finder.Loaded(m.Path)
	}
	mvid, key := guid(m.MVID), ""
	if mvid != "" {
		key = fmt.Sprintf("%s\x00%s\x00%s\x00%d", m.Path, m.Name, mvid, m.Flags)
		id, ok := n.known.modules[key]
		if !ok && m.Path != "" {
			id, ok = n.known.modules[fileKey(m.Path, mvid)]
		}
		if ok {
			n.modules[m.ID] = module{id, name, m.Path}
			return
		}
	}
	r.next.module++
	id := r.next.module
	n.modules[m.ID] = module{id, name, m.Path}
	if key != "" {
		n.known.modules[key] = id
		if m.Path != "" {
			n.known.modules[fileKey(m.Path, mvid)] = id
		}
	}
	n.newModules = append(n.newModules, session.Module{ID: id, Process: p, Name: name, Path: m.Path, MVID: mvid,
		IsDynamic: m.Flags&wire.ModuleDynamic != 0, Origin: string(origins[m.Flags>>wire.ModuleOriginShift])})
}

// origins are those that the agent decides. One that is not known is decided later.
var origins = map[uint32]usercode.Origin{wire.OriginPattern: usercode.Pattern, wire.OriginProject: usercode.Project,
	wire.OriginBeside: usercode.Beside, wire.OriginMemory: usercode.Memory, wire.OriginFolder: usercode.Folder,
	wire.OriginFramework: usercode.Framework, wire.OriginSDK: usercode.SDK, wire.OriginPackage: usercode.Package,
	wire.OriginGenerated: usercode.Generated, wire.OriginMicrosoft: usercode.Microsoft, wire.OriginElsewhere: usercode.Elsewhere}

// guid writes the bytes of a GUID, as they lie in memory, in the usual form; "" for a zero GUID.
func guid(b [16]byte) string {
	if b == [16]byte{} {
		return ""
	}
	return fmt.Sprintf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%x-%x", b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8:10], b[10:])
}

var typeKinds = map[uint32]string{wire.TypeUnknown: session.TypeUnknown, wire.TypeClass: session.TypeClass,
	wire.TypeArray: session.TypeArray, wire.TypeOther: session.TypeOther}

func (n *names) addType(r *Recorder, p session.ProcessID, t *wire.Type) error {
	kind, ok := typeKinds[t.Kind]
	if !ok {
		return fmt.Errorf("%w: type %d of unknown kind %d", wire.ErrCorrupt, t.ID, t.Kind)
	}
	arguments, err := n.typeIDs(t.Arguments)
	if err != nil {
		return err
	}
	element, err := n.typeIDs([]uint32{t.Element})
	if err != nil {
		return err
	}
	row := session.Type{Process: p, Module: n.modules[t.Module].id, Token: session.Token(t.Token), Kind: kind,
		Rank: int64(t.Rank), Bounds: t.Bounds != 0, ElementType: element[0], ElementCode: int64(t.ElementCode), RawName: rawTypeName(t.Names)}
	if t.Kind == wire.TypeArray { // an array belongs where its element does
		row.Module = n.types[t.Element].module
	}
	unknown := t.Kind == wire.TypeUnknown
	key := fmt.Sprintf("%+v %v", row, arguments)
	if id, found := n.known.types[key]; found && !unknown {
		if _, described := n.types[t.ID]; !described {
			n.setType(t.ID, typ{id, row.Module, false})
			return nil
		}
	}
	earlier, again := n.types[t.ID]
	if again {
		row.ID = earlier.id
		n.replaceTypes = append(n.replaceTypes, row)
	} else {
		r.next.typ++
		row.ID = r.next.typ
		n.newTypes = append(n.newTypes, row)
	}
	n.setType(t.ID, typ{row.ID, row.Module, unknown})
	if !unknown {
		n.known.types[key] = row.ID
	}
	for i, a := range arguments {
		n.newTypeArgs = append(n.newTypeArgs, session.TypeArgument{Type: row.ID, Position: int64(i), Argument: a})
	}
	return nil
}

// setType says which type of the session one of the arena is. Its ids count up.
func (n *names) setType(id uint32, t typ) {
	n.types[id] = t
	if int(id) == len(n.order) {
		n.order = append(n.order, short(t.id))
	}
}

func (n *names) typeIDs(ids []uint32) ([]session.TypeID, error) {
	out := make([]session.TypeID, len(ids))
	for i, id := range ids {
		t, ok := n.types[id]
		if id != 0 && !ok {
			return nil, fmt.Errorf("%w: type %d was never described", wire.ErrCorrupt, id)
		}
		out[i] = t.id
	}
	return out, nil
}

// rawTypeName joins nested names: Namespace.Outer/Inner.
func rawTypeName(names []string) string { return strings.Join(names, "/") }

func (n *names) addFunction(r *Recorder, p session.ProcessID, f *wire.Function) error {
	arguments, err := n.typeIDs(append([]uint32{f.Type}, f.Arguments...))
	if err != nil {
		return err
	}
	m := n.modules[f.Module]
	row := session.Function{Process: p, Module: m.id, Token: session.Token(f.Token), Type: arguments[0],
		Kind: session.FunctionMethod, RawType: rawTypeName(f.TypeNames), RawName: f.Name, Signature: f.Signature}
	if f.Flags&wire.FunctionDynamic != 0 {
		row.Kind = session.FunctionDynamic
	}
	if f.Flags&wire.FunctionMarked != 0 {
		n.marked[f.ID] = newMarkedFunction(m.name, &row)
	}
	keep := r.filter.Keeps(m.name, row.RawType, row.RawName)
	class := f.Flags & (wire.FunctionInstrumented | wire.FunctionBoundary)
	key := fmt.Sprintf("%d %d %v", m.id, f.Token, arguments)
	if id, ok := n.known.functions[key]; ok && row.Kind == session.FunctionMethod {
		n.functions[f.ID] = function{id, keep, class, canWait(f.Name)}
		return nil
	}
	r.next.function++
	row.ID = r.next.function
	n.functions[f.ID] = function{row.ID, keep, class, canWait(f.Name)}
	if f.Token != 0 && m.id != 0 {
		n.known.functions[key] = row.ID
	}
	n.newFunctions = append(n.newFunctions, row)
	for i, a := range arguments[1:] {
		n.newFuncArgs = append(n.newFuncArgs, session.FunctionArgument{Function: row.ID, Position: int64(i), Argument: a})
	}
	return nil
}

// pseudo returns the function that stands for frames which are not a method's.
func (n *names) pseudo(r *Recorder, p session.ProcessID, name string) session.FunctionID {
	if id, ok := n.known.pseudo[name]; ok {
		return id
	}
	r.next.function++
	n.known.pseudo[name] = r.next.function
	n.newFunctions = append(n.newFunctions, session.Function{ID: r.next.function, Process: p, Kind: session.FunctionPseudo, RawName: name})
	return r.next.function
}

func (n *names) addBody(r *Recorder, b *wire.Body) error {
	f, ok := n.functions[b.Function]
	if !ok || len(b.Ranges) == 0 {
		return fmt.Errorf("%w: body %d of function %d with %d ranges", wire.ErrCorrupt, b.ID, b.Function, len(b.Ranges))
	}
	r.next.body++
	row := session.Body{ID: r.next.body, Function: f.id, Address: session.Address(b.Ranges[0].Address)}
	for _, span := range b.Ranges {
		row.Size += int64(span.Size)
	}
	points := make([]session.ILPoint, len(b.Map))
	for i, p := range b.Map {
		points[i] = session.ILPoint{Native: p.Native, IL: p.IL}
	}
	slices.SortStableFunc(points, func(a, b session.ILPoint) int { return cmp.Compare(a.Native, b.Native) })
	row.ILMap = session.EncodeILMap(points)
	n.bodies[b.ID] = body{row.ID, b.Ranges}
	n.ofFunction[f.id] = append(n.ofFunction[f.id], b.ID)
	n.newBodies = append(n.newBodies, row)
	return nil
}

// bodyAt returns the newest body of a function around an address: memory can be used again.
func (n *names) bodyAt(f session.FunctionID, address uint64) (body, bool) {
	of := n.ofFunction[f]
	for i := len(of) - 1; i >= 0; i-- {
		b := n.bodies[of[i]]
		for _, r := range b.ranges {
			if address-r.Address < r.Size {
				return b, true
			}
		}
	}
	return body{}, false
}

// nativeOffset counts from the start of the body's first range; later ranges follow it, as in the runtime's IL maps.
func (b body) nativeOffset(address uint64) int64 {
	before := uint64(0)
	for _, r := range b.ranges {
		if address-r.Address < r.Size {
			return int64(before + address - r.Address)
		}
		before += r.Size
	}
	return 0
}

func (n *names) write(r *Recorder) error {
	r.watched.describe(n)
	err := cmp.Or(
		r.w.InsertModules(n.newModules),
		r.w.InsertTypes(n.newTypes),
		r.w.ReplaceTypes(n.replaceTypes),
		r.w.InsertTypeArguments(n.newTypeArgs),
		r.w.InsertFunctions(n.newFunctions),
		r.w.InsertFunctionArguments(n.newFuncArgs),
		r.w.InsertBodies(n.newBodies),
	)
	n.newModules, n.newTypes, n.replaceTypes, n.newTypeArgs = nil, nil, nil, nil
	n.newFunctions, n.newFuncArgs, n.newBodies = nil, nil, nil
	return err
}
