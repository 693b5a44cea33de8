package symbols

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/callee"
	"github.com/clrprof/clrprof/internal/clrmeta"
	"github.com/clrprof/clrprof/internal/il"
	"github.com/clrprof/clrprof/internal/session"
)

// paramsFinder finds the arrays that user code makes for parameters that are declared with params. An object is told by
// its line and type alone, so they count only where all arrays of a type that a line makes are of this kind.
type paramsFinder struct {
	r       *resolver
	arrays  map[session.ProcessID]map[string][]session.TypeID // one-dimensional ones that were allocated, by name
	finders map[session.ProcessID]*callee.Finder
	mvids   map[session.ProcessID]map[string]string // of loaded modules, by path
	made    map[int][]madeArray                     // by index of Output.Functions
}

// madeArray is an array that the code of a function makes.
type madeArray struct {
	place  place
	name   string // of its type; "": it depends on type arguments
	params bool
}

// newParamsFinder returns nil if arrays of params are not asked for.
func (r *resolver) newParamsFinder() *paramsFinder {
	if !r.in.ReadCode {
		return nil
	}
	p := &paramsFinder{r: r, arrays: map[session.ProcessID]map[string][]session.TypeID{},
		finders: map[session.ProcessID]*callee.Finder{}, mvids: map[session.ProcessID]map[string]string{},
		made: map[int][]madeArray{}}
	for i := range r.out.Modules {
		m := &r.out.Modules[i]
		if m.Path != "" && !m.IsDynamic {
			of := p.mvids[m.Process]
			if of == nil {
				of = map[string]string{}
				p.mvids[m.Process] = of
			}
			of[m.Path] = m.MVID
		}
	}
	for i := range r.out.Types {
		t := &r.out.Types[i]
		if t.Kind != session.TypeArray || t.Rank != 1 || t.Bounds {
			continue
		}
		of := p.arrays[t.Process]
		if of == nil {
			of = map[string][]session.TypeID{}
			p.arrays[t.Process] = of
		}
		of[t.Name] = append(of[t.Name], t.ID)
	}
	return p
}

// code is the code of the methods of a file, which is open while it is read.
type code struct {
	image *clrmeta.Image
	close io.Closer
}

// openCode opens a file once more, if it is still the same; the image is nil if not.
func (r *resolver) openCode(f *moduleFile) code {
	if f.meta == nil {
		return code{}
	}
	file, err := r.bundled.within(f.key.executable)(f.key.path)
	if err != nil {
		return code{}
	}
	image, err := clrmeta.Open(file, file.Size())
	if err == nil {
		was, _ := f.meta.MVID() // which was read before
		if mvid, err := image.Metadata().MVID(); err == nil && mvid == was {
			return code{image, file}
		}
	}
	file.Close() // nothing was written
	return code{}
}

// find looks at the functions of a file, whose lines are known: at those of user code that were on a stack.
func (p *paramsFinder) find(f *moduleFile, s *source) {
	if p == nil {
		return
	}
	var c code
	for _, i := range f.functions {
		row := &p.r.out.Functions[i]
		if !p.r.isUser(row.Module) || row.Kind != session.FunctionMethod || len(p.arrays[row.Process]) == 0 ||
			len(p.r.instructions[row.ID]) == 0 {
			continue
		}
		if c.image == nil {
			if c = p.r.openCode(f); c.image == nil {
				return
			}
			defer c.close.Close() // nothing was written
		}
		p.made[i] = p.findIn(f, s, c.image, row)
	}
}

// findIn returns the arrays that a function makes; none if its code cannot be followed.
func (p *paramsFinder) findIn(f *moduleFile, s *source, image *clrmeta.Image, row *session.Function) []madeArray {
	if size, err := image.BodySize(clrmeta.Token(row.Token)); err != nil || size > maxBody {
		return nil
	}
	b, err := image.Body(clrmeta.Token(row.Token))
	if err != nil || bytes.IndexByte(b, il.OpNewarr) < 0 {
		return nil
	}
	body, err := il.ReadBody(b)
	if err != nil {
		return nil
	}
	arrays, err := il.Arrays(body, il.Callees{Signature: f.calls, Fills: f.fills})
	if err != nil || len(arrays) > maxArrays {
		return nil
	}
	var out []madeArray
	for _, a := range arrays {
		made := madeArray{name: f.arrayName(clrmeta.Token(a.Type)),
			params: a.Fixed && a.Callee != 0 && p.takesParams(f, row.Process, clrmeta.Token(a.Callee))}
		if point, ok := s.at(clrmeta.Token(row.Token), uint32(a.At)); ok {
			made.place = s.place(row.ID, point)
		}
		out = append(out, made)
	}
	return out
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

// fills reports whether a call is that by which constants get into an array.
func (f *moduleFile) fills(token uint32) bool {
	called, err := f.meta.Callee(clrmeta.Token(token))
	if err != nil || called.Name != "InitializeArray" || called.Type.Table() != clrmeta.TableTypeRef {
		return false
	}
	name, err := f.meta.TypeName(called.Type)
	return err == nil && name.String() == "System.Runtime.CompilerServices.RuntimeHelpers"
}

// arrayName names the array of an element that newarr names, as types of a session are named; "" if it depends on type
// arguments or cannot be read.
func (f *moduleFile) arrayName(element clrmeta.Token) string {
	sig := &clrmeta.TypeSig{Kind: clrmeta.Class, Token: element}
	if element.Table() == clrmeta.TableTypeSpec {
		var err error
		if sig, err = f.meta.TypeSpec(element); err != nil {
			return ""
		}
	}
	open := false
	variable := func(int) typeText {
		open = true
		return typeText{}
	}
	w := &sigWriter{writer: &writer{full: true}, meta: f.meta, machines: f.machines, typeVar: variable,
		methVar: variable}
	w.typeSig(&clrmeta.TypeSig{Kind: clrmeta.SZArray, Elem: sig})
	name := w.name()
	if open || w.over() || strings.HasPrefix(name, "?") || strings.Contains(name, "<?") ||
		strings.Contains(name, " ?") { // of a type that cannot be read
		return ""
	}
	return name
}

// takesParams reports whether callers of a function make the array that is its last argument, as far as its file says.
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

// finish stores which arrays are made for params, by line, whose ids are known, and for objects without a line.
func (p *paramsFinder) finish(ids map[place]session.LineID) {
	if p == nil {
		return
	}
	for i, made := range p.made {
		row := &p.r.out.Functions[i]
		lines := map[session.LineID]bool{} // that objects can have
		for _, at := range p.r.instructions[row.ID] {
			lines[p.r.out.Instructions[at].Line] = true
		}
		for line := range lines {
			for _, name := range paramsOnly(made, func(at place) bool { return line == 0 || ids[at] == line }) {
				for _, t := range p.arrays[row.Process][name] {
					p.r.out.ParamsArrays = append(p.r.out.ParamsArrays,
						session.ParamsArray{Function: row.ID, Line: line, Type: t})
				}
			}
		}
	}
	slices.SortFunc(p.r.out.ParamsArrays, func(a, b session.ParamsArray) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Type, b.Type))
	})
}

// paramsOnly returns the names of the arrays that are made for params and for nothing else in some places.
func paramsOnly(made []madeArray, in func(place) bool) (names []string) {
	for _, a := range made {
		if !in(a.place) || !a.params || a.name == "" || slices.Contains(names, a.name) {
			continue
		}
		other := func(b madeArray) bool { return in(b.place) && !b.params && (b.name == a.name || b.name == "") }
		if !slices.ContainsFunc(made, other) {
			names = append(names, a.name)
		}
	}
	return names
}
