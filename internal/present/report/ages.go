package report

import (
	"fmt"
	"strings"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// agesView shows how old objects became.
var agesView = View{
	Name:    "ages",
	Short:   "how many collections objects survived",
	Text:    Options{Top: 30},
	Grouped: true,
	columns: keys("instances dead_instances " + ageKeys(session.AgeGCs) + ageKeys(session.AgeTime) + ageKeys("alive")),
	text:    keys("instances " + ageKeys(session.AgeGCs) + ageKeys("alive")),
	sort:    "instances",
	build:   buildAges,
}

// ageKeys are the keys of the columns of a measure of ages; those of the living begin with alive_.
func ageKeys(measure string) string {
	var b strings.Builder
	for i := range session.AgeBuckets {
		fmt.Fprintf(&b, "%s ", ageKey(measure, i))
	}
	return b.String()
}

// ageNames end the keys of ages: the least age of a bucket.
var ageSuffixes = map[string][session.AgeBuckets]string{
	session.AgeGCs:  {"0", "1", "2", "3", "5", "9", "17", "65"},
	session.AgeTime: {"0", "1ms", "10ms", "100ms", "1s", "10s", "100s", "1000s"},
}

func ageKey(measure string, bucket int) string {
	if measure == "alive" {
		return "alive_gcs_" + ageSuffixes[session.AgeGCs][bucket]
	}
	return measure + "_" + ageSuffixes[measure][bucket]
}

// ageColumns makes the columns of ages.
func ageColumns() []Column {
	out := []Column{{Key: "dead_instances", Title: "Died", Kind: Count, cell: func(c *context, r *Row) Cell {
		if r.ages == nil {
			return Cell{Empty: true}
		}
		return c.objectsCell(r.lifetime.Collected(), r.lifetime.Born)
	}}}
	for i := range session.AgeBuckets {
		title := session.AgeName(session.AgeGCs, int64(i))
		title = strings.Replace(title, " and more", "+", 1)
		out = append(out,
			Column{Key: ageKey(session.AgeGCs, i), Title: title + pick(i == 1, " GC", " GCs"), Kind: Count,
				cell: ageCell(func(a *session.Ages) q.Count { return a.GCs[i] },
					func(s *analysis.SampledAges) q.Sampled { return s.GCs[i] })},
			Column{Key: ageKey("alive", i), Title: "Alive " + title, Kind: Count,
				cell: ageCell(func(a *session.Ages) q.Count { return a.AliveGCs[i] },
					func(s *analysis.SampledAges) q.Sampled { return s.AliveGCs[i] })},
			Column{Key: ageKey(session.AgeTime, i), Title: session.AgeName(session.AgeTime, int64(i)), Kind: Count,
				cell: ageCell(func(a *session.Ages) q.Count { return a.Time[i] },
					func(s *analysis.SampledAges) q.Sampled { return s.Time[i] })})
	}
	return out
}

func ageCell(value func(*session.Ages) q.Count, sampled func(*analysis.SampledAges) q.Sampled) func(*context,
	*Row) Cell {
	return func(c *context, r *Row) Cell {
		switch {
		case r.ages == nil:
			return Cell{Empty: true}
		case r.sampledAges == nil:
			return numberCell(value(r.ages))
		}
		a := q.Amount{Allocations: value(r.ages), Sampled: sampled(r.sampledAges)}
		return c.objectsCell(a, r.lifetime.Born)
	}
}

func buildAges(b *builder) error {
	list, err := b.groupLifetimes(true)
	if err != nil {
		return err
	}
	b.note(NoteAges)
	if b.source.Selection().Spans() {
		b.note(NoteAgesWhole)
		for i := range list {
			list[i].ages.GCs[0] = 0 // how many survived nothing is known of the whole only
			if of := list[i].sampledAges; of != nil {
				of.GCs[0] = q.Sampled{}
			}
		}
	}
	b.table.Rows = b.limit(list, exclusiveCost)
	return nil
}
