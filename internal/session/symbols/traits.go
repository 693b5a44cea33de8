package symbols

import (
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
)

// maxBases bounds a chain of base types, which in corrupt metadata may form a loop. No framework has one of 20.
const maxBases = 256

// basic says what the types are that extend a type of the core library.
var basic = map[string]string{
	"System.ValueType": session.TraitValue,
	"System.Enum":      session.TraitValue,
	"System.Exception": session.TraitException,
	"System.Delegate":  session.TraitDelegate,
}

// definition is a type in a file.
type definition struct {
	file  *moduleFile
	token clrmeta.Token
}

// findTraits says of each class what it is by what it extends. Of types whose module cannot be read nothing is known.
func (r *resolver) findTraits() {
	known := map[definition]string{}
	for i := range r.out.Types {
		t := &r.out.Types[i]
		f := r.moduleFiles[t.Module]
		at := definition{f, clrmeta.Token(t.Token)}
		if t.Kind != session.TypeClass || f == nil || f.meta == nil || at.token.Table() != clrmeta.TableTypeDef {
			continue
		}
		trait, done := known[at]
		if !done {
			trait = r.trait(at)
			known[at] = trait
		}
		t.Trait = trait
	}
}

// trait walks from a type to its bases: to the first that says what it is, or to the last that can be read.
func (r *resolver) trait(at definition) string {
	name, err := at.file.meta.TypeName(at.token)
	for range maxBases {
		if trait := basic[name.String()]; trait != "" {
			return trait
		}
		if err != nil || name.String() == "System.Object" { // whose finalizer does nothing
			break
		}
		if finalizes(at) {
			return session.TraitFinalizer // no type with another trait has one
		}
		var base clrmeta.Token
		if base, name, err = baseOf(at); err != nil || base == 0 {
			break
		}
		if basic[name.String()] != "" {
			continue
		}
		next, ok := r.define(at.file, base, name)
		if !ok {
			break
		}
		at = next
	}
	return ""
}

// baseOf returns what a type extends, without type arguments: a TypeDef or a TypeRef, and its name.
func baseOf(at definition) (clrmeta.Token, clrmeta.TypeName, error) {
	base, err := at.file.meta.Extends(at.token)
	if err != nil || base == 0 {
		return 0, clrmeta.TypeName{}, err
	}
	return at.file.named(base)
}

// named returns a type that a file names, without type arguments: a TypeDef or a TypeRef, and its name.
func (f *moduleFile) named(token clrmeta.Token) (clrmeta.Token, clrmeta.TypeName, error) {
	if token.Table() == clrmeta.TableTypeSpec {
		sig, err := f.meta.TypeSpec(token)
		if err != nil {
			return 0, clrmeta.TypeName{}, err
		}
		token = sig.Token
	}
	name, err := f.meta.TypeName(token)
	return token, name, err
}

// define finds the definition of a type that a file refers to: of a TypeRef in the first module of the session that has
// a type of its name.
func (r *resolver) define(from *moduleFile, token clrmeta.Token, name clrmeta.TypeName) (definition, bool) {
	if token.Table() == clrmeta.TableTypeDef {
		return definition{from, token}, true
	}
	if r.definitions == nil {
		r.definitions = map[string]definition{}
		added := map[*moduleFile]bool{}
		for i := range r.out.Modules {
			if f := r.moduleFiles[r.out.Modules[i].ID]; !added[f] {
				added[f] = true
				r.addDefinitions(f)
			}
		}
	}
	found, ok := r.definitions[name.String()]
	return found, ok
}

// addDefinitions adds the types of a file, but for those that another one has already.
func (r *resolver) addDefinitions(f *moduleFile) {
	if f == nil || f.meta == nil {
		return
	}
	for row := uint32(1); row <= f.meta.Rows(clrmeta.TableTypeDef); row++ {
		token := clrmeta.MakeToken(clrmeta.TableTypeDef, row)
		name, err := f.meta.TypeName(token)
		if err != nil {
			continue
		}
		if _, known := r.definitions[name.String()]; !known {
			r.definitions[name.String()] = definition{f, token}
		}
	}
}

// methodVirtual is the flag of methods that can override others (II.23.1.10).
const methodVirtual = 0x40

// finalizes reports whether a type itself overrides Object.Finalize.
func finalizes(at definition) bool {
	methods, _ := at.file.meta.Methods(at.token) // those up to an error are as good as any
	for _, token := range methods {
		m, err := at.file.meta.Method(token)
		if err != nil || m.Name != "Finalize" || m.Flags&methodVirtual == 0 {
			continue
		}
		if sig, err := clrmeta.ParseMethodSig(m.Signature); err == nil && len(sig.Params) == 0 {
			return true
		}
	}
	return false
}
