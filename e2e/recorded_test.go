package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
)

// made is so many objects and their bytes.
type made struct{ Objects, Bytes int64 }

func (m made) plus(o made) made { return made{m.Objects + o.Objects, m.Bytes + o.Bytes} }

// function identifies a function as targets do: by file or scope name of the module and by token; dynamic methods,
// which have neither, by name.
type function struct {
	PID    int // 0 where the truth is of one process
	Module string
	Token  uint32
	Name   string // without arguments, of types or of the method
}

type functionType struct {
	function
	Type string
}

type threadFunctionType struct {
	Thread, Function, Type string
}

// recorded is what a session says, added up from the recorded tables alone and in the simplest way: neither names nor
// sums that clrprof derives are in it.
type recorded struct {
	exclusive, inclusive map[functionType]made
	threads              map[threadFunctionType]made // inclusive
	types                map[functionType]made       // of function, only the PID is set
	below                map[function]made           // inclusive, all types, without frozen objects
	moduleOfType         map[string]string
	frozen               map[string]made // by type
	total                made
	named                map[string]bool // names of threads, if some threads share rows
}

// reader holds the recorded tables by id.
type reader struct {
	t         *testing.T
	s         *session.Session
	withPID   bool
	types     map[session.TypeID]session.Type
	arguments map[session.TypeID][]session.TypeID
	modules   map[session.ModuleID]session.Module
	processes map[session.ProcessID]session.Process
	functions map[session.FunctionID]function
	externs   map[session.FunctionID]bool // without IL
	nodes     map[session.NodeID]session.Node
	names     map[session.TypeID]string
	same      map[function]*function // each that is equal once, so that stacks of many nodes are small
	stacks    map[session.NodeID][]*function
}

// need returns rows that must be readable.
func need[Row any](t *testing.T, read func() ([]Row, error)) []Row {
	t.Helper()
	rows, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func byID[ID comparable, Row any](rows []Row, id func(Row) ID) map[ID]Row {
	m := make(map[ID]Row, len(rows))
	for _, r := range rows {
		m[id(r)] = r
	}
	return m
}

func newReader(t *testing.T, path string, withPID bool) *reader {
	t.Helper()
	s := openSession(t, path)
	r := &reader{t: t, s: s, withPID: withPID, arguments: map[session.TypeID][]session.TypeID{},
		functions: map[session.FunctionID]function{}, externs: map[session.FunctionID]bool{}, names: map[session.TypeID]string{},
		same: map[function]*function{}, stacks: map[session.NodeID][]*function{}}
	r.types = byID(need(t, s.Types), func(x session.Type) session.TypeID { return x.ID })
	r.modules = byID(need(t, s.Modules), func(x session.Module) session.ModuleID { return x.ID })
	r.processes = byID(need(t, s.Processes), func(x session.Process) session.ProcessID { return x.ID })
	r.nodes = byID(need(t, s.Nodes), func(x session.Node) session.NodeID { return x.ID })
	for _, a := range need(t, s.TypeArguments) { // ordered by position
		r.arguments[a.Type] = append(r.arguments[a.Type], a.Argument)
	}
	for _, f := range need(t, s.Functions) {
		r.externs[f.ID] = f.Kind == session.FunctionExtern
		key := function{Module: r.modules[f.Module].Name, Token: uint32(f.Token), Name: rawName(f.RawType) + "." +
			f.RawName}
		if f.Kind != session.FunctionMethod && f.Kind != session.FunctionExtern {
			key.Name = f.RawName
		}
		if withPID {
			key.PID = int(r.processes[f.Process].PID)
		}
		r.functions[f.ID] = key
		if r.same[key] == nil {
			r.same[key] = &key
		}
	}
	return r
}

// readRecorded adds up the recorded tables of a session. withPID keeps processes apart.
func readRecorded(t *testing.T, path string, withPID bool) *recorded {
	t.Helper()
	r := newReader(t, path, withPID)
	out := &recorded{map[functionType]made{}, map[functionType]made{}, map[threadFunctionType]made{},
		map[functionType]made{},
		map[function]made{}, map[string]string{}, map[string]made{}, made{}, nil}
	threads := byID(need(t, r.s.Threads), func(x session.Thread) session.ThreadID { return x.ID })
	for _, set := range need(t, r.s.ThreadSets) { // a set counts as what its threads are called
		thread := threads[set.Thread]
		thread.Name = set.Name
		threads[set.Thread] = thread
		out.named = map[string]bool{"": true}
	}
	for _, thread := range threads {
		if out.named != nil {
			out.named[thread.Name] = true
		}
	}
	bySite := map[session.SiteID]made{}
	for _, v := range need(t, r.s.SiteValues) {
		bySite[v.Site] = bySite[v.Site].plus(made{int64(v.Allocations), int64(v.Bytes)})
	}
	for _, site := range need(t, r.s.Sites) {
		m := bySite[site.ID]
		typ := r.typeName(site.Type)
		out.total = out.total.plus(m)
		out.moduleOfType[typ] = r.modules[r.types[site.Type].Module].Name
		if site.Frozen {
			out.frozen[typ] = out.frozen[typ].plus(m)
		}
		r.addStack(out, site, threads[site.Thread].Name, typ, m)
	}
	return out
}

// bodies returns how many native compilations of each function were on a stack, most of one instantiation.
func (r *reader) bodies() map[function]int {
	out, of := map[function]int{}, map[session.FunctionID]int{}
	for _, b := range need(r.t, r.s.Bodies) {
		of[b.Function]++
		f := r.functions[b.Function]
		out[f] = max(out[f], of[b.Function])
	}
	return out
}

// addStack counts objects for each function on a stack once, and for the innermost one as its own.
func (r *reader) addStack(out *recorded, site session.Site, thread, typ string, m made) {
	leaf := r.functions[r.nodes[site.Node].Function]
	out.exclusive[functionType{leaf, typ}] = out.exclusive[functionType{leaf, typ}].plus(m)
	of := functionType{function{PID: leaf.PID}, typ}
	out.types[of] = out.types[of].plus(m)
	for _, on := range r.stack(site.Node) {
		f := *on
		out.inclusive[functionType{f, typ}] = out.inclusive[functionType{f, typ}].plus(m)
		key := threadFunctionType{thread, f.Name, typ}
		out.threads[key] = out.threads[key].plus(m)
		if !site.Frozen {
			out.below[f] = out.below[f].plus(m)
		}
	}
}

// stack is the functions from the root to the node, each once. A parent's id is smaller than its children's, so
// recursion of any depth is walked once.
func (r *reader) stack(node session.NodeID) []*function {
	var path []session.NodeID
	var s []*function
	for ; node != 0; node = r.nodes[node].Parent {
		known, ok := r.stacks[node]
		if ok {
			s = known
			break
		}
		path = append(path, node)
	}
	for _, n := range slices.Backward(path) {
		if f := r.same[r.functions[r.nodes[n].Function]]; !slices.Contains(s, f) {
			s = append(slices.Clip(s), f)
		}
		r.stacks[n] = s
	}
	return s
}

// typeName is a type's name as targets print it, made from what the runtime said.
func (r *reader) typeName(id session.TypeID) string {
	if name, ok := r.names[id]; ok {
		return name
	}
	typ, ok := r.types[id]
	if !ok {
		return "?"
	}
	if typ.Kind == session.TypeArray {
		ranks := ""
		for typ.Kind == session.TypeArray {
			ranks += rankName(typ)
			id = typ.ElementType
			typ = r.types[id]
		}
		return r.typeName(id) + ranks
	}
	arguments := r.arguments[id]
	var parts []string
	for _, part := range strings.Split(typ.RawName, "/") {
		name, count, generic := strings.Cut(part, "`")
		n, err := strconv.Atoi(count)
		if generic && err == nil && n <= len(arguments) {
			var names []string
			for _, a := range arguments[:n] {
				names = append(names, r.typeName(a))
			}
			arguments = arguments[n:]
			name += "<" + strings.Join(names, ",") + ">"
		}
		parts = append(parts, name)
	}
	r.names[id] = strings.Join(parts, ".")
	return r.names[id]
}

func rankName(t session.Type) string {
	if t.Bounds {
		return "[*]"
	}
	return "[" + strings.Repeat(",", int(t.Rank)-1) + "]"
}

// rawName is a declaring type as in metadata, with dots, without the numbers of type parameters.
func rawName(s string) string {
	var parts []string
	for _, part := range strings.Split(s, "/") {
		name, _, _ := strings.Cut(part, "`")
		parts = append(parts, name)
	}
	return strings.Join(parts, ".")
}

// withoutArguments takes the type arguments out of a function's name: Outer<T>..cctor. Names made by compilers, such
// as <Twice>d__1, begin with a bracket.
func withoutArguments(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '<' || i == 0 || name[i-1] == '.' {
			b.WriteByte(name[i])
			continue
		}
		for depth := 0; i < len(name); i++ {
			if name[i] == '<' {
				depth++
			}
			if name[i] == '>' {
				if depth--; depth == 0 {
					break
				}
			}
		}
	}
	return b.String()
}
