package rules

import (
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// leastThrown is how many exceptions of a line are many.
const leastThrown = 100

// thrown is the evidence of the rule about exceptions.
func thrown(x *Finding, n Names) string {
	return fmt.Sprintf("%s; at most %s%s of them thrown", objects(x, n), x.Amount.Sign(), x.Calls)
}

// thrownOnly keeps findings about exceptions that were thrown: there are traces of stacks at their place. Of those that
// are made at one place and thrown at another nothing is known. A finding's Calls are how many were thrown, at most.
func (f finder) thrownOnly() finder {
	made := f.search
	f.search = func(f *facts, r *Rule) search {
		found, traces := made(f, r), map[analysis.Place]q.Count{}
		add := func(u *analysis.Use) {
			found.add(u)
			if f.isTrace(u.Type) {
				traces[u.From] += u.Born.Allocations
			}
		}
		return search{add, func() []Finding {
			list := found.found()
			for i := range list {
				list[i].Calls = min(traces[list[i].From], list[i].Amount.Allocations)
			}
			return slices.DeleteFunc(list, func(x Finding) bool { return x.Calls < leastThrown })
		}}
	}
	return f
}
