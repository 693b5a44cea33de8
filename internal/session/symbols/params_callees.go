package symbols

import (
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/callee"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/session"
)

// Names of what C# uses for collections that it makes for params.
const (
	listType       = "System.Collections.Generic.List`1"
	marshalType    = "System.Runtime.InteropServices.CollectionsMarshal"
	readOnlyPrefix = "<>z__ReadOnly" // of the types that it declares itself
)

// calledTokens are what the code of a file calls, each of which is looked up once.
type calledTokens struct {
	f          *moduleFile
	signatures map[uint32]il.Signature
	roles      map[uint32]il.Role
}

func newCalledTokens(f *moduleFile) *calledTokens {
	return &calledTokens{f, map[uint32]il.Signature{}, map[uint32]il.Role{}}
}

func (c *calledTokens) signature(token uint32) (il.Signature, error) {
	if s, known := c.signatures[token]; known {
		return s, nil
	}
	s, err := c.f.calls(token)
	if err == nil {
		c.signatures[token] = s
	}
	return s, err
}

func (c *calledTokens) role(token uint32) il.Role {
	role, known := c.roles[token]
	if !known {
		role = c.f.role(token)
		c.roles[token] = role
	}
	return role
}

// calls gives what a call does to the stack.
func (f *moduleFile) calls(token uint32) (il.Signature, error) {
	called, err := f.meta.Callee(clrmeta.Token(token))
	if err != nil {
		return il.Signature{}, err
	}
	sig, err := clrmeta.ParseMethodSig(called.Signature)
	if err != nil {
		return il.Signature{}, err
	}
	out := il.Signature{Args: len(sig.Params), Returns: sig.Return.Kind != clrmeta.Void,
		This: sig.HasThis && !sig.ExplicitThis}
	if out.This {
		out.Args++
	}
	return out, nil
}

// role says what a function does with an object that it is given first.
func (f *moduleFile) role(token uint32) il.Role {
	called, err := f.meta.Callee(clrmeta.Token(token))
	if err != nil || called.Type == 0 {
		return il.Uses
	}
	switch called.Name {
	case "Add", ".ctor", "InitializeArray", "SetCount", "AsSpan", "AsImmutableArray":
	default:
		return il.Uses
	}
	_, name, err := f.named(called.Type)
	if err != nil {
		return il.Uses
	}
	sig, err := clrmeta.ParseMethodSig(called.Signature)
	if err != nil {
		return il.Uses
	}
	ofArray := len(sig.Params) == 1 && sig.Params[0].Kind == clrmeta.SZArray
	switch owner := name.String(); {
	case called.Name == "Add" && sig.HasThis,
		owner == "System.Runtime.CompilerServices.RuntimeHelpers" && called.Name == "InitializeArray",
		owner == marshalType:
		return il.Fills
	case called.Name == ".ctor" && ofArray && (owner == "System.ReadOnlySpan`1" || owner == "System.Span`1"),
		owner == "System.Runtime.InteropServices.ImmutableCollectionsMarshal" && ofArray:
		return il.Passes
	case called.Name == ".ctor" && ofArray && strings.HasPrefix(owner, readOnlyPrefix):
		return il.Wraps
	}
	return il.Uses
}

// isForParams reports whether an object is made for a parameter that is declared with params, as C# makes it.
func (p *paramsFinder) isForParams(f *moduleFile, process session.ProcessID, x *il.Object) bool {
	if x.Callee == 0 || x.Op == il.OpNewarr && !x.Fixed {
		return false
	}
	called, err := f.meta.Callee(clrmeta.Token(x.Callee))
	if err != nil {
		return false
	}
	to, err := clrmeta.ParseMethodSig(called.Signature)
	if err != nil || len(to.Params) == 0 || !f.isMadeFor(&to.Params[len(to.Params)-1], x) {
		return false
	}
	return p.takesParams(f, process, clrmeta.Token(x.Callee))
}

// isMadeFor reports whether C# makes an object in this way for a parameter of a type: an array also for spans and for
// immutable arrays, or wrapped for interfaces.
func (f *moduleFile) isMadeFor(parameter *clrmeta.TypeSig, x *il.Object) bool {
	if x.Op == il.OpNewarr {
		return x.Within != 0 || parameter.Kind == clrmeta.SZArray ||
			parameter.Kind == clrmeta.GenericInst && parameter.Value
	}
	if parameter.Kind != clrmeta.Class && parameter.Kind != clrmeta.GenericInst {
		return false
	}
	made, err := f.meta.Callee(clrmeta.Token(x.Token))
	if err != nil {
		return false
	}
	_, name, err := f.named(made.Type)
	if err != nil {
		return false
	}
	if strings.HasPrefix(name.String(), readOnlyPrefix) {
		return true
	}
	of, err := f.meta.TypeName(parameter.Token)
	if err != nil {
		return false
	}
	constructor, err := clrmeta.ParseMethodSig(made.Signature)
	if err != nil {
		return false
	}
	switch of.String() {
	case listType, "System.Collections.Generic.IList`1", "System.Collections.Generic.ICollection`1":
		return name.String() == listType && f.hasCapacity(x, constructor)
	}
	return of.String() == name.String() && len(constructor.Params) == 0
}

// hasCapacity reports whether a list is made with the number of elements that it gets: a constant, which is in a
// variable if SetCount is given it, too; a list that gets none is made without.
func (f *moduleFile) hasCapacity(list *il.Object, constructor *clrmeta.MethodSig) bool {
	if len(constructor.Params) == 0 {
		return list.Fills == 0
	}
	if len(constructor.Params) != 1 || constructor.Params[0].Kind != clrmeta.Int32 {
		return false
	}
	fills, err := f.meta.Callee(clrmeta.Token(list.Fills))
	return list.Fixed || err == nil && fills.Name == "SetCount"
}

// takesParams reports whether callers of a function make what is its last argument, as far as its file says.
func (p *paramsFinder) takesParams(f *moduleFile, process session.ProcessID, token clrmeta.Token) bool {
	called, err := f.meta.Callee(token)
	if err != nil {
		return false
	}
	if called.Method != 0 {
		return f.meta.TakesParams(called.Method)
	}
	owner, name, err := f.named(called.Type)
	if err != nil {
		return false
	}
	if isOperator(name.String(), called.Name) {
		return false
	}
	declared := &callee.Declared{Module: f.key.path, Type: name.String(), Name: called.Name,
		Signature: called.Signature}
	if owner.Table() == clrmeta.TableTypeRef {
		if declared.Assembly, err = f.meta.AssemblyRefName(f.meta.Scope(owner)); err != nil {
			return false
		}
	}
	finder := p.finder(process, f.key.executable)
	found, ok := finder.Find(declared)
	if mvid := p.mvids[process][found.Path]; !ok || mvid != "" && !strings.EqualFold(mvid, found.MVID.String()) {
		return false // the file is of another build than the module that ran
	}
	return finder.TakesParams(found)
}

// isOperator reports whether a function is called for an operator: + of strings (rule string-concat finds those), and
// interpolation to a FormattableString. Nobody who writes these can do without the array.
func isOperator(typeName, name string) bool {
	return typeName == "System.String" && name == "Concat" ||
		typeName == "System.Runtime.CompilerServices.FormattableStringFactory" && name == "Create"
}

// finder looks for functions in the modules of a process.
func (p *paramsFinder) finder(process session.ProcessID, executable string) *callee.Finder {
	if known := p.finders[process]; known != nil {
		return known
	}
	open := p.r.bundled.within(executable)
	finder := &callee.Finder{Open: func(path string) (callee.File, error) { return open(path) }}
	for i := range p.r.out.Modules {
		if m := &p.r.out.Modules[i]; m.Process == process && m.Path != "" && !m.IsDynamic {
			finder.Loaded(m.Path)
		}
	}
	p.finders[process] = finder
	return finder
}
