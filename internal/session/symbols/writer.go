package symbols

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// writer builds one name. Once it is longer than maxName, parts are left out,
// so that a small signature cannot make a huge name.
type writer struct {
	strings.Builder
	full bool // types in lists with their namespaces
}

func (w *writer) over() bool { return w.Len() > maxName }

// name returns the finished name, see clean.
func (w *writer) name() string { return clean(w.String()) }

// clean returns a name as it is stored: valid UTF-8 without control characters,
// which no C# name has and which could drive a terminal, and at most maxName
// bytes and "…".
func clean(s string) string {
	s = cut(s) // what is left out need not be cleaned
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return cut(s)
	}
	var b strings.Builder
	for _, c := range s {
		if unicode.IsControl(c) {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return cut(b.String())
}

// cut shortens a name to maxName, at the start of a character.
func cut(s string) string {
	const mark = "…"
	if len(s) <= maxName+len(mark) {
		return s
	}
	end := maxName
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

// keywords are the C# names of types of the namespace System.
var keywords = map[string]string{
	"Boolean": "bool", "Byte": "byte", "Char": "char", "Decimal": "decimal", "Double": "double",
	"Int16": "short", "Int32": "int", "Int64": "long", "IntPtr": "nint", "Object": "object",
	"SByte": "sbyte", "Single": "float", "String": "string", "UInt16": "ushort", "UInt32": "uint",
	"UInt64": "ulong", "UIntPtr": "nuint", "Void": "void",
}

// elements are the C# names of the types that signatures have a code for.
var elements = map[clrmeta.ElementType]string{
	clrmeta.Void: "void", clrmeta.Boolean: "bool", clrmeta.Char: "char", clrmeta.Int8: "sbyte",
	clrmeta.UInt8: "byte", clrmeta.Int16: "short", clrmeta.UInt16: "ushort", clrmeta.Int32: "int",
	clrmeta.UInt32: "uint", clrmeta.Int64: "long", clrmeta.UInt64: "ulong", clrmeta.Float32: "float",
	clrmeta.Float64: "double", clrmeta.String: "string", clrmeta.IntPtr: "nint", clrmeta.UIntPtr: "nuint",
	clrmeta.Object: "object", clrmeta.TypedByRef: "TypedReference",
}

// named is a type to be written: its name and how to write its arguments.
type named struct {
	rawType
	kind   clrmeta.StateMachineKind // of the type itself, if it is a state machine
	params []string                 // names of the type parameters, nil if unknown
	args   int                      // how many arguments arg can write
	arg    func(i int)              // nil for the generic type itself
}

// typeName writes a type where it is used, with the short forms that C# has for
// some. With space a name begins with its namespace.
func (w *writer) typeName(t named, space bool) {
	if k := keywords[t.last()]; k != "" && t.namespace == "System" && len(t.path) == 1 && t.arity() == 0 {
		w.WriteString(k)
		return
	}
	if t.namespace == "System" && len(t.path) == 1 && t.path[0] == (segment{"Nullable", 1}) && t.arg != nil &&
		t.args == 1 {
		t.arg(0)
		w.WriteString("?")
		return
	}
	w.typePath(t, space)
}

// typePath writes a type where it declares a function: without the short forms,
// so that all functions of a namespace begin with its name.
func (w *writer) typePath(t named, space bool) {
	if space && t.namespace != "" {
		w.WriteString(t.namespace)
		w.WriteByte('.')
	}
	if len(t.path) == 0 {
		w.WriteByte('?')
	}
	next := 0
	for i, s := range t.path {
		if i > 0 {
			w.WriteByte('.')
		}
		kind, end := clrmeta.StateMachineKind(0), next+s.arity
		if i == len(t.path)-1 {
			kind = t.kind
			// Not all compilers count the parameters in the name.
			end = max(end, t.args, len(t.params))
		}
		if _, ok := anonymousType(s.name); ok && w.anonymous(t, next, end) {
			next = end
			continue
		}
		w.WriteString(segmentText(s.name, kind))
		w.arguments(t, next, end)
		next = end
		if w.over() {
			return
		}
	}
}

// arguments writes the type arguments from..end-1 in angle brackets, or nothing
// if there are none.
func (w *writer) arguments(t named, from, end int) {
	for i := from; i < end && !w.over(); i++ {
		if i == from {
			w.WriteByte('<')
		} else {
			w.WriteString(", ")
		}
		w.argument(t, i)
	}
	if from < end {
		w.WriteByte('>')
	}
}

// argument writes one type argument, or if there is none the parameter's name.
func (w *writer) argument(t named, i int) {
	switch {
	case t.arg != nil && i < t.args:
		t.arg(i)
	case i < len(t.params):
		w.WriteString(paramText(t.params[i]))
	default:
		w.WriteByte('?')
	}
}

// anonymous writes a C# anonymous type by its properties, after which the
// compiler names the type parameters: <A>j__TPar. It reports whether it could.
func (w *writer) anonymous(t named, from, end int) bool {
	if end > len(t.params) || from == end {
		return false
	}
	for _, p := range t.params[from:end] {
		if paramText(p) == p {
			return false
		}
	}
	w.WriteString("<anonymous type: ")
	for i := from; i < end && !w.over(); i++ {
		if i > from {
			w.WriteString(", ")
		}
		property, start := paramText(t.params[i]), w.Len()
		w.argument(t, i)
		if w.String()[start:] != property { // else the argument is not known
			w.WriteString(" " + property)
		}
	}
	w.WriteByte('>')
	return true
}
