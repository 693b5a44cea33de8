package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/session"
)

// anyType stands in a name for a type argument that is not known: code that instantiations share does not say which
// reference type it is. No name has this code point.
const anyType = "\uFFFE"

// mayBe reports whether a type's name may be one in which anyType stands for what is not known.
func mayBe(name, pattern string) bool {
	first, rest, open := strings.Cut(pattern, anyType)
	if !open {
		return name == pattern
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, more, open := strings.Cut(rest, anyType)
		if !open {
			return len(name) > len(part) && strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], more
	}
}

// objectNames names the objects that a function makes as types of a session are named.
type objectNames struct {
	p        *paramsFinder
	f        *moduleFile
	row      *session.Function
	ofType   []session.TypeID // arguments of the type that declares the function
	ofItself []session.TypeID
}

func (p *paramsFinder) newObjectNames(f *moduleFile, row *session.Function) *objectNames {
	return &objectNames{p, f, row, p.r.typeArgs[row.Type], p.r.methodArgs[row.ID]}
}

// of returns the name of an object's type; of a list that begins with elements or room for them also that of its array.
// "": it cannot be read.
func (n *objectNames) of(x *il.Object) []string {
	if x.Op == il.OpNewarr {
		return []string{n.array(n.sig(clrmeta.Token(x.Token)))}
	}
	made, err := n.f.meta.Callee(clrmeta.Token(x.Token))
	if err != nil {
		return []string{""}
	}
	sig := n.sig(made.Type)
	names := []string{n.name(sig)}
	constructor, err := clrmeta.ParseMethodSig(made.Signature)
	if err != nil {
		return []string{""}
	}
	if _, name, err := n.f.named(made.Type); err == nil && name.String() == listType && sig != nil &&
		len(sig.Args) == 1 && len(constructor.Params) > 0 {
		names = append(names, n.array(&sig.Args[0]))
	}
	return names
}

// sig returns the type of a token; nil: it cannot be read.
func (n *objectNames) sig(token clrmeta.Token) *clrmeta.TypeSig {
	if token.Table() != clrmeta.TableTypeSpec {
		return &clrmeta.TypeSig{Kind: clrmeta.Class, Token: token}
	}
	sig, err := n.f.meta.TypeSpec(token)
	if err != nil {
		return nil
	}
	return sig
}

// array names the array of an element.
func (n *objectNames) array(element *clrmeta.TypeSig) string {
	if element == nil {
		return ""
	}
	return n.name(&clrmeta.TypeSig{Kind: clrmeta.SZArray, Elem: element})
}

// name names a type; "" if it cannot be read.
func (n *objectNames) name(sig *clrmeta.TypeSig) string {
	if sig == nil {
		return ""
	}
	w := &sigWriter{writer: &writer{full: true}, meta: n.f.meta, machines: n.f.machines,
		typeVar: func(i int) typeText { return n.argument(n.ofType, i) },
		methVar: func(i int) typeText { return n.argument(n.ofItself, i) }}
	w.typeSig(sig)
	name := w.name()
	if w.over() || strings.HasPrefix(name, "?") || strings.Contains(name, "<?") ||
		strings.Contains(name, " ?") { // of a type that cannot be read
		return ""
	}
	if strings.Contains(name, anyType) {
		n.p.open[n.row.ID] = true
	}
	return name
}

// argument names a type argument.
func (n *objectNames) argument(args []session.TypeID, i int) typeText {
	if i < len(args) {
		if t := n.p.r.types[args[i]]; t != nil && t.RawName != canonical {
			return n.p.r.typeText(t.ID, 0)
		}
	}
	return typeText{anyType, anyType}
}
