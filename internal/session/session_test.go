package session

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"

	q "github.com/clrprof/clrprof/internal/quantity"
)

func amountsOf(a, b, c, d int64) q.Amounts {
	return q.Amounts{Inclusive: q.Amount{Allocations: q.Count(a), Bytes: q.Bytes(c)},
		Exclusive: q.Amount{Allocations: q.Count(b), Bytes: q.Bytes(d)}}
}

// tableTest writes rows and reads them back, and compares the columns with the schema.
func tableTest[T any](t *testing.T, w *Writer, tab table[T], read func() ([]T, error), rows ...T) {
	t.Helper()
	stmt, err := w.conn.Prepare("SELECT name FROM pragma_table_info('" + tab.name + "')")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range declared(tab.name) {
		if isPacked(tab.name) { // else SQLite says it
			names = append(names, column.name)
		}
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			break
		}
		names = append(names, stmt.ColumnText(0))
	}
	if !slices.Equal(names, tab.columns) {
		t.Errorf("%s has columns %s, Go has %s", tab.name, names, tab.columns)
	}
	if err := put(w, add, tab, rows); err != nil {
		t.Fatal(err)
	}
	got, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", tab.name, diff)
	}
}

func TestTables(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	amount := q.Amount{Allocations: 5, Bytes: 1 << 40}
	tableTest(t, w, processTable, w.Processes, Process{1, 100, 99, "App", "/usr/bin/dotnet", `["a"]`, "9.0.7", 1, 2,
		EndExited, 3, 4, 5, 6, 7, 8, 9, SamplerRandom}, Process{ID: 2})
	tableTest(t, w, threadTable, w.Threads, Thread{1, 1, 77, "main", 3, 4})
	put(w, replace, threadSetTable, []ThreadSet{{1, 3, "x"}})
	tableTest(t, w, threadScopeTable, w.ThreadScopes, ThreadScope{1, Spells{2, 3}, Spells{4, 5}}, ThreadScope{Thread: 2})
	tableTest(t, w, testCaseTable, w.TestCases, TestCase{1, "10, \"ä\"", 0, 2, amount}, TestCase{Function: 2, Number: 2})
	tableTest(t, w, interactionTable, w.Interactions, Interaction{1, 1, InteractionDatabase, "SELECT 'ä\x00'", true, 2, 9,
		8, 7, 6, 5, 4, 3}, Interaction{ID: 2})
	tableTest(t, w, interactionFrameTable, w.InteractionFrames, InteractionFrame{1, 0, 2, 3}, InteractionFrame{1, 1, 4, 5})
	tableTest(t, w, moduleTable, w.Modules, Module{1, 1, "App.dll", "/x/App.dll", "0f", true, SymbolsFile, "/x/App.pdb",
		"project"})
	tableTest(t, w, typeTable, w.Types, Type{1, 1, 1, 0x02000001, TypeArray, 2, true, 3, 0x1d, "Näm", "Näm\x00e[,]",
		TraitValue})
	tableTest(t, w, typeArgumentTable, w.TypeArguments, TypeArgument{1, 0, 2}, TypeArgument{1, 1, 0})
	tableTest(t, w, functionTable, w.Functions, Function{1, 1, 1, 0x06000001, 1, FunctionMethod, "T", "m",
		[]byte{0, 1, 2}, "T.m()", 1, 12, "Xunit.FactAttribute", "GET /orders",
		"12-9f86d081884c7d65"}, Function{ID: 2})
	tableTest(t, w, functionArgumentTable, w.FunctionArguments, FunctionArgument{1, 0, 2})
	tableTest(t, w, bodyTable, w.Bodies,
		Body{1, 1, 0xffff_8000_0000_0000, 12, EncodeILMap([]ILPoint{{0, ILProlog}, {4, 0}})}, Body{ID: 2})
	tableTest(t, w, instructionTable, w.Instructions, Instruction{1, 1, 1, 0x7f0000000000, 4, -1, 1})
	tableTest(t, w, nodeTable, w.Nodes, Node{1, 0, 1, 1, 1}, Node{2, 1, 1, 1, 1})
	tableTest(t, w, siteTable, w.Sites, Site{1, 1, 2, 1, true, 3200})
	tableTest(t, w, sliceTable, w.Slices, Slice{1, 0, 10})
	tableTest(t, w, siteValueTable, w.SiteValues, SiteValue{1, 1, amount})
	tableTest(t, w, pauseTable, w.Pauses, Pause{1, LevelThread, 1, 2, 3, 4}, Pause{ID: 2, Level: LevelGlobal})
	tableTest(t, w, markTable, w.Marks, Mark{1, 5, -7, "näm", "te\x00xt", 1, 2, MarkAPI}, Mark{ID: 2})
	tableTest(t, w, processLifetimeTable, w.ProcessLifetimes, ProcessLifetime{1, 7, true}, ProcessLifetime{2, 0, false})
	tableTest(t, w, leftOutTable, w.LeftOut, LeftOut{1, 2, amount}, LeftOut{Process: 2})
	tableTest(t, w, endingTable, w.ProcessEndings, ProcessEnding{1, SignHost, 3, 5}, ProcessEnding{Process: 2})
	tableTest(t, w, gcCallerTable, w.GCCallers, GCCaller{1, 2}, GCCaller{3, 4})
	tableTest(t, w, gcFreedTable, w.GCFreed, GCFreed{1, 0, amount}, GCFreed{GC: 1, Generation: 4})
	tableTest(t, w, siteFreedTable, func() ([]SiteFreed, error) {
		list, _, err := w.SiteFreed()
		return list, err
	}, SiteFreed{1, 0, amount}, SiteFreed{Site: 1, Generation: 4})
	tableTest(t, w, gcTable, w.GCs, GC{1, 1, 3, 2, 31, true, 5, 6, 2, 4}, GC{ID: 2})
	tableTest(t, w, gcGenerationTable, w.GCGenerations, GCGeneration{1, 0, amount, amount.Add(amount), amount},
		GCGeneration{GC: 1, Generation: 4})
	tableTest(t, w, gcDetailTable, w.GCDetails, GCDetail{1, 4, 2}, GCDetail{GC: 2})
	tableTest(t, w, gcHeapTable, w.GCHeaps, GCHeap{1, 0, amount, amount.Add(amount), 1 << 30}, GCHeap{GC: 1, Generation: 4})
	all := GCID(math.MaxInt64)
	tableTest(t, w, gcBirthTable, func() ([]GCBirth, error) { return w.GCBirths(1, all) }, GCBirth{1, 1, amount})
	tableTest(t, w, gcDeathTable, func() ([]GCDeath, error) {
		return w.GCDeaths(1, all)
	}, GCDeath{1, 1, 0, amount}, GCDeath{1, 1, GenerationLarge, amount})
	tableTest(t, w, siteDeathTable, w.SiteDeaths, SiteDeath{1, 1, 0, amount}, SiteDeath{1, 1, GenerationLarge, amount})
	tableTest(t, w, siteAgeTable, w.SiteAges, SiteAge{1, AgeGCs, 1, 9}, SiteAge{1, AgeTime, 0, 9})
	tableTest(t, w, siteAliveTable, w.SiteAlive, SiteAlive{1, 2, 6, amount})
	tableTest(t, w, survivalTable, w.Survivals, Survival{1, 1, amount, amount.Add(amount), amount})
	tableTest(t, w, rootTable, w.Roots, Root{1, 1, RootHandle, RootPinning | RootWeak, 0, 3},
		Root{1, 1, RootStack, 0, 5, 1})
	tableTest(t, w, snapshotTable, w.Snapshots, Snapshot{1, 9, amount, amount, amount.Add(amount), amount, amount, 4, 5})
	tableTest(t, w, snapshotTypeTable, w.SnapshotTypes, SnapshotType{1, 0, amount, 7, 1, 2, 3, 4, 5},
		SnapshotType{Process: 1, Type: 2})
	tableTest(t, w, snapshotSiteTable, w.SnapshotSites, SnapshotSite{1, amount, 7, 1, 6})
	tableTest(t, w, snapshotRootTable, w.SnapshotRoots, SnapshotRoot{1, RootHandle, RootPinning, 0, 3, amount},
		SnapshotRoot{Process: 1, Kind: RootStack, Function: 5})
	tableTest(t, w, snapshotPathTable, w.SnapshotPaths, SnapshotPath{1, 1, 0, 2, 24, 48, RootStack, 1, 7, 0},
		SnapshotPath{1, 1, 1, 1, 24, 24, "", 0, 0, 2})
	tableTest(t, w, snapshotStaticTable, w.SnapshotStatics, SnapshotStatic{1, 1, 2, 0x4000003, "s_items", 1, 24, 48, true},
		SnapshotStatic{Process: 1, ID: 2})
	tableTest(t, w, snapshotHolderTable, w.SnapshotHolders, SnapshotHolder{1, 2, 3, RootHandle, RootPinning, 4, 5, 6, amount},
		SnapshotHolder{Process: 1, Type: 3, Kind: HolderNone})
	tableTest(t, w, lossTable, w.Losses, Loss{1, "arena_full", 2, amount})
	tableTest(t, w, sourceFileTable, w.SourceFiles, SourceFile{1, "/src/a.cs"})
	tableTest(t, w, lineTable, w.Lines, Line{1, 1, 1, 12, 5, 13, 6})
	tableTest(t, w, paramsArrayTable, func() ([]ParamsArray, error) {
		list, _, err := w.ParamsArrays()
		return list, err
	}, ParamsArray{1, 0, 2}, ParamsArray{1, 3, 2})
	tableTest(t, w, pathValueTable, w.PathValues, PathValue{1, 0, 1, 1, 1, amountsOf(1, 2, 3, 4)})
	tableTest(t, w, callValueTable, w.CallValues, CallValue{0, 1, amountsOf(1, 2, 3, 4)})
	tableTest(t, w, functionValueTable, w.FunctionValues, FunctionValue{1, amountsOf(1, 2, 3, 4)})
	tableTest(t, w, moduleValueTable, w.ModuleValues, ModuleValue{1, amountsOf(1, 2, 3, 4)})
	tableTest(t, w, lineValueTable, w.LineValues, LineValue{1, amount})
	tableTest(t, w, instructionValueTable, w.InstructionValues, InstructionValue{1, amount})
	tableTest(t, w, typeValueTable, w.TypeValues, TypeValue{1, amount})
	tableTest(t, w, threadValueTable, w.ThreadValues, ThreadValue{1, amount})
	tableTest(t, w, processDeathTable, w.ProcessDeaths, ProcessDeath{1, 2, amount})
	tableTest(t, w, typeDeathTable, w.TypeDeaths, TypeDeath{3, 2, amount})
	sums := LifetimeSums{amount, [Generations]q.Amount{amount, 4: amount}, Ages{GCs: [AgeBuckets]q.Count{1, 7: 2},
		Time: [AgeBuckets]q.Count{3, 7: 4}, AliveGCs: [AgeBuckets]q.Count{5, 7: 6}}}
	tableTest(t, w, typeLifetimeTable, w.TypeLifetimes, TypeLifetime{1, 2, 3, sums})
	tableTest(t, w, functionLifetimeTable, w.FunctionLifetimes, FunctionLifetime{1, 2, 4, sums})
	tableTest(t, w, typePathTable, w.TypePaths, TypePath{3, 1, 4, 5, 6})
	tableTest(t, w, causeTotalTable, w.CauseTotals, CauseTotal{PartOutside, 7, amount})
	tableTest(t, w, causeTable, w.Causes, Cause{1, 3, 4, 5, 6, amount})
	tableTest(t, w, ruleJudgedTable, w.RulesJudged, RuleJudged{"linq", 1, 2})
	tableTest(t, w, findingTable, w.Findings, Finding{1, "linq", 4, 5, 6, 3, amount, 7, 8, 9, "much", amount})
	tableTest(t, w, summarySectionTable, w.SummarySections, SummarySection{"growing", 7, amount})
	tableTest(t, w, summarySiteTable, w.SummarySites,
		SummarySite{"growing", 1, 1, 2, 3, 4, 5, amount, amount.Add(amount), [Generations]q.Amount{amount, 4: amount}})
	tableTest(t, w, processValueTable, w.ProcessValues, ProcessValue{1, amount})
	testTimeTables(t, w)
	var have []string
	if err := w.each("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", func(s *sqlite.Stmt) error {
		have = append(have, s.ColumnText(0))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(tableNames)), have); diff != "" {
		t.Errorf("tableNames (-Go +schema):\n%s", diff)
	}
}

// TestTryCreate: what can be created is not, and what is there stays.
func TestTryCreate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.clrprof")
	if err := TryCreate(path); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Fatalf("left over: %v, %v", entries, err)
	}
	if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := TryCreate(path); err == nil {
		t.Error("a file that is there can be created")
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("the file was changed")
	}
	if err := TryCreate(filepath.Join(dir, "none", "a.clrprof")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.clrprof")
	if err := os.WriteFile(path, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path, false); !errors.Is(err, ErrExists) {
		t.Fatalf("Create over a file: %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Fatal("the file was changed")
	}
	if err := os.WriteFile(path+"-journal", []byte("left by a killed writer"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := Create(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := Replaceable(path); !errors.Is(err, ErrInUse) {
		t.Errorf("a session that is being written can be replaced: %v", err)
	}
	if _, err := Create(path, true); !errors.Is(err, ErrInUse) {
		t.Errorf("Create over a session that is being written: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("left over: %v %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("others can read it: %v %v", info.Mode(), err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if state, err := s.State(); state != Recording || err != nil {
		t.Fatal(state, err)
	}
	if _, err := Create(filepath.Join(dir, "no", "a"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Create in a missing folder: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	want := "is a symbolic link: it is not replaced: name the file that it leads to"
	if _, err := Create(link, true); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), want) {
		t.Errorf("Create over a link: %v", err)
	}
	if _, err := Create(dir, true); !errors.Is(err, ErrExists) {
		t.Errorf("Create over a folder: %v", err)
	}
}

func TestStatesGoForward(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, s := range stateOrder {
		if err := w.SetState(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.SetState(Recorded); err == nil {
		t.Error("the state went back")
	}
	if err := w.SetInfo(map[string]string{KeyState: "x"}); err == nil {
		t.Error("SetInfo set the state")
	}
}

func TestBatchIsAllOrNothing(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "a.clrprof"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	stop := errors.New("stop")
	err = w.Batch(func() error {
		if err := w.InsertNodes([]Node{{ID: 1}}); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	if err := w.InsertNodes([]Node{{ID: 2}, {ID: 3}, {ID: 2}}); err == nil {
		t.Fatal("a duplicate id was accepted")
	}
	if nodes, err := w.Nodes(); len(nodes) != 0 || err != nil {
		t.Fatal(nodes, err)
	}
	if err := w.ResolveTypes([]Type{{ID: 9, Name: "x"}}); err == nil {
		t.Error("a missing type was resolved")
	}
}
