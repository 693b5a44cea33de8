package ppdb

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// TestEmbeddedSource: sources come back as the compiler read them, compressed or not, and have their hash.
func TestEmbeddedSource(t *testing.T) {
	b, err := os.ReadFile("testdata/sources.pdb")
	if err != nil {
		t.Fatal(err)
	}
	pdb, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Sources.cs", "Small.cs"} {
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		d := pdb.FindDocument("/src/" + name)
		have, err := pdb.EmbeddedSource(d)
		if !bytes.Equal(have, want) || err != nil {
			t.Errorf("%s, document %d: %q, %v", name, d, have, err)
		}
		hash, err := pdb.DocumentHash(d)
		if err != nil || !hash.Known() || !hash.Is(want) || hash.Is(append(want, ' ')) {
			t.Errorf("%s: hash %+v, %v", name, hash, err)
		}
	}
	if d := pdb.FindDocument("/src/Other.cs"); d != 0 {
		t.Errorf("a file that is not there is document %d", d)
	}
	if source, err := pdb.EmbeddedSource(9); source != nil || err != nil {
		t.Errorf("document 9: %q, %v", source, err)
	}
}

// TestDamagedSource: a source that is not what it says gives an error, and costs no more than what it is.
func TestDamagedSource(t *testing.T) {
	b, err := os.ReadFile("testdata/sources.pdb")
	if err != nil {
		t.Fatal(err)
	}
	large, err := os.ReadFile("testdata/Sources.cs")
	if err != nil {
		t.Fatal(err)
	}
	size := []byte{byte(len(large)), byte(len(large) >> 8), 0, 0}
	at := bytes.Index(b, size)
	if at < 0 {
		t.Fatal("no size in the PDB")
	}
	for name, change := range map[string][]byte{
		"reserved": {0xFF, 0xFF, 0xFF, 0xFF}, "too large": {1, 0, 0, 1}, "larger than deflate can": {0, 0, 0x80, 0},
		"longer": {size[0], size[1] + 1, 0, 0},
		"broken": append(append([]byte{}, size...), 0xFF, 0xFF),
	} {
		damaged := bytes.Clone(b)
		copy(damaged[at:], change)
		pdb, err := Open(damaged)
		if err != nil {
			t.Fatal(err)
		}
		if source, err := pdb.EmbeddedSource(pdb.FindDocument("/src/Sources.cs")); !errors.Is(err,
			clrmeta.ErrMalformed) || source != nil {
			t.Errorf("%s: %q, %v", name, source, err)
		}
	}
}

func TestHash(t *testing.T) {
	sum := sha1.Sum([]byte("a"))
	old := Hash{hashSHA1, sum[:]}
	if !old.Known() || !old.Is([]byte("a")) || old.Is([]byte("b")) {
		t.Error("SHA-1 is not compared")
	}
	for _, h := range []Hash{{}, {hashSHA1, sum[:4]}, {hashSHA256, sum[:]}, {clrmeta.GUID{1}, sum[:]}} {
		if h.Known() || h.Is([]byte("a")) {
			t.Errorf("%+v is known", h)
		}
	}
}
