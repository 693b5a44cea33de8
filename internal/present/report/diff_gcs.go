package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// diffGCsView compares the heap at two collections.
var diffGCsView = View{
	Name:     "diff-gcs",
	Short:    "what was born between two collections and is still alive",
	Argument: "A B",
	Text:     Options{Top: 30},
	Grouped:  true,
	Needs:    NeedsCollections,
	columns: keys(instances + "gen0_instances gen1_instances gen2_instances loh_instances poh_instances gen0_bytes " +
		"gen1_bytes gen2_bytes loh_bytes poh_bytes"),
	text: keys("bytes instances bytes_percent gen0_instances gen1_instances gen2_instances loh_instances " +
		"poh_instances"),
	sort:  "bytes",
	build: buildDiffGCs,
}

// buildDiffGCs shows what was born between two collections and is still alive.
func buildDiffGCs(b *builder) error {
	words := strings.Fields(b.options.Argument)
	if len(words) != 2 {
		return &UnknownError{What: "pair of collections", Name: b.options.Argument}
	}
	var numbers [2]int64
	for i, word := range words {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || n < 0 {
			return &UnknownError{What: "collection", Name: word}
		}
		numbers[i] = n
	}
	from, to := numbers[0], numbers[1]
	if from >= to {
		return &UnknownError{What: "pair of collections", Name: b.options.Argument}
	}
	if followed, err := b.source.HasLifetimes(); !followed {
		return cmp.Or(err, analysis.ErrNoLifetime)
	}
	if err := b.source.CheckGCs(from, to); err != nil {
		return err
	}
	out, err := b.bornBetween(from, to)
	if err != nil {
		return err
	}
	b.note(NoteBornBetween, from, to)
	b.next(NoteDiedBetween, from, to)
	known, err := b.aliveKnown()
	if !known {
		b.note(NoteNoLastGC)
	}
	b.table.Rows = b.limit(out, exclusiveCost)
	return err
}

// bornBetween returns the rows of the groups of which something is alive that was born after one collection and up to
// another.
func (b *builder) bornBetween(from, to int64) ([]Row, error) {
	cohorts, err := b.source.Session().SiteAlive()
	cohorts = slices.DeleteFunc(cohorts, func(a session.SiteAlive) bool { return a.Born < from || a.Born >= to })
	if err != nil || len(cohorts) == 0 {
		return nil, err
	}
	groups, of, err := b.source.SiteGroups(cmp.Or(b.options.By, analysis.ByType))
	if err != nil {
		return nil, err
	}
	estimated, err := b.source.SiteEstimates()
	if err != nil {
		return nil, err
	}
	sums := make([]q.Amount, len(groups))
	ends := make([]analysis.Lifetime, len(groups)) // Dead here means: alive in this generation
	for _, a := range cohorts {
		g, wanted := of.Of(a.Site)
		if !wanted {
			continue
		}
		amount := estimated(a.Site, a.Amount)
		sums[g], ends[g].Born = sums[g].Add(amount), ends[g].Born.Add(amount)
		if a.Generation >= 0 && a.Generation < session.Generations {
			ends[g].Dead[a.Generation] = ends[g].Dead[a.Generation].Add(amount)
		}
	}
	var out []Row
	for i, g := range groups {
		if !sums[i].IsZero() {
			r := b.rowOfGroup(g)
			r.values, r.lifetime = both(sums[i]), &ends[i]
			out = append(out, r)
		}
	}
	return out, nil
}
