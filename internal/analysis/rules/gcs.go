package rules

import (
	"cmp"
	"fmt"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Limits of what is about collections.
const (
	leastBytes       = q.Bytes(1e6) // less is of no weight in any program
	leastGen2Percent = 10           // of all bytes that died in generations 0 to 2
	leastGen2        = 10           // collections of generation 2, before their number says anything
	gen1PerGen2      = 5            // of healthy programs, at least
	leastPause       = 10           // percent of the recording, without clrprof's part of pauses
	leastPaused      = 50e6         // nanoseconds
	leastInduced     = 5
	leastPinned      = 100 // for each collection
)

// whole is a finding about the program.
func whole(r *Rule, a q.Amount, text string, args ...any) []Finding {
	return []Finding{{Rule: r, Amount: a, Text: fmt.Sprintf(text, args...)}}
}

// placed makes the find of a rule about the whole program that names a place: where most of a part of uses is, if that
// is leastPercent of all bytes or objects. where begins what is said of it.
func placed(floor, where string, part func(*facts, *analysis.Use) q.Amount,
	find func(*facts, *Rule) []Finding) finder {
	search := func(f *facts, r *Rule) search {
		sums, of := map[analysis.Place]q.Amount{}, map[analysis.Place]session.TypeID{}
		add := func(u *analysis.Use) {
			if a := part(f, u); u.Type != 0 && !a.IsZero() {
				if a.Bytes > sums[u.From].Bytes {
					of[u.From] = u.Type
				}
				sums[u.From] = sums[u.From].Add(a)
			}
		}
		return search{add, func() []Finding {
			found := find(f, r)
			if len(found) == 0 {
				return nil
			}
			var most analysis.Place
			for at, a := range sums {
				if !isMuch(a, f.Total.Born) { // of others not all uses are made
					continue
				}
				if m := sums[most]; a.Bytes > m.Bytes || a.Bytes == m.Bytes && before(at, most) {
					most = at
				}
			}
			found[0].From, found[0].Type = most, of[most]
			return found
		}}
	}
	place := func(sum *analysis.PlaceSum, all q.Amount) bool { return isMuch(sum.All, all) }
	return finder{floor: floor, where: where, search: search, place: place}
}

// isMuch reports whether a part of all objects is worth to be looked at.
func isMuch(part, all q.Amount) bool {
	return part.Bytes*100 >= all.Bytes*leastPercent || part.Allocations*100 >= all.Allocations*leastPercent
}

// before orders places that are equal otherwise.
func before(a, b analysis.Place) bool {
	return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line)) < 0
}

// asking makes the find of a rule about the whole program that names the place with most calls of a function: as
// collections say who asked for them, and where calls were timed.
func asking(floor, where, function string, find func(*facts, *Rule) []Finding) finder {
	is := func(name string) bool { return name == function }
	return finder{floor: floor, where: where, calls: is, search: func(f *facts, r *Rule) search {
		calls := map[analysis.Place]q.Count{}
		add := func(u *analysis.Use) {
			if u.Type == 0 && len(u.Chain) == 1 && is(f.function(u.Chain[0])) {
				calls[u.From] += u.Calls
			}
		}
		return search{add, func() []Finding {
			found := find(f, r)
			if len(found) == 0 {
				return nil
			}
			for at, n := range f.askers() { // as the stacks of collections say
				calls[at] = max(calls[at], n)
			}
			for at, n := range calls {
				if x := &found[0]; n > x.Calls || n == x.Calls && before(at, x.From) {
					x.From, x.Calls = at, n
				}
			}
			if found[0].Calls == 0 {
				found[0].Text += "; a recording with --time has the line that calls " + function
			}
			return found
		}}
	}}
}

// program makes the find of a rule about the whole program.
func program(floor string, find func(*facts, *Rule) []Finding) finder {
	return finder{floor: floor, search: func(f *facts, r *Rule) search {
		return search{found: func() []Finding { return find(f, r) }}
	}}
}

func manyGen2Deaths(f *facts, r *Rule) []Finding {
	dead, all := f.Total.Dead[2], f.Total.Dead[0].Add(f.Total.Dead[1]).Add(f.Total.Dead[2])
	if dead.Sampled.IsFew() || dead.Bytes < leastBytes || dead.Bytes*100 < all.Bytes*leastGen2Percent {
		return nil
	}
	return whole(r, dead, "%s%s of the bytes that died in generations 0 to 2 (%s) died in generation 2",
		dead.Sign(), q.PercentOf(dead.Bytes, all.Bytes), dead.InBytes())
}

// pauses are collections, and how long the program stood still for them, without the agent's own work in them.
type pauses struct {
	of      [3]q.Count // that the program did not ask for, by generation
	own     q.Nanoseconds
	asked   q.Count // that it asked for
	induced q.Nanoseconds
}

func (p *pauses) count() q.Count { return p.of[0] + p.of[1] + p.of[2] + p.asked }

// collections adds up the program's.
func (f *facts) collections() (out pauses) {
	for _, g := range f.gcs {
		switch pause := g.Pause - g.Agent; {
		case f.own[g.ID]:
		case g.Induced:
			out.asked, out.induced = out.asked+1, out.induced+pause
		default:
			out.own += pause
			if g.Generation >= 0 && g.Generation < int64(len(out.of)) {
				out.of[g.Generation]++
			}
		}
	}
	return out
}

func gcRate(f *facts, r *Rule) []Finding {
	p := f.collections()
	if p.of[2] < leastGen2 || p.of[1] >= gen1PerGen2*p.of[2] {
		return nil
	}
	found := whole(r, q.Amount{}, "%s collections of generation 2 for %s of generation 1 and %s of generation 0", p.of[2],
		p.of[1], p.of[0])
	found[0].Waited = p.own
	return found
}

// askers are the places in user code that asked for collections, as far as that is known, and for how many each.
func (f *facts) askers() map[analysis.Place]q.Count {
	out := map[analysis.Place]q.Count{}
	for _, g := range f.gcs {
		if at, known := f.callers[g.ID]; known && g.Induced && !f.own[g.ID] && at.Function != 0 {
			out[at]++
		}
	}
	return out
}

func inducedGCs(f *facts, r *Rule) []Finding {
	p := f.collections()
	if p.asked < leastInduced {
		return nil
	}
	found := whole(r, q.Amount{}, "the program asked for %s, which took %s", p.asked.Of("collection"), p.induced)
	found[0].Waited = p.induced
	return found
}

// gcTime is about pauses of collections that the runtime chose: of others it is the rule induced-gcs.
func gcTime(f *facts, r *Rule) []Finding {
	p := f.collections()
	if f.duration == 0 || p.own < leastPaused || p.own*100 < f.duration*leastPause {
		return nil
	}
	found := whole(r, q.Amount{}, "%s of the time (%s, without clrprof's part) is spent in pauses of %s",
		q.PercentOf(p.own, f.duration), p.own, (p.count() - p.asked).Of("collection"))
	found[0].Waited = p.own
	return found
}

func pinning(f *facts, r *Rule) []Finding {
	if f.detailed == 0 || f.pinned < leastPinned*f.detailed {
		return nil
	}
	return whole(r, q.Amount{}, "%s objects were pinned in a collection, on average over %s", f.pinned/f.detailed,
		f.detailed.Of("collection"))
}

// finalizable looks at how long the queue of the finalizer was: what is in it at one collection can be in it at the
// next one, so lengths are not added up. What a collection of clrprof's own finds is no queue of the program's.
func finalizable(f *facts, r *Rule) []Finding {
	var most session.GC
	for _, g := range f.gcs {
		if !f.own[g.ID] && g.Finalizable > most.Finalizable {
			most = g
		}
	}
	if most.Finalizable < often.objects {
		return nil
	}
	return whole(r, q.Amount{Allocations: most.Finalizable}, "%s waited for their finalizers after collection %d, the "+
		"most of all collections", most.Finalizable.Of("object"), most.Number)
}

// died is the evidence of rules about what died.
func died(generation int) func(*Finding, Names) string {
	return func(x *Finding, n Names) string {
		return fmt.Sprintf("%s (%s) died in %s%s", x.Amount.InBytes(), x.Amount.Of("object"),
			session.GenerationName(int64(generation)), ofType(x, n))
	}
}
