package il

import "bytes"

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

// arrays follows arrays, and constants, which can be their lengths. A value is 1 + the position in found of an array;
// or below 0, for a constant, as many as there are instructions that load one.
type arrays struct {
	callees Callees
	found   []Array
	lost    []bool // by position in found: something else is done with it
}

// Arrays finds the arrays that a method's own code makes, in the order of the code. Its errors say that the code breaks
// the format, contradicts itself, or is too large; then nothing is known.
func Arrays(body *Body, callees Callees) ([]Array, error) {
	if bytes.IndexByte(body.Code, OpNewarr) < 0 {
		return nil, nil
	}
	a := &arrays{callees: callees}
	if err := follow[int32](body, callees.Signature, a); err != nil {
		return nil, err
	}
	for i, lost := range a.lost {
		if lost {
			a.found[i].Callee = 0
		}
	}
	return a.found, nil
}

// meet: what is one array on one way and something else on another is not followed.
func (a *arrays) meet(x, y int32) int32 {
	a.lose(x)
	a.lose(y)
	return 0
}

// lose takes note that something else is done with a value.
func (a *arrays) lose(value int32) {
	if value > 0 {
		a.lost[value-1] = true
	}
}

// use takes note of what an instruction does with the values that it takes.
func (a *arrays) use(i *Instruction, s Signature, taken []int32) int32 {
	switch {
	case i.Op >= opLdcI4M1 && i.Op <= opLdcI4:
		return -1 - int32(i.At)
	case i.Op == OpNewarr:
		a.found = append(a.found, Array{At: i.At, Type: i.Token(), Fixed: taken[0] < 0})
		a.lost = append(a.lost, false)
		a.lose(taken[0])
		return int32(len(a.found))
	case i.Op >= opStelemI && i.Op <= opStelemRef || i.Op == opStelem:
		taken = taken[1:] // the array, which gets an element
	case i.IsCall() && i.Op != OpCalli && len(taken) > 0:
		if !s.This && a.callees.Fills(i.Token()) {
			taken = taken[1:]
			break
		}
		last := len(taken) - 1
		if value := taken[last]; value > 0 && (last > 0 || !s.This || i.Op == OpNewobj) {
			if to := &a.found[value-1].Callee; *to == 0 {
				*to = i.Token()
				taken = taken[:last]
			}
		}
	}
	for _, value := range taken {
		a.lose(value)
	}
	return 0
}
