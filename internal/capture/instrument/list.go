package instrument

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/probes"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/usercode"
	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/pattern"
)

// maxFunctions bounds the functions that are listed of one module: rows of a metadata table have 24-bit numbers
// (ECMA-335 II.22), and the largest module of the frameworks has 50,000 functions.
const maxFunctions = 1 << 24

// implAsync is the flag of methods that the runtime suspends itself: MethodImplAttributes.Async of .NET 10.
const implAsync = 0x2000

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
	file, err := openfile.OpenRegular(path)
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
	module := Function{Module: filepath.Base(path), Foreign: p.foreign(path)}
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
		body, err := image.Body(token)
		if err != nil {
			return nil, err
		}
		f.IL, f.Refused, f.Async = len(body), probes.None, method.Impl&implAsync != 0
		f.Extern = method.IsExtern()
		if f.IL > 0 {
			f.Refused = probes.Refuse(body)
		}
		f.Type, f.Method = name.String(), method.Name
		l := Listed{Function: f}
		l.Class, l.Why = p.Decide(f)
		out = append(out, l)
	}
	return out, nil
}

// foreign says whose code a module on disk is if it is not the user's, else "". A folder that is the user's because
// nothing else is, is not known here: it depends on the command.
func (p Plan) foreign(path string) usercode.Origin {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	mine := func(name string) bool { return pattern.First(p.Mine.Include, pattern.ModuleNames(name)) != "" }
	if origin := opener(here).originOf(path, mine); !origin.IsUser() {
		return origin
	}
	return ""
}
