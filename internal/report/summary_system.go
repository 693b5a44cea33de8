package report

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/rules"
	"github.com/clrprof/clrprof/internal/session"
)

// From when on a process has much memory beside its heap, and mostly waits.
const (
	leastNative   = 64e6 // bytes; a runtime alone has some 10 MB
	nativePerHeap = 4    // of the heap, at least
	leastRun      = 400e6
	idlePerCPU    = 4 // of the run, one in so many is CPU time
)

// sampled is what samples of counters say of the processes that are shown.
type sampled struct {
	private q.Bytes // the most that one had
	of      session.ProcessID
	cpu     q.Nanoseconds // of all of them, up to their last samples
	span    q.Nanoseconds // of all of them, up to their last samples
}

// sampled reads the counters of processes.
func (s *Summary) sampled() (out sampled, err error) {
	src := s.context.source
	counters, err := src.Session().Counters()
	if err != nil {
		return out, err
	}
	names := map[int64]string{}
	for _, c := range counters {
		names[c.ID] = c.Name
	}
	values, err := src.Session().CounterValues()
	last, cpu := map[session.ProcessID]q.Nanoseconds{}, map[session.ProcessID]map[string]int64{}
	for _, v := range values {
		if v.Process == 0 || !src.Selection().HasProcess(v.Process) {
			continue
		}
		switch name := names[v.Counter]; name {
		case "process.private":
			if b := q.Bytes(v.Value); b > out.private {
				out.private, out.of = b, v.Process
			}
		case "process.cpu_user", "process.cpu_system":
			if cpu[v.Process] == nil {
				cpu[v.Process] = map[string]int64{}
			}
			cpu[v.Process][name] = max(cpu[v.Process][name], v.Value)
			last[v.Process] = max(last[v.Process], v.Time)
		}
	}
	for id, at := range last {
		for _, ns := range cpu[id] {
			out.cpu += q.Nanoseconds(ns)
		}
		out.span += at - s.context.processes.get(id).Begin
	}
	return out, err
}

// findSystem says what counters say of the whole program where nothing else does: memory that is not on the heap, and
// that it mostly waits.
func (s *Summary) findSystem() error {
	if !s.context.source.Selection().IsZero() {
		return nil
	}
	x, err := s.sampled()
	if err != nil {
		return err
	}
	if s.Timing == nil && x.span >= leastRun && x.cpu < x.span/idlePerCPU {
		s.findShare(nil, Explains{rules.OfDuration, q.PercentOf(x.span-x.cpu, x.span)}, FindingIdle, x.cpu, x.span)
		s.Next = append(s.Next, Next{Kind: NextTimes})
	}
	heap, known, err := s.largestHeap(x.of)
	if err != nil || !known || x.private < leastNative || x.private < nativePerHeap*heap {
		return err
	}
	s.findShare(nil, Explains{rules.OfAlive, q.PercentOf(x.private-heap, x.private)}, FindingNative, x.private, heap)
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
