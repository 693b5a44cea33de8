package eventpipe

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// recorded are the streams that TestRuntimes -record wrote, by runtime.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.nettrace")
	if err != nil || len(paths) < 4 {
		t.Fatalf("%d streams: %v", len(paths), err)
	}
	out := map[string][]byte{}
	for _, p := range paths {
		if out[strings.TrimSuffix(filepath.Base(p), ".nettrace")], err = os.ReadFile(p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// readAll reads a stream to its end.
func readAll(r io.Reader) (got values, m *Counters, s *Stream, err error) {
	got, m, s = values{}, NewCounters(), NewStream(r)
	for {
		e, err := s.Next()
		if err != nil {
			return got, m, s, err
		}
		got.add(m.Add(e))
	}
}

// TestRecorded: the streams of the runtimes say what the program counted, however they arrive.
func TestRecorded(t *testing.T) {
	for name, data := range recorded(t) {
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data))} {
			got, m, s, err := readAll(r)
			if !errors.Is(err, io.EOF) || s.Lost() != 0 || len(m.Troubles()) != 0 {
				t.Errorf("%s: %v, %d lost, %q", name, err, s.Lost(), m.Troubles())
			}
			if !got.has(ofSource) {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}

// TestCut: a stream that ends anywhere says so, and what came before it is the same.
func TestCut(t *testing.T) {
	data := recorded(t)["10.0.12"]
	for n := range len(data) {
		if _, _, _, err := readAll(bytes.NewReader(data[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
}

// TestLost: where blocks of events are missing, the numbers of the others say how many.
func TestLost(t *testing.T) {
	for name, data := range recorded(t) {
		events, left, found := 0, bytes.Clone(data), 0
		count := NewStream(bytes.NewReader(data))
		for {
			if _, err := count.Next(); err != nil {
				break
			}
			events++
		}
		for at := 0; ; { // what was a block of events becomes an object that nobody knows
			i := bytes.Index(left[at:], []byte("EventBlock"))
			if i < 0 {
				break
			}
			at += i
			if found++; found%2 == 0 {
				copy(left[at:], "Elsewhere.")
			}
			at++
		}
		s, seen := NewStream(bytes.NewReader(left)), 0
		for {
			_, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen++
		}
		if seen == events || s.Lost() == 0 || s.Lost() > uint64(events-seen) {
			t.Errorf("%s: %d of %d events, %d lost", name, seen, events, s.Lost())
		}
	}
}

// TestDamaged: what is no stream is refused.
func TestDamaged(t *testing.T) {
	good := string(recorded(t)["8.0.33"])
	for what, data := range map[string]string{
		"other":        strings.Replace(good, "Nettrace", "nettrace", 1),
		"version":      strings.Replace(good, "\x05\x05\x01\x04\x00", "\x05\x05\x01\x05\x00", 1),
		"long name":    strings.Replace(good, "\x05\x00\x00\x00Trace", "\xff\xff\x00\x00Trace", 1),
		"undefined":    strings.Replace(good, "MetadataBlock", "MetadataBlack", 1),
		"uncompressed": strings.Replace(good, "EventBlock\x06", "EventBlock\x05", 1),
	} {
		if _, _, _, err := readAll(strings.NewReader(data)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzStream: whatever a process sends, there are events and then an error, and what is kept stays small.
func FuzzStream(f *testing.F) {
	for _, data := range recorded(f) {
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, m := NewStream(bytes.NewReader(data)), NewCounters()
		for n := 0; ; n++ {
			e, err := s.Next()
			if err != nil {
				break
			}
			if n > len(data) {
				t.Fatalf("%d events of %d bytes", n, len(data))
			}
			for _, p := range m.Add(e) {
				if p.Value != p.Value || p.Name == "" || p.Time < 0 {
					t.Fatalf("%+v", p)
				}
			}
		}
		kept := max(len(m.totals), len(m.grouped))
		if kept > maxValues || len(m.Troubles()) > maxTroubles || len(s.defs) > maxDefinitions {
			t.Fatal("too much is kept")
		}
	})
}
