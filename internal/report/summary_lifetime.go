package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Lifetime is what a summary says of the ends of objects.
type Lifetime struct {
	Lifetime analysis.Lifetime
	// Collections by the oldest generation of 0, 1 and 2 that they collected.
	Collections    [3]q.Count
	Pause, Longest q.Nanoseconds // all pauses together, and the longest
	LeftOut        q.Amount      // not the program's
	Walked         q.Count       // collections that took longer because the runtime walked generation 0
	Notes          []string
}

// all is the number of collections.
func (l *Lifetime) all() q.Count { return l.Collections[0] + l.Collections[1] + l.Collections[2] }

// Waste is what survived generations 0 and 1 and then died in 2: its promotion was in vain.
func (l *Lifetime) Waste() q.Amount { return l.Lifetime.Dead[2] }

// siteText are the text columns of the sections about sites.
const siteText = "name bytes bytes_percent instances function from"

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
	s.Lifetime = &Lifetime{Lifetime: lifetimes.Total}
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
		s.Lifetime.Pause += g.Pause
		s.Lifetime.Longest = max(s.Lifetime.Longest, g.Pause)
	}
	if s.Lifetime.Notes, err = s.context.lifetimeNotes(); err != nil {
		return err
	}
	for _, section := range []struct{ key, title string }{
		{analysis.SectionWaste, "Promotion waste: made here, survived generations 0 and 1, and died in 2"},
		{analysis.SectionYoung, "Died young, in generation 0"},
		{analysis.SectionGrowing, "Only growing: alive at the end, and more of it from slice to slice"},
	} {
		for _, key := range []string{section.key, analysis.UserSection(section.key)} {
			table, err := s.partTable(top, lifetimes.Sections[key])
			if err != nil {
				return err
			}
			mine := key != section.key
			if mine && (s.allCode || section.key == analysis.SectionYoung) { // most of what is allocated dies young
				continue
			}
			s.Sections = append(s.Sections, Section{Key: key, Title: section.title, Table: table, mine: mine, all: !mine})
		}
	}
	return nil
}

// partTable lists the sites by a part of their lifetimes, which takes the place of what they allocated. There can be
// millions of sites, so rows are made only of those that can be shown.
func (s *Summary) partTable(top int, section analysis.LifetimeSection) (*Table, error) {
	view, err := FindView("lifetime")
	if err != nil {
		return nil, err
	}
	view.build = func(b *builder) error {
		more, hidden := int(section.Sites), section.All
		var list []Row
		for i := range section.Rows {
			r := &section.Rows[i]
			if top > 0 && i >= top && r.Part.Bytes < section.Rows[top-1].Part.Bytes {
				break
			}
			row := b.groupRow(r.Group)
			row.values, row.lifetime = both(r.Part), &r.Lifetime
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
	table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns("lifetime", siteText)
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

// lifetimeFacts prints the lines about lifetimes at the head of a summary.
func (s *Summary) lifetimeFacts(fact func(key, format string, args ...any)) {
	l := s.Lifetime
	if l == nil {
		return
	}
	fact("gcs", "%s (%s gen 0, %s gen 1, %s gen 2), pauses %s together, %s the longest", l.all(), l.Collections[0], l.Collections[1], l.Collections[2], l.Pause, l.Longest)
	s.diedFact(fact)
	fact("waste", "%s survived generations 0 and 1 and died in 2", bytesExactly(l.Waste().Bytes))
	if !l.LeftOut.IsZero() {
		fact("left out", "%s, %s: made by the runtime for clrprof, or after the last collection", counted(l.LeftOut.Allocations, "object"), bytesExactly(l.LeftOut.Bytes))
	}
}

// diedFact prints what became of all objects. Within a span of time others die than are born, so shares are of those that
// died, and the living only change.
func (s *Summary) diedFact(fact func(key, format string, args ...any)) {
	lifetime := &s.Lifetime.Lifetime
	span := s.context.source.Selection().Spans()
	whole := lifetime.Born.Bytes
	if span {
		whole = lifetime.Collected().Bytes
	}
	var parts []string
	for i := range session.Generations {
		end := ended(lifetime, i)
		if i < session.GenerationLarge || !end.IsZero() {
			parts = append(parts, fmt.Sprintf("%s %s", session.GenerationName(int64(i)), q.PercentOf(end.Bytes, whole)))
		}
	}
	if !span {
		fact("died", "%s, alive %s of bytes", strings.Join(parts, ", "), q.PercentOf(lifetime.Alive().Bytes, whole))
		return
	}
	fact("died", "%s: %s of bytes", lifetime.Collected().Bytes, strings.Join(parts, ", "))
	more := lifetime.Alive().Bytes
	fact("alive", "%s %s than before", max(more, -more), pick(more < 0, "less", "more"))
}

// lifetimeJSON writes the keys about lifetimes.
func (s *Summary) lifetimeJSON(out *bufio.Writer) error {
	l := s.Lifetime
	if l == nil {
		return nil
	}
	known, err := s.context.aliveKnown()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "  \"gcs\": %d,\n  \"gen0_gcs\": %d,\n  \"gen1_gcs\": %d,\n  \"gen2_gcs\": %d,\n  \"pause_ns\": %d,\n  \"longest_pause_ns\": %d,\n",
		l.all(), l.Collections[0], l.Collections[1], l.Collections[2], l.Pause, l.Longest)
	for i, key := range endKeys {
		end := ended(&l.Lifetime, i)
		fmt.Fprintf(out, "  \"%s_instances\": %d,\n  \"%s_bytes\": %d,\n", key, end.Allocations, key, end.Bytes)
	}
	fmt.Fprintf(out, "  \"left_out_allocations\": %d,\n  \"left_out_bytes\": %d,\n  \"walked_gcs\": %d,\n", l.LeftOut.Allocations, l.LeftOut.Bytes, l.Walked)
	fmt.Fprintf(out, "  \"promotion_waste_bytes\": %d,\n  \"alive_means\": \"%s\",\n  \"background_gc\": false,\n",
		l.Waste().Bytes, pick(known, "reachable at end", "not collected at end"))
	return nil
}
