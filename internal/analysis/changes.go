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
	ErrNoChanges = errors.New("this session does not have the changes from one collection to the next: an older " +
		"clrprof recorded it, or no collection ended")
	ErrGCsInTime = errors.New("a span of collections and a span of time cannot be combined")
	ErrNoGC      = errors.New("no such collection")
)

// GCSpan is a span of garbage collections: what happened after the end of collection After (0: since the start) and
// up to the end of collection To (0: to the end of the process). Numbers are within each process.
type GCSpan struct{ After, To int64 }

// String says it in words.
func (s GCSpan) String() string {
	to := "the end"
	if s.To != 0 {
		to = fmt.Sprintf("that of collection %d", s.To)
	}
	return fmt.Sprintf("from the end of collection %d to %s", s.After, to)
}

// CheckGCs returns ErrNoGC if no selected process had so many collections. 0 is the start.
func (v *Source) CheckGCs(numbers ...int64) error {
	return checkGCs(v.session, v.selection, numbers...)
}

func checkGCs(s *session.Session, sel Selection, numbers ...int64) error {
	gcs, err := s.GCs()
	if err != nil {
		return err
	}
	last := int64(0)
	for _, g := range gcs {
		if sel.HasProcess(g.Process) {
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

// boundaries are, for each process, the collections that reported what changed, and where their reports begin and end:
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

// widen returns the smallest span between boundaries of a process that contains another one. To is 0 if it goes to
// the end.
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

// gcScope is a span of collections, as far as it is known what changed from one to the next.
type gcScope struct {
	spans    map[session.ProcessID]GCSpan // what the span really is
	sign     map[session.GCID]int64       // of the collections that count: 1, or -1 where the rest is asked for
	from, to session.GCID
	wanted   []bool // sites of these processes that are selected
	whole    []bool // of these, those whose span goes to the end: it is what there was in all, less what was before
}

// gcScope finds the collections of a selection.
func (d *Data) gcScope(sel Selection) (*gcScope, error) {
	if len(d.Followed) == 0 {
		return nil, ErrNoLifetime
	}
	if err := checkGCs(d.session, sel, sel.GCs.After, sel.GCs.To); err != nil {
		return nil, err
	}
	reported, err := readBoundaries(d.session)
	if err != nil {
		return nil, err
	}
	if len(reported) == 0 {
		return nil, ErrNoChanges
	}
	out := &gcScope{spans: map[session.ProcessID]GCSpan{}, sign: map[session.GCID]int64{}, from: math.MaxInt64,
		wanted: make([]bool, len(d.Sites)), whole: make([]bool, len(d.Sites))}
	for p := range reported {
		span := reported.widen(p, sel.GCs)
		out.spans[p] = span
		for _, at := range reported[p][1:] {
			switch {
			case span.To == 0 && at.number <= span.After:
				out.sign[at.gc] = -1
			case span.To != 0 && at.number > span.After && at.number <= span.To:
				out.sign[at.gc] = 1
			default:
				continue
			}
			out.from, out.to = min(out.from, at.gc), max(out.to, at.gc)
		}
	}
	for i, t := range d.siteThread {
		if t < 0 {
			continue
		}
		span, known := out.spans[d.Threads[t].Process]
		out.wanted[i] = known && lets(d.in.sites, int32(i))
		out.whole[i] = out.wanted[i] && span.To == 0
	}
	return out, nil
}

// add adds what changed at a site between two collections, if it counts.
func (c *gcScope) add(d *Data, gc session.GCID, site session.SiteID, sum func(at int32) *q.Amount, a q.Amount) error {
	at, ok := d.siteIndex.find(site)
	if !ok || at == none {
		return fmt.Errorf("session %s: %w: a change of site %d, which does not exist",
			d.session.Path(), session.ErrCorrupt, site)
	}
	sign := c.sign[gc]
	if sign == 0 || !c.wanted[at] {
		return nil
	}
	d.markSampled(at, &a)
	p := sum(at)
	if sign < 0 {
		*p = p.Sub(a)
	} else {
		*p = p.Add(a)
	}
	return nil
}

// bornBetween adds what was born within the span of collections to the amounts of sites, by position.
func (d *Data) bornBetween(out []q.Amount) error {
	c := d.in.gcs
	err := d.eachValue(everySlice, func(_, site int32, v *session.SiteValue) {
		if c.whole[site] {
			out[site] = out[site].Add(v.Amount)
		}
	})
	if err != nil {
		return err
	}
	births, err := d.session.GCBirths(c.from, c.to)
	if err != nil {
		return err
	}
	for _, b := range births {
		if err := c.add(d, b.GC, b.Site, func(at int32) *q.Amount { return &out[at] }, b.Amount); err != nil {
			return err
		}
	}
	return nil
}

// deadBetween adds what died within the span of collections to the lifetimes of sites, by position.
func (d *Data) deadBetween(out *lifetimeList) error {
	c := d.in.gcs
	err := d.eachDeath(everySlice, func(_, site int32, dead *session.SiteDeath) {
		if c.whole[site] && dead.Generation >= 0 && dead.Generation < session.Generations {
			sum := out.died(site, dead.Generation)
			*sum = sum.Add(dead.Amount)
		}
	})
	if err != nil {
		return err
	}
	deaths, err := d.session.GCDeaths(c.from, c.to)
	if err != nil {
		return err
	}
	for _, x := range deaths {
		if x.Generation < 0 || x.Generation >= session.Generations {
			return fmt.Errorf("session %s: %w: deaths in generation %d", d.session.Path(), session.ErrCorrupt,
				x.Generation)
		}
		sum := func(at int32) *q.Amount { return out.died(at, x.Generation) }
		if err := c.add(d, x.GC, x.Site, sum, x.Amount); err != nil {
			return err
		}
	}
	return nil
}

// GCSpans returns for each process the span of collections that is really covered: if collections were many, not
// each of them says what changed. Without a span of collections in the selection there are none.
func (v *Source) GCSpans() (map[session.ProcessID]GCSpan, error) {
	if !v.selection.InGCs() {
		return nil, nil
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.in.gcs.spans, nil
}
