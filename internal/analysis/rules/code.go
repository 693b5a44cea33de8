package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/clrprof/clrprof/internal/analysis"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// often is for what is cheap once and dear in a loop.
var often = limits{objects: 1000, share: true}

// leastPercent is the part of all objects or bytes from which on something is of weight.
const leastPercent = 1

// reach reports whether an amount is at the limits. An estimate by a few samples is not known to be.
func (l limits) reach(a, all q.Amount) bool {
	return !a.Sampled.IsFew() && a.Allocations >= l.objects && a.Bytes >= l.bytes &&
		a.Bytes >= l.each*q.Bytes(a.Allocations) &&
		(!l.share || a.Allocations*100 >= all.Allocations*leastPercent || a.Bytes*100 >= all.Bytes*leastPercent)
}

// by is the function that was called for most objects of a type.
type by struct {
	most     q.Bytes
	function session.FunctionID
}

// about makes the find of a rule about objects that user code made, or had made: those of one place together. part is
// what of a use the rule is about, nothing if it is not.
func about(least limits, part func(*facts, *analysis.Use) q.Amount, says func(*Finding, Names) string) finder {
	search := func(f *facts, r *Rule) search {
		var found []Finding
		types, by := map[session.TypeID]q.Amount{}, map[session.TypeID]by{} // of the last place
		add := func(u *analysis.Use) {
			if u.Type == 0 {
				return
			}
			amount := part(f, u)
			if amount.IsZero() || least == often && f.startsHost(u) {
				return
			}
			if n := len(found); n == 0 || found[n-1].From != u.From { // places come one after the other
				found = append(reached(found, least, f), Finding{Rule: r, From: u.From, says: says})
				clear(types)
				clear(by)
			}
			x := &found[len(found)-1]
			x.Amount = x.Amount.Add(amount)
			types[u.Type] = types[u.Type].Add(amount)
			if of := by[u.Type]; of.most <= amount.Bytes {
				of.most, of.function = amount.Bytes, 0
				if len(u.Chain) > 0 {
					of.function = u.Chain[0]
				}
				by[u.Type] = of
			}
			if sum := types[u.Type]; x.Type == 0 || x.Type == u.Type || sum.Bytes > x.OfType.Bytes {
				x.Type, x.OfType, x.Function = u.Type, sum, by[u.Type].function
			}
		}
		return search{add, func() []Finding { return reached(found, least, f) }}
	}
	most := least // that a part of a place can be
	most.each = 0
	place := func(sum *analysis.PlaceSum, all q.Amount) bool { return most.reach(sum.All, all) }
	return finder{search: search, says: says, floor: least.String(), place: place}
}

// growingOnly is for a rule about sites that only grow.
func (f finder) growingOnly() finder {
	place := f.place
	f.place = func(sum *analysis.PlaceSum, all q.Amount) bool {
		return place(&analysis.PlaceSum{All: sum.Growing}, all)
	}
	return f
}

// markedOnly is for a rule about objects that wanted marks.
func (f finder) markedOnly() finder {
	place := f.place
	f.place = func(sum *analysis.PlaceSum, all q.Amount) bool { return sum.Marked && place(sum, all) }
	return f
}

// wanted is what of all uses rules look at.
func (f *facts) wanted() *analysis.UsesOf {
	return &analysis.UsesOf{
		Type: func(id session.TypeID) bool {
			return f.trait(id) == session.TraitException || f.typeName(id) == regexType || f.isTrace(id) ||
				f.typeName(id) == compiledType
		},
		Large: largeFrom,
		Place: func(sum *analysis.PlaceSum, born q.Amount) bool {
			return slices.ContainsFunc(all, func(r Rule) bool { return r.find.place != nil && r.find.place(sum, born) })
		},
		Call: func(id session.FunctionID) bool {
			name := f.function(id)
			return slices.ContainsFunc(all, func(r Rule) bool { return r.find.calls != nil && r.find.calls(name) })
		},
	}
}

// reached takes the last finding away if it is not at the limits.
func reached(found []Finding, least limits, f *facts) []Finding {
	if n := len(found) - 1; n >= 0 && !least.reach(found[n].Amount, f.Total.Born) {
		return found[:n]
	}
	return found
}

// born takes the objects of uses for which a condition holds.
func born(is func(*facts, *analysis.Use) bool) func(*facts, *analysis.Use) q.Amount {
	return func(f *facts, u *analysis.Use) q.Amount {
		if is(f, u) {
			return u.Born
		}
		return q.Amount{}
	}
}

// discarded takes the objects that were not kept until the end, of uses for which a condition holds: what is made once
// and kept is not made again and again. Where it is not known what was kept, it takes all.
func discarded(is func(*facts, *analysis.Use) bool) func(*facts, *analysis.Use) q.Amount {
	return func(f *facts, u *analysis.Use) (out q.Amount) {
		switch {
		case !is(f, u):
		case !f.endKnown:
			out = u.Born
		default:
			for _, dead := range u.Dead {
				out = out.Add(dead)
			}
		}
		return out
	}
}

// objects is the evidence of most rules: how many objects of which type, and what called made them.
func objects(x *Finding, n Names) string {
	text := fmt.Sprintf("%s, %s%s", x.Amount.Of("object"), x.Amount.InBytes(), ofType(x, n))
	if x.Function != 0 {
		text += " by " + n.Function(x.Function)
	}
	return text
}

// ofType says of which type the objects of a finding are, and how many of them.
func ofType(x *Finding, n Names) string {
	switch {
	case x.OfType == x.Amount:
		return ", of type " + n.Type(x.Type)
	case x.OfType.Bytes*2 >= x.Amount.Bytes:
		return fmt.Sprintf(", most of it of type %s (%s)", n.Type(x.Type), x.OfType.Of("object"))
	}
	return fmt.Sprintf(", the largest part of type %s (%s, %s)", n.Type(x.Type), x.OfType.Of("object"),
		x.OfType.InBytes())
}

// Limits of what is about time.
const leastCalls = 10_000

var (
	// blocks is for a lock: one long wait is as bad as many short ones.
	blocks = limits{waited: 50e6, waits: 3, long: 200e6}
	// blocksOften is for what also waits for an end: Main once or twice for its threads.
	blocksOften = limits{waited: 50e6, calls: 3, waits: 3}
	manyCalls   = limits{calls: leastCalls}
)

// reachedBy reports whether a finding about time is at the limits.
func (l limits) reachedBy(x *Finding) bool {
	return x.Waited >= l.waited && x.Calls >= l.calls && (x.Waits >= l.waits || l.long > 0 && x.Waited >= l.long)
}

// timed makes the find of a rule about calls of framework functions: those of one place and function together. is is
// asked of the functions of the chain.
func timed(is func(name string) bool, least limits, says func(*Finding, Names) string) finder {
	type call struct {
		from     analysis.Place
		function session.FunctionID
	}
	search := func(f *facts, r *Rule) search {
		sums := map[call]*Finding{}
		add := func(u *analysis.Use) {
			if u.Type != 0 || len(u.Chain) == 0 || !is(f.function(u.Chain[0])) {
				return
			}
			key := call{u.From, u.Chain[0]}
			x := sums[key]
			if x == nil {
				x = &Finding{Rule: r, From: u.From, Function: u.Chain[0], says: says}
				sums[key] = x
			}
			if len(u.Chain) == 1 {
				x.Calls += u.Calls
			}
			x.Waited, x.Waits = x.Waited+u.Time.OffCPU, x.Waits+u.Time.Voluntary
		}
		return search{add, func() []Finding {
			var found []Finding
			for _, x := range sums {
				if least.reachedBy(x) {
					found = append(found, *x)
				}
			}
			slices.SortFunc(found, func(a, b Finding) int {
				return cmp.Or(cmp.Compare(a.From.Function, b.From.Function), cmp.Compare(a.From.Line, b.From.Line),
					cmp.Compare(a.Function, b.Function))
			})
			return found
		}}
	}
	return finder{search: search, says: says, floor: least.String(), calls: is}
}

// waited is the evidence of rules about waiting. Of the time without a processor it is not said whether the thread was
// blocked: a lock that is taken lets a thread yield, which is ready then.
func waited(x *Finding, n Names) string {
	in := "in " + n.Function(x.Function)
	if x.Calls > 0 {
		in = fmt.Sprintf("in %s of %s", x.Calls.Of("call"), n.Function(x.Function))
	}
	return fmt.Sprintf("off the processor %s %s, for %s in all", x.Waits.Of("time"), in, x.Waited)
}
