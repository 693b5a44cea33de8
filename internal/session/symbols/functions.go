package symbols

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
)

// function is a method to be named: the one that ran, or the one that the
// programmer wrote and a compiler took apart.
type function struct {
	file       *moduleFile
	typ        rawType
	typeToken  clrmeta.Token // TypeDef, 0 if unknown
	typeArgs   []session.TypeID
	typeParams []string
	token      clrmeta.Token // MethodDef, 0 if unknown
	method     string        // raw
	methArgs   []typeText    // nil if unknown
	methParams []string
	signature  []byte
	mark       string // " [async]"
}

// resolveFunctions names the functions of one file and finds their lines.
func (r *resolver) resolveFunctions(f *moduleFile) {
	slices.SortFunc(f.functions, func(a, b int) int { // see siblings
		return cmp.Compare(r.out.Functions[a].Token, r.out.Functions[b].Token)
	})
	for _, i := range f.functions {
		row := &r.out.Functions[i]
		row.Name, row.Test, row.Route = r.functionName(f, row), r.testOf(f, row), cut(r.routeOf(f, row))
	}
	r.resolveLines(f)
	f.siblingsOf, f.closuresOf, f.tests = nil, nil, nil // free the memory
}

func (r *resolver) functionName(f *moduleFile, row *session.Function) string {
	if row.Kind == session.FunctionPseudo {
		return clean(row.RawName)
	}
	fn := r.describeFunction(f, row)
	if row.Kind == session.FunctionDynamic {
		fn = function{file: &moduleFile{}, method: row.RawName, signature: row.Signature}
		if stub, ok := stubText(row.RawName); ok {
			return clean(stub)
		}
		if len(row.Signature) == 0 && row.RawName != "" {
			return clean(row.RawName)
		}
	}
	name := r.write(fn, false)
	if others := r.overloads(fn); len(others) > 0 && r.collides(fn, others, name, false) {
		name = r.write(fn, true)
		if r.collides(fn, others, name, true) {
			name += " [" + strings.TrimPrefix(fn.token.String(), "0x") + "]"
		}
	}
	return clean(name)
}

// describeFunction gathers what is known about a function. What the runtime
// recorded goes before what the file says.
func (r *resolver) describeFunction(f *moduleFile, row *session.Function) function {
	fn := function{
		file:      f,
		typ:       parseRawType(row.RawType),
		method:    row.RawName,
		signature: row.Signature,
	}
	if t := r.types[row.Type]; t != nil {
		fn.typeArgs = r.typeArgs[row.Type]
		if row.RawType == "" {
			fn.typ = parseRawType(t.RawName)
		}
	}
	if f.meta != nil {
		fn.fromFile(clrmeta.Token(row.Token))
	}
	if args := r.methodArgs[row.ID]; len(args) > 0 {
		fn.methArgs = make([]typeText, len(args))
		for i, id := range args {
			fn.methArgs[i] = r.argumentText(id, fn.methParams, i, 0)
		}
	}
	return r.written(fn)
}

// fromFile adds what the metadata says about a method. What cannot be read
// stays unknown.
func (fn *function) fromFile(token clrmeta.Token) {
	meta := fn.file.meta
	method, err := meta.Method(token)
	if err != nil {
		return
	}
	fn.token = token
	if fn.method == "" {
		fn.method = method.Name
	}
	if len(fn.signature) == 0 {
		fn.signature = method.Signature
	}
	fn.methParams, _ = meta.GenericParams(token)
	owner, err := meta.DeclaringType(token)
	if err != nil {
		return
	}
	fn.typeToken = owner
	fn.typeParams, _ = typeParams(meta, owner)
	if name, err := meta.TypeName(owner); len(fn.typ.path) == 0 && err == nil {
		fn.typ = fromMetadata(name)
	}
}

// written returns the function that the programmer wrote: of the method that
// runs a state machine the method that the machine was made from, and else the
// function itself.
func (r *resolver) written(fn function) function {
	if closure, ok := r.writtenFSharp(fn); ok {
		return closure
	}
	source, _, ok := stateMachineSource(fn.typ.last())
	if fn.method != "MoveNext" || !ok || len(fn.typ.path) < 2 {
		return fn
	}
	outer := fn.typ.outer()
	kickoff := function{file: fn.file, typ: outer, method: source, mark: " [state machine]"}
	if fn.file.meta != nil {
		machine := fn.file.machine(fn.typeToken, source)
		switch machine.Kind {
		case clrmeta.Async:
			kickoff.mark = " [async]"
		case clrmeta.Iterator:
			kickoff.mark = " [iterator]"
		case clrmeta.AsyncIterator:
			kickoff.mark = " [async iterator]"
		}
		if machine.Method != 0 {
			kickoff.method = ""
			kickoff.fromFile(machine.Method)
		}
	}
	// The machine has the type parameters of the enclosing types, then those of
	// the method.
	n := min(len(kickoff.typeParams), len(fn.typeArgs))
	if kickoff.typeToken == 0 {
		n = min(outer.arity(), len(fn.typeArgs))
	}
	kickoff.typeArgs = fn.typeArgs[:n]
	for i, id := range fn.typeArgs[n:] {
		kickoff.methArgs = append(kickoff.methArgs, r.argumentText(id, kickoff.methParams, i, 0))
	}
	if kickoff.token == 0 && len(kickoff.methArgs) == 0 && n < len(fn.typeParams) {
		kickoff.methParams = fn.typeParams[n:]
	}
	return kickoff
}

// machine finds the method of a state machine by its attribute, and without one
// by its name, if only one method has that.
func (f *moduleFile) machine(typ clrmeta.Token, source string) clrmeta.StateMachine {
	if m, ok := f.machines[typ]; ok {
		return m
	}
	if same := f.methodsNamed(f.meta.Enclosing(typ), source); len(same) == 1 {
		return clrmeta.StateMachine{Type: typ, Method: same[0]}
	}
	return clrmeta.StateMachine{}
}

// siblingName drops from a raw name what a shown name may leave out: the number
// of a local function, and the namespace of an explicitly implemented interface.
func siblingName(name string) string {
	if source, _, ok := fsharpClosure(name); ok {
		return source
	}
	if g, ok := parseGenerated(name); ok {
		if g.kind == 'g' {
			name, _, _ = strings.Cut(name, "|")
		}
		return name
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// siblings lists the methods of a type whose names could look the same. The
// types that were asked for last are remembered: functions are named in the
// order of their tokens, which is that of their types.
func (f *moduleFile) siblings(typ clrmeta.Token, name string) []clrmeta.Token {
	byName, seen := f.siblingsOf[typ]
	if !seen {
		if f.siblingsOf == nil || len(f.siblingsOf) == maxSiblingTypes {
			f.siblingsOf = map[clrmeta.Token]map[string][]clrmeta.Token{}
		}
		byName = map[string][]clrmeta.Token{}
		methods, _ := f.meta.Methods(typ) // none if typ is not a type
		for _, m := range methods[:min(len(methods), maxSiblings)] {
			if row, err := f.meta.Method(m); err == nil {
				key := siblingName(row.Name)
				byName[key] = append(byName[key], m)
			}
		}
		f.siblingsOf[typ] = byName
	}
	return byName[siblingName(name)]
}

// methodsNamed lists the methods of a type that have a name.
func (f *moduleFile) methodsNamed(typ clrmeta.Token, name string) []clrmeta.Token {
	var same []clrmeta.Token
	for _, m := range f.siblings(typ, name) {
		if row, err := f.meta.Method(m); err == nil && row.Name == name {
			same = append(same, m)
		}
	}
	return same
}

// overloads lists the other methods whose names could be the same: of the type,
// and for a local function also of the closures beside it.
func (r *resolver) overloads(fn function) []clrmeta.Token {
	if fn.file.meta == nil || fn.token == 0 {
		return nil
	}
	types := []clrmeta.Token{fn.typeToken}
	if g, ok := parseGenerated(fn.method); ok && g.kind == 'g' {
		outer := fn.file.withoutClosures(fn.typeToken)
		types = append([]clrmeta.Token{outer}, fn.file.closures(outer)...)
	}
	var others []clrmeta.Token
	for _, typ := range types {
		for _, m := range fn.file.siblings(typ, fn.method) {
			if m != fn.token && len(others) < maxOverloads {
				others = append(others, m)
			}
		}
	}
	return others
}

// withoutClosures returns the type that a programmer wrote around closures.
func (f *moduleFile) withoutClosures(typ clrmeta.Token) clrmeta.Token {
	for range maxTypeDepth {
		outer := f.meta.Enclosing(typ)
		if outer == 0 || !f.isClosure(typ) {
			break
		}
		typ = outer
	}
	return typ
}

func (f *moduleFile) isClosure(typ clrmeta.Token) bool {
	name, err := f.meta.TypeName(typ)
	if err != nil {
		return false
	}
	_, ok := closureID(parseSegment(name.Path[len(name.Path)-1]).name)
	return ok
}

// closures lists the closures in a type.
func (f *moduleFile) closures(outer clrmeta.Token) []clrmeta.Token {
	if f.closuresOf == nil {
		f.closuresOf = map[clrmeta.Token][]clrmeta.Token{}
		for row := uint32(1); row <= f.meta.Rows(clrmeta.TableTypeDef); row++ {
			typ := clrmeta.MakeToken(clrmeta.TableTypeDef, row)
			if enclosing := f.meta.Enclosing(typ); enclosing != 0 && f.isClosure(typ) {
				f.closuresOf[enclosing] = append(f.closuresOf[enclosing], typ)
			}
		}
	}
	return f.closuresOf[outer]
}

// collides reports whether one of the others has the name, too.
func (r *resolver) collides(fn function, others []clrmeta.Token, name string, full bool) bool {
	for _, m := range others {
		other := fn
		other.typ, other.method, other.signature = rawType{}, "", nil
		other.methArgs, other.methParams = nil, nil
		other.fromFile(m)
		if len(other.methParams) == len(fn.methParams) {
			other.methArgs = fn.methArgs
		}
		if other.token == m && r.write(other, full) == name {
			return true
		}
	}
	return false
}
