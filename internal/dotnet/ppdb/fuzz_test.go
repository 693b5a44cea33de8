package ppdb_test

import (
	"errors"
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
	"github.com/clrprof/clrprof/internal/dotnet/ppdb"
)

// FuzzOpen reads arbitrary bytes as a PDB and then all that it offers. The seeds
// are the PDBs of clrmeta/testdata/Tiny.cs and of testdata/Sources.cs.
func FuzzOpen(f *testing.F) {
	b, err := os.ReadFile("testdata/tiny.pdb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	if b, err = os.ReadFile("testdata/sources.pdb"); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		pdb, err := ppdb.Open(b)
		if (pdb == nil) != (err != nil) {
			t.Fatalf("PDB %v, error %v", pdb, err)
		}
		if err != nil {
			if !errors.Is(err, clrmeta.ErrMalformed) && !errors.Is(err, ppdb.ErrWindows) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		const enough = 500 // rows of one table, so that fuzzing stays fast
		for d := range min(pdb.Documents()+2, enough) {
			pdb.DocumentName(ppdb.Document(d))
			hash, err := pdb.DocumentHash(ppdb.Document(d))
			if source, _ := pdb.EmbeddedSource(ppdb.Document(d)); err == nil && hash.Is(source) && !hash.Known() {
				t.Fatalf("document %d: a source has a hash that is not known", d)
			}
		}
		for row := range min(pdb.Methods()+2, enough) {
			points, err := pdb.SequencePoints(clrmeta.MakeToken(clrmeta.TableMethodDef, uint32(row)))
			if err == nil {
				checkPoints(t, points, len(b))
			}
		}
		pdb.StateMachines()
	})
}

// checkPoints checks what SequencePoints promises.
func checkPoints(t *testing.T, points []ppdb.SequencePoint, size int) {
	if len(points) > size/3 {
		t.Fatalf("%d points in %d bytes", len(points), size)
	}
	for i, p := range points {
		if i > 0 && p.Offset <= points[i-1].Offset {
			t.Fatalf("point %d at %d after %d", i, p.Offset, points[i-1].Offset)
		}
		if p.Hidden != (p.LineBegin == 0 && p.LineEnd == 0 && p.ColumnBegin == 0 && p.ColumnEnd == 0) && p.Hidden {
			t.Fatalf("hidden point with a position: %+v", p)
		}
		if p.LineBegin < 0 || p.ColumnBegin < 0 || p.LineEnd < p.LineBegin || p.ColumnEnd < 0 {
			t.Fatalf("position out of range: %+v", p)
		}
	}
}
