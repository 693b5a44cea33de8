package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/analysis/rules"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// leastUnheld is how much is alive when a snapshot is proposed that says what holds it, if it is also leastShare of all
// that was allocated: programs end with caches of some megabytes. Of less it is proposed where a finding asks for it.
const leastUnheld = 8e6

// proposeSnapshot proposes to record what holds the objects that are alive, if they are many, or if a finding is that
// they only accumulate, and nothing says it.
func (s *Summary) proposeSnapshot() error {
	l := s.Lifetime
	if l == nil || l.Span || !l.AliveKnown || !s.context.source.Selection().IsZero() {
		return nil
	}
	alive := l.Lifetime.Alive()
	if (alive.Bytes < leastUnheld || !isShare(alive.Bytes, s.Total.Bytes, leastShare)) && !s.asksWhoHolds {
		return nil
	}
	taken, err := s.context.source.Session().Snapshots()
	if err == nil && len(taken) == 0 {
		s.Next = append(s.Next, Next{Kind: NextSnapshot})
	}
	return err
}

// findHeld says what the static field holds that holds most of a heap of which there is a snapshot, if that is much.
func (s *Summary) findHeld() {
	h := s.context.holders
	if h.Bytes < leastBytes {
		return
	}
	var most *session.SnapshotStatic
	sums := map[*session.SnapshotStatic]q.Bytes{}
	for i := range h.Places { // those of most bytes come first, and so the first of equal fields
		p := &h.Places[i]
		if p.Static == nil {
			continue
		}
		if sums[p.Static] += p.StaticBytes; most == nil || sums[p.Static] > sums[most] {
			most = p.Static
		}
	}
	if most == nil || !isShare(sums[most], h.Bytes, leastShare) {
		return
	}
	var about *Row
	var names List
	for i := range h.Places {
		p := &h.Places[i]
		if p.Static != most || len(names) == spotNamed {
			continue
		}
		at := "code that is not yours"
		if p.From.Function != 0 {
			at = s.context.placeText(p.From)
			if about == nil {
				about = &Row{kind: rowFunction, function: p.From.Function, from: p.From}
			}
		}
		names = append(names, fmt.Sprintf("%s made by %s %s%s", s.context.shortTypeName(p.Type), at, s.sign(),
			q.PercentOf(p.StaticBytes, h.Bytes)))
	}
	share := q.PercentOf(sums[most], h.Bytes)
	s.findShare(about, Explains{rules.OfAlive, share}, FindingHeld, share, sums[most], s.context.shortStaticName(most),
		slices.Clip(names))
}

// otherHolder is a holder that is no static field, what it holds of a heap, and the largest parts of that.
type otherHolder struct {
	session.SnapshotHolder
	bytes q.Bytes
	parts []analysis.Hold
}

// findOtherHolder adds a finding about the root that holds most of a heap and is no static field, if that is much: a
// variable on a stack, a handle, or several roots together, as for the items of a ConcurrentBag.
func (s *Summary) findOtherHolder() error {
	whole := s.context.holders.Bytes
	if whole < leastBytes {
		return nil
	}
	most, err := s.mostOther()
	if err != nil || most == nil || !isShare(most.bytes, whole, leastShare) ||
		most.Kind == session.RootHandle && s.says(FindingPinned) {
		return err
	}
	slices.SortStableFunc(most.parts, func(a, b analysis.Hold) int { return cmp.Compare(s.bytesOf(&b), s.bytesOf(&a)) })
	var about *Row
	var names List
	for i := range most.parts[:min(len(most.parts), spotNamed)] {
		p := &most.parts[i]
		at := "code that is not yours"
		if p.From.Function != 0 {
			at = s.context.placeText(p.From)
			if about == nil {
				about = &Row{kind: rowFunction, function: p.From.Function, from: p.From}
			}
		}
		names = append(names, fmt.Sprintf("%s made by %s %s%s", s.context.shortTypeName(p.Holder.Type), at, s.sign(),
			q.PercentOf(s.bytesOf(p), whole)))
	}
	through, begin := "", ""
	if t := most.Through; t != 0 {
		through = s.context.shortTypeName(t)
		if begin, err = s.wayBegin(most); err != nil {
			return err
		}
	}
	name := s.rootText(&Row{function: most.Function, held: &rootRow{kind: most.Kind, flags: most.Flags}})
	share := q.PercentOf(most.bytes, whole)
	s.findShare(about, Explains{rules.OfAlive, share}, FindingHeldOtherwise, share, most.bytes, name, through,
		names, begin)
	return nil
}

// rootText is a root's name with shortened names.
func (s *Summary) rootText(r *Row) string {
	return rootName(r, s.context.shortFunctionName, s.context.shortStaticName, s.context.shortTypeName)
}

// bytesOf are the bytes of what is held: of objects that were sampled, what these stand for.
func (s *Summary) bytesOf(h *analysis.Hold) q.Bytes {
	if s.Estimated && h.From.Function != 0 {
		return h.Estimate.Bytes
	}
	return h.Bytes
}

// mostOther is the holder of most bytes that is no static field; nil: there is none.
func (s *Summary) mostOther() (*otherHolder, error) {
	holds, err := s.context.source.OtherHolds()
	if err != nil {
		return nil, err
	}
	return largestHolder(holds, s.Estimated), nil
}

// largestHolder adds up what each holder holds, and returns the one of most bytes; nil: there is none. A snapshot has
// all objects, also where only some were sampled: these stand for others of their holder, so they say of which places
// its bytes are, and not how many there are.
func largestHolder(holds []analysis.Hold, sampled bool) *otherHolder {
	var most *otherHolder
	by := map[session.SnapshotHolder]*otherHolder{}
	for i := range holds { // those of most bytes come first, and so the first of equal holders
		key := holds[i].Holder
		key.Type = 0
		if by[key] == nil {
			by[key] = &otherHolder{SnapshotHolder: key}
		}
		to := by[key]
		if !sampled || holds[i].From.Function != 0 { // who made what was not sampled is not known
			to.parts = append(to.parts, holds[i])
		}
		if to.bytes += holds[i].Bytes; most == nil || to.bytes > most.bytes {
			most = to
		}
	}
	return most
}

// wayBegin says where the way begins that the snapshot has to an object of the type through which several hold; "": it
// has none, or there is one holder.
func (s *Summary) wayBegin(of *otherHolder) (string, error) {
	if of.Kind != session.HolderSeveral {
		return "", nil
	}
	paths, err := s.context.source.Session().SnapshotPaths()
	if err != nil {
		return "", err
	}
	statics, err := analysis.ReadStatics(s.context.source.Session())
	if err != nil {
		return "", err
	}
	begin := ""
	for _, step := range paths {
		if step.Process != of.Process || step.Type != of.Through {
			continue
		}
		if field := statics.Field(step.Process, step.Static); field != nil {
			begin = s.rootText(&Row{held: &rootRow{kind: rootStatic, static: field}})
		} else if step.Position == 0 {
			begin = s.rootText(&Row{function: step.Function, held: &rootRow{kind: step.Kind, flags: step.Flags}})
		}
	}
	return begin, nil
}
