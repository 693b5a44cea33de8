package analysis

import (
	"maps"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// EntryKind is what functions are by which a framework enters user code.
type EntryKind int

// The kinds of entry points.
const (
	EntryTests     EntryKind = iota // test methods
	EntryEndpoints                  // functions that answer requests over HTTP
)

// name returns what makes a function an entry point of the kind: the attribute of a test, the route of an endpoint; "":
// it is none.
func (k EntryKind) name(f *session.Function) string {
	if k == EntryTests {
		return f.Test
	}
	return f.Route
}

// Several is what the row of that is called which is of several entry points: Entries.Several.
func (k EntryKind) Several() string {
	if k == EntryTests {
		return "(several tests)"
	}
	return "(several endpoints)"
}

// Beside is what the row of that is called which was done outside of entry points: Entries.Outside.
func (k EntryKind) Beside() string {
	if k == EntryTests {
		return "(outside of tests)"
	}
	return "(outside of endpoints)"
}

// Elsewhere is what the row of processes is called that have no entry points: Entries.Elsewhere.
func (k EntryKind) Elsewhere() string {
	if k == EntryTests {
		return "(processes without tests)"
	}
	return "(processes without endpoints)"
}

// Entries are the values of the entry points of one kind, in the order of their functions. Each allocation and each
// interval of time counts once, and all of them add up to what is selected.
type Entries struct {
	List []EntryValue
	// of processes that have entry points: the runner or server, fixtures, and threads that they started
	Outside []EntryValue
	// what async methods did after they had waited that several entry points call, or that are also called outside
	Several []EntryValue
	// the sum over processes without entry points, such as those that build, and start the tests
	Elsewhere EntryValue
}

// EntryValue is what was done in the calls of an entry point, by its method and by what that called; also what async
// methods did after they had waited, if all their calls were made in this entry point. One that another one calls
// counts for that.
type EntryValue struct {
	Function  session.FunctionID   // the method, or its state machine if only that is known; 0: of no entry point
	Functions []session.FunctionID // both
	Process   session.ProcessID
	Amounts   q.Amounts
	Time      session.TimeValue
}

// IsZero reports whether nothing of it is selected.
func (t EntryValue) IsZero() bool { return t.Amounts.IsZero() && t.Time == session.TimeValue{} }

// HasEntries reports whether one of some functions is an entry point of a kind.
func HasEntries(functions []session.Function, kind EntryKind) bool {
	return slices.ContainsFunc(functions, func(f session.Function) bool { return kind.name(&f) != "" })
}

// Entries computes what the entry points of a kind did that are selected.
func (v *Source) Entries(kind EntryKind) (*Entries, error) {
	functions, err := v.session.Functions()
	if err != nil || !HasEntries(functions, kind) {
		return &Entries{}, err
	}
	t := &entryTree{asyncTree: asyncTree{functions: newAsyncFunctions(functions)}}
	if err := t.readSelected(v); err != nil {
		return nil, err
	}
	t.findAnchors()
	t.findEntries(kind)
	t.findOwners()
	return t.sum(), nil
}

// entryTree says of each path of the physical tree which entry point it is of.
type entryTree struct {
	asyncTree
	entries []EntryValue
	entry   []int32 // by function: its entry point; none
	owner   []int32 // by path
}

// Owners of paths that are no entry points. Among the calls of an async method unseen ones do not count, and others
// that are not all of one owner make it ofSeveral.
const (
	ofUnseen  int32 = -1
	ofOutside int32 = -2
	ofSeveral int32 = -3
)

// findEntries finds the functions of each entry point: its method, and the state machine of that.
func (t *entryTree) findEntries(kind EntryKind) {
	type key struct {
		process session.ProcessID
		module  session.ModuleID
		name    string
	}
	at := map[key]int32{}
	t.entry = make([]int32, len(t.functions.rows))
	for i := range t.functions.rows {
		f := &t.functions.rows[i]
		if t.entry[i] = none; kind.name(f) == "" {
			continue
		}
		name, mark := writtenName(f)
		k := key{f.Process, f.Module, name}
		n, known := at[k]
		if !known {
			n = int32(len(t.entries))
			at[k] = n
			t.entries = append(t.entries, EntryValue{Function: f.ID, Process: f.Process})
		}
		x := &t.entries[n]
		if x.Functions = append(x.Functions, f.ID); mark == "" {
			x.Function = f.ID
		}
		t.entry[i] = n
	}
}

// findOwners finds of which entry point each path is. What an async method did after it had waited is of the owner of
// its calls, which can be anywhere in the tree: it takes a turn more for each such method that another one calls.
func (t *entryTree) findOwners() {
	t.owner = make([]int32, len(t.paths))
	for i := range t.owner {
		t.owner[i] = ofUnseen
	}
	for changed := true; changed; {
		changed = false
		for i := range t.paths {
			if owner := t.ownerOf(int32(i)); owner != t.owner[i] {
				t.owner[i], changed = owner, true
			}
		}
	}
}

// ownerOf is the owner of a path, as far as those are known that it depends on. That of what an async method did after
// it had waited goes from unseen to one, and from one to several, never back: so there is a last turn.
func (t *entryTree) ownerOf(path int32) int32 {
	p, owner := &t.paths[path], ofOutside
	if caller := t.returned(path, p.parent); caller >= 0 {
		owner = t.owner[caller]
	}
	switch {
	case p.function >= 0 && t.entry[p.function] != none && (owner < 0 || t.hasWaited(path)):
		return t.entry[p.function]
	case t.isResumed(path):
		owner = t.owner[path]
		for _, anchor := range t.anchors[p.function] {
			switch of := t.owner[anchor]; {
			case owner == ofUnseen:
				owner = of
			case of != ofUnseen && of != owner:
				owner = ofSeveral
			}
		}
	}
	return owner
}

// sum adds up the paths of each owner.
func (t *entryTree) sum() *Entries {
	ran := map[session.ProcessID]bool{}
	var elsewhere EntryValue
	beside := map[int32]map[session.ProcessID]*EntryValue{ofOutside: {}, ofSeveral: {}}
	for i := range t.paths {
		if t.owner[i] >= 0 {
			ran[t.paths[i].process] = true
		}
	}
	for i := range t.paths {
		p, owner := &t.paths[i], t.owner[i]
		if owner >= 0 {
			t.entries[owner].add(p, p.function >= 0 && t.entry[p.function] == owner, t.isCall(int32(i)))
			continue
		}
		if owner == ofUnseen { // an async method that only calls itself: it is not known who called it first
			owner = ofSeveral
		}
		if !ran[p.process] {
			elsewhere.add(p, true, t.isCall(int32(i)))
			continue
		}
		of := beside[owner]
		if of[p.process] == nil {
			of[p.process] = &EntryValue{Process: p.process}
		}
		of[p.process].add(p, true, t.isCall(int32(i)))
	}
	return &Entries{slices.DeleteFunc(t.entries, EntryValue.IsZero), inOrder(beside[ofOutside]),
		inOrder(beside[ofSeveral]), elsewhere}
}

// isCall reports whether the calls of a path are calls of its function: who calls an async method or an iterator calls
// the function that makes its state machine.
func (t *entryTree) isCall(path int32) bool {
	f := t.paths[path].function
	return f < 0 || !t.functions.iterator[f] && (!t.functions.machine[f] || t.start[path] == path)
}

// add adds what was done on a path; itself: by the function itself.
func (t *EntryValue) add(p *asyncPath, itself, isCall bool) {
	t.Amounts.Inclusive = t.Amounts.Inclusive.Add(p.own)
	t.Time.Inclusive = t.Time.Inclusive.Add(p.time.Exclusive)
	if !itself {
		return
	}
	t.Amounts.Exclusive = t.Amounts.Exclusive.Add(p.own)
	t.Time.Exclusive = t.Time.Exclusive.Add(p.time.Exclusive)
	if isCall {
		t.Time.Calls, t.Time.Running = t.Time.Calls+p.time.Calls, t.Time.Running+p.time.Running
	}
}

// inOrder are the values of processes, in their order, but for those that have nothing.
func inOrder(of map[session.ProcessID]*EntryValue) []EntryValue {
	var out []EntryValue
	for _, p := range slices.Sorted(maps.Keys(of)) {
		if !of[p].IsZero() {
			out = append(out, *of[p])
		}
	}
	return out
}
