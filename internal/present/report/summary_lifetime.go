package report

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Lifetime is what a summary says of the ends of objects.
type Lifetime struct {
	Lifetime analysis.Lifetime
	// Collections by the oldest generation of 0, 1 and 2 that they collected.
	Collections    [3]q.Count
	Pause, Longest q.Nanoseconds // all pauses together, and the longest, without Agent
	Agent          q.Nanoseconds // clrprof's own work in them
	LeftOut        q.Amount      // not the program's
	Walked         q.Count       // collections that took longer because the runtime walked generation 0
	Span           bool          // it is of a span of time, in which others die than are born
	AliveKnown     bool          // what lives was reachable at the end; otherwise it was not collected
	Notes          []Note
}

// End is how objects ended, or that they are alive.
type End struct {
	Key string // what columns begin with
	q.Amount
}

// Ends returns how much ended in each generation, and at last what is alive.
func (l *Lifetime) Ends() []End {
	var out []End
	for i, key := range endKeys {
		out = append(out, End{key, ended(&l.Lifetime, i)})
	}
	return out
}

// All is the number of collections.
func (l *Lifetime) All() q.Count { return l.Collections[0] + l.Collections[1] + l.Collections[2] }

// Waste is what survived generations 0 and 1 and then died in 2: its promotion was in vain.
func (l *Lifetime) Waste() q.Amount { return l.Lifetime.Dead[2] }

// The text columns of the sections about sites: what was wasted is a share of the waste, and what grows has a rate.
const (
	siteText    = "name bytes bytes_percent from instances function"
	wasteText   = "name bytes part_percent from instances function"
	growingText = "name bytes bytes_percent bytes_per_minute from instances function"
)

// partColumns are those of the sections about sites alone.
var partColumns = []Column{
	{Key: "part_percent", Title: "% of waste", Kind: Percent, data: dataMemory, cell: func(c *context, r *Row) Cell {
		if r.part.IsZero() {
			return Cell{Empty: true}
		}
		return c.shareCell(r.values.Inclusive, r.part, q.PercentOf(r.values.Inclusive.Bytes, r.part.Bytes))
	}},
	{Key: "bytes_per_minute", Title: "Per minute", Kind: Bytes, data: dataMemory, cell: func(c *context, r *Row) Cell {
		rate, ok := perMinute(r.values.Inclusive.Bytes, c.span(r.process))
		cell := Cell{Number: int64(rate), Empty: !ok || r.part.IsZero()}
		if samples := r.values.Inclusive.Sampled.Samples; samples > 0 {
			cell.Empty, cell.Estimate = cell.Empty || samples < q.LeastSamples, &Estimate{Samples: samples}
		}
		return cell
	}},
}

// perMinute is how many bytes a minute has on average; not ok: there are too many, or no time.
func perMinute(b q.Bytes, span q.Nanoseconds) (rate q.Bytes, ok bool) {
	if b < 0 || span <= 0 {
		return 0, false
	}
	high, low := bits.Mul64(uint64(b), uint64(time.Minute))
	if high >= uint64(span) {
		return 0, false
	}
	n, _ := bits.Div64(high, low, uint64(span))
	return q.Bytes(n), n <= math.MaxInt64
}

// span is how long a process ran in the span of time that is selected; 0: what is selected is none of time.
func (c *context) span(process session.ProcessID) q.Nanoseconds {
	sel, p := c.source.Selection(), c.processes.get(process)
	if sel.InGCs() {
		return 0
	}
	begin, end := max(sel.From, p.Begin), p.End
	if sel.To != 0 {
		end = min(end, sel.To)
	}
	return end - begin
}

// addLifetime adds what is known of the ends of objects, if they were followed.
func (s *Summary) addLifetime(top int) error {
	rows, err := s.context.source.Session().ProcessLifetimes()
	if err != nil || len(rows) == 0 {
		return err
	}
	lifetimes, err := s.context.source.Summary(top)
	if err != nil {
		return err
	}
	collections, err := s.context.gcRows()
	if err != nil {
		return err
	}
	s.Lifetime = &Lifetime{Lifetime: lifetimes.Total, Span: s.context.source.Selection().Spans()}
	if s.Lifetime.AliveKnown, err = s.context.aliveKnown(); err != nil {
		return err
	}
	out, err := s.context.source.Session().LeftOut()
	if err != nil {
		return err
	}
	for _, r := range out {
		s.Lifetime.LeftOut = s.Lifetime.LeftOut.Add(r.Amount)
		s.Lifetime.Walked += r.Walked
	}
	for _, g := range collections {
		s.Lifetime.Collections[min(max(g.Generation, 0), 2)]++
		pause := g.Pause - g.Agent // clrprof's own work is none of the program's
		s.Lifetime.Pause += pause
		s.Lifetime.Longest = max(s.Lifetime.Longest, pause)
		s.Lifetime.Agent += g.Agent
	}
	if s.Lifetime.Notes, err = s.context.lifetimeNotes(); err != nil {
		return err
	}
	for _, section := range []struct{ key, title, text string }{
		{analysis.SectionWaste, "Promotion waste: made here, survived generations 0 and 1, and died in 2", wasteText},
		{analysis.SectionYoung, "Died young, in generation 0", siteText},
		{analysis.SectionGrowing, "Only growing: alive at the end, and more of it from slice to slice", growingText},
	} {
		for _, key := range []string{section.key, analysis.UserSection(section.key)} {
			of := lifetimes.Sections[key].All
			if section.text == wasteText { // also of user code the share is of all waste
				of = lifetimes.Total.Dead[2]
			}
			table, err := s.partTable(top, lifetimes.Sections[key], section.text, of)
			if err != nil {
				return err
			}
			mine := key != section.key
			if mine && (s.allCode || section.key == analysis.SectionYoung) { // most of what is allocated dies young
				continue
			}
			s.Sections = append(s.Sections, Section{Key: key, Title: section.title, Table: table, mine: mine,
				all: !mine, sum: lifetimes.Sections[key].All})
		}
	}
	return nil
}

// partTable lists the sites by a part of their lifetimes, which takes the place of what they allocated, with their
// shares of what that is in all. There can be
// millions of sites, so rows are made only of those that can be shown.
func (s *Summary) partTable(top int, section analysis.LifetimeSection, text string,
	of q.Amount) (*Table, error) {
	view := lifetimeView
	view.build = func(b *builder) error {
		more, hidden := int(section.Sites), section.All
		var list []Row
		for i := range section.Rows {
			r := &section.Rows[i]
			if top > 0 && i >= top && r.Part.Bytes < section.Rows[top-1].Part.Bytes {
				break
			}
			row := b.groupRow(r.Group)
			row.function = b.madeBy(row.function, row.from)
			row.values, row.lifetime, row.part = both(r.Part), &r.Lifetime, of
			list = append(list, row)
			more, hidden = more-1, hidden.Sub(r.Part)
		}
		b.table.Rows = b.limit(list, exclusiveCost)
		b.hideMore(more, hidden)
		return nil
	}
	table, err := view.buildIn(s.context, Options{Top: top, Sort: "bytes", By: analysis.BySite})
	if err != nil {
		return nil, err
	}
	for _, c := range partColumns {
		if slices.Contains(keys(text), c.Key) {
			table.Columns = append(table.Columns, c)
		}
	}
	if text == wasteText {
		table.waste = of
	}
	table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns(text)
	return table, nil
}

// hideMore adds sites to those that the rest row stands for.
func (b *builder) hideMore(more int, hidden q.Amount) {
	if more == 0 {
		return
	}
	if n := len(b.table.Rows); n == 0 || b.table.Rows[n-1].kind != rowRest {
		b.table.Rows = append(b.table.Rows, Row{kind: rowRest, text: string(rowSite)})
	}
	rest := &b.table.Rows[len(b.table.Rows)-1]
	rest.rest += more
	rest.hidden = rest.hidden.add(cost{amount: hidden})
}
