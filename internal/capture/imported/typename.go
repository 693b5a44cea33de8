package imported

import (
	"strings"

	"github.com/clrprof/clrprof/internal/session"
)

// Limits of names of types: those of a program are far below.
const (
	maxTypeDepth = 32
	maxRank      = 32
	maxArguments = 64
)

// typeName is a name of a type as the runtime's events have it, taken apart: Name`1[Argument][,].
type typeName struct {
	raw       string // as metadata has it: Namespace.Outer/Inner`1
	arguments []typeName
	ranks     []int // of arrays, the innermost first
}

// parseTypeName takes a name apart. What is not such a name is one without arguments.
func parseTypeName(s string) typeName {
	p := nameParser{s}
	t, ok := p.parse(0)
	if !ok || p.rest != "" {
		return typeName{raw: s}
	}
	return t
}

type nameParser struct{ rest string }

func (p *nameParser) parse(depth int) (t typeName, ok bool) {
	if depth > maxTypeDepth {
		return t, false
	}
	end := strings.IndexAny(p.rest, "[],")
	if end < 0 {
		end = len(p.rest)
	}
	t.raw = strings.ReplaceAll(p.rest[:end], "+", "/")
	p.rest = p.rest[end:]
	if t.raw == "" {
		return t, false
	}
	if strings.HasPrefix(p.rest, "[") && !p.isArray() && !p.arguments(&t, depth) {
		return t, false
	}
	for p.isArray() {
		close := strings.IndexByte(p.rest, ']')
		t.ranks = append(t.ranks, close) // [] has the rank 1, [,] 2
		p.rest = p.rest[close+1:]
		if len(t.ranks) > maxTypeDepth || close > maxRank {
			return t, false
		}
	}
	return t, true
}

// isArray reports whether [] or [,,] is next.
func (p *nameParser) isArray() bool {
	return strings.HasPrefix(p.rest, "[") && strings.HasPrefix(strings.TrimLeft(p.rest[1:], ","), "]")
}

func (p *nameParser) arguments(t *typeName, depth int) bool {
	for {
		p.rest = p.rest[1:] // [ or ,
		a, ok := p.parse(depth + 1)
		if !ok || len(t.arguments) >= maxArguments {
			return false
		}
		t.arguments = append(t.arguments, a)
		switch {
		case strings.HasPrefix(p.rest, "]"):
			p.rest = p.rest[1:]
			return true
		case !strings.HasPrefix(p.rest, ","):
			return false
		}
	}
}

// typeOf returns the row of a type of the session.
func (w *writer) typeOf(t *typeName) session.TypeID {
	var arguments []session.TypeID
	for i := range t.arguments {
		arguments = append(arguments, w.typeOf(&t.arguments[i]))
	}
	id := w.process.Type(session.Type{Kind: session.TypeClass, RawName: t.raw}, arguments)
	for _, rank := range t.ranks {
		id = w.process.Type(session.Type{Kind: session.TypeArray, Rank: int64(rank), ElementType: id}, nil)
	}
	return id
}

// namedType is typeOf for a name.
func (w *writer) namedType(name string) session.TypeID {
	id, ok := w.types[name]
	if !ok {
		t := parseTypeName(name)
		if name == "" {
			id = w.process.Type(session.Type{Kind: session.TypeUnknown}, nil)
		} else {
			id = w.typeOf(&t)
		}
		w.types[name] = id
	}
	return id
}
