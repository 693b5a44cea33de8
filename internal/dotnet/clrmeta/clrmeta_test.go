package clrmeta_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// TestCompressedIntegers has the examples of ECMA-335 II.23.2.
func TestCompressedIntegers(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  uint32
	}{
		{"\x03", 0x03}, {"\x7F", 0x7F}, {"\x80\x80", 0x80}, {"\xAE\x57", 0x2E57}, {"\xBF\xFF", 0x3FFF},
		{"\xC0\x00\x40\x00", 0x4000}, {"\xDF\xFF\xFF\xFF", 0x1FFFFFFF},
	} {
		r := clrmeta.NewBlobReader([]byte(c.bytes))
		if have := r.Unsigned(); have != c.want || r.Err() != nil || r.Len() != 0 {
			t.Errorf("% x: have %#x, %v", c.bytes, have, r.Err())
		}
	}
	for _, c := range []struct {
		bytes string
		want  int32
	}{
		{"\x06", 3}, {"\x7B", -3}, {"\x80\x80", 64}, {"\x01", -64}, {"\xC0\x00\x40\x00", 8192}, {"\x80\x01", -8192},
		{"\xDF\xFF\xFF\xFE", 268435455}, {"\xC0\x00\x00\x01", -268435456},
	} {
		r := clrmeta.NewBlobReader([]byte(c.bytes))
		if have := r.Signed(); have != c.want || r.Err() != nil || r.Len() != 0 {
			t.Errorf("% x: have %d, %v", c.bytes, have, r.Err())
		}
	}
	for _, b := range []string{"", "\x80", "\xC0\x00\x00", "\xE0", "\xFF\x00\x00\x00"} {
		r := clrmeta.NewBlobReader([]byte(b))
		if v := r.Unsigned(); v != 0 || !errors.Is(r.Err(), clrmeta.ErrMalformed) {
			t.Errorf("% x: have %d, %v", b, v, r.Err())
		}
	}
}

// encode writes an integer as II.23.2 says.
func encode(v uint32) []byte {
	switch {
	case v < 0x80:
		return []byte{byte(v)}
	case v < 0x4000:
		return []byte{0x80 | byte(v>>8), byte(v)}
	}
	return binary.BigEndian.AppendUint32(nil, 0xC0000000|v)
}

func TestCompressedIntegersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Uint32Range(0, 1<<29-1)).Draw(t, "values")
		var b []byte
		for _, v := range want {
			b = append(b, encode(v)...)
		}
		r := clrmeta.NewBlobReader(b)
		for _, v := range want {
			if have := r.Unsigned(); have != v {
				t.Fatalf("have %d, want %d", have, v)
			}
		}
		if r.Len() != 0 || r.Err() != nil {
			t.Fatalf("%d bytes left, %v", r.Len(), r.Err())
		}
	})
}

func open(t *testing.T, b []byte) *clrmeta.Image {
	t.Helper()
	image, err := clrmeta.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestTiny reads the assembly of testdata/Tiny.cs.
func TestTiny(t *testing.T) {
	image := open(t, seeds(t, "tiny.dll")[0])
	m := image.Metadata()
	machines, err := m.StateMachines()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]clrmeta.StateMachineKind{}
	for _, s := range machines {
		method, err := m.Method(s.Method)
		if err != nil {
			t.Fatal(err)
		}
		name, err := m.TypeName(s.Type)
		if err != nil {
			t.Fatal(err)
		}
		have[method.Name+" "+name.String()] = s.Kind
	}
	want := map[string]clrmeta.StateMachineKind{
		"Wait Tiny`1/<Wait>d__1": clrmeta.Async, "Each Tiny`1/<Each>d__2`1": clrmeta.Iterator,
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("state machines (-want +have)\n%s", diff)
	}
	debug, err := image.Debug()
	if err != nil {
		t.Fatal(err)
	}
	if len(debug.CodeView) != 1 || debug.CodeView[0].Path != "/src/tiny.pdb" || !debug.CodeView[0].Portable ||
		debug.HasEmbedded() || !debug.Reproducible {
		t.Errorf("debug directory %+v", debug)
	}
	if c := debug.Checksums; len(c) != 1 || c[0].Algorithm != "SHA256" || len(c[0].Sum) != 32 {
		t.Errorf("checksums %+v", c)
	}
}

// TestOverridden names what explicit implementations implement.
func TestOverridden(t *testing.T) {
	m := open(t, seeds(t, "tiny.dll")[0]).Metadata()
	have := map[string]string{}
	for row := uint32(1); row <= m.Rows(clrmeta.TableMethodDef); row++ {
		method, err := m.Method(clrmeta.MakeToken(clrmeta.TableMethodDef, row))
		if err != nil {
			t.Fatal(err)
		}
		typ, name, err := m.Overridden(method.Token)
		if err != nil {
			t.Fatal(err)
		}
		if typ.Table() == clrmeta.TableTypeRef {
			full, err := m.TypeName(typ)
			if err != nil {
				t.Fatal(err)
			}
			have[method.Name] = full.String() + " " + name
		}
	}
	for raw, want := range map[string]string{
		"System.IDisposable.Dispose":                   "System.IDisposable Dispose",
		"System.Collections.IEnumerator.get_Current":   "System.Collections.IEnumerator get_Current",
		"System.Collections.IEnumerable.GetEnumerator": "System.Collections.IEnumerable GetEnumerator",
	} {
		if have[raw] != want {
			t.Errorf("%s: have %q, want %q", raw, have[raw], want)
		}
	}
}

// TestEmbeddedLies changes the embedded PDB in every way that could cost memory
// or time.
func TestEmbeddedLies(t *testing.T) {
	good := seeds(t, "embedded.dll")[0]
	at := bytes.Index(good, []byte("MPDB"))
	for name, change := range map[string]func(b []byte){
		"signature":      func(b []byte) { b[at] = 'X' },
		"too large":      func(b []byte) { binary.LittleEndian.PutUint32(b[at+4:], 0xFFFFFFFF) },
		"cannot be":      func(b []byte) { binary.LittleEndian.PutUint32(b[at+4:], 100<<20) },
		"one byte more":  func(b []byte) { b[at+4]++ },
		"broken deflate": func(b []byte) { b[at+8] ^= 0xFF },
	} {
		b := bytes.Clone(good)
		change(b)
		debug, err := open(t, b).Debug()
		if err != nil {
			t.Fatal(err)
		}
		if pdb, err := debug.Embedded(); !errors.Is(err, clrmeta.ErrMalformed) || pdb != nil {
			t.Errorf("%s: have %d bytes, %v", name, len(pdb), err)
		}
	}
	debug, err := open(t, good).Debug()
	if err != nil {
		t.Fatal(err)
	}
	if pdb, err := debug.Embedded(); err != nil || !bytes.HasPrefix(pdb, []byte("BSJB")) {
		t.Errorf("the unchanged one: %v", err)
	}
}

// TestNotAnAssembly opens what is not one.
func TestNotAnAssembly(t *testing.T) {
	good := seeds(t, "tiny.dll")[0]
	header := int(binary.LittleEndian.Uint32(good[60:]))
	changed := func(at int, values ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], values)
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":           {nil, clrmeta.ErrNotPE},
		"ELF":             {append([]byte("\x7fELF"), make([]byte, 200)...), clrmeta.ErrNotPE},
		"DOS only":        {good[:64], clrmeta.ErrNotPE},
		"header far away": {changed(60, 0xFF, 0xFF, 0xFF, 0x7F), clrmeta.ErrNotPE},
		"no CLI header":   {changed(header+24+96+14*8, 0, 0, 0, 0), clrmeta.ErrNotManaged},
		"65535 sections":  {changed(header+6, 0xFF, 0xFF), clrmeta.ErrMalformed},
		"unknown magic":   {changed(header+24, 7, 7), clrmeta.ErrMalformed},
		"no metadata":     {changed(bytes.Index(good, []byte("BSJB")), 'X'), clrmeta.ErrMalformed},
		"truncated":       {good[:len(good)/2], clrmeta.ErrMalformed},
	} {
		if image, err := clrmeta.Open(bytes.NewReader(c.b), int64(len(c.b))); !errors.Is(err, c.want) || image != nil {
			t.Errorf("%s: have %v, want %v", name, err, c.want)
		}
	}
}

// shrinking is a file that has become shorter than its size says.
type shrinking struct{ *bytes.Reader }

func (s shrinking) ReadAt(b []byte, at int64) (int, error) {
	if at > 1000 {
		return 0, io.EOF
	}
	return s.Reader.ReadAt(b, at)
}

func TestFileShrinks(t *testing.T) {
	b := seeds(t, "tiny.dll")[0]
	if _, err := clrmeta.Open(shrinking{bytes.NewReader(b)}, int64(len(b))); !errors.Is(err, io.EOF) {
		t.Errorf("have %v, want an error that wraps io.EOF", err)
	}
}

// TestSignatureLimits decodes signatures beyond each limit.
func TestSignatureLimits(t *testing.T) {
	for name, b := range map[string]string{
		"too deep":              "\x00\x00" + strings.Repeat("\x1D", 100) + "\x08",
		"too long":              "\x00\x00\x08" + strings.Repeat("\x00", 1<<16),
		"too many parameters":   "\x00\xDF\xFF\xFF\xFF\x01",
		"too many arguments":    "\x00\x00\x15\x12\x05\xDF\xFF\xFF\xFF\x08",
		"rank":                  "\x00\x00\x14\x08\x21\x00\x00",
		"rank of 0":             "\x00\x00\x14\x08\x00\x00\x00",
		"more sizes than rank":  "\x00\x00\x14\x08\x02\xDF\xFF\xFF\xFF",
		"field":                 "\x06\x08",
		"locals":                "\x07\x01\x08",
		"unknown element":       "\x00\x00\x17",
		"ends":                  "\x00\x01\x01",
		"endless modifiers":     "\x00\x00" + strings.Repeat("\x20\x05", 1000),
		"generic instance of 8": "\x00\x00\x15\x08\x05\x01\x08",
	} {
		if sig, err := clrmeta.ParseMethodSig([]byte(b)); !errors.Is(err, clrmeta.ErrMalformed) || sig != nil {
			t.Errorf("%s: have %+v, %v", name, sig, err)
		}
	}
}

func TestTokensAndGUIDs(t *testing.T) {
	token := clrmeta.MakeToken(clrmeta.TableMethodDef, 0x123)
	if token != 0x06000123 || token.Table() != clrmeta.TableMethodDef || token.Row() != 0x123 ||
		token.String() != "0x06000123" {
		t.Errorf("token %v", token)
	}
	guid := clrmeta.GUID{0x67, 0x45, 0x23, 0x01, 0xab, 0x89, 0xef, 0xcd, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef}
	if have := guid.String(); have != "01234567-89ab-cdef-0123-456789abcdef" {
		t.Errorf("GUID %s", have)
	}
}
