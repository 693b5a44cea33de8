package bundle

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file is a file to be put into a bundle.
type file struct {
	path, content string
	compress      bool
}

// makeBundle writes a bundle of a version after a host of so many bytes.
func makeBundle(t testing.TB, major uint32, host int, files []file) []byte {
	t.Helper()
	var b, entries bytes.Buffer
	b.Write(make([]byte, host))
	at := b.Len()
	b.Write(make([]byte, 8))
	b.Write(signature)
	number := func(w io.Writer, v any) {
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	text := func(w *bytes.Buffer, s string) {
		w.Write(binary.AppendUvarint(nil, uint64(len(s))))
		w.WriteString(s)
	}
	for _, f := range files {
		offset, stored := b.Len(), int64(0)
		if f.compress {
			w, err := flate.NewWriter(&b, flate.BestCompression)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, f.content); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			stored = int64(b.Len() - offset)
		} else {
			b.WriteString(f.content)
		}
		number(&entries, int64(offset))
		number(&entries, int64(len(f.content)))
		if major >= 6 {
			number(&entries, stored)
		}
		entries.WriteByte(1)
		text(&entries, f.path)
	}
	header := b.Len()
	number(&b, []uint32{major, 0, uint32(len(files))})
	text(&b, "an id")
	if major >= 2 {
		b.Write(make([]byte, 40))
	}
	b.Write(entries.Bytes())
	binary.LittleEndian.PutUint64(b.Bytes()[at:], uint64(header))
	return b.Bytes()
}

func read(t testing.TB, image []byte) map[string]string {
	t.Helper()
	f := bytes.NewReader(image)
	entries, err := Read(f, f.Size())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		r, size, err := e.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, size)
		if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		got[e.Path] = string(b)
	}
	return got
}

func TestRead(t *testing.T) {
	long := strings.Repeat("d/", 200) + "x.dll"
	for _, tt := range []struct {
		major uint32
		host  int
		files []file
	}{
		{1, 100, []file{{"A.dll", "one", false}, {"sub/B.dll", "two", false}}},
		{2, 1<<20 - 20, []file{{"A.dll", "the signature crosses two pieces", false}}},
		{6, 3<<20 + 5, []file{{"A.dll", strings.Repeat("packed ", 1000), true}, {long, "plain", false},
			{"empty", "", false}}},
		{6, 8, nil},
	} {
		want := map[string]string{}
		for _, f := range tt.files {
			want[f.path] = f.content
		}
		if d := cmp.Diff(want, read(t, makeBundle(t, tt.major, tt.host, tt.files))); d != "" {
			t.Errorf("version %d: %s", tt.major, d)
		}
	}
}

func TestReadErrors(t *testing.T) {
	good := makeBundle(t, 6, 64, []file{{"A.dll", strings.Repeat("packed ", 100), true}})
	none := bytes.Clone(good)
	copy(none[64:], make([]byte, 8))
	for _, b := range [][]byte{nil, []byte("no host"), none, signature} {
		if _, err := Read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, errNone) {
			t.Errorf("%d bytes: %v, want ErrNone", len(b), err)
		}
	}
	for cut := len(good) - 1; cut > 64+8+len(signature); cut-- {
		if _, err := Read(bytes.NewReader(good[:cut]), int64(cut)); err == nil {
			t.Errorf("cut to %d of %d bytes it is read", cut, len(good))
		}
	}
	f := bytes.NewReader(good)
	entries, err := Read(f, f.Size())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{entries[0].Size - 1, entries[0].Size + 1, maxInflated + 1} {
		e := entries[0]
		e.Size = size
		if _, _, err := e.Open(f); err == nil {
			t.Errorf("inflated to %d bytes, which it has not", size)
		}
	}
}

// FuzzRead reads bundles of arbitrary bytes, and opens what they list.
func FuzzRead(f *testing.F) {
	f.Add(makeBundle(f, 1, 8, []file{{"A.dll", "one", false}}))
	f.Add(makeBundle(f, 6, 8, []file{{"A.dll", "one", true}, {"B", "", false}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		entries, err := Read(r, r.Size())
		if err != nil {
			return
		}
		for _, e := range entries {
			if content, size, err := e.Open(r); err == nil && size > 0 {
				_, _ = content.ReadAt(make([]byte, min(size, 16)), size-min(size, 16))
			}
		}
	})
}
