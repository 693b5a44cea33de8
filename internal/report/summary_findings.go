package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
)

// Findings are the sentences with which a summary begins: what stands out, and where it is made. They are about user
// code, and each gives a number, what it is about, and the line. What weighs less than its limit is not said: a program
// with nothing unusual has few findings, or none.
const (
	maxFindings   = 8
	maxCauses     = 3   // findings of one kind
	leastShare    = 10  // percent of bytes, of CPU time or of blocked time
	leastPause    = 5   // percent of the recording in collections
	leastBytes    = 1e6 // of what survives, died in vain or only grows: less is of no weight in any program
	leastBlocked  = 5e7 // nanoseconds
	leastWaits    = 3   // what waits once or twice waits for an end: Main for its threads
	percentPoints = 100
)

// find appends a finding about a row; nil: about none.
func (s *Summary) find(about *Row, kind NoteKind, facts ...any) {
	if len(s.Findings) >= maxFindings {
		return
	}
	s.Findings = append(s.Findings, note(kind, facts...))
	var link *Link
	if about != nil && about.from.Function != 0 {
		link = &Link{View: "callers", Argument: s.context.functionName(about.from.Function)}
	}
	s.Links = append(s.Links, link)
}

// addFindings looks at what the sections are made of.
func (s *Summary) addFindings(o Options) error {
	if err := s.findNothing(); err != nil || s.allCode {
		return err
	}
	s.findWork()
	s.findWaits()
	s.findAllocations()
	s.findPauses()
	s.findLifetimes()
	if err := o.between(); err != nil {
		return err
	}
	return s.findRules(o)
}

// findNothing says why a recording of calls has none, where the flags are why: it was not paused, and all of it is
// shown.
func (s *Summary) findNothing() error {
	if s.Timing == nil || s.Timing.Total.Calls != 0 || !s.context.source.Selection().IsZero() {
		return nil
	}
	pauses, err := s.context.source.Session().Pauses()
	if err != nil || len(pauses) != 0 {
		return err
	}
	if chosen := chosenBy(s.Info); chosen != nil {
		s.find(nil, FindingNothingChosen, chosen)
		return nil
	}
	s.find(nil, FindingNothing)
	return nil
}

// where says in which line of user code something is made, and by which framework code that it calls.
func (s *Summary) where(r *Row) string {
	at := s.context.placeText(r.from)
	if r.function != 0 && r.function != r.from.Function {
		return fmt.Sprintf("%s, called in %s", s.context.frameName(r.function), at)
	}
	return at
}

// isShare reports whether a part is at least so many percent of a whole.
func isShare[T ~int64](part, whole T, percent int64) bool {
	return whole > 0 && int64(part) >= (int64(whole)/percentPoints+1)*percent
}

func (s *Summary) findAllocations() {
	for i := range s.causes[:min(maxCauses, len(s.causes))] {
		r := &s.causes[i]
		if bytes := r.values.Inclusive.Bytes; isShare(bytes, s.Total.Bytes, leastShare) && bytes >= leastBytes {
			s.find(r, FindingAllocations, q.PercentOf(bytes, s.Total.Bytes), s.context.shortTypeName(r.typ), s.where(r))
		}
	}
}

// findWork says where the CPU time goes.
func (s *Summary) findWork() {
	if s.Timing == nil {
		return
	}
	whole := s.Timing.Total.Inclusive.CPU
	for _, r := range s.heaviest(func(t q.Time) q.Nanoseconds { return t.CPU }) {
		if cpu := r.time.Exclusive.CPU; isShare(cpu, whole, leastShare) {
			s.find(&r, FindingWork, q.PercentOf(cpu, whole), cpu, s.where(&r))
		}
	}
}

// lockWaits begin the names of functions in which a thread waits for a lock. Monitor.Wait waits for a pulse.
var lockWaits = []string{"Monitor.Enter", "Monitor.TryEnter", "Monitor.ReliableEnter", "Lock.Enter", "Lock.TryEnter",
	"SpinLock.Enter", "ReaderWriterLockSlim.", "SemaphoreSlim.Wait"}

// asyncWaits are the functions in which a thread waits for a task.
var asyncWaits = []string{"Task.Wait", "Task.WaitAll", "Task.WaitAny", "Task.InternalWait", "Task.get_Result",
	".GetResult", ">.get_Result", "Task.SpinThenBlockingWait"}

// findWaits says where threads wait.
func (s *Summary) findWaits() {
	if s.Timing == nil {
		return
	}
	for _, r := range s.heaviest(func(t q.Time) q.Nanoseconds { return t.Blocked }) {
		t := r.time.Exclusive
		if t.Blocked < leastBlocked || t.Voluntary < leastWaits || !isShare(t.Blocked, s.Timing.Total.Inclusive.Blocked,
			leastShare/2) {
			continue
		}
		name, kind := s.context.frameName(r.function), FindingWait
		switch {
		case slices.ContainsFunc(lockWaits, func(of string) bool { return strings.HasPrefix(name, of) }):
			kind = FindingLock
		case slices.ContainsFunc(asyncWaits, func(of string) bool { return strings.Contains(name, of) }):
			kind = FindingAsync
		}
		s.find(&r, kind, t.Blocked, t.Voluntary, s.where(&r))
	}
}

// heaviest are the first rows of user code by a part of their time.
func (s *Summary) heaviest(by func(q.Time) q.Nanoseconds) []Row {
	list := slices.Clone(s.works)
	slices.SortStableFunc(list, func(a, b Row) int { return cmp.Compare(by(b.time.Exclusive), by(a.time.Exclusive)) })
	return list[:min(maxCauses, len(list))]
}

func (s *Summary) findPauses() {
	if l := s.Lifetime; l != nil && isShare(l.Pause, s.Duration, leastPause) {
		s.find(nil, FindingPauses, q.PercentOf(l.Pause, s.Duration), l.Pause, Things{int(l.All()), "collection"})
	}
}

// findLifetimes says what only grows, and what is promoted in vain.
func (s *Summary) findLifetimes() {
	for _, look := range []struct {
		section string
		kind    NoteKind
	}{
		{analysis.SectionGrowing, FindingGrowing},
		{analysis.SectionWaste, FindingWaste},
	} {
		table := s.section(analysis.UserSection(look.section))
		if table == nil {
			continue
		}
		for i := range table.Rows[:min(1, len(table.Rows))] {
			r := &table.Rows[i]
			if r.kind != rowSite || r.values.Inclusive.Bytes < leastBytes {
				continue
			}
			at := fromCell(s.context, r)
			s.find(r, look.kind, r.values.Inclusive.Bytes, s.context.shortTypeName(r.typ),
				cmp.Or(at.Text, s.context.frameName(r.function)))
		}
	}
}
