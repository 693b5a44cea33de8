package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

// encode writes a record as the package comment and docs/wire.md say: the opposite of Next, made of the structs alone.
func encode(kind wire.Kind, record any) []byte { return wiretest.EncodeAs(kind, record) }

// anyRecord draws a record of any kind.
func anyRecord(t *rapid.T) (wire.Kind, any) {
	kind := wire.Kind(rapid.Uint32Range(1, uint32(len(wire.Records()))).Draw(t, "kind"))
	switch wire.Records()[kind].(type) {
	case wire.Module:
		return kind, rapid.Make[wire.Module]().Draw(t, "record")
	case wire.Type:
		return kind, rapid.Make[wire.Type]().Draw(t, "record")
	case wire.Function:
		return kind, rapid.Make[wire.Function]().Draw(t, "record")
	case wire.Callee:
		return kind, rapid.Make[wire.Callee]().Draw(t, "record")
	case wire.Body:
		return kind, rapid.Make[wire.Body]().Draw(t, "record")
	case wire.Thread:
		return kind, rapid.Make[wire.Thread]().Draw(t, "record")
	case wire.ThreadEnd:
		return kind, rapid.Make[wire.ThreadEnd]().Draw(t, "record")
	case wire.ThreadName:
		return kind, rapid.Make[wire.ThreadName]().Draw(t, "record")
	case wire.Process:
		return kind, rapid.Make[wire.Process]().Draw(t, "record")
	case wire.GC:
		return kind, rapid.Make[wire.GC]().Draw(t, "record")
	case wire.Alive:
		return kind, rapid.Make[wire.Alive]().Draw(t, "record")
	case wire.Why:
		return kind, rapid.Make[wire.Why]().Draw(t, "record")
	case wire.Roots:
		return kind, rapid.Make[wire.Roots]().Draw(t, "record")
	case wire.Changes:
		return kind, rapid.Make[wire.Changes]().Draw(t, "record")
	case wire.Freed:
		return kind, rapid.Make[wire.Freed]().Draw(t, "record")
	case wire.Control:
		return kind, rapid.Make[wire.Control]().Draw(t, "record")
	case wire.Mark:
		return kind, rapid.Make[wire.Mark]().Draw(t, "record")
	case wire.NotProbed:
		return kind, rapid.Make[wire.NotProbed]().Draw(t, "record")
	case wire.FunctionMark:
		return kind, rapid.Make[wire.FunctionMark]().Draw(t, "record")
	case wire.TestCase:
		return kind, rapid.Make[wire.TestCase]().Draw(t, "record")
	case wire.RequestMark:
		return kind, rapid.Make[wire.RequestMark]().Draw(t, "record")
	case wire.ProcessName:
		return kind, rapid.Make[wire.ProcessName]().Draw(t, "record")
	case wire.InteractionText:
		return kind, rapid.Make[wire.InteractionText]().Draw(t, "record")
	case wire.MeterCounter:
		return kind, rapid.Make[wire.MeterCounter]().Draw(t, "record")
	case wire.MeterState:
		return kind, rapid.Make[wire.MeterState]().Draw(t, "record")
	case wire.Collection:
		return kind, rapid.Make[wire.Collection]().Draw(t, "record")
	case wire.GCCaller:
		return kind, rapid.Make[wire.GCCaller]().Draw(t, "record")
	}
	t.Fatalf("kind %d is not tested", kind)
	return 0, nil
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var log []byte
		var want []any
		for range rapid.IntRange(1, 5).Draw(t, "records") {
			kind, record := anyRecord(t)
			log = append(log, encode(kind, record)...)
			want = append(want, record)
		}
		for i, w := range want {
			have, rest, err := wire.Next(log)
			if err != nil {
				t.Fatalf("record %d: %v", i, err)
			}
			if diff := cmp.Diff(w, have, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("record %d:\n%s", i, diff)
			}
			log = rest
		}
		if len(log) != 0 {
			t.Fatalf("%d bytes are left", len(log))
		}
	})
}

func TestNextErrors(t *testing.T) {
	thread := encode(wire.KindThread, wire.Thread{ID: 1})
	with := func(at int, v uint32) []byte {
		b := bytes.Clone(thread)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	for _, c := range []struct {
		name string
		log  []byte
	}{
		{"empty", nil},
		{"half a header", thread[:7]},
		{"cut", thread[:len(thread)-8]},
		{"size of 0", with(0, 0)},
		{"size of 4", with(0, 4)},
		{"odd size", with(0, 31)},
		{"too large", append(with(0, 2<<20), make([]byte, 2<<20)...)},
		{"kind 0", with(4, 0)},
		{"unknown kind", with(4, 99)},
		{"too short for its fields", encode(wire.KindThread, struct{ ID uint32 }{})},
		{"name longer than the record", encode(wire.KindThreadName, struct {
			Managed uint64
			Length  uint32
		}{1, 7})},
		{"name of 4 billion", encode(wire.KindThreadName, struct {
			Managed uint64
			Length  uint32
		}{1, 0xFFFFFFFF})},
		{"ranges of 4 billion", encode(wire.KindBody, struct{ ID, Function, Ranges uint32 }{1, 1, 0xFFFFFFFF})},
	} {
		if record, rest, err := wire.Next(c.log); !errors.Is(err, wire.ErrCorrupt) || record != nil || rest != nil {
			t.Errorf("%s: have %v, %d bytes, %v", c.name, record, len(rest), err)
		}
	}
}

func headerBytes(t testing.TB, h wire.Header) []byte {
	t.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, make([]byte, wire.HeaderSize-len(b))...)
}

func TestDecodeHeader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Make[wire.Header]().Draw(t, "header")
		want.Magic, want.Version = wire.Magic, wire.Version
		b, err := binary.Append(nil, binary.LittleEndian, want)
		if err != nil {
			t.Fatal(err)
		}
		have, err := wire.DecodeHeader(append(b, make([]byte, wire.HeaderSize-len(b))...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, have); diff != "" {
			t.Fatal(diff)
		}
	})
	good := wire.Header{Magic: wire.Magic, Version: wire.Version}
	for _, c := range []struct {
		name, message string
		b             []byte
	}{
		{"nothing", "0 bytes", nil},
		{"cut", "less than a header", headerBytes(t, good)[:wire.HeaderSize-1]},
		{"zeros", "no magic number", make([]byte, wire.HeaderSize)},
		{"older", "layout version", headerBytes(t, wire.Header{Magic: wire.Magic, Version: wire.Version - 1})},
		{"newer", "layout version", headerBytes(t, wire.Header{Magic: wire.Magic, Version: wire.Version + 1})},
	} {
		if h, err := wire.DecodeHeader(c.b); !errors.Is(err, wire.ErrCorrupt) || h != nil ||
			!strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: have %v, %v", c.name, h, err)
		}
	}
}

func TestIsHelper(t *testing.T) {
	for _, c := range []struct {
		typ, method string
		want        bool
	}{
		{"System.Runtime.CompilerServices.CastHelpers", "Box", true},
		{"System.Runtime.CompilerServices.StaticsHelpers/ThreadLocalData", "get_NonCollectibleTlsArrayData", true},
		{"System.RuntimeTypeHandle", "InternalAllocNoChecks", true},
		{"System.RuntimeTypeHandle", "CreateInstance", false},
		{"System.Array", "CreateInstanceMDArray", true},
		{"System.Array", "CreateInstanceMDArrays", false},
		{"CastHelpers", "Box", false},
		{"", "", false},
	} {
		if have := wire.IsHelper(c.typ, c.method); have != c.want {
			t.Errorf("%s.%s: %v", c.typ, c.method, have)
		}
	}
}

// TestSkip: behind a damaged record the log goes on.
func TestSkip(t *testing.T) {
	first := wiretest.Encode(wire.ThreadName{Managed: 1, Name: "a name of some length"})
	var rest []byte
	for i := range uint32(5) {
		rest = append(rest, wiretest.Encode(wire.Alive{Site: i, Generation: 1})...)
	}
	for _, damage := range []struct {
		name string
		at   int
		to   uint32
		want int // bytes of the rest
	}{
		{"kind", 4, 77, len(rest)},
		{"field", 16, 1 << 30, len(rest)},
		{"no length", 0, 0, len(rest)},
		{"odd length", 0, 13, len(rest)},
		{"longer than the log", 0, 1 << 31, len(rest)},
		{"too short", 0, 16, len(rest)},
	} {
		log := append(slices.Clone(first), rest...)
		binary.LittleEndian.PutUint32(log[damage.at:], damage.to)
		if left := wire.Skip(log); len(left) != damage.want {
			t.Errorf("%s: %d bytes are left, want %d", damage.name, len(left), damage.want)
		}
	}
	if left := wire.Skip([]byte{16, 0, 0, 0}); left != nil {
		t.Errorf("half a header leaves %v", left)
	}
}
