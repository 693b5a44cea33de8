package analysis

import (
	"slices"
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

// stacks is a tree of stacks, of paths or of nodes: of each the one above it, and its function by position; none. The
// one above has a lower position.
type stacks interface {
	frame(i int32) (above, function int32)
}

// continued says what of a tree of stacks is of the ends of async methods, and what goes on below them. It is found in
// the order of positions.
type continued struct {
	ended   []int32 // of the async runtime: the state machine whose end it is part of; none
	resumer []int32 // of a state machine after a wait: what its method would have returned to
}

// newContinued makes room for so many.
func newContinued(n int) continued { return continued{make([]int32, n), make([]int32, n)} }

// find finds whether one is of an end. hasWaited says of a state machine whether it runs after a wait.
func (c *continued) find(f *asyncFunctions, s stacks, i int32, hasWaited func(machine int32) bool) {
	above, function := s.frame(i)
	c.ended[i], c.resumer[i] = none, none
	if function >= 0 && f.machine[function] {
		c.resumer[i] = c.caller(i, above)
		return
	}
	if above < 0 || function < 0 || !f.runtime[function] {
		return
	}
	_, machine := s.frame(above)
	if machine >= 0 && f.machine[machine] && hasWaited(above) && f.ends(function, machine) {
		c.ended[i] = above
		return
	}
	c.ended[i] = c.ended[above]
}

// caller returns below which one it belongs if async methods return before their continuations run; none: it is a root.
// The end of a method is part of it.
func (c *continued) caller(i, above int32) int32 {
	if above < 0 || c.ended[above] == none || c.ended[i] != none {
		return above
	}
	return c.resumer[c.ended[above]]
}

// returned is caller, but for the end of a method: what the framework does there counts as what goes on. With times
// nothing else is known of it, because it is not recorded by itself.
func (c *continued) returned(i, above int32) int32 {
	if c.ended[i] != none {
		return c.resumer[c.ended[i]]
	}
	return c.caller(i, above)
}

// startOf returns where the call of an async method was made whose state machine is at i: the function that starts it
// or, where that is on no stack, the first run itself; none: it runs after a wait.
func (f *asyncFunctions) startOf(s stacks, i int32) int32 {
	above, machine := s.frame(i)
	started, function := false, int32(none)
	for above >= 0 {
		var next int32
		if next, function = s.frame(above); function < 0 || !f.runtime[function] {
			break
		}
		started = started || f.start[function]
		above = next
	}
	switch {
	case above >= 0 && f.isStub(function, machine):
		return above
	case started:
		return i
	}
	return none
}

// nodeStacks are the stacks of the nodes of a session.
type nodeStacks struct{ data *Data }

func (s nodeStacks) frame(i int32) (above, function int32) {
	return s.data.tree.Parent[i], s.data.nodeFunction[i]
}

// returned returns of each node the one above it, or, for the end of an async method and what goes on below that, the
// one to which the method would have returned. Nobody writes to it.
func (d *Data) returned() []int32 {
	f := newAsyncFunctions(d.Functions)
	if !slices.Contains(f.machine, true) {
		return d.tree.Parent
	}
	s, c, out := nodeStacks{d}, newContinued(d.tree.Len()), make([]int32, d.tree.Len())
	hasWaited := func(machine int32) bool { return f.startOf(s, machine) == none }
	for i := range int32(len(out)) {
		c.find(f, s, i, hasWaited)
		out[i] = c.returned(i, d.tree.Parent[i])
	}
	return out
}
