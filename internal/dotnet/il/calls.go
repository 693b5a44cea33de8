package il

import "encoding/binary"

// ValueKind is what is known of a value.
type ValueKind uint8

// What is known of values.
const (
	Unknown  ValueKind = iota
	Text               // a string of the code; the token of the string (ldstr)
	Function           // a pointer to a function; its token (ldftn, ldvirtftn)
	Delegate           // a delegate of a function; the function's token
	Result             // what a call of those that are looked for returned, or made; the offset of the call
	Argument           // an argument of the method; its number, that of an instance method's object is 0
	Null               // null
	field              // what a field held before the code stored something in it; the field's token
)

// Value is an argument of a call, as far as the code says what it is.
type Value struct {
	Kind  ValueKind
	Token uint32
}

// Call is a call in the code of a method.
type Call struct {
	At    int     // offset
	Token uint32  // of what it calls
	Args  []Value // of a constructor without the object
}

// CallFinder finds calls with their arguments.
type CallFinder struct {
	Signature Calls
	// Wanted reports whether calls of a function are looked for.
	Wanted func(token uint32) bool
	// Private reports whether only one method stores something in a field: the compiler made it for a variable or a
	// delegate of that method.
	Private func(field uint32) bool
}

// Calls finds calls in a method's code, in the order of the code. A variable is followed if all that the code stores in
// it is one value, apart from null: also the field in which C# keeps the delegate that it made of a lambda expression.
// Errors are those of Objects.
func (f *CallFinder) Calls(body *Body) ([]Call, error) {
	stored := &callsOf{finder: f, stored: map[storage]Value{}}
	if err := follow[Value](body, f.Signature, stored); err != nil {
		return nil, err
	}
	c := &callsOf{finder: f, variables: stored.stored}
	err := follow[Value](body, f.Signature, c)
	return c.found, err
}

// storage is a variable.
type storage struct {
	kind   storageKind
	number uint32 // of the argument or local variable; the field's token
}

type storageKind uint8

const (
	argumentStorage storageKind = iota
	localStorage
	fieldStorage // that is used like a local variable
)

// callsOf follows the arguments of calls.
type callsOf struct {
	finder *CallFinder
	// stored is what was stored in variables; unknown: several values, or an address was taken. nil: it is known.
	stored    map[storage]Value
	variables map[storage]Value // likewise, as the code was read before; nil: it was not
	found     []Call
}

// access is what an instruction does with a variable.
type access uint8

const (
	noVariable access = iota
	loadsVariable
	storesVariable
	takesAddress
)

// The instructions that load and store variables (ECMA-335 III, table 1).
const (
	opLdarg0  = 0x02
	opLdarg3  = 0x05
	opLdnull  = 0x14
	opLdloc0  = 0x06
	opLdloc3  = 0x09
	opStloc0  = 0x0A
	opStloc3  = 0x0D
	opLdargS  = 0x0E
	opLdargaS = 0x0F
	opStargS  = 0x10
	opLdlocS  = 0x11
	opLdlocaS = 0x12
	opStlocS  = 0x13
	opLdfld   = 0x7B
	opLdflda  = 0x7C
	opStfld   = 0x7D
	opLdsfld  = 0x7E
	opLdsflda = 0x7F
	opStsfld  = 0x80
	opLdarg   = 0xFE09
	opLdarga  = 0xFE0A
	opStarg   = 0xFE0B
	opLdloc   = 0xFE0C
	opLdloca  = 0xFE0D
	opStloc   = 0xFE0E
)

// accesses says what instructions do with which kind of variable; those without an operand have its number themselves.
var accesses = map[int]struct {
	kind   storageKind
	access access
}{
	opLdargS: {argumentStorage, loadsVariable}, opLdarg: {argumentStorage, loadsVariable},
	opLdargaS: {argumentStorage, takesAddress}, opLdarga: {argumentStorage, takesAddress},
	opStargS: {argumentStorage, storesVariable}, opStarg: {argumentStorage, storesVariable},
	opLdlocS: {localStorage, loadsVariable}, opLdloc: {localStorage, loadsVariable},
	opLdlocaS: {localStorage, takesAddress}, opLdloca: {localStorage, takesAddress},
	opStlocS: {localStorage, storesVariable}, opStloc: {localStorage, storesVariable},
	opLdfld: {fieldStorage, loadsVariable}, opLdsfld: {fieldStorage, loadsVariable},
	opLdflda: {fieldStorage, takesAddress}, opLdsflda: {fieldStorage, takesAddress},
	opStfld: {fieldStorage, storesVariable}, opStsfld: {fieldStorage, storesVariable},
}

// storage says which variable an instruction is about.
func (i *Instruction) storage() (storage, access) {
	switch {
	case i.Op >= opLdarg0 && i.Op <= opLdarg3:
		return storage{argumentStorage, uint32(i.Op - opLdarg0)}, loadsVariable
	case i.Op >= opLdloc0 && i.Op <= opLdloc3:
		return storage{localStorage, uint32(i.Op - opLdloc0)}, loadsVariable
	case i.Op >= opStloc0 && i.Op <= opStloc3:
		return storage{localStorage, uint32(i.Op - opStloc0)}, storesVariable
	}
	of, ok := accesses[i.Op]
	if !ok {
		return storage{}, noVariable
	}
	switch len(i.Operand) {
	case 1:
		return storage{of.kind, uint32(i.Operand[0])}, of.access
	case 2:
		return storage{of.kind, uint32(binary.LittleEndian.Uint16(i.Operand))}, of.access
	}
	return storage{of.kind, i.Token()}, of.access
}

// meet: a delegate that was kept in a field is the one that is kept there now.
func (c *callsOf) meet(a, b Value) Value {
	if b.Kind == field {
		a, b = b, a
	}
	if a.Kind == field && b.Kind == Delegate && c.variables[storage{fieldStorage, a.Token}] == b {
		return b
	}
	return Value{}
}

func (c *callsOf) lose(Value) {}

// use takes note of calls and variables.
func (c *callsOf) use(i *Instruction, _ Signature, taken []Value) Value {
	if v, access := i.storage(); access != noVariable {
		return c.access(v, access, taken)
	}
	switch i.Op {
	case opLdnull:
		return Value{Kind: Null}
	case OpLdstr:
		return Value{Text, i.Token()}
	case OpLdftn, OpLdvirtftn:
		return Value{Function, i.Token()}
	case OpNewobj: // of delegates: an object and a pointer (II.14.6)
		if len(taken) == 2 && taken[1].Kind == Function {
			return Value{Delegate, taken[1].Token}
		}
		return c.call(i, taken)
	case OpCall, OpCallvirt:
		return c.call(i, taken)
	}
	return Value{}
}

// call takes note of a call, if it is looked for.
func (c *callsOf) call(i *Instruction, taken []Value) Value {
	if !c.finder.Wanted(i.Token()) {
		return Value{}
	}
	call := Call{At: i.At, Token: i.Token(), Args: make([]Value, len(taken))}
	for n, value := range taken {
		if value.Kind != field {
			call.Args[n] = value
		}
	}
	c.found = append(c.found, call)
	return Value{Result, uint32(i.At)}
}

// access loads or stores a variable.
func (c *callsOf) access(v storage, how access, taken []Value) Value {
	if v.kind == fieldStorage && !c.finder.Private(v.number) {
		return Value{}
	}
	switch how {
	case storesVariable:
		c.store(v, taken[len(taken)-1])
	case takesAddress:
		c.store(v, Value{})
	case loadsVariable:
		value, stored := c.variables[v]
		switch {
		case stored:
			return value
		case v.kind == fieldStorage:
			return Value{field, v.number}
		case v.kind == argumentStorage:
			return Value{Argument, v.number}
		}
	case noVariable:
	}
	return Value{}
}

// store takes note of what a variable holds.
func (c *callsOf) store(v storage, value Value) {
	if c.stored == nil {
		return
	}
	if v.kind == argumentStorage { // it had another one before
		value = Value{}
	}
	if old, stored := c.stored[v]; stored && old != value && old.Kind != Null {
		if value.Kind == Null {
			return
		}
		value = Value{}
	}
	c.stored[v] = value
}
