package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
)

// convention is a route that code gives to all actions without one of their own (conventional routing).
type convention struct {
	on       builder
	template string
	values   map[string]string // default values that are not in the template
}

// defaultTemplate is that of MapDefaultControllerRoute.
const defaultTemplate = "{controller=Home}/{action=Index}/{id?}"

// addConvention adds a conventional route. Nothing is known of one whose default values are not.
func (m *methodCalls) addConvention(kind mapping, c *il.Call) {
	out := convention{on: m.builder(c.Args[0]), template: defaultTemplate, values: map[string]string{}}
	if kind != mapsDefault {
		at, ok := 2, true // of the template
		if kind == mapsArea {
			at = 3
			if out.values["area"], ok = m.text(c, 2); !ok {
				return
			}
		}
		if out.template, ok = m.text(c, at); !ok || !m.addValues(&out, c, at+1) {
			return
		}
	}
	m.conventions = append(m.conventions, out)
}

// fallbackTemplate is that of fallbacks without one of their own.
const fallbackTemplate = "{*path:nonfile}"

// addFallback adds the route by which an action answers what nothing else does: a conventional one of that action.
func (m *methodCalls) addFallback(kind mapping, c *il.Call) {
	names := []string{"action", "controller"}
	if kind == mapsAreaFallback {
		names = append(names, "area")
	}
	out := convention{on: m.builder(c.Args[0]), template: fallbackTemplate, values: map[string]string{}}
	first := len(c.Args) - len(names)
	if first > 1 {
		var ok bool
		if out.template, ok = m.text(c, 1); !ok {
			return
		}
	}
	for i, name := range names {
		text, ok := m.text(c, first+i)
		if first < 1 || !ok {
			return
		}
		out.values[name] = text
	}
	m.conventions = append(m.conventions, out)
}

// addValues adds the default values of an anonymous type, if there are some; false: they are not known.
func (m *methodCalls) addValues(to *convention, c *il.Call, n int) bool {
	if n >= len(c.Args) || c.Args[n].Kind == il.Null {
		return true
	}
	made := m.at[c.Args[n].Token]
	if c.Args[n].Kind != il.Result || made == nil || m.kind(made.Token) != mapsValues {
		return false
	}
	names := m.propertiesOf(clrmeta.Token(made.Token))
	if len(names) != len(made.Args) {
		return false
	}
	for i, name := range names {
		text, ok := m.text(made, i)
		if ok {
			to.values[name] = text
		} else if name == "controller" || name == "action" || name == "area" {
			return false
		}
	}
	return true
}

// propertiesOf returns the names of the properties of an anonymous type: of its constructor's parameters.
func (m *methodCalls) propertiesOf(constructor clrmeta.Token) []string {
	called, err := m.f.meta.Callee(constructor)
	if err != nil {
		return nil
	}
	method := called.Method
	if owner, _, err := m.f.named(called.Type); method == 0 && err == nil {
		methods, _ := m.f.meta.Methods(owner)
		for _, t := range methods {
			if row, err := m.f.meta.Method(t); err == nil && row.Name == ".ctor" {
				method = t
			}
		}
	}
	params, _ := m.f.meta.Params(method)
	var names []string
	for _, p := range params {
		if p.Sequence > 0 {
			names = append(names, strings.ToLower(p.Name))
		}
	}
	return names
}

// of returns the route of an action by a convention; false: it has none by it, or that is not known.
func (c *convention) of(action map[string]string) (string, bool) {
	out, found := "", map[string]bool{}
	for rest := c.template; ; {
		before, after, open := strings.Cut(rest, "{")
		out += before
		if !open {
			break
		}
		inner, next, _ := strings.Cut(after, "}")
		rest = next
		name := strings.ToLower(strings.TrimLeft(inner, "*"))
		end := strings.IndexAny(name, "=:?")
		if end < 0 {
			end = len(name)
		}
		value, special := action[name[:end]]
		constraint := strings.Contains(name[end:], ":") && !strings.HasSuffix(name, ":exists")
		fixed := c.values[name[:end]]
		switch {
		case !special:
			out += "{" + inner + "}"
			continue
		case value == "", constraint, name[:end] == "area" && fixed != "" && !strings.EqualFold(fixed, value):
			return "", false
		}
		found[name[:end]] = true
		out += value
	}
	for name, value := range action {
		if !found[name] && !strings.EqualFold(c.values[name], value) {
			return "", false
		}
	}
	return out, true
}

// Flags of types and methods (II.23.1.15, II.23.1.10).
const (
	typeAccess, typePublic, typeAbstract     = 0x7, 0x1, 0x80
	methodAccess, methodPublic, methodStatic = 0x7, 0x6, 0x10
	methodNewSlot, methodAbstract            = 0x100, 0x400
	methodSpecialName                        = 0x800
)

// isAnswering reports whether a method is one of those that ASP.NET Core looks for: public, of an object, and not
// special. What overrides another one is taken for a method of ASP.NET Core's own.
func (f *moduleFile) isAnswering(method clrmeta.Token) bool {
	return f.mayAnswer(method) && !f.isOverride(method)
}

// mayAnswer is isAnswering, also of what overrides another method.
func (f *moduleFile) mayAnswer(method clrmeta.Token) bool {
	row, err := f.meta.Method(method)
	if err != nil || row.Flags&methodAccess != methodPublic ||
		row.Flags&(methodStatic|methodAbstract|methodSpecialName) != 0 || row.Name == "Dispose" {
		return false
	}
	sig, err := clrmeta.ParseMethodSig(row.Signature)
	return err == nil && sig.Generics == 0
}

// isOverride reports whether a method overrides another one.
func (f *moduleFile) isOverride(method clrmeta.Token) bool {
	row, err := f.meta.Method(method)
	return err == nil && row.Flags&(methodVirtual|methodNewSlot) == methodVirtual
}

// overridden returns the methods of user code that a method overrides, the nearest first. ok: the last of them
// overrides none; otherwise that is a method of the framework, or of a module that is not known. Overloads are told
// apart by their number of parameters alone: types of two modules have no tokens in common.
func (r *resolver) overridden(method definition) (out []definition, ok bool) {
	if !method.file.isOverride(method.token) {
		return nil, true
	}
	wanted, err := method.file.meta.Method(method.token)
	class, ownerErr := method.file.meta.DeclaringType(method.token)
	sig, sigErr := clrmeta.ParseMethodSig(wanted.Signature)
	if err != nil || ownerErr != nil || sigErr != nil {
		return nil, false
	}
	at := definition{method.file, class}
	for range maxBases {
		base, name, err := baseOf(at)
		if err != nil || base == 0 || isFramework(name.Namespace) {
			return out, false
		}
		var found bool
		if at, found = r.define(at.file, base, name); !found {
			return out, false
		}
		methods, _ := at.file.meta.Methods(at.token)
		for _, t := range methods {
			row, err := at.file.meta.Method(t)
			other, otherErr := clrmeta.ParseMethodSig(row.Signature)
			if err != nil || otherErr != nil || row.Name != wanted.Name || row.Flags&methodVirtual == 0 ||
				len(other.Params) != len(sig.Params) {
				continue
			}
			if out = append(out, definition{at.file, t}); !at.file.isOverride(t) {
				return out, true
			}
		}
	}
	return out, false
}

// isAction reports whether a method is an action of a class, which has or inherits it.
func (r *resolver) isAction(f *moduleFile, method clrmeta.Token, class definition) bool {
	overridden, known := r.overridden(definition{f, method})
	for _, m := range overridden {
		if m.file.hasMvc(m.token, "NonActionAttribute") {
			return false
		}
	}
	return known && f.mayAnswer(method) && !f.hasMvc(method, "NonActionAttribute") && r.isController(class)
}

// isController reports whether a class is a controller.
func (r *resolver) isController(class definition) bool {
	if class.file.hasMvc(class.token, "NonControllerAttribute") {
		return false
	}
	flags := class.file.meta.Cell(clrmeta.TableTypeDef, class.token.Row(), 0)
	if generics, err := class.file.meta.GenericParams(class.token); err != nil || len(generics) > 0 ||
		flags&typeAccess != typePublic || flags&typeAbstract != 0 {
		return false
	}
	at := class
	for range maxBases {
		name, err := at.file.meta.TypeName(at.token)
		if err != nil {
			return false
		}
		if at == class && strings.HasSuffix(name.String(), "Controller") ||
			at.file.hasMvc(at.token, "ControllerAttribute") {
			return true
		}
		base, name, err := baseOf(at)
		if err != nil || base == 0 {
			return false
		}
		if name.String() == aspNetCore+"Mvc.ControllerBase" || name.String() == aspNetCore+"Mvc.Controller" {
			return true
		}
		var ok bool
		if name.String() == "System.Object" {
			return false
		}
		if at, ok = r.define(at.file, base, name); !ok {
			return false
		}
	}
	return false
}

// findHeirs finds the controllers of a file that extend a class of user code, by that class.
func (r *resolver) findHeirs(f *moduleFile, heirs map[definition][]definition) {
	for row := uint32(1); row <= f.meta.Rows(clrmeta.TableTypeDef); row++ {
		class := definition{f, clrmeta.MakeToken(clrmeta.TableTypeDef, row)}
		var bases []definition
		for at := class; len(bases) < maxBases; {
			base, name, err := baseOf(at)
			if err != nil || base == 0 || isFramework(name.Namespace) {
				break
			}
			var ok bool
			if at, ok = r.define(at.file, base, name); !ok {
				break
			}
			bases = append(bases, at)
		}
		if len(bases) > 0 && r.isController(class) {
			for _, base := range bases {
				heirs[base] = append(heirs[base], class)
			}
		}
	}
}

// isFramework reports whether a namespace is one of the framework, in which no class of the user is.
func isFramework(namespace string) bool {
	return namespace == "System" || strings.HasPrefix(namespace, "System.") ||
		strings.HasPrefix(namespace, "Microsoft.")
}

// overrides reports whether a class, or what it extends below the owner of a method, overrides the method. It compares
// names, so an overload that is overridden counts, too.
func (d definition) overrides(f *moduleFile, method clrmeta.Token) bool {
	wanted, err := f.meta.Method(method)
	owner, ownerErr := f.meta.DeclaringType(method)
	if err != nil || ownerErr != nil {
		return false
	}
	for range maxBases {
		if d.file == f && d.token == owner {
			return false
		}
		methods, _ := d.file.meta.Methods(d.token)
		for _, t := range methods {
			row, err := d.file.meta.Method(t)
			if err == nil && row.Name == wanted.Name && row.Flags&(methodVirtual|methodNewSlot) == methodVirtual {
				return true
			}
		}
		base, _, err := baseOf(d)
		if err != nil || base.Table() != clrmeta.TableTypeDef {
			return false
		}
		d.token = base
	}
	return false
}

// hasMvc reports whether something has an attribute of Microsoft.AspNetCore.Mvc.
func (f *moduleFile) hasMvc(parent clrmeta.Token, attribute string) bool {
	for _, a := range f.meta.TextAttributes(parent) {
		if f.mvcAttribute(a) == attribute {
			return true
		}
	}
	return false
}
