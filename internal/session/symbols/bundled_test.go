package symbols_test

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/symbols"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// singleFile makes an executable with these files behind it, as .NET Core 3 did: version 1 of the format.
func singleFile(t *testing.T, files memory) []byte {
	t.Helper()
	// SHA-256 of ".net core bundle"
	mark, err := hex.DecodeString("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
	if err != nil {
		t.Fatal(err)
	}
	image := append(make([]byte, 64+8), mark...)
	entries := []byte{1, 0, 0, 0, 0, 0, 0, 0, byte(len(files)), 0, 0, 0, 2, 'i', 'd'}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		entries = binary.LittleEndian.AppendUint64(entries, uint64(len(image)))
		entries = binary.LittleEndian.AppendUint64(entries, uint64(len(files[name])))
		entries = append(append(entries, 1, byte(len(name))), name...)
		image = append(image, files[name]...)
	}
	binary.LittleEndian.PutUint64(image[64:], uint64(len(image)))
	return append(image, entries...)
}

// TestSingleFile looks for assemblies and PDBs that lie in the process's executable.
func TestSingleFile(t *testing.T) {
	dll, pdb, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugPortable})
	embedded, _, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugEmbedded})
	other, _, _ := compiled(t, dotnettest.Options{Debug: dotnettest.DebugPortable, NoOptimize: true})
	const exe = "/app/Names"
	for name, c := range map[string]struct {
		inside, outside memory
		path            string
		status, symbols string
	}{
		"relative path": {memory{"Names.dll": embedded}, nil, "Names.dll", session.SymbolsEmbedded,
			"/app/Names.dll"},
		"path beside": {memory{"Names.dll": embedded}, nil, "/app/Names.dll", session.SymbolsEmbedded,
			"/app/Names.dll"},
		"in a directory": {memory{"sub/Names.dll": embedded}, nil, "sub/Names.dll", session.SymbolsEmbedded,
			"/app/sub/Names.dll"},
		"PDB beside": {memory{"Names.dll": dll}, memory{"/app/Names.pdb": pdb}, "Names.dll",
			session.SymbolsFile, "/app/Names.pdb"},
		"PDB inside": {memory{"Names.dll": dll, "Names.pdb": pdb}, nil, "Names.dll", session.SymbolsFile,
			"/app/Names.pdb"},
		"inside before beside": {memory{"Names.dll": embedded}, memory{"/app/Names.dll": other}, "Names.dll",
			session.SymbolsEmbedded, "/app/Names.dll"},
		"relative but beside": {memory{}, memory{"/app/Names.dll": embedded}, "Names.dll", session.SymbolsEmbedded,
			"/app/Names.dll"},
		"a file before a bundle": {memory{"Names.dll": other}, memory{"/app/Names.dll": embedded}, "/app/Names.dll",
			session.SymbolsEmbedded, "/app/Names.dll"},
		"elsewhere, not within": {memory{"Names.dll": embedded}, nil, "/lib/Names.dll", session.SymbolsUnreadable,
			""},
		"not in the bundle":       {memory{"Other.dll": embedded}, nil, "Names.dll", session.SymbolsUnreadable, ""},
		"truncated in the bundle": {memory{"Names.dll": dll[:3000]}, nil, "Names.dll", session.SymbolsUnreadable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := memory{exe: singleFile(t, c.inside), "/usr/bin/other": singleFile(t, memory{"Names.dll": other})}
			maps.Copy(files, c.outside)
			out := symbols.Resolve(symbols.Input{
				Processes: []session.Process{{ID: 1, Path: exe}, {ID: 2, Path: "/usr/bin/other"}},
				Modules:   []session.Module{{ID: 7, Process: 2, Path: c.path}, {ID: 8, Process: 1, Path: c.path}},
				Functions: []session.Function{{ID: 1, Process: 1, Module: 8, Kind: session.FunctionMethod,
					Token:   mainToken(t, dll),
					RawType: "Program", RawName: "Overload", Signature: []byte("\x20\x01\x01\x08")}},
			}, files.open, nil)
			if m := out.Modules[1]; m.Symbols != c.status || m.SymbolsPath != c.symbols {
				t.Errorf("have %s %q, want %s %q", m.Symbols, m.SymbolsPath, c.status, c.symbols)
			}
			if f := out.Functions[0]; f.Name != "Program.Overload(int)" || (f.Line != 0) != (c.symbols != "") {
				t.Errorf("named %s, line %d", f.Name, f.Line)
			}
		})
	}
}
