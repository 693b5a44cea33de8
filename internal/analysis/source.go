package analysis

import (
	"fmt"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// Source hands out the values of a session, or of a part of it, to views. It reads the
// stored tables when it can and computes when it must; a view cannot tell.
type Source struct {
	session   *session.Session
	selection Selection
	estimates bool                                  // objects were sampled
	derived   *derivation                           // nil: read the stored tables
	data      *Data                                 // nil until something needs it
	types     *TypeTrees                            // nil until something needs it
	few       *fewTypes                             // nil: nobody said which types matter
	lifetimes *Lifetimes                            // nil until something needs it
	hotPaths  map[session.TypeID][]session.TypePath // those that are stored; nil until something needs it
	below     *children[session.PathValue]          // of the call tree; nil until something needs it
	beneath   *children[session.PathTime]           // likewise
	works     *children[session.PathTime]           // likewise, of which the CPU time alone is known
	traced    *shapedRows                           // where rows of the call tree went; nil: nobody asks
}

// Open returns the values of what is selected of s. Errors are those of Data.Select and of reading s. Where small
// objects were sampled, amounts say what of them is estimated: Amount.Sampled.
func Open(s *session.Session, sel Selection) (*Source, error) {
	state, err := s.State()
	if err != nil {
		return nil, err
	}
	sampled, err := s.IsSampled()
	if err != nil {
		return nil, err
	}
	v := &Source{session: s, selection: sel, estimates: sampled}
	if state == session.Complete && sel.IsZero() && !sampled { // what is stored are sums alone
		return v, nil
	}
	return v.compute()
}

// HasEstimates reports whether amounts can be estimates.
func (v *Source) HasEstimates() bool { return v.estimates }

// SiteEstimates returns a function that notes of an amount of a site what of it is estimated, for rows of sites that
// are read from the session itself.
func (v *Source) SiteEstimates() (func(session.SiteID, q.Amount) q.Amount, error) {
	return v.eachSample(func(d *Data, site int32, a q.Amount) q.Amount {
		d.markSampled(site, &a)
		return a
	})
}

// SiteStandsFor returns a function that says what objects of a site stand for that were counted one by one, as in a
// snapshot of the heap, or the references to them: of samples more than themselves.
func (v *Source) SiteStandsFor() (func(session.SiteID, q.Amount) q.Amount, error) {
	return v.eachSample(func(d *Data, site int32, a q.Amount) q.Amount { return d.scaled(int(site), a) })
}

// eachSample returns a function that changes amounts of sites as change does, where objects were sampled.
func (v *Source) eachSample(change func(*Data, int32, q.Amount) q.Amount) (func(session.SiteID, q.Amount) q.Amount,
	error) {
	if !v.estimates {
		return func(_ session.SiteID, a q.Amount) q.Amount { return a }, nil
	}
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return func(id session.SiteID, a q.Amount) q.Amount {
		if at, known := d.siteIndex.find(id); known && at != none {
			return change(d, at, a)
		}
		return a
	}, nil
}

// Computed returns the values of all of a session, none of which is one that is stored.
func Computed(s *session.Session) (*Source, error) {
	return (&Source{session: s}).compute()
}

func (v *Source) compute() (*Source, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	if v.derived, err = d.derive(false); err != nil {
		return nil, fmt.Errorf("session %s: %w", v.session.Path(), err)
	}
	return v, nil
}

// Stored reports whether the values are those that were stored when the session was completed.
func (v *Source) Stored() bool { return v.derived == nil }

// Session returns the session that the values belong to.
func (v *Source) Session() *session.Session { return v.session }

// Selection returns what of the session the values are.
func (v *Source) Selection() Selection { return v.selection }

func (v *Source) load() (*Data, error) {
	if v.data == nil {
		d, err := Load(v.session)
		if err != nil {
			return nil, err
		}
		d.estimates = v.estimates
		if v.data, err = d.Select(v.selection); err != nil {
			return nil, err
		}
	}
	return v.data, nil
}

// choose returns rows of the computed tables, or those that are stored.
func choose[T any](v *Source, computed func(*derivation) []T, stored func() ([]T, error)) ([]T, error) {
	if v.derived != nil {
		return computed(v.derived), nil
	}
	return stored()
}

// Total returns what was allocated in all: the sum over the processes.
func (v *Source) Total() (q.Amount, error) {
	rows, err := v.Processes()
	var total q.Amount
	for _, r := range rows {
		total = total.Add(r.Amount)
	}
	return total, err
}

// Functions returns the values of the functions, in the order of id.
func (v *Source) Functions() ([]session.FunctionValue, error) {
	return choose(v, func(d *derivation) []session.FunctionValue {
		d.need(derivedFunctions)
		return d.Functions
	}, v.session.FunctionValues)
}

// Modules returns the values of the modules, in the order of id.
func (v *Source) Modules() ([]session.ModuleValue, error) {
	return choose(v, func(d *derivation) []session.ModuleValue {
		d.need(derivedModules)
		return d.Modules
	}, v.session.ModuleValues)
}

// Lines returns the values of the lines, in the order of id.
func (v *Source) Lines() ([]session.LineValue, error) {
	return choose(v, func(d *derivation) []session.LineValue {
		d.need(derivedPlaces)
		return d.Lines
	}, v.session.LineValues)
}

// Instructions returns the values of the instructions, in the order of id.
func (v *Source) Instructions() ([]session.InstructionValue, error) {
	return choose(v, func(d *derivation) []session.InstructionValue {
		d.need(derivedPlaces)
		return d.Instructions
	}, v.session.InstructionValues)
}

// Types returns the values of the types, in the order of id.
func (v *Source) Types() ([]session.TypeValue, error) {
	return choose(v, func(d *derivation) []session.TypeValue { return d.Types }, v.session.TypeValues)
}

// Threads returns the values of the threads, in the order of id.
func (v *Source) Threads() ([]session.ThreadValue, error) {
	return choose(v, func(d *derivation) []session.ThreadValue { return d.Threads }, v.session.ThreadValues)
}

// Processes returns the values of the processes, in the order of id.
func (v *Source) Processes() ([]session.ProcessValue, error) {
	return choose(v, func(d *derivation) []session.ProcessValue { return d.Processes }, v.session.ProcessValues)
}

// Calls returns the values of all pairs of caller and callee, in the order of their ids.
func (v *Source) Calls() ([]session.CallValue, error) {
	return choose(v, func(d *derivation) []session.CallValue {
		d.need(derivedCalls)
		return d.Calls
	}, v.session.CallValues)
}

// CallsOf returns the rows of Calls of which a function is the caller or the callee.
func (v *Source) CallsOf(function session.FunctionID) ([]session.CallValue, error) {
	if v.derived == nil {
		return v.session.CallValuesOf(function)
	}
	all, err := v.Calls()
	return matching(all, func(c *session.CallValue) bool { return c.Caller == function || c.Callee == function }), err
}

// matching returns the rows for which a condition holds.
func matching[T any](rows []T, holds func(*T) bool) []T {
	var out []T
	for i := range rows {
		if holds(&rows[i]) {
			out = append(out, rows[i])
		}
	}
	return out
}

// Paths returns the whole call tree, parents before children.
func (v *Source) Paths() ([]session.PathValue, error) {
	return choose(v, func(d *derivation) []session.PathValue {
		d.need(derivedPaths)
		return d.Paths
	}, v.session.PathValues)
}

// PathChildren returns the children of a path (0: the roots) in the order of id.
func (v *Source) PathChildren(parent session.PathID) ([]session.PathValue, error) {
	if v.below == nil {
		if err := v.findBelow(); err != nil {
			return nil, err
		}
	}
	return v.below.of(parent), nil
}

// findBelow prepares to find amounts by the path above them. Of what is computed only the rows are made that are found.
func (v *Source) findBelow() error {
	if x := v.derived; x != nil && x.hasMemory() && !x.made[derivedPaths] {
		rows := x.data.pathAmounts(x.callTree())
		v.below = newChildren(treeRows[session.PathValue]{len(rows.of), rows.link, rows.at, nil})
		return nil
	}
	paths, err := v.Paths()
	if err == nil {
		v.below, err = checkedChildren(v, rowsOfValues(paths))
	}
	return err
}

// children finds the rows of a tree by the row above them.
type children[T any] struct {
	rows  []T // in the order of id; nil: list has them
	list  func(row int) T
	at    index[session.PathID]
	first []int32 // of the children of a row in list, by its position after none, and then the number of all
	order []int32 // positions
}

// treeRows are the rows of a tree, in the order of id, each after the one above it.
type treeRows[T any] struct {
	rows int
	link func(row int) session.PathLink
	at   func(row int) T
	list []T // nil: they are made when they are asked for
}

func rowsOfValues(list []session.PathValue) treeRows[session.PathValue] {
	return treeRows[session.PathValue]{len(list), func(row int) session.PathLink {
		return session.PathLink{ID: list[row].ID, Parent: list[row].Parent}
	}, nil, list}
}

func rowsOfTimes(list []session.PathTime) treeRows[session.PathTime] {
	return treeRows[session.PathTime]{len(list), func(row int) session.PathLink {
		return session.PathLink{ID: list[row].ID, Parent: list[row].Parent}
	}, nil, list}
}

// checkedChildren is newChildren for rows of a session, which can be damaged.
func checkedChildren[T any](v *Source, rows treeRows[T]) (*children[T], error) {
	at, parents := rows.index(), make([]int32, rows.rows)
	for row := range parents {
		l := rows.link(row)
		if l.ID <= l.Parent { // would send a walk down the tree round in circles
			return nil, fmt.Errorf("session %s: %w: path %d has child %d", v.session.Path(), session.ErrCorrupt,
				l.Parent, l.ID)
		}
		var known bool
		if parents[row], known = at.find(l.Parent); !known {
			return nil, fmt.Errorf("session %s: %w: path %d is below path %d, which does not exist", v.session.Path(),
				session.ErrCorrupt, l.ID, l.Parent)
		}
	}
	return childrenOf(rows, at, parents), nil
}

// newChildren prepares to find rows.
func newChildren[T any](rows treeRows[T]) *children[T] {
	at, parents := rows.index(), make([]int32, rows.rows)
	for row := range parents {
		parents[row], _ = at.find(rows.link(row).Parent)
	}
	return childrenOf(rows, at, parents)
}

// index finds rows by their ids.
func (r *treeRows[T]) index() index[session.PathID] {
	return indexOf(r.rows, func(row int) session.PathID { return r.link(row).ID })
}

// childrenOf prepares to find rows, given the positions of those above them.
func childrenOf[T any](rows treeRows[T], at index[session.PathID], parents []int32) *children[T] {
	out := &children[T]{rows: rows.list, list: rows.at, at: at, first: make([]int32, rows.rows+3),
		order: make([]int32, rows.rows)}
	for _, parent := range parents {
		out.first[parent+3]++
	}
	for i := range out.first[1:] {
		out.first[i+1] += out.first[i]
	}
	for i, parent := range parents {
		next := &out.first[parent+2]
		out.order[*next] = int32(i)
		*next++
	}
	return out
}

// len is how many rows there are.
func (c *children[T]) len() int { return len(c.order) }

// positions returns which rows are below a path (0: the roots), in the order of id.
func (c *children[T]) positions(parent session.PathID) []int32 {
	at, known := c.at.find(parent)
	if !known {
		return nil
	}
	return c.order[c.first[at+1]:c.first[at+2]]
}

// of returns the rows below a path (0: the roots) in the order of id.
func (c *children[T]) of(parent session.PathID) []T {
	list := c.positions(parent)
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	for i, row := range list {
		out[i] = c.row(row)
	}
	return out
}

// row returns the row at a position.
func (c *children[T]) row(at int32) T {
	if c.rows != nil { // which is quicker
		return c.rows[at]
	}
	return c.list(int(at))
}

// TypePaths returns the paths on which objects of a type were created; see TypeTrees.
func (v *Source) TypePaths(of session.TypeID) ([]session.PathValue, error) {
	trees, err := v.typeTrees(of)
	if err != nil {
		return nil, err
	}
	return trees.Paths(of), nil
}

// fewTypes are types that are asked for before all others.
type fewTypes struct {
	types []session.TypeID
	trees *TypeTrees // nil until something needs it
}

// OfTypes says of which types somebody wants the paths: those of all take twice as long to find. Who then asks for
// others, or comes a second time, gets them from all.
func (v *Source) OfTypes(types []session.TypeID) {
	if v.few == nil {
		v.few = &fewTypes{types: slices.Sorted(slices.Values(types))}
	} else {
		v.few.types = nil
	}
}

func (v *Source) typeTrees(of session.TypeID) (*TypeTrees, error) {
	if v.types == nil && v.few != nil {
		if _, known := slices.BinarySearch(v.few.types, of); known {
			return v.few.of(v)
		}
	}
	if v.types == nil {
		d, err := v.load()
		if err != nil {
			return nil, err
		}
		if v.types, err = d.TypeTrees(); err != nil {
			return nil, err
		}
	}
	return v.types, nil
}

// of makes the trees.
func (f *fewTypes) of(v *Source) (*TypeTrees, error) {
	if f.trees != nil {
		return f.trees, nil
	}
	d, err := v.load()
	if err == nil {
		f.trees, err = d.typeTreesOf(f.types)
	}
	return f.trees, err
}

// Lifetimes returns what became of the objects, or ErrNoLifetime.
func (v *Source) Lifetimes() (*Lifetimes, error) {
	if v.lifetimes == nil {
		d, err := v.load()
		if err != nil {
			return nil, err
		}
		if v.lifetimes, err = d.Lifetimes(); err != nil {
			return nil, err
		}
		d.ends = v.lifetimes
	}
	return v.lifetimes, nil
}
