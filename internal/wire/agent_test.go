package wire_test

import (
	"encoding/binary"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clrprof/clrprof/internal/wire"
)

// agentArena is what the C agent wrote in the scenario "every_record" of agent/test, without the holes of the file.
// `go test ./internal/capture/collect -run Agent -update` makes it anew.
func agentArena(t testing.TB) ([]byte, *wire.Header) {
	t.Helper()
	b, err := os.ReadFile("testdata/agent.arena")
	if err != nil {
		t.Fatal(err)
	}
	h, err := wire.DecodeHeader(b)
	if err != nil {
		t.Fatal(err)
	}
	return b, h
}

func region(b []byte, h *wire.Header, r wire.Region) []byte {
	e := h.Regions[r]
	return b[e.Offset:][:e.Used]
}

func agentRecords(t testing.TB) []any {
	t.Helper()
	b, h := agentArena(t)
	var records []any
	for log := region(b, h, wire.RegionLog); len(log) > 0; {
		record, rest, err := wire.Next(log)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
		log = rest
	}
	return records
}

func sameType(a, b any) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

// only returns the records of one kind.
func only[T any](records []any) []T {
	var out []T
	for _, r := range records {
		if r, ok := r.(T); ok {
			out = append(out, r)
		}
	}
	return out
}

// find returns the record that is, which says so.
func find[T any](t *testing.T, records []any, is func(T) bool) T {
	t.Helper()
	for _, r := range only[T](records) {
		if is(r) {
			return r
		}
	}
	var none T
	t.Errorf("no such %T", none)
	return none
}

// TestAgentHeader: the C side and the Go side mean the same fields.
func TestAgentHeader(t *testing.T) {
	b, h := agentArena(t)
	if h.State != uint32(wire.StateShutDown) || h.RuntimeMajor != 9 || h.RuntimeBuild != 7 || h.MaxStackDepth != 5 ||
		h.Threads != 1 || h.EndNS < h.StartNS || h.StartNS == 0 || h.MemoryLimit != 1<<30 || h.PrivateBytes == 0 {
		t.Errorf("%+v", h)
	}
	for i, size := range map[wire.Region]int{wire.RegionIPs: 24, wire.RegionNodes: 24, wire.RegionSites: 32} {
		if n := len(region(b, h, i)); n == 0 || n%size != 0 {
			t.Errorf("region %d has %d bytes", i, n)
		}
	}
	var sites []wire.Site
	for row := range len(region(b, h, wire.RegionSites)) / 32 {
		var s wire.Site
		if _, err := binary.Decode(region(b, h, wire.RegionSites)[32*row:], binary.LittleEndian, &s); err != nil {
			t.Fatal(err)
		}
		sites = append(sites, s)
	}
	var objects, bytes uint64
	for _, s := range sites {
		objects += s.Objects
		bytes += s.Bytes
	}
	// The scenario: 2 lists of 32 bytes; 3 objects each of 40, 24, 22+2*7, 16+4*7, 32, 32, 24, 24+11 and 24 bytes,
	// rounded up to 8; 2 of 40 bytes.
	if want := uint64(2 + 9*3 + 2); objects != want {
		t.Errorf("%d objects, want %d", objects, want)
	}
	if want := uint64(2*32 + 3*(40+24+40+48+32+32+24+40+24) + 2*40); bytes != want {
		t.Errorf("%d bytes, want %d", bytes, want)
	}
}

func TestAgentRecords(t *testing.T) {
	records := agentRecords(t)
	for kind, r := range wire.Records() {
		if kind >= wire.KindGC {
			continue // written with lifetime only, which internal/testkit/heap/replay and e2e run
		}
		if !slices.ContainsFunc(records, func(have any) bool { return sameType(have, r) }) {
			t.Errorf("no record of kind %d, %T", kind, r)
		}
	}
	p := records[0].(wire.Process)
	if path.Base(string(p.Executable)) != "agent_test" ||
		!strings.HasSuffix(string(p.CommandLine), "every_record\x00") {
		t.Errorf("process %q, %q", p.Executable, p.CommandLine)
	}
	if diff := cmp.Diff([]wire.ThreadName{{Managed: 0x1000, Name: "Mainé😀"}},
		only[wire.ThreadName](records)); diff != "" {
		t.Error(diff)
	}
	if ends := only[wire.ThreadEnd](records); len(ends) != 1 || ends[0].Managed != 0x1000 || ends[0].EndNS == 0 {
		t.Errorf("%+v", ends)
	}
	if threads := only[wire.Thread](records); len(threads) != 1 || threads[0].ID != 1 || threads[0].Managed != 0x1000 ||
		threads[0].OSID == 0 || threads[0].BeginNS == 0 {
		t.Errorf("%+v", threads)
	}
}

func TestAgentNames(t *testing.T) {
	records := agentRecords(t)
	app := find(t, records, func(m wire.Module) bool { return m.Path == "/srv/app/App.dll" })
	if app.Name != "App.dll" || app.Flags != wire.OriginFolder<<wire.ModuleOriginShift ||
		string(app.MVID[:7]) != "App.dll" {
		t.Errorf("%+v", app)
	}
	if m := find(t, records, func(m wire.Module) bool { return m.Name == "Emitted" }); m.Path != "" ||
		m.Flags != wire.ModuleDynamic|wire.OriginMemory<<wire.ModuleOriginShift {
		t.Errorf("%+v", m)
	}
	inner := find(t, records, func(r wire.Type) bool { return len(r.Names) == 2 })
	if diff := cmp.Diff([]string{"App.Program", "Inner"}, inner.Names); diff != "" || inner.Module != app.ID ||
		inner.Token>>24 != 2 {
		t.Errorf("%+v", inner)
	}
	order := find(t, records, func(r wire.Type) bool { return cmp.Equal(r.Names, []string{"App.Order"}) })
	matrix := find(t, records, func(r wire.Type) bool { return r.Kind == wire.TypeArray && r.Rank == 2 })
	if matrix.Element != order.ID || matrix.ElementCode != 0x12 || matrix.Names != nil {
		t.Errorf("%+v", matrix)
	}
	str := find(t, records, func(r wire.Type) bool { return cmp.Equal(r.Names, []string{"System.String"}) })
	pair := find(t, records, func(r wire.Type) bool { return cmp.Equal(r.Names, []string{"Library.Pair`2"}) })
	if diff := cmp.Diff([]uint32{str.ID, matrix.ID}, pair.Arguments); diff != "" {
		t.Error(diff)
	}
	find(t, records, func(r wire.Type) bool { return r.Kind == wire.TypeOther })
	generic := find(t, records, func(f wire.Function) bool { return len(f.Arguments) == 1 })
	if generic.Arguments[0] != pair.ID || len(generic.Signature) != 3 || generic.Token>>24 != 6 || generic.Type == 0 {
		t.Errorf("%+v", generic)
	}
	lambda := find(t, records, func(f wire.Function) bool { return f.Flags == wire.FunctionDynamic })
	if diff := cmp.Diff(wire.Function{ID: lambda.ID, Flags: wire.FunctionDynamic, Name: "Lambda1_1"}, lambda,
		cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	body := find(t, records, func(b wire.Body) bool { return b.Function == lambda.ID })
	if len(body.Ranges) != 1 || body.Ranges[0].Size == 0 || len(body.Map) != 1 {
		t.Errorf("%+v", body)
	}
}
