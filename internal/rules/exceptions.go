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
	return fmt.Sprintf("%s; at most %s of them thrown", objects(x, n), x.Calls)
}

// thrownOnly keeps findings about exceptions that were thrown: there are traces of stacks at their place or, if they
// are thrown elsewhere, at others. A finding's Calls are how many were thrown, at most.
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
			elsewhere := q.Count(0)
			for _, n := range traces {
				if n >= leastThrown { // of places with fewer objects not all uses are made
					elsewhere += n
				}
			}
			list := found.found()
			for i := range list {
				n := traces[list[i].From]
				if n < leastThrown {
					n = elsewhere
				}
				list[i].Calls = min(n, list[i].Amount.Allocations)
			}
			return slices.DeleteFunc(list, func(x Finding) bool { return x.Calls < leastThrown })
		}}
	}
	return f
}
