package analysis

import (
	"cmp"
	"slices"

	"github.com/clrprof/clrprof/internal/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Derive computes all derived tables of the part of the session that f lets through.
func (d *Data) Derive(f Filter) (*session.Derived, error) {
	if err := f.check(d); err != nil {
		return nil, err
	}
	bySite := d.siteAmounts(f)
	own := make([]q.Amount, len(d.Nodes))
	byType := make([]q.Amount, len(d.Types))
	byThread := make([]q.Amount, len(d.Threads))
	for i, a := range bySite {
		addTo(own, d.siteNode[i], a)
		addTo(byType, d.siteType[i], a)
		addTo(byThread, d.siteThread[i], a)
	}
	out := &session.Derived{}
	d.deriveNodes(out, own)
	d.derivePaths(out, own)
	d.derivePlaces(out, own)
	for i, a := range byType {
		if !a.IsZero() {
			out.Types = append(out.Types, session.TypeValue{Type: d.Types[i].ID, Amount: a})
		}
	}
	for i, a := range byThread {
		if !a.IsZero() {
			out.Threads = append(out.Threads, session.ThreadValue{Thread: d.Threads[i].ID, Amount: a})
		}
	}
	for i, a := range calltree.Sum(byThread, d.threadProcess, len(d.Processes)) {
		if !a.IsZero() {
			out.Processes = append(out.Processes, session.ProcessValue{Process: d.Processes[i].ID, Amount: a})
		}
	}
	return out, nil
}

func addTo(sums []q.Amount, at int32, a q.Amount) {
	if at >= 0 {
		sums[at] = sums[at].Add(a)
	}
}

func (d *Data) deriveNodes(out *session.Derived, own []q.Amount) {
	for i, inclusive := range calltree.Inclusive(d.tree, own) {
		if v := (q.Amounts{Inclusive: inclusive, Exclusive: own[i]}); !v.IsZero() {
			out.Nodes = append(out.Nodes, session.NodeValue{Node: d.Nodes[i].ID, Amounts: v})
		}
	}
}

// derivePaths computes everything that depends on who is on the stack and not on
// where in a function: paths, calls, functions and modules.
func (d *Data) derivePaths(out *session.Derived, ownOfNodes []q.Amount) {
	all := d.merged()
	own := calltree.Sum(ownOfNodes, all.Of, all.Len())
	inclusive := calltree.Inclusive(all.Tree, own)
	tree, old := keepWorth(all.Tree, inclusive, own)
	function := make([]int32, len(old))
	module := make([]int32, len(old))
	values := make([]q.Amounts, len(old))
	for i, o := range old {
		function[i] = all.Group[o]
		module[i] = d.functionModule[function[i]]
		values[i] = q.Amounts{Inclusive: inclusive[o], Exclusive: own[o]}
	}
	levels := tree.Levels()
	for i, v := range values {
		out.Paths = append(out.Paths, session.PathValue{
			ID: session.PathID(i + 1), Parent: session.PathID(tree.Parent[i] + 1), Level: int64(levels[i]) + 1,
			Process: d.Functions[function[i]].Process, Function: d.Functions[function[i]].ID, Amounts: v,
		})
	}
	own, inclusive = split(values)
	d.deriveCalls(out, calltree.Calls(tree, own, inclusive, function))
	byFunction := combine(calltree.Presence(tree, inclusive, function, len(d.Functions)), calltree.Sum(own, function, len(d.Functions)))
	for i, v := range byFunction {
		if !v.IsZero() {
			out.Functions = append(out.Functions, session.FunctionValue{Function: d.Functions[i].ID, Amounts: v})
		}
	}
	d.deriveModules(out, tree, own, inclusive, module)
}

// deriveModules gives the functions without a module the row of module 0, so that
// modules add up to the total too. module is by path and is changed.
func (d *Data) deriveModules(out *session.Derived, tree calltree.Tree, own, inclusive []q.Amount, module []int32) {
	nowhere := int32(len(d.Modules))
	for i, m := range module {
		if m == none {
			module[i] = nowhere
		}
	}
	groups := len(d.Modules) + 1
	values := combine(calltree.Presence(tree, inclusive, module, groups), calltree.Sum(own, module, groups))
	if v := values[nowhere]; !v.IsZero() {
		out.Modules = append(out.Modules, session.ModuleValue{Module: 0, Amounts: v})
	}
	for i, v := range values[:nowhere] {
		if !v.IsZero() {
			out.Modules = append(out.Modules, session.ModuleValue{Module: d.Modules[i].ID, Amounts: v})
		}
	}
}

// keepParents makes sure that a kept node's parent is kept. It changes nothing for
// amounts that are not negative; a damaged session may have others.
func keepParents(t calltree.Tree, keep []bool) {
	for i := t.Len() - 1; i >= 0; i-- {
		if p := t.Parent[i]; p >= 0 && keep[i] {
			keep[p] = true
		}
	}
}

func split(values []q.Amounts) (own, inclusive []q.Amount) {
	for _, v := range values {
		own = append(own, v.Exclusive)
		inclusive = append(inclusive, v.Inclusive)
	}
	return own, inclusive
}

func combine(inclusive, exclusive []q.Amount) []q.Amounts {
	out := make([]q.Amounts, len(inclusive))
	for i := range out {
		out[i] = q.Amounts{Inclusive: inclusive[i], Exclusive: exclusive[i]}
	}
	return out
}

func (d *Data) deriveCalls(out *session.Derived, calls []calltree.CallValue[q.Amount]) {
	for _, c := range calls {
		row := session.CallValue{Callee: d.Functions[c.Callee].ID, Amounts: q.Amounts{Inclusive: c.Inclusive, Exclusive: c.Exclusive}}
		if c.Caller >= 0 {
			row.Caller = d.Functions[c.Caller].ID
		}
		out.Calls = append(out.Calls, row)
	}
	slices.SortFunc(out.Calls, func(a, b session.CallValue) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee))
	})
}

// derivePlaces computes where in a function: instructions and lines.
func (d *Data) derivePlaces(out *session.Derived, own []q.Amount) {
	byInstruction := calltree.Sum(own, d.nodeInstruction, len(d.Instructions))
	for i, a := range byInstruction {
		if !a.IsZero() {
			out.Instructions = append(out.Instructions, session.InstructionValue{Instruction: d.Instructions[i].ID, Amount: a})
		}
	}
	for i, a := range calltree.Sum(byInstruction, d.instructionLine, len(d.Lines)) {
		if !a.IsZero() {
			out.Lines = append(out.Lines, session.LineValue{Line: d.Lines[i].ID, Amount: a})
		}
	}
}
