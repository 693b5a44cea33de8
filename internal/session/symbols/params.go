package symbols

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/callee"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/session"
)

// paramsFinder finds the arrays and collections that user code makes for parameters that are declared with params. An
// object is known by its line and type alone, so they count only where all objects of a type that a line makes are of
// this kind.
type paramsFinder struct {
	r       *resolver
	types   map[session.ProcessID]map[string][]session.TypeID // that were allocated, by name
	finders map[session.ProcessID]*callee.Finder
	mvids   map[session.ProcessID]map[string]string // of loaded modules, by path
	made    map[int][]madeObject                    // by index of Output.Functions, of those that make some for params
	// open are those of which names depend on what is not known of type arguments, and allocated is what they made;
	// it is nil until something needs it.
	open      map[session.FunctionID]bool
	allocated map[session.FunctionID]map[session.TypeID]bool
}

// madeObject is what the code of a function makes: an object, or the array that a list has of its beginning.
type madeObject struct {
	place  place
	name   string // of its type; "": it cannot be read
	params bool
}

// newParamsFinder returns nil if what is made for params is not asked for.
func (r *resolver) newParamsFinder() *paramsFinder {
	if !r.in.ReadCode {
		return nil
	}
	p := &paramsFinder{r: r, types: map[session.ProcessID]map[string][]session.TypeID{},
		finders: map[session.ProcessID]*callee.Finder{}, mvids: map[session.ProcessID]map[string]string{},
		made: map[int][]madeObject{}, open: map[session.FunctionID]bool{}}
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
		of := p.types[t.Process]
		if of == nil {
			of = map[string][]session.TypeID{}
			p.types[t.Process] = of
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

// body returns the body of a method; nil: it has none, or one that is too large to be read.
func (c *code) body(method clrmeta.Token) []byte {
	if size, err := c.image.BodySize(method); err != nil || size > maxBody {
		return nil
	}
	b, err := c.image.Body(method)
	if err != nil {
		return nil
	}
	return b
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

// hasCode opens a file once more if it is not open yet; false: it is not to be had.
func (r *resolver) hasCode(f *moduleFile, c *code) bool {
	if c.image == nil {
		*c = r.openCode(f)
	}
	return c.image != nil
}

// find looks at the functions of a file, whose lines are known: at those of user code that were on a stack.
func (p *paramsFinder) find(f *moduleFile, s *source, c *code) {
	if p == nil {
		return
	}
	called := newCalledTokens(f)
	for _, i := range f.functions {
		row := &p.r.out.Functions[i]
		if !p.r.isUser(row.Module) || row.Kind != session.FunctionMethod || len(p.types[row.Process]) == 0 ||
			len(p.r.instructions[row.ID]) == 0 {
			continue
		}
		if !p.r.hasCode(f, c) {
			return
		}
		if made := p.findIn(called, s, c, row); made != nil {
			p.made[i] = made
		}
	}
}

// findIn returns the objects that a function makes, if some are for params; none if its code cannot be followed.
func (p *paramsFinder) findIn(called *calledTokens, s *source, c *code, row *session.Function) []madeObject {
	b := c.body(clrmeta.Token(row.Token))
	if bytes.IndexByte(b, il.OpNewarr) < 0 && bytes.IndexByte(b, il.OpNewobj) < 0 {
		return nil
	}
	body, err := il.ReadBody(b)
	if err != nil {
		return nil
	}
	objects, err := il.Objects(body, il.Callees{Signature: called.signature, Role: called.role})
	if err != nil || len(objects) > maxObjects {
		return nil
	}
	forParams := make([]bool, len(objects))
	for i := range objects {
		forParams[i] = p.isForParams(called.f, row.Process, &objects[i])
	}
	if !slices.Contains(forParams, true) {
		return nil
	}
	names := p.newObjectNames(called.f, row)
	var out []madeObject
	for i := range objects {
		made := madeObject{params: forParams[i]}
		if point, ok := s.at(clrmeta.Token(row.Token), uint32(objects[i].At)); ok {
			made.place = s.place(row.ID, point)
		}
		for _, made.name = range names.of(&objects[i]) {
			out = append(out, made)
		}
	}
	return out
}

// finish stores what is made for params, by line, whose ids are known, and for objects without a line.
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
			for t := range p.paramsOnly(row, made, func(at place) bool { return line == 0 || ids[at] == line }) {
				p.r.out.ParamsArrays = append(p.r.out.ParamsArrays,
					session.ParamsArray{Function: row.ID, Line: line, Type: t})
			}
		}
	}
	slices.SortFunc(p.r.out.ParamsArrays, func(a, b session.ParamsArray) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Type, b.Type))
	})
}

// paramsOnly returns the types of which all objects that a function makes in some places are made for params.
func (p *paramsFinder) paramsOnly(row *session.Function, made []madeObject,
	in func(place) bool) map[session.TypeID]bool {
	types := map[session.TypeID]bool{}
	for _, m := range made {
		if in(m.place) && m.params {
			for _, id := range p.typesOf(row, m.name) {
				types[id] = true
			}
		}
	}
	if len(types) == 0 {
		return nil
	}
	for _, m := range made {
		if in(m.place) && !m.params {
			maps.DeleteFunc(types, func(id session.TypeID, _ bool) bool {
				return m.name == "" || mayBe(p.r.types[id].Name, m.name)
			})
		}
	}
	return types
}

// typesOf returns the types of a name. If the name depends on what is not known of a type argument, they are those of
// which the function made objects itself.
func (p *paramsFinder) typesOf(row *session.Function, name string) (ids []session.TypeID) {
	if !strings.Contains(name, anyType) {
		return p.types[row.Process][name]
	}
	if p.allocated == nil {
		p.allocated = map[session.FunctionID]map[session.TypeID]bool{}
		if p.r.in.Allocated != nil {
			p.allocated = p.r.in.Allocated(p.open)
		}
	}
	for id := range p.allocated[row.ID] {
		if t := p.r.types[id]; t != nil && mayBe(t.Name, name) {
			ids = append(ids, id)
		}
	}
	return ids
}
