package symbols

import (
	"slices"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
)

// builder is what routes are mapped with.
type builder struct {
	file   *moduleFile
	isRoot bool // its routes have no common beginning
	// of is the parameter that it was passed as; no method: it is not known where it is from.
	of     parameter
	groups []string // by which the routes begin after that
}

// parameter is one of a method, from 0 on, without the object of an instance method.
type parameter struct {
	method definition
	number int
}

// unknownPrefix stands for the beginning of a route that is not known: that of a builder whose origin is not.
const unknownPrefix = "…"

// builder follows a builder to where it is from.
func (m *methodCalls) builder(value il.Value) builder {
	out := builder{file: m.f}
	for range maxGroups {
		if value.Kind == il.Argument {
			n := int(value.Token)
			if m.f.hasThis(m.method) {
				n--
			}
			out.of = parameter{definition{m.f, m.method}, n}
			out.isRoot = m.f.isApplication(m.method, n)
			return out
		}
		c := m.at[value.Token]
		if value.Kind != il.Result || c == nil {
			break
		}
		kind := m.kind(c.Token)
		if kind == mapsRoot {
			out.isRoot = true
			return out
		}
		if kind == mapsGroup {
			text, ok := m.text(c, 1)
			if !ok || text == "" {
				break
			}
			out.groups = slices.Insert(out.groups, 0, text)
		}
		if len(c.Args) == 0 || kind != mapsGroup && kind != mapsOn {
			break
		}
		value = c.Args[0]
	}
	return out
}

// give takes note of a builder that a method is given.
func (m *routeMapper) give(method definition, number int, b builder) {
	at := parameter{method, number}
	if len(m.edges[at]) < maxRoutes {
		m.edges[at] = append(m.edges[at], b)
	}
}

// addBelow takes note of the builders that a function of user code is given.
func (m *methodCalls) addBelow(c *il.Call) {
	called, err := m.f.meta.Callee(clrmeta.Token(c.Token))
	if err != nil {
		return
	}
	sig, err := clrmeta.ParseMethodSig(called.Signature)
	if err != nil {
		return
	}
	method, ok := m.r.userMethod(m.f, &called)
	if !ok {
		return
	}
	first := len(c.Args) - len(sig.Params)
	for n := range sig.Params {
		if m.f.isBuilder(sig.Params[n]) && first+n >= 0 {
			m.give(method, n, m.builder(c.Args[first+n]))
		}
	}
}

// userMethod returns the method that code calls, if it is of a module that could be read, and of another one only if it
// is the only one of its name.
func (r *resolver) userMethod(f *moduleFile, called *clrmeta.Callee) (definition, bool) {
	if called.Method != 0 {
		return definition{f, called.Method}, true
	}
	token, name, err := f.named(called.Type)
	if err != nil {
		return definition{}, false
	}
	owner, ok := r.define(f, token, name)
	if !ok {
		return definition{}, false
	}
	methods, _ := owner.file.meta.Methods(owner.token)
	methods = slices.DeleteFunc(methods, func(t clrmeta.Token) bool {
		row, err := owner.file.meta.Method(t)
		return err != nil || row.Name != called.Name
	})
	if len(methods) != 1 {
		return definition{}, false
	}
	return definition{owner.file, methods[0]}, true
}

// prefixes returns how routes can begin that are mapped with a builder.
func (m *routeMapper) prefixes(b builder) []string {
	steps := maxGiven
	return m.prefixesOf(b, map[parameter]bool{}, &steps)
}

// prefixesOf is prefixes, in so many steps, without those of parameters that lead back to themselves.
func (m *routeMapper) prefixesOf(b builder, seen map[parameter]bool, steps *int) []string {
	*steps--
	if b.isRoot {
		return []string{join("", b.groups...)}
	}
	given := m.edges[b.of]
	if b.of.method.file == nil || len(given) == 0 || seen[b.of] || *steps < 0 {
		return []string{join(unknownPrefix, b.groups...)}
	}
	seen[b.of] = true
	defer delete(seen, b.of)
	var out []string
	for _, from := range given {
		for _, prefix := range m.prefixesOf(from, seen, steps) {
			if prefix = join(prefix, b.groups...); len(out) < maxRoutes && !slices.Contains(out, prefix) {
				out = append(out, prefix)
			}
		}
	}
	return out
}

// isBuilder reports whether a type is one with which routes are mapped.
func (f *moduleFile) isBuilder(t clrmeta.TypeSig) bool {
	if t.Kind != clrmeta.Class {
		return false
	}
	_, name, err := f.named(t.Token)
	if err != nil {
		return false
	}
	switch name.String() {
	case aspNetCore + "Routing.IEndpointRouteBuilder", aspNetCore + "Routing.RouteGroupBuilder",
		aspNetCore + "Builder.WebApplication":
		return true
	}
	return false
}

func (f *moduleFile) hasThis(method clrmeta.Token) bool {
	row, err := f.meta.Method(method)
	if err != nil {
		return false
	}
	sig, err := clrmeta.ParseMethodSig(row.Signature)
	return err == nil && sig.HasThis
}

// isApplication reports whether a parameter of a method is a WebApplication.
func (f *moduleFile) isApplication(method clrmeta.Token, n int) bool {
	row, err := f.meta.Method(method)
	if err != nil {
		return false
	}
	sig, err := clrmeta.ParseMethodSig(row.Signature)
	if err != nil || n < 0 || n >= len(sig.Params) || sig.Params[n].Kind != clrmeta.Class {
		return false
	}
	_, name, err := f.named(sig.Params[n].Token)
	return err == nil && name.String() == aspNetCore+"Builder.WebApplication"
}
