package report

import (
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// From when on a process has much memory beside its heap, and mostly waits.
const (
	leastNative   = 64e6 // bytes; a runtime alone has some 10 MB
	nativePerHeap = 4    // of the heap, at least
	leastRun      = 400e6
	leastBusy     = 100e6
	idlePerCPU    = 4  // of the run, one in so many is CPU time
	mostSampled   = 75 // percent of the run that samples are of at least, where they say that all of it waits
	leastNoticed  = 200e6
	// One byte for so many nanoseconds of CPU time is little: to allocate and collect them takes a tenth of it or less.
	littlePerByte = 16
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
	waits := s.Timing == nil && x.Span >= leastRun && x.CPU < x.Span/idlePerCPU && isShare(x.Span, s.ran(), mostSampled)
	if waits {
		kind := FindingIdle
		if x.Busy {
			kind = FindingIdleOrBusy
		}
		s.findShare(nil, Explains{rules.OfDuration, q.PercentOf(x.Span-x.CPU, x.Span)}, kind, x.CPU, x.Span)
	}
	if waits || s.wantsTimes || s.saysMore(x) {
		s.proposeTimes()
	}
	own := s.context.processes.get(x.Of).AgentPrivate // the most that it ever had
	private := x.Private - min(own, x.Private)
	if private < leastNative {
		return nil
	}
	if s.findNativeCalls(private) {
		return nil
	}
	heap, known, err := s.largestHeap(x.Of)
	if err != nil || !known || private-heap < leastNative || private < nativePerHeap*heap {
		return err
	}
	s.findShare(nil, Explains{rules.OfAlive, q.PercentOf(private-heap, private)}, FindingNative, private, heap, own)
	s.proposeTimes()
	return nil
}

// proposeTimes proposes to record times, once, where there are none.
func (s *Summary) proposeTimes() {
	if times := (Next{Kind: NextTimes}); s.Timing == nil && !slices.Contains(s.Next, times) {
		s.Next = append(s.Next, times)
	}
}

// Functions of the framework that allocate native memory, and that free it, by type.
var (
	nativeAllocators = map[string][]string{
		"System.Runtime.InteropServices.Marshal": {"AllocHGlobal", "AllocCoTaskMem", "StringToHGlobalUni",
			"StringToHGlobalAnsi", "StringToCoTaskMemUni", "StringToCoTaskMemUTF8"},
		"System.Runtime.InteropServices.NativeMemory": {"Alloc", "AllocZeroed", "AlignedAlloc"},
	}
	nativeFreers = map[string][]string{
		"System.Runtime.InteropServices.Marshal":      {"FreeHGlobal", "FreeCoTaskMem", "ZeroFreeGlobalAllocUnicode"},
		"System.Runtime.InteropServices.NativeMemory": {"Free", "AlignedFree"},
	}
)

const leastNativeCalls = 10

// findNativeCalls says where the calls are that allocate native memory, if less than half of it is freed. How much each
// allocates is not known. False: there are no such calls.
func (s *Summary) findNativeCalls(private q.Bytes) bool {
	var most Row
	var made, freed, calls q.Count
	counted := map[session.FunctionID]bool{}
	for i := range s.works {
		t := &s.works[i]
		f, n := s.context.functions.get(t.Function), s.calls[t.Function]
		if !counted[t.Function] && slices.Contains(nativeFreers[f.RawType], f.RawName) {
			freed += n
		}
		if slices.Contains(nativeAllocators[f.RawType], f.RawName) {
			if !counted[t.Function] {
				made += n
			}
			if most.function == 0 || n > calls || n == calls && t.Elapsed > most.time.Exclusive.Elapsed {
				most, calls = Row{kind: rowFunction, time: &rowTime{}}, n
				s.setWork(&most, t)
			}
		}
		counted[t.Function] = true
	}
	if made < leastNativeCalls || freed > made/2 {
		return false
	}
	s.findShare(&most, Explains{rules.OfAlive, q.PercentOf(private, private)}, FindingNativeCalls,
		Things{int(made), "call"}, s.context.frameName(most.function), s.context.placeText(most.from),
		Things{int(freed), "call"}, private)
	return true
}

// saysMore reports whether times say more of a program than its objects do: nothing stands out in them, and it ran for
// so long that somebody notices, or it worked for most of the time and allocated little for that. How much a program
// works is not known where it ends before its counters are sampled.
func (s *Summary) saysMore(x analysis.Sampled) bool {
	if isBusy := x.CPU >= leastBusy && x.CPU >= x.Span/2; isBusy {
		return len(s.Findings) == 0 || int64(s.Total.Bytes) < int64(x.CPU)/littlePerByte
	}
	return len(s.Findings) == 0 && s.Total.Bytes < leastBytes && s.ran() >= leastNoticed
}

// findFragmented says of the process with most of it how much of the memory of its heap was free between objects when
// its last collection ended, if that is much, and whose objects died there.
func (s *Summary) findFragmented(judged *broken) error {
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
		if n, known := s.context.freeBytes(&g.heap); known && n > free {
			most, free = g, n
		}
	}
	if most == nil || free < leastFree || free < most.heap.Extent/halfFree {
		return nil
	}
	at, inIt := 0, q.Bytes(0)
	for i := range most.heaps {
		if n, known := s.context.freeBytes(&most.heaps[i]); known && n > inIt {
			at, inIt = i, n
		}
	}
	facts := []any{free, most.heap.Extent, most.Number, inIt, endTitles[at]}
	about := s.mostDied(judged, most.Process, at)
	if about != nil {
		facts = append(facts, about.finding.Amount.Bytes, s.context.placeText(about.from))
	}
	s.findShare(about, Explains{rules.OfAlive, q.PercentOf(free, most.heap.Extent)}, FindingFragmented, facts...)
	return nil
}

// diesIn are the rules about what died in a generation.
var diesIn = map[int]string{2: "mid-life", session.GenerationLarge: "loh-churn"}

// mostDied is the finding about the place of which most bytes died in a generation of a process; nil: there is none.
func (s *Summary) mostDied(judged *broken, in session.ProcessID, generation int) *Row {
	for i := range judged.rows {
		r := &judged.rows[i]
		if r.finding.Rule.ID == diesIn[generation] && s.context.functions.get(r.from.Function).Process == in {
			return r
		}
	}
	return nil
}

// largestHeap is how large the heap of a process was at most, as far as collections say: the objects before one, with
// those that died in it, or the memory of all generations after one.
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
	before, after := map[session.GCID]q.Bytes{}, map[session.GCID]q.Bytes{}
	for _, h := range heaps {
		if process[h.GC] {
			before[h.GC] += h.Before.Bytes
			after[h.GC] += max(h.After.Bytes, h.Extent)
			most, known = max(most, before[h.GC], after[h.GC]), true
		}
	}
	return most, known, err
}
