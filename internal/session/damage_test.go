package session

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	q "github.com/clrprof/clrprof/internal/quantity"
)

var updateGolden = flag.Bool("update", false, "write the golden files")

// small writes a session with a few rows in every table, in pages of 512 bytes so that it
// has many pages and is small.
func small(t testing.TB, path string) {
	t.Helper()
	w, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	a := q.Amount{Allocations: 2, Bytes: 48}
	both := q.Amounts{Inclusive: a, Exclusive: a}
	timed := TimeValue{Calls: 1, Times: q.Times{Inclusive: q.Time{Elapsed: 9}}}
	steps := []error{
		w.SetInfo(map[string]string{KeyCreated: "2026-01-02T03:04:05Z"}),
		w.InsertProcesses([]Process{{ID: 1, PID: 10, Name: "App", Arguments: "[]", EndState: EndExited}}),
		w.InsertThreads([]Thread{{ID: 1, Process: 1, OSID: 11, Name: "main"}}),
		w.InsertModules([]Module{{ID: 1, Process: 1, Name: "App.dll"}}),
		w.InsertTypes([]Type{{ID: 1, Process: 1, Module: 1, Kind: TypeClass, RawName: "T"},
			{ID: 2, Process: 1, Kind: TypeArray, Rank: 1, ElementType: 1}}),
		w.InsertTypeArguments([]TypeArgument{{1, 0, 1}}),
		w.InsertFunctions([]Function{{ID: 1, Process: 1, Module: 1, Kind: FunctionMethod, RawType: "C", RawName: "M",
			Signature: []byte{0, 0, 1}}}),
		w.InsertFunctionArguments([]FunctionArgument{{1, 0, 1}}),
		w.InsertBodies(
			[]Body{{ID: 1, Function: 1, Address: 4096, Size: 100, ILMap: EncodeILMap([]ILPoint{{0, 0}, {8, 4}})}}),
		w.InsertInstructions([]Instruction{{ID: 1, Function: 1, Body: 1, Address: 4104, NativeOffset: 8, ILOffset: 4,
			Line: 1}}),
		w.ReplaceInteractions([]Interaction{{ID: 1, Process: 1, Kind: InteractionHTTP, Text: "GET x", HasText: true,
			Stack: 1, Calls: 2, Ended: 2, Total: 3, Min: 1, Max: 2}}),
		w.InsertInteractionFrames([]InteractionFrame{{1, 0, 1, 1}}),
		w.InsertSlices([]Slice{{1, 0, 100}}),
		w.ReplaceProcessLifetimes([]ProcessLifetime{{1, 1, true}}),
		w.InsertGCs([]GC{{ID: 1, Process: 1, Number: 1, Collected: 1}}),
		w.InsertGCGenerations([]GCGeneration{{1, 0, a, a, q.Amount{}}}),
		w.InsertGCDetails([]GCDetail{{1, 1, 0}}),
		w.InsertGCHeaps([]GCHeap{{1, 0, a, a, 0}}),
		w.InsertGCBirths([]GCBirth{{1, 1, a}}),
		w.InsertGCDeaths([]GCDeath{{1, 1, 0, a}}),
		w.InsertSiteDeaths([]SiteDeath{{1, 1, 0, a}}),
		w.ReplaceSiteAges([]SiteAge{{1, AgeGCs, 1, 1}}),
		w.InsertSiteAlive([]SiteAlive{{1, 2, 1, a}}),
		w.ReplaceSurvivals([]Survival{{1, 1, a, a, a}}),
		w.ReplaceRoots([]Root{{1, 1, RootStack, 0, 1, 1}}),
		w.ReplaceLosses([]Loss{{1, "arena_full", 1, a}}),
		w.ReplaceCounters([]Counter{{ID: 1, Name: "process.resident", Unit: "bytes", Meaning: "memory"}}),
		w.InsertCounterValues([]CounterValue{{Time: 1, Process: 1, Counter: 1, Value: 7}}),
		w.ReplaceProcessTimes([]ProcessTime{{Process: 1, Clock: ClockTSC, TicksPerSec: 3e9, Instrument: InstrumentAll,
			Inside: 9.5}}),
		w.ReplaceTimingExtremes([]TimingExtreme{{1, Extremes{}}}),
		w.ReplaceTimingRunning([]TimingRunning{{1, 1, 5}}),
		w.InsertSourceFiles([]SourceFile{{1, "/src/a.cs"}}),
		w.InsertLines([]Line{{1, 1, 1, 3, 1, 3, 9}}),
	}
	d := &Derived{Modules: []ModuleValue{{1, both}}, Functions: []FunctionValue{{1, both}},
		Calls: []CallValue{{0, 1, both}},
		Lines: []LineValue{{1, a}}, Instructions: []InstructionValue{{1, a}}, Types: []TypeValue{{1, a}},
		Threads: []ThreadValue{{1, a}}, Processes: []ProcessValue{{1, a}},
		CallTimes: []CallTime{{Callee: 1, TimeValue: timed}},
		FunctionTimes: []FunctionTime{
			{1, timed, SingleCalls{NodesElapsed: 9, Extremes: Extremes{ElapsedInclusive: Range{9, 9}}}}},
		ModuleTimes: []ModuleTime{{Module: 1, TimeValue: timed}}, LineTimes: []LineTime{{1, 0, timed}},
		InstructionTimes: []InstructionTime{{1, timed}},
		ThreadTimes:      []ThreadTime{{1, timed}}, ProcessTimes: []ProcessTimeValue{{1, timed}}}
	for i := range 40 {
		id := int64(i + 1)
		steps = append(steps,
			w.InsertNodes([]Node{{ID: NodeID(id), Parent: NodeID(i), Process: 1, Function: 1, Instruction: 1}}),
			w.InsertSites([]Site{{ID: SiteID(id), Thread: 1, Node: NodeID(id), Type: 1}}),
			w.InsertSiteValues([]SiteValue{{1, SiteID(id), a}}),
			w.InsertTimings([]Timing{{TimingID(id), 1, NodeID(id)}}),
			w.InsertTimingValues([]TimingValue{{Slice: 1, Timing: TimingID(id), Calls: 1, Elapsed: 9}}))
		d.Paths = append(d.Paths, PathValue{PathID(id), PathID(i), id, 1, 1, both})
		d.PathTimes = append(d.PathTimes, PathTime{ID: PathID(id), Parent: PathID(i), Level: id, Process: 1,
			Function: 1, TimeValue: timed})
	}
	steps = append(steps, w.WriteDerived(d), w.SetState(Complete),
		sqlitex.ExecuteTransient(w.conn, "PRAGMA page_size=512", nil), sqlitex.ExecuteTransient(w.conn, "VACUUM", nil),
		w.Close())
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
}

// readAll reads everything that a session has and returns the first error.
func readAll(s *Session) error {
	_, err := s.Info()
	for _, read := range []func() error{
		func() error { _, err := s.Processes(); return err }, func() error { _, err := s.Threads(); return err },
		func() error { _, err := s.Modules(); return err }, func() error { _, err := s.Types(); return err },
		func() error { _, err := s.TypeArguments(); return err }, func() error { _, err := s.Functions(); return err },
		func() error { _, err := s.FunctionArguments(); return err },
		func() error {
			bodies, err := s.Bodies()
			for _, b := range bodies {
				DecodeILMap(b.ILMap)
			}
			return err
		},
		func() error { _, err := s.Instructions(); return err }, func() error { _, err := s.Nodes(); return err },
		func() error { _, err := s.Sites(); return err }, func() error { _, err := s.Slices(); return err },
		func() error { _, err := s.SiteValues(); return err }, func() error { _, err := s.Losses(); return err },
		func() error { _, err := s.ProcessLifetimes(); return err }, func() error { _, err := s.GCs(); return err },
		func() error { _, err := s.GCGenerations(); return err }, func() error { _, err := s.SiteDeaths(); return err },
		func() error { _, err := s.GCDetails(); return err }, func() error { _, err := s.GCHeaps(); return err },
		func() error { _, err := s.GCBirths(0, math.MaxInt64); return err },
		func() error { _, err := s.GCDeaths(0, math.MaxInt64); return err },
		func() error { _, err := s.SiteAges(); return err }, func() error { _, err := s.SiteAlive(); return err },
		func() error { _, err := s.Survivals(); return err }, func() error { _, err := s.Roots(); return err },
		func() error { _, err := s.SourceFiles(); return err }, func() error { _, err := s.Lines(); return err },
		func() error { _, err := s.PathValues(); return err },
		func() error { _, err := s.CallValues(); return err },
		func() error { _, err := s.FunctionValues(); return err }, func() error {
			_, err := s.ModuleValues()
			return err
		},
		func() error { _, err := s.LineValues(); return err }, func() error {
			_, err := s.InstructionValues()
			return err
		},
		func() error { _, err := s.TypeValues(); return err }, func() error { _, err := s.ThreadValues(); return err },
		func() error { _, err := s.ProcessValues(); return err },
		func() error { _, err := s.ProcessTimes(); return err }, func() error { _, err := s.Timings(); return err },
		func() error { _, err := s.TimingValues(); return err }, func() error {
			_, err := s.TimingExtremes()
			return err
		},
		func() error { _, err := s.TimingRunning(); return err }, func() error { _, err := s.PathTimes(); return err },
		func() error { _, err := s.CallTimes(); return err },
		func() error { _, err := s.FunctionTimes(); return err }, func() error {
			_, err := s.ModuleTimes()
			return err
		},
		func() error { _, err := s.LineTimes(); return err }, func() error {
			_, err := s.InstructionTimes()
			return err
		},
		func() error { _, err := s.ThreadTimes(); return err }, func() error {
			_, err := s.ProcessTimeValues()
			return err
		},
		func() error {
			return s.Query("SELECT * FROM functions", func([]string) error { return nil }, func([]any) error {
				return nil
			})
		},
		s.CheckFile,
	} {
		if e := read(); err == nil {
			err = e
		}
	}
	return err
}

// makeDamaged returns the files of testdata/damaged by name.
func makeDamaged(t *testing.T) map[string][]byte {
	dir := t.TempDir()
	path := filepath.Join(dir, "good")
	small(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	patch := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	other := filepath.Join(dir, "other")
	conn, err := sqlite.OpenConn(other, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteScript(conn, "PRAGMA page_size=512; CREATE TABLE cookies (id INTEGER)", nil),
		conn.Close()); err != nil {
		t.Fatal(err)
	}
	otherBytes, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	mine := bytes.Clone(otherBytes)
	copy(mine[68:], "CLRP")
	mine[63] = Format
	half := len(good) / 2 / 512 * 512
	line := bytes.LastIndex(good, []byte("CREATE TABLE line "))
	// with returns the good file after a change in SQL.
	with := func(script string) []byte {
		copied := filepath.Join(dir, "copied")
		if err := os.WriteFile(copied, good, 0o644); err != nil {
			t.Fatal(err)
		}
		conn, err := sqlite.OpenConn(copied, sqlite.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(sqlitex.ExecuteScript(conn, script, nil), conn.Close()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(copied)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	const garbage = "zeroblob(20), checksum = 265657229" // CRC-32 of 20 zeros
	return map[string][]byte{
		"good":            good,
		"chunk-checksum":  with("UPDATE chunk SET data = zeroblob(20) WHERE name = 'site'"),
		"chunk-garbage":   with("UPDATE chunk SET data = " + garbage + " WHERE name = 'site'"),
		"chunk-rows":      with("UPDATE chunk SET rows = rows + 1 WHERE name = 'site'"),
		"chunk-many-rows": with("UPDATE chunk SET rows = 1 << 40 WHERE name = 'site'"),
		"chunk-no-text":   with("UPDATE chunk SET name = 'root', columns = 6 WHERE name = 'survival'"),
		"empty":           {},
		"text": []byte("This is a text, not a session, however long it may be. It only has to be longer " +
			"than a header of a hundred bytes.\n"),
		"short":             good[:60],
		"header-only":       good[:100],
		"one-page":          good[:512],
		"half":              good[:half],
		"half-a-page-less":  good[:len(good)-200],
		"other-database":    otherBytes,
		"no-tables":         mine,
		"newer":             patch(60, 0, 0, 0, 9),
		"format-zero":       patch(60, 0, 0, 0, 0),
		"page-size-zero":    patch(16, 0, 0),
		"page-size-odd":     patch(16, 3, 7),
		"schema-page-zeros": patch(100, make([]byte, 412)...),
		"schema-garbled":    patch(line, []byte("CREATE TABLE linf ")...),
		"middle-zeros":      patch(half, make([]byte, 4096)...),
		"middle-ones":       patch(half, bytes.Repeat([]byte{0xff}, 2048)...),
		"write-version-wal": patch(18, 2, 2),
		"encoding-utf16":    patch(56, 0, 0, 0, 2),
	}
}

// TestDamagedFiles opens each file of testdata/damaged and compares what is said about
// it with testdata/damaged.txt: one line that names the file and says what is wrong.
func TestDamagedFiles(t *testing.T) {
	const folder, golden = "testdata/damaged", "testdata/damaged.txt"
	if *updateGolden {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, b := range makeDamaged(t) {
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range files {
		path := filepath.Join(folder, f.Name())
		s, err := Open(path)
		if err == nil {
			err = readAll(s)
			s.Close()
		}
		if err == nil {
			got.WriteString(f.Name() + ": no error\n")
			continue
		}
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: want one line that names the file, have %q", f.Name(), err)
		}
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotSession) && !errors.Is(err, ErrNewer) &&
			!errors.Is(err, ErrOlder) {
			t.Errorf("%s: %v is of no kind", f.Name(), err)
		}
		got.WriteString(f.Name() + ": " + err.Error() + "\n")
	}
	if *updateGolden {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got; -update writes it):\n%s", diff)
	}
}

func TestOpenMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, ErrNotFound) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNotSession) {
		t.Errorf("folder: %v", err)
	}
	if _, err := Edit(filepath.Join(dir, "none")); !errors.Is(err, ErrNotFound) {
		t.Errorf("editing a missing file: %v", err)
	}
}

// TestOddPaths: names that mean something to SQLite must be plain names here.
func TestOddPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{":memory:", "file:x?mode=memory", "a b#c%20'd", "ünïcode…"} {
		small(t, path)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := s.Nodes(); len(rows) != 40 || err != nil {
			t.Errorf("%q: %d nodes, %v", path, len(rows), err)
		}
		s.Close()
	}
}

// FuzzOpen opens any bytes as a session and reads everything: there may be errors, but
// no panic and no end of it.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/damaged/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { openBytes(t, b) })
}

// FuzzPatch changes two places of a good session, which gets deeper than FuzzOpen.
func FuzzPatch(f *testing.F) {
	good, err := os.ReadFile("testdata/damaged/good")
	if err != nil {
		f.Fatal(err)
	}
	for at := uint32(0); at < uint32(len(good)); at += 512 {
		f.Add(at, []byte{0xff, 0xff}, at+8, []byte{0x80, 0})
	}
	f.Fuzz(func(t *testing.T, at uint32, a []byte, then uint32, b []byte) {
		bad := bytes.Clone(good)
		copy(bad[int(at)%len(bad):], a)
		copy(bad[int(then)%len(bad):], b)
		openBytes(t, bad)
	})
}

func openBytes(t *testing.T, b []byte) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		return
	}
	defer s.Close()
	err = readAll(s)
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %q", err)
	}
}
