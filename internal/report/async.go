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
