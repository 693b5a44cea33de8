package callee_test

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/callee"
	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestAllReferences finds the method of each reference in all assemblies of a runtime to one of another assembly:
// compilers wrote these, so there is a method for each.
func TestAllReferences(t *testing.T) {
	for _, runtime := range dotnettest.NeedRuntimes(t, 3) {
		t.Run(runtime.Name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(runtime.Root, "shared", "Microsoft.NETCore.App", runtime.Name,
				"*.dll"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no assemblies in %s: %v", runtime.Root, err)
			}
			finder := callee.Finder{Open: func(path string) (callee.File, error) { return symbols.OpenFile(path) }}
			finder.Loaded(files[0])
			found, missing, alike := 0, 0, 0
			for _, path := range files {
				for _, d := range references(t, path) {
					f, ok := finder.Find(&d)
					if ok {
						found++
						checkFound(t, &d, &f)
						inMemory := d
						inMemory.Module = "" // what types its signature speaks of is unknown then
						switch g, ok := finder.Find(&inMemory); {
						case ok && g.Token != f.Token:
							t.Errorf("%s.%s of a module in memory: found %v, not %v", d.Type, d.Name, g.Token, f.Token)
						case ok:
							alike++
						case g.Path == "":
							t.Errorf("%s.%s of a module in memory: not even %s is found", d.Type, d.Name, d.Assembly)
						}
						continue
					}
					if missing++; missing <= 20 {
						t.Errorf("%s: %s.%s of %s is not found", filepath.Base(path), d.Type, d.Name, d.Assembly)
					}
				}
			}
			if alike < found*3/4 {
				t.Errorf("of %d references %d are found from a module in memory", found, alike)
			}
			if found < 1000 {
				t.Errorf("%d references of %d files were found, %d were not", found, len(files), missing)
			}
		})
	}
}

// TestSharedFramework finds the functions of a framework that a program uses before any assembly of it is loaded.
func TestSharedFramework(t *testing.T) {
	dll := dotnettest.Target(t, "Web", dotnettest.Options{Framework: dotnettest.Net8, Web: true})
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		finder := callee.Finder{Open: func(path string) (callee.File, error) { return symbols.OpenFile(path) }}
		finder.Loaded(filepath.Join(runtime.Root, "shared", "Microsoft.NETCore.App", runtime.Name,
			"System.Private.CoreLib.dll"))
		found := 0
		for _, d := range references(t, dll) {
			if _, ok := finder.Find(&d); !ok {
				t.Errorf("%s: %s.%s of %s is not found", runtime.Name, d.Type, d.Name, d.Assembly)
			} else if d.Assembly == "Microsoft.AspNetCore" {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: %s calls nothing of ASP.NET Core", runtime.Name, dll)
		}
	}
}

// checkFound asserts what holds of each function that is found.
func checkFound(t *testing.T, d *callee.Declared, f *callee.Function) {
	t.Helper()
	meta := metadata(t, f.Path)
	method, err := meta.Method(f.Token)
	if err != nil || method.Name != d.Name {
		t.Errorf("%s.%s: found %v, which is %q, %v", d.Type, d.Name, f.Token, method.Name, err)
	}
	owner, err := meta.DeclaringType(f.Token)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := meta.TypeName(owner); err != nil || name.String() != f.Type {
		t.Errorf("%s.%s: found in %q, not %q, %v", d.Type, d.Name, name, f.Type, err)
	}
}

var read = map[string]*clrmeta.Metadata{}

func metadata(t *testing.T, path string) *clrmeta.Metadata {
	t.Helper()
	if read[path] == nil {
		file, err := symbols.OpenFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		image, err := clrmeta.Open(file, file.Size())
		if err != nil {
			return nil // a native library
		}
		read[path] = image.Metadata()
	}
	return read[path]
}

// references lists the methods of other assemblies that a module refers to (ECMA-335 II.22.25).
func references(t *testing.T, path string) []callee.Declared {
	t.Helper()
	meta := metadata(t, path)
	if meta == nil {
		return nil
	}
	tables := []clrmeta.Table{clrmeta.TableTypeDef, clrmeta.TableTypeRef, 0x1A, clrmeta.TableMethodDef,
		clrmeta.TableTypeSpec}
	var out []callee.Declared
	for row := uint32(1); row <= meta.Rows(clrmeta.TableMemberRef); row++ {
		coded := meta.Cell(clrmeta.TableMemberRef, row, 0)
		parent := clrmeta.MakeToken(tables[coded&7], coded>>3)
		blob, err := meta.BlobAt(meta.Cell(clrmeta.TableMemberRef, row, 2))
		if err != nil {
			t.Fatal(err)
		}
		if sig, err := clrmeta.ParseMethodSig(blob); err != nil || sig.Convention == clrmeta.VarArg {
			continue // a field
		}
		if parent.Table() == clrmeta.TableTypeSpec {
			spec, err := meta.TypeSpec(parent)
			if err != nil {
				t.Fatal(err)
			}
			if parent = spec.Token; spec.Kind != clrmeta.GenericInst {
				continue // a method of arrays
			}
		}
		if parent.Table() != clrmeta.TableTypeRef {
			continue
		}
		assembly, err := meta.AssemblyRefName(meta.Scope(parent))
		if err != nil {
			continue
		}
		typeName, err := meta.TypeName(parent)
		if err != nil {
			t.Fatal(err)
		}
		name, err := meta.StringAt(meta.Cell(clrmeta.TableMemberRef, row, 1))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, callee.Declared{Module: path, Assembly: assembly, Type: typeName.String(), Name: name,
			Signature: blob})
	}
	return out
}
