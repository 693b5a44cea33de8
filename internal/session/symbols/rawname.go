package symbols

import (
	"strconv"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// rawType is a type name as metadata has it, taken apart.
type rawType struct {
	namespace string
	path      []segment // from the outermost type to the type itself
}

// segment is one type of a nesting. arity counts the type parameters that it
// adds to those of the types around it.
type segment struct {
	name  string
	arity int
}

// parseRawType takes Namespace.Outer`1/Inner apart. The namespace ends at the
// last dot of the outermost name that is not inside angle brackets.
func parseRawType(s string) rawType {
	if s == "" {
		return rawType{}
	}
	parts := strings.Split(s, "/")
	var t rawType
	first := parts[0]
	end := len(first)
	if i := strings.IndexByte(first, '<'); i >= 0 {
		end = i
	}
	if i := strings.LastIndexByte(first[:end], '.'); i > 0 {
		t.namespace, parts[0] = first[:i], first[i+1:]
	}
	for _, p := range parts[:min(len(parts), maxTypeDepth)] {
		t.path = append(t.path, parseSegment(p))
	}
	return withoutStartup(t)
}

func fromMetadata(n clrmeta.TypeName) rawType {
	t := rawType{namespace: n.Namespace}
	for _, p := range n.Path {
		t.path = append(t.path, parseSegment(p))
	}
	return withoutStartup(t)
}

// parseSegment splits Name`2 into name and arity.
func parseSegment(s string) segment {
	if i := strings.LastIndexByte(s, '`'); i > 0 && len(s)-i <= 5 {
		if n, err := strconv.ParseUint(s[i+1:], 10, 16); err == nil {
			return segment{s[:i], min(int(n), maxArguments)}
		}
	}
	return segment{name: s}
}

// arity is the number of type parameters of the type, those of the types around
// it included.
func (t rawType) arity() int {
	n := 0
	for _, s := range t.path {
		n += s.arity
	}
	return n
}

// outer is the type around t; it has no path if there is none.
func (t rawType) outer() rawType {
	return rawType{t.namespace, t.path[:max(0, len(t.path)-1)]}
}

// last is the name of the type itself.
func (t rawType) last() string {
	if len(t.path) == 0 {
		return ""
	}
	return t.path[len(t.path)-1].name
}

// generated is a name that the C# compiler made: <Source>kind__suffix. Source
// may be such a name itself, and is empty for what belongs to no one member.
type generated struct {
	source string
	// b lambda, c closure, d state machine, f anonymous type, F file-local type, g local function, j, m, $
	kind   byte
	suffix string // without the underscores before it
}

// parseGenerated recognizes a name that the C# compiler made. The layout is that
// of Roslyn's GeneratedNames; it is not specified, but has been stable since
// 2015, and debuggers rely on it.
func parseGenerated(s string) (generated, bool) {
	if len(s) < 3 || s[0] != '<' {
		return generated{}, false
	}
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '<':
			depth++
		case '>':
			depth--
		}
		if depth != 0 {
			continue
		}
		if i+1 == len(s) {
			return generated{}, false
		}
		return generated{s[1:i], s[i+1], strings.TrimLeft(s[i+2:], "_")}, true
	}
	return generated{}, false
}

// closureID returns what tells closures of one type apart: "0_1" of
// <>c__DisplayClass0_1, "2" of <>c__2, "" of <>c. The second result is false if
// the name is not that of a closure.
func closureID(name string) (string, bool) {
	if id, ok := strings.CutPrefix(name, "_Closure$__"); ok { // Visual Basic
		return id, true
	}
	g, ok := parseGenerated(name)
	if !ok || g.kind != 'c' || g.source != "" {
		return "", false
	}
	return strings.TrimPrefix(g.suffix, "DisplayClass"), true
}

// stateMachineSource returns the name of the method that a state machine type
// was made from, with the number that tells overloads apart. The compiler
// writes the dots of explicit interface implementations as dashes.
func stateMachineSource(name string) (source, number string, ok bool) {
	if rest, found := strings.CutPrefix(name, "VB$StateMachine_"); found {
		number, source, ok = strings.Cut(rest, "_")
		return source, number, ok
	}
	g, ok := parseGenerated(name)
	if !ok || g.kind != 'd' || g.source == "" {
		return "", "", false
	}
	number = g.suffix
	if inner, made := parseGenerated(g.source); made && inner.kind == 'g' && number == "" {
		_, number, _ = strings.Cut(inner.suffix, "|") // a local function has its own number
	}
	return strings.ReplaceAll(g.source, "-", "."), number, true
}

// anonymousType reports whether the name is that of an anonymous type of C# or
// Visual Basic, and its number.
func anonymousType(name string) (string, bool) {
	if id, ok := strings.CutPrefix(name, vbAnonymous); ok {
		return id, true
	}
	g, ok := parseGenerated(name)
	if !ok || g.kind != 'f' || g.source != "" {
		return "", false
	}
	return strings.CutPrefix(g.suffix, "AnonymousType")
}

// vbAnonymous begins the names of Visual Basic's anonymous types.
const vbAnonymous = "VB$AnonymousType_"

// segmentText writes one type of a nesting as a person would call it. kind says
// what a state machine was made from, if that is known.
func segmentText(name string, kind clrmeta.StateMachineKind) string {
	if id, ok := closureID(name); ok {
		return strings.TrimSuffix("<closure "+id, " ") + ">"
	}
	if source, number, ok := stateMachineSource(name); ok {
		word := "state machine"
		switch kind {
		case clrmeta.Async:
			word = "async"
		case clrmeta.Iterator:
			word = "iterator"
		case clrmeta.AsyncIterator:
			word = "async iterator"
		}
		text := "<" + word + " " + memberText(explicitName(source))
		if number != "" {
			text += " #" + number
		}
		return text + ">"
	}
	if id, ok := anonymousType(name); ok {
		return "<anonymous type " + id + ">"
	}
	if id, ok := strings.CutPrefix(name, "VB$AnonymousDelegate_"); ok {
		return "<anonymous delegate " + id + ">"
	}
	if source, at, ok := fsharpClosure(name); ok {
		return "<closure " + fsharpMember(source) + " @" + at + ">"
	}
	if g, ok := parseGenerated(name); ok && g.kind == 'z' && g.source == "" {
		return "<collection " + g.suffix + ">" // of a collection expression
	}
	if g, ok := parseGenerated(name); ok && g.kind == 'F' {
		if _, own, ok := strings.Cut(g.suffix, "__"); ok && own != "" {
			return own // a file-local type, named after its file and a hash
		}
	}
	return name
}

// memberText writes the name of a member, which may be generated.
func memberText(name string) string { return nestedMember(name, 0) }

func nestedMember(name string, depth int) string {
	g, ok := parseGenerated(name)
	if id, vb := strings.CutPrefix(name, "_Lambda$__"); vb {
		return "<lambda #" + id + ">"
	}
	if !ok || depth == maxGenerated {
		return fsharpMember(name)
	}
	switch g.kind {
	case 'b':
		return nestedMember(g.source, depth+1) + ".<lambda #" + g.suffix + ">"
	case 'g':
		own, _, _ := strings.Cut(g.suffix, "|")
		return nestedMember(g.source, depth+1) + "." + own
	case 'm':
		if n, ok := strings.CutPrefix(g.suffix, "Finally"); ok && g.source == "" {
			return "<finally " + n + ">" // a finally block of an iterator
		}
	case '$': // <Main>$ of top-level statements
		return g.source
	}
	return name
}

// paramText writes the name of a type parameter. Those of anonymous types are
// named after the property: <Name>j__TPar.
func paramText(name string) string {
	if g, ok := parseGenerated(name); ok && g.kind == 'j' {
		return g.source
	}
	return name
}
