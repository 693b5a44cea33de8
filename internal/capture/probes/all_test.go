package probes

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/il"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// callsOf gives the signatures of the calls in an assembly.
func callsOf(m *clrmeta.Metadata) il.Calls {
	known := map[uint32]il.Signature{}
	return func(token uint32) (il.Signature, error) {
		if s, ok := known[token]; ok {
			return s, nil
		}
		s, err := signatureOf(m, clrmeta.Token(token))
		if err == nil {
			known[token] = s
		}
		return s, err
	}
}

func signatureOf(m *clrmeta.Metadata, t clrmeta.Token) (il.Signature, error) {
	callee, err := m.Callee(t)
	if err != nil {
		return il.Signature{}, err
	}
	sig, err := clrmeta.ParseMethodSig(callee.Signature)
	if err != nil {
		return il.Signature{}, fmt.Errorf("%v: %w", t, err)
	}
	s := il.Signature{Args: len(sig.Params), Returns: sig.Return.Kind != clrmeta.Void, This: sig.HasThis &&
		!sig.ExplicitThis}
	if s.This {
		s.Args++
	}
	return s, nil
}

// frameworks are the folders of a runtime that have its assemblies, which may be links.
func frameworks(t *testing.T, r dotnettest.Runtime) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.Root, "shared", "*", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s has no frameworks: %v", r.Root, err)
	}
	return found
}

// assemblies are those of all runtimes and of the SDK, each file once.
func assemblies(t *testing.T) []string {
	t.Helper()
	in := dotnettest.Need(t)
	var roots []string
	for _, r := range in.Runtimes() {
		roots = append(roots, frameworks(t, r)...)
	}
	roots = append(roots, in.SDK())
	if sdk, ok := in.NewestSDK(); ok {
		roots = append(roots, filepath.Join(sdk.Dir(), "Roslyn"), filepath.Join(sdk.Dir(), "FSharp"), sdk.Dir())
	}
	return assembliesIn(t, roots...)
}

// someAssemblies are all assemblies, or in the quick suite all of the newest runtime and of the others one in six, by
// lot: most of their code is that of the newest, too.
func someAssemblies(t *testing.T) (out []string) {
	t.Helper()
	newest := assembliesIn(t, frameworks(t, dotnettest.Need(t).Newest())...)
	for i, path := range assemblies(t) {
		if slices.Contains(newest, path) || dotnettest.Drawn(i, 6) {
			out = append(out, path)
		}
	}
	return out
}

// assembliesIn are the assemblies in folders.
func assembliesIn(t *testing.T, roots ...string) []string {
	t.Helper()
	found := map[string]bool{}
	for _, root := range roots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			t.Fatal(err)
		}
		err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".dll") {
				if path, err = filepath.EvalSymlinks(path); err == nil {
					found[path] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// tally is what became of the methods.
type tally struct{ methods, refused int }

// TestAllMethods rewrites every method of every assembly, with probes around all calls and around none.
func TestAllMethods(t *testing.T) {
	r := startRewriter(t)
	var all tally
	paths := someAssemblies(t)
	for _, path := range paths {
		one := rewriteAssembly(t, r, path)
		all.methods += one.methods
		all.refused += one.refused
	}
	t.Logf("%d assemblies, %d methods, %d refused", len(paths), all.methods, all.refused)
	if all.methods < 100_000 || all.refused*1000 > all.methods {
		t.Errorf("of %d methods %d are refused", all.methods, all.refused)
	}
}

func rewriteAssembly(t *testing.T, r *rewriter, path string) (n tally) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	image, err := clrmeta.Open(f, info.Size())
	if errors.Is(err, clrmeta.ErrNotPE) {
		return n // a native library
	}
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return n
	}
	m := image.Metadata()
	calls := callsOf(m)
	for row := range m.Rows(clrmeta.TableMethodDef) {
		method := clrmeta.MakeToken(clrmeta.TableMethodDef, row+1)
		body, err := image.Body(method)
		if err != nil {
			t.Errorf("%s: %v: %v", path, method, err)
		}
		if len(body) == 0 {
			continue
		}
		n.methods++
		sites := int(row % 3)
		effects := effectsOf(body, calls)
		a := r.rewrite(body, sites, row%64 == 0, effects)
		if want := Refuse(body); a.result != int(want) {
			t.Errorf("%s: %v: result %d, but by the rules %d: %v", path, method, a.result, want, want)
		}
		if a.result != done {
			n.refused++
			t.Logf("%s: %v: refused, %d", path, method, a.result)
			continue
		}
		if err := check(m, method, body, a, sites, effects, calls); err != nil {
			t.Errorf("%s: %v: %v", path, method, err)
		}
	}
	return n
}

// effectsOf are those of the calls and loads of fields in a body. What gives a reference is made up: depths do not show it.
func effectsOf(body []byte, calls il.Calls) []effect {
	effects := []effect{}
	b, err := il.ReadBody(body)
	if err != nil {
		return effects
	}
	for at := 0; at < len(b.Code); {
		i, err := il.Read(b.Code, at)
		if err != nil {
			break
		}
		if i.IsCall() || i.Op == 0x7B || i.Op == 0x7E { // ldfld, ldsfld
			if pop, push, err := i.EffectOf(calls); err == nil {
				effects = append(effects, effect{i.Token(), uint32(i.Op), uint32(pop), uint32(push), i.Token() % 4})
			}
		}
		at = i.Next
	}
	slices.SortFunc(effects, func(a, b effect) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Token, b.Token))
	})
	return slices.Compact(effects)
}

func check(m *clrmeta.Metadata, method clrmeta.Token, body []byte, a rewritten, sites int, effects []effect,
	calls il.Calls) error {
	old, now, err := compare(body, a, sites, effects)
	if err != nil {
		return err
	}
	own, err := signatureOf(m, method)
	if err != nil {
		return err
	}
	// The probes' own signatures are not in the file.
	withProbes := func(token uint32) (il.Signature, error) {
		switch p := inserted(0, nil); token {
		case p.Signature:
			return il.Signature{Args: 1}, nil
		case p.TailSignature:
			return il.Signature{Args: 1, Returns: true}, nil
		}
		return calls(token)
	}
	depth, err := il.Verify(old, own.Returns, calls)
	if err != nil {
		return fmt.Errorf("before: %w", err)
	}
	// All code of compilers can be followed from front to back.
	if _, err := il.Objects(old, il.Callees{Signature: calls, Role: func(uint32) il.Role { return il.Uses }}); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	with, err := il.Verify(now, own.Returns, withProbes)
	if err != nil {
		return err
	}
	if with < depth || with > depth+probeStack {
		return fmt.Errorf("depth %d, before %d: %w", with, depth, il.ErrInvalid)
	}
	return nil
}
