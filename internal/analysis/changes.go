package analysis

import (
	"errors"
	"fmt"
	"math"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Errors of a span of collections.
var (
	ErrNoChanges = errors.New("this session does not say what changed from one collection to the next: an older clrprof recorded it, or no collection ended")
	ErrGCsInTime = errors.New("a span of collections and a span of time cannot be combined")
	ErrNoGC      = errors.New("no such collection")
)

// GCSpan is a span of garbage collections: what happened after the end of collection After (0: since the start) and up to
// the end of collection To (0: to the end of the process). Numbers are within each process.
type GCSpan struct{ After, To int64 }

// CheckGCs returns ErrNoGC if no process that the filter lets through had so many collections. 0 is the start.
func (v *Source) CheckGCs(numbers ...int64) error {
	gcs, err := v.session.GCs()
	if err != nil {
		return err
	}
	last := int64(0)
	for _, g := range gcs {
		if v.filter.Process == 0 || v.filter.Process == g.Process {
			last = max(last, g.Number)
		}
	}
	for _, n := range numbers {
		if n > last {
			return fmt.Errorf("%w: %d; the last one is number %d", ErrNoGC, n, last)
		}
	}
	return nil
}

// boundaries are, for each process, the collections that told what changed, and where their tellings begin and end:
// numbers in ascending order, of which the first is 0, the start.
type boundaries map[session.ProcessID][]boundary

type boundary struct {
	number int64
	gc     session.GCID
}

func readBoundaries(s *session.Session) (boundaries, error) {
	gcs, err := s.GCs()
	if err != nil {
		return nil, err
	}
	details, err := s.GCDetails()
	if err != nil {
		return nil, err
	}
	since := make(map[session.GCID]int64, len(details))
	for _, d := range details {
		since[d.GC] = d.Since
	}
	out := boundaries{}
	for _, g := range gcs {
		if from, ok := since[g.ID]; ok && from < g.Number {
			if out[g.Process] == nil {
				out[g.Process] = []boundary{{}}
			}
			out[g.Process] = append(out[g.Process], boundary{g.Number, g.ID})
		}
	}
	return out, nil
}

// widen returns the smallest span between boundaries of a process that contains another one. To is 0 if it goes to the end.
func (b boundaries) widen(p session.ProcessID, span GCSpan) (out GCSpan) {
	for _, at := range b[p] {
		if at.number <= span.After {
			out.After = at.number
		}
		if span.To != 0 && at.number >= span.To {
			out.To = at.number
			return out
		}
	}
	return out
}

// LifetimesBetween returns what was born and what died within a span of collections, as far as the filter lets it through, and
// for each process the span that this really is: if collections were many, not each of them told what changed. Alive is
// then by how much the living changed. Errors are ErrNoLifetime, ErrNoChanges, ErrNoGC, ErrGCsInTime and those of the filter.
func (v *Source) LifetimesBetween(span GCSpan) (*Lifetimes, map[session.ProcessID]GCSpan, error) {
	d, err := v.load()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case v.filter.From != 0 || v.filter.To != 0:
		return nil, nil, ErrGCsInTime
	case len(d.Followed) == 0:
		return nil, nil, ErrNoLifetime
	}
	if err := v.CheckGCs(span.After, span.To); err != nil {
		return nil, nil, err
	}
	told, err := readBoundaries(v.session)
	if err != nil {
		return nil, nil, err
	}
	if len(told) == 0 {
		return nil, nil, ErrNoChanges
	}
	lifetimes, err := d.Lifetimes(v.filter)
	if err != nil {
		return nil, nil, err
	}
	spans := map[session.ProcessID]GCSpan{}
	from, to := session.GCID(math.MaxInt64), session.GCID(0)
	sign := map[session.GCID]int64{} // of the collections that count: 1, or -1 where the rest is asked for
	for p := range told {
		spans[p] = told.widen(p, span)
		for _, at := range told[p][1:] {
			switch {
			case spans[p].To == 0 && at.number <= spans[p].After:
				sign[at.gc] = -1
			case spans[p].To != 0 && at.number > spans[p].After && at.number <= spans[p].To:
				sign[at.gc] = 1
			default:
				continue
			}
			from, to = min(from, at.gc), max(to, at.gc)
		}
	}
	sites, err := d.sitesBetween(v.session, lifetimes.sites, spans, sign, from, to)
	if err != nil {
		return nil, nil, err
	}
	return d.lifetimesOf(v.filter, sites), spans, nil
}

// sitesBetween starts from all that there was, for processes whose span goes to the end, and from nothing for others.
func (d *Data) sitesBetween(s *session.Session, all []Lifetime, spans map[session.ProcessID]GCSpan, sign map[session.GCID]int64, from, to session.GCID) ([]Lifetime, error) {
	out := make([]Lifetime, len(all))
	wanted := make([]bool, len(all))
	for i := range all {
		t := d.siteThread[i]
		if t < 0 {
			continue
		}
		span, told := spans[d.Threads[t].Process]
		wanted[i] = told && !all[i].IsZero()
		if told && span.To == 0 {
			out[i] = all[i]
		}
	}
	index := newIndex(d.Sites, func(r *session.Site) session.SiteID { return r.ID })
	add := func(gc session.GCID, site session.SiteID, part func(*Lifetime) *q.Amount, a q.Amount) error {
		at, ok := index.find(site)
		if !ok || at == none {
			return fmt.Errorf("session %s: %w: a change of site %d, which does not exist", s.Path(), session.ErrCorrupt, site)
		}
		if n := sign[gc]; n != 0 && wanted[at] {
			p := part(&out[at])
			*p = p.Add(q.Amount{Allocations: a.Allocations * q.Count(n), Bytes: a.Bytes * q.Bytes(n)})
		}
		return nil
	}
	births, err := s.GCBirths(from, to)
	if err != nil {
		return nil, err
	}
	for _, b := range births {
		if err := add(b.GC, b.Site, func(l *Lifetime) *q.Amount { return &l.Born }, b.Amount); err != nil {
			return nil, err
		}
	}
	deaths, err := s.GCDeaths(from, to)
	if err != nil {
		return nil, err
	}
	for _, x := range deaths {
		if x.Generation < 0 || x.Generation >= session.Generations {
			return nil, fmt.Errorf("session %s: %w: deaths in generation %d", s.Path(), session.ErrCorrupt, x.Generation)
		}
		if err := add(x.GC, x.Site, func(l *Lifetime) *q.Amount { return &l.Dead[x.Generation] }, x.Amount); err != nil {
			return nil, err
		}
	}
	return out, nil
}
