package callee

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// Limits.
const (
	// that are looked for, with those that are not there: each assembly in each folder, until it is found
	maxFiles    = 8192
	maxForwards = 8  // from assembly to assembly: facades lead to the type in one or two steps
	maxBases    = 64 // types that a type extends, one after the other
)

// Declared is a function as the code that calls it says.
type Declared struct {
	Module    string // path of the calling module, "" if it is no file
	Assembly  string // simple name; "": that of the calling module
	Type      string // as clrmeta.TypeName writes it
	Name      string
	Signature []byte // with tokens of the calling module
}

// Function is one that was found.
type Function struct {
	Path      string // of its module
	MVID      clrmeta.GUID
	Token     clrmeta.Token // MethodDef
	Type      string        // which declares it
	Signature []byte        // with tokens of its module
	IsExtern  bool          // it has no IL
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Finder looks for functions in files, each of which it reads once. It is not safe for concurrent use.
type Finder struct {
	Open func(path string) (File, error) // opens a module by the path that the runtime says

	loaded  map[string]string // paths by simple name
	folders []string
	shared  []string // folders of frameworks of which nothing may have been loaded
	files   map[string]*file
}

// file is what is known of an assembly's file; meta is nil if there is none.
type file struct {
	path     string
	mvid     clrmeta.GUID
	meta     *clrmeta.Metadata
	types    map[string]clrmeta.Token
	forwards map[string]string
}

// Loaded tells of a module that the program has loaded.
func (f *Finder) Loaded(path string) {
	if f.loaded == nil {
		f.loaded = map[string]string{}
	}
	folder, name := filepath.Split(path)
	if name = strings.ToLower(strings.TrimSuffix(name, filepath.Ext(name))); f.loaded[name] == "" {
		f.loaded[name] = path
	}
	if !slices.Contains(f.folders, folder) {
		f.folders = append(f.folders, folder)
		f.shared = append(f.shared, siblings(folder)...)
	}
}

// frameworks are the shared frameworks that programs use besides that of the runtime itself. Assemblies of theirs are
// called before any of them is loaded: the main function of a web server makes its builder.
var frameworks = []string{"Microsoft.AspNetCore.App"}

// siblings returns the folders of further shared frameworks of the version of the one in folder, shared/NAME/VERSION/:
// they are made and installed together.
func siblings(folder string) []string {
	version := filepath.Dir(folder)
	shared := filepath.Dir(filepath.Dir(version))
	if filepath.Base(shared) != "shared" {
		return nil
	}
	var out []string
	for _, name := range frameworks {
		out = append(out, filepath.Join(shared, name, filepath.Base(version))+"/")
	}
	return out
}

// Find returns the function that is declared; false: it is in no file that can be read, or cannot be distinguished
// from others of its name. Then it has the path and MVID of the module with its type, if there is one.
func (f *Finder) Find(d *Declared) (Function, bool) {
	from := f.open(d.Module)
	if from == nil {
		from = &file{}
	}
	in := from
	if d.Assembly != "" {
		in = f.assembly(d.Assembly, d.Module)
	}
	want := wanted{name: d.Name, signature: from.signature(d.Signature), shape: shape(d.Signature)}
	name, out, candidate := d.Type, Function{}, Function{}
	for range maxBases {
		var t clrmeta.Token
		if in, t = f.find(in, name, d.Module); t == 0 {
			break
		}
		if out.Path == "" {
			out = Function{Path: in.path, MVID: in.mvid}
		}
		method, how := in.method(t, &want)
		found := Function{in.path, in.mvid, method.Token, name, method.Signature, method.IsExtern()}
		if how == same {
			return found, true
		}
		if candidate.Path == "" && how != none {
			candidate = found
		}
		if strings.HasPrefix(d.Name, ".") { // constructors are not inherited
			break
		}
		if in, name = f.base(in, t, d.Module); in == nil {
			break
		}
	}
	if candidate.Token != 0 {
		return candidate, true
	}
	return out, false
}

// TakesParams reports whether callers of a function that was found make the array that is its last argument
// (clrmeta.Metadata.TakesParams).
func (f *Finder) TakesParams(x Function) bool {
	in := f.files[x.Path]
	return in != nil && in.meta != nil && in.meta.TakesParams(x.Token)
}

// find follows a type to the assembly that has it.
func (f *Finder) find(in *file, name, caller string) (*file, clrmeta.Token) {
	outer, _, _ := strings.Cut(name, "/")
	for range maxForwards {
		if in == nil || in.meta == nil {
			return nil, 0
		}
		if t := in.types[name]; t != 0 {
			return in, t
		}
		next := in.forwards[outer]
		if next == "" {
			return nil, 0
		}
		in = f.assembly(next, caller)
	}
	return nil, 0
}

// base returns the name of the type that a type extends, and where it is said to be; nil: none.
func (f *Finder) base(in *file, t clrmeta.Token, caller string) (*file, string) {
	base, err := in.meta.Extends(t)
	if err != nil || base == 0 {
		return nil, ""
	}
	if base.Table() == clrmeta.TableTypeSpec {
		sig, err := in.meta.TypeSpec(base)
		if err != nil || sig.Kind != clrmeta.GenericInst {
			return nil, ""
		}
		base = sig.Token
	}
	name, err := in.meta.TypeName(base)
	if err != nil {
		return nil, ""
	}
	if base.Table() == clrmeta.TableTypeDef {
		return in, name.String()
	}
	assembly, err := in.meta.AssemblyRefName(in.meta.Scope(base))
	if err != nil {
		return nil, ""
	}
	return f.assembly(assembly, caller), name.String()
}

// assembly returns the file of an assembly; nil: there is none.
func (f *Finder) assembly(name, caller string) *file {
	if path := f.loaded[strings.ToLower(name)]; path != "" {
		return f.open(path)
	}
	folders := slices.Concat(f.folders, f.shared)
	if caller != "" {
		folder, _ := filepath.Split(caller)
		folders = append([]string{folder}, folders...)
	}
	for _, folder := range folders {
		if in := f.open(folder + name + ".dll"); in != nil {
			return in
		}
	}
	return nil
}

// open reads a module; nil: it cannot be read.
func (f *Finder) open(path string) *file {
	if in, ok := f.files[path]; ok {
		return in
	}
	if len(f.files) == maxFiles {
		return nil // nothing is read twice
	}
	if f.files == nil {
		f.files = map[string]*file{}
	}
	in := f.read(path)
	f.files[path] = in
	return in
}

func (f *Finder) read(path string) *file {
	if path == "" || f.Open == nil {
		return nil
	}
	r, err := f.Open(path)
	if err != nil {
		return nil
	}
	defer r.Close() // nothing was written
	image, err := clrmeta.Open(r, r.Size())
	if err != nil {
		return nil
	}
	meta := image.Metadata()
	mvid, err := meta.MVID()
	if err != nil {
		return nil
	}
	return &file{path, mvid, meta, meta.Types(), meta.Forwards()}
}

// wanted is what a declaration says of a method.
type wanted struct {
	name      string
	signature string
	shape     string
}

// match says how well a type's methods are what is wanted.
type match int

const (
	none match = iota // none has the name
	like              // one may be it, or several
	same              // one is it
)

// method returns the method of a type with a name and a signature. If no signature is the same, which can be when a
// base type is generic or the calling module is no file, it is the only one of the same shape, or the only one with the
// name, if there is one.
func (in *file) method(t clrmeta.Token, want *wanted) (clrmeta.Method, match) {
	tokens, err := in.meta.Methods(t)
	if err != nil {
		return clrmeta.Method{}, none
	}
	var named, shaped []clrmeta.Method
	for _, token := range tokens {
		m, err := in.meta.Method(token)
		if err != nil || m.Name != want.name {
			continue
		}
		if in.signature(m.Signature) == want.signature {
			return m, same
		}
		named = append(named, m)
		if shape(m.Signature) == want.shape {
			shaped = append(shaped, m)
		}
	}
	switch {
	case len(shaped) == 1:
		return shaped[0], like
	case len(named) == 1:
		return named[0], like
	case len(shaped) > 1:
		return clrmeta.Method{}, like
	}
	return clrmeta.Method{}, none
}

// shape is a signature without the names of its types: it means the same in all modules, and needs no metadata.
func shape(blob []byte) string {
	sig, err := clrmeta.ParseMethodSig(blob)
	if err != nil {
		return "?" + string(blob)
	}
	return string(sig.AppendText(nil, (&file{}).typeName))
}

// signature writes a signature so that it can be compared with those of other modules: types by name, whatever assembly
// they are said to be of.
func (in *file) signature(blob []byte) string {
	sig, err := clrmeta.ParseMethodSig(blob)
	if err != nil || in.meta == nil {
		return "?" + string(blob)
	}
	return string(sig.AppendText(nil, in.typeName))
}

// typeName is how a signature names a type; without metadata it does not.
func (in *file) typeName(t clrmeta.Token) string {
	if in.meta == nil {
		return ""
	}
	name, err := in.meta.TypeName(t)
	if err != nil {
		return "?"
	}
	return name.String()
}
