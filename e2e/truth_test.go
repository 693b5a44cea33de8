package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// way is how a program is compiled and how the runtime is set.
type way struct {
	name    string
	options dotnettest.Options
	env     []string // COMPlus_ names are understood by all runtimes
	flags   []string // for clrprof; nothing: lifetime, too
	bodies  int      // of a function of the target: 1 never compiled again, 2 some are, 0 not asserted
}

var (
	debugBuild = dotnettest.Options{NoOptimize: true}
	memoryOnly = []string{"--memory"}
	server     = []string{"COMPlus_gcServer=1", "COMPlus_GCHeapCount=2"}

	tiered    = way{name: "tiered", bodies: 2}
	optimized = way{name: "optimized", env: []string{"COMPlus_TieredCompilation=0"}, flags: memoryOnly, bodies: 1}
	tier0     = way{name: "tier0", env: []string{"COMPlus_TieredCompilation=1", "COMPlus_TC_CallCounting=0",
		"COMPlus_TC_QuickJitForLoops=1",
		"COMPlus_TC_OnStackReplacement=0", "COMPlus_OSR_HitLimit=0", "COMPlus_TieredPGO=0", "COMPlus_ReadyToRun=0"},
		bodies: 1}
	debug       = way{name: "debug", options: debugBuild, flags: memoryOnly, bodies: 1}
	serverGC    = way{name: "server", env: server}
	serverOpt   = way{name: "server optimized", env: append([]string{"COMPlus_TieredCompilation=0"}, server...)}
	serverDebug = way{name: "server debug", options: debugBuild, env: append([]string{"COMPlus_TC_QuickJitForLoops=1"},
		server...)}
)

// TestTruth compares sessions with what the targets know of themselves. Each target is run on each runtime in its first
// way, and in each other way on one. Targets with little variety are not run in every way.
func TestTruth(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	all := []way{tiered, optimized, tier0, debug, serverGC, serverOpt}
	for i, tt := range []struct {
		target []string
		ways   []way
	}{
		{[]string{"Shapes"}, all},
		{[]string{"Boxes"}, all},
		{[]string{"Tiering"}, []way{tiered, tier0, debug, serverGC}},
		{[]string{"Tiering", "20000", "1000"}, []way{optimized, serverOpt}},
		{[]string{"Threads", "1", "1000"}, []way{tiered, serverDebug}},
		{[]string{"Threads", "16", "1000"}, []way{tiered, optimized, debug, serverGC, serverOpt}},
		{[]string{"Native"}, []way{tiered, optimized, debug}},
		{[]string{"Kept"}, []way{tiered, serverOpt}},
		{[]string{"StaticInit"}, []way{tiered, optimized, tier0, debug}},
		{[]string{"Dynamic"}, []way{tiered, optimized, tier0, serverDebug}},
		{[]string{"Totals"}, withoutEvents(tiered, optimized, tier0, serverGC)},
		{[]string{"Totals", "100", "16"}, withoutEvents(tiered, serverOpt)},
	} {
		for j, w := range tt.ways {
			for _, runtime := range crossed(in, i, j) {
				t.Run(strings.Join(tt.target, " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					cmd := runtime.Command(dotnettest.Target(t, tt.target[0], w.options), tt.target[1:]...)
					cmd.Env = append(cmd.Env, w.env...)
					r := mustRecord(t, cmd, w.flags...)
					compareTruth(t, r, runtime)
					checkBodies(t, r, w, tt.target[0], runtime)
				})
			}
		}
	}
}

// waysEvery is how many ways to run a program there are for each one that the quick suite draws, besides the first, and
// casesEvery how many cases in which it tries the same.
const waysEvery, casesEvery = 6, 3

// crossed returns the runtimes for the j-th way to run the i-th of several programs: all of them in the first way. In
// the quick suite each runtime has the first program, and of the other ways of each program some are drawn.
func crossed(in *dotnettest.Install, i, j int) []dotnettest.Runtime {
	switch {
	case i == 0 && j == 0:
		return in.EachRuntime()
	case j == 0:
		return in.Runtimes()
	case !dotnettest.Drawn(i<<8+j, waysEvery):
		return nil
	}
	return dotnettest.OneInTurn(in.Runtimes(), i+j)
}

// crossedInTurn is crossed for programs of which not each is run on each runtime: in the first way the first is.
func crossedInTurn(in *dotnettest.Install, i, j int) []dotnettest.Runtime {
	switch {
	case j == 0:
		return in.InTurn(i)
	case !dotnettest.Drawn(i<<8+j, waysEvery):
		return nil
	}
	return dotnettest.OneInTurn(in.Runtimes(), i+j)
}

// withoutEvents are ways in which nothing but the program allocates in its process: where the agent listens to
// collections, it makes the runtime describe its events, which a program sees that asks for the bytes of the whole
// process.
func withoutEvents(ways ...way) []way {
	for i := range ways {
		ways[i].flags = memoryOnly
	}
	return ways
}

// compareTruth compares all that a target printed with the session.
func compareTruth(t *testing.T, r result, runtime dotnettest.Runtime) {
	t.Helper()
	compareTruthBut(t, r, ofRuntime(runtime))
}

// compareTruthBut does the same; allowed are the types of objects that the runtime may make for a known function.
func compareTruthBut(t *testing.T, r result, allowed []string) {
	t.Helper()
	rows, err := dotnettest.ParseTruth(strings.NewReader(r.stdout))
	if err != nil {
		t.Fatalf("%v\n%s", err, r.stdout)
	}
	if len(rows) == 0 {
		t.Fatal("the target says nothing")
	}
	withPID := slices.ContainsFunc(rows, func(row dotnettest.Truth) bool { return row.PID != 0 })
	got := readRecorded(t, r.session, withPID)
	c := comparison{t, got, linesOf(t, r.session), map[functionType]made{}}
	for _, row := range got.foldThreads(rows) {
		c.row(row)
	}
	c.nothingElse(allowed)
}

// foldThreads adds up what is said of threads whose names the session does not have: there were so many that those of
// several names share rows.
func (r *recorded) foldThreads(rows []dotnettest.Truth) []dotnettest.Truth {
	if r.named == nil {
		return rows
	}
	var out []dotnettest.Truth
	at := map[threadFunctionType]int{}
	for _, row := range rows {
		if row.Kind != "thread" {
			out = append(out, row)
			continue
		}
		if !r.named[row.Name] {
			row.Name = ""
		}
		key := threadFunctionType{row.Name, row.Function, row.Type}
		if i, ok := at[key]; ok {
			out[i].Objects, out[i].Bytes = out[i].Objects+row.Objects, out[i].Bytes+row.Bytes
			continue
		}
		at[key] = len(out)
		out = append(out, row)
	}
	return out
}

// checkBodies makes sure that the way is what it says: without tiers no function of the target is compiled twice.
func checkBodies(t *testing.T, r result, w way, target string, runtime dotnettest.Runtime) {
	t.Helper()
	most := 0
	for f, n := range newReader(t, r.session, false).bodies() {
		if f.Module == target+".dll" {
			most = max(most, n)
		}
	}
	if w.bodies == 1 && most != 1 && target != "Dynamic" { // it loads itself again
		t.Errorf("a function of the target was compiled %d times", most)
	}
	if w.bodies == 2 && target == "Tiering" && runtime.Major() >= 9 && most < 2 {
		t.Error("no function was compiled again")
	}
}

type comparison struct {
	t     *testing.T
	got   *recorded
	lines map[place]made
	known map[functionType]made // what functions made themselves
}

func (c *comparison) row(row dotnettest.Truth) {
	c.t.Helper()
	want := made{row.Objects, row.Bytes}
	f := function{row.PID, row.Module, uint32(row.Token), withoutArguments(row.Name)}
	switch row.Kind {
	case "function":
		if row.Scope == "exclusive" {
			c.known[functionType{f, row.Type}] = want
			c.same(row, c.got.exclusive[functionType{f, row.Type}])
			return
		}
		c.same(row, c.got.inclusive[functionType{f, row.Type}])
	case "line":
		c.same(row, c.lines[place{row.File, row.Line, withoutArguments(row.Function)}])
	case "type":
		c.same(row, c.got.types[functionType{function{PID: row.PID}, row.Name}])
	case "thread":
		c.same(row, c.got.threads[threadFunctionType{row.Name, row.Function, row.Type}])
	case "total":
		for f, m := range c.got.below {
			if f.Name == row.Name && m.Bytes != row.Bytes {
				c.t.Errorf("%s: the runtime counted %d bytes, the session has %d", row.Name, row.Bytes, m.Bytes)
			}
		}
	}
}

func (c *comparison) same(row dotnettest.Truth, got made) {
	c.t.Helper()
	if want := (made{row.Objects, row.Bytes}); got != want {
		c.t.Errorf("%s %s %s:%d %s %s: the truth is %d objects, %d bytes; the session has %d, %d", row.Kind, row.Scope,
			row.File, row.Line,
			row.Name+row.Function, row.Type, want.Objects, want.Bytes, got.Objects, got.Bytes)
	}
}

// ofTheRuntime are the types of objects that the runtime itself makes while a function runs, which count as made by
// that function; before .NET 9 and on .NET Core 3.1 they are more. testdata/targets/README.md tells of them, too.
var ofTheRuntime = []string{
	"System.String",      // a literal, when it is first used
	"System.RuntimeType", // of a type that code refers to, when it is first used
}

// ofTheRuntime8 are those until .NET 9, where exceptions are managed code.
var ofTheRuntime8 = append([]string{
	// the stack trace of an exception; on 3.1 also a call of an interface method that is bound
	"System.SByte[]",
	"System.Object[]",              // handles to literals and statics of a module; objects of a stack trace
	"System.DivideByZeroException", // a fault that becomes an exception
}, ofTheRuntime...)

var ofTheRuntime31 = append([]string{
	// What keeps a collectible assembly alive.
	"System.Runtime.CompilerServices.GCHeapHash",
	"System.Runtime.CompilerServices.LAHashDependentHashTracker",
	"System.Runtime.CompilerServices.LAHashKeyToTrackers",
}, ofTheRuntime8...)

// ofTheRuntimeARM64 are those on arm64, where a division traps nothing: code looks for zero, and has the runtime throw.
var ofTheRuntimeARM64 = append([]string{"System.DivideByZeroException"}, ofTheRuntime...)

// ofRuntime returns those of a runtime for x64.
func ofRuntime(runtime dotnettest.Runtime) []string {
	switch {
	case runtime.Major() < 5:
		return ofTheRuntime31
	case runtime.Major() < 9:
		return ofTheRuntime8
	}
	return ofTheRuntime
}

// isCastTable says whether an array may be a table in which the runtime remembers which types can be cast to which: a
// power of two of entries of 24 bytes, and one more (castcache.h). The runtime makes a larger one when types fall into
// the same places, which depends on their addresses, for whoever casts then.
func isCastTable(typ string, m made) bool {
	entries := (m.Bytes-24)/24 - 1
	return typ == "System.Int32[]" && m.Objects == 1 && m.Bytes%24 == 0 && entries >= 128 && entries <= 4096 &&
		entries&(entries-1) == 0
}

// nothingElse looks at all that the known functions made: every type that the truth does not name must be one that
// the runtime makes on their behalf.
func (c *comparison) nothingElse(allowed []string) {
	c.t.Helper()
	named := map[function]bool{}
	for k := range c.known {
		named[k.function] = true
	}
	for k, m := range c.got.exclusive {
		if isCastTable(k.Type, m) {
			continue
		}
		if _, ok := c.known[k]; !ok && named[k.function] && !slices.Contains(allowed, k.Type) {
			c.t.Errorf("%s made %d objects of %s, %d bytes, of which the truth knows nothing", k.Name, m.Objects,
				k.Type, m.Bytes)
		}
	}
}

// place is a line of a function.
type place struct {
	File     string
	Line     int
	Function string
}

// linesOf reads the view lines: what each line of each function allocated itself.
func linesOf(t *testing.T, path string) map[place]made {
	t.Helper()
	out := map[place]made{}
	for _, row := range view[struct {
		File     string `json:"source_file"`
		Line     int    `json:"line_begin"`
		Function string `json:"function"`
		Objects  int64  `json:"exclusive_allocations"`
		Bytes    int64  `json:"exclusive_bytes"`
	}](t, path, "lines") {
		name, _, _ := strings.Cut(row.Function, "(")
		key := place{filepath.Base(row.File), row.Line, withoutArguments(name)}
		out[key] = out[key].plus(made{row.Objects, row.Bytes})
	}
	return out
}

// TestTwoRuns records programs of one thread twice: what is said of their own code is the same. (With several threads
// the runtime's tables of handles grow on whichever comes first.) Where the agent listens to collections, its own
// thread may be the first that needs a part of the framework, which then initialises there: that is left out, and not
// below the program. .NET Core 3.1 makes arrays of its own where a call of an interface method is bound (Truth.Check),
// which depends on when the other thread has compiled what is called: there no code may be tiered.
func TestTwoRuns(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, target := range [][]string{{"Kept"}, {"Tiering", "5000", "100"}} {
		for j, w := range dotnettest.Some([]way{tiered, optimized, serverDebug}) {
			for k, mode := range []string{"--memory", "--lifetime"} {
				runtimes := slices.DeleteFunc(slices.Clone(in.Runtimes()), func(r dotnettest.Runtime) bool {
					return w.name == tiered.name && r.Major() < 5
				})
				for _, runtime := range dotnettest.OneInTurn(runtimes, i+j+k) {
					t.Run(strings.Join([]string{target[0], w.name, runtime.Name, mode}, "/"), func(t *testing.T) {
						t.Parallel()
						var runs [2][]ownRow
						var tables [2]made
						var types [2]map[string]made
						for i := range runs {
							cmd := runtime.Command(dotnettest.Target(t, target[0], w.options), target[1:]...)
							cmd.Env = append(cmd.Env, w.env...)
							r := mustRecord(t, cmd, mode)
							runs[i], tables[i] = ownRows(t, r.session, target[0]+".dll",
								mode == "--memory"), castTables(t, r.session)
							types[i] = typesByFunction(t, r.session)
						}
						alike(runs, tables)
						if d := cmp.Diff(runs[0], runs[1]); d != "" || len(runs[0]) < 30 {
							t.Errorf("%d rows; two runs differ (-first +second):\n%s\nobjects:\n%s", len(runs[0]), d,
								cmp.Diff(types[0], types[1]))
						}
					})
				}
			}
		}
	}
}

// typesByFunction are the objects that each function of a session allocated itself, by type.
func typesByFunction(t *testing.T, path string) map[string]made {
	t.Helper()
	out := map[string]made{}
	for _, row := range query[struct {
		Name           string
		Objects, Bytes int64
	}](t, path, `SELECT f.name || ': ' || t.name AS Name, sum(v.allocations) AS Objects, sum(v.bytes) AS Bytes
		FROM site_value v JOIN site s ON s.id = v.site_id JOIN type t ON t.id = s.type_id
		JOIN node n ON n.id = s.node_id JOIN function f ON f.id = n.function_id GROUP BY 1`) {
		out[row.Name] = made{row.Objects, row.Bytes}
	}
	return out
}

// castTables are all tables of casts of a session.
func castTables(t *testing.T, path string) made {
	t.Helper()
	var all made
	for _, row := range query[made](t, path,
		`SELECT sum(v.allocations) AS Objects, sum(v.bytes) AS Bytes FROM site_value v JOIN site s ON s.id = v.site_id
		JOIN type t ON t.id = s.type_id WHERE t.name = 'int[]' GROUP BY s.id`) {
		if isCastTable("System.Int32[]", row) {
			all = all.plus(row)
		}
	}
	return all
}

// alike takes the tables of casts that only one of two runs made from its inclusive values.
func alike(runs [2][]ownRow, tables [2]made) {
	for i, row := range runs[0] {
		if i >= len(runs[1]) || row.Inclusive-runs[1][i].Inclusive != tables[0].Objects-tables[1].Objects ||
			row.InclusiveB-runs[1][i].InclusiveB != tables[0].Bytes-tables[1].Bytes {
			continue
		}
		runs[1][i].Inclusive, runs[1][i].InclusiveB = row.Inclusive, row.InclusiveB
	}
}

// ownRow is a row of a view without what another process makes different, such as ids.
type ownRow struct {
	Name       string `json:"name"`
	Function   string `json:"function"`
	Line       int64  `json:"line_begin"`
	Module     string `json:"module"`
	Instances  int64  `json:"instances"`
	Bytes      int64  `json:"bytes"`
	Exclusive  int64  `json:"exclusive_allocations"`
	ExclusiveB int64  `json:"exclusive_bytes"`
	Inclusive  int64  `json:"inclusive_allocations"`
	InclusiveB int64  `json:"inclusive_bytes"`
}

// ownRows are the rows of a module's functions, paths, lines and types; inclusive: with what is made below them.
func ownRows(t *testing.T, path, module string, inclusive bool) []ownRow {
	t.Helper()
	var rows []ownRow
	for _, args := range [][]string{{"functions"}, {"calltree"}, {"lines"}, {"types", "--depth", "1"}} {
		for _, row := range view[ownRow](t, path, args...) {
			if row.Module != module {
				continue
			}
			if !inclusive {
				row.Inclusive, row.InclusiveB = 0, 0
			}
			rows = append(rows, row)
		}
	}
	key := func(r ownRow) string { // not the values below them, of which some are left out
		return fmt.Sprintf("%s|%s|%09d|%012d|%012d", r.Name, r.Function, r.Line, r.ExclusiveB, r.Bytes)
	}
	slices.SortStableFunc(rows, func(a, b ownRow) int { return strings.Compare(key(a), key(b)) })
	return rows
}
