package heap

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examples are events of all kinds, with the largest values.
var examples = []Event{
	Alloc{Address: 0x7f1200000028, Bytes: 24, Site: 1},
	Alloc{Address: 0x7f1200000040, Bytes: 1 << 40, Site: 1<<32 - 2},
	Alloc{Address: 8, Bytes: 32, Site: 3, Frozen: true},
	Alloc{Address: 1<<64 - 8, Bytes: 32, Thread: 9},
	Attributed{9, 4},
	GCStart{Collected: 31, Induced: true, Bounds: []Bound{{0x7f1200000028, 100, 0x3FFFD8, 0},
		{0x7f1000000028, 0, 0x3FFFD8, 4}}},
	Moved{[]Range{{0x7f1200000028, 0x7f1000000028, 24}, {1<<64 - 8, 0, 1 << 63}}},
	Survived{[]Range{{0x7f1200000040, 0x7f1200000040, 24}}},
	Moved{},
	GCEnd{NS: 1<<64 - 1, Bounds: []Bound{{0x7f1200000028, 100, 0x3FFFD8, 1<<32 - 1}}},
	GCStart{Final: true, Asked: true},
	GCEnd{},
	End{},
}

func encode(t testing.TB, events []Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, e := range events {
		w.Write(e)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func decode(b []byte) (events []Event, err error) {
	r := NewReader(bytes.NewReader(b))
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

func TestEncoding(t *testing.T) {
	b := encode(t, examples)
	got, err := decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(examples, got); diff != "" {
		t.Error(diff)
	}
	for n := range b {
		if _, err := decode(b[:n]); !errors.Is(err, errEncoding) {
			t.Fatalf("the first %d bytes of %d: error %v", n, len(b), err)
		}
	}
}

func TestUnencodable(t *testing.T) {
	for _, e := range []Event{
		Alloc{Address: 8, Bytes: 24},
		Alloc{Address: 8, Bytes: 24, Site: 1, Thread: 1},
		Alloc{Address: 8, Bytes: 24, Thread: 1, Frozen: true},
		Moved{make([]Range, maxRows+1)},
		GCEnd{Bounds: make([]Bound, maxRows+1)},
	} {
		w := NewWriter(io.Discard)
		w.Write(e)
		if err := w.Flush(); err == nil {
			t.Errorf("%T can be written", e)
		}
	}
}

func siteOf(e Event) uint32 {
	switch e := e.(type) {
	case Alloc:
		return e.Site
	case Attributed:
		return e.Site
	}
	return 0
}

func FuzzReader(f *testing.F) {
	f.Add(encode(f, examples))
	f.Add([]byte(magic + "\x06\xff\xff\x3f\x01"))
	f.Add([]byte(magic + "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, err := decode(b)
		if err != nil {
			if !errors.Is(err, errEncoding) {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := decode(encode(t, events))
		if diff := cmp.Diff(events, again); err != nil || diff != "" {
			t.Fatalf("written and read again: error %v, %s", err, diff)
		}
		tracker := new(Tracker)
		for _, e := range events {
			if siteOf(e) > 1000 {
				return // a table of so many sites takes long
			}
			if err := tracker.Add(e); err != nil && !errors.Is(err, errRecording) {
				t.Fatalf("error %v", err)
			} else if err != nil {
				return
			}
		}
	})
}
