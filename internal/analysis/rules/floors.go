package rules

import (
	"fmt"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// Cost is what somebody pays for, of which a finding is a part.
type Cost string

// The costs.
const (
	OfBytes    Cost = "all bytes"        // that were allocated
	OfAlive    Cost = "the bytes alive"  // at the end
	OfCPU      Cost = "CPU time"         // of all threads
	OfElapsed  Cost = "the elapsed time" // of all threads, without waits for the end of the program
	OfDuration Cost = "the run"          // of the processes, by the clock
)

// LeastPercent is the part of its cost from which on a finding is worth the first screen: below it stands in the view
// rules alone.
const LeastPercent = 2

// limits say from when on a place is worth a finding. All that are not zero have to hold.
type limits struct {
	objects q.Count
	bytes   q.Bytes
	each    q.Bytes // on average
	share   bool    // of all objects or of all bytes at least leastPercent
	waited  q.Nanoseconds
	waits   q.Count       // that a wait is one of, unless
	long    q.Nanoseconds // they take so long
	calls   q.Count
}

// String says what the limits are.
func (l limits) String() string {
	var out []string
	if l.objects > 0 {
		out = append(out, l.objects.Of("object"))
	}
	if l.bytes > 0 {
		out = append(out, megabytes(l.bytes))
	}
	if l.each > 0 {
		out = append(out, fmt.Sprintf("%s each, on average", l.each))
	}
	if l.share {
		out = append(out, fmt.Sprintf("%d %% of all objects or bytes", leastPercent))
	}
	if l.waited > 0 {
		out = append(out, fmt.Sprintf("%d ms", l.waited/1e6))
	}
	if l.calls > 0 {
		out = append(out, l.calls.Of("call"))
	}
	if l.waits > 0 && l.long > 0 {
		out = append(out, fmt.Sprintf("%s, or %d ms", l.waits.Of("wait"), l.long/1e6))
	} else if l.waits > 0 {
		out = append(out, l.waits.Of("wait"))
	}
	return strings.Join(out, "; ")
}

// megabytes is a limit of bytes in the unit in which it was chosen.
func megabytes(b q.Bytes) string { return fmt.Sprintf("%d MB", b/1e6) }
