package il

import (
	"fmt"
	"slices"
)

// Limits of what follows code. The largest methods that people write have some ten thousand bytes, and stacks of some
// ten values.
const (
	maxCode  = 1 << 20 // bytes of a method's code
	maxSaved = 1 << 20 // values on all stacks that are kept for the targets of branches
)

// domain is what is known of values, and what instructions do with them. The zero V is a value of which nothing is
// known.
type domain[V comparable] interface {
	// use takes note of what an instruction does with the values that it takes, and returns what is known of the value
	// that it pushes. It is not asked about dup.
	use(i *Instruction, s Signature, taken []V) V
	// meet returns what is known of a value that is one of two, by the way that was taken.
	meet(a, b V) V
	// lose takes note of a value whose further way is not followed.
	lose(v V)
}

// flow follows what lies on the stack. It reads the code once, from front to back: what is on the stack behind a jump
// is what a jump from before brought there, and else nothing (III.1.7.5).
type flow[V comparable] struct {
	domain    domain[V]
	signature Calls
	stack     []V
	saved     map[int][]V // stacks by the offset that is jumped to
	values    int         // in saved
	starts    []bool      // of instructions, by offset
	empty     int         // the last offset at which nothing was on the stack
	joined    bool        // since then something was there where a branch leads
}

// follow walks through a body. Its errors say that the code breaks the format, contradicts itself, or is too large;
// then nothing is known.
func follow[V comparable](body *Body, signature Calls, d domain[V]) error {
	return newFlow(body, signature, d).follow(body)
}

func newFlow[V comparable](body *Body, signature Calls, d domain[V]) *flow[V] {
	return &flow[V]{domain: d, signature: signature, saved: map[int][]V{}, starts: make([]bool, len(body.Code))}
}

func (f *flow[V]) follow(body *Body) error {
	if len(body.Code) > maxCode {
		return fmt.Errorf("%d bytes of code: %w", len(body.Code), ErrInvalid)
	}
	for _, c := range body.Clauses {
		var exception []V
		if c.Kind == Catch || c.Kind == Filter {
			exception = make([]V, 1)
		}
		f.saved[c.Handler] = exception
		if c.Kind == Filter {
			f.saved[int(c.Token)] = exception
		}
	}
	if err := f.walk(body); err != nil {
		return err
	}
	for target := range f.saved {
		if !f.isStart(target) {
			return fmt.Errorf("at %d: no instruction begins there: %w", target, ErrInvalid)
		}
	}
	return nil
}

func (f *flow[V]) isStart(at int) bool { return at >= 0 && at < len(f.starts) && f.starts[at] }

func (f *flow[V]) walk(body *Body) error {
	reached := true
	for at := 0; at < len(body.Code); {
		if stack, is := f.saved[at]; is {
			if reached && !f.meet(stack) {
				return fmt.Errorf("at %d: depth %d and %d: %w", at, len(f.stack), len(stack), ErrInvalid)
			}
			f.stack = append(f.stack[:0], stack...)
			f.joined = true
		} else if !reached {
			f.stack = f.stack[:0]
		}
		f.starts[at] = true
		if len(f.stack) == 0 {
			f.empty, f.joined = at, false
		}
		i, err := Read(body.Code, at)
		if err != nil {
			return err
		}
		if err := f.step(&i); err != nil {
			return err
		}
		if len(f.stack) > body.MaxStack {
			return fmt.Errorf("at %d: depth %d, %d declared: %w", at, len(f.stack), body.MaxStack, ErrInvalid)
		}
		if err := f.jump(&i); err != nil {
			return err
		}
		reached = !i.Ends() && i.Op != OpLeaveS
		at = i.Next
	}
	return nil
}

// meet leaves in a kept stack what it and the present one have in common; false: they are not of one depth.
func (f *flow[V]) meet(kept []V) bool {
	if len(f.stack) != len(kept) {
		return false
	}
	for i, value := range f.stack {
		if value != kept[i] {
			kept[i] = f.domain.meet(value, kept[i])
		}
	}
	return true
}

// jump keeps the stack for the targets of an instruction.
func (f *flow[V]) jump(i *Instruction) error {
	if i.Long() == OpLeave { // it empties the stack
		for _, value := range f.stack {
			f.domain.lose(value)
		}
		f.stack = f.stack[:0]
	}
	for _, target := range i.Targets {
		if target <= i.At { // it was read with nothing of this stack
			if !f.isStart(target) {
				return fmt.Errorf("at %d: no instruction begins there: %w", target, ErrInvalid)
			}
			for _, value := range f.stack {
				f.domain.lose(value)
			}
			continue
		}
		if stack, is := f.saved[target]; is {
			if !f.meet(stack) {
				return fmt.Errorf("at %d: depth %d, and %d at the target %d: %w", i.At, len(f.stack), len(stack),
					target, ErrInvalid)
			}
			continue
		}
		if f.values += len(f.stack); f.values > maxSaved {
			return fmt.Errorf("at %d: too many branches with too deep a stack: %w", i.At, ErrInvalid)
		}
		f.saved[target] = slices.Clone(f.stack)
	}
	return nil
}

// step does what an instruction does to the stack.
func (f *flow[V]) step(i *Instruction) error {
	s, err := Signature{}, error(nil)
	if i.IsCall() {
		if s, err = f.signature(i.Token()); err != nil {
			return fmt.Errorf("at %d: %w", i.At, err)
		}
	}
	pop, push := i.effect(s)
	if i.Op == OpRet {
		pop = len(f.stack)
	}
	if pop < 0 || pop > len(f.stack) {
		return fmt.Errorf("at %d: %#x takes %d of %d: %w", i.At, i.Op, pop, len(f.stack), ErrInvalid)
	}
	taken := f.stack[len(f.stack)-pop:]
	if i.Op == opDup {
		f.stack = append(f.stack, taken[0])
		return nil
	}
	made := f.domain.use(i, s, taken)
	f.stack = f.stack[:len(f.stack)-pop]
	if push > 0 { // one value: only dup makes two
		f.stack = append(f.stack, made)
	}
	return nil
}
