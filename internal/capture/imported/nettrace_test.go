package imported

import (
	"bytes"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/capture/eventpipe"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/session/secrets"
)

// TestCut: a file that ends anywhere is refused, or imported up to there with a loss that says so.
func TestCut(t *testing.T) {
	data := unpacked(t, "ticks-10.0.12.nettrace")
	imports := 0
	for n := 0; n < len(data)-1; n += len(data)/40 + 1 {
		trace, err := ReadNettrace(bytes.NewReader(data[:n]), nil)
		if errors.Is(err, eventpipe.ErrFormat) || errors.Is(err, errNothing) {
			continue
		}
		if err != nil || !trace.res.Cut {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
		w, res := importFile(t, data[:n])
		losses := get(t, w.Losses)
		if len(losses) != 1 || losses[0].Reason != session.LossFileEvents || !res.Cut {
			t.Errorf("%d of %d bytes: lost %v", n, len(data), losses)
		}
		imports++
	}
	if imports < 20 {
		t.Errorf("only %d imports", imports)
	}
}

// TestDamaged: of a file with a wrong byte anywhere there is an error of the file, or a session without a contradiction.
func TestDamaged(t *testing.T) {
	data := unpacked(t, "sampled-10.0.12.nettrace")
	sessions := 0
	for n := 100; n < len(data); n += len(data)/60 + 1 {
		bad := bytes.Clone(data)
		bad[n] ^= 0xff
		if _, err := ReadNettrace(bytes.NewReader(bad), nil); err != nil {
			if !errors.Is(err, eventpipe.ErrFormat) && !errors.Is(err, errNothing) {
				t.Errorf("byte %d: %v", n, err)
			}
			continue
		}
		importFile(t, bad)
		sessions++
	}
	if sessions < 5 {
		t.Errorf("only %d sessions", sessions)
	}
}

// TestTypeNames: names of the runtime's events are taken apart; what is no such name stays as it is.
func TestTypeNames(t *testing.T) {
	str := typeName{raw: "System.String"}
	for name, want := range map[string]typeName{
		"System.String":      str,
		"A.B+C":              {raw: "A.B/C"},
		"System.Byte[]":      {raw: "System.Byte", ranks: []int{1}},
		"System.Byte[,][]":   {raw: "System.Byte", ranks: []int{2, 1}},
		"L`1[System.String]": {raw: "L`1", arguments: []typeName{str}},
		"D`2[System.String,L`1[System.String]][]": {raw: "D`2", ranks: []int{1},
			arguments: []typeName{str, {raw: "L`1", arguments: []typeName{str}}}},
		"":       {},
		"A[":     {raw: "A["},
		"A[B":    {raw: "A[B"},
		"A]":     {raw: "A]"},
		"A,B":    {raw: "A,B"},
		"[A]":    {raw: "[A]"},
		"A[[B]]": {raw: "A[[B]]"},
	} {
		got := parseTypeName(name)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(typeName{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
}

// TestWeights: samples stand for as many objects, on average, as the formula of the runtime says: of each size as many
// as there were, if one of 102,400 bytes is drawn.
func TestWeights(t *testing.T) {
	w := newWeights()
	const n = 100_000
	for _, size := range []uint64{24, 1000, 8192, 85_000, 1 << 20} {
		random, ticks := 0.0, 0.0
		for range n {
			random += float64(w.ofRandom(size))
			ticks += float64(w.ofTick(heapSmall, 102_416, size))
		}
		want := 1 / -math.Expm1(float64(size)*math.Log1p(-1.0/102_400))
		if got := random / n; math.Abs(got-want) > want/200 {
			t.Errorf("an object of %d bytes stands for %f, not %f", size, got, want)
		}
		if want = max(1, 102_416/float64(size)); math.Abs(ticks/n-want) > want/200 {
			t.Errorf("a tick at an object of %d bytes stands for %f, not %f", size, ticks/n, want)
		}
	}
}

// TestStops: stops of two threads that overlap count for what happened in each, and others for nothing.
func TestStops(t *testing.T) {
	at := func(time quantity.Nanoseconds, thread uint64, id, reason uint32) gcEvent {
		return gcEvent{time: time, thread: thread, id: id, reason: reason}
	}
	start := func(time quantity.Nanoseconds, thread uint64, number, depth, kind uint32) gcEvent {
		return gcEvent{time: time, thread: thread, id: eventGCStart, number: number, depth: depth, kind: kind}
	}
	end := func(time quantity.Nanoseconds, number uint32) gcEvent {
		return gcEvent{time: time, id: eventGCEnd, number: number}
	}
	list := collections([]gcEvent{
		at(5, 9, eventRestartEnd, 0), // of what began before the recording
		at(10, 1, eventSuspendBegin, 0), at(20, 2, eventSuspendBegin, 1), at(30, 1, eventRestartEnd, 0),
		start(40, 2, 5, 2, gcBackground), at(50, 2, eventRestartEnd, 0),
		at(60, 1, eventSuspendBegin, 0), at(65, 1, eventRestartEnd, 0),
		at(70, 3, eventSuspendBegin, 1), start(71, 3, 6, 0, 0), end(72, 6), at(75, 3, eventRestartEnd, 0),
		at(80, 4, eventSuspendBegin, 6), at(90, 4, eventRestartEnd, 0), end(100, 5),
		at(110, 4, eventSuspendBegin, 6), at(120, 4, eventRestartEnd, 0),
		at(130, 1, eventSuspendBegin, 1), start(131, 1, 7, 2, gcBackground), end(140, 7), at(141, 1, eventRestartEnd, 0),
		at(150, 4, eventSuspendBegin, 6), at(160, 4, eventRestartEnd, 0),
		at(170, 1, eventSuspendBegin, 1), start(171, 1, 8, 2, gcBackground), start(172, 1, 9, 1, 0), end(173, 9),
		at(177, 1, eventRestartEnd, 0), at(180, 4, eventSuspendBegin, 6), at(190, 4, eventRestartEnd, 0), end(195, 8),
	})
	type row struct {
		number       uint32
		begin, pause quantity.Nanoseconds
	}
	var got []row
	for _, c := range list {
		got = append(got, row{c.Number, c.Begin, c.Pause})
	}
	want := []row{{5, 20, 30 + 10}, {6, 70, 5}, {7, 130, 11}, {8, 170, 10}, {9, 170, 7}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCode: code is found by address and time, where memory was used again, and where nothing says when.
func TestCode(t *testing.T) {
	f := newFinder([]method{
		{start: 1000, size: 100, from: 0, to: 50, name: "old"},
		{start: 1000, size: 80, from: 60, name: "new"},
		{start: 1200, size: 10, from: 70, name: "late"},
	})
	for _, c := range []struct {
		address uint64
		at      quantity.Nanoseconds
		want    string
	}{{1001, 10, "old"}, {1001, 70, "new"}, {1100, 10, "old"}, {1100, 70, "old"}, {1000, 10, ""}, {1101, 10, ""},
		{1205, 10, "late"}, {1210, 80, "late"}, {1211, 80, ""}, {0, 0, ""}} {
		got := ""
		if i := f.find(c.address, c.at); i >= 0 {
			got = f.methods[i].name
		}
		if got != c.want {
			t.Errorf("%d at %d is in %q, not in %q", c.address, c.at, got, c.want)
		}
	}
}

// FuzzNettrace: of whatever is called a nettrace file there is an error of the file, or what a session can be made of. To
// write one takes too long here: see TestDamaged.
func FuzzNettrace(f *testing.F) {
	for _, name := range []string{"ticks-8.0.33", "sampled-10.0.12", "cpu-10.0.12"} {
		data := unpacked(f, name+".nettrace")
		f.Add(data)
		f.Add(data[:20_000])
		f.Add(data[:2000])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := ReadNettrace(bytes.NewReader(data), nil)
		if err != nil {
			if !errors.Is(err, eventpipe.ErrFormat) && !errors.Is(err, errNothing) {
				t.Fatal(err)
			}
			return
		}
		for _, c := range collections(trace.gcs) {
			if c.Pause < 0 || c.Begin < 0 || c.Generation > oldest {
				t.Fatalf("%+v", c)
			}
		}
		find := newFinder(trace.code.methods)
		for _, s := range trace.stacks.list {
			for a := range eventpipe.Addresses([]byte(s)) {
				find.find(a, 0)
			}
		}
		for _, name := range trace.types.list {
			parseTypeName(name)
		}
	})
}

// TestNoRoom: what exceeds a limit is a loss of the session, whatever kind of event it is.
func TestNoRoom(t *testing.T) {
	trace, err := ReadNettrace(bytes.NewReader(unpacked(t, "ticks-10.0.12.nettrace")), nil)
	if err != nil {
		t.Fatal(err)
	}
	trace.lostGCs, trace.unreadable, trace.code.left = 1, 2, 4
	w, err := session.Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := trace.Write(w, secrets.All); err != nil {
		t.Fatal(err)
	}
	losses := get(t, w.Losses)
	if len(losses) != 1 || losses[0].Reason != session.LossFileEvents || losses[0].Events != 7 {
		t.Errorf("7 events were left out, and lost is %v", losses)
	}
}
