package symbols_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestEveryMethodHasItsOwnName names every method of several hundred assemblies
// from the file alone. No name may be incomplete, and none may be given twice
// within an assembly.
func TestEveryMethodHasItsOwnName(t *testing.T) {
	in := dotnettest.Need(t)
	var files []string
	for _, pattern := range []string{
		in.Root9() + "/shared/*/*/*.dll", in.SDK() + "/Roslyn/bincore/*.dll", in.SDK() + "/*.dll",
		filepath.Dir(in.MCP()) + "/*.dll",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if testing.Short() {
		files = files[:20]
	}
	total := 0
	for _, path := range files {
		functions := methodsOf(t, path)
		total += len(functions)
		out := symbols.Resolve(symbols.Input{
			Modules:   []session.Module{{ID: 1, Path: path}},
			Functions: functions,
		}, symbols.OpenFile, nil)
		seen := make(map[string]session.Token, len(out.Functions))
		for _, f := range out.Functions {
			if incomplete(f.Name) {
				t.Errorf("%s %08x: incomplete name %q", path, f.Token, f.Name)
			}
			if other := seen[f.Name]; other != 0 {
				t.Errorf("%s %08x and %08x: both %s", path, other, f.Token, f.Name)
			}
			seen[f.Name] = f.Token
		}
		if t.Failed() && total > 100000 {
			t.Fatal("stopping")
		}
	}
	t.Logf("%d methods of %d files", total, len(files))
}

// incomplete reports whether a name has something unknown in it. "int?" has not.
func incomplete(name string) bool {
	for _, s := range []string{"(?", "<?", " ?", ".?"} {
		if strings.Contains(name, s) {
			return true
		}
	}
	return name == ""
}

// methodsOf returns a function for each method, without recorded names.
func methodsOf(t *testing.T, path string) []session.Function {
	t.Helper()
	f, err := symbols.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	image, err := clrmeta.Open(f, f.Size())
	if err != nil {
		return nil // not a .NET module
	}
	var functions []session.Function
	for row := uint32(1); row <= image.Metadata().Rows(clrmeta.TableMethodDef); row++ {
		functions = append(functions, session.Function{
			ID: session.FunctionID(row), Module: 1, Kind: session.FunctionMethod,
			Token: session.Token(clrmeta.MakeToken(clrmeta.TableMethodDef, row)),
		})
	}
	return functions
}
