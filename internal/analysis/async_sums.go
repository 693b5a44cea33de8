package analysis

import (
	"cmp"
	"maps"
	"slices"

	"github.com/clrprof/clrprof/internal/session"
)

// AsyncRuntimeID stands for the code that starts, suspends and resumes async methods in TreeSums. No function has it.
const AsyncRuntimeID = ^session.FunctionID(0)

// TreeSums are the functions of a logical call tree, and their calls: an async method is one function, whose callers
// are those of its call. Rows are in the order of their ids.
type TreeSums struct {
	Functions     []session.FunctionValue
	FunctionTimes []session.FunctionTime
	Calls         []session.CallValue
	CallTimes     []session.CallTime

	methods map[session.FunctionID]session.FunctionID
}

// Method returns the function that stands for another one: for the state machine of an async method the method. Others
// stand for themselves, as all do without sums.
func (s *TreeSums) Method(id session.FunctionID) session.FunctionID {
	if s == nil {
		return id
	}
	return methodOf(s.methods, id)
}

// Bodies returns the functions for which another one stands, by that.
func (s *TreeSums) Bodies() map[session.FunctionID][]session.FunctionID {
	if s == nil {
		return nil
	}
	out := map[session.FunctionID][]session.FunctionID{}
	for _, body := range slices.Sorted(maps.Keys(s.methods)) {
		out[s.methods[body]] = append(out[s.methods[body]], body)
	}
	return out
}

func methodOf(methods map[session.FunctionID]session.FunctionID, id session.FunctionID) session.FunctionID {
	if method, ok := methods[id]; ok {
		return method
	}
	return id
}

// methods are the functions that start state machines, by these.
func (f *asyncFunctions) methods() map[session.FunctionID]session.FunctionID {
	out := make(map[session.FunctionID]session.FunctionID, len(f.stub))
	for machine, stub := range f.stub {
		out[f.rows[machine].ID] = f.rows[stub].ID
	}
	return out
}

// treeSum is what a function, or a call, has on all stacks that it is on.
type treeSum struct {
	logicalNode
	hasAmounts bool
	on         int // how often it is on the stack that is looked at
}

type callPair struct{ caller, callee session.FunctionID }

// treeStep is a row on the stack that is looked at, and what is below it.
type treeStep struct {
	of      session.FunctionID
	sums    [2]*treeSum // of the function and of the call; nil: this is above the roots
	amounts []session.PathValue
	times   []session.PathTime
}

// treeAdder goes through a tree from the roots down.
type treeAdder struct {
	tree      *LogicalTree
	functions map[session.FunctionID]*treeSum
	calls     map[callPair]*treeSum
}

// Sums adds up a tree by function and by call. Inclusive values count once for each stack, however often a function or
// a call is on it.
func (t *LogicalTree) Sums() *TreeSums {
	a := treeAdder{t, map[session.FunctionID]*treeSum{}, map[callPair]*treeSum{}}
	first := treeStep{}
	first.amounts, first.times = t.Below(0)
	stack := []treeStep{first} // a recursion can be thousands of levels deep
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		amount, time := top.next()
		if amount == nil && time == nil {
			for _, sum := range top.sums {
				if sum != nil {
					sum.on--
				}
			}
			stack = stack[:len(stack)-1]
			continue
		}
		stack = append(stack, a.enter(top.of, amount, time))
	}
	return a.rows()
}

// next returns the next row below a step, from either list or from both; nil, nil: there is none.
func (s *treeStep) next() (amount *session.PathValue, time *session.PathTime) {
	if len(s.amounts) > 0 && (len(s.times) == 0 || s.amounts[0].ID <= s.times[0].ID) {
		amount = &s.amounts[0]
	}
	if len(s.times) > 0 && (len(s.amounts) == 0 || s.times[0].ID <= s.amounts[0].ID) {
		time = &s.times[0]
	}
	if amount != nil {
		s.amounts = s.amounts[1:]
	}
	if time != nil {
		s.times = s.times[1:]
	}
	return amount, time
}

// enter adds a row, and returns the step that is below it.
func (a *treeAdder) enter(caller session.FunctionID, amount *session.PathValue, time *session.PathTime) treeStep {
	id, function := session.PathID(0), session.FunctionID(0)
	if amount != nil {
		id, function = amount.ID, amount.Function
	} else {
		id, function = time.ID, time.Function
	}
	step := treeStep{of: methodOf(a.tree.methods, function)}
	if a.tree.Role(id) == AsyncRuntime {
		step.of = AsyncRuntimeID
	}
	step.sums = [2]*treeSum{sumAt(a.functions, step.of), sumAt(a.calls, callPair{caller, step.of})}
	for _, sum := range step.sums {
		sum.add(amount, time)
	}
	step.amounts, step.times = a.tree.Below(id)
	return step
}

func sumAt[K comparable](sums map[K]*treeSum, key K) *treeSum {
	if sums[key] == nil {
		sums[key] = &treeSum{}
	}
	return sums[key]
}

// add adds a row to what it is of, and notes that this is on the stack.
func (s *treeSum) add(amount *session.PathValue, time *session.PathTime) {
	outermost := s.on == 0
	s.on++
	if amount != nil {
		s.hasAmounts = true
		s.amounts.Exclusive = s.amounts.Exclusive.Add(amount.Exclusive)
		if outermost {
			s.amounts.Inclusive = s.amounts.Inclusive.Add(amount.Inclusive)
		}
	}
	if time != nil {
		s.addTime(time)
		if outermost {
			s.time.Inclusive = s.time.Inclusive.Add(time.Inclusive)
		}
	}
}

// single are the single calls of what a sum is of.
func (s *treeSum) single() session.SingleCalls {
	out := s.time.single
	out.Extremes = s.time.extent.Extremes
	return out
}

// rows makes rows of the sums.
func (a *treeAdder) rows() *TreeSums {
	out := &TreeSums{methods: a.tree.methods}
	for _, id := range slices.Sorted(maps.Keys(a.functions)) {
		s := a.functions[id]
		if s.hasAmounts {
			out.Functions = append(out.Functions, session.FunctionValue{Function: id, Amounts: s.amounts})
		}
		if s.time != nil {
			out.FunctionTimes = append(out.FunctionTimes, session.FunctionTime{Function: id,
				TimeValue: s.time.TimeValue, SingleCalls: s.single()})
		}
	}
	calls := slices.SortedFunc(maps.Keys(a.calls), func(a, b callPair) int {
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.callee, b.callee))
	})
	for _, of := range calls {
		s := a.calls[of]
		if s.hasAmounts {
			out.Calls = append(out.Calls, session.CallValue{Caller: of.caller, Callee: of.callee, Amounts: s.amounts})
		}
		if s.time != nil {
			out.CallTimes = append(out.CallTimes, session.CallTime{Caller: of.caller, Callee: of.callee,
				TimeValue: s.time.TimeValue, SingleCalls: s.single()})
		}
	}
	return out
}
