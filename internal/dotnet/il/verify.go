package il

import (
	"errors"
	"fmt"
)

// ErrInvalid is wrapped by what is wrong with a body that can be read.
var ErrInvalid = errors.New("invalid")

// Signature is what a call does to the stack.
type Signature struct {
	Args    int // with this, without the function pointer of calli
	Returns bool
	This    bool // among the arguments, and made by newobj
}

// Calls gives the signature behind a token of call, callvirt, newobj or calli.
type Calls func(token uint32) (Signature, error)

const unvisited = -1

// verifier follows the ways through a body.
type verifier struct {
	body    *Body
	calls   Calls
	returns bool
	depth   []int // at each offset, unvisited: not yet reached
	open    []int // offsets to go on from
	most    int
}

// Verify follows all ways through a body of a method that returns a value or not, and returns the greatest depth of the
// stack. Code that is not reached is not looked at.
func Verify(body *Body, returns bool, calls Calls) (int, error) {
	v := &verifier{body: body, calls: calls, returns: returns, depth: make([]int, len(body.Code))}
	for i := range v.depth {
		v.depth[i] = unvisited
	}
	if err := v.reach(0, 0); err != nil {
		return 0, err
	}
	for _, c := range body.Clauses {
		depth := 0
		if c.Kind == Catch || c.Kind == Filter {
			depth = 1 // the exception
		}
		if err := v.reach(c.Handler, depth); err != nil {
			return 0, fmt.Errorf("handler: %w", err)
		}
		if c.Kind == Filter {
			if err := v.reach(int(c.Token), depth); err != nil {
				return 0, fmt.Errorf("filter: %w", err)
			}
		}
	}
	for len(v.open) > 0 {
		at := v.open[len(v.open)-1]
		v.open = v.open[:len(v.open)-1]
		if err := v.step(at); err != nil {
			return 0, err
		}
	}
	if v.most > body.MaxStack {
		return v.most, fmt.Errorf("depth %d, %d declared: %w", v.most, body.MaxStack, ErrInvalid)
	}
	return v.most, nil
}

func (v *verifier) reach(at, depth int) error {
	if at < 0 || at >= len(v.depth) {
		return fmt.Errorf("offset %d of %d bytes: %w", at, len(v.depth), ErrInvalid)
	}
	v.most = max(v.most, depth)
	switch v.depth[at] {
	case depth:
		return nil
	case unvisited:
		v.depth[at] = depth
		v.open = append(v.open, at)
		return nil
	}
	return fmt.Errorf("at %d: depth %d and %d: %w", at, v.depth[at], depth, ErrInvalid)
}

func (v *verifier) step(at int) error {
	i, err := Read(v.body.Code, at)
	if err != nil {
		return err
	}
	pop, push, err := v.effect(&i)
	depth := v.depth[at]
	if err != nil || depth < pop {
		return fmt.Errorf("at %d: %#x takes %d of %d: %w", at, i.Op, pop, depth, errors.Join(err, ErrInvalid))
	}
	depth += push - pop
	if i.Op == OpRet && depth != 0 {
		return fmt.Errorf("at %d: %d values left on return: %w", at, depth, ErrInvalid)
	}
	if i.Long() == OpLeave {
		depth = 0
	}
	for _, t := range i.Targets {
		if err := v.reach(t, depth); err != nil {
			return err
		}
	}
	if i.Ends() || i.Op == OpLeaveS {
		return nil
	}
	return v.reach(i.Next, depth)
}

// effect is what an instruction takes from the stack and puts there.
func (v *verifier) effect(i *Instruction) (pop, push int, err error) {
	if i.Op == OpRet && v.returns {
		return 1, 0, nil
	}
	return i.EffectOf(v.calls)
}

// effect is what an instruction but a return takes from the stack and puts there; s is of what it calls.
func (i *Instruction) effect(s Signature) (pop, push int) {
	if !i.IsCall() {
		return i.Effect()
	}
	pop = s.Args
	if s.Returns {
		push = 1
	}
	switch i.Op {
	case OpCalli:
		pop++
	case OpNewobj:
		if s.This {
			pop--
		}
		push = 1
	}
	return pop, push
}
