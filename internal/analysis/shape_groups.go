package analysis

import (
	"github.com/clrprof/clrprof/internal/pattern"
	"github.com/clrprof/clrprof/internal/session"
)

// GroupFunctions returns a tree, nil: the physical one, with modules or namespaces in place of functions. Functions
// that call each other and are in one of these are one row, and so are those of one group that a row calls: their
// exclusive values and calls are added up, and inclusive is what was done while the row was on the stack, once. The
// function of a row is one of the group. Each value is at exactly one row.
func (v *Source) GroupFunctions(of *LogicalTree, by By) (*LogicalTree, error) {
	s, err := v.newShaper(of)
	if err != nil {
		return nil, err
	}
	groups := groupsOfFunctions(s.functions.rows, by)
	return s.shaped(func(above int32, r *treeRow) int32 {
		if r.function < 0 {
			return s.nodeBelow(above, r)
		}
		group := groups[r.function]
		if above != none && s.at.list[above].name == s.nameOfNode(r.process, group, AsyncGroup) {
			return above
		}
		return s.node(above, r.process, group, AsyncGroup)
	}), nil
}

// FunctionNamespace is the namespace of a function's type, "": it is in none.
func FunctionNamespace(f *session.Function) string { return pattern.Namespace(f.RawType) }

// groupsOfFunctions returns, by position of a function, that of the first one that is in the same module or namespace.
func groupsOfFunctions(functions []session.Function, by By) []int32 {
	type key struct {
		process   session.ProcessID
		module    session.ModuleID
		namespace string
	}
	first, out := map[key]int32{}, make([]int32, len(functions))
	for i := range functions {
		f := &functions[i]
		k := key{process: f.Process}
		if by == ByModule {
			k.module = f.Module
		} else {
			k.namespace = FunctionNamespace(f)
		}
		n, known := first[k]
		if !known {
			n, first[k] = int32(i), int32(i)
		}
		out[i] = n
	}
	return out
}
