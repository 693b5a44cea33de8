package report

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// pathTree is a call tree that is computed.
type pathTree interface {
	// Role returns what a row stands for.
	Role(session.PathID) analysis.AsyncRole
	// Await returns how the async method of a row waited; nil: that is not known.
	Await(session.PathID) *session.FunctionAwait
	// Below returns the values and the times of what is below a row; 0: the roots.
	Below(session.PathID) ([]session.PathValue, []session.PathTime)
}

// ErrShapedLifetimes means that columns are asked for that only the stacks as they were have.
var ErrShapedLifetimes = errors.New("the columns of lifetimes are known only for the call tree as it was recorded: " +
	"they do not work with --root, --fold-recursion, --min-share, --bottom-up and --by")

// shape makes the call tree that is asked for, and returns its roots.
func (b *builder) shape(processes []Row) ([]Row, error) {
	o := &b.options
	if b.lifetimes.paths != nil && (o.Root != "" || o.Fold || o.MinShare > 0 || o.BottomUp || o.By != "") {
		return nil, ErrShapedLifetimes
	}
	tree, err := b.chooseAsync()
	if err != nil {
		return nil, err
	}
	roots := processes
	var begins []Row
	if o.Root != "" {
		if tree, begins, err = b.rooted(tree); err != nil {
			return nil, err
		}
	}
	if o.Fold {
		b.note(NoteSelection, analysis.FoldNote)
		if tree, err = b.source.FoldRecursion(tree); err != nil {
			return nil, err
		}
	}
	if o.By != "" {
		b.treeBy = o.By
		b.note(NoteTreeGroups, o.By)
		if tree, err = b.source.GroupFunctions(tree, o.By); err != nil {
			return nil, err
		}
	}
	if o.MinShare > 0 {
		b.note(NoteTrimmed, o.MinShare, b.measures())
		if !o.BottomUp {
			if tree, err = b.source.Trim(tree, b.trims); err != nil {
				return nil, err
			}
		}
	}
	if tree != nil { // else an interface that is not nil would hold nil
		b.logical = tree
	}
	if o.Root != "" {
		if roots, err = b.outermost(processes, begins); err != nil {
			return nil, err
		}
	}
	if o.BottomUp {
		return b.turned(tree, roots)
	}
	return roots, nil
}

// trims reports whether a row is too small for --min-share.
func (b *builder) trims(level int, amount q.Amount, time q.Time) bool {
	return b.below(b.options.MinShare, level, cost{amount, time})
}

// rooted has a call tree begin with functions, and returns these, too.
func (b *builder) rooted(tree *analysis.LogicalTree) (*analysis.LogicalTree, []Row, error) {
	matches, err := b.matching(b.options.Root)
	if err != nil {
		return nil, nil, err
	}
	roots := map[session.FunctionID]bool{}
	for i := range matches {
		roots[matches[i].function] = true
	}
	b.note(NoteRooted, b.frameName(matches[0].function))
	tree, err = b.source.Rooted(tree, roots)
	return tree, matches, err
}

// outermost returns the roots of a tree that begins with functions: one for each process and function that is on a
// path. A function of which all calls are folded is on none, and has what is known of it.
func (b *builder) outermost(processes, begins []Row) ([]Row, error) {
	var out []Row
	has := map[session.FunctionID]bool{}
	for i := range processes {
		below, err := b.pathsBelow(&Row{process: processes[i].process})
		if err != nil {
			return nil, err
		}
		for j := range below {
			has[below[j].function] = true
		}
		out = append(out, below...)
	}
	if err := b.noteFolded(begins); err != nil {
		return nil, err
	}
	for i := range begins {
		if r := begins[i]; !has[r.function] && r.time != nil && r.time.Calls > 0 {
			r.path = math.MaxInt32 // below which nothing is known
			out = append(out, r)
		}
	}
	return out, nil
}

// noteFolded says how many calls of functions are missing in the tree that begins with them.
func (b *builder) noteFolded(begins []Row) error {
	if !b.hasTime() {
		return nil
	}
	calls := map[session.FunctionID]q.Count{}
	err := b.source.EachPathCalls(func(v *session.PathTime) { calls[v.Function] += v.Calls })
	if err != nil {
		return err
	}
	for i := range begins {
		r := &begins[i]
		if r.time != nil && r.time.Calls > calls[r.function] {
			b.note(NoteRootFolded, r.time.Calls-calls[r.function], r.time.Calls, b.frameName(r.function))
		}
	}
	return nil
}

// turned shows a call tree from below, and returns its processes with what is at and below the roots.
func (b *builder) turned(tree *analysis.LogicalTree, roots []Row) ([]Row, error) {
	b.note(NoteBottomUp)
	var small analysis.TooSmall
	if b.options.MinShare > 0 {
		small = b.trims
	}
	turned, err := b.source.BottomUp(tree, small)
	if err != nil {
		return nil, err
	}
	if b.keeps {
		turned.Keep()
	}
	b.logical = turned
	var out []Row
	at := map[session.ProcessID]int{}
	for i := range roots {
		r := &roots[i]
		n, known := at[r.process]
		if !known {
			n, at[r.process] = len(out), len(out)
			out = append(out, Row{kind: rowProcess, process: r.process, time: b.orNone(nil, r.process)})
		}
		out[n].values.Inclusive = out[n].values.Inclusive.Add(r.values.Inclusive)
		if r.time != nil {
			sum := place(session.TimeValue{}) // a process that was not timed has calls in a damaged session alone
			if before := out[n].time; before != nil {
				sum.TimeValue = before.TimeValue
			}
			sum.Inclusive = sum.Inclusive.Add(r.time.Inclusive)
			out[n].time = sum
		}
	}
	for i := range out { // as of all rows
		out[i].values.Exclusive = out[i].values.Inclusive
		if out[i].time != nil {
			out[i].time.Exclusive = out[i].time.Inclusive
		}
	}
	return out, nil
}

// bottomUp adds the rows of a call tree from below.
func (b *builder) bottomUp(processes []Row) error {
	amounts, times := b.logical.Below(0)
	if !b.hasTime() {
		times = nil
	}
	return b.tree(processes, inclusiveCost, func(r *Row) ([]Row, error) {
		if r.kind == rowProcess {
			return b.pathRows(r, amounts, times), nil
		}
		return b.pathsBelow(r)
	})
}

// exclusive returns the view without columns of inclusive values.
func (v View) exclusive() View {
	v.columns, v.text, v.sort = exclusiveKeys(v.columns), exclusiveKeys(v.text), strings.Replace(v.sort, "inclusive",
		"exclusive", 1)
	return v
}

// exclusiveKeys are the keys of columns that are not inclusive.
func exclusiveKeys(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(key string) bool { return strings.Contains(key, "inclusive") })
}
