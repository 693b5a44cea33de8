package analysis

import (
	"errors"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
)

// ErrNoTime means that calls were not timed.
var ErrNoTime = errors.New("this session holds no times: it was recorded without --time: clrprof run --time records them")

// ProcessesTimed returns how the calls of each process were timed, in the order of process; none: there are no times,
// or the selection has none.
func (v *Source) ProcessesTimed() ([]session.ProcessTime, error) {
	if !v.selection.HasTimes() {
		return nil, nil
	}
	return v.session.ProcessTimes()
}

// SingleCalls reports whether the smallest and largest values of single calls are known: they are those of the whole
// run and of whole calls, so only a selection by process and thread has them.
func (v *Source) SingleCalls() bool { return v.selection.singleCalls() }

// TotalTime returns the time of all threads, and their calls: the sum over the processes.
func (v *Source) TotalTime() (session.TimeValue, error) {
	rows, err := v.ProcessTimes()
	var total session.TimeValue
	for _, r := range rows {
		total = addTimes(total, r.TimeValue)
	}
	return total, err
}

// FunctionTimes returns the times of the functions, in the order of id.
func (v *Source) FunctionTimes() ([]session.FunctionTime, error) {
	return choose(v, func(d *derivation) []session.FunctionTime {
		d.need(derivedTimeFunctions)
		return d.FunctionTimes
	}, v.session.FunctionTimes)
}

// FunctionAwaits returns how often and for how long async methods waited, in the order of function. A method can go on
// in another thread, or at another time, than it was suspended in: so it is only known of whole processes.
func (v *Source) FunctionAwaits() ([]session.FunctionAwait, error) {
	return choose(v, func(d *derivation) []session.FunctionAwait { return d.Awaits }, v.session.FunctionAwaits)
}

// ModuleTimes returns the times of the modules, in the order of id.
func (v *Source) ModuleTimes() ([]session.ModuleTime, error) {
	return choose(v, func(d *derivation) []session.ModuleTime {
		d.need(derivedTimeModules)
		return d.ModuleTimes
	}, v.session.ModuleTimes)
}

// LineTimes returns the times of the lines, in the order of function and line. Line 0 is what is on no line of the
// function: the time after its last call, and calls of which the line is not known.
func (v *Source) LineTimes() ([]session.LineTime, error) {
	return choose(v, func(d *derivation) []session.LineTime {
		d.need(derivedTimePlaces)
		return d.LineTimes
	}, v.session.LineTimes)
}

// InstructionTimes returns the times of the instructions, in the order of id.
func (v *Source) InstructionTimes() ([]session.InstructionTime, error) {
	return choose(v, func(d *derivation) []session.InstructionTime {
		d.need(derivedTimePlaces)
		return d.InstructionTimes
	}, v.session.InstructionTimes)
}

// ThreadTimes returns the times of the threads, in the order of id.
func (v *Source) ThreadTimes() ([]session.ThreadTime, error) {
	return choose(v, func(d *derivation) []session.ThreadTime { return d.ThreadTimes }, v.session.ThreadTimes)
}

// ProcessTimes returns the times of the processes, in the order of id.
func (v *Source) ProcessTimes() ([]session.ProcessTimeValue, error) {
	return choose(v, func(d *derivation) []session.ProcessTimeValue {
		return d.ProcessTimes
	}, v.session.ProcessTimeValues)
}

// CallTimes returns the times of all pairs of caller and callee, in the order of their ids.
func (v *Source) CallTimes() ([]session.CallTime, error) {
	return choose(v, func(d *derivation) []session.CallTime {
		d.need(derivedTimeCalls)
		return d.CallTimes
	}, v.session.CallTimes)
}

// CallTimesOf returns the rows of CallTimes of which a function is the caller or the callee.
func (v *Source) CallTimesOf(function session.FunctionID) ([]session.CallTime, error) {
	if v.derived == nil {
		return v.session.CallTimesOf(function)
	}
	all, err := v.CallTimes()
	return matching(all, func(c *session.CallTime) bool { return c.Caller == function || c.Callee == function }), err
}

// HasLineTimes reports whether a function has rows in LineTimes, if that is known without reading them all.
func (v *Source) HasLineTimes(function session.FunctionID) (bool, error) {
	if v.derived != nil {
		return false, nil
	}
	return v.session.HasLineTimes(function)
}

// PathTimes returns the whole call tree, parents before children. A path has the same id as in Paths, but not every
// path is in both.
func (v *Source) PathTimes() ([]session.PathTime, error) {
	return choose(v, func(d *derivation) []session.PathTime {
		d.need(derivedTimePaths)
		return d.PathTimes
	}, v.session.PathTimes)
}

// EachPathTime calls fn with each row of PathTimes, in no order: all of them at once are much memory. The row is
// overwritten by the next one.
func (v *Source) EachPathTime(fn func(*session.PathTime)) error {
	return v.eachPath(v.session.EachPathTime, fn)
}

// EachPathCalls is EachPathTime for who needs the calls alone: what is stored has no times then.
func (v *Source) EachPathCalls(fn func(*session.PathTime)) error {
	return v.eachPath(v.session.EachPathCalls, fn)
}

func (v *Source) eachPath(stored func(func(*session.PathTime)) error, fn func(*session.PathTime)) error {
	x := v.derived
	if x == nil {
		return stored(fn)
	}
	if rows := x.unmadePaths(); rows != nil {
		var held session.PathTime
		for held = range rows.each {
			fn(&held)
		}
		return nil
	}
	x.need(derivedTimePaths)
	for i := range v.derived.PathTimes {
		fn(&v.derived.PathTimes[i])
	}
	return nil
}

// PathTimeChildren returns the times of the children of a path (0: the roots) in the order of id.
func (v *Source) PathTimeChildren(parent session.PathID) ([]session.PathTime, error) {
	if v.beneath == nil {
		if err := v.findBeneath(); err != nil {
			return nil, err
		}
	}
	return v.beneath.of(parent), nil
}

// PathWorkChildren is PathTimeChildren for who needs the inclusive CPU time alone: other times, and calls, can be zero.
func (v *Source) PathWorkChildren(parent session.PathID) ([]session.PathTime, error) {
	if v.derived != nil || v.beneath != nil {
		return v.PathTimeChildren(parent)
	}
	if v.works == nil {
		stored, err := v.session.PathWorkList()
		if err != nil {
			return nil, err
		}
		if stored == nil {
			return v.PathTimeChildren(parent)
		}
		if v.works, err = v.storedChildren(stored); err != nil {
			return nil, err
		}
	}
	return v.works.of(parent), nil
}

// storedChildren prepares to find rows of a list.
func (v *Source) storedChildren(list *session.PathTimeList) (*children[session.PathTime], error) {
	return checkedChildren(v, treeRows[session.PathTime]{list.Len(), list.Link, list.At, nil})
}

// findBeneath prepares to find times by the path above them. Only the rows are made that are found.
func (v *Source) findBeneath() error {
	if rows := v.derived.unmadePaths(); rows != nil {
		v.beneath = newChildren(treeRows[session.PathTime]{len(rows.of), rows.link, rows.at, nil})
		return nil
	}
	if v.derived == nil {
		stored, err := v.session.PathTimeList()
		if err != nil {
			return err
		}
		if stored != nil {
			v.beneath, err = v.storedChildren(stored)
			return err
		}
	}
	paths, err := v.PathTimes()
	if err == nil {
		v.beneath, err = checkedChildren(v, rowsOfTimes(paths))
	}
	return err
}

// Range is a set of functions, as if they were one.
type Range struct {
	Functions []session.FunctionID // in the order of id; those that allocated or took time
	Memory    q.Amounts
	Time      session.TimeValue
	Single    session.SingleCalls // of the calls of all of them
}

// Namespaces returns the values of the namespaces that functions are in, by the rules of Range.
func (v *Source) Namespaces() ([]Namespace, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.Namespaces()
}

// Range returns the values of all functions that match a pattern, as package pattern has them; a function's names are
// those of its module, namespace, type and itself. Inclusive counts each allocation and each interval once, however
// many of the functions are on its stack; a call from one to another of them is a call. No match is no error; Functions
// is empty then.
func (v *Source) Range(text string) (*Range, error) {
	d, err := v.load()
	if err != nil {
		return nil, err
	}
	return d.Range(text)
}
