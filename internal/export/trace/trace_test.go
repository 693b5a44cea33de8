package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/calltrace"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
	"github.com/clrprof/clrprof/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files")

func event(at uint64, kind, depth, value uint32) wire.TraceEvent {
	return wire.TraceEvent{Ticks: at, Value: value, What: depth<<wire.TraceKindBits | kind}
}

// act lets the operating system act before a call, around an exception, while events are lost, after all events of a
// thread, and in a thread that has none.
func act(b *sessiontest.Builder, p session.ProcessID) {
	b.Timed(p, 0, 0)
	main, load := sessiontest.Frame{Function: 1, Line: 4}, sessiontest.Frame{Function: 2}
	idle := b.Thread(p, "idle")
	for i, e := range []struct {
		timing session.TimingID
		event  session.SystemEvent
	}{
		{b.Timing(1, false, main), session.SystemEvent{End: 2000, Length: 1001, MinorFaults: 3}}, // rounded: from 999 on
		{b.Timing(1, true, main, load), session.SystemEvent{End: 2600, Length: 599, Voluntary: 2, Blocked: 400, Ready: 10}},
		{b.Timing(1, true, main), session.SystemEvent{End: 3200, Length: 50, Preempted: 1, Ready: 40}},
		{b.Timing(2, true, main), session.SystemEvent{End: 2_500_000, Length: 100, Calls: 2}},
		{b.Timing(idle, true, main), session.SystemEvent{End: 8000, Length: 7000, Voluntary: 1, Blocked: 6500}},
	} {
		e.event.ID, e.event.Timing = session.SystemEventID(i+1), e.timing
		b.SystemEvents = append(b.SystemEvents, e.event)
	}
	b.SystemEventCalls = []session.SystemEventCall{{Event: 4, Number: 0, Calls: 1}}
	b.SystemCalls = []session.SystemCall{{Number: 0, Name: "read"}}
	b.Losses = append(b.Losses, session.Loss{Process: p, Reason: session.LossSystemEvents, Events: 6})
}

// shop is a session of two threads, one of which has the number of one that has ended, with marks, a collection, an
// exception, and events that are lost.
func shop(t *testing.T, keeps calltrace.Keep) (*session.Session, *calltrace.Recorded) {
	t.Helper()
	return shopWith(t, keeps, func(*sessiontest.Builder) {})
}

// shopWith is shop with what change changes.
func shopWith(t *testing.T, keeps calltrace.Keep, change func(*sessiontest.Builder)) (*session.Session, *calltrace.Recorded) {
	t.Helper()
	b := sessiontest.New()
	p := b.Process("Shop", 77)
	b.Thread(p, "")
	b.Thread(p, `worker "1"`)
	b.Threads[1].OSID = b.Threads[0].OSID
	m := b.Module(p, "Shop.dll", true)
	b.Function(m, "Shop.Program.Main(string[])", "", 0)
	b.Function(m, "Shop.Orders.<Load>b__0<T>(int)", "", 0)
	b.Type(m, "Shop.OutOfStockException")
	b.Marks = []session.Mark{{ID: 1, Time: 1500, Name: "load", Text: "a \"text\"", Process: p, Thread: 1, Source: session.MarkAPI},
		{ID: 2, Time: 9000, Name: "all", Source: session.MarkSignal}}
	b.GCs = []session.GC{{ID: 1, Process: p, Number: 1, Generation: 1, Collected: 3, Induced: true, Begin: 2100, Pause: 300}}
	act(b, p)
	change(b)
	path := filepath.Join(t.TempDir(), "shop.clrprof")
	if err := b.Write(path); err != nil {
		t.Fatal(err)
	}
	s, err := session.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	store, err := calltrace.Create(filepath.Join(t.TempDir(), "events"), 11*calltrace.EventSize, keeps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	key := calltrace.Key{PID: 77, Start: 1}
	add := func(head wire.TraceChunkHead, events ...wire.TraceEvent) {
		var raw []byte
		for _, e := range events {
			raw, _ = binary.Append(raw, binary.LittleEndian, e)
		}
		head.Used = uint32(len(events))
		store.Add(key, head, raw)
	}
	add(wire.TraceChunkHead{Thread: 1, Sequence: 1, Kept: wire.TraceAllKept},
		event(1000, wire.TraceEnter, 1, 1), event(2000, wire.TraceEnter, 2, 2), event(2500, wire.TraceThrown, 2, 1),
		event(2600, wire.TraceExit, 2, 2), event(2700, wire.TraceCaught, 1, 1), event(2800, wire.TraceEnter, 2, 2))
	add(wire.TraceChunkHead{Thread: 2, Sequence: 2, Kept: wire.TraceAllKept}, event(1_234_567, wire.TraceEnter, 1, 2),
		event(1_234_567, wire.TraceExit, 1, 2))
	add(wire.TraceChunkHead{Thread: 1, Sequence: 3, Kept: 1, Lost: 4, LostTicks: 2900}, event(3500, wire.TraceExit, 2, 2),
		event(4000, wire.TraceThrown, 1, 9), event(5000, wire.TraceExit, 1, 1))
	add(wire.TraceChunkHead{Thread: 2, Sequence: 4, Lost: 0, Kept: wire.TraceAllKept}, event(6000, wire.TraceEnter, 1, 1))
	same := func(id uint32) int64 { return int64(id) }
	return s, &calltrace.Recorded{Store: store, Processes: []calltrace.Process{{Key: key, ID: int64(p), Functions: same,
		Types: same, Threads: same, Time: func(ticks uint64) (int64, error) { return int64(ticks), nil },
		Lost: map[uint32]calltrace.Missed{1: {Events: 4, Ticks: 2900}, 2: {Events: 3, Ticks: 2_000_000}}, NotTold: 2}}}
}

// TestPrivacy: which texts of a session its trace has is what docs/privacy.md says.
func TestPrivacy(t *testing.T) {
	s, r := shopWith(t, calltrace.First, func(b *sessiontest.Builder) {
		b.Info = map[string]string{session.KeyHost: "secret-host", session.KeyDirectory: "/secret-directory",
			session.KeyCommand: `["/secret-folder/shop","secret-argument"]`, session.KeyNote: "secret-note",
			session.KeyOptions: `{"trace":"/secret-folder/a.json"}`}
		b.Processes[0].Path, b.Processes[0].Arguments = "/secret-folder/shop", `["shop","secret-argument"]`
		b.Modules[0].Path, b.Modules[0].SymbolsPath = "/secret-folder/Shop.dll", "/secret-folder/Shop.pdb"
		b.SourceFiles = []session.SourceFile{{ID: 1, Path: "/secret-folder/Shop.cs"}}
		b.Counters = []session.Counter{{ID: 1000, Name: "orders", Unit: "1", Tags: "secret-tag"}}
		b.Processes[0].Name, b.Threads[1].Name = "shown-process", "shown-thread"
		b.Marks[0].Name, b.Marks[0].Text = "shown-mark", "shown-text"
	})
	for _, format := range []Format{formatJSON, formatCSV} {
		var out bytes.Buffer
		if _, err := Write(&out, format, s, r); err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(out.Bytes(), []byte("secret")); at >= 0 {
			t.Errorf("%v: %.60s", format, out.Bytes()[at:])
		}
		for _, text := range []string{"shown-process", "shown-thread", "shown-mark", "shown-text", "Shop.OutOfStockException",
			"Shop.Program.Main", "read"} {
			if !bytes.Contains(out.Bytes(), []byte(text)) {
				t.Errorf("%v: no %s", format, text)
			}
		}
	}
}

// TestGolden compares what is written, byte for byte, and that it is the same twice.
func TestGolden(t *testing.T) {
	s, r := shop(t, calltrace.First)
	for _, format := range []Format{formatJSON, formatCSV} {
		var once, twice bytes.Buffer
		totals, err := Write(&once, format, s, r)
		if err != nil {
			t.Fatal(err)
		}
		want := calltrace.Totals{Events: 11, Dropped: calltrace.Lost{Events: 1, Limit: true}, Missed: 7, NotTold: 2, System: 5,
			SystemLost: 6}
		if d := cmp.Diff(want, totals); d != "" {
			t.Errorf("totals (-want +have)\n%s", d)
		}
		if _, err := Write(&twice, format, s, r); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%s: written twice it is not the same: %v", format, err)
		}
		golden := filepath.Join("testdata", "shop."+string(format))
		if *update {
			if err := os.WriteFile(golden, once.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(text), once.String()); d != "" {
			t.Errorf("%s (-want +have; -update writes it)\n%s", golden, d)
		}
	}
	var out bytes.Buffer
	if _, err := Write(&out, formatJSON, s, r); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("no JSON: %v", err)
	}
}

// TestLast: a trace that keeps the last events says before the first of a thread how many it had, and that it is such a
// one. There is room for one chunk.
func TestLast(t *testing.T) {
	s, r := shop(t, calltrace.Last)
	for format, want := range map[Format][]string{
		formatCSV: {`6000,"Lost","","",,10000002,"worker ""1""",77,"Shop","2 events of the thread before this one",`},
		formatJSON: {`"name":"events before this one","s":"t","args":{"kind":"loss","events":2}`,
			`"events":1,"keeps":"last","lost_limit":11,"lost_memory":7,`,
			`"system_events":1,"system_events_before":4,`},
	} {
		var out bytes.Buffer
		if _, err := Write(&out, format, s, r); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s has no %s\n%s", format, text, out.String())
			}
		}
	}
}

// TestFormats: a file's name says how it is written.
func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		path   string
		format Format
		zipped bool
	}{
		{"a.json", formatJSON, false}, {"/tmp/a.b.json.gz", formatJSON, true}, {"a.csv", formatCSV, false}, {"a.csv.gz", formatCSV, true},
		{"a.txt", "", false}, {"a", "", false}, {".json", "", false}, {"json", "", false}, {"a.gz", "", false}, {"", "", false},
		{"a.json/", "", false}, {"a.JSON", "", false},
	} {
		format, zipped, known := FormatOf(tt.path)
		if format != tt.format || zipped != tt.zipped && known || known != (tt.format != "") {
			t.Errorf("%q: %q, %t, %t", tt.path, format, zipped, known)
		}
	}
}

// TestMicros: all digits of a nanosecond are written.
func TestMicros(t *testing.T) {
	for ns, want := range map[int64]string{0: "0.000", 7: "0.007", 1234: "1.234", -1: "-0.001", math.MaxInt64: "9223372036854775.807"} {
		if have := string(appendMicros(nil, ns)); have != want {
			t.Errorf("%d: %s, want %s", ns, have, want)
		}
	}
}
