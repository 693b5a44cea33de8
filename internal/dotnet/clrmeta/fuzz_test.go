package clrmeta_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnet/clrmeta"
)

// seeds returns small real files. testdata/Tiny.cs says how they were made.
func seeds(t testing.TB, names ...string) [][]byte {
	t.Helper()
	var all [][]byte
	for _, name := range names {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// FuzzOpen reads arbitrary bytes as a PE file and then all that it offers.
func FuzzOpen(f *testing.F) {
	for _, b := range seeds(f, "tiny.dll", "embedded.dll") {
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		image, err := clrmeta.Open(bytes.NewReader(b), int64(len(b)))
		if (image == nil) != (err != nil) {
			t.Fatalf("image %v, error %v", image, err)
		}
		if err != nil {
			return
		}
		if debug, err := image.Debug(); err == nil && debug.HasEmbedded() {
			pdb, err := debug.Embedded()
			if err == nil {
				readAll(t, pdb)
			}
		}
		for row := range min(image.Metadata().Rows(clrmeta.TableMethodDef), 500) + 2 {
			method := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
			size, err := image.BodySize(method)
			body, bodyErr := image.Body(method)
			if (bodyErr == nil && len(body) != size) || (err != nil && bodyErr == nil) {
				t.Fatalf("%v: size %d, %v; body of %d bytes, %v", method, size, err, len(body), bodyErr)
			}
		}
		readEverything(image.Metadata())
	})
}

// FuzzParse reads arbitrary bytes as metadata.
func FuzzParse(f *testing.F) {
	for _, b := range seeds(f, "tiny.dll") {
		at := bytes.Index(b, []byte("BSJB"))
		f.Add(b[at:])
	}
	for _, b := range seeds(f, "../../ppdb/testdata/tiny.pdb") {
		f.Add(b)
	}
	f.Fuzz(readAll)
}

func readAll(t *testing.T, b []byte) {
	m, err := clrmeta.Parse(b)
	if (m == nil) != (err != nil) {
		t.Fatalf("metadata %v, error %v", m, err)
	}
	if err != nil {
		if !errors.Is(err, clrmeta.ErrMalformed) {
			t.Fatalf("error of another kind: %v", err)
		}
		return
	}
	readEverything(m)
}

// readEverything calls each reader for each row and one beyond. Errors are
// expected; panics and endless loops are not.
func readEverything(m *clrmeta.Metadata) {
	const enough = 500 // rows of one table, so that fuzzing stays fast
	m.MVID()
	m.ModuleName()
	m.AssemblyName()
	m.StateMachines()
	for row := range min(m.Rows(clrmeta.TableTypeDef)+2, enough) {
		t := clrmeta.MakeToken(clrmeta.TableTypeDef, row)
		m.TypeName(t)
		m.Methods(t)
		m.GenericParams(t)
		m.Enclosing(t)
	}
	for row := range min(m.Rows(clrmeta.TableTypeRef)+2, enough) {
		m.TypeName(clrmeta.MakeToken(clrmeta.TableTypeRef, row))
	}
	for row := range min(m.Rows(clrmeta.TableTypeSpec)+2, enough) {
		m.TypeSpec(clrmeta.MakeToken(clrmeta.TableTypeSpec, row))
	}
	for _, table := range []clrmeta.Table{clrmeta.TableMemberRef, clrmeta.TableStandAloneSig, clrmeta.TableMethodSpec} {
		for row := range min(m.Rows(table)+2, enough) {
			m.Callee(clrmeta.MakeToken(table, row))
		}
	}
	for row := range min(m.Rows(clrmeta.TableParam)+2, enough) {
		m.Attributes(clrmeta.MakeToken(clrmeta.TableParam, row))
	}
	for row := range min(m.Rows(clrmeta.TableMethodDef)+2, enough) {
		t := clrmeta.MakeToken(clrmeta.TableMethodDef, row)
		method, err := m.Method(t)
		if err == nil {
			clrmeta.ParseMethodSig(method.Signature)
		}
		m.DeclaringType(t)
		m.GenericParams(t)
		m.Params(t)
		m.Callee(t)
		m.Attributes(t)
		m.TakesParams(t)
		m.TextAttributes(t)
		m.Overridden(t)
	}
	for row := range min(m.Rows(clrmeta.TableMethodSpec)+2, enough) {
		m.TypeArguments(clrmeta.MakeToken(clrmeta.TableMethodSpec, row))
	}
}

// FuzzSignature decodes arbitrary bytes as signatures. A decoded tree is no
// larger than the limits allow.
func FuzzSignature(f *testing.F) {
	for _, s := range []string{
		"\x20\x00\x01",
		"\x30\x02\x04\x01\x15\x12\x05\x02\x1E\x00\x13\x01\x10\x11\x09\x1D\x0E\x14\x08\x03\x02\x04\x05\x01\x02",
		"\x05\x02\x01\x08\x41\x0E", "\x00\x01\x1F\x05\x10\x08\x20\x09\x1B\x00\x01\x01\x0F\x01",
		"\x20\x01\x01\x21\x01\x02\x03\x04\x05\x06\x07\x08",
	} {
		f.Add([]byte(s))
	}
	f.Add(bytes.Repeat([]byte{0x1D}, 200))
	f.Fuzz(func(t *testing.T, b []byte) {
		sig, err := clrmeta.ParseMethodSig(b)
		if (sig == nil) != (err != nil) {
			t.Fatalf("signature %v, error %v", sig, err)
		}
		if err == nil {
			n := count(t, &sig.Return, 1)
			for i := range sig.Params {
				n += count(t, &sig.Params[i], 1)
			}
			if n > len(b) {
				t.Fatalf("%d types in %d bytes", n, len(b))
			}
		}
		if typ, err := clrmeta.ParseTypeSig(b); (typ == nil) != (err != nil) {
			t.Fatalf("type %v, error %v", typ, err)
		}
	})
}

// count counts the types of a tree and checks its shape.
func count(t *testing.T, s *clrmeta.TypeSig, depth int) int {
	if depth > 70 {
		t.Fatal("tree is too deep")
	}
	n := 1
	switch s.Kind {
	case clrmeta.Pointer, clrmeta.ByRef, clrmeta.SZArray, clrmeta.Array, clrmeta.Pinned:
		n += count(t, s.Elem, depth+1)
	case clrmeta.FnPtr:
		n += count(t, &s.Method.Return, depth+1)
		for i := range s.Method.Params {
			n += count(t, &s.Method.Params[i], depth+1)
		}
	}
	for i := range s.Args {
		n += count(t, &s.Args[i], depth+1)
	}
	return n
}
