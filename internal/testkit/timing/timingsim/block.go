package timingsim

import (
	"slices"

	"github.com/clrprof/clrprof/internal/testkit/timing"
)

// block is a row of statements of a function, which makes calls with this stack pointer. Only one that is the whole
// function may tail-call.
func (s *simulation) block(i *invocation, sp uint64, whole bool) outcome {
	me := len(s.stack) - 1
	for {
		if s.left--; s.left < 0 {
			if s.Abrupt {
				return outcome{kind: stopped}
			}
			return outcome{}
		}
		s.pass()
		tails, tries := s.Tails, s.Tries
		if !whole {
			tails = 0
		}
		if i.filter || i.native { // ECMA-335 II.19: a filter contains no protected block
			tries = 0
		}
		var out outcome
		switch s.weighted(s.Returns, s.Calls, tails, tries, s.Throws, s.Vanishes, 1) {
		case 0:
			if s.oneIn(3) {
				return outcome{kind: returned}
			}
			return outcome{}
		case 1:
			out = s.site(i, sp)
		case 2:
			return outcome{kind: tailed, tail: s.draw()}
		case 3:
			out = s.try(i, sp)
		case 4:
			out = s.throw(i, sp)
		case 5:
			out = s.vanish(me)
		case 6:
			if !s.ghosts && !s.stale { // memory on the stack: later calls are made further down
				sp -= 16
			}
		}
		if i.native && out.kind == thrown && out.exception.target == me {
			s.caughtNatively(out.exception)
			continue // it may go on, or throw
		}
		if out.kind == vanished && out.vanish == me {
			continue
		}
		if out.kind != normal {
			return out
		}
	}
}

// site makes a call from one of the places of a function where there are calls.
func (s *simulation) site(i *invocation, sp uint64) outcome {
	if len(s.stack) >= s.Depth {
		return outcome{}
	}
	n := s.r.IntN(s.Sites)
	callees := i.calls[n]
	callee := callees[s.r.IntN(len(callees))]
	if (s.ghosts || s.stale) && s.functions[callee].class == timing.NotHooked {
		return outcome{} // what it calls would lie below the calls that vanished, as if they had made the call
	}
	return s.call(callee, codeBase+uint64(i.id)*codeSize+uint64(n+1)*16, sp)
}

// vanish lets the innermost calls be gone, as longjmp in native code does: up to a hooked function, which goes on, or
// to the base of the thread. No block is left that runs because of an exception, and the function that goes on is none
// in which one runs: so the next event is a hook's.
func (s *simulation) vanish(me int) outcome {
	var targets []int
	for t := me - 1; t >= 0 && !s.stack[t+1].filter && !s.stack[t+1].unwinding && !s.stack[t+1].notifies; t-- {
		if t == 0 || s.stack[t].class != timing.NotHooked && !s.stack[t].unwinding && !s.stack[t].filter {
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		return outcome{}
	}
	return outcome{kind: vanished, vanish: targets[s.r.IntN(len(targets))]}
}

// throw throws a new exception. Making the object is a call, except in native code, where it is not seen; but then
// nothing that vanished before is seen either.
func (s *simulation) throw(i *invocation, sp uint64) outcome {
	if s.ghosts || s.oneIn(2) {
		if out := s.site(i, sp); out.kind != normal {
			return out
		}
	}
	if !s.mayThrow() {
		return outcome{}
	}
	return s.deliver(sp)
}

func (s *simulation) mayThrow() bool {
	return !s.ghosts && (s.Escapes || !slices.ContainsFunc(s.stack, func(i *invocation) bool { return i.filter }))
}

// deliver is the first pass: it asks all handlers, innermost first, which one wants the exception. Filters run while
// the stack is still there.
func (s *simulation) deliver(sp uint64) outcome {
	sp -= dispatch
	s.exceptions++
	e := exception{id: s.exceptions, target: -1, sp: sp}
	if s.Managed {
		s.frames++
		e.by = s.frames
		s.tell(timing.Event{Kind: timing.KindEnter, Class: timing.Dispatcher, Function: s.outside(), CallerSP: sp,
			ReturnAddress: outsideCode, Frame: e.by})
	}
	for e.target = len(s.stack) - 1; e.target >= 0; e.target-- {
		i := s.stack[e.target]
		if i.filter || i.native || e.target == 0 {
			if i.filter && s.Managed {
				s.tell(timing.Event{Kind: timing.KindUnwound}) // of nobody
			}
			return outcome{kind: thrown, exception: e}
		}
		for _, t := range slices.Backward(i.tries) {
			e.try = t
			if s.notifies(sp) == stopped {
				return outcome{kind: stopped}
			}
			s.helpers(sp)
			if i.class == timing.NotHooked && s.inBlock(e.target) {
				continue // see the package's comment
			}
			if t.catches && s.oneIn(2) {
				return outcome{kind: thrown, exception: e}
			}
			if !t.filters {
				continue
			}
			switch out := s.filter(i, sp); {
			case out.kind == stopped:
				return out
			case out.kind != thrown && s.oneIn(2):
				return outcome{kind: thrown, exception: e}
			}
		}
	}
	return outcome{kind: thrown, exception: e}
}

// inBlock says whether one of the outermost calls is in a filter, or in a finally block because of an exception.
func (s *simulation) inBlock(calls int) bool {
	return slices.ContainsFunc(s.stack[:calls], func(i *invocation) bool { return i.filter || i.unwinding })
}

// helpers are calls that the dispatcher makes.
func (s *simulation) helpers(sp uint64) {
	if !s.Managed {
		return
	}
	for range s.r.IntN(3) {
		s.helper(sp)
	}
}

func (s *simulation) helper(sp uint64) {
	s.frames++
	e := timing.Event{Kind: timing.KindEnter, Class: timing.Boundary, Function: s.outside(), CallerSP: sp - 0x40,
		ReturnAddress: outsideCode, Frame: s.frames}
	s.tell(e)
	e.Kind = timing.KindLeave
	s.tell(e)
}

// notifies lets the runtime's native code call functions of the program in the first pass, one after the other. Then
// the dispatcher goes on by a call.
func (s *simulation) notifies(sp uint64) outcomeKind {
	if !s.Managed || !s.oneIn(s.Notifies) {
		return normal
	}
	for range 1 + s.r.IntN(2) {
		if s.notify(sp-0x80) == stopped {
			return stopped
		}
	}
	s.ghosts, s.stale = false, false
	s.helper(sp)
	return normal
}

// notify is a call of a function of the program by the runtime's native code while a dispatcher runs. Exceptions do not
// leave it.
func (s *simulation) notify(sp uint64) outcomeKind {
	callee := s.draw()
	if len(s.stack) >= s.Depth || s.functions[callee].class == timing.NotHooked {
		return normal
	}
	s.stack = append(s.stack, &invocation{function: &function{id: s.outside()}, native: true, notifies: true})
	out := s.call(callee, timing.RuntimeCode+uint64(s.r.IntN(3)), sp)
	if out.kind == stopped {
		return stopped
	}
	s.stack = s.stack[:len(s.stack)-1]
	if out.kind == thrown {
		s.caughtNatively(out.exception)
	}
	return normal
}

// filter runs a filter of a function that is somewhere on the stack. An exception that it does not catch itself means
// that it does not want the first one. Then .NET 9 tells of one end too many, when the new exception has found no
// handler, and both runtimes that the filter's function is unwound, which it is not.
func (s *simulation) filter(of *invocation, sp uint64) outcome {
	if len(s.stack) >= s.Depth {
		return outcome{}
	}
	sp -= dispatch
	e := timing.Event{Kind: timing.KindFilter, Class: of.class, Function: of.id, SP: sp + 8}
	s.tell(e)
	i := &invocation{function: of.function, filter: true}
	s.stack = append(s.stack, i)
	out := s.block(i, sp, false)
	if out.kind == stopped {
		return out
	}
	s.stack = s.stack[:len(s.stack)-1]
	if out.kind == thrown {
		s.tell(timing.Event{Kind: timing.KindUnwind, Class: of.class, Function: of.id})
		if !s.Managed {
			s.tell(timing.Event{Kind: timing.KindUnwound})
		}
	}
	e.Kind = timing.KindFilterEnd
	s.tell(e)
	return out
}

// try runs a block with handlers.
func (s *simulation) try(i *invocation, sp uint64) outcome {
	kind := 1 + s.r.IntN(5) // catch, filter, finally, both of the first with finally
	t := &try{catches: kind == 1 || kind == 4, filters: kind == 2 || kind == 5, finally: kind >= 3}
	me := len(s.stack) - 1
	i.tries = append(i.tries, t)
	out := s.block(i, sp, false)
	if out.kind == stopped {
		return out
	}
	i.tries = i.tries[:len(i.tries)-1]
	s.unwind(i, out)
	if out.kind == thrown && out.exception.target == me && out.exception.try == t {
		out = s.catch(i, sp, out.exception.sp-dispatch)
	}
	switch {
	case out.kind == stopped || out.kind == vanished || !t.finally:
		return out
	case out.kind == thrown:
		return s.finally(i, me, sp, out)
	}
	if end := s.block(i, sp, false); end.kind != normal && end.kind != returned {
		if end.kind == thrown && s.Managed && !i.filter && !i.native { // the block has a frame of its own
			s.tell(timing.Event{Kind: timing.KindUnwind, Class: i.class, Function: i.id})
			s.tell(timing.Event{Kind: timing.KindUnwound})
		}
		return end
	}
	return out
}

// unwind tells that an exception has come to a function. It is reported again if it is another exception, as when one
// leaves a finally block.
func (s *simulation) unwind(i *invocation, out outcome) {
	if out.kind == thrown && !slices.Contains(i.reported, out.exception.id) && !i.filter && !i.native {
		i.reported = append(i.reported, out.exception.id)
		s.tell(timing.Event{Kind: timing.KindUnwind, Class: i.class, Function: i.id, Frame: i.frame})
		s.helpers(out.exception.sp)
	}
}

// unwound lets a call be gone. The end of the last one before native code that catches is not reported by .NET 9.
func (s *simulation) unwound(i *invocation, out outcome) outcome {
	s.unwind(i, out)
	last := len(s.stack) - 1
	switch {
	case i.native:
	case s.Managed && out.exception.target == last && s.stack[last].native:
		if i.class != timing.NotHooked {
			s.emit(timing.Event{Kind: timing.KindVanished, Class: i.class, Function: i.id, Frame: i.frame})
		}
	default:
		s.tell(timing.Event{Kind: timing.KindUnwound, Class: i.class, Function: i.id, Frame: i.frame})
	}
	s.helpers(out.exception.sp)
	return out
}

// caughtNatively lets what delivered an exception be gone.
func (s *simulation) caughtNatively(e exception) {
	if s.Managed {
		s.stale = true
		s.emit(timing.Event{Kind: timing.KindVanished, Class: timing.Dispatcher, Frame: e.by})
	}
}

// finally runs a finally block because of an exception. If it ends by an exception of its own, or is left in another
// way, that is what counts.
func (s *simulation) finally(i *invocation, me int, from uint64, before outcome) outcome {
	s.unwind(i, before)
	if i.unwinding || i.class != timing.Instrumented && s.inBlock(me) {
		return before // see the package's comment
	}
	sp := before.exception.sp - dispatch
	e := timing.Event{Kind: timing.KindFinally, Class: i.class, Function: i.id, CallerSP: from, Frame: i.frame,
		SP: sp + 8}
	s.tell(e)
	defer func(was bool) { i.unwinding = was }(i.unwinding)
	i.unwinding = true
	if out := s.block(i, sp, false); out.kind != normal && out.kind != returned {
		return out
	}
	e.Kind = timing.KindFinallyEnd
	s.tell(e)
	s.helpers(before.exception.sp)
	return before
}

// catch runs a catch block; it may throw the exception again. What delivered the exception is still on the stack. From
// is the stack pointer of the try block.
func (s *simulation) catch(i *invocation, from, sp uint64) outcome {
	s.tell(timing.Event{Kind: timing.KindCatch, Class: i.class, Function: i.id, CallerSP: from, Frame: i.frame,
		SP: from})
	out := s.block(i, sp, false)
	if out.kind == normal && s.oneIn(4) && s.mayThrow() {
		out = s.deliver(sp)
	}
	return out
}
