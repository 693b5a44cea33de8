package report

import (
	"cmp"
	"slices"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// union walks two lists that are in the same order, and calls fn with the rows of both that belong together; nil: the
// other list has none.
func union[A, B any](as []A, bs []B, compare func(*A, *B) int, fn func(*A, *B)) {
	for i, k := 0, 0; i < len(as) || k < len(bs); {
		order := 0
		switch {
		case i == len(as):
			order = 1
		case k == len(bs):
			order = -1
		default:
			order = compare(&as[i], &bs[k])
		}
		var a *A
		var b *B
		if order <= 0 {
			a = &as[i]
			i++
		}
		if order >= 0 {
			b = &bs[k]
			k++
		}
		fn(a, b)
	}
}

// noTime is the time of rows that have none in a process whose calls were timed.
var noTime = &rowTime{}

// orNone is the time of a row of a process; nil if its calls were not timed.
func (c *context) orNone(t *rowTime, p session.ProcessID) *rowTime {
	if _, timed := slices.BinarySearchFunc(c.timed, p, func(r session.ProcessTime, p session.ProcessID) int {
		return cmp.Compare(r.Process, p)
	}); t != nil || !timed {
		return t
	}
	return noTime
}

// single is the time of a row that has calls of its own, place of one that has not.
func single(v *session.TimeValue, calls *session.SingleCalls) *rowTime { return &rowTime{*v, calls} }

func place(v session.TimeValue) *rowTime { return &rowTime{TimeValue: v} }

func (c *context) processRows() ([]Row, error) {
	amounts, err := c.source.Processes()
	if err != nil {
		return nil, err
	}
	times, err := c.source.ProcessTimes()
	if err != nil {
		return nil, err
	}
	var list []Row
	union(amounts, times, func(a *session.ProcessValue, t *session.ProcessTimeValue) int {
		return cmp.Compare(a.Process, t.Process)
	},
		func(a *session.ProcessValue, t *session.ProcessTimeValue) {
			if a == nil {
				a = &session.ProcessValue{Process: t.Process}
			}
			row := Row{kind: rowProcess, process: a.Process, values: both(a.Amount)}
			if t != nil {
				row.time = place(t.TimeValue)
			}
			row.time = c.orNone(row.time, row.process)
			list = append(list, row)
		})
	return list, nil
}

// pathsBelow returns the rows below a row of the call tree.
func (c *context) pathsBelow(r *Row) ([]Row, error) {
	if c.logical != nil {
		amounts, times := c.logical.Below(r.path)
		if !c.hasTime() {
			times = nil
		}
		return c.pathRows(r, amounts, times), nil
	}
	amounts, err := c.source.PathChildren(r.path)
	if err != nil {
		return nil, err
	}
	var times []session.PathTime
	if c.hasTime() {
		if times, err = c.source.PathTimeChildren(r.path); err != nil {
			return nil, err
		}
	}
	return c.pathRows(r, amounts, times), nil
}

// worksBelow is pathsBelow for who needs the inclusive CPU time alone.
func (c *context) worksBelow(r *Row) ([]Row, error) {
	if c.logical != nil {
		return c.pathsBelow(r)
	}
	times, err := c.source.PathWorkChildren(r.path)
	return c.pathRows(r, nil, times), err
}

// pathRows are the rows of paths below a row.
func (c *context) pathRows(r *Row, amounts []session.PathValue, times []session.PathTime) []Row {
	var list []Row
	union(amounts, times, func(a *session.PathValue, t *session.PathTime) int { return cmp.Compare(a.ID, t.ID) },
		func(a *session.PathValue, t *session.PathTime) {
			if a == nil {
				a = &session.PathValue{ID: t.ID, Parent: t.Parent, Level: t.Level, Process: t.Process,
					Function: t.Function}
			}
			if a.Process != r.process {
				return
			}
			row := c.pathRow(*a)
			if t != nil {
				row.time = single(&t.TimeValue, &t.SingleCalls)
			}
			row.time = c.orNone(row.time, row.process)
			list = append(list, row)
		})
	return list
}

// call is a caller and a callee, as a row about neither.
type call struct {
	caller, callee session.FunctionID
	amounts        q.Amounts
	time           *rowTime
}

// calls are those of all functions, in the order of caller and callee.
func (c *context) calls() ([]call, error) {
	amounts, err := c.source.Calls()
	if err != nil {
		return nil, err
	}
	times, err := c.source.CallTimes()
	return c.joined(amounts, times), err
}

// callsOf are the calls of, and by, a function, in the order of calls.
func (c *context) callsOf(function session.FunctionID) ([]call, error) {
	amounts, err := c.source.CallsOf(function)
	if err != nil {
		return nil, err
	}
	times, err := c.source.CallTimesOf(function)
	return c.joined(amounts, times), err
}

// joined makes one of the amounts and the times of calls.
func (c *context) joined(amounts []session.CallValue, times []session.CallTime) []call {
	var list []call
	union(amounts, times, func(a *session.CallValue, t *session.CallTime) int {
		return cmp.Or(cmp.Compare(a.Caller, t.Caller), cmp.Compare(a.Callee, t.Callee))
	}, func(a *session.CallValue, t *session.CallTime) {
		one := call{}
		if a != nil {
			one = call{a.Caller, a.Callee, a.Amounts, nil}
		}
		if t != nil {
			one.caller, one.callee, one.time = t.Caller, t.Callee, single(&t.TimeValue, &t.SingleCalls)
		}
		one.time = c.orNone(one.time, c.functions.get(one.callee).Process)
		list = append(list, one)
	})
	return list
}

func (c *context) moduleRows() ([]Row, error) {
	amounts, err := c.source.Modules()
	if err != nil {
		return nil, err
	}
	times, err := c.source.ModuleTimes()
	if err != nil {
		return nil, err
	}
	var list []Row
	union(amounts, times, func(a *session.ModuleValue, t *session.ModuleTime) int {
		return cmp.Compare(a.Module, t.Module)
	},
		func(a *session.ModuleValue, t *session.ModuleTime) {
			if a == nil {
				a = &session.ModuleValue{Module: t.Module}
			}
			row := Row{kind: rowModule, module: a.Module, process: c.modules.get(a.Module).Process, values: a.Amounts}
			if t != nil {
				row.time = single(&t.TimeValue, &t.SingleCalls)
			}
			row.time = c.orNone(row.time, row.process)
			list = append(list, row)
		})
	return list, nil
}

// lineRows are the lines that have values, in the order of id, and then what is on none, by function.
func (c *context) lineRows() ([]Row, error) {
	amounts, err := c.source.Lines()
	if err != nil {
		return nil, err
	}
	times, err := c.source.LineTimes()
	if err != nil {
		return nil, err
	}
	of := map[session.LineID]*rowTime{} // of lines that allocated, perhaps
	list := make([]Row, 0, max(len(amounts), len(times)))
	var bodies []Row
	for i := range times {
		t := &times[i]
		if t.Line != 0 {
			if len(amounts) > 0 {
				of[t.Line] = place(t.TimeValue)
			}
			continue
		}
		row := c.functionRow(t.Function, q.Amounts{})
		row.kind, row.time = rowBody, place(t.TimeValue)
		bodies = append(bodies, row)
	}
	for _, a := range amounts {
		row := c.lineRow(a)
		row.time = c.orNone(of[a.Line], row.process)
		delete(of, a.Line)
		list = append(list, row)
	}
	for i := range times { // those that did not allocate
		t := &times[i]
		time := of[t.Line]
		if len(amounts) == 0 && t.Line != 0 {
			time = place(t.TimeValue)
		}
		if time != nil {
			row := c.lineRow(session.LineValue{Line: t.Line})
			row.time = time
			list = append(list, row)
		}
	}
	return append(list, bodies...), nil
}

func (c *context) instructionRows() ([]Row, error) {
	amounts, err := c.source.Instructions()
	if err != nil {
		return nil, err
	}
	times, err := c.source.InstructionTimes()
	if err != nil {
		return nil, err
	}
	list := make([]Row, 0, max(len(amounts), len(times)))
	union(amounts, times, func(a *session.InstructionValue, t *session.InstructionTime) int {
		return cmp.Compare(a.Instruction, t.Instruction)
	}, func(a *session.InstructionValue, t *session.InstructionTime) {
		if a == nil {
			a = &session.InstructionValue{Instruction: t.Instruction}
		}
		row := c.instructionRow(*a)
		if t != nil {
			row.time = place(t.TimeValue)
		}
		row.time = c.orNone(row.time, row.process)
		list = append(list, row)
	})
	return list, nil
}
