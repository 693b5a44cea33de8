package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// lifetimeView shows how objects ended.
var lifetimeView = View{
	Name:    "lifetime",
	Short:   "in which generation objects died, or that they are alive",
	Text:    Options{Top: 30},
	Grouped: true,
	columns: keys(instances + lifetimeKeys("")),
	text: keys("bytes bytes_percent alive_bytes instances instances_percent alive_instances " + // alive is always shown
		diedKeys()),
	sort:     "bytes",
	build:    buildLifetime,
	optional: keys(whereKeys() + freedKeys),
}

func buildLifetime(b *builder) error {
	var list []Row
	var of analysis.SiteGroups
	var err error
	limit := func() []Row { return b.limit(list, exclusiveCost) }
	switch by := cmp.Or(b.options.By, analysis.ByType); {
	case by == analysis.ByType && !b.showsWhere():
		list, err = b.typeGroups()
	case by == analysis.BySite && !b.showsWhere():
		list, err = b.siteGroups()
		limit = func() []Row { return list }
	case !b.showsWhere():
		list, err = b.groupLifetimes(false)
	default:
		list, of, err = b.groups()
	}
	if err != nil {
		return err
	}
	if b.source.Selection().InGCs() { // where the living are is known of the end alone
		b.note(NoteBackground)
		b.note(NoteSpan)
		b.table.Rows = limit()
		return nil
	}
	if err := b.attachWhere(list, of); err != nil {
		return err
	}
	notes, err := b.lifetimeNotes()
	b.table.Notes = append(b.table.Notes, notes...)
	b.table.Rows = limit()
	return err
}

// whereRow is where the living are at the end: by generation if a last collection looked, and on the frozen heap.
type whereRow struct {
	known     bool // a last collection looked
	reachable [session.Generations]q.Amount
	frozen    q.Amount
	freed     *q.Amount // of what is alive, after the process began to end; nil: not known
}

// freedKeys are the keys of what was freed while programs ended.
const freedKeys = "freed_instances freed_bytes"

func (w *whereRow) part(i int) q.Amount {
	if i < session.Generations {
		return w.reachable[i]
	}
	return w.frozen
}

// whereNames begin the keys of the columns of whereRow.
var whereNames = [session.Generations + 1]string{"alive_gen0", "alive_gen1", "alive_gen2", "alive_loh", "alive_poh",
	"frozen"}

func whereKeys() string {
	var b strings.Builder
	for _, name := range whereNames {
		b.WriteString(name + "_instances " + name + "_bytes ")
	}
	return b.String()
}

func whereColumns() []Column {
	var out []Column
	for i, name := range whereNames {
		title := "Frozen"
		if i < session.Generations {
			title = "Alive in " + session.GenerationName(int64(i))
		}
		cell := func(value func(*context, q.Amount, q.Amount) Cell) func(*context, *Row) Cell {
			return func(c *context, r *Row) Cell {
				if r.where == nil || i < session.Generations && !r.where.known {
					return Cell{Empty: true}
				}
				return value(c, r.where.part(i), ofEnd(r.lifetime, i))
			}
		}
		out = append(out,
			Column{Key: name + "_instances", Title: title, Kind: Count, cell: cell((*context).objectsCell)},
			Column{Key: name + "_bytes", Title: title + " bytes", Kind: Bytes, cell: cell((*context).bytesCell)})
	}
	freed := func(value func(*context, q.Amount, q.Amount) Cell) func(*context, *Row) Cell {
		return func(c *context, r *Row) Cell {
			if r.where == nil || r.where.freed == nil {
				return Cell{Empty: true}
			}
			return value(c, *r.where.freed, r.lifetime.Born)
		}
	}
	return append(out,
		Column{Key: "freed_instances", Title: "Freed at the end", Kind: Count, cell: freed((*context).objectsCell)},
		Column{Key: "freed_bytes", Title: "Freed at the end, bytes", Kind: Bytes, cell: freed((*context).bytesCell)})
}

// showsWhere reports whether a column says where living objects are.
func (b *builder) showsWhere() bool {
	wanted := keys(whereKeys() + freedKeys)
	return slices.Contains(wanted, b.order.Key) ||
		slices.ContainsFunc(b.table.Columns, func(c Column) bool { return slices.Contains(wanted, c.Key) })
}

// attachWhere says of rows of groups where their living objects are, if a column shows it.
func (b *builder) attachWhere(list []Row, of analysis.SiteGroups) error {
	if !b.showsWhere() {
		return nil
	}
	processes, err := b.source.Session().ProcessLifetimes()
	if err != nil {
		return err
	}
	known := map[session.ProcessID]bool{}
	for _, p := range processes {
		known[p.Process] = p.AliveKnown
	}
	rows := make([]whereRow, len(list))
	for i := range list {
		rows[i].known = known[list[i].process]
		list[i].where = &rows[i]
	}
	cohorts, err := b.aliveAtEnd(of)
	if err != nil {
		return err
	}
	estimated, err := b.source.SiteEstimates()
	if err != nil {
		return err
	}
	for _, a := range cohorts {
		if g := a.group; a.Generation >= 0 && a.Generation < session.Generations {
			rows[g].reachable[a.Generation] = rows[g].reachable[a.Generation].Add(estimated(a.Site, a.Amount))
		}
	}
	if err := b.attachFreed(rows, of); err != nil {
		return err
	}
	lifetimes, err := b.source.Lifetimes()
	if err != nil {
		return err
	}
	lifetimes.EachFrozen(func(site session.SiteID, born q.Amount) {
		if g, ok := of.Of(site); ok {
			rows[g].frozen = rows[g].frozen.Add(born)
		}
	})
	return nil
}

// attachFreed says of groups what was freed of them while programs ended, if that is known.
func (b *builder) attachFreed(rows []whereRow, of analysis.SiteGroups) error {
	list, known, err := b.source.Session().SiteFreed()
	if err != nil || !known {
		return err
	}
	for i := range rows {
		rows[i].freed = &q.Amount{}
	}
	for _, f := range list {
		if g, ok := of.Of(f.Site); ok {
			*rows[g].freed = rows[g].freed.Add(f.Amount)
		}
	}
	return nil
}
