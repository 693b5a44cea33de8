package report

import (
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Compiled is what a summary says of methods that the runtime compiled while the processes ran.
type Compiled struct {
	Methods   q.Count
	Took      q.Nanoseconds // of the threads that compiled: the program's own, as a rule
	Again     q.Count       // that were compiled once more in the background, where nobody waits for it
	AgainTook q.Nanoseconds
	Missed    q.Count       // in none of these
	Ran       q.Nanoseconds // the processes, added up
	Processes int           // how many these are
}

// From when on a summary says how long methods were compiled: each program compiles some when it starts.
const (
	leastCompiled = 200e6 // nanoseconds
	saidCompiled  = 1     // percent of the run, for the line of facts
)

// addCompiled adds up what processes say, which is known of whole processes.
func (s *Summary) addCompiled() {
	sel, sum, processes := s.context.source.Selection(), Compiled{}, 0
	if !sel.WholeProcesses() {
		return
	}
	for i := range s.Processes {
		p := &s.Processes[i]
		if !sel.HasProcess(p.ID) {
			continue
		}
		processes++
		sum.Methods, sum.Took = sum.Methods+p.Compiled, sum.Took+p.CompiledTime
		sum.Again, sum.AgainTook = sum.Again+p.Recompiled, sum.AgainTook+p.RecompiledTime
		sum.Missed += p.CompiledMissed
	}
	if sum != (Compiled{}) {
		sum.Ran, sum.Processes = s.ran(), processes
		s.Compiled = &sum
	}
}

// IsSaid reports whether it is worth a line of the facts.
func (c *Compiled) IsSaid() bool { return c != nil && isShare(c.Took, c.Ran, saidCompiled) }

// findCompiled says that the program spent much of its time on compiling.
func (s *Summary) findCompiled() {
	c := s.Compiled
	if c == nil || c.Took < leastCompiled || !isShare(c.Took, c.Ran, leastShare) {
		return
	}
	share := q.PercentOf(min(c.Took, c.Ran), c.Ran) // threads that compile at once take longer than the run
	s.findShare(nil, Explains{rules.OfDuration, share}, FindingCompiled, c.Took, Things{int(c.Methods), "method"},
		c.Ran, Things{c.Processes, "process"})
}
