package symbols_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// names compiles testdata/Names.cs.
func names(t *testing.T, o dotnettest.Options) (*dotnettest.Install, string) {
	t.Helper()
	in := dotnettest.Need(t)
	o.Name, o.Unsafe = "Names", true
	dll, err := in.Compile([]string{"testdata/Names.cs", "testdata/Frames.cs", "testdata/Reflect.cs"}, "", o)
	if err != nil {
		t.Fatal(err)
	}
	return in, dll
}

// reflected runs Names and returns the methods that it prints, as the agent
// would record them, and the names that it gives them.
func reflected(t *testing.T, rt dotnettest.Runtime, dll string, args ...string) (functions []session.Function,
	names []string) {
	t.Helper()
	cmd := rt.Command(dll, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			t.Fatalf("unexpected output %q", line)
		}
		token, err := strconv.ParseUint(f[0], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		signature, err := hex.DecodeString(f[3])
		if err != nil {
			t.Fatal(err)
		}
		functions = append(functions, session.Function{
			ID: session.FunctionID(len(functions) + 1), Module: 1, Kind: session.FunctionMethod,
			Token: session.Token(token), RawType: f[1], RawName: f[2], Signature: signature,
		})
		names = append(names, f[4])
	}
	return functions, names
}

// TestNamesEqualReflection compares the names of all methods of the core library
// and of our own program with those that a C# program makes from reflection.
func TestNamesEqualReflection(t *testing.T) {
	in, dll := names(t, dotnettest.Options{})
	for _, rt := range in.NewestAndOldest() {
		framework, err := filepath.Glob(rt.Root + "/shared/Microsoft.NETCore.App/" + rt.Name)
		if err != nil || len(framework) != 1 {
			t.Fatalf("framework of %s: %v %v", rt.Name, framework, err)
		}
		for _, assembly := range []string{"", "System.Private.CoreLib", "System.Linq", "System.Collections.Immutable",
			"System.Net.Http"} {
			path, args := dll, []string(nil)
			if assembly != "" {
				path, args = filepath.Join(framework[0], assembly+".dll"), []string{"reflect", assembly}
			}
			t.Run(rt.Name+"/"+assembly, func(t *testing.T) {
				functions, want := reflected(t, rt, dll, args...)
				compareNames(t, path, functions, want)
			})
		}
	}
}

// compareNames compares the names that have a truth, and requires of the others
// that they are complete and, within the assembly, different.
func compareNames(t *testing.T, path string, functions []session.Function, want []string) {
	out := symbols.Resolve(symbols.Input{
		Modules:   []session.Module{{ID: 1, Path: path}},
		Functions: functions,
	}, symbols.OpenFile, nil)
	seen := map[string]session.Function{}
	compared, wrong := 0, 0
	for i, f := range out.Functions {
		if want[i] != "" {
			compared++
			if f.Name != want[i] {
				wrong++
				t.Errorf("%08x\nhave %s\nwant %s", f.Token, f.Name, want[i])
			}
		}
		if strings.Contains(f.Name, "(?)") || strings.Contains(f.Name, "<?") || strings.Contains(f.Name, " ?") {
			wrong++
			t.Errorf("%08x %s/%s: incomplete name %s", f.Token, f.RawType, f.RawName, f.Name)
		}
		if other, ok := seen[f.Name]; ok {
			wrong++
			t.Errorf("%08x %s/%s and %08x %s/%s: both %s", other.Token, other.RawType, other.RawName, f.Token,
				f.RawType, f.RawName, f.Name)
		}
		seen[f.Name] = f
		if wrong > 20 {
			t.Fatal("too many differences")
		}
	}
	t.Logf("%d names, %d of them compared", len(functions), compared)
}

// openImage opens the metadata of a file, until the test ends.
func openImage(t *testing.T, dll string) *clrmeta.Image {
	t.Helper()
	f, err := symbols.OpenFile(dll)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	image, err := clrmeta.Open(f, f.Size())
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// typeTokens maps raw names to tokens.
func typeTokens(t *testing.T, dll string) map[string]session.Token {
	t.Helper()
	image := openImage(t, dll)
	tokens := map[string]session.Token{}
	for row := uint32(1); row <= image.Metadata().Rows(clrmeta.TableTypeDef); row++ {
		token := clrmeta.MakeToken(clrmeta.TableTypeDef, row)
		name, err := image.Metadata().TypeName(token)
		if err != nil {
			t.Fatal(err)
		}
		tokens[name.String()] = session.Token(token)
	}
	return tokens
}
