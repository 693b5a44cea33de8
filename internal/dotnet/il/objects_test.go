package il

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fills is the token of what gives an array its elements at once.
const fills = 0x0A000002

// Tokens of functions with a role.
const (
	adds   = 0x0A000302 // a method of one parameter, which returns a value
	wraps  = 0x0A000202 // a constructor of one parameter
	passes = 0x0A000101 // a static function of one parameter, which returns a value
)

// roles are what functions do.
var roles = map[uint32]Role{fills: Fills, adds: Fills, wraps: Wraps, passes: Passes}

// callees are those of calls, and with a role.
var callees = Callees{Signature: calls, Role: func(token uint32) Role { return roles[token] }}

func with(op byte, token uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{op}, token) }

// Pieces of code; the arrays have elements of the type 0x01000001 or 0x01000002.
var (
	constant = []byte{0x18} // ldc.i4.2
	variable = []byte{0x02} // ldarg.0
	array    = with(OpNewarr, 0x01000001)
	another  = with(OpNewarr, 0x01000002)
	element  = []byte{opDup, 0x16, 0x02, opStelemRef} // array[0] = argument 0
	initial  = slices.Concat([]byte{opDup, 0x16}, with(OpCall, fills))
	pass     = with(OpCall, 0x06000001)     // a static function of one parameter
	method   = with(OpCallvirt, 0x06000202) // a method of one parameter
	first    = with(OpCall, 0x06000002)     // a static function of two parameters
	object   = with(OpNewobj, 0x06000202)   // a constructor of one parameter
	size     = with(OpCallvirt, 0x06000301) // a method of the array itself, which returns a value
	pointer  = with(OpCalli, 0x11000001)
	list     = with(OpNewobj, 0x06000201) // a constructor of no parameter
	add      = slices.Concat([]byte{opDup, 0x02}, with(OpCallvirt, adds), []byte{0x26})
	wrap     = with(OpNewobj, wraps)
	as       = with(OpCall, passes)
)

// objectCases are pieces of code, and which calls the objects are for.
var objectCases = []struct {
	name string
	code []byte
	want []uint32
}{
	{"no array", []byte{OpRet}, nil},
	{"for a call", slices.Concat(constant, array, pass), []uint32{0x06000001}},
	{"with elements", slices.Concat(constant, array, element, element, pass), []uint32{0x06000001}},
	{"with constants", slices.Concat(constant, array, initial, pass), []uint32{0x06000001}},
	{"of a method", slices.Concat(variable, constant, array, method), []uint32{0x06000202}},
	{"of a constructor", slices.Concat(constant, array, object, []byte{0x26}), []uint32{0x06000202, 0}},
	{"a collection", slices.Concat(list, pass), []uint32{0x06000001}},
	{"a collection with elements", slices.Concat(list, add, add, pass), []uint32{0x06000001}},
	{"a collection in a variable", slices.Concat(list, add, []byte{0x0A}), []uint32{0}},
	{"a collection that is added to another", slices.Concat(list, []byte{opDup}, list, with(OpCallvirt, adds),
		[]byte{0x26}, pass), []uint32{0x06000001, adds}},
	{"an array that is added", slices.Concat(variable, constant, array, with(OpCallvirt, adds), []byte{0x26}),
		[]uint32{adds}},
	{"wrapped", slices.Concat(constant, array, element, wrap, pass), []uint32{0x06000001, 0x06000001}},
	{"wrapped twice", slices.Concat(constant, array, wrap, wrap, pass), []uint32{0x06000001, 0x06000001, 0x06000001}},
	{"wrapped, and elsewhere", slices.Concat(constant, array, []byte{opDup, 0x0A}, wrap, pass), []uint32{0, 0x06000001}},
	{"in two wraps", slices.Concat(constant, array, []byte{opDup}, wrap, pass, wrap, pass),
		[]uint32{0, 0x06000001, 0x06000001}},
	{"wrapped for nothing", slices.Concat(constant, array, wrap, []byte{0x26}), []uint32{0, 0}},
	{"wrapped, and for a call", slices.Concat(constant, array, []byte{opDup}, wrap, first), []uint32{0, 0x06000002}},
	{"as another type", slices.Concat(constant, array, as, pass), []uint32{0x06000001}},
	{"as another type for nothing", slices.Concat(constant, array, as, []byte{0x26}), []uint32{0}},
	{"after another argument", slices.Concat(variable, constant, array, first), []uint32{0x06000002}},
	{"before another argument", slices.Concat(constant, array, variable, first), []uint32{0}},
	{"on which a method is called", slices.Concat(constant, array, size, []byte{0x26}), []uint32{0}},
	{"by a pointer", slices.Concat(constant, array, variable, pointer), []uint32{0}},
	{"in a variable", slices.Concat(constant, array, []byte{0x0A}), []uint32{0}},
	{"in a variable as well", slices.Concat(constant, array, []byte{opDup, 0x0A}, pass), []uint32{0}},
	{"in a field before the call", slices.Concat(constant, array, []byte{opDup}, with(0x80, 0x04000001), pass),
		[]uint32{0}},
	{"twice", slices.Concat(constant, array, []byte{opDup}, pass, pass), []uint32{0}},
	{"of which an element is read", slices.Concat(constant, array, []byte{opDup, 0x16, 0x9A, 0x26}, pass), []uint32{0}},
	{"an element of another", slices.Concat(constant, array, []byte{opDup, 0x16}, constant, another, []byte{opStelemRef},
		pass), []uint32{0x06000001, 0}},
	{"a choice among its elements", slices.Concat(constant, array, []byte{opDup, 0x16, 0x02, 0x2D, 3, 0x02, 0x2B, 1, 0x03,
		opStelemRef}, pass), []uint32{0x06000001}},
	{"a choice of arrays", slices.Concat([]byte{0x02, 0x2D, 8}, constant, array, []byte{0x2B, 6}, constant, another, pass),
		[]uint32{0, 0}},
	{"a choice of calls", slices.Concat(constant, array, []byte{0x02, 0x2D, 7}, pass, []byte{0x2B, 5},
		with(OpCall, 0x06000801)), []uint32{0}},
	{"behind a jump, with nothing on the stack", slices.Concat([]byte{0x2B, 0, 0x38, 0, 0, 0, 0}, constant, array, pass),
		[]uint32{0x06000001}},
	{"on the stack of a jump back", slices.Concat(constant, array, []byte{0x02, 0x2D, 0xFD}, pass), []uint32{0}},
	{"left behind", slices.Concat(constant, array, []byte{OpLeaveS, 0}), []uint32{0}},
}

func bodyOf(code []byte) *Body {
	return &Body{MaxStack: 8, Code: append(slices.Clone(code), OpRet)}
}

// TestObjects: what becomes of objects.
func TestObjects(t *testing.T) {
	for _, c := range objectCases {
		found, err := Objects(bodyOf(c.code), callees)
		var have []uint32
		for _, a := range found {
			have = append(have, a.Callee)
			if a.Op == OpNewarr && !a.Fixed {
				t.Errorf("%s: at %d: not of a constant length", c.name, a.At)
			}
		}
		if diff := cmp.Diff(c.want, have); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +have)\n%s", c.name, err, diff)
		}
	}
}

// TestArrayLengths: a length is a constant where the instruction before loads one, and on all ways.
func TestArrayLengths(t *testing.T) {
	for name, code := range map[string][]byte{
		"argument":   slices.Concat(variable, array, pass),
		"one of two": slices.Concat([]byte{0x02, 0x2D, 3, 0x16, 0x2B, 1}, constant, array, pass),
		"sum":        slices.Concat(constant, constant, []byte{0x58}, array, pass),
	} {
		found, err := Objects(bodyOf(code), callees)
		if err != nil || len(found) != 1 || found[0].Fixed || found[0].Callee == 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// TestFills: what gave an object elements first is said.
func TestFills(t *testing.T) {
	for _, c := range []struct {
		code []byte
		want uint32
	}{
		{slices.Concat(list, pass), 0},
		{slices.Concat(list, add, initial, pass), adds},
		{slices.Concat(list, initial, add, pass), fills},
	} {
		found, err := Objects(bodyOf(c.code), callees)
		if err != nil || len(found) != 1 || found[0].Fills != c.want {
			t.Errorf("% x: %+v, %v", c.code, found, err)
		}
	}
}

// TestObjectsRefused: of code that contradicts itself nothing is said.
func TestArraysRefused(t *testing.T) {
	for name, body := range map[string]*Body{
		"an empty stack":     bodyOf(array),
		"ways of two depths": bodyOf(slices.Concat(constant, array, []byte{0x02, 0x2D, 1, 0x02}, pass)),
		"too deep":           {MaxStack: 1, Code: slices.Concat(constant, array, variable)},
		"no instruction":     bodyOf(slices.Concat(constant, array, []byte{0x24})),
		"too long":           bodyOf(slices.Concat(constant, array, pass, make([]byte, maxCode))),
	} {
		if found, err := Objects(body, callees); err == nil {
			t.Errorf("%s: %+v", name, found)
		}
	}
	var deep []byte // as many branches as there is room for, each with a deep stack
	deep = append(deep, slices.Repeat(variable, 60_000)...)
	for range 1000 {
		deep = append(deep, 0x02, 0x2D, 0)
	}
	deep = append(deep, OpNewarr, 1, 0, 0, 1)
	if found, err := Objects(&Body{MaxStack: 1<<16 - 1, Code: deep}, callees); err == nil {
		t.Errorf("branches with deep stacks: %+v", found)
	}
}

// FuzzObjects follows arbitrary code, and walks through it by itself, on ways that the bytes choose: an object that is
// said to be for a call is on no way used for anything else.
func FuzzObjects(f *testing.F) {
	for _, c := range objectCases {
		f.Add(append(slices.Clone(c.code), OpRet), uint64(1))
		f.Add(append(slices.Clone(c.code), OpRet), uint64(0xFF))
	}
	f.Fuzz(func(t *testing.T, code []byte, choices uint64) {
		body := &Body{MaxStack: 16, Code: code}
		found, err := Objects(body, callees)
		if err != nil {
			return
		}
		of := map[int]Object{}
		for _, a := range found {
			of[a.At] = a
		}
		w := walker{body: body, of: of, choices: choices}
		if wrong := w.walk(); wrong != "" {
			t.Fatalf("%s: %+v", wrong, found)
		}
	})
}

// walker runs code as a program would: one way, with each object distinguished from all others.
type walker struct {
	body    *Body
	of      map[int]Object
	choices uint64
	stack   []int // 0, or 1 + the offset of the instruction that made an object
}

// walk returns what is wrong, "" where nothing is up to the end, which is where the code contradicts itself at the
// latest.
func (w *walker) walk() string {
	at := 0
	for range 1000 {
		if at < 0 || at >= len(w.body.Code) {
			return ""
		}
		i, err := Read(w.body.Code, at)
		if err != nil {
			return ""
		}
		s, _ := calls(0)
		if i.IsCall() {
			s, _ = calls(i.Token())
		}
		pop, push := i.effect(s)
		if pop < 0 || pop > len(w.stack) || i.Op == OpRet {
			return ""
		}
		taken := slices.Clone(w.stack[len(w.stack)-pop:])
		w.stack = w.stack[:len(w.stack)-pop]
		for k, value := range taken {
			if value != 0 && w.of[value-1].Callee != 0 && !w.mayTake(&i, s, taken, k) {
				return "used otherwise"
			}
		}
		w.stack = append(w.stack, make([]int, push)...)
		switch {
		case i.IsCall() && i.Op != OpCalli && i.Token() == passes && pop == 1:
			w.stack[len(w.stack)-1] = taken[0]
		case i.Op == OpNewarr || i.Op == OpNewobj:
			w.stack[len(w.stack)-1] = 1 + i.At
		case i.Op == opDup:
			w.stack[len(w.stack)-1], w.stack[len(w.stack)-2] = taken[0], taken[0]
		}
		at = w.next(&i)
	}
	return ""
}

// mayTake reports whether an instruction may take an object that is for a call.
func (w *walker) mayTake(i *Instruction, s Signature, taken []int, k int) bool {
	switch {
	case i.Op == opDup:
		return true
	case i.Op >= opStelemI && i.Op <= opStelemRef || i.Op == opStelem:
		return k == 0
	case !i.IsCall() || i.Op == OpCalli:
		return false
	case roles[i.Token()] == Fills && k == 0, i.Token() == passes && len(taken) == 1:
		return true
	case i.Op == OpNewobj && i.Token() == wraps && w.of[i.At].Callee == w.of[taken[k]-1].Callee:
		return len(taken) == 1
	}
	return i.Token() == w.of[taken[k]-1].Callee && k == len(taken)-1
}

// next chooses where to go on.
func (w *walker) next(i *Instruction) int {
	if i.Long() == OpLeave {
		w.stack = w.stack[:0]
	}
	ways := i.Targets
	if !i.Ends() && i.Op != OpLeaveS {
		ways = append(ways, i.Next)
	}
	if len(ways) == 0 {
		return -1
	}
	choice := w.choices % uint64(len(ways))
	w.choices = w.choices>>1 | w.choices<<63
	return ways[choice]
}
