package analysis

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// What views of the whole session show first is stored when the session is completed, as far as it is small.
const (
	storedCauses    = 1000
	storedTypePaths = 100 // of types
	// storedSteps is how long the path of a type is at most, by different functions in a row. Of one that is longer
	// nothing is stored.
	storedSteps = 256
)

// deriveWhole computes what is stored of the whole session, and of no part of it.
func (d *Data) deriveWhole(out *session.Derived) error {
	if !d.in.selection.IsZero() || len(d.Sites) == 0 {
		return nil
	}
	causes, err := d.UserCauses(storedCauses)
	if err != nil {
		return err
	}
	user := session.CauseTotal{Part: session.PartUserCode, Causes: causes.More + q.Count(len(causes.List)),
		Amount: causes.Hidden}
	for i, c := range causes.List {
		if user.Amount = user.Add(c.Amount); i < storedCauses {
			out.Causes = append(out.Causes, session.Cause{Position: int64(i) + 1, Type: c.Type,
				FromFunction: c.From.Function, FromLine: c.From.Line, Function: c.Function, Amount: c.Amount})
		}
	}
	out.CauseTotals = []session.CauseTotal{{Part: session.PartOutside, Amount: causes.Outside}, user}
	trees, err := d.TypeTrees()
	if err != nil {
		return err
	}
	types := slices.Clone(out.Types)
	slices.SortStableFunc(types, func(x, y session.TypeValue) int { return cmp.Compare(y.Bytes, x.Bytes) })
	types = types[:min(storedTypePaths, len(types))]
	slices.SortFunc(types, func(x, y session.TypeValue) int { return cmp.Compare(x.Type, y.Type) })
	for _, t := range types {
		if steps := trees.HotPath(t.Type); len(steps) <= storedSteps {
			out.TypePaths = append(out.TypePaths, steps...)
		}
	}
	return nil
}

// wholeTables are the tables that a session that was completed by an older clrprof lacks.
var wholeTables = []string{"CauseTotals", "Causes", "TypeDeaths", "TypePaths"}

// storedCauses returns so many of the causes that are stored, as Data.UserCauses does; nil: they are not enough.
func (v *Source) storedCauses(most int) (*UserCauses, error) {
	totals, err := v.session.CauseTotals()
	if err != nil || len(totals) == 0 {
		return nil, err
	}
	rows, err := v.session.Causes()
	if err != nil {
		return nil, err
	}
	out := &UserCauses{}
	for _, t := range totals {
		if t.Part == session.PartOutside {
			out.Outside = t.Amount
		} else {
			out.More, out.Hidden = t.Causes, t.Amount
		}
	}
	end, all := len(rows), q.Count(len(rows)) == out.More
	if most > 0 && most < end {
		end = most
		for end < len(rows) && rows[end].Bytes == rows[most-1].Bytes {
			end++
		}
		all = all || end < len(rows)
	}
	if !all {
		return nil, nil
	}
	for _, r := range rows[:end] {
		out.List = append(out.List, UserAllocation{r.Function, r.Type, Place{r.FromFunction, r.FromLine}, r.Amount})
		out.More, out.Hidden = out.More-1, out.Hidden.Sub(r.Amount)
	}
	return out, nil
}

// UserCauses returns what user code allocated by cause, and lists so many causes at least, 0: all.
func (v *Source) UserCauses(most int) (*UserCauses, error) {
	if v.derived == nil {
		if out, err := v.storedCauses(most); out != nil || err != nil {
			return out, err
		}
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.UserCauses(most)
}

// SummaryCauses is UserCauses for a summary. Of what is computed it computes at the same time what else a summary
// needs: the values of functions, and what became of the objects.
func (v *Source) SummaryCauses(most int) (out *UserCauses, err error) {
	if v.derived == nil {
		return v.UserCauses(most)
	}
	d := v.data
	d.places(d.attribute()) // are kept, as all else that both would make
	return out, atOnce(func() error {
		var err error
		out, err = d.UserCauses(most)
		return err
	}, func() error {
		v.derived.need(derivedFunctions)
		if len(d.Followed) == 0 {
			return nil
		}
		if _, err := v.Lifetimes(); err != nil {
			return err
		}
		_, err := d.growing()
		return err
	})
}

// TreeAhead begins to make the call tree of what is computed while the caller does something that needs none. It is
// not to be used before wait returns.
func (v *Source) TreeAhead() (wait func()) {
	x := v.derived
	if x == nil || x.tree != nil || x.times.nodes != nil {
		return func() {}
	}
	made := &together{}
	made.Go(func() { x.callTree() })
	return made.Wait
}

// TypeHotPath returns the path on which most bytes of a type were allocated, the root first; nothing: there is none.
func (v *Source) TypeHotPath(of session.TypeID) ([]session.TypePath, error) {
	if v.hotPaths == nil {
		v.hotPaths = map[session.TypeID][]session.TypePath{}
		if v.derived == nil {
			rows, err := v.session.TypePaths()
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				v.hotPaths[r.Type] = append(v.hotPaths[r.Type], r)
			}
		}
	}
	if steps, stored := v.hotPaths[of]; stored {
		return steps, nil
	}
	trees, err := v.typeTrees(of)
	if err != nil {
		return nil, err
	}
	return trees.HotPath(of), nil
}

// TypeLifetimes returns the lifetimes of types, in the order of their ids, or ErrNoLifetime.
func (v *Source) TypeLifetimes() ([]TypeLifetime, error) {
	if v.derived == nil {
		if out, err := v.storedTypeLifetimes(); out != nil || err != nil {
			return out, err
		}
	}
	lifetimes, err := v.Lifetimes()
	if err != nil {
		return nil, err
	}
	var out []TypeLifetime
	of := lifetimes.Types()
	for i := range lifetimes.data.Types {
		if l, has := of[lifetimes.data.Types[i].ID]; has {
			out = append(out, TypeLifetime{lifetimes.data.Types[i].ID, l})
		}
	}
	return out, nil
}

// TypeLifetime is the lifetime of a type.
type TypeLifetime struct {
	Type session.TypeID
	Lifetime
}

// storedTypeLifetimes returns what is stored; nil: not all of it is.
func (v *Source) storedTypeLifetimes() ([]TypeLifetime, error) {
	followed, err := v.session.ProcessLifetimes()
	if err != nil || len(followed) == 0 {
		return nil, cmp.Or(err, ErrNoLifetime)
	}
	dead, err := v.session.TypeDeaths()
	if err != nil {
		return nil, err
	}
	of := map[session.TypeID]*TypeLifetime{}
	values, err := v.session.TypeValues()
	if err != nil {
		return nil, err
	}
	out := make([]TypeLifetime, len(values))
	for i, r := range values {
		out[i] = TypeLifetime{r.Type, Lifetime{Born: r.Amount}}
		of[r.Type] = &out[i]
	}
	var sum q.Amount
	for _, r := range dead {
		t := of[r.Type]
		if t == nil || r.Generation < 0 || r.Generation >= session.Generations {
			return nil, nil
		}
		t.Dead[r.Generation], sum = t.Dead[r.Generation].Add(r.Amount), sum.Add(r.Amount)
	}
	processes, err := v.session.ProcessDeaths()
	for _, r := range processes {
		sum = sum.Sub(r.Amount)
	}
	if err != nil || !sum.IsZero() { // an older clrprof did not store it
		return nil, err
	}
	return out, nil
}
