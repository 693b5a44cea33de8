package report

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// shared is what tables of one reader have in common, and what takes long to make. It is as large as the functions and
// calls of the session, and there is one for each reader.
type shared struct {
	functions []functionValue
	named     map[string][]int32 // positions of functions, by name, in the order of id; nil until something needs it
	calls     *callIndex         // likewise, and so are the others
	notes     *[]Note
	losses    *[]Note
}

// keptNotes returns what is kept, or makes it. Callers may append to it.
func keptNotes(kept **[]Note, read func() ([]Note, error)) ([]Note, error) {
	if *kept == nil {
		list, err := read()
		if err != nil {
			return nil, err
		}
		*kept = &list
	}
	return slices.Clone(**kept), nil
}

// notes says what the numbers are restricted to and what is missing for them to be final.
func (c *context) notes() ([]Note, error) { return keptNotes(&c.shared.notes, c.readNotes) }

// losses says what is missing from the numbers shown.
func (c *context) losses() ([]Note, error) { return keptNotes(&c.shared.losses, c.readLosses) }

// functionValue is what a function has.
type functionValue struct {
	id      session.FunctionID
	amounts q.Amounts
	time    *rowTime
}

// functionValues are the functions that have values, in the order of id. They are kept, and not to be changed.
func (c *context) functionValues() ([]functionValue, error) {
	if c.shared.functions != nil {
		return c.shared.functions, nil
	}
	amounts, err := c.source.Functions()
	if err != nil {
		return nil, err
	}
	times, err := c.source.FunctionTimes()
	if err != nil {
		return nil, err
	}
	c.shared.functions = c.joinedFunctions(amounts, times)
	return c.shared.functions, nil
}

// joinedFunctions makes one of the amounts and the times of functions.
func (c *context) joinedFunctions(amounts []session.FunctionValue, times []session.FunctionTime) []functionValue {
	list := make([]functionValue, 0, max(len(amounts), len(times)))
	union(amounts, times, func(a *session.FunctionValue, t *session.FunctionTime) int {
		return cmp.Compare(a.Function, t.Function)
	},
		func(a *session.FunctionValue, t *session.FunctionTime) {
			var one functionValue
			if a != nil {
				one.id, one.amounts = a.Function, a.Amounts
			}
			if t != nil {
				one.id, one.time = t.Function, single(&t.TimeValue, &t.SingleCalls)
			}
			one.time = c.orNone(one.time, c.functions.get(one.id).Process)
			list = append(list, one)
		})
	return list
}

// valueRow makes the row of a function that has values.
func (c *context) valueRow(v *functionValue) Row {
	row := c.functionRow(v.id, v.amounts)
	row.time, row.await = v.time, c.awaits[v.id]
	return row
}

// eachFunction are the rows of functionRows, of which the next one overwrites one.
func (c *context) eachFunction() (iter.Seq[*Row], error) {
	values, err := c.functionValues()
	return func(yield func(*Row) bool) {
		var row Row
		for i := range values {
			row = c.valueRow(&values[i])
			if !yield(&row) {
				return
			}
		}
	}, err
}

// functionRows are the functions that have values, in the order of id.
func (c *context) functionRows() ([]Row, error) {
	values, err := c.functionValues()
	if err != nil {
		return nil, err
	}
	list := make([]Row, 0, len(values))
	for i := range values {
		list = append(list, c.valueRow(&values[i]))
	}
	return list, nil
}

// namedFunctions are the positions in functionValues by name, in the order of id.
func (c *context) namedFunctions() (map[string][]int32, error) {
	functions, err := c.functionValues()
	if err != nil || c.shared.named != nil {
		return c.shared.named, err
	}
	named := make(map[string][]int32, len(functions))
	bodies := c.methods.Bodies()
	for i := range functions {
		for _, id := range append([]session.FunctionID{functions[i].id}, bodies[functions[i].id]...) {
			if name := c.functionName(id); !slices.Contains(named[name], int32(i)) {
				named[name] = append(named[name], int32(i))
			}
		}
		if route := c.functions.get(functions[i].id).Route; route != "" {
			for _, one := range strings.Split(route, session.RouteSeparator) {
				named[one] = append(named[one], int32(i))
			}
		}
	}
	c.shared.named = named
	return named, nil
}

// callIndex finds calls by their functions, for who looks at many.
type callIndex struct {
	calls []call
	of    map[session.FunctionID][]int32 // positions of the calls of, and by, a function
}

// callIndex returns the index of the part of the session that is shown.
func (c *context) callIndex() (*callIndex, error) {
	if c.shared.calls != nil {
		return c.shared.calls, nil
	}
	calls, err := c.calls()
	if err != nil {
		return nil, err
	}
	c.shared.calls = newCallIndex(calls)
	return c.shared.calls, nil
}

func newCallIndex(calls []call) *callIndex {
	x := &callIndex{calls, map[session.FunctionID][]int32{}}
	for i := range x.calls {
		one := &x.calls[i]
		x.of[one.callee] = append(x.of[one.callee], int32(i))
		if one.caller != one.callee {
			x.of[one.caller] = append(x.of[one.caller], int32(i))
		}
	}
	return x
}

// endsWithLine is a name with a line behind it, as text has those of lambdas.
var endsWithLine = regexp.MustCompile(` \S+:\d+$`)

// matching returns the rows of the functions that a name means.
func (b *builder) matching(name string) ([]Row, error) {
	named, err := b.namedFunctions()
	if err != nil {
		return nil, err
	}
	functions := b.shared.functions
	var out []Row
	for _, at := range named[name] {
		out = append(out, b.valueRow(&functions[at]))
	}
	if len(out) > 0 { // as a name in a table that was followed
		return out, nil
	}
	of, weight := make(map[session.FunctionID]*functionValue, len(functions)), b.heavier()
	ids := make([]session.FunctionID, 0, len(functions))
	for i := range functions {
		of[functions[i].id] = &functions[i]
		ids = append(ids, functions[i].id)
	}
	shown := b.functionName
	if strings.Contains(name, " λ") || strings.Contains(name, "<lambda #") && endsWithLine.MatchString(name) {
		shown = b.rowFunctionName // as text has it
	}
	matches, err := find("function", name, ids, shown, func(id session.FunctionID) int64 {
		row := b.valueRow(of[id])
		return weight(inclusiveCost(&row))
	})
	for _, id := range matches {
		out = append(out, b.valueRow(of[id]))
	}
	return out, err
}

// mostAsked is how many functions the session is asked for one by one: of more, all calls are read.
const mostAsked = 8

// callsOfEach returns what finds the calls of, and by, each of so many functions, in the order of calls.
func (c *context) callsOfEach(functions int) (func(session.FunctionID) ([]call, error), error) {
	if functions <= mostAsked && c.shared.calls == nil {
		return c.callsOf, nil
	}
	x, err := c.callIndex()
	return func(id session.FunctionID) ([]call, error) {
		out := make([]call, 0, len(x.of[id]))
		for _, at := range x.of[id] {
			out = append(out, x.calls[at])
		}
		return out, nil
	}, err
}

// eachCurrent calls fn with each function, its callers and its callees.
func (b *builder) eachCurrent(functions []Row, fn func(current Row, callers, callees []Row)) error {
	callsOf, err := b.callsOfEach(len(functions))
	if err != nil {
		return err
	}
	noted := b.methods != nil
	for _, r := range functions {
		calls, err := callsOf(r.function)
		if err != nil {
			return err
		}
		var callers, callees []Row
		for i := range calls {
			caller, callee := b.callRows(&calls[i])
			if calls[i].callee == r.function {
				callers = append(callers, caller)
			}
			if calls[i].caller == r.function {
				callees = append(callees, callee)
			}
		}
		noted = noted || b.noteAsync(r) || b.noteAsync(callers...) || b.noteAsync(callees...)
		r.role, r.root = roleCurrent, r.function
		fn(r, callers, callees)
	}
	return nil
}
