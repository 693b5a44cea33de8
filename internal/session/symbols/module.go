package symbols

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/bundle"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/ppdb"
	"github.com/clrprof/clrprof/internal/session"
)

// moduleKey says which modules are one: several processes may have loaded the
// same file.
type moduleKey struct {
	path, mvid string
	executable string           // of the process, if the path may lead into it
	own        session.ModuleID // of a module without a file, else 0
}

// answer is that to a question which is asked only where somebody needs to know.
type answer uint8

const (
	unknownYet answer = iota
	is
	isNot
)

// moduleFile is what is known about the modules of one key.
type moduleFile struct {
	key       moduleKey
	functions []int // into Output.Functions
	status    string
	pdbPath   string

	meta       *clrmeta.Metadata // nil if there is no file, or not the right one
	machines   map[clrmeta.Token]clrmeta.StateMachine
	tests      map[clrmeta.Token]string                     // attributes by method; nil until something needs them
	web        answer                                       // whether it refers to ASP.NET Core
	siblingsOf map[clrmeta.Token]map[string][]clrmeta.Token // by type and siblingName
	closuresOf map[clrmeta.Token][]clrmeta.Token            // by the type around them
	loadPDB    func() (*ppdb.PDB, error)                    // nil without symbols; reads them again
}

// keyOf returns the key of a module in a process with that executable.
func keyOf(m *session.Module, executable string) moduleKey {
	if m.Path == "" || m.IsDynamic {
		return moduleKey{own: m.ID}
	}
	key := moduleKey{path: m.Path, mvid: m.MVID}
	if !path.IsAbs(m.Path) || path.Dir(m.Path) == path.Dir(executable) {
		key.executable = executable
	}
	return key
}

// openModules opens the file of each module once and sets the resolved columns
// of the modules. It returns the keys in the order of the modules.
func (r *resolver) openModules(open Opener) []moduleKey {
	var keys []moduleKey
	executable := executables(r.in.Processes)
	bundled := bundles{open, map[string]map[string]bundle.Entry{}}
	r.bundled = bundled
	for i := range r.out.Modules {
		m := &r.out.Modules[i]
		key := keyOf(m, executable[m.Process])
		f := r.files[key]
		if f == nil {
			f = &moduleFile{key: key, status: session.SymbolsNone}
			if key.own == 0 {
				f.open(bundled.within(key.executable), key)
			}
			r.files[key] = f
			keys = append(keys, key)
		}
		r.moduleFiles[m.ID] = f
		m.Symbols, m.SymbolsPath = f.status, f.pdbPath
	}
	r.decideOrigins(bundled, executable)
	for i := range r.out.Functions {
		f := r.moduleFiles[r.out.Functions[i].Module]
		if f == nil { // functions of no module form a file of their own
			key := moduleKey{own: -1}
			if r.files[key] == nil {
				r.files[key] = &moduleFile{}
				keys = append(keys, key)
			}
			f = r.files[key]
		}
		f.functions = append(f.functions, i)
	}
	return keys
}

// open reads the assembly and finds its PDB.
func (f *moduleFile) open(open Opener, key moduleKey) {
	file, err := open(key.path)
	if err != nil {
		f.status = session.SymbolsUnreadable
		return
	}
	defer file.Close() // nothing was written
	image, err := clrmeta.Open(file, file.Size())
	if err != nil {
		f.status = session.SymbolsUnreadable
		return
	}
	mvid, err := image.Metadata().MVID()
	if err != nil {
		f.status = session.SymbolsUnreadable
		return
	}
	if key.mvid != "" && !strings.EqualFold(mvid.String(), key.mvid) {
		f.status = session.SymbolsMismatch
		return
	}
	f.meta = image.Metadata()
	f.machines = map[clrmeta.Token]clrmeta.StateMachine{}
	machines, _ := f.meta.StateMachines() // those up to an error are as good as any
	for _, m := range machines {
		f.machines[m.Type] = m
	}
	debug, err := image.Debug()
	if err != nil {
		f.status = session.SymbolsUnreadable
		return
	}
	f.findPDB(open, key, debug)
}

// findPDB looks for the PDB where the compilers and build tools put it: in the
// assembly, beside the assembly, at the path that the compiler wrote to. The
// first that matches is it.
func (f *moduleFile) findPDB(open Opener, key moduleKey, debug *clrmeta.Debug) {
	f.status = session.SymbolsNone
	try := func(from, status string, ids []clrmeta.CodeView, read func() ([]byte, error)) bool {
		load := func() (*ppdb.PDB, error) {
			b, err := read()
			if err != nil {
				return nil, err
			}
			return ppdb.Open(b)
		}
		pdb, err := load()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false
		case err != nil:
			if f.status == session.SymbolsNone {
				f.status = session.SymbolsUnreadable
			}
			return false
		case !matches(pdb.ID(), ids):
			f.status = session.SymbolsMismatch
			return false
		}
		f.status, f.pdbPath, f.loadPDB = status, from, load
		return true
	}
	if debug.HasEmbedded() && try(where(key.executable, key.path), session.SymbolsEmbedded, debug.CodeView,
		debug.Embedded) {
		return
	}
	for _, cv := range debug.CodeView {
		for _, p := range pdbPaths(key.path, cv.Path) {
			if try(where(key.executable, p), session.SymbolsFile, []clrmeta.CodeView{cv}, func() ([]byte, error) {
				return readFile(open, p)
			}) {
				return
			}
		}
	}
}

// where is what is said about a file: that a relative path is one in the directory
// of the executable, or in itself.
func where(executable, p string) string {
	if path.IsAbs(p) {
		return p
	}
	return path.Join(path.Dir(executable), p)
}

func matches(id ppdb.ID, ids []clrmeta.CodeView) bool {
	for _, cv := range ids {
		if cv.GUID == id.GUID && cv.Stamp == id.Stamp {
			return true
		}
	}
	return false
}

// pdbPaths lists where the PDB may be whose path the compiler wrote into an
// assembly, on this operating system or on Windows.
func pdbPaths(modulePath, written string) []string {
	base := path.Base(strings.ReplaceAll(written, `\`, "/"))
	if written == "" || base == "." || base == "/" || base == ".." {
		return nil
	}
	paths := []string{path.Join(path.Dir(modulePath), base)}
	if path.IsAbs(written) && path.Clean(written) != paths[0] {
		paths = append(paths, path.Clean(written))
	}
	return paths
}

func readFile(open Opener, p string) ([]byte, error) {
	file, err := open(p)
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	size := file.Size()
	if size < 0 || size > maxPDB {
		return nil, fmt.Errorf("%s: %d bytes are too many for a PDB", p, size)
	}
	b := make([]byte, size)
	if n, err := file.ReadAt(b, 0); int64(n) < size {
		return nil, fmt.Errorf("reading %s: %w", p, err)
	}
	return b, nil
}
