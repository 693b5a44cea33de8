package report

import (
	"cmp"
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// groupKey is what makes rows one of a group.
type groupKey struct {
	process session.ProcessID
	module  session.ModuleID
	name    string
}

// merged adds rows below others that have the sums of their values. Each value is of one row alone, so the sums add up to the same.
func (b *builder) merged(list []Row, group func(*Row) Row) error {
	at := map[groupKey]int{}
	var roots []Row
	var below [][]Row
	for _, r := range list {
		g := group(&r)
		key := groupKey{g.process, g.module, g.text}
		n, ok := at[key]
		if !ok {
			n = len(roots)
			at[key] = n
			g.rest = n
			roots, below = append(roots, g), append(below, nil)
		}
		sum := &roots[n]
		sum.values = both(sum.values.Exclusive.Add(r.values.Exclusive))
		sum.time = sumOfTimes(sum.time, r.time)
		r.level = 1
		below[n] = append(below[n], r)
	}
	b.table.Notes = append(b.table.Notes, fmt.Sprintf("By %s: each row has the sums of those below it.", b.options.By))
	return b.tree(roots, exclusiveCost, func(r *Row) ([]Row, error) {
		if r.level > 0 {
			return nil, nil
		}
		return below[r.rest], nil
	})
}

// sumOfTimes adds the times of rows that have no calls of their own; nil: it has none.
func sumOfTimes(a, b *rowTime) *rowTime {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return place(session.TimeValue{Calls: a.Calls + b.Calls, Running: a.Running + b.Running, Times: a.Times.Add(b.Times)})
}

// groupOfType is the row of the module or namespace of a type's row.
func (b *builder) groupOfType(r *Row) Row {
	if b.options.By == analysis.ByModule {
		return Row{kind: rowModule, module: r.module, process: r.process}
	}
	return Row{kind: rowNamespace, process: r.process, text: cmp.Or(analysis.TypeNamespace(r.typ, b.types.get), noNamespace)}
}

// noNamespace is the name of the namespace of what is in none.
const noNamespace = "(no namespace)"

// groupOfThread is the row of all threads with the name of a thread's row.
func (b *builder) groupOfThread(r *Row) Row {
	return Row{kind: rowThreads, process: r.process, text: cmp.Or(b.threads.get(r.thread).Name, "(no name)")}
}
