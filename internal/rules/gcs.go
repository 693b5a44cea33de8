package rules

import (
	"fmt"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Limits of what is about collections.
const (
	leastBytes       = q.Bytes(1e6) // less is of no weight in any program
	leastGen2Percent = 10           // of all bytes that died in generations 0 to 2
	leastGen2        = 10           // collections of generation 2, before their number says anything
	gen1PerGen2      = 5            // of healthy programs, at least
	leastPause       = 10           // percent of the recording
	leastPaused      = 50e6         // nanoseconds
	leastInduced     = 5
	leastPinned      = 100 // for each collection
)

// whole is a finding about the program.
func whole(r *Rule, a q.Amount, text string, args ...any) []Finding {
	says := fmt.Sprintf(text, args...)
	return []Finding{{Rule: r, Amount: a, says: func(*Finding, Names) string { return says }}}
}

// program makes the find of a rule about the whole program.
func program(floor string, find func(*facts, *Rule) []Finding) finder {
	return finder{floor: floor, search: func(f *facts, r *Rule) search {
		return search{found: func() []Finding { return find(f, r) }}
	}}
}

func manyGen2Deaths(f *facts, r *Rule) []Finding {
	dead, all := f.Total.Dead[2], f.Total.Dead[0].Add(f.Total.Dead[1]).Add(f.Total.Dead[2])
	if dead.Bytes < leastBytes || dead.Bytes*100 < all.Bytes*leastGen2Percent {
		return nil
	}
	return whole(r, dead, "%s of the bytes that died in generations 0 to 2 (%s) died in generation 2",
		q.PercentOf(dead.Bytes, all.Bytes), dead.Bytes)
}

// collections counts those of the program that it did not ask for, by generation, and those that it asked for, and adds
// up their pauses without the agent's own work in them. The last one of a process is clrprof's.
func (f *facts) collections() (of [3]q.Count, induced q.Count, pause q.Nanoseconds) {
	for _, g := range f.gcs {
		if f.last[g.ID] {
			continue
		}
		pause += g.Pause - g.Agent
		switch {
		case g.Induced:
			induced++
		case g.Generation >= 0 && g.Generation < int64(len(of)):
			of[g.Generation]++
		}
	}
	return of, induced, pause
}

func gcRate(f *facts, r *Rule) []Finding {
	of, _, _ := f.collections()
	if of[2] < leastGen2 || of[1] >= gen1PerGen2*of[2] {
		return nil
	}
	return whole(r, q.Amount{}, "%s collections of generation 2 for %s of generation 1 and %s of generation 0", of[2],
		of[1], of[0])
}

func inducedGCs(f *facts, r *Rule) []Finding {
	_, induced, _ := f.collections()
	if induced < leastInduced {
		return nil
	}
	return whole(r, q.Amount{}, "the program asked for %s", induced.Of("collection"))
}

func gcTime(f *facts, r *Rule) []Finding {
	of, induced, pause := f.collections()
	if f.duration == 0 || pause < leastPaused || pause*100 < f.duration*leastPause {
		return nil
	}
	found := whole(r, q.Amount{}, "%s of the time (%s, without clrprof's part) is spent in pauses of %s",
		q.PercentOf(pause, f.duration), pause, (of[0] + of[1] + of[2] + induced).Of("collection"))
	found[0].Waited = pause
	return found
}

func pinning(f *facts, r *Rule) []Finding {
	if f.detailed == 0 || f.pinned < leastPinned*f.detailed {
		return nil
	}
	return whole(r, q.Amount{}, "%s objects were pinned in a collection, on average over %s", f.pinned/f.detailed,
		f.detailed.Of("collection"))
}

func finalizable(f *facts, r *Rule) []Finding {
	var n q.Count
	for _, g := range f.gcs {
		n += g.Finalizable
	}
	if n < often.objects {
		return nil
	}
	return whole(r, q.Amount{}, "%s died and waited for their finalizers", n.Of("object"))
}

// died is the evidence of rules about what died.
func died(generation int) func(*Finding, Names) string {
	return func(x *Finding, n Names) string {
		return fmt.Sprintf("%s (%s) of type %s died in %s", x.Amount.Bytes, x.Amount.Allocations.Of("object"),
			n.Type(x.Type), session.GenerationName(int64(generation)))
	}
}
