package symbols_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// memory is a file system of files by path. A nil file cannot be opened.
type memory map[string][]byte

type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error { return nil }

func (m memory) open(path string) (symbols.File, error) {
	b, ok := m[path]
	if !ok {
		return nil, fmt.Errorf("opening %s: %w", path, fs.ErrNotExist)
	}
	if b == nil {
		return nil, fmt.Errorf("opening %s: %w", path, fs.ErrPermission)
	}
	return memoryFile{bytes.NewReader(b)}, nil
}

// compiled returns an assembly and its PDB, nil if that is embedded.
func compiled(t *testing.T, o dotnettest.Options) (dll, pdb []byte, path string) {
	t.Helper()
	_, path = names(t, o)
	dll, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if o.Debug == dotnettest.DebugPortable {
		pdb, err = os.ReadFile(strings.TrimSuffix(path, ".dll") + ".pdb")
		if err != nil {
			t.Fatal(err)
		}
	}
	return dll, pdb, path
}

// writtenPath is the path of the PDB that the compiler wrote into the assembly.
func writtenPath(t *testing.T, dll []byte) string {
	t.Helper()
	image, err := clrmeta.Open(bytes.NewReader(dll), int64(len(dll)))
	if err != nil {
		t.Fatal(err)
	}
	debug, err := image.Debug()
	if err != nil || len(debug.CodeView) != 1 || !filepath.IsAbs(debug.CodeView[0].Path) {
		t.Fatalf("debug directory %+v, %v", debug, err)
	}
	return debug.CodeView[0].Path
}

// TestModuleStatus looks for symbols in file systems of every state. The
// functions are named in each of them.
func TestModuleStatus(t *testing.T) {
	dll, pdb, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugPortable})
	_, other, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugPortable, NoOptimize: true})
	embedded, _, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugEmbedded})
	none, _, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugNone})
	written := writtenPath(t, dll)
	windows := []byte("Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	const path, beside = "/app/Names.dll", "/app/Names.pdb"
	for name, c := range map[string]struct {
		files      memory
		mvid, path string
		status     string
		symbols    string
	}{
		"beside":                {memory{path: dll, beside: pdb}, "", path, session.SymbolsFile, beside},
		"where it was compiled": {memory{path: dll, written: pdb}, "", path, session.SymbolsFile, written},
		"beside is of another": {memory{path: dll, beside: other, written: pdb}, "", path, session.SymbolsFile,
			written},
		"embedded":               {memory{path: embedded}, "", path, session.SymbolsEmbedded, path},
		"embedded before beside": {memory{path: embedded, beside: pdb}, "", path, session.SymbolsEmbedded, path},
		"no PDB":                 {memory{path: dll}, "", path, session.SymbolsNone, ""},
		"compiled without":       {memory{path: none, beside: pdb}, "", path, session.SymbolsNone, ""},
		"PDB of another build":   {memory{path: dll, beside: other}, "", path, session.SymbolsMismatch, ""},
		"two of another build": {memory{path: dll, beside: other, written: other}, "", path, session.SymbolsMismatch,
			""},
		"truncated PDB":         {memory{path: dll, beside: pdb[:200]}, "", path, session.SymbolsUnreadable, ""},
		"empty PDB":             {memory{path: dll, beside: {}}, "", path, session.SymbolsUnreadable, ""},
		"forbidden PDB":         {memory{path: dll, beside: nil}, "", path, session.SymbolsUnreadable, ""},
		"forbidden, then found": {memory{path: dll, beside: nil, written: pdb}, "", path, session.SymbolsFile, written},
		"Windows PDB":           {memory{path: dll, beside: windows}, "", path, session.SymbolsUnreadable, ""},
		"no assembly":           {memory{beside: pdb}, "", path, session.SymbolsUnreadable, ""},
		"forbidden assembly":    {memory{path: nil}, "", path, session.SymbolsUnreadable, ""},
		"truncated assembly":    {memory{path: dll[:3000], beside: pdb}, "", path, session.SymbolsUnreadable, ""},
		"not an assembly":       {memory{path: []byte("#!/bin/sh\n")}, "", path, session.SymbolsUnreadable, ""},
		"assembly was replaced": {memory{path: dll, beside: pdb}, "00000000-0000-0000-0000-000000000001", path,
			session.SymbolsMismatch, ""},
		"no path": {memory{path: dll}, "", "", session.SymbolsNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var progress []int
			out := symbols.Resolve(symbols.Input{
				Modules: []session.Module{{ID: 1, Path: c.path, MVID: c.mvid}},
				Functions: []session.Function{{ID: 1, Module: 1, Kind: session.FunctionMethod, Token: mainToken(t, dll),
					RawType: "Program", RawName: "Overload", Signature: []byte("\x20\x01\x01\x08")}},
			}, c.files.open, func(done, total int) { progress = append(progress, done, total) })
			m := out.Modules[0]
			if m.Symbols != c.status || m.SymbolsPath != c.symbols {
				t.Errorf("have %s %q, want %s %q", m.Symbols, m.SymbolsPath, c.status, c.symbols)
			}
			f := out.Functions[0]
			if f.Name != "Program.Overload(int)" {
				t.Errorf("named %s", f.Name)
			}
			if found := c.symbols != ""; (f.Line != 0) != found || (f.File != 0) != found {
				t.Errorf("line %d of file %d", f.Line, f.File)
			}
			if diff := cmp.Diff([]int{1, 1}, progress); diff != "" {
				t.Errorf("progress (-want +have)\n%s", diff)
			}
		})
	}
}

// mainToken is the token of Program.Overload(int).
func mainToken(t *testing.T, dll []byte) session.Token {
	t.Helper()
	image, err := clrmeta.Open(bytes.NewReader(dll), int64(len(dll)))
	if err != nil {
		t.Fatal(err)
	}
	m := image.Metadata()
	for row := uint32(1); row <= m.Rows(clrmeta.TableMethodDef); row++ {
		method, err := m.Method(clrmeta.MakeToken(clrmeta.TableMethodDef, row))
		if err != nil {
			t.Fatal(err)
		}
		if method.Name == "Overload" && bytes.Equal(method.Signature, []byte("\x20\x01\x01\x08")) {
			return session.Token(method.Token)
		}
	}
	t.Fatal("no method Overload(int)")
	return 0
}

// TestOneFileOfManyModules opens a file once, whatever the number of processes
// that loaded it, and two files of one path but different builds twice.
func TestOneFileOfManyModules(t *testing.T) {
	dll, pdb, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugPortable})
	files, opened := memory{"/app/Names.dll": dll, "/app/Names.pdb": pdb}, map[string]int{}
	out := symbols.Resolve(symbols.Input{Modules: []session.Module{
		{ID: 1, Path: "/app/Names.dll"}, {ID: 2, Path: "/app/Names.dll"},
		{ID: 3, Path: "/app/Names.dll", MVID: "00000000-0000-0000-0000-000000000001"},
		{ID: 4, IsDynamic: true}, {ID: 5, IsDynamic: true},
	}}, func(path string) (symbols.File, error) {
		opened[path]++
		return files.open(path)
	}, nil)
	var have []string
	for _, m := range out.Modules {
		have = append(have, m.Symbols)
	}
	want := []string{session.SymbolsFile, session.SymbolsFile, session.SymbolsMismatch, session.SymbolsNone,
		session.SymbolsNone}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
	if opened["/app/Names.dll"] != 2 {
		t.Errorf("opened %v", opened)
	}
}
