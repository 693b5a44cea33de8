package analysis

import (
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// An async method that ends after it has waited resumes whoever waits for it before it returns: its continuations run
// on its stack, below the function by which it sets its result (Task.RunContinuations in Task.cs of the runtime). They
// resume other async methods, run what ContinueWith was given, and go on with loops of the framework: Parallel.
// ForEachAsync calls the body for the next item there, and a server handles the next request of a connection. The
// method called none of that. So what continues counts as if the method had returned before: below what resumed it.

// completes reports whether a function of the async runtime, called by a state machine, ends the method, or gives an
// element of an async iterator. The compiler only inlines the outer ones, or jumps to them, so the outermost that is
// left tells.
func completes(f *session.Function) bool {
	switch name := f.MetadataName(); {
	case strings.HasPrefix(name, "System.Threading.Tasks."):
		return !strings.HasPrefix(name, valueTaskSource) || strings.HasPrefix(f.RawName, "Set")
	case strings.HasPrefix(name, "System.Runtime.CompilerServices."):
		return strings.HasPrefix(f.RawName, "Set") || strings.Contains(name, "StateMachineBox")
	}
	return false
}

// valueTaskSource begins the names of functions by which async iterators give their elements. A method that is no
// iterator calls them for a source of its own: that is a call like any other.
const valueTaskSource = "System.Threading.Tasks.Sources."

// ends reports whether a function of the async runtime ends what a state machine does.
func (f *asyncFunctions) ends(function, machine int32) bool {
	return f.completes[function] &&
		(f.iterator[machine] || !strings.HasPrefix(f.rows[function].MetadataName(), valueTaskSource))
}

// continued says which paths of a physical tree are of the ends of async methods, and which go on below them.
type continued struct {
	ended   []int32 // by path of the async runtime: the path of the state machine whose end it is part of; none
	resumer []int32 // by path of a state machine after a wait: the path that its method would have returned to
}

// newContinued makes room for some paths.
func newContinued(paths int) continued { return continued{make([]int32, paths), make([]int32, paths)} }

// findContinued finds of a path whether it is of an end; those above it and its own start are known.
func (t *asyncTree) findContinued(path int32) {
	p := &t.paths[path]
	t.ended[path], t.resumer[path] = none, none
	if t.isMachine(path) {
		t.resumer[path] = t.caller(path)
		return
	}
	if p.parent < 0 || p.function < 0 || !t.functions.runtime[p.function] {
		return
	}
	if t.isMachine(p.parent) && t.start[p.parent] == none && t.functions.ends(p.function, t.paths[p.parent].function) {
		t.ended[path] = p.parent
		return
	}
	t.ended[path] = t.ended[p.parent]
}

// caller returns the path below which one belongs if async methods return before their continuations run; none: it is a
// root.
func (t *asyncTree) caller(path int32) int32 {
	above := t.paths[path].parent
	if above < 0 || t.ended[above] == none || t.ended[path] != none {
		return above
	}
	return t.resumer[t.ended[above]]
}
