package collect

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/dotnet/callee"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// names holds what the log of one process said of modules, types, functions and bodies: the session's id for each of
// the arena's ids.
type names struct {
	modules   map[uint32]module
	corePath  string // of the core library
	types     map[uint32]typ
	functions map[uint32]function
	bodies    map[uint32]body
	finder    callee.Finder
	marked    map[uint32]*markedFunction

	ofFunction map[session.FunctionID][]uint32 // bodies
	order      []short                         // ids of types, by the arena's

	lostType func() session.TypeID // what stands for a type that was never described; nil: that is an error
}

type module struct {
	id         session.ModuleID
	name, path string
}

type typ struct {
	id      session.TypeID
	module  session.ModuleID
	unknown bool
	name    string // as in metadata
}

type function struct {
	id    session.FunctionID
	keep  bool   // by the filter
	class uint32 // wire.FunctionInstrumented, FunctionBoundary or 0
	waits bool   // it can be what suspends or resumes an async method
	// of a declaration: code that calls it allocates objects of this type itself, "": none; boxes: and others
	makes string
	boxes bool
}

// short is an id of the session, all of which are counted from 1: Recording.Room sees to it that they fit.
type short uint32

type body struct {
	id     session.BodyID
	ranges []wire.Range
}

func newNames() names {
	return names{
		modules: map[uint32]module{}, types: map[uint32]typ{}, functions: map[uint32]function{},
		bodies: map[uint32]body{}, marked: map[uint32]*markedFunction{},
		ofFunction: map[session.FunctionID][]uint32{}, order: []short{0},
	}
}

func (n *names) typeID(id uint32) (session.TypeID, bool) {
	t, ok := n.types[id]
	return t.id, ok
}

func (n *names) typeUnknown(id uint32) bool { return n.types[id].unknown }

func (n *names) add(r *Recorder, p *recording.Process, record any) error {
	switch record := record.(type) {
	case wire.Module:
		n.addModule(p, &record)
	case wire.Type:
		return n.addType(p, &record)
	case wire.Function:
		return n.addFunction(r, p, &record)
	case wire.Callee:
		return n.addCallee(r, p, &record)
	case wire.Body:
		return n.addBody(p, &record)
	}
	return nil
}

func (n *names) addModule(p *recording.Process, m *wire.Module) {
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
	id := p.Module(session.Module{Name: name, Path: m.Path, MVID: guid(m.MVID),
		IsDynamic: m.Flags&wire.ModuleDynamic != 0, Origin: string(origins[m.Flags>>wire.ModuleOriginShift])})
	n.modules[m.ID] = module{id, name, m.Path}
}

// origins are those that the agent decides. One that is not known is decided later.
var origins = map[uint32]usercode.Origin{wire.OriginPattern: usercode.Pattern, wire.OriginProject: usercode.Project,
	wire.OriginBeside: usercode.Beside, wire.OriginMemory: usercode.Memory, wire.OriginFolder: usercode.Folder,
	wire.OriginFramework: usercode.Framework, wire.OriginSDK: usercode.SDK, wire.OriginPackage: usercode.Package,
	wire.OriginGenerated: usercode.Generated, wire.OriginMicrosoft: usercode.Microsoft,
	wire.OriginElsewhere: usercode.Elsewhere}

// guid writes the bytes of a GUID, as they lie in memory, in the usual form; "" for a zero GUID.
func guid(b [16]byte) string {
	if b == [16]byte{} {
		return ""
	}
	return fmt.Sprintf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%x-%x", b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6],
		b[8:10], b[10:])
}

var typeKinds = map[uint32]string{wire.TypeUnknown: session.TypeUnknown, wire.TypeClass: session.TypeClass,
	wire.TypeArray: session.TypeArray, wire.TypeOther: session.TypeOther}

func (n *names) addType(p *recording.Process, t *wire.Type) error {
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
	row := session.Type{Module: n.modules[t.Module].id, Token: session.Token(t.Token), Kind: kind,
		Rank: int64(t.Rank), Bounds: t.Bounds != 0, ElementType: element[0], ElementCode: int64(t.ElementCode),
		RawName: rawTypeName(t.Names)}
	if t.Kind == wire.TypeArray { // an array belongs where its element does
		row.Module = n.types[t.Element].module
	}
	described, again := n.types[t.ID]
	if again {
		p.DescribeType(described.id, row, arguments)
	} else {
		described.id = p.Type(row, arguments)
	}
	n.setType(t.ID, typ{described.id, row.Module, t.Kind == wire.TypeUnknown, row.RawName})
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
		if id != 0 && !ok && n.lostType != nil {
			out[i] = n.lostType()
			continue
		}
		if id != 0 && !ok {
			return nil, fmt.Errorf("%w: type %d was never described", wire.ErrCorrupt, id)
		}
		out[i] = t.id
	}
	return out, nil
}

// rawTypeName joins nested names: Namespace.Outer/Inner.
func rawTypeName(names []string) string { return strings.Join(names, "/") }

func (n *names) addFunction(r *Recorder, p *recording.Process, f *wire.Function) error {
	arguments, err := n.typeIDs(append([]uint32{f.Type}, f.Arguments...))
	if err != nil {
		return err
	}
	m := n.modules[f.Module]
	row := session.Function{Module: m.id, Token: session.Token(f.Token), Type: arguments[0],
		Kind: session.FunctionMethod, RawType: rawTypeName(f.TypeNames), RawName: f.Name, Signature: f.Signature}
	if f.Flags&wire.FunctionDynamic != 0 {
		row.Kind = session.FunctionDynamic
	}
	if f.Flags&wire.FunctionMarked != 0 {
		n.marked[f.ID] = newMarkedFunction(m.name, &row)
	}
	keep := r.filter.Keeps(m.name, row.RawType, row.RawName)
	class := f.Flags & (wire.FunctionInstrumented | wire.FunctionBoundary | wire.FunctionUnprobed)
	n.functions[f.ID] = function{id: p.Function(row, arguments[1:]), keep: keep, class: class, waits: canWait(f.Name)}
	return nil
}

func (n *names) addBody(p *recording.Process, b *wire.Body) error {
	f, ok := n.functions[b.Function]
	if !ok || len(b.Ranges) == 0 {
		return fmt.Errorf("%w: body %d of function %d with %d ranges", wire.ErrCorrupt, b.ID, b.Function, len(b.Ranges))
	}
	row := session.Body{Function: f.id, Address: session.Address(b.Ranges[0].Address)}
	for _, span := range b.Ranges {
		row.Size += int64(span.Size)
	}
	points := make([]session.ILPoint, len(b.Map))
	for i, at := range b.Map {
		points[i] = session.ILPoint{Native: at.Native, IL: at.IL}
	}
	slices.SortStableFunc(points, func(a, b session.ILPoint) int { return cmp.Compare(a.Native, b.Native) })
	row.ILMap = session.EncodeILMap(points)
	n.bodies[b.ID] = body{p.Body(row), b.Ranges}
	n.ofFunction[f.id] = append(n.ofFunction[f.id], b.ID)
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
