package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/wire"
)

// FuzzNext: whatever a log holds, reading it ends, with an error or with nothing left, and a record says the same again
// when it is written by the rules and read back.
func FuzzNext(f *testing.F) {
	b, h := agentArena(f)
	f.Add(region(b, h, wire.RegionLog))
	for kind, r := range wire.Records() {
		f.Add(encode(kind, r))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for len(log) > 0 {
			record, rest, err := wire.Next(log)
			if err != nil {
				if !errors.Is(err, wire.ErrCorrupt) || record != nil {
					t.Fatalf("%v, %v", record, err)
				}
				return
			}
			if len(rest) >= len(log) {
				t.Fatal("nothing was read")
			}
			for kind, r := range wire.Records() {
				if sameType(r, record) {
					again, _, err := wire.Next(encode(kind, record))
					if diff := cmp.Diff(record, again); diff != "" || err != nil {
						t.Fatalf("%v\n%s", err, diff)
					}
				}
			}
			log = rest
		}
	})
}

func FuzzDecodeHeader(f *testing.F) {
	b, _ := agentArena(f)
	f.Add(b[:wire.HeaderSize])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := wire.DecodeHeader(b)
		if (h == nil) == (err == nil) || (err != nil && !errors.Is(err, wire.ErrCorrupt)) {
			t.Fatalf("%v, %v", h, err)
		}
		if h != nil {
			again, err := wire.DecodeHeader(headerBytes(t, *h))
			if diff := cmp.Diff(h, again); diff != "" || err != nil {
				t.Fatalf("%v\n%s", err, diff)
			}
		}
	})
}
