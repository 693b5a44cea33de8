package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// chooseAsync returns the call tree with async methods below their callers. It is nil, for the physical tree, if the
// stacks are wanted as they were, or what became of objects, which is known of these alone.
func (b *builder) chooseAsync() (*analysis.LogicalTree, error) {
	if b.options.Physical {
		return nil, nil
	}
	tree, err := b.source.LogicalTree()
	if err != nil || tree == nil {
		return nil, err
	}
	if b.lifetimes.paths != nil {
		b.note(NotePhysical)
		return nil, nil
	}
	b.note(NoteAsync)
	return tree, nil
}

// joinAsync has a view of functions show those of the call tree with async methods below their callers, if that is
// wanted and there are such methods.
func (b *builder) joinAsync() error {
	if !b.options.Logical {
		return nil
	}
	tree, err := b.source.LogicalTree()
	if err != nil || tree == nil {
		return err
	}
	b.note(NoteAsync)
	c := *b.context
	c.methods = tree.Sums()
	functions := c.joinedFunctions(c.methods.Functions, c.methods.FunctionTimes)
	functions = slices.DeleteFunc(functions, func(v functionValue) bool { return v.id == analysis.AsyncRuntimeID })
	c.shared = &shared{functions: functions,
		calls: newCallIndex(c.joined(c.methods.Calls, c.methods.CallTimes))}
	c.awaits = map[session.FunctionID]*session.FunctionAwait{}
	for id, await := range b.awaits {
		sum := &session.FunctionAwait{Function: c.methods.Method(id), Known: true}
		if known := c.awaits[sum.Function]; known != nil {
			sum = known
		}
		sum.Suspensions, sum.Awaited = sum.Suspensions+await.Suspensions, sum.Awaited+await.Awaited
		sum.Known = sum.Known && await.Known
		c.awaits[sum.Function] = sum
	}
	b.context = &c
	return nil
}

// noteAsync says, of functions as they were on the stacks, that there is another view of them, if some are of async
// methods. It reports whether some are.
func (b *builder) noteAsync(functions ...Row) bool {
	for i := range functions {
		if f := b.functions.get(functions[i].function); analysis.IsAsyncMethod(f) || analysis.IsAsyncRuntime(f) {
			b.note(NoteAsyncMethods)
			return true
		}
	}
	return false
}

// asyncName is the name of a row of a call tree.
func asyncName(r *Row, name func(session.FunctionID) string) string {
	switch r.async {
	case analysis.AsyncRuntime:
		return analysis.NameAsyncRuntime
	case analysis.AsyncResumed:
		return name(r.function) + " [resumed]"
	case analysis.AsyncLeftOut:
		return analysis.NameLeftOut
	case analysis.AsyncNone, analysis.AsyncGroup:
	}
	return name(r.function)
}

// asyncOptions are the values of --async.
var asyncOptions = []string{"logical", "physical"}

// AsyncOptions returns how a call tree can show async methods, the default first.
func AsyncOptions() []string { return slices.Clone(asyncOptions) }
