package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Findings are the sentences with which a summary begins: what stands out, and where it is made. Each gives a number,
// its share of a cost, what it is about, and the place. What weighs less than its floor is not said: a program with
// nothing unusual has few findings, or none. What a rule is about is said by the rule alone. docs/rules.md has the
// floors.
const (
	maxFindings   = 64   // more than there are: one of each rule, and maxCauses of each other kind
	maxCauses     = 3    // findings of one kind
	leastShare    = 10   // percent of bytes or of CPU time
	leastBytes    = 1e6  // less is of no weight in any program
	leastCPU      = 10e6 // nanoseconds: likewise
	leastBlocked  = 50e6 // nanoseconds
	leastWaits    = 3    // what waits once or twice waits for an end, unless it waits for long
	longWait      = 200e6
	percentPoints = 100
)

// Explains says what part of a cost a finding is.
type Explains struct {
	Of    rules.Cost // "": of none
	Share q.Percent
}

// ofObjects are the findings whose quantities are of objects, which may be estimates. What rules find marks its own.
var ofObjects = []NoteKind{FindingAllocations, FindingHeld, FindingSpot, FindingMostBytes, FindingParts,
	FindingFramework, FindingAllCode, FindingAllTypes}

// isOfFew reports whether a share of bytes among facts may be of too few samples for a number.
func isOfFew(facts []any) bool {
	return slices.ContainsFunc(facts, func(fact any) bool {
		share, is := fact.(q.Percent)
		return is && share.Whole != 0 && q.SamplesIn(q.Bytes(share.Part)) < q.LeastSamples
	})
}

// find appends a finding that is of no part of a cost.
func (s *Summary) find(about *Row, kind NoteKind, facts ...any) {
	s.findShare(about, Explains{}, kind, facts...)
}

// findShare appends a finding about a row; nil: about none.
func (s *Summary) findShare(about *Row, part Explains, kind NoteKind, facts ...any) {
	if len(s.Findings) >= maxFindings {
		return
	}
	said := note(kind, facts...)
	switch ofBytes := part.Of == rules.OfBytes || part.Of == rules.OfAlive; {
	case s.Estimated && slices.Contains(ofObjects, kind):
		if said.Estimated = true; isOfFew(append(facts, part.Share)) {
			return
		}
	case s.Estimated && kind == FindingRule: // of a part that was counted it is a share of an estimate
		said.Estimated = ofBytes
	}
	s.Findings, s.Explained = append(s.Findings, said), append(s.Explained, part)
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
	if s.says(FindingNothingMade) { // all else is about code that is not recorded
		return nil
	}
	s.findWork()
	if err := o.between(); err != nil {
		return err
	}
	if err := s.findAllocations(); err != nil {
		return err
	}
	wait := func() {}
	if s.mayPart() && s.Timing == nil {
		wait = s.context.source.TreeAhead()
	}
	judged, err := s.judgeAll(o)
	wait()
	if err != nil {
		return err
	}
	s.findRules(judged)
	s.findCompiled()
	s.findCollections()
	s.findWaits(judged)
	s.findHeld()
	if err := errors.Join(s.findPinned(), s.findOtherHolder()); err != nil {
		return err
	}
	if err := s.proposeSnapshot(); err != nil {
		return err
	}
	if err := s.findFragmented(judged); err != nil {
		return err
	}
	if err := s.findSystem(); err != nil {
		return err
	}
	if err := s.findInteractions(); err != nil {
		return err
	}
	if s.mayPart() && !s.says(FindingUncertain) {
		if err := s.findParts(); err != nil {
			return err
		}
	}
	s.findMost()
	if err := s.findFolded(); err != nil {
		return err
	}
	s.orderFindings()
	return nil
}

// says reports whether there is a finding of one of some kinds.
func (s *Summary) says(kinds ...NoteKind) bool {
	return slices.ContainsFunc(s.Findings, func(n Note) bool { return slices.Contains(kinds, n.Kind) })
}

// explains reports whether a finding is of a part of a cost.
func (s *Summary) explains(of rules.Cost) bool {
	return slices.ContainsFunc(s.Explained, func(x Explains) bool { return x.Of == of })
}

// isWork reports whether the program worked so much that it matters where.
func (s *Summary) isWork() bool {
	return s.Timing != nil && s.Timing.Total.Inclusive.CPU >= leastCPU &&
		isShare(s.Timing.Total.Inclusive.CPU, s.ownElapsed(), rules.LeastPercent)
}

// worksLittle is of which part of elapsed time CPU time is little, one in so many.
const worksLittle = 4

// waitsMostly reports whether the program worked so little that where it did is not why it is slow. That Main waits for
// the end of it does not count.
func (s *Summary) waitsMostly() bool {
	return s.Timing != nil && s.Timing.Total.Inclusive.CPU < s.ownElapsed()/worksLittle
}

// costs are in the order in which they are told where findings are of about the same part of them: waits first where a
// program mostly waits, else what it works on.
func (s *Summary) costs() []rules.Cost {
	times := []rules.Cost{rules.OfCPU, rules.OfElapsed}
	if s.waitsMostly() {
		slices.Reverse(times)
	}
	return append(times, rules.OfDuration, rules.OfAlive, rules.OfBytes)
}

// The order of findings: what a recording lacks, then those that are half of a cost, a tenth, less, and at last what is
// no cost of the user's code.
const (
	halfOfCost  = 50
	tenthOfCost = 10
)

// rankLast is the rank of lastKinds.
const rankLast = 4

// lastKinds are the kinds of findings that are told last: no place of the user's is one, or a busy machine says as
// much.
var lastKinds = []NoteKind{FindingIdleOrBusy, FindingMostBytes, FindingMostWork, FindingFramework, FindingAllCode,
	FindingAllTypes}

// rank is smaller for findings that explain more.
func (s *Summary) rank(i int) int {
	part := s.Explained[i]
	switch {
	case slices.Contains(lastKinds, s.Findings[i].Kind):
		return rankLast
	case part.Of == "":
		return 0
	case part.Share.Float() >= halfOfCost:
		return 1
	case part.Share.Float() >= tenthOfCost:
		return 2
	}
	return 3
}

// orderFindings orders findings by what they explain: those that are a large part of a cost first. What is about the
// same part of different costs is in the order of these, so that the largest parts of one do not fill a screen.
func (s *Summary) orderFindings() {
	type placed struct {
		note Note
		link *Link
		part Explains
		rank int
	}
	costs, list := s.costs(), make([]placed, len(s.Findings))
	for i, f := range s.Findings {
		list[i] = placed{f, s.Links[i], s.Explained[i], s.rank(i)}
	}
	slices.SortStableFunc(list, func(a, b placed) int {
		if by := cmp.Compare(a.rank, b.rank); by != 0 || a.part.Of == "" || a.rank == rankLast {
			return by
		}
		return cmp.Or(cmp.Compare(slices.Index(costs, a.part.Of), slices.Index(costs, b.part.Of)),
			cmp.Compare(b.part.Share.Float(), a.part.Share.Float()))
	})
	for i, p := range list {
		s.Findings[i], s.Links[i], s.Explained[i] = p.note, p.link, p.part
	}
}

// findMost says where most of the work and of the bytes are where no finding does: a reader wants to know that, too,
// when it is little. Where most bytes are not of user code, that is said in any case.
func (s *Summary) findMost() {
	work := s.isWork() && !s.explains(rules.OfCPU) && !s.says(FindingUncertain)
	if x := s.mostWork; work && x != nil && len(x.parts) > 0 {
		cpu, r := q.Nanoseconds(x.weight), &x.parts[0].row
		share := q.PercentOf(cpu, s.Timing.Total.Inclusive.CPU)
		s.findShare(r, Explains{rules.OfCPU, share}, FindingMostWork, share, cpu, s.at(x))
	}
	if s.Total.Bytes < leastBytes {
		return
	}
	if x := s.mostBytes; x != nil && len(x.parts) > 0 && !s.explains(rules.OfBytes) {
		bytes, r := q.Bytes(x.weight), &x.parts[0].row
		share := q.PercentOf(bytes, s.Total.Bytes)
		s.findShare(r, Explains{rules.OfBytes, share}, FindingMostBytes, bytes, share,
			s.context.shortTypeName(r.typ), s.at(x))
	}
	if s.Outside.Bytes < s.Total.Bytes/2 {
		return
	}
	share := q.PercentOf(s.Outside.Bytes, s.Total.Bytes)
	s.findShare(nil, Explains{rules.OfBytes, share}, FindingFramework, share, s.Outside.Bytes)
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

// Nothing says why a recording of calls has none, or one of objects none of a function, for those who print no summary;
// nil: it has some, or was to have none.
func Nothing(src *analysis.Source) (*Note, error) {
	if total, err := src.TotalTime(); err != nil || total.Calls != 0 {
		return nil, err // without reading what calls are of, which is most of a session
	}
	c, err := newContext(src, false)
	if err != nil {
		return nil, err
	}
	s := &Summary{context: c}
	if c.hasTime() {
		s.Timing = &Timing{Total: c.shownTime}
	}
	if err := errors.Join(s.readInfo(), s.findNothing()); err != nil || len(s.Findings) == 0 {
		return nil, err
	}
	return &s.Findings[0], nil
}

// findNothing says why a recording of calls has none, where the flags are why: it was not paused, and all of it is
// shown.
func (s *Summary) findNothing() error {
	if s.Timing == nil {
		return s.findNothingMade()
	}
	if s.Timing.Total.Calls != 0 || !s.context.source.Selection().IsZero() {
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

// findNothingMade says that no function with objects was recorded, where the flags are why: all objects count for code
// that is not recorded.
func (s *Summary) findNothingMade() error {
	chosen := chosenBy(s.Info)
	if chosen == nil || len(chosen.Include)+len(chosen.Exclude) == 0 || !s.context.hasMemory() ||
		!s.context.source.Selection().IsZero() {
		return nil
	}
	rows, err := s.context.eachFunction()
	if err != nil {
		return err
	}
	excluded := false
	for r := range rows {
		if r.values.Exclusive.Allocations == 0 {
			continue
		}
		if s.context.functions.get(r.function).Kind != session.FunctionPseudo {
			return nil
		}
		excluded = excluded || s.context.isExcluded(r)
	}
	if excluded {
		s.find(nil, FindingNothingMade, chosen)
	}
	return nil
}

// where says in which line of user code something is made, and by which framework code that it calls.
func (s *Summary) where(r *Row) string { return s.calledAt(r, s.context.placeText(r.from)) }

// calledAt is where, with the place in words.
func (s *Summary) calledAt(r *Row, at string) string {
	if r.function != 0 && r.function != r.from.Function {
		return fmt.Sprintf("%s, called in %s", s.context.frameName(r.function), at)
	}
	return at
}

// isShare reports whether a part is at least so many percent of a whole.
func isShare[T ~int64](part, whole T, percent int64) bool {
	return whole > 0 && int64(part) >= (int64(whole)/percentPoints+1)*percent
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

// paidElapsed is the elapsed time that somebody waits for: not the waits for the end of the program, nor those of
// threads that have nothing to do.
func (s *Summary) paidElapsed() q.Nanoseconds { return s.Timing.Elapsed() - s.forEnd - s.idle }

// ownElapsed is the paid time without that in which threads could have run: on a busy machine others take most of it,
// and how much a program works is its own.
func (s *Summary) ownElapsed() q.Nanoseconds { return s.paidElapsed() - s.Timing.Total.Inclusive.Ready }

// findWaits says where threads wait, but for what a rule is about. What an entry point waits for, threads and tasks, is
// on other paths, where the findings are.
func (s *Summary) findWaits(judged *broken) {
	if s.Timing == nil {
		return
	}
	plain := func(t *analysis.UserTime) bool {
		often := t.Voluntary >= leastWaits || t.Blocked >= longWait
		return t.Blocked >= leastBlocked && often && isShare(t.Blocked, s.paidElapsed(), rules.LeastPercent) &&
			!judged.waits[waitAt{t.From, t.Function}] && !s.waitsForEnd(t.From, t.Function) && !s.joins(t) &&
			!s.isIdle(t) && !s.waitsForOthers(t)
	}
	for _, r := range s.heaviest(func(t *q.Time) q.Nanoseconds { return t.Blocked }, plain) {
		t := r.time.Exclusive
		s.findShare(&r, Explains{rules.OfElapsed, q.PercentOf(t.Blocked, s.paidElapsed())}, FindingWait, t.Blocked,
			Things{int(t.Voluntary), "time"}, s.where(&r), q.PercentOf(t.Blocked, s.paidElapsed()))
	}
}

// joins reports whether an entry point waits for other threads of the program.
func (s *Summary) joins(t *analysis.UserTime) bool {
	f := s.context.functions.get(t.Function)
	return slices.Contains(entryPoints, s.context.functions.get(t.From.Function).RawName) &&
		rules.WaitsForThreads(f.RawType+"."+f.RawName)
}

// findCollections says how long threads waited for garbage collections, wherever they did. How long they were without a
// processor because of it counts, but not that others had it when a collection was over.
func (s *Summary) findCollections() {
	if s.Timing == nil || s.Timing.GCPauses == 0 {
		return
	}
	var blocked q.Nanoseconds
	for i := range s.works {
		if t := &s.works[i]; s.context.isCollection(t.Function) {
			blocked += t.Blocked
		}
	}
	if blocked >= leastBlocked && isShare(blocked, s.paidElapsed(), rules.LeastPercent) {
		share := q.PercentOf(blocked, s.paidElapsed())
		s.findShare(nil, Explains{rules.OfElapsed, share}, FindingCollections, blocked, share,
			Things{int(s.Timing.GCPauses), "time"}, s.Timing.GCPaused, s.Timing.GCLongest)
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
		share := q.PercentOf(total, s.Duration)
		s.findShare(nil, Explains{rules.OfDuration, share}, FindingInteractions, total, s.Duration, calls,
			short(first.Text), first.Total,
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

// heaviest are the first rows of user code by a part of their time, of those that are kept: those with as much in their
// order. Waiting for collections is a cause of its own.
func (s *Summary) heaviest(by func(*q.Time) q.Nanoseconds, keep func(*analysis.UserTime) bool) []Row {
	var first []*analysis.UserTime
	for i := range s.works {
		t, at := &s.works[i], len(first)
		if s.context.isCollection(t.Function) || !keep(t) {
			continue
		}
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
