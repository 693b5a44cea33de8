package il

import (
	"bytes"
	"fmt"
	"slices"
)

// Limits of Arrays. The largest methods that people write have some ten thousand bytes, and stacks of some ten values.
const (
	maxCode  = 1 << 20 // bytes of a method's code
	maxSaved = 1 << 20 // values on all stacks that are kept for the targets of branches
)

// Array is an array that code makes (newarr), and what becomes of it.
type Array struct {
	At    int    // offset of its newarr
	Type  uint32 // token of the type of its elements
	Fixed bool   // its length is a constant
	// Callee is the token of what a call or newobj names that takes it as its last argument, if nothing else is done
	// with it but to fill it with elements; else 0.
	Callee uint32
}

// Callees is what the tokens of call, callvirt, newobj and calli stand for.
type Callees struct {
	Signature Calls
	// Fills reports whether a function only gives its first argument, an array, elements: C# calls
	// RuntimeHelpers.InitializeArray for constants.
	Fills func(token uint32) bool
}

// arrays follows the arrays that lie on the stack. It reads the code once, from front to back: what is on the stack
// behind a jump is what a jump from before brought there, and else nothing (III.1.7.5).
type arrays struct {
	callees Callees
	stack   []int32         // 1 + position in found, 0: another value
	saved   map[int][]int32 // stacks by the offset that is jumped to
	values  int             // in saved
	starts  []bool          // of instructions, by offset
	found   []Array
	lost    []bool // by position in found: something else is done with it
}

// Arrays finds the arrays that a method's own code makes, in the order of the code. Its errors say that the code breaks
// the format, contradicts itself, or is too large; then nothing is known.
func Arrays(body *Body, callees Callees) ([]Array, error) {
	if bytes.IndexByte(body.Code, OpNewarr) < 0 {
		return nil, nil
	}
	if len(body.Code) > maxCode {
		return nil, fmt.Errorf("%d bytes of code: %w", len(body.Code), ErrInvalid)
	}
	a := &arrays{callees: callees, saved: map[int][]int32{}, starts: make([]bool, len(body.Code))}
	for _, c := range body.Clauses {
		var exception []int32
		if c.Kind == Catch || c.Kind == Filter {
			exception = []int32{0}
		}
		a.saved[c.Handler] = exception
		if c.Kind == Filter {
			a.saved[int(c.Token)] = exception
		}
	}
	if err := a.follow(body); err != nil {
		return nil, err
	}
	for target := range a.saved {
		if !a.isStart(target) {
			return nil, fmt.Errorf("at %d: no instruction begins there: %w", target, ErrInvalid)
		}
	}
	for i, lost := range a.lost {
		if lost {
			a.found[i].Callee = 0
		}
	}
	return a.found, nil
}

func (a *arrays) isStart(at int) bool { return at >= 0 && at < len(a.starts) && a.starts[at] }

func (a *arrays) follow(body *Body) error {
	reached, constant := true, false
	for at := 0; at < len(body.Code); {
		if stack, is := a.saved[at]; is {
			constant = false
			if reached && !a.meet(stack) {
				return fmt.Errorf("at %d: depth %d and %d: %w", at, len(a.stack), len(stack), ErrInvalid)
			}
			a.stack = append(a.stack[:0], stack...)
		} else if !reached {
			a.stack = a.stack[:0]
		}
		a.starts[at] = true
		i, err := Read(body.Code, at)
		if err != nil {
			return err
		}
		if err := a.step(&i, constant); err != nil {
			return err
		}
		if len(a.stack) > body.MaxStack {
			return fmt.Errorf("at %d: depth %d, %d declared: %w", at, len(a.stack), body.MaxStack, ErrInvalid)
		}
		if err := a.jump(&i); err != nil {
			return err
		}
		constant = i.Op >= opLdcI4M1 && i.Op <= opLdcI4
		reached = !i.Ends() && i.Op != OpLeaveS
		at = i.Next
	}
	return nil
}

// meet makes of two stacks one that holds an array where both do; false: they are not of one depth.
func (a *arrays) meet(other []int32) bool {
	if len(a.stack) != len(other) {
		return false
	}
	for i, value := range a.stack {
		if value != other[i] {
			a.lose(value)
			a.lose(other[i])
			other[i] = 0
		}
	}
	return true
}

// lose takes note that something else is done with a value.
func (a *arrays) lose(value int32) {
	if value != 0 {
		a.lost[value-1] = true
	}
}

// jump keeps the stack for the targets of an instruction.
func (a *arrays) jump(i *Instruction) error {
	if i.Long() == OpLeave { // it empties the stack
		for _, value := range a.stack {
			a.lose(value)
		}
		a.stack = a.stack[:0]
	}
	for _, target := range i.Targets {
		if target <= i.At { // it was read with no array of this stack
			if !a.isStart(target) {
				return fmt.Errorf("at %d: no instruction begins there: %w", target, ErrInvalid)
			}
			for _, value := range a.stack {
				a.lose(value)
			}
			continue
		}
		if stack, is := a.saved[target]; is {
			if !a.meet(stack) {
				return fmt.Errorf("at %d: depth %d, and %d at the target %d: %w", i.At, len(a.stack), len(stack),
					target, ErrInvalid)
			}
			continue
		}
		if a.values += len(a.stack); a.values > maxSaved {
			return fmt.Errorf("at %d: too many branches with too deep a stack: %w", i.At, ErrInvalid)
		}
		a.saved[target] = slices.Clone(a.stack)
	}
	return nil
}

// step does what an instruction does to the stack; constant says that the one before loaded a constant.
func (a *arrays) step(i *Instruction, constant bool) error {
	s, err := Signature{}, error(nil)
	if i.IsCall() {
		if s, err = a.callees.Signature(i.Token()); err != nil {
			return fmt.Errorf("at %d: %w", i.At, err)
		}
	}
	pop, push := i.effect(s)
	if i.Op == OpRet {
		pop = len(a.stack)
	}
	if pop < 0 || pop > len(a.stack) {
		return fmt.Errorf("at %d: %#x takes %d of %d: %w", i.At, i.Op, pop, len(a.stack), ErrInvalid)
	}
	taken := a.stack[len(a.stack)-pop:]
	a.use(i, s, taken)
	if i.Op == opDup {
		a.stack = append(a.stack, taken[0])
		return nil
	}
	a.stack = a.stack[:len(a.stack)-pop]
	for range push {
		a.stack = append(a.stack, 0)
	}
	if i.Op == OpNewarr {
		a.found = append(a.found, Array{At: i.At, Type: i.Token(), Fixed: constant})
		a.lost = append(a.lost, false)
		a.stack[len(a.stack)-1] = int32(len(a.found))
	}
	return nil
}

// use takes note of what an instruction does with the values that it takes.
func (a *arrays) use(i *Instruction, s Signature, taken []int32) {
	switch {
	case i.Op == opDup:
		return
	case i.Op >= opStelemI && i.Op <= opStelemRef || i.Op == opStelem:
		taken = taken[1:] // the array, which gets an element
	case i.IsCall() && i.Op != OpCalli && len(taken) > 0:
		if !s.This && a.callees.Fills(i.Token()) {
			taken = taken[1:]
			break
		}
		last := len(taken) - 1
		if value := taken[last]; value != 0 && (last > 0 || !s.This || i.Op == OpNewobj) {
			if to := &a.found[value-1].Callee; *to == 0 {
				*to = i.Token()
				taken = taken[:last]
			}
		}
	}
	for _, value := range taken {
		a.lose(value)
	}
}
