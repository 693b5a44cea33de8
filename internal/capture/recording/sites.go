package recording

import (
	"fmt"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Dead is what has died of a site, by generation.
type Dead [session.Generations]quantity.Amount

// AddSite adds a site, whose index is the number of those that there were.
func (p *Process) AddSite(row session.Site) error {
	p.recording.next.site++
	row.ID = p.recording.next.site
	p.sites.Add(short(row.ID))
	p.newRows = append(p.newRows, row)
	if len(p.newRows) >= ChunkRows {
		return p.WriteSites()
	}
	return nil
}

// Sites is how many sites there are.
func (p *Process) Sites() int { return p.sites.Len() }

// Site returns the id of a site.
func (p *Process) Site(i int) session.SiteID { return session.SiteID(*p.sites.At(i)) }

// Allocated is what slices hold of a site.
func (p *Process) Allocated(i int) quantity.Amount { return p.counted.at(i) }

// AllAllocated is what slices hold of all sites.
func (p *Process) AllAllocated() quantity.Amount {
	var sum quantity.Amount
	for i := range p.sites.Len() {
		sum = sum.Add(p.counted.at(i))
	}
	return sum
}

// WaitingSites is how many sites are not written.
func (p *Process) WaitingSites() int { return len(p.newRows) }

// WriteSites writes new sites, and what is new of the nodes that they refer to.
func (p *Process) WriteSites() error {
	if err := p.WriteTree(); err != nil {
		return err
	}
	err := p.recording.w.InsertSites(p.newRows)
	p.newRows = p.newRows[:0]
	return err
}

// GrowSites takes what sites, from the one with the index first on, have counted up to now, and what of that is dead,
// as far as that is known. The dead are read before the others: what is dead by then was allocated before.
func (p *Process) GrowSites(first int, allocated []quantity.Amount, dead []Dead) error {
	r := p.recording
	for k, total := range allocated {
		i, id, begin := first+k, p.Site(first+k), len(r.grown.deaths)
		if k < len(dead) {
			r.grown.deaths = p.lifetime.growDead(id, i, &dead[k], r.grown.deaths)
		}
		grown, err := p.grow(i, total)
		if err != nil {
			return fmt.Errorf("site %d: %w", i, err)
		}
		if !grown.IsZero() {
			r.grown.values = append(r.grown.values, session.SiteValue{Site: id, Amount: grown})
		}
		if p.died {
			r.grown.deaths = p.lifetime.mend(id, i, total, r.grown.deaths, begin)
		}
		if err := r.grown.write(r, ChunkRows); err != nil {
			return err
		}
	}
	return nil
}

// EndSites writes new sites after all have grown. If the process died, its dead are all reported.
func (p *Process) EndSites() error {
	p.lifetime.closed = p.died
	return p.WriteSites()
}

// grow returns what is new of what a site has counted. Counters only grow. An object without bytes is being counted
// at this moment, and belongs to the next slice.
func (p *Process) grow(i int, total quantity.Amount) (grown quantity.Amount, err error) {
	r, before := p.recording, p.counted.at(i)
	grown = total.Sub(before)
	sum := r.totals.Add(grown)
	if grown.Allocations < 0 || grown.Bytes < 0 || sum.Allocations > MaxCounter || sum.Bytes > MaxCounter {
		return grown, fmt.Errorf("%w: %d objects, %d bytes after %d, %d", ErrInconsistent, total.Allocations,
			total.Bytes, before.Allocations, before.Bytes)
	}
	if grown.Allocations == 0 || grown.Bytes == 0 {
		return quantity.Amount{}, nil
	}
	r.totals.Amount = sum
	p.counted.set(i, total)
	return grown, nil
}
