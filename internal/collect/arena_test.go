package collect_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf16"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/collect"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/wire"
)

const regionCapacity = 1 << 16 // of a fake arena

// fakeArena is an arena in the making, as an agent would write it. It can be written to its file again and again, with
// more in it each time, while a Recorder has it open.
type fakeArena struct {
	header wire.Header
	log    []byte
	ips    []wire.IP
	nodes  []wire.Node
	sites  []wire.Site
}

// newArena is of a process that does not exist any more and did not say goodbye.
func newArena() *fakeArena {
	return &fakeArena{
		header: wire.Header{Magic: wire.Magic, Version: wire.Version, State: uint32(wire.StateRecording), PID: 1 << 30, ParentPID: 7,
			RuntimeMajor: 9, RuntimeMinor: 0, RuntimeBuild: 7, MaxStackDepth: 100, StartNS: 1000, SharedBytes: 4096, PrivateBytes: 904},
		ips:   make([]wire.IP, wire.IPFirst),
		nodes: make([]wire.Node, 1),
	}
}

// add appends a record to the log, as internal/wire's doc says.
func (a *fakeArena) add(records ...any) {
	for _, r := range records {
		for kind, k := range wire.Records() {
			if reflect.TypeOf(k) != reflect.TypeOf(r) {
				continue
			}
			payload := appendValue(nil, reflect.ValueOf(r))
			payload = append(payload, make([]byte, -len(payload)&7)...)
			a.log = binary.LittleEndian.AppendUint32(a.log, uint32(8+len(payload)))
			a.log = binary.LittleEndian.AppendUint32(a.log, uint32(kind))
			a.log = append(a.log, payload...)
		}
	}
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
	case reflect.String:
		return appendValue(b, reflect.ValueOf(utf16.Encode([]rune(v.String()))))
	case reflect.Slice:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Len()))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
	case reflect.Uint8:
		b = append(b, byte(v.Uint()))
	case reflect.Uint16:
		b = binary.LittleEndian.AppendUint16(b, uint16(v.Uint()))
	case reflect.Uint32:
		b = binary.LittleEndian.AppendUint32(b, uint32(v.Uint()))
	case reflect.Uint64:
		b = binary.LittleEndian.AppendUint64(b, v.Uint())
	}
	return b
}

// ip adds a return address in a body of a function and returns its id.
func (a *fakeArena) ip(address uint64, function, body uint32) uint32 {
	a.ips = append(a.ips, wire.IP{Address: address, Function: function, Body: body, Flags: wire.IPManaged})
	return uint32(len(a.ips) - 1)
}

// node adds a node and returns its id.
func (a *fakeArena) node(parent, ip uint32) uint32 {
	a.nodes = append(a.nodes, wire.Node{Parent: parent, IP: ip})
	return uint32(len(a.nodes) - 1)
}

// site adds a site and returns its index.
func (a *fakeArena) site(thread, node, typ uint32, objects, bytes uint64) int {
	a.sites = append(a.sites, wire.Site{Thread: thread, Node: node, Type: typ, Objects: objects, Bytes: bytes})
	return len(a.sites) - 1
}

func (a *fakeArena) bytes(t testing.TB) []byte {
	t.Helper()
	tables := []any{a.log, a.ips, a.nodes, a.sites, []wire.Fate{}, []wire.Ages{}}
	b := make([]byte, wire.HeaderSize+wire.RegionCount*regionCapacity)
	for i, table := range tables {
		offset := wire.HeaderSize + i*regionCapacity
		n, err := binary.Encode(b[offset:offset+regionCapacity], binary.LittleEndian, table)
		if err != nil {
			t.Fatal(err)
		}
		a.header.Regions[i] = wire.RegionEntry{Offset: uint64(offset), Capacity: regionCapacity, Used: uint64(n), Backed: regionCapacity}
	}
	if _, err := binary.Encode(b, binary.LittleEndian, a.header); err != nil {
		t.Fatal(err)
	}
	return b
}

// write puts the arena into its file, in place.
func (a *fakeArena) write(t testing.TB, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(a.bytes(t))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// recording is a Recorder at work.
type recording struct {
	t        testing.TB
	dir      string // of the arenas
	path     string // of the session
	writer   *session.Writer
	recorder *collect.Recorder
}

func newRecording(t testing.TB, filter collect.Filter) *recording {
	t.Helper()
	r := &recording{t: t, dir: t.TempDir(), path: filepath.Join(t.TempDir(), "test.clrprof")}
	r.begin(filter)
	return r
}

func (r *recording) begin(filter collect.Filter) {
	r.t.Helper()
	w, err := session.Create(r.path, false)
	if err := errors.Join(err, os.MkdirAll(r.dir, 0o700)); err != nil {
		r.t.Fatal(err)
	}
	r.writer = w
	r.recorder = collect.NewRecorder(w, r.dir, 0, filter)
}

func (r *recording) sync(now quantity.Nanoseconds) {
	r.t.Helper()
	if err := r.recorder.Sync(now); err != nil {
		r.t.Fatal(err)
	}
}

// finish ends the recording and opens the session, which must not contradict itself.
func (r *recording) finish() *session.Session {
	r.t.Helper()
	err := r.writer.SetState(session.Recorded)
	if err := errors.Join(err, r.recorder.Close(), r.writer.Close()); err != nil {
		r.t.Fatal(err)
	}
	s, err := session.Open(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	violations, err := analysis.Check(s)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, v := range violations {
		r.t.Errorf("the session contradicts itself: %v", v)
	}
	return s
}

// record records one arena at once.
func record(t testing.TB, a *fakeArena, filter collect.Filter) *session.Session {
	t.Helper()
	r := newRecording(t, filter)
	a.write(t, filepath.Join(r.dir, "1-1.arena"))
	r.sync(5000)
	return r.finish()
}

// get returns what a reading method returned.
func get[T any](t testing.TB) func(rows []T, err error) []T {
	return func(rows []T, err error) []T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
}

// total is the sum of all slices.
func total(t testing.TB, s *session.Session) quantity.Amount {
	t.Helper()
	var sum quantity.Amount
	for _, v := range get[session.SiteValue](t)(s.SiteValues()) {
		sum = sum.Add(v.Amount)
	}
	return sum
}
