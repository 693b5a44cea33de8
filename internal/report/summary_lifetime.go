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
	Life analysis.Life
	// Collections by the oldest generation of 0, 1 and 2 that they collected.
	Collections    [3]q.Count
	Pause, Longest q.Nanoseconds // all pauses together, and the longest
	Notes          []string
}

// all is the number of collections.
func (l *Lifetime) all() q.Count { return l.Collections[0] + l.Collections[1] + l.Collections[2] }

// Waste is what survived generations 0 and 1 and then died in 2: its promotion was in vain.
func (l *Lifetime) Waste() q.Amount { return l.Life.Dead[2] }

// siteText are the text columns of the sections about sites.
const siteText = "name bytes bytes_percent instances function from"

// addLifetime adds what is known of the ends of objects, if they were followed.
func (s *Summary) addLifetime(top int) error {
	rows, err := s.context.source.Session().ProcessLifetimes()
	if err != nil || len(rows) == 0 {
		return err
	}
	lives, err := s.context.source.Lives()
	if err != nil {
		return err
	}
	collections, err := s.context.gcRows()
	if err != nil {
		return err
	}
	s.Lifetime = &Lifetime{Life: lives.Total()}
	for _, g := range collections {
		s.Lifetime.Collections[min(max(g.Generation, 0), 2)]++
		s.Lifetime.Pause += g.Pause
		s.Lifetime.Longest = max(s.Lifetime.Longest, g.Pause)
	}
	if s.Lifetime.Notes, err = s.context.lifetimeNotes(); err != nil {
		return err
	}
	growing := map[int]bool{}
	_, _, of := lives.Groups(analysis.BySite)
	for _, site := range lives.Growing() {
		if g, ok := of[site]; ok {
			growing[g] = true
		}
	}
	for _, section := range []struct {
		key, title string
		part       func(group int, l *analysis.Life) q.Amount
	}{
		{"promotion_waste", "Promotion waste: made here, survived generations 0 and 1, and died in 2",
			func(_ int, l *analysis.Life) q.Amount { return l.Dead[2] }},
		{"short_lived", "Died young, in generation 0",
			func(_ int, l *analysis.Life) q.Amount { return l.Dead[0] }},
		{"growing", "Only growing: alive at the end, and more of it from slice to slice",
			func(g int, l *analysis.Life) q.Amount {
				if !growing[g] {
					return q.Amount{}
				}
				return l.Alive()
			}},
	} {
		table, err := s.partTable(top, section.part)
		if err != nil {
			return err
		}
		s.Sections = append(s.Sections, Section{section.key, section.title, table})
	}
	return nil
}

// partTable lists the sites by a part of their lives, which takes the place of what they allocated.
func (s *Summary) partTable(top int, part func(int, *analysis.Life) q.Amount) (*Table, error) {
	view, err := FindView("lifetime")
	if err != nil {
		return nil, err
	}
	view.build = func(b *builder) error {
		all, _, err := b.groups()
		if err != nil {
			return err
		}
		var list []Row
		for i, r := range all {
			if a := part(i, r.life); !a.IsZero() {
				r.values = both(a)
				list = append(list, r)
			}
		}
		b.table.Rows = b.limit(list, worthExclusive)
		return nil
	}
	table, err := view.buildIn(s.context, Options{Top: top, Sort: "bytes", By: analysis.BySite})
	if err != nil {
		return nil, err
	}
	table.Notes, table.Losses, table.Next, table.TextColumns = nil, nil, nil, s.columns("lifetime", siteText)
	return table, nil
}

// lifetimeFacts prints the lines about lifetimes at the head of a summary.
func (s *Summary) lifetimeFacts(fact func(key, format string, args ...any)) {
	l := s.Lifetime
	if l == nil {
		return
	}
	fact("gcs", "%s (%s gen 0, %s gen 1, %s gen 2), pauses %s together, %s the longest", l.all(), l.Collections[0], l.Collections[1], l.Collections[2], l.Pause, l.Longest)
	var parts []string
	for i := range endKeys {
		end := ended(&l.Life, i)
		if i >= session.GenerationLarge && i < session.Generations && end.IsZero() {
			continue
		}
		share := q.PercentOf(end.Bytes, l.Life.Born.Bytes)
		if i < session.Generations {
			parts = append(parts, fmt.Sprintf("%s %s", session.GenerationName(int64(i)), share))
		} else {
			parts = append(parts, fmt.Sprintf("alive %s", share))
		}
	}
	fact("died", "%s of bytes", strings.Join(parts, ", "))
	fact("waste", "%s survived generations 0 and 1 and died in 2", bytesExactly(l.Waste().Bytes))
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
		end := ended(&l.Life, i)
		fmt.Fprintf(out, "  \"%s_instances\": %d,\n  \"%s_bytes\": %d,\n", key, end.Allocations, key, end.Bytes)
	}
	fmt.Fprintf(out, "  \"promotion_waste_bytes\": %d,\n  \"alive_means\": \"%s\",\n  \"background_gc\": false,\n",
		l.Waste().Bytes, pick(known, "reachable at end", "not collected at end"))
	return nil
}
