package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/rules"
)

// Findings are the sentences with which a summary begins: what stands out, and where it is made. They are about user
// code, and each gives a number, what it is about, and the line. What weighs less than its limit is not said: a program
// with nothing unusual has few findings, or none. What a rule is about is said by the rule alone.
const (
	maxFindings   = 64  // more than there are: one of each rule, and maxCauses of each other kind
	maxCauses     = 3   // findings of one kind
	leastShare    = 10  // percent of bytes, of CPU time or of blocked time
	leastBytes    = 1e6 // less is of no weight in any program
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
	if !s.waitsMostly() {
		s.findWork()
	}
	if err := o.between(); err != nil {
		return err
	}
	wait := func() {}
	if s.mayPartBytes() {
		wait = s.context.source.TreeAhead()
	}
	judged, err := s.judgeAll(o)
	wait()
	if err != nil {
		return err
	}
	s.findRules(judged, func(r *rules.Rule) bool { return r.Waiting })
	s.findWaits(judged)
	if err := s.findInteractions(); err != nil {
		return err
	}
	s.findRules(judged, func(r *rules.Rule) bool { return r.First }) // a leak before what only allocates much
	if s.waitsMostly() {
		s.findWork()
	}
	s.findAllocations()
	s.findRules(judged, func(*rules.Rule) bool { return true })
	said := FindingAllocations
	if s.Timing != nil { // then the parts are those of the CPU time
		said = FindingWork
	}
	if !s.says(said, FindingUncertain) {
		if err := s.findParts(); err != nil {
			return err
		}
	}
	s.findMost()
	s.mixFindings()
	return nil
}

// says reports whether there is a finding of one of some kinds.
func (s *Summary) says(kinds ...NoteKind) bool {
	return slices.ContainsFunc(s.Findings, func(n Note) bool { return slices.Contains(kinds, n.Kind) })
}

// worksLittle is of which part of elapsed time CPU time is little, one in so many.
const worksLittle = 4

// waitsMostly reports whether the program worked so little that where it did is not why it is slow. That Main waits for
// the end of it does not count.
func (s *Summary) waitsMostly() bool {
	return s.Timing != nil && s.Timing.Total.Inclusive.CPU < (s.Timing.Elapsed()-s.forEnd)/worksLittle
}

// mixFindings puts the first finding of each kind before the second ones: what a program does in vain may be of several
// kinds, and its largest part alone should not fill a screen.
func (s *Summary) mixFindings() {
	type kind struct {
		of   NoteKind
		rule any
	}
	type placed struct {
		note Note
		link *Link
		nth  int
	}
	seen, list := map[kind]int{}, make([]placed, len(s.Findings))
	for i, f := range s.Findings {
		k := kind{of: f.Kind}
		if f.Kind == FindingRule {
			k.rule = f.Facts[2]
		}
		list[i] = placed{f, s.Links[i], seen[k]}
		seen[k]++
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.nth, b.nth) })
	for i, p := range list {
		s.Findings[i], s.Links[i] = p.note, p.link
	}
}

// findMost says where most of the work and of the bytes are where no finding does: a reader wants to know that, too,
// when it is little. Where most bytes are not of user code, that is said in any case.
func (s *Summary) findMost() {
	works := s.heaviest(func(t *q.Time) q.Nanoseconds { return t.CPU })
	if len(works) > 0 && !s.says(FindingWork, FindingUncertain) &&
		s.context.isKnown(works[0].time.Exclusive.CPU, works[0].time.Exclusive) {
		cpu := works[0].time.Exclusive.CPU
		s.find(&works[0], FindingMostWork, q.PercentOf(cpu, s.Timing.Total.Inclusive.CPU), cpu, s.where(&works[0]))
	}
	if s.Total.Bytes < leastBytes {
		return
	}
	if len(s.causes) > 0 && !s.says(FindingAllocations, FindingRule) {
		r := &s.causes[0]
		s.find(r, FindingMostBytes, r.values.Inclusive.Bytes, q.PercentOf(r.values.Inclusive.Bytes, s.Total.Bytes),
			s.context.shortTypeName(r.typ), s.where(r))
	}
	if s.Outside.Bytes < s.Total.Bytes/2 {
		return
	}
	s.find(nil, FindingFramework, q.PercentOf(s.Outside.Bytes, s.Total.Bytes), s.Outside.Bytes)
	s.findAllCode()
}

// findAllCode says which type and which function have most bytes, of whatever code. What stands for code that is not
// recorded is no function.
func (s *Summary) findAllCode() {
	types, functions := s.section("types_by_bytes"), s.section("functions_by_exclusive_bytes")
	if types == nil || functions == nil || len(types.Rows) == 0 {
		return
	}
	typ := &types.Rows[0]
	share, name := q.PercentOf(typ.values.Inclusive.Bytes, s.Total.Bytes), s.context.shortTypeName(typ.typ)
	for i := range functions.Rows {
		if f := &functions.Rows[i]; f.function != 0 && !s.context.isExcluded(f) {
			s.find(nil, FindingAllCode, share, name, q.PercentOf(f.values.Exclusive.Bytes, s.Total.Bytes),
				s.context.frameName(f.function))
			return
		}
	}
	s.find(nil, FindingAllTypes, share, name)
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
	if inside, err := s.context.neverInside(s.Info); err != nil || len(inside) > 0 {
		s.find(nil, FindingNothingInside, inside)
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
	if s.findUncertain() {
		return
	}
	whole := s.Timing.Total.Inclusive.CPU
	for _, r := range s.heaviest(func(t *q.Time) q.Nanoseconds { return t.CPU }) {
		if cpu := r.time.Exclusive.CPU; isShare(cpu, whole, leastShare) && s.context.isKnown(cpu, r.time.Exclusive) {
			s.find(&r, FindingWork, q.PercentOf(cpu, whole), cpu, s.where(&r))
		}
	}
}

// findUncertain says that what the probes took may be more wrong than all that remains, which function is called most,
// and how to measure what calls it. False: it is not so.
func (s *Summary) findUncertain() bool {
	all := s.Timing.Total.Inclusive
	if s.Timing.Raw || s.context.isKnown(all.CPU, all) {
		return false
	}
	rows, err := s.context.eachFunction()
	if err != nil {
		return false
	}
	var most, around Row
	var calls q.Count
	for r := range rows {
		if r.time == nil || r.function == 0 {
			continue
		}
		if r.time.Calls > calls {
			most, calls = Row{kind: rowFunction, from: analysis.Place{Function: r.function}}, r.time.Calls
		}
		inside := r.time.Inclusive.Overhead
		if inside > all.Overhead/2 && r.time.Calls <= s.Timing.Total.Calls/fewCalls && s.context.isUser(r.function) &&
			(around.function == 0 || inside <= around.time.Inclusive.Overhead) {
			around = Row{function: r.function, time: &rowTime{TimeValue: r.time.TimeValue}}
		}
	}
	if most.from.Function == 0 {
		return false
	}
	s.find(&most, FindingUncertain, s.Timing.Total.Calls, all.Overhead, s.Timing.Uncertain, all.CPU,
		s.context.functionName(most.from.Function), calls)
	if around.function != 0 {
		f := s.context.functions.get(around.function)
		s.find(nil, FindingMeasure, f.RawType+"."+f.RawName)
	}
	return true
}

// fewCalls: a function with one of so many calls, or fewer, can be recorded without much overhead of its own.
const fewCalls = 1000

// findWaits says where threads wait, but for what a rule is about.
func (s *Summary) findWaits(judged *broken) {
	if s.Timing == nil {
		return
	}
	for _, r := range s.heaviest(func(t *q.Time) q.Nanoseconds { return t.Blocked }) {
		t := r.time.Exclusive
		if t.Blocked < leastBlocked || t.Voluntary < leastWaits || judged.waits[waitAt{r.from, r.function}] ||
			s.waitsForEnd(r.from, r.function) ||
			!isShare(t.Blocked, s.Timing.Total.Inclusive.Blocked, leastShare/2) {
			continue
		}
		s.find(&r, FindingWait, t.Blocked, t.Voluntary, s.where(&r))
	}
}

// findInteractions says how long calls to databases and over HTTP took, where that is a large part of the recording:
// they can run at the same time, so it can be more than all of it.
func (s *Summary) findInteractions() error {
	if !s.context.source.Selection().IsZero() || s.Duration <= 0 {
		return nil
	}
	list, err := analysis.Interactions(s.context.source.Session(), analysis.ByText)
	if err != nil || len(list) == 0 {
		return err
	}
	total, calls := q.Nanoseconds(0), q.Count(0)
	for i := range list {
		total, calls = total+list[i].Total, calls+list[i].Calls
	}
	if first := &list[0]; first.HasText && total >= leastBlocked && isShare(total, s.Duration, leastShare) {
		s.find(nil, FindingInteractions, total, s.Duration, calls, short(first.Text), first.Total,
			s.context.placeText(first.From))
	}
	return nil
}

// mostOfText is how much of a command or an address a finding says.
const mostOfText = 60

// short is a text in one line, without its end where that is long.
func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > mostOfText {
		return string(runes[:mostOfText-1]) + "…"
	}
	return text
}

// heaviest are the first rows of user code by a part of their time: those with as much in their order.
func (s *Summary) heaviest(by func(*q.Time) q.Nanoseconds) []Row {
	var first []*analysis.UserTime
	for i := range s.works {
		t, at := &s.works[i], len(first)
		for at > 0 && by(&first[at-1].Time) < by(&t.Time) {
			at--
		}
		if at < maxCauses {
			first = slices.Insert(first, at, t)
			first = first[:min(maxCauses, len(first))]
		}
	}
	out := make([]Row, len(first))
	for i, t := range first {
		out[i] = Row{kind: rowFunction, time: &rowTime{}}
		s.setWork(&out[i], t)
	}
	return out
}
