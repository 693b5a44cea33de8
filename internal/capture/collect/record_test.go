package collect_test

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/recording"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/wiretest"
	"github.com/clrprof/clrprof/internal/wire"
)

var mvid = [16]byte{0x78, 0x56, 0x34, 0x12, 0xBC, 0x9A, 0xF0, 0xDE, 1, 2, 3, 4, 5, 6, 7, 8}

// small is one thread, module, type, function, body, instruction, node and site.
func small() *wiretest.Arena {
	a := wiretest.New()
	a.Add(
		wire.Process{Executable: []byte("/usr/bin/dotnet"),
			CommandLine: []byte("dotnet\x00exec\x00/srv/App.dll\x00x y\x00--password\x00hunter2\x00")},
		wire.Thread{ID: 1, OSID: 77, Managed: 0x1000, BeginNS: 1500},
		wire.Module{ID: 1, MVID: mvid, Path: "/srv/App.dll", Name: "App.dll"},
		wire.Type{ID: 1, Module: 1, Token: 0x02000003, Kind: wire.TypeClass, Names: []string{"N.Outer`1", "Inner"}},
		wire.Function{ID: 1, Module: 1, Token: 0x06000002, Type: 1, TypeNames: []string{"N.Outer`1", "Inner"},
			Name: "Run", Signature: []byte{0, 0, 1}},
		wire.Body{ID: 1, Function: 1, Ranges: []wire.Range{{Address: 0x4000, Size: 0x20},
			{Address: 0x9000, Size: 0x10}},
			Map: []wire.ILPoint{{Native: 8, IL: 2}, {Native: 0, IL: 0xFFFFFFFE}}},
	)
	a.Site(1, a.Node(0, a.IP(0x9004, 1, 1)), 1, 3, 96)
	return a
}

func TestSmall(t *testing.T) {
	s := record(t, small(), collect.Filter{})
	equal(t, "processes", get[session.Process](t)(s.Processes()),
		[]session.Process{{ID: 1, PID: 1 << 30, ParentPID: 7, Name: "App", Path: "/usr/bin/dotnet",
			Arguments: `["dotnet","exec","/srv/App.dll","x y","--password","[replaced]"]`, RuntimeVersion: "9.0.7", Begin: 1000, End: 5000,
			EndState: session.EndDied, AgentBytes: 5000, AgentPrivate: 904}})
	equal(t, "threads", get[session.Thread](t)(s.Threads()),
		[]session.Thread{{ID: 1, Process: 1, OSID: 77, Begin: 1500, End: 5000}})
	equal(t, "modules", get[session.Module](t)(s.Modules()),
		[]session.Module{{ID: 1, Process: 1, Name: "App.dll", Path: "/srv/App.dll",
			MVID: "12345678-9abc-def0-0102-030405060708"}})
	equal(t, "types", get[session.Type](t)(s.Types()),
		[]session.Type{{ID: 1, Process: 1, Module: 1, Token: 0x02000003, Kind: session.TypeClass,
			RawName: "N.Outer`1/Inner"}})
	equal(t, "functions", get[session.Function](t)(s.Functions()),
		[]session.Function{{ID: 1, Process: 1, Module: 1, Token: 0x06000002, Type: 1,
			Kind: session.FunctionMethod, RawType: "N.Outer`1/Inner", RawName: "Run", Signature: []byte{0, 0, 1}}})
	bodies := get[session.Body](t)(s.Bodies())
	points, err := session.DecodeILMap(bodies[0].ILMap)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "map", points, []session.ILPoint{{Native: 0, IL: 0xFFFFFFFE}, {Native: 8, IL: 2}})
	bodies[0].ILMap = nil
	equal(t, "bodies", bodies, []session.Body{{ID: 1, Function: 1, Address: 0x4000, Size: 0x30}})
	equal(t, "instructions", get[session.Instruction](t)(s.Instructions()),
		[]session.Instruction{{ID: 1, Function: 1, Body: 1, Address: 0x9004, NativeOffset: 0x24, ILOffset: -1}})
	equal(t, "nodes", get[session.Node](t)(s.Nodes()), []session.Node{{ID: 1, Process: 1, Function: 1, Instruction: 1}})
	equal(t, "sites", get[session.Site](t)(s.Sites()), []session.Site{{ID: 1, Thread: 1, Node: 1, Type: 1}})
	equal(t, "slices", get[session.Slice](t)(s.Slices()), []session.Slice{{ID: 1, Begin: 0, End: 5000}})
	equal(t, "values", get[session.SiteValue](t)(s.SiteValues()),
		[]session.SiteValue{{Slice: 1, Site: 1, Amount: quantity.Amount{Allocations: 3, Bytes: 96}}})
	equal(t, "losses", get[session.Loss](t)(s.Losses()), nil)
}

func equal[T any](t *testing.T, what string, have, want []T) {
	t.Helper()
	if diff := cmp.Diff(want, have, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

// TestMerge: after an unload the agent describes what is still there once more, under new ids.
func TestMerge(t *testing.T) {
	a := small()
	a.Add(
		wire.Module{ID: 2, MVID: mvid, Path: "/srv/App.dll", Name: "App.dll"},
		wire.Type{ID: 2, Module: 2, Token: 0x02000003, Kind: wire.TypeClass, Names: []string{"N.Outer`1", "Inner"}},
		wire.Type{ID: 3, Kind: wire.TypeArray, Rank: 1, Element: 2},
		wire.Type{ID: 4, Kind: wire.TypeArray, Rank: 1, Element: 1},
		wire.Type{ID: 5, Kind: wire.TypeArray, Rank: 2, Element: 1},
		wire.Type{ID: 6, Module: 2, Token: 0x02000004, Kind: wire.TypeClass, Arguments: []uint32{3},
			Names: []string{"G`1"}},
		wire.Type{ID: 7, Module: 1, Token: 0x02000004, Kind: wire.TypeClass, Arguments: []uint32{4},
			Names: []string{"G`1"}},
		wire.Type{ID: 8, Module: 1, Token: 0x02000004, Kind: wire.TypeClass, Arguments: []uint32{5},
			Names: []string{"G`1"}},
		wire.Function{ID: 2, Module: 2, Token: 0x06000002, Type: 2, TypeNames: []string{"N.Outer`1", "Inner"},
			Name: "Run"},
		wire.Function{ID: 3, Module: 2, Token: 0x06000002, Type: 2, Arguments: []uint32{6}, Name: "Run"},
		wire.Function{ID: 4, Module: 1, Token: 0x06000002, Type: 1, Arguments: []uint32{7}, Name: "Run"},
		wire.Body{ID: 2, Function: 2, Ranges: []wire.Range{{Address: 0x4000, Size: 0x20}}},
		// Dynamic functions have nothing by which they could be the same, nor have modules without an MVID.
		wire.Function{ID: 5, Flags: wire.FunctionDynamic, Name: "lambda"},
		wire.Function{ID: 6, Flags: wire.FunctionDynamic, Name: "lambda"},
		wire.Module{ID: 3, Flags: wire.ModuleDynamic, Name: "Emitted"},
		wire.Module{ID: 4, Flags: wire.ModuleDynamic, Name: "Emitted"},
	)
	a.Site(1, a.Node(0, a.IP(0x4004, 2, 2)), 2, 5, 160)
	a.Site(1, a.Node(0, a.IP(0x4008, 4, 0)), 6, 1, 24)
	s := record(t, a, collect.Filter{})
	if n := len(get[session.Module](t)(s.Modules())); n != 3 {
		t.Errorf("%d modules", n)
	}
	var names []string
	for _, typ := range get[session.Type](t)(s.Types()) {
		names = append(names, typ.Kind+" "+typ.RawName)
	}
	equal(t, "types", names, []string{"class N.Outer`1/Inner", "array ", "array ", "class G`1", "class G`1"})
	equal(t, "type arguments", get[session.TypeArgument](t)(s.TypeArguments()),
		[]session.TypeArgument{{Type: 4, Argument: 2}, {Type: 5, Argument: 3}})
	if n := len(get[session.Function](t)(s.Functions())); n != 4 {
		t.Errorf("%d functions", n)
	}
	equal(t, "function arguments", get[session.FunctionArgument](t)(s.FunctionArguments()),
		[]session.FunctionArgument{{Function: 2, Argument: 4}})
	equal(t, "sites", get[session.Site](t)(s.Sites()), []session.Site{{ID: 1, Thread: 1, Node: 1, Type: 1},
		{ID: 2, Thread: 1, Node: 2, Type: 1},
		{ID: 3, Thread: 1, Node: 3, Type: 4}})
	if have := total(t, s); have != (quantity.Amount{Allocations: 9, Bytes: 280}) {
		t.Errorf("%+v", have)
	}
}

func TestThreads(t *testing.T) {
	a := wiretest.New()
	a.Add(
		wire.ThreadName{Managed: 0x1000, Name: "first"}, // before it allocates
		wire.Thread{ID: 1, OSID: 11, Managed: 0x1000, BeginNS: 1100},
		wire.Thread{ID: 2, OSID: 12, Managed: 0, BeginNS: 1200}, // none of the runtime's
		wire.Thread{ID: 3, OSID: 13, Managed: 0x2000, BeginNS: 1300},
		wire.ThreadName{Managed: 0x2000, Name: "early"},
		wire.ThreadName{Managed: 0x2000, Name: "late"},
		wire.ThreadEnd{Managed: 0x1000, EndNS: 1400},
		wire.Thread{ID: 4, OSID: 14, Managed: 0x1000, BeginNS: 1500}, // the id is used again
		wire.ThreadName{Managed: 0x3000, Name: "never allocates"},
		wire.ThreadEnd{Managed: 0x3000, EndNS: 1600},
		wire.ThreadEnd{Managed: 0x9999, EndNS: 1600},
	)
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	a.Add(wire.ThreadEnd{Managed: 0x1000, EndNS: 2500}, wire.ThreadName{Managed: 0x2000, Name: "at last"},
		wire.Thread{ID: 5, OSID: 15, Managed: 0x1000, BeginNS: 2600})
	a.Header.State, a.Header.EndNS = uint32(wire.StateShutDown), 2800
	write(t, a, path)
	r.sync(3000)
	s := r.finish()
	equal(t, "threads", get[session.Thread](t)(s.Threads()), []session.Thread{
		{ID: 1, Process: 1, OSID: 11, Name: "first", Begin: 1100, End: 1400},
		{ID: 2, Process: 1, OSID: 12, Begin: 1200, End: 2800},
		{ID: 3, Process: 1, OSID: 13, Name: "at last", Begin: 1300, End: 2800},
		{ID: 4, Process: 1, OSID: 14, Begin: 1500, End: 2500},
		{ID: 5, Process: 1, OSID: 15, Begin: 2600, End: 2800},
	})
	if p := get[session.Process](t)(s.Processes()); p[0].End != 2800 || p[0].EndState != session.EndExited {
		t.Errorf("%+v", p)
	}
}

// TestLateName: the runtime could not name a type at first; its loss is there as long as it has no name.
func TestLateName(t *testing.T) {
	a := small()
	a.Add(wire.Type{ID: 2, Kind: wire.TypeUnknown}, wire.Type{ID: 3, Kind: wire.TypeUnknown},
		wire.Type{ID: 4, Kind: wire.TypeArray, Rank: 1, Element: 2})
	a.Site(1, 1, 2, 2, 48)
	a.Site(1, 1, 3, 1, 24)
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	a.Add(wire.Type{ID: 2, Module: 1, Token: 0x02000009, Kind: wire.TypeClass, Arguments: []uint32{1},
		Names: []string{"Late`1"}})
	write(t, a, path)
	r.sync(3000)
	s := r.finish()
	equal(t, "types", get[session.Type](t)(s.Types()), []session.Type{
		{ID: 1, Process: 1, Module: 1, Token: 0x02000003, Kind: session.TypeClass, RawName: "N.Outer`1/Inner"},
		{ID: 2, Process: 1, Module: 1, Token: 0x02000009, Kind: session.TypeClass, RawName: "Late`1"},
		{ID: 3, Process: 1, Kind: session.TypeUnknown},
		{ID: 4, Process: 1, Kind: session.TypeArray, Rank: 1, ElementType: 2},
	})
	equal(t, "arguments", get[session.TypeArgument](t)(s.TypeArguments()),
		[]session.TypeArgument{{Type: 2, Argument: 1}})
	equal(t, "losses", get[session.Loss](t)(s.Losses()),
		[]session.Loss{{Process: 1, Reason: session.LossTypeUnknown, Events: 1,
			Amount: quantity.Amount{Allocations: 1, Bytes: 24}}})
}

// TestLastLateName: with the last name the loss is gone, not only smaller.
func TestLastLateName(t *testing.T) {
	a := small()
	a.Add(wire.Type{ID: 2, Kind: wire.TypeUnknown})
	a.Site(1, 1, 2, 2, 48)
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	a.Add(wire.Type{ID: 2, Module: 1, Token: 0x02000009, Kind: wire.TypeClass, Names: []string{"Late"}})
	write(t, a, path)
	r.sync(3000)
	equal(t, "losses", get[session.Loss](t)(r.finish().Losses()), nil)
}

func TestLosses(t *testing.T) {
	a := small()
	a.Header.Losses = [wire.LossCount]wire.LossEntry{{Events: 5, Objects: 4, Bytes: 300},
		{Events: 1, Objects: 1, Bytes: 24}, {Events: 2, Objects: 2, Bytes: 48}, {Events: 3}, {}}
	a.Add(wire.Type{ID: 2, Kind: wire.TypeUnknown})
	cut := a.Node(1, wire.IPTruncated)
	a.Site(1, a.Node(cut, 3), 1, 10, 320)
	a.Site(1, a.Node(cut, a.IP(0x4010, 1, 1)), 2|wire.SiteFrozen, 1, 24)
	a.Site(1, a.Node(0, wire.IPUnknown), 1, 1, 32)
	s := record(t, a, collect.Filter{})
	loss := func(reason string, events, objects quantity.Count, bytes quantity.Bytes) session.Loss {
		return session.Loss{Process: 1, Reason: reason, Events: events,
			Amount: quantity.Amount{Allocations: objects, Bytes: bytes}}
	}
	equal(t, "losses", get[session.Loss](t)(s.Losses()), []session.Loss{
		loss(session.LossArenaFull, 5, 4, 300), loss(session.LossILMapTruncated, 3, 0, 0),
		loss(session.LossNoThreadState, 1, 1, 24),
		loss(session.LossReentered, 2, 2, 48), loss(session.LossStackTruncated, 11, 11, 344),
		loss(session.LossTypeUnknown, 1, 1, 24)})
	for _, l := range get[session.Loss](t)(s.Losses()) {
		if strings.Contains(l.Meaning(), "does not know") {
			t.Errorf("%s has no meaning", l.Reason)
		}
	}
	if sites := get[session.Site](t)(s.Sites()); !sites[2].Frozen || sites[1].Frozen {
		t.Errorf("%+v", sites)
	}
}

func TestSlices(t *testing.T) {
	a := small()
	r := newRecording(t, collect.Filter{})
	path := filepath.Join(r.dir, "1-1.arena")
	r.sync(500) // nothing there yet
	write(t, a, path)
	r.sync(2000)
	r.sync(3000) // nothing new
	a.Sites[0].Objects, a.Sites[0].Bytes = 10, 320
	second := a.Site(1, a.Node(1, a.IP(0x4008, 1, 1)), 1, 1, 32)
	write(t, a, path)
	r.sync(4000)
	r.sync(4000) // no time passed, nothing new: no slice
	a.Sites[second].Objects, a.Sites[second].Bytes = 2, 64
	write(t, a, path)
	r.sync(4000)
	r.sync(100) // a clock that went back
	s := r.finish()
	equal(t, "slices", get[session.Slice](t)(s.Slices()),
		[]session.Slice{{ID: 1, Begin: 0, End: 500}, {ID: 2, Begin: 500, End: 2000},
			{ID: 3, Begin: 2000, End: 3000}, {ID: 4, Begin: 3000, End: 4000}, {ID: 5, Begin: 4000, End: 4000}})
	value := func(slice session.SliceID, site session.SiteID, objects quantity.Count) session.SiteValue {
		return session.SiteValue{Slice: slice, Site: site,
			Amount: quantity.Amount{Allocations: objects, Bytes: quantity.Bytes(32 * objects)}}
	}
	equal(t, "values", get[session.SiteValue](t)(s.SiteValues()), []session.SiteValue{value(2, 1, 3), value(4, 1, 7),
		value(4, 2, 1), value(5, 2, 1)})
}

// TestProcesses: two processes and one that could not be recorded; ids are the session's.
func TestProcesses(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	late, early := small(), small()
	late.Header.StartNS, early.Header.StartNS = 0x3000, 0x2000
	early.Header.PID = uint32(os.Getpid())
	write(t, late, filepath.Join(r.dir, "5-3000.arena"))
	write(t, early, filepath.Join(r.dir, "9-2000.arena"))
	for _, name := range []string{"9-2000.arena.new", "lock", "1073741824-2800.no_space.failed"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.sync(0x4000)
	if n := r.recorder.Processes(); n != 2 {
		t.Errorf("%d processes", n)
	}
	s := r.finish()
	var have []string
	for _, p := range get[session.Process](t)(s.Processes()) {
		have = append(have, p.EndState)
	}
	equal(t, "end states", have, []string{session.EndRunning, session.EndDied, session.EndDied})
	equal(t, "sites", get[session.Site](t)(s.Sites()), []session.Site{{ID: 1, Thread: 1, Node: 1, Type: 1},
		{ID: 2, Thread: 2, Node: 2, Type: 2}})
	equal(t, "losses", get[session.Loss](t)(s.Losses()), []session.Loss{{Process: 2, Reason: "no_space", Events: 1}})
}

func TestCorrupt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *wiretest.Arena)
	}{
		{"type of unknown kind", func(a *wiretest.Arena) { a.Add(wire.Type{ID: 9, Kind: 77}) }},
		{"element that was never described", func(a *wiretest.Arena) {
			a.Add(wire.Type{ID: 9, Kind: wire.TypeArray, Element: 55})
		}},
		{"argument that was never described", func(a *wiretest.Arena) {
			a.Add(wire.Function{ID: 9, Arguments: []uint32{55}})
		}},
		{"body without a function", func(a *wiretest.Arena) {
			a.Add(wire.Body{ID: 9, Function: 55, Ranges: []wire.Range{{Address: 1, Size: 1}}})
		}},
		{"body without a range", func(a *wiretest.Arena) { a.Add(wire.Body{ID: 9, Function: 1}) }},
		{"instruction without a function", func(a *wiretest.Arena) { a.IP(1, 0, 0) }},
		{"instruction in an unknown body", func(a *wiretest.Arena) { a.IP(1, 1, 55) }},
		{"node that is its own parent", func(a *wiretest.Arena) { a.Node(uint32(len(a.Nodes)), 3) }},
		{"node with a later parent", func(a *wiretest.Arena) { a.Node(math.MaxUint32, 3) }},
		{"node without an instruction", func(a *wiretest.Arena) { a.Node(0, 0) }},
		{"node with an unknown instruction", func(a *wiretest.Arena) { a.Node(0, 55) }},
		{"site at the root", func(a *wiretest.Arena) { a.Site(1, 0, 1, 1, 24) }},
		{"site at an unknown node", func(a *wiretest.Arena) { a.Site(1, math.MaxUint32, 1, 1, 24) }},
		{"site of an unknown thread", func(a *wiretest.Arena) { a.Site(55, 1, 1, 1, 24) }},
		{"site of an unknown type", func(a *wiretest.Arena) { a.Site(1, 1, 55, 1, 24) }},
		{"more objects than there are", func(a *wiretest.Arena) { a.Sites[0].Objects = math.MaxUint64 }},
		{"more bytes than there are", func(a *wiretest.Arena) { a.Sites[0].Bytes = 1 << 62 }},
		{"more bytes in sum than there are", func(a *wiretest.Arena) {
			a.Sites[0].Bytes = 1 << 60
			a.Site(1, 1, 1, 1, 1<<60)
		}},
		{"more losses than there are", func(a *wiretest.Arena) {
			a.Header.Losses[wire.LossReentered] = wire.LossEntry{Events: 1, Objects: math.MaxUint64}
		}},
		{"record of an unknown kind", func(a *wiretest.Arena) { a.Log = append(a.Log, 8, 0, 0, 0, 99, 0, 0, 0) }},
		{"half a record", func(a *wiretest.Arena) { a.Log = append(a.Log, 8, 0, 0, 0) }},
		{"of another version", func(a *wiretest.Arena) { a.Header.Version++ }},
		{"no arena", func(a *wiretest.Arena) { a.Header.Magic++ }},
	} {
		r := newRecording(t, collect.Filter{})
		a := small()
		c.change(a)
		write(t, a, filepath.Join(r.dir, "1-1.arena"))
		if err := r.recorder.Sync(5000); !errors.Is(err, wire.ErrCorrupt) || !strings.Contains(err.Error(), "arena") {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := errors.Join(r.recorder.Close(), r.writer.Close()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTruncatedFile(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	b := bytesOf(t, small())
	if err := os.WriteFile(filepath.Join(r.dir, "1-1.arena"), b[:len(b)-8], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.recorder.Sync(5000); !errors.Is(err, wire.ErrCorrupt) {
		t.Error(err)
	}
}

// TestOverwrittenHeader: the target writes over its arena after it was opened.
func TestOverwrittenHeader(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	a := small()
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	b := bytesOf(t, a)
	binary.LittleEndian.PutUint64(b, 0)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(b, 0)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := r.recorder.Sync(3000); !errors.Is(err, wire.ErrCorrupt) {
		t.Error(err)
	}
	if have := total(t, r.finish()); have != (quantity.Amount{Allocations: 3, Bytes: 96}) {
		t.Errorf("what was written before is %+v", have)
	}
}

// TestOverwrittenRows: rows that were read once change under the reader.
func TestOverwrittenRows(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	a := small()
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	a.Sites[0].Node, a.Sites[0].Type, a.Sites[0].Thread = math.MaxUint32, math.MaxUint32, math.MaxUint32
	a.Nodes[1] = wire.Node{Parent: math.MaxUint32, IP: math.MaxUint32}
	write(t, a, path)
	r.sync(3000)
	a.Sites[0].Objects--
	write(t, a, path)
	if err := r.recorder.Sync(4000); !errors.Is(err, wire.ErrCorrupt) {
		t.Errorf("a counter that shrinks: %v", err)
	}
	if have := total(t, r.finish()); have != (quantity.Amount{Allocations: 3, Bytes: 96}) {
		t.Errorf("%+v", have)
	}
}

// TestHalfCounted: a site is read between the additions to its two counters.
func TestHalfCounted(t *testing.T) {
	r := newRecording(t, collect.Filter{})
	a := small()
	path := filepath.Join(r.dir, "1-1.arena")
	write(t, a, path)
	r.sync(2000)
	a.Sites[0].Objects++
	write(t, a, path)
	r.sync(3000)
	a.Sites[0].Bytes += 32
	write(t, a, path)
	r.sync(4000)
	s := r.finish()
	equal(t, "values", get[session.SiteValue](t)(s.SiteValues()), []session.SiteValue{
		{Slice: 1, Site: 1, Amount: quantity.Amount{Allocations: 3, Bytes: 96}},
		{Slice: 3, Site: 1, Amount: quantity.Amount{Allocations: 1, Bytes: 32}}})
}

func TestSchedule(t *testing.T) {
	const second = quantity.Nanoseconds(1_000_000_000)
	slices, day := 0, 24*60*60*second
	for age := quantity.Nanoseconds(0); age < day; slices++ {
		next := recording.Schedule(age, 0)
		if next-age < second || (age > 100*second && next-age > age/50) {
			t.Fatalf("after %v comes %v", age, next)
		}
		age = next
	}
	if slices < 300 || slices > 500 {
		t.Errorf("%d slices in a day", slices)
	}
	for _, tt := range []struct{ age, look, slice quantity.Nanoseconds }{
		{0, 0, second},
		{0, second / 10, second},
		{20 * second, second / 2, 2 * second},
		{20 * second, 3 * second, 5 * second},
		{1000 * second, second, 20 * second},
	} {
		if next := recording.Schedule(tt.age, tt.look); next-tt.age != tt.slice {
			t.Errorf("at the age of %v, after a look of %v, a slice is %v long, want %v", tt.age, tt.look,
				next-tt.age, tt.slice)
		}
	}
}
