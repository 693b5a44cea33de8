package collect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

// changes is what one process said of what changed from one collection to the next. The agent tells counters as they
// are; the session holds by how much they grew.
type changes struct {
	since   uint32        // number of the last collection that told
	open    []wire.Change // of the collection that has not ended
	waiting []told        // collections whose changes are not written: some of the sites are not known yet
	was     [wire.ChangeAllocated + 1]amounts
}

// told is the changes of a collection.
type told struct {
	gc      session.GCID
	changes []wire.Change
}

func (c *changes) add(r *wire.Changes) error {
	for _, x := range r.Changes {
		if x.Site == 0 || x.Counter > wire.ChangeAllocated || max(x.Objects.Objects, x.Objects.Bytes) > maxCounter {
			return fmt.Errorf("%w: counter %d of site %d is %d objects, %d bytes", wire.ErrCorrupt, x.Counter, x.Site, x.Objects.Objects, x.Objects.Bytes)
		}
	}
	c.open = append(c.open, r.Changes...)
	return nil
}

// end completes what a collection told, and returns since which other one. One that told nothing leaves it to a later
// one: what it may have begun to tell is told again.
func (c *changes) end(gc session.GCID, g *wire.GC) int64 {
	if g.Since >= g.Number {
		c.open = nil
		return int64(g.Number)
	}
	since := c.since
	c.waiting = append(c.waiting, told{gc, c.open})
	c.open, c.since = nil, g.Number
	return int64(since)
}

// known says that the session already holds what was told: the tables of sites are read before the log.
func (p *process) known(x wire.Change) bool {
	i := int(x.Site) - 1
	if i >= p.sites.len() || i >= p.lifetime.read {
		return false
	}
	have, now := p.counted.at(i), amountOf(x.Objects)
	if x.Counter < wire.ChangeAllocated {
		have = p.lifetime.dead[x.Counter].at(i)
	}
	return now.Allocations <= have.Allocations && now.Bytes <= have.Bytes
}

// write writes the changes of all collections up to the first that is ahead of the session.
func (c *changes) write(r *Recorder, p *process) error {
	var births []session.GCBirth
	var deaths []session.GCDeath
	for len(c.waiting) > 0 {
		t := c.waiting[0]
		if slices.ContainsFunc(t.changes, func(x wire.Change) bool { return !p.known(x) }) {
			break
		}
		slices.SortFunc(t.changes, func(a, b wire.Change) int {
			return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Counter, b.Counter))
		})
		for _, x := range t.changes {
			grown, err := c.grow(x)
			if err != nil {
				return err
			}
			site := p.siteID(int(x.Site - 1))
			switch {
			case grown.IsZero():
			case x.Counter == wire.ChangeAllocated:
				births = append(births, session.GCBirth{GC: t.gc, Site: site, Amount: grown})
			default:
				deaths = append(deaths, session.GCDeath{GC: t.gc, Site: site, Generation: int64(x.Counter), Amount: grown})
			}
			if max(len(births), len(deaths)) >= chunkRows {
				if err := writeChanges(r, births, deaths); err != nil {
					return err
				}
				births, deaths = births[:0], deaths[:0]
			}
		}
		c.waiting = c.waiting[1:]
	}
	return writeChanges(r, births, deaths)
}

func writeChanges(r *Recorder, births []session.GCBirth, deaths []session.GCDeath) error {
	if err := r.w.InsertGCBirths(births); err != nil {
		return err
	}
	return r.w.InsertGCDeaths(deaths)
}

// grow returns by how much a counter grew since it was told last.
func (c *changes) grow(x wire.Change) (quantity.Amount, error) {
	was, site := &c.was[x.Counter], int(x.Site-1)
	now, before := amountOf(x.Objects), was.at(site)
	was.set(site, now)
	grown := now.Sub(before)
	if grown.Allocations < 0 || grown.Bytes < 0 {
		return grown, fmt.Errorf("%w: counter %d of site %d is %d objects after %d", wire.ErrCorrupt, x.Counter, x.Site, now.Allocations, before.Allocations)
	}
	return grown, nil
}
