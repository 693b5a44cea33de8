package symbols_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// traits are types of the frameworks, by module, and what they are.
var traits = map[string]map[string]string{
	"System.Private.CoreLib.dll": {
		"System.Object": "", "System.String": "", "System.Int32": session.TraitValue,
		"System.DayOfWeek": session.TraitValue,
		"System.Collections.Generic.List`1/Enumerator": session.TraitValue, "System.Collections.Generic.List`1": "",
		"System.Exception": session.TraitException, "System.IO.FileNotFoundException": session.TraitException,
		"System.Action": session.TraitDelegate, "System.MulticastDelegate": session.TraitDelegate,
		"System.Threading.Thread": session.TraitFinalizer, "System.IO.FileStream": session.TraitFinalizer,
		"Microsoft.Win32.SafeHandles.SafeFileHandle": session.TraitFinalizer, // by CriticalFinalizerObject
		"System.IO.MemoryStream":                     "",
	},
	// These extend types of other modules.
	"System.Net.Primitives.dll": {"System.Net.Sockets.SocketException": session.TraitException,
		"System.Net.IPAddress": ""},
	"System.ComponentModel.TypeConverter.dll": {"System.Timers.Timer": session.TraitFinalizer}, // by Component
}

// TestTraits: what a class is by what it extends, within a module, in another one, and by generic types.
func TestTraits(t *testing.T) {
	for _, rt := range dotnettest.Need(t).NewestAndOldest() {
		t.Run(rt.Name, func(t *testing.T) {
			t.Parallel()
			in, want := symbols.Input{}, []string(nil)
			folder := filepath.Join(rt.Root, "shared", "Microsoft.NETCore.App", rt.Name)
			for _, name := range []string{"System.Private.CoreLib.dll", "System.Net.Primitives.dll",
				"System.ComponentModel.TypeConverter.dll",
				"Microsoft.Win32.Primitives.dll", "System.ComponentModel.Primitives.dll"} {
				module := session.Module{ID: session.ModuleID(len(in.Modules) + 1), Name: name,
					Path: filepath.Join(folder, name)}
				in.Modules = append(in.Modules, module)
				for typ, token := range defined(t, module.Path) {
					if trait, reported := traits[name][typ]; reported {
						in.Types = append(in.Types, session.Type{ID: session.TypeID(len(in.Types) + 1),
							Module: module.ID, Token: session.Token(token),
							Kind: session.TypeClass, RawName: typ})
						want = append(want, trait)
					}
				}
			}
			for i, typ := range symbols.Resolve(in, symbols.OpenFile, nil).Types {
				if typ.Trait != want[i] {
					t.Errorf("%s is %q, want %q", typ.RawName, typ.Trait, want[i])
				}
			}
			if len(want) < 15 {
				t.Errorf("only %d types were found", len(want))
			}
		})
	}
}

// defined returns the types of an assembly.
func defined(t *testing.T, path string) map[string]clrmeta.Token {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	image, err := clrmeta.Open(file, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	out, meta := map[string]clrmeta.Token{}, image.Metadata()
	for row := uint32(1); row <= meta.Rows(clrmeta.TableTypeDef); row++ {
		token := clrmeta.MakeToken(clrmeta.TableTypeDef, row)
		if name, err := meta.TypeName(token); err == nil {
			out[name.String()] = token
		}
	}
	return out
}
