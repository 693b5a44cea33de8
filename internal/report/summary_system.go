package report

import (
	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/rules"
	"github.com/clrprof/clrprof/internal/session"
)

// From when on a process has much memory beside its heap, and mostly waits.
const (
	leastNative   = 64e6 // bytes; a runtime alone has some 10 MB
	nativePerHeap = 4    // of the heap, at least
	leastRun      = 400e6
	leastBusy     = 100e6
	idlePerCPU    = 4    // of the run, one in so many is CPU time
	leastFree     = 16e6 // bytes between objects; a young heap has some MB for what is allocated next
	halfFree      = 2    // of the memory of the heap, one byte in so many is free at least
)

// findSystem says what counters say of the whole program where nothing else does: memory that is not on the heap, and
// that it mostly waits.
func (s *Summary) findSystem() error {
	if !s.context.source.Selection().IsZero() {
		return nil
	}
	x, err := analysis.SampledOf(s.context.source.Session())
	if err != nil {
		return err
	}
	waits := s.Timing == nil && x.Span >= leastRun && x.CPU < x.Span/idlePerCPU
	if waits {
		kind := FindingIdle
		if x.Busy {
			kind = FindingIdleOrBusy
		}
		s.findShare(nil, Explains{rules.OfDuration, q.PercentOf(x.Span-x.CPU, x.Span)}, kind, x.CPU, x.Span)
	}
	if s.Timing == nil && (waits || s.wantsTimes || len(s.Findings) == 0 && isBusy(x)) {
		s.Next = append(s.Next, Next{Kind: NextTimes})
	}
	if x.Private < leastNative {
		return nil
	}
	heap, known, err := s.largestHeap(x.Of)
	if err != nil || !known || x.Private < nativePerHeap*heap {
		return err
	}
	s.findShare(nil, Explains{rules.OfAlive, q.PercentOf(x.Private-heap, x.Private)}, FindingNative, x.Private, heap)
	return nil
}

// isBusy reports whether a program worked for most of the time: if no finding says at what, times do.
func isBusy(x analysis.Sampled) bool { return x.CPU >= leastBusy && x.CPU >= x.Span/2 }

// findFragmented says of the process with most of it how much of the memory of its heap was free between objects when
// its last collection ended, if that is much.
func (s *Summary) findFragmented() error {
	if !s.context.source.Selection().IsZero() {
		return nil
	}
	if lived, err := s.context.source.Session().ProcessLifetimes(); err != nil || len(lived) == 0 {
		return err
	}
	list, err := s.context.gcRows()
	if err != nil {
		return err
	}
	last := map[session.ProcessID]*gcRow{}
	for i := range list {
		last[list[i].Process] = &list[i]
	}
	var most *gcRow
	var free q.Bytes
	for _, p := range s.context.processes.list { // in the order of id, so that equal ones are always the same
		g := last[p.ID]
		if g == nil {
			continue
		}
		if n, known := freeBytes(&g.heap); known && n > free {
			most, free = g, n
		}
	}
	if most == nil || free < leastFree || free < most.heap.Extent/halfFree {
		return nil
	}
	at, inIt := 0, q.Bytes(0)
	for i := range most.heaps {
		if n, known := freeBytes(&most.heaps[i]); known && n > inIt {
			at, inIt = i, n
		}
	}
	s.findShare(nil, Explains{rules.OfAlive, q.PercentOf(free, most.heap.Extent)}, FindingFragmented, free,
		most.heap.Extent, most.Number, inIt, endTitles[at])
	return nil
}

// largestHeap is how many bytes of objects the heap of a process had after a collection, at most.
func (s *Summary) largestHeap(of session.ProcessID) (most q.Bytes, known bool, err error) {
	gcs, err := s.context.source.Session().GCs()
	if err != nil {
		return 0, false, err
	}
	process := map[session.GCID]bool{}
	for _, g := range gcs {
		process[g.ID] = g.Process == of
	}
	heaps, err := s.context.source.Session().GCHeaps()
	sums := map[session.GCID]q.Bytes{}
	for _, h := range heaps {
		if process[h.GC] {
			sums[h.GC] += h.After.Bytes
			most, known = max(most, sums[h.GC]), true
		}
	}
	return most, known, err
}
