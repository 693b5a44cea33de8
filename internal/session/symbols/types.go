package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
)

// typeText is a type's name in the two forms that names of functions need.
type typeText struct {
	full  string // with namespaces
	short string // without
}

// canonical is the type that stands for any reference type in code that
// instantiations share.
const canonical = "System.__Canon"

func (r *resolver) nameTypes() {
	for i := range r.out.Types {
		r.out.Types[i].Name = r.typeText(r.out.Types[i].ID, 0).full
	}
}

// typeText names a type and remembers it. Loops of arguments, which a correct
// session does not have, end at maxTypeDepth.
func (r *resolver) typeText(id session.TypeID, depth int) typeText {
	if text, ok := r.names[id]; ok {
		return text
	}
	t := r.types[id]
	if t == nil || depth > maxTypeDepth {
		return typeText{"?", "?"}
	}
	// A name that was cut at the limit of depth belongs to a loop; it is
	// remembered too, which keeps the work linear. Types are named in the order
	// of the session, so the result is always the same.
	r.names[id] = typeText{"?", "?"}
	text := r.describeType(t, depth)
	r.names[id] = text
	return text
}

func (r *resolver) describeType(t *session.Type, depth int) typeText {
	if t.Kind == session.TypeArray {
		return r.describeArray(t, depth)
	}
	n := named{rawType: parseRawType(t.RawName)}
	f, token := r.moduleFiles[t.Module], clrmeta.Token(t.Token)
	if f != nil && f.meta != nil && token.Table() == clrmeta.TableTypeDef {
		n.params, _ = typeParams(f.meta, token) // unknown names are shown as such
		n.kind = f.machines[token].Kind
		if name, err := f.meta.TypeName(token); t.RawName == "" && err == nil {
			n.rawType = fromMetadata(name)
		}
	}
	args := r.typeArgs[t.ID]
	n.args = len(args)
	write := func(space bool) string {
		w := &writer{}
		n.arg = func(i int) { w.WriteString(r.argumentText(args[i], n.params, i, depth+1).form(space)) }
		w.typeName(n, space)
		return w.name()
	}
	return typeText{write(true), write(false)}
}

// typeParams returns the names of a type's parameters. Those of Visual Basic's
// anonymous types are T0, T1 and so on: the parameters of the constructor are
// named after the properties, as C# names the type parameters.
func typeParams(meta *clrmeta.Metadata, typ clrmeta.Token) ([]string, error) {
	params, err := meta.GenericParams(typ)
	if err != nil || len(params) == 0 {
		return params, err
	}
	name, err := meta.TypeName(typ)
	if err != nil || !strings.HasPrefix(name.Path[0], vbAnonymous) {
		return params, nil
	}
	methods, _ := meta.Methods(typ)
	for _, m := range methods[:min(len(methods), maxSiblings)] {
		if row, err := meta.Method(m); err != nil || row.Name != ".ctor" {
			continue
		}
		rows, _ := meta.Params(m)
		for _, p := range rows {
			if p.Sequence > 0 && p.Sequence <= len(params) {
				params[p.Sequence-1] = "<" + p.Name + ">j__TPar"
			}
		}
	}
	return params, nil
}

func (t typeText) form(full bool) string {
	if full {
		return t.full
	}
	return t.short
}

// argumentText names a type argument. What stands for any type is shown as the
// parameter's own name, if that is known.
func (r *resolver) argumentText(id session.TypeID, params []string, i, depth int) typeText {
	t := r.types[id]
	switch {
	case t != nil && t.RawName != canonical:
		return r.typeText(id, depth)
	case i < len(params):
		return typeText{paramText(params[i]), paramText(params[i])}
	case t != nil:
		return typeText{"__Canon", "__Canon"}
	}
	return typeText{"?", "?"}
}

// describeArray writes arrays as C# does: of int[][,] each element is an int[,].
func (r *resolver) describeArray(t *session.Type, depth int) typeText {
	suffix := ""
	for range maxTypeDepth {
		suffix += session.ArraySuffix(t)
		element := r.types[t.ElementType]
		if element == nil {
			text, ok := elements[clrmeta.ElementType(t.ElementCode)]
			if !ok {
				text = "?"
			}
			return typeText{text + suffix, text + suffix}
		}
		if element.Kind != session.TypeArray {
			text := r.typeText(element.ID, depth+1)
			return typeText{clean(text.full + suffix), clean(text.short + suffix)}
		}
		t = element
	}
	return typeText{"?" + suffix, "?" + suffix}
}
