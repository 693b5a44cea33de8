package il

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Pieces of code around a call that is looked for, which takes two values.
const (
	lookedFor   = 0x06000002 // a function of two parameters
	looksFor    = 0x06000203 // a constructor of two parameters, likewise
	makes       = 0x06000100 // likewise looked for: of none, returns a value
	privateOne  = 0x04000001
	publicField = 0x04000002
)

var (
	text     = with(OpLdstr, 0x70000005)
	lambda   = []byte{OpLdftn >> 8, OpLdftn & 0xFF, 7, 0, 0, 6} // a pointer to 0x06000007
	delegate = slices.Concat([]byte{opLdnull}, lambda, with(OpNewobj, 0x06000203))
	taken    = with(OpCall, lookedFor)
	made     = with(OpCall, makes)
	// ldsfld; dup; brtrue over pop and the delegate, which is stored
	cached = func(f uint32) []byte {
		return slices.Concat(with(opLdsfld, f), []byte{opDup, 0x2D, 19}, []byte{0x26}, delegate, []byte{opDup}, with(opStsfld, f))
	}
)

func TestCalls(t *testing.T) {
	finder := &CallFinder{Signature: calls,
		Wanted:  func(token uint32) bool { return token == lookedFor || token == makes || token == looksFor },
		Private: func(f uint32) bool { return f == privateOne }}
	unknown, aText, aDelegate := Value{}, Value{Text, 0x70000005}, Value{Delegate, 0x06000007}
	number := []byte{0x16}
	for _, c := range []struct {
		name string
		code []byte
		want []Value // arguments of the last call
	}{
		{"a string and a number", slices.Concat(text, number, taken), []Value{aText, unknown}},
		{"a delegate", slices.Concat(number, delegate, taken), []Value{unknown, aDelegate}},
		{"a pointer", slices.Concat(number, lambda, taken), []Value{unknown, {Function, 0x06000007}}},
		{"arguments", []byte{0x03, 0x0E, 9, OpCall, 2, 0, 0, 6}, []Value{{Argument, 1}, {Argument, 9}}},
		{"an argument that is changed", slices.Concat(text, []byte{0x10, 1, 0x03}, number, taken), []Value{unknown, unknown}},
		{"nothing", slices.Concat(number, []byte{opLdnull}, taken), []Value{unknown, {Kind: Null}}},
		{"an object", slices.Concat(text, text, with(OpNewobj, looksFor), text, taken), []Value{{Result, 10}, aText}},
		{"what a call returned", slices.Concat(made, text, taken), []Value{{Result, 0}, aText}},
		{"a variable", slices.Concat(made, []byte{0x0A, 0x06, 0x06}, taken), []Value{{Result, 0}, {Result, 0}}},
		{"a variable that is null before", slices.Concat([]byte{opLdnull, 0x0A}, made, []byte{0x0A, 0x06}, text, taken),
			[]Value{{Result, 2}, aText}},
		{"a variable that is cleared", slices.Concat(made, []byte{0x0A, 0x06}, text, taken, []byte{opLdnull, 0x0A}),
			[]Value{{Result, 0}, aText}},
		{"a variable of two values", slices.Concat(made, []byte{0x0A}, text, []byte{0x0A, 0x06}, text, taken),
			[]Value{unknown, aText}},
		{"a variable whose address is taken", slices.Concat(made, []byte{0x0A, 0x12, 0, 0x26, 0x06}, text, taken),
			[]Value{unknown, aText}},
		{"a long variable", slices.Concat(made, []byte{0xFE, 0x0E, 4, 1, 0xFE, 0x0C, 4, 1}, text, taken), []Value{{Result, 0}, aText}},
		{"a field of the compiler's", slices.Concat(number, made, with(opStfld, privateOne), number, with(opLdfld, privateOne), text,
			taken), []Value{{Result, 1}, aText}},
		{"a field", slices.Concat(number, made, with(opStfld, publicField), number, with(opLdfld, publicField), text, taken),
			[]Value{unknown, aText}},
		{"a delegate that is made once", slices.Concat(number, cached(privateOne), taken), []Value{unknown, aDelegate}},
		{"a delegate that is used twice", slices.Concat(number, cached(privateOne), taken, number, cached(privateOne),
			taken), []Value{unknown, aDelegate}},
		{"a delegate in a field that others change", slices.Concat(number, cached(publicField), taken), []Value{unknown, unknown}},
		{"one of two", slices.Concat([]byte{0x02, 0x2D, 7}, text, []byte{0x2B, 5}, with(OpLdstr, 0x70000006), text, taken),
			[]Value{unknown, aText}},
		{"the same in two ways", slices.Concat([]byte{0x02, 0x2D, 7}, text, []byte{0x2B, 5}, text, text, taken),
			[]Value{aText, aText}},
	} {
		found, err := finder.Calls(bodyOf(c.code))
		if err != nil || len(found) == 0 {
			t.Errorf("%s: %v, %v", c.name, found, err)
			continue
		}
		last := found[len(found)-1]
		if diff := cmp.Diff(c.want, last.Args); diff != "" || last.Token != lookedFor {
			t.Errorf("%s: %#x (-want +have)\n%s", c.name, last.Token, diff)
		}
	}
}

// FuzzCalls follows arbitrary code: what is found is in it, and the arguments are of its own calls, functions and strings.
func FuzzCalls(f *testing.F) {
	f.Add(slices.Concat(made, text, taken))
	f.Add(slices.Concat([]byte{0x16}, cached(privateOne), taken))
	f.Add(slices.Concat(made, []byte{0x0A, 0x06, 0x06}, taken))
	f.Fuzz(func(t *testing.T, code []byte) {
		finder := &CallFinder{Signature: calls, Wanted: func(token uint32) bool { return token&1 == 0 },
			Private: func(f uint32) bool { return f&1 == 0 }}
		found, err := finder.Calls(&Body{MaxStack: 16, Code: code})
		if err != nil {
			return
		}
		for at, c := range found {
			i, err := Read(code, c.At)
			if err != nil || i.Token() != c.Token || c.Token&1 != 0 || at > 0 && found[at-1].At >= c.At {
				t.Fatalf("call at %d of %#x: %+v, %v", c.At, c.Token, i, err)
			}
			for _, v := range c.Args {
				if v.Kind > Null || v.Kind == Result && int(v.Token) >= len(code) {
					t.Fatalf("call at %d: argument %+v", c.At, v)
				}
			}
		}
	})
}
