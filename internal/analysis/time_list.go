package analysis

import (
	"slices"

	"github.com/clrprof/clrprof/internal/calltree"
	"github.com/clrprof/clrprof/internal/pieces"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// timeList is times by position: of nodes or paths, of which there are millions. What the operating system did, and
// what CPU counters counted, is three quarters of a time, and only kept of those that have some.
type timeList struct {
	spans []timeSpans
	acted []int32 // 1 + position in more; 0: nothing
	more  pieces.List[timeMore]
}

// timeSpans is what every time has.
type timeSpans struct{ elapsed, application, cpu, overhead q.Nanoseconds }

// timeMore is the rest of a time.
type timeMore struct {
	waits    q.Waits
	counters q.Counters
}

func newTimeList(n int) *timeList {
	return &timeList{spans: make([]timeSpans, n), acted: make([]int32, n)}
}

// len is how many times there are.
func (l *timeList) len() int { return len(l.spans) }

// at returns a time.
func (l *timeList) at(i int32) q.Time {
	s := &l.spans[i]
	out := q.Time{Elapsed: s.elapsed, Application: s.application, CPU: s.cpu, Overhead: s.overhead}
	if at := l.acted[i]; at > 0 {
		more := l.more.At(int(at - 1))
		out.Waits, out.Counters = more.waits, more.counters
	}
	return out
}

// isZero reports whether a time is zero.
func (l *timeList) isZero(i int32) bool {
	return l.spans[i] == timeSpans{} && (l.acted[i] == 0 || *l.more.At(int(l.acted[i] - 1)) == timeMore{})
}

// add adds to a time.
func (l *timeList) add(i int32, t *q.Time) {
	l.spans[i].add(&timeSpans{t.Elapsed, t.Application, t.CPU, t.Overhead})
	if !t.Waits.IsZero() || !t.Counters.IsZero() {
		l.moreOf(i).add(&timeMore{t.Waits, t.Counters})
	}
}

// clear makes a time zero.
func (l *timeList) clear(i int32) {
	l.spans[i] = timeSpans{}
	if at := l.acted[i]; at > 0 {
		*l.more.At(int(at - 1)) = timeMore{}
	}
}

// moreOf returns the rest of a time, to be added to. It is good until the next one is asked for.
func (l *timeList) moreOf(i int32) *timeMore {
	if l.acted[i] == 0 {
		l.more.Add(timeMore{})
		l.acted[i] = int32(l.more.Len())
	}
	return l.more.At(int(l.acted[i] - 1))
}

func (s *timeSpans) add(o *timeSpans) {
	s.elapsed += o.elapsed
	s.application += o.application
	s.cpu += o.cpu
	s.overhead += o.overhead
}

func (m *timeMore) add(o *timeMore) {
	m.waits, m.counters = m.waits.Add(o.waits), m.counters.Add(o.counters)
}

// inclusive returns for each node of a tree its time and those of all nodes below it: see calltree.Inclusive.
func (l *timeList) inclusive(tree calltree.Tree) *timeList {
	out := &timeList{spans: slices.Clone(l.spans), acted: slices.Clone(l.acted)}
	for i := range l.more.Len() {
		out.more.Add(*l.more.At(i))
	}
	for i := len(tree.Parent) - 1; i >= 0; i-- {
		p := tree.Parent[i]
		if p < 0 {
			continue
		}
		out.spans[p].add(&out.spans[i])
		if at := out.acted[i]; at > 0 {
			more := *out.more.At(int(at - 1))
			out.moreOf(p).add(&more)
		}
	}
	return out
}

// sumList returns the sums of groups, of which there are many: see calltree.Sum.
func (l *timeList) sumList(group []int32, groups int) *timeList {
	out := newTimeList(groups)
	for i, to := range group {
		if to < 0 {
			continue
		}
		out.spans[to].add(&l.spans[i])
		if at := l.acted[i]; at > 0 {
			out.moreOf(to).add(l.more.At(int(at - 1)))
		}
	}
	return out
}

// sum is sumList for few groups.
func (l *timeList) sum(group []int32, groups int) []q.Time {
	return l.sumList(group, groups).all()
}

// sumOf is sum of some of the times alone: see calltree.Presence.
func (l *timeList) sumOf(some []bool, group []int32, groups int) []q.Time {
	out := newTimeList(groups)
	for i, in := range some {
		if !in {
			continue
		}
		to := group[i]
		out.spans[to].add(&l.spans[i])
		if at := l.acted[i]; at > 0 {
			out.moreOf(to).add(l.more.At(int(at - 1)))
		}
	}
	return out.all()
}

// all returns all times.
func (l *timeList) all() []q.Time {
	out := make([]q.Time, l.len())
	for i := range out {
		out[i] = l.at(int32(i))
	}
	return out
}
