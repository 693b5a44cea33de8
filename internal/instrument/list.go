package instrument

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/clrmeta"
	"github.com/clrprof/clrprof/internal/wire"
)

// maxFunctions bounds the functions that are listed of one module: rows of a metadata table have 24-bit numbers
// (ECMA-335 II.22), and the largest module of the frameworks has 50,000 functions.
const maxFunctions = 1 << 24

// ErrNoModule means that there was nothing to list.
var ErrNoModule = errors.New("no .NET module")

// Listed is a function of a module on disk and what was decided about it.
type Listed struct {
	Function
	Class Class
	Why   string
}

// Name is the function's name as patterns see it.
func (l Listed) Name() string { return l.Type + "." + l.Method }

// List decides about all functions of a module, or of all modules of a directory, in the order of the directory and
// then of the file. Files of a directory that are no .NET modules are passed over. Errors are those of reading, and
// wrap ErrNoModule or clrmeta's.
func (p Plan) List(path string) ([]Listed, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("listing functions: %w", err)
	}
	if !info.IsDir() {
		out, err := p.listModule(path)
		if errors.Is(err, clrmeta.ErrNotPE) || errors.Is(err, clrmeta.ErrNotManaged) {
			err = fmt.Errorf("%w: %w", ErrNoModule, err)
		}
		return out, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("listing functions: %w", err)
	}
	var out []Listed
	found := false
	for _, e := range entries {
		extension := strings.ToLower(filepath.Ext(e.Name()))
		if e.IsDir() || extension != ".dll" && extension != ".exe" {
			continue
		}
		list, err := p.listModule(filepath.Join(path, e.Name()))
		switch {
		case errors.Is(err, clrmeta.ErrNotPE), errors.Is(err, clrmeta.ErrNotManaged):
			continue
		case err != nil:
			return nil, err
		}
		found = true
		out = append(out, list...)
	}
	if !found {
		return nil, fmt.Errorf("directory %s: %w in it", path, ErrNoModule)
	}
	return out, nil
}

func (p Plan) listModule(path string) ([]Listed, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("listing functions: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("listing functions of %s: %w", path, err)
	}
	image, err := clrmeta.Open(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("listing functions of %s: %w", path, err)
	}
	module := Function{Module: filepath.Base(path), Framework: IsFramework(path, exists)}
	out, err := p.listImage(image, module)
	if err != nil {
		return nil, fmt.Errorf("listing functions of %s: %w", path, err)
	}
	return out, nil
}

func (p Plan) listImage(image *clrmeta.Image, f Function) ([]Listed, error) {
	m := image.Metadata()
	var out []Listed
	for row := uint32(1); row <= min(m.Rows(clrmeta.TableMethodDef), maxFunctions); row++ {
		token := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
		method, err := m.Method(token)
		if err != nil {
			return nil, err
		}
		typ, err := m.DeclaringType(token)
		if err != nil {
			return nil, err
		}
		name, err := m.TypeName(typ)
		if err != nil {
			return nil, err
		}
		if f.IL, err = image.BodySize(token); err != nil {
			return nil, err
		}
		f.Type, f.Method = name.String(), method.Name
		l := Listed{Function: f}
		l.Class, l.Why = p.Decide(f)
		out = append(out, l)
	}
	return out, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// frameworkNames begin the names of framework modules in programs that bring their own framework in one directory
// with the program's modules.
var frameworkNames = []string{"System.", "Microsoft."}

// IsFramework says whether a module on disk belongs to a framework: it lies in a directory of shared frameworks,
// …/shared/NAME/VERSION/, or beside the core library and is called as framework modules are. exists says whether
// there is a file.
func IsFramework(path string, exists func(string) bool) bool {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	directory, file := filepath.Split(path)
	parts := strings.Split(filepath.Clean(directory), string(filepath.Separator))
	if n := len(parts); n >= 3 && parts[n-3] == "shared" {
		return true
	}
	if !exists(filepath.Join(directory, wire.CoreLibrary)) {
		return false
	}
	name := strings.TrimSuffix(file, filepath.Ext(file))
	for _, prefix := range frameworkNames {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "System" || name == "mscorlib" || name == "netstandard" || name == "WindowsBase"
}
