package report

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// floor says from when on a summary has a finding of a kind; docs/rules.md has them, with those of rules.
type floor struct {
	What string
	From string
	Of   rules.Cost
}

// floors are those of the findings of a summary.
func floors() []floor {
	ms := func(d q.Nanoseconds) string { return fmt.Sprintf("%d ms", d/1e6) }
	mb := fmt.Sprintf("%d MB", int64(leastBytes)/1e6)
	tenth := fmt.Sprintf("%d %%", leastShare)
	return []floor{
		{"where CPU time is spent", fmt.Sprintf("%s; %s; and %d %% of the elapsed time is CPU time, without what threads "+
			"could have run in", ms(leastCPU),
			tenth, rules.LeastPercent), rules.OfCPU},
		{"where threads are blocked", fmt.Sprintf("%s; %s, or %s; %d %%", ms(leastBlocked),
			q.Count(leastWaits).Of("wait"), ms(longWait), rules.LeastPercent), rules.OfElapsed},
		{"database commands and HTTP requests", fmt.Sprintf("%s; %s", ms(leastBlocked), tenth), rules.OfDuration},
		{"where bytes are allocated", fmt.Sprintf("%s in all; %s", mb, tenth), rules.OfBytes},
		{"that a program mostly waits, without --time", fmt.Sprintf("%s, and samples of %d %% of the run; less than "+
			"%d %% CPU time", ms(leastRun), mostSampled, percentPoints/idlePerCPU), rules.OfDuration},
		{"that methods are compiled while a program runs", fmt.Sprintf("%s; %s", ms(leastCompiled), tenth),
			rules.OfDuration},
		{"calls that allocate native memory, with --time", fmt.Sprintf("%d MB; %s; half of them not freed",
			int64(leastNative)/1e6, q.Count(leastNativeCalls).Of("call")), rules.OfAlive},
		{"memory that is not on the heap", fmt.Sprintf("%d MB; %d times the heap", int64(leastNative)/1e6,
			nativePerHeap), rules.OfAlive},
		{"memory of the heap that is free between objects", fmt.Sprintf("%d MB; 1/%d of the heap's memory",
			int64(leastFree)/1e6, halfFree), rules.OfAlive},
		{"what pinned handles alone keep", fmt.Sprintf("%s; %s; %s of the heap", q.Count(leastPinned).Of("handle"), mb,
			tenth), rules.OfAlive},
		{"which static field holds most of a heap", fmt.Sprintf("%s in all; %s", mb, tenth), rules.OfAlive},
		{"what else holds most of it: several together, a stack, a handle", fmt.Sprintf("%s in all; %s", mb, tenth),
			rules.OfAlive},
		{"which calls have the largest parts", fmt.Sprintf("%s, or %s of CPU time; %s", mb, ms(leastWork), tenth),
			rules.OfBytes + ", or CPU time"},
	}
}
