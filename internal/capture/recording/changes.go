package recording

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Counters of a Change besides the generations, which count what died.
const changeAllocated = session.Generations

// Change is what a counter of a site was at the end of a garbage collection.
type Change struct {
	Site    uint32 // index
	Counter uint32 // a generation, or changeAllocated
	Objects quantity.Amount
}

// changes is what one process said of what changed from one collection to the next. Sources tell counters as they
// are; the session holds by how much they grew.
type changes struct {
	since   int64      // number of the last collection that reported
	open    []Change   // of the collection that has not ended
	waiting []reported // collections whose changes are not written: some of the sites are not known yet
	was     [changeAllocated + 1]amounts
}

// reported is the changes of a collection.
type reported struct {
	gc      session.GCID
	changes []Change
}

// AddChanges takes what changed up to the end of the garbage collection that is added next. It is written when what
// GrowSites got has caught up with it.
func (p *Process) AddChanges(list []Change) error {
	for _, x := range list {
		if x.Counter > changeAllocated || max(uint64(x.Objects.Allocations), uint64(x.Objects.Bytes)) > MaxCounter {
			return fmt.Errorf("%w: counter %d of site %d is %d objects, %d bytes", ErrInconsistent, x.Counter, x.Site,
				x.Objects.Allocations, x.Objects.Bytes)
		}
	}
	p.lifetime.changes.open = append(p.lifetime.changes.open, list...)
	return nil
}

// end completes what a collection reported, and returns since which other one. One that reported nothing leaves it to
// a later one: what it may have begun to report is reported again.
func (c *changes) end(gc session.GCID, number, since int64) int64 {
	if since >= number {
		c.open = nil
		return number
	}
	since = c.since
	c.waiting = append(c.waiting, reported{gc, c.open})
	c.open, c.since = nil, number
	return since
}

// known says that the session already holds what was reported: a source can report a collection before it reports the
// sites.
func (p *Process) known(x Change) bool {
	i := int(x.Site)
	if i >= p.sites.Len() || i >= p.lifetime.read {
		return false
	}
	have, now := p.counted.at(i), x.Objects
	if x.Counter < changeAllocated {
		have = p.lifetime.dead[x.Counter].at(i)
	}
	return now.Allocations <= have.Allocations && now.Bytes <= have.Bytes
}

// write writes the changes of all collections up to the first that is ahead of the session.
func (c *changes) write(p *Process) error {
	var births []session.GCBirth
	var deaths []session.GCDeath
	for len(c.waiting) > 0 {
		t := c.waiting[0]
		if slices.ContainsFunc(t.changes, func(x Change) bool { return !p.known(x) }) {
			break
		}
		slices.SortFunc(t.changes, func(a, b Change) int {
			return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Counter, b.Counter))
		})
		for _, x := range t.changes {
			grown, err := c.grow(x)
			if err != nil {
				return err
			}
			site := p.Site(int(x.Site))
			switch {
			case grown.IsZero():
			case x.Counter == changeAllocated:
				births = append(births, session.GCBirth{GC: t.gc, Site: site, Amount: grown})
			default:
				deaths = append(deaths, session.GCDeath{GC: t.gc, Site: site, Generation: int64(x.Counter),
					Amount: grown})
			}
			if max(len(births), len(deaths)) >= ChunkRows {
				if err := writeChanges(p.recording.w, births, deaths); err != nil {
					return err
				}
				births, deaths = births[:0], deaths[:0]
			}
		}
		c.waiting = c.waiting[1:]
	}
	return writeChanges(p.recording.w, births, deaths)
}

func writeChanges(w *session.Writer, births []session.GCBirth, deaths []session.GCDeath) error {
	if err := w.InsertGCBirths(births); err != nil {
		return err
	}
	return w.InsertGCDeaths(deaths)
}

// grow returns by how much a counter grew since it was reported last.
func (c *changes) grow(x Change) (quantity.Amount, error) {
	was, site := &c.was[x.Counter], int(x.Site)
	now, before := x.Objects, was.at(site)
	was.set(site, now)
	grown := now.Sub(before)
	if grown.Allocations < 0 || grown.Bytes < 0 {
		return grown, fmt.Errorf("%w: counter %d of site %d is %d objects after %d", ErrInconsistent, x.Counter, x.Site,
			now.Allocations, before.Allocations)
	}
	return grown, nil
}
