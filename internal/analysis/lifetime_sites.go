package analysis

import (
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// lifetimeList is the lifetimes of rows, by position: of sites, or groups of sites, of which there are millions. Where
// nothing died in a generation, which is most of them in most programs, it takes no memory.
type lifetimeList struct {
	born []q.Amount
	dead [session.Generations][]q.Amount // nil: nothing died there
}

// newLifetimeList returns the lifetimes of rows that were born, and of which nothing died. It does not change born.
func newLifetimeList(born []q.Amount) *lifetimeList { return &lifetimeList{born: born} }

// len is how many rows there are.
func (l *lifetimeList) len() int { return len(l.born) }

// at returns the lifetime of a row.
func (l *lifetimeList) at(row int) Lifetime {
	out := Lifetime{Born: l.born[row]}
	for g, dead := range l.dead {
		if dead != nil {
			out.Dead[g] = dead[row]
		}
	}
	return out
}

// isZero reports whether nothing of a row was born and nothing died.
func (l *lifetimeList) isZero(row int) bool {
	for _, dead := range l.dead {
		if dead != nil && !dead[row].IsZero() {
			return false
		}
	}
	return l.born[row].IsZero()
}

// died returns what of a row died in a generation, to be added to.
func (l *lifetimeList) died(row int32, generation int64) *q.Amount {
	if l.dead[generation] == nil {
		l.dead[generation] = make([]q.Amount, len(l.born))
	}
	return &l.dead[generation][row]
}

// deadIn returns what of a row died in a generation.
func (l *lifetimeList) deadIn(row, generation int) q.Amount {
	if l.dead[generation] == nil {
		return q.Amount{}
	}
	return l.dead[generation][row]
}

// collected returns all of a row that died.
func (l *lifetimeList) collected(row int) q.Amount {
	var sum q.Amount
	for _, dead := range l.dead {
		if dead != nil {
			sum = sum.Add(dead[row])
		}
	}
	return sum
}

// clear makes the lifetime of a row zero.
func (l *lifetimeList) clear(row int) {
	l.born[row] = q.Amount{}
	for _, dead := range l.dead {
		if dead != nil {
			dead[row] = q.Amount{}
		}
	}
}

// total returns the sum of all rows.
func (l *lifetimeList) total() Lifetime {
	out := Lifetime{Born: totalOf(l.born)}
	for g, dead := range l.dead {
		out.Dead[g] = totalOf(dead)
	}
	return out
}

// totalOf returns the sum of amounts.
func totalOf(list []q.Amount) q.Amount {
	var sum q.Amount
	for _, a := range list {
		sum = sum.Add(a)
	}
	return sum
}

// sum returns the lifetimes of groups of rows: group[i] is below groups, or none.
func (l *lifetimeList) sum(group []int32, groups int) []Lifetime {
	out := make([]Lifetime, groups)
	for row, to := range group {
		if to < 0 {
			continue
		}
		sum := &out[to]
		sum.Born = sum.Born.Add(l.born[row])
		for g, dead := range l.dead {
			if dead != nil {
				sum.Dead[g] = sum.Dead[g].Add(dead[row])
			}
		}
	}
	return out
}

// sumList is sum for groups of which there are as many as rows.
func (l *lifetimeList) sumList(group []int32, groups int) *lifetimeList {
	out := newLifetimeList(make([]q.Amount, groups))
	add := func(to, from []q.Amount) {
		for row, n := range group {
			if n >= 0 {
				to[n] = to[n].Add(from[row])
			}
		}
	}
	add(out.born, l.born)
	for g, dead := range l.dead {
		if dead != nil {
			out.dead[g] = make([]q.Amount, groups)
			add(out.dead[g], dead)
		}
	}
	return out
}
