package collect

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf16"

	"github.com/clrprof/clrprof/internal/launch"
	"github.com/clrprof/clrprof/internal/wire"
)

// fakeArena is what an agent would have written: a test fills it and writes it as often as it likes.
type fakeArena struct {
	header  wire.Header
	records []any
	ips     []wire.IP
	nodes   []wire.Node
	sites   []wire.Site
	fates   []wire.Fate
	ages    []wire.Ages
}

// noPID is a process id that Linux never gives (PID_MAX_LIMIT is 4 Mi).
const noPID = 1 << 30

// newArena is a process with a thread, a type and a function, of which each of n sites is a node.
func newArena(n int) *fakeArena {
	a := &fakeArena{header: wire.Header{Magic: wire.Magic, Version: wire.Version, State: uint32(wire.StateRecording), PID: noPID,
		RuntimeMajor: 9, StartNS: 1, Data: wire.DataMemory | wire.DataLifetime}}
	a.records = []any{
		wire.Process{Executable: []byte("/usr/bin/dotnet"), CommandLine: []byte("dotnet\x00App.dll\x00")},
		wire.Module{ID: 1, Name: "App.dll", MVID: [16]byte{1}}, wire.Type{ID: 1, Module: 1, Token: 0x02000001, Kind: wire.TypeClass, Names: []string{"App.Thing"}},
		wire.Function{ID: 1, Module: 1, Token: 0x06000001, TypeNames: []string{"App"}, Name: "Main", Signature: []byte{0, 0, 1}},
		wire.Body{ID: 1, Function: 1, Ranges: []wire.Range{{Address: 0x1000, Size: 0x1000}}}, wire.Thread{ID: 1, OSID: 7, BeginNS: 2},
	}
	a.ips = make([]wire.IP, wire.IPFirst, wire.IPFirst+n)
	a.nodes = make([]wire.Node, 1, 1+n)
	for i := range uint32(n) {
		a.ips = append(a.ips, wire.IP{Address: 0x1000 + uint64(i), Body: 1, Function: 1, Flags: wire.IPManaged})
		a.nodes = append(a.nodes, wire.Node{IP: wire.IPFirst + i})
		a.sites = append(a.sites, wire.Site{Thread: 1, Node: 1 + i, Type: 1})
		a.fates = append(a.fates, wire.Fate{})
	}
	return a
}

// regionSize is the capacity of each region of a fakeArena.
const regionSize = 1 << 16

// write writes the file, or writes it again where a Recorder has it mapped.
func (a *fakeArena) write(t *testing.T, directory string) {
	t.Helper()
	var log bytes.Buffer
	for _, r := range a.records {
		log.Write(encodeRecord(t, r))
	}
	data := make([]byte, wire.HeaderSize+wire.RegionCount*regionSize)
	for i, rows := range [wire.RegionCount]any{log.Bytes(), a.ips, a.nodes, a.sites, a.fates, a.ages} {
		region := &a.header.Regions[i]
		*region = wire.RegionEntry{Offset: wire.HeaderSize + uint64(i)*regionSize, Capacity: regionSize}
		n, err := binary.Encode(data[region.Offset:region.Offset+regionSize], binary.LittleEndian, rows)
		if err != nil {
			t.Fatal(err)
		}
		region.Used = uint64(n)
	}
	if _, err := binary.Encode(data, binary.LittleEndian, a.header); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(directory, "1-1"+launch.ArenaSuffix), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// encodeRecord is the other way round of wire.Next.
func encodeRecord(t *testing.T, record any) []byte {
	t.Helper()
	kind := wire.Kind(0)
	for k, r := range wire.Records() {
		if reflect.TypeOf(r) == reflect.TypeOf(record) {
			kind = k
		}
	}
	body := encodeValue(nil, reflect.ValueOf(record))
	for len(body)%8 != 0 {
		body = append(body, 0)
	}
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+8))
	out := append(binary.LittleEndian.AppendUint32(head, uint32(kind)), body...)
	if got, _, err := wire.Next(out); err != nil || !reflect.DeepEqual(fmt.Sprint(got), fmt.Sprint(record)) {
		t.Fatalf("%+v is read back as %+v, %v", record, got, err)
	}
	return out
}

func encodeValue(out []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Uint32:
		return binary.LittleEndian.AppendUint32(out, uint32(v.Uint()))
	case reflect.Uint64:
		return binary.LittleEndian.AppendUint64(out, v.Uint())
	case reflect.Uint8:
		return append(out, byte(v.Uint()))
	case reflect.String:
		units := utf16.Encode([]rune(v.String()))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(units)))
		for _, u := range units {
			out = binary.LittleEndian.AppendUint16(out, u)
		}
		return out
	case reflect.Struct:
		for i := range v.NumField() {
			out = encodeValue(out, v.Field(i))
		}
		return out
	case reflect.Slice:
		out = binary.LittleEndian.AppendUint32(out, uint32(v.Len()))
	}
	for i := range v.Len() { // slices and arrays
		out = encodeValue(out, v.Index(i))
	}
	return out
}
