package symbols

import (
	"github.com/clrprof/clrprof/internal/dotnet/bundle"
	"github.com/clrprof/clrprof/internal/dotnet/ppdb"
	"github.com/clrprof/clrprof/internal/session"
)

// Sources says what symbols know of source files, long after they were resolved: modules and their symbols are looked
// for again, and used if they are the same. It belongs to one goroutine.
type Sources struct {
	executable map[session.ProcessID]string
	bundled    bundles
	found      map[moduleKey]*ppdb.PDB // nil: there is none
}

// NewSources returns what is known of the sources of modules of these processes.
func NewSources(processes []session.Process, open Opener) *Sources {
	return &Sources{executables(processes), bundles{open, map[string]map[string]bundle.Entry{}},
		map[moduleKey]*ppdb.PDB{}}
}

// Source is what symbols know of a source file.
type Source struct {
	hash     ppdb.Hash
	embedded []byte
}

// Known reports whether it is known what the compiler read.
func (s Source) Known() bool { return s.hash.Known() }

// Is reports whether a content is known to be what the compiler read.
func (s Source) Is(content []byte) bool { return s.hash.Is(content) }

// Embedded returns the source itself, nil if the symbols do not hold it, or something else than what the compiler read.
func (s Source) Embedded() []byte { return s.embedded }

// Find returns what the symbols of a module know of a source file. Nothing is known without symbols.
func (x *Sources) Find(m *session.Module, file string) Source {
	pdb := x.symbols(m)
	if pdb == nil {
		return Source{}
	}
	d := pdb.FindDocument(file)
	if d == 0 {
		return Source{}
	}
	hash, err := pdb.DocumentHash(d)
	if err != nil {
		return Source{}
	}
	embedded, err := pdb.EmbeddedSource(d)
	if err != nil || !hash.Is(embedded) {
		embedded = nil
	}
	return Source{hash, embedded}
}

// symbols returns the symbols of a module, nil if they are not there.
func (x *Sources) symbols(m *session.Module) *ppdb.PDB {
	if m.Symbols != session.SymbolsFile && m.Symbols != session.SymbolsEmbedded {
		return nil
	}
	key := keyOf(m, x.executable[m.Process])
	pdb, known := x.found[key]
	if known || key.own != 0 {
		return pdb
	}
	f := &moduleFile{}
	if f.open(x.bundled.within(key.executable), key); f.loadPDB != nil {
		if read, err := f.loadPDB(); err == nil {
			pdb = read
		}
	}
	x.found[key] = pdb
	return pdb
}
