package ppdb

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// TestDecodePoints decodes blobs written by hand after the specification.
func TestDecodePoints(t *testing.T) {
	visible := func(offset uint32, d Document, lb, cb, le, ce int) SequencePoint {
		return SequencePoint{Offset: offset, Document: d, LineBegin: lb, ColumnBegin: cb, LineEnd: le, ColumnEnd: ce}
	}
	for name, c := range map[string]struct {
		blob string
		want []SequencePoint
	}{
		"one line": {"\x00" + "\x00\x00\x05\x0A\x09", []SequencePoint{visible(0, 1, 10, 9, 10, 14)}},
		"signature of locals": {"\xC0\x01\x00\x01" + "\x00\x00\x05\x0A\x09",
			[]SequencePoint{visible(0, 1, 10, 9, 10, 14)}},
		// The end column of a span of several lines is a signed difference.
		"several lines": {"\x00" + "\x02\x03\x7B\x0A\x09", []SequencePoint{visible(2, 1, 10, 9, 13, 6)}},
		// Later positions are signed differences to the last visible point.
		"backwards": {"\x00" + "\x00\x00\x05\x0A\x09" + "\x03\x00\x02\x7B\x06",
			[]SequencePoint{visible(0, 1, 10, 9, 10, 14), visible(3, 1, 7, 12, 7, 14)}},
		"hidden between": {"\x00" + "\x00\x00\x05\x0A\x09" + "\x04\x00\x00" + "\x01\x00\x01\x02\x00",
			[]SequencePoint{visible(0, 1, 10, 9, 10, 14), {Offset: 4, Document: 1, Hidden: true},
				visible(5, 1, 11, 9, 11, 10)}},
		"hidden first": {"\x00" + "\x00\x00\x00" + "\x01\x00\x01\x05\x03",
			[]SequencePoint{{Document: 1, Hidden: true}, visible(1, 1, 5, 3, 5, 4)}},
		"another document": {"\x00" + "\x00\x00\x05\x0A\x09" + "\x00\x02" + "\x03\x00\x01\x00\x00",
			[]SequencePoint{visible(0, 1, 10, 9, 10, 14), visible(3, 2, 10, 9, 10, 10)}},
		"hidden by its number": {"\x00" + "\x00\x00\x05\xC0\xFE\xEF\xEE\x00",
			[]SequencePoint{{Document: 1, Hidden: true}}},
		"no points": {"\x00", []SequencePoint{}},
	} {
		have, err := decodePoints([]byte(c.blob), 1)
		if diff := cmp.Diff(c.want, have); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +have)\n%s", name, err, diff)
		}
	}
	have, err := decodePoints([]byte("\x00\x07"+"\x00\x00\x05\x0A\x09"), 0)
	if diff := cmp.Diff([]SequencePoint{visible(0, 7, 10, 9, 10, 14)}, have); diff != "" || err != nil {
		t.Errorf("document in the header: %v (-want +have)\n%s", err, diff)
	}
	for name, blob := range map[string]string{
		"ends in a point":      "\x00\x00\x00\x05",
		"ends in a document":   "\x00\x00\x00\x05\x0A\x09\x00",
		"line below 0":         "\x00\x00\x00\x05\x01\x09" + "\x01\x00\x01\x01\x00",
		"column too large":     "\x00\x00\x00\x05\x0A\xC0\x01\x00\x00",
		"span ends before it":  "\x00\x00\x01\x01\x0A\x09",
		"offset beyond the IL": "\x00\xDF\xFF\xFF\xFF\x00\x05\x0A\x09" + "\x01\x00\x01\x00\x00",
		"invalid integer":      "\x00\xFF",
	} {
		if points, err := decodePoints([]byte(blob), 1); !errors.Is(err, clrmeta.ErrMalformed) || points != nil {
			t.Errorf("%s: have %+v, %v", name, points, err)
		}
	}
}

// TestTiny reads the PDB of clrmeta/testdata/Tiny.cs.
func TestTiny(t *testing.T) {
	b, err := os.ReadFile("testdata/tiny.pdb")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for d := range p.Documents() {
		name, err := p.DocumentName(Document(d + 1))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, name)
	}
	if diff := cmp.Diff([]string{"/src/Tiny.cs", "/elsewhere/Other.cs"}, documents); diff != "" {
		t.Errorf("documents (-want +have)\n%s", diff)
	}
	// The iterator is in a hidden region, and so has no debug information.
	if len(p.StateMachines()) != 1 || p.EntryPoint() != 0 {
		t.Errorf("state machines %v, entry point %v", p.StateMachines(), p.EntryPoint())
	}
	for _, d := range []Document{0, 3} {
		if name, err := p.DocumentName(d); !errors.Is(err, clrmeta.ErrMalformed) {
			t.Errorf("document %d: have %q, %v", d, name, err)
		}
	}
	for _, token := range []clrmeta.Token{0, 0x06000000, 0x06FFFFFF, 0x02000001} {
		if points, err := p.SequencePoints(token); !errors.Is(err, clrmeta.ErrMalformed) || points != nil {
			t.Errorf("%v: have %v, %v", token, points, err)
		}
	}
}

func TestNotAPortablePDB(t *testing.T) {
	if _, err := Open([]byte(windowsMagic + "\x1aDS\x00\x00\x00")); !errors.Is(err, ErrWindows) {
		t.Errorf("Windows PDB: %v", err)
	}
	for _, b := range []string{"", "BSJB", "\x7fELF"} {
		if p, err := Open([]byte(b)); !errors.Is(err, clrmeta.ErrMalformed) || p != nil {
			t.Errorf("%q: %v", b, err)
		}
	}
}
