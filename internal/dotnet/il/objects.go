package il

import "bytes"

// Object is an object that code makes, an array (newarr) or with a constructor (newobj), and what becomes of it.
type Object struct {
	At    int    // offset of the instruction that makes it
	Op    int    // OpNewarr or OpNewobj
	Token uint32 // what the instruction names: the type of the elements, or the constructor
	Fixed bool   // it is made of one number, such as a length, which is a constant
	Fills uint32 // the first function that gives it elements, 0: none
	// Callee is the token of what a call or newobj names that takes it, or what it is within, as its last argument, if
	// nothing else is done with it but to fill it with elements; else 0.
	Callee uint32
	Within int // 1 + the position of the object that wraps it, 0: none
}

// Role is what a function does with an object that it is given first.
type Role uint8

// The roles of functions. C# calls them for arrays and collections that it makes.
const (
	Uses   Role = iota // something that is not known
	Fills              // only gives it elements: RuntimeHelpers.InitializeArray, List<T>.Add
	Wraps              // is the constructor of an object that has it, and nobody else has
	Passes             // returns it, as a value of another type: the constructor of a span
)

// Callees is what the tokens of call, callvirt, newobj and calli stand for.
type Callees struct {
	Signature Calls
	Role      func(token uint32) Role
}

// objects follows objects, and constants, which can be their lengths. A value is 1 + the position in found of an
// object; or below 0, for a constant, as many as there are instructions that load one.
type objects struct {
	callees Callees
	found   []Object
	lost    []bool // by position in found: something else is done with it
}

// Objects finds the objects that a method's own code makes, in the order of the code. Its errors say that the code
// breaks the format, contradicts itself, or is too large; then nothing is known.
func Objects(body *Body, callees Callees) ([]Object, error) {
	if bytes.IndexByte(body.Code, OpNewarr) < 0 && bytes.IndexByte(body.Code, OpNewobj) < 0 {
		return nil, nil
	}
	o := &objects{callees: callees}
	if err := follow[int32](body, callees.Signature, o); err != nil {
		return nil, err
	}
	for i := len(o.found) - 1; i >= 0; i-- { // what has another one was made after it
		x := &o.found[i]
		if x.Within != 0 {
			x.Callee = o.found[x.Within-1].Callee
		}
		if o.lost[i] {
			x.Callee = 0
		}
	}
	return o.found, nil
}

// meet: what is one object on one way and something else on another is not followed.
func (o *objects) meet(x, y int32) int32 {
	o.lose(x)
	o.lose(y)
	return 0
}

// lose takes note that something else is done with a value.
func (o *objects) lose(value int32) {
	if value > 0 {
		o.lost[value-1] = true
	}
}

// use takes note of what an instruction does with the values that it takes.
func (o *objects) use(i *Instruction, s Signature, taken []int32) (made int32) {
	switch {
	case i.Op >= opLdcI4M1 && i.Op <= opLdcI4:
		return -1 - int32(i.At)
	case i.Op == OpNewarr:
		o.lose(taken[0])
		return o.make(i, taken)
	case i.Op >= opStelemI && i.Op <= opStelemRef || i.Op == opStelem:
		taken = taken[1:] // the array, which gets an element
	case i.IsCall() && i.Op != OpCalli:
		return o.call(i, s, taken)
	}
	o.loseAll(taken)
	return 0
}

// make takes note of a new object, which is made of some values.
func (o *objects) make(i *Instruction, of []int32) int32 {
	o.found = append(o.found, Object{At: i.At, Op: i.Op, Token: i.Token(), Fixed: len(of) == 1 && of[0] < 0})
	o.lost = append(o.lost, false)
	return int32(len(o.found))
}

func (o *objects) loseAll(values []int32) {
	for _, value := range values {
		o.lose(value)
	}
}

// call takes note of what becomes of the arguments of a call.
func (o *objects) call(i *Instruction, s Signature, taken []int32) (made int32) {
	role := Uses
	if len(taken) > 0 {
		role = o.callees.Role(i.Token())
	}
	if role == Passes && len(taken) == 1 {
		return taken[0]
	}
	if i.Op == OpNewobj {
		made = o.make(i, taken)
	}
	if role == Wraps && made > 0 && len(taken) == 1 {
		if value := taken[0]; value > 0 && o.found[value-1].Within == 0 && o.found[value-1].Callee == 0 {
			o.found[value-1].Within = int(made)
			return made
		}
	}
	if last := len(taken) - 1; last > 0 || last == 0 && role != Fills && (!s.This || i.Op == OpNewobj) {
		if value := taken[last]; value > 0 {
			if x := &o.found[value-1]; x.Callee == 0 && x.Within == 0 {
				x.Callee = i.Token()
				taken = taken[:last]
			}
		}
	}
	if role == Fills {
		if value := taken[0]; value > 0 && o.found[value-1].Fills == 0 {
			o.found[value-1].Fills = i.Token()
		}
		taken = taken[1:]
	}
	o.loseAll(taken)
	return made
}
