package report

import (
	"fmt"
	"slices"

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
