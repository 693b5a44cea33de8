package symbols

import "strings"

// fsharpClosure takes a name apart that the F# compiler gave to what it took out of a function: comp@29-1 is the second
// of function (or value) comp on line 29. The layout is that of the compiler's IlxGen.fs and NiceNameGenerator; no
// other compiler writes an @ and a number. In the name of a constructor the compiler replaces the dot, which the name
// of a type must not have (CleanUpGeneratedTypeName).
func fsharpClosure(name string) (source, at string, ok bool) {
	i := strings.LastIndexByte(name, '@')
	if i <= 0 || i+1 == len(name) || name[i+1] < '0' || name[i+1] > '9' {
		return "", "", false
	}
	if strings.Trim(name[i+1:], "0123456789-") != "" {
		return "", "", false
	}
	source = name[:i]
	if constructor, ok := strings.CutPrefix(source, "-"); ok && (constructor == "ctor" || constructor == "cctor") {
		source = "." + constructor
	}
	return source, name[i+1:], true
}

// fsharpPart ends the name of a method that is the rest of a function from a line on: the compiler splits functions
// that are too large for it, as many in FSharp.Core are.
const fsharpPart = "$cont"

// fsharpMember writes the name of a function of F#: inner functions without their line, active patterns in parentheses
// and operators by their characters, as in source.
func fsharpMember(name string) string {
	source, at, isInner := fsharpClosure(name)
	if isInner {
		name = source
	}
	if whole, isPart := strings.CutSuffix(name, fsharpPart); isPart && whole != "" {
		if name = fsharpMember(whole); isInner {
			name += ".<part @" + at + ">"
		}
		return name
	}
	if len(name) > 2 && name[0] == '|' && name[len(name)-1] == '|' {
		return "(" + name + ")"
	}
	if symbol, ok := operatorSymbol(name); ok {
		return "operator " + symbol
	}
	return name
}

// fsharpBodies are the methods of closures that hold what the programmer wrote, and how it is marked.
var fsharpBodies = map[string]string{"Invoke": "lambda", "MoveNext": "task", "GenerateNext": "seq"}

// writtenFSharp returns the function that the programmer wrote of a task or a sequence of F#, if there is one of its
// name.
func (r *resolver) writtenFSharp(fn function) (function, bool) {
	source, at, ok := fsharpClosure(fn.typ.last())
	word := fsharpBodies[fn.method]
	if !ok || word == "" || word == "lambda" || len(fn.typ.path) < 2 || fn.file.meta == nil || fn.typeToken == 0 {
		return function{}, false
	}
	same := fn.file.methodsNamed(fn.file.meta.Enclosing(fn.typeToken), source)
	if len(same) != 1 {
		return function{}, false
	}
	kickoff := function{file: fn.file, typ: fn.typ.outer(), mark: " [" + word + " @" + at + "]"}
	kickoff.fromFile(same[0])
	n := min(len(kickoff.typeParams), len(fn.typeArgs))
	kickoff.typeArgs = fn.typeArgs[:n]
	for i, id := range fn.typeArgs[n:] {
		kickoff.methArgs = append(kickoff.methArgs, r.argumentText(id, kickoff.methParams, i, 0))
	}
	return kickoff, true
}

// startup is the name of the type, or of its namespace, that holds a file's top-level values in F#.
const startup = "<StartupCode$"

// withoutStartup names the type of a file's top-level values: <StartupCode$App>.$Shop.Orders.
func withoutStartup(t rawType) rawType {
	name := t.namespace
	for _, s := range t.path[:min(1, len(t.path))] {
		name += "." + s.name
	}
	name = strings.TrimPrefix(name, ".")
	if !strings.HasPrefix(name, startup) {
		return t
	}
	_, file, ok := strings.Cut(name, ">.")
	if !ok || len(t.path) == 0 {
		return t
	}
	path := append([]segment{{"<startup " + strings.TrimPrefix(file, "$") + ">", t.path[0].arity}}, t.path[1:]...)
	return rawType{path: path}
}

// symbolNames are what F# calls the characters of operators in metadata: op_PlusDot is +. (F# specification, 4.1).
var symbolNames = []struct{ name, symbol string }{
	{"Greater", ">"}, {"Less", "<"}, {"Plus", "+"}, {"Minus", "-"}, {"Multiply", "*"}, {"Divide", "/"}, {"Equals", "="},
	{"Twiddle", "~"}, {"Percent", "%"}, {"Dot", "."}, {"Dollar", "$"}, {"Amp", "&"}, {"Bar", "|"}, {"At", "@"},
	{"Hash", "#"}, {"Hat", "^"},
	{"Bang", "!"}, {"Qmark", "?"}, {"Colon", ":"}, {"Comma", ","}, {"LParen", "("}, {"RParen", ")"}, {"LBrack", "["},
	{"RBrack", "]"},
}

// fsharpOperator returns the characters of an operator that a program defined.
func fsharpOperator(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "op_")
	symbol := ""
	for rest != "" {
		i := 0
		for i < len(symbolNames) && !strings.HasPrefix(rest, symbolNames[i].name) {
			i++
		}
		if i == len(symbolNames) {
			return "", false
		}
		symbol += symbolNames[i].symbol
		rest = rest[len(symbolNames[i].name):]
	}
	return symbol, ok && symbol != ""
}
