package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// shown is a function as its name shows it: a member of a type, and within it
// perhaps a lambda or local function.
type shown struct {
	typ        rawType
	typeParams []string // raw; nil if unknown or not those of typ
	typeArgs   []typeText
	member     string // raw
	memberArgs []typeText
	inner      string
	innerArgs  []typeText
}

// write writes a function's name: declaring type, method, parameters. With full
// the parameters' types have their namespaces.
func (r *resolver) write(fn function, full bool) string {
	typeArgs := r.typeArguments(fn)
	sig := fn.parseSignature()
	methArgs := fn.methodArguments(sig)
	w := &sigWriter{
		writer:  &writer{full: full},
		meta:    fn.file.meta,
		typeVar: variable(typeArgs), methVar: variable(methArgs),
		machines: fn.file.machines,
	}
	s := show(fn, typeArgs, methArgs)
	if len(s.typ.path) > 0 {
		w.typePath(named{
			rawType: s.typ, kind: fn.file.machines[fn.typeToken].Kind, params: s.typeParams,
			args: len(s.typeArgs), arg: func(i int) { w.WriteString(s.typeArgs[i].full) },
		}, true)
	}
	if s.member != "" {
		w.dot()
		w.member(s.member, sig, fn)
		w.list(s.memberArgs)
	}
	if s.inner != "" {
		w.dot()
		w.WriteString(s.inner)
		w.list(s.innerArgs)
	}
	if w.Len() == 0 {
		w.WriteByte('?')
	}
	switch {
	case sig == nil:
		w.WriteString("(?)")
	case s.inner != "":
		w.parameters(w.withoutClosures(sig), fn.parameterRows())
	default:
		w.parameters(sig, fn.parameterRows())
	}
	w.WriteString(fn.mark)
	return w.String()
}

// show decides what of a function is shown as type, member and inner function.
func show(fn function, typeArgs, methArgs []typeText) shown {
	s := shown{typ: fn.typ, typeParams: fn.typeParams, typeArgs: typeArgs, member: fn.method, memberArgs: methArgs}
	if source, at, ok := fsharpClosure(fn.typ.last()); ok && len(fn.typ.path) > 1 && fsharpBodies[fn.method] != "" {
		s.typ = fn.typ.outer()
		n := min(s.typ.arity(), len(typeArgs))
		s.typeParams, s.typeArgs, s.memberArgs = nil, typeArgs[:n], typeArgs[n:]
		s.member, s.inner = source, "<"+fsharpBodies[fn.method]+" @"+at+">"
		return s
	}
	g, made := parseGenerated(fn.method)
	vb, isVB := strings.CutPrefix(fn.method, "_Lambda$__")
	if !isVB && (!made || g.kind != 'b' && g.kind != 'g') {
		return s
	}
	typ, closure := leaveClosures(fn.typ)
	own := s.memberArgs
	s.memberArgs = nil
	if n := min(typ.arity(), len(typeArgs)); closure != nil {
		// The type parameters of a closure are those of the method around it.
		s.typ, s.typeParams, s.typeArgs, s.memberArgs = typ, nil, typeArgs[:n], typeArgs[n:]
	}
	s.member = g.source
	switch {
	case isVB:
		s.member, s.memberArgs, s.inner = "", nil, "<lambda #"+lambdaID(vb, closure)+">"
	case g.kind == 'g':
		s.inner, _, _ = strings.Cut(g.suffix, "|")
		s.innerArgs = own
		if n := fn.arityOf(g.source); n >= 0 && n <= len(own) && len(s.memberArgs) == 0 {
			s.memberArgs, s.innerArgs = own[:n], own[n:]
		}
	default:
		s.inner = "<lambda #" + lambdaID(g.suffix, closure) + ">"
		s.memberArgs = append(s.memberArgs, own...)
		if n := fn.arityOf(g.source); n >= 0 && n < len(s.memberArgs) {
			s.memberArgs = s.memberArgs[:n] // the others are of a local function around it
		}
	}
	return s
}

// arityOf returns how many type parameters a method of the type around a lambda
// or local function has, -1 if that is not known. Methods of one name usually
// have as many.
func (fn *function) arityOf(method string) int {
	if fn.file.meta == nil || fn.typeToken == 0 {
		return -1
	}
	typ := fn.file.withoutClosures(fn.typeToken)
	arity := -1
	for _, m := range fn.file.methodsNamed(typ, method) {
		params, err := fn.file.meta.GenericParams(m)
		if err != nil || arity >= 0 && arity != len(params) {
			return -1
		}
		arity = len(params)
	}
	return arity
}

// leaveClosures returns the type that a programmer wrote around closures, and
// the id of the outermost of those, nil if there is none.
func leaveClosures(t rawType) (rawType, *string) {
	var closure *string
	for len(t.path) > 1 {
		id, ok := closureID(t.last())
		if !ok {
			break
		}
		closure, t = &id, t.outer()
	}
	return t, closure
}

// lambdaID is METHOD_LAMBDA, two numbers that the compiler counts within the
// type; Visual Basic has a dash. In a closure METHOD_CLOSURE the lambda's name
// has the second alone.
func lambdaID(suffix string, closure *string) string {
	if closure == nil || strings.ContainsAny(suffix, "_-") {
		return suffix
	}
	i := strings.IndexAny(*closure, "_-")
	if i < 0 {
		return suffix
	}
	return (*closure)[:i+1] + suffix
}

func (r *resolver) typeArguments(fn function) []typeText {
	n := max(len(fn.typeArgs), len(fn.typeParams))
	if n == 0 {
		n = fn.typ.arity()
	}
	args := make([]typeText, n)
	for i := range args {
		args[i] = typeText{"?", "?"}
		switch {
		case i < len(fn.typeArgs):
			args[i] = r.argumentText(fn.typeArgs[i], fn.typeParams, i, 0)
		case i < len(fn.typeParams):
			args[i] = typeText{paramText(fn.typeParams[i]), paramText(fn.typeParams[i])}
		}
	}
	return args
}

// methodArguments returns the type arguments of a method, and where they are
// unknown the names of its type parameters.
func (fn *function) methodArguments(sig *clrmeta.MethodSig) []typeText {
	n := max(len(fn.methArgs), len(fn.methParams))
	if n == 0 && sig != nil {
		n = min(sig.Generics, maxArguments)
	}
	args := make([]typeText, n)
	for i := range args {
		args[i] = typeText{"?", "?"}
		switch {
		case i < len(fn.methArgs):
			args[i] = fn.methArgs[i]
		case i < len(fn.methParams):
			args[i] = typeText{paramText(fn.methParams[i]), paramText(fn.methParams[i])}
		}
	}
	return args
}

// parseSignature returns nil if the signature is not known or cannot be read.
func (fn *function) parseSignature() *clrmeta.MethodSig {
	if len(fn.signature) == 0 {
		return nil
	}
	sig, err := clrmeta.ParseMethodSig(fn.signature)
	if err != nil {
		return nil
	}
	return sig
}

func (fn *function) parameterRows() []clrmeta.Param {
	if fn.file.meta == nil || fn.token == 0 {
		return nil
	}
	rows, _ := fn.file.meta.Params(fn.token) // without them "out" reads as "ref"
	return rows
}

// variable resolves type variables of signatures.
func variable(args []typeText) func(i int) typeText {
	return func(i int) typeText {
		if i < 0 || i >= len(args) {
			return typeText{"?", "?"}
		}
		return args[i]
	}
}

// withoutClosures drops the parameters that the compiler adds to local
// functions: by-references to closures, at the end.
func (w *sigWriter) withoutClosures(sig *clrmeta.MethodSig) *clrmeta.MethodSig {
	written := *sig
	for n := len(written.Params); n > 0; n-- {
		t := written.Params[n-1]
		if t.Kind != clrmeta.ByRef || t.Elem == nil || w.meta == nil {
			break
		}
		name, err := w.meta.TypeName(t.Elem.Token)
		if err != nil {
			break
		}
		if _, ok := closureID(parseSegment(name.Path[len(name.Path)-1]).name); !ok {
			break
		}
		written.Params = written.Params[:n-1]
	}
	return &written
}

// dot separates two parts of a name.
func (w *sigWriter) dot() {
	if w.Len() > 0 {
		w.WriteByte('.')
	}
}

// list writes type arguments in angle brackets.
func (w *sigWriter) list(args []typeText) {
	for i, a := range args {
		if w.over() {
			return
		}
		if i == 0 {
			w.WriteByte('<')
		} else {
			w.WriteString(", ")
		}
		w.WriteString(a.form(w.full))
	}
	if len(args) > 0 {
		w.WriteByte('>')
	}
}

// member writes the name of a method. Operators are written as C# does, and
// conversions with the type that they give, which tells them apart.
func (w *sigWriter) member(name string, sig *clrmeta.MethodSig, fn function) {
	if word, ok := conversions[name]; ok && sig != nil {
		w.WriteString(word + " operator ")
		w.typeSig(&sig.Return)
		return
	}
	if symbol, ok := operatorSymbol(name); ok {
		w.WriteString("operator " + symbol)
		return
	}
	if name == fn.method && strings.IndexByte(name, '.') > 0 && w.implementation(fn) {
		return
	}
	w.WriteString(memberText(explicitName(name)))
}

// implementation writes an explicit interface implementation as C# does, with
// the interface and its method: IEnumerable<T>.GetEnumerator. It reports whether
// the file says what is implemented.
func (w *sigWriter) implementation(fn function) bool {
	if w.meta == nil || fn.token == 0 {
		return false
	}
	typ, name, err := w.meta.Overridden(fn.token)
	if err != nil || typ == 0 {
		return false
	}
	t := &clrmeta.TypeSig{Kind: clrmeta.Class, Token: typ}
	if typ.Table() == clrmeta.TableTypeSpec {
		if t, err = w.meta.TypeSpec(typ); err != nil {
			return false
		}
	}
	w.typeSig(t)
	w.WriteString("." + name)
	return true
}

// explicitName rewrites the type arguments in the name of an explicit interface
// implementation, such as
// System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator.
func explicitName(name string) string {
	open := strings.IndexByte(name, '<')
	if open <= 0 {
		return name
	}
	var b strings.Builder
	word := 0
	flush := func(end int) {
		part := name[word:end]
		if k, ok := keywords[strings.TrimPrefix(part, "System.")]; ok && strings.HasPrefix(part, "System.") {
			part = k
		}
		b.WriteString(part)
	}
	for i := range len(name) {
		if c := name[i]; c == '<' || c == '>' || c == ',' || c == '[' {
			flush(i)
			b.WriteByte(c)
			if c == ',' && i+1 < len(name) && name[i+1] != ' ' && name[i+1] != ']' && name[i+1] != ',' {
				b.WriteByte(' ')
			}
			word = i + 1
		}
	}
	flush(len(name))
	return b.String()
}

var conversions = map[string]string{
	"op_Implicit": "implicit", "op_Explicit": "explicit", "op_CheckedExplicit": "explicit checked",
}

// operatorSymbol returns what a program writes for an operator. Those of C# 14 change their first operand:
// op_AdditionAssignment is +=, op_IncrementAssignment ++.
func operatorSymbol(name string) (string, bool) {
	if symbol, ok := operators[name]; ok {
		return symbol, true
	}
	if first, ok := strings.CutSuffix(name, "Assignment"); ok {
		symbol, known := operators[first]
		if known && !strings.HasSuffix(symbol, "++") && !strings.HasSuffix(symbol, "--") {
			symbol += "="
		}
		return symbol, known
	}
	return fsharpOperator(name)
}

// operators are the C# spellings of ECMA-335 I.10.3, those that C# 11 added, and those that only Visual Basic or F#
// has.
var operators = map[string]string{
	"op_UnaryPlus": "+", "op_UnaryNegation": "-", "op_LogicalNot": "!", "op_OnesComplement": "~",
	"op_Increment": "++", "op_Decrement": "--", "op_True": "true", "op_False": "false",
	"op_Addition": "+", "op_Subtraction": "-", "op_Multiply": "*", "op_Division": "/", "op_Modulus": "%",
	"op_BitwiseAnd": "&", "op_BitwiseOr": "|", "op_ExclusiveOr": "^",
	"op_LeftShift": "<<", "op_RightShift": ">>", "op_UnsignedRightShift": ">>>",
	"op_Equality": "==", "op_Inequality": "!=", "op_LessThan": "<", "op_GreaterThan": ">",
	"op_LessThanOrEqual": "<=", "op_GreaterThanOrEqual": ">=",
	"op_CheckedUnaryNegation": "checked -", "op_CheckedIncrement": "checked ++",
	"op_CheckedDecrement": "checked --", "op_CheckedAddition": "checked +",
	"op_CheckedSubtraction": "checked -", "op_CheckedMultiply": "checked *", "op_CheckedDivision": "checked /",
	"op_Like": "Like", "op_Concatenate": "&", "op_IntegerDivision": "\\", "op_Exponent": "^",
	"op_Exponentiation": "**", "op_PipeRight": "|>", "op_PipeRight2": "||>", "op_PipeRight3": "|||>",
	"op_PipeLeft": "<|", "op_PipeLeft2": "<||", "op_PipeLeft3": "<|||",
	"op_ComposeRight": ">>", "op_ComposeLeft": "<<", "op_Append": "@", "op_Dereference": "!", "op_ColonEquals": ":=",
	"op_Dynamic": "?", "op_DynamicAssignment": "?<-", "op_Range": "..", "op_RangeStep": ".. ..",
}
