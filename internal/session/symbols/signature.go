package symbols

import (
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
)

// sigWriter writes the types of a signature.
type sigWriter struct {
	*writer
	meta     *clrmeta.Metadata // nil: tokens are shown as "?"
	machines map[clrmeta.Token]clrmeta.StateMachine
	typeVar  func(i int) typeText
	methVar  func(i int) typeText
}

// parameters writes a parameter list with its parentheses.
func (w *sigWriter) parameters(sig *clrmeta.MethodSig, rows []clrmeta.Param) {
	flags := make(map[int]uint16, len(rows))
	for _, p := range rows {
		flags[p.Sequence] = p.Flags
	}
	w.WriteByte('(')
	for i := range sig.Params {
		if w.over() {
			break
		}
		if i > 0 {
			w.WriteString(", ")
		}
		w.parameter(&sig.Params[i], flags[i+1])
	}
	if sig.Convention == clrmeta.VarArg {
		if len(sig.Params) > 0 {
			w.WriteString(", ")
		}
		w.WriteString("__arglist")
	}
	w.WriteByte(')')
}

// parameter writes a parameter's type, by-references with the word that C# has
// for the direction.
func (w *sigWriter) parameter(t *clrmeta.TypeSig, flags uint16) {
	if t.Kind != clrmeta.ByRef || t.Elem == nil {
		w.typeSig(t)
		return
	}
	switch {
	case flags&clrmeta.ParamOut != 0 && flags&clrmeta.ParamIn == 0, w.modified(t, "OutAttribute"):
		w.WriteString("out ")
	case flags&clrmeta.ParamIn != 0 && flags&clrmeta.ParamOut == 0, w.modified(t, "InAttribute"):
		w.WriteString("in ")
	default:
		w.WriteString("ref ")
	}
	w.typeSig(t.Elem)
}

// modified reports whether a type has a required modifier of this name. Function
// pointers and virtual methods say the direction of a by-reference so.
func (w *sigWriter) modified(t *clrmeta.TypeSig, name string) bool {
	if w.meta == nil {
		return false
	}
	for _, m := range t.Required {
		n, err := w.meta.TypeName(m)
		if err == nil && n.Namespace == "System.Runtime.InteropServices" && n.Path[0] == name {
			return true
		}
	}
	return false
}

func (w *sigWriter) typeSig(t *clrmeta.TypeSig) {
	if w.over() {
		return
	}
	switch t.Kind {
	case clrmeta.ValueType, clrmeta.Class:
		w.token(t.Token, nil)
	case clrmeta.GenericInst:
		w.token(t.Token, t.Args)
	case clrmeta.Var:
		w.WriteString(w.typeVar(int(t.Index)).form(w.full))
	case clrmeta.MVar:
		w.WriteString(w.methVar(int(t.Index)).form(w.full))
	case clrmeta.SZArray, clrmeta.Array:
		w.array(t)
	case clrmeta.ByRef:
		w.WriteString("ref ")
		w.typeSig(t.Elem)
	case clrmeta.Pointer:
		w.typeSig(t.Elem)
		w.WriteByte('*')
	case clrmeta.Pinned:
		w.typeSig(t.Elem)
	case clrmeta.FnPtr:
		w.functionPointer(t.Method)
	default:
		text, ok := elements[t.Kind]
		if !ok {
			text = "?"
		}
		w.WriteString(text)
	}
}

// array writes the innermost element, then the ranks from the outermost.
func (w *sigWriter) array(t *clrmeta.TypeSig) {
	suffix := ""
	for t.Kind == clrmeta.SZArray || t.Kind == clrmeta.Array {
		suffix += session.ArraySuffix(&session.Type{Rank: int64(t.Rank), Bounds: t.Kind == clrmeta.Array &&
			t.Rank == 1})
		t = t.Elem
	}
	w.typeSig(t)
	w.WriteString(suffix)
}

func (w *sigWriter) functionPointer(sig *clrmeta.MethodSig) {
	w.WriteString("delegate*<")
	for i := range sig.Params {
		if w.over() {
			return
		}
		w.parameter(&sig.Params[i], 0)
		w.WriteString(", ")
	}
	w.typeSig(&sig.Return)
	w.WriteByte('>')
}

// token writes the type that a TypeDef or TypeRef names.
func (w *sigWriter) token(t clrmeta.Token, args []clrmeta.TypeSig) {
	if w.meta == nil {
		w.WriteByte('?')
		return
	}
	name, err := w.meta.TypeName(t)
	if err != nil {
		w.WriteByte('?')
		return
	}
	n := named{rawType: fromMetadata(name), args: len(args), arg: func(i int) { w.typeSig(&args[i]) }}
	if t.Table() == clrmeta.TableTypeDef {
		n.params, _ = typeParams(w.meta, t) // unknown names are shown as such
		n.kind = w.machines[t].Kind
	}
	w.typeName(n, w.full)
}
