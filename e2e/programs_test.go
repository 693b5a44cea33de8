package e2e

import (
	"flag"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/programs"
)

var (
	programsSeeds = flag.Int("programs", 1, "made-up C# programs that are recorded, of programUnits units each")
	programsFirst = flag.Uint64("first", 1, "the first of their seeds")
)

const (
	programUnits = 6
	programTimes = "3" // that each unit is run
)

// programWays are the ways in which made-up programs are compiled by the runtime.
var programWays = []way{timeTiered, timeOptimized}

// TestPrograms records programs that nobody thought of, and compares the session with what they count themselves: each
// call by caller and callee, and each allocation by function and type.
func TestPrograms(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i := range *programsSeeds {
		seed := *programsFirst + uint64(i)
		for j, runtime := range in.InTurn(i) {
			t.Run(fmt.Sprintf("%d/%s", seed, runtime.Name), func(t *testing.T) {
				t.Parallel()
				dll := compileProgram(t, in,
					programs.Options{Seed: seed, Units: programUnits, Tame: runtime.Major() >= 9})
				w := programWays[int(seed)%len(programWays)]
				for k, flags := range [][]string{{"--time"}, byProbes, {"--memory"}, {"--lifetime"},
					{"--time", "--memory"}} {
					if *programsSeeds == 1 && j > 0 && (j+k)%2 != 0 && !dotnettest.EveryRuntime() {
						continue // the newest runtime has all of them, the others every second
					}
					t.Run(fmt.Sprint(w.name, flags), func(t *testing.T) {
						cmd := madeCommand(runtime, dll, programTimes)
						cmd.Env = append(cmd.Env, w.env...)
						compareProgram(t, record(t, cmd, flags...), flags)
					})
				}
			})
		}
	}
}

// madeCommand runs a made-up program, or another one that throws much. On .NET 9 no collection may run beside it: where
// one does while the runtime calls handlers, it can miss an object that a later handler uses, and the program crashes,
// without a profiler too (3 of 142 runs of one with a thread that collects all the time). That is
// dotnet/runtime#110769, mended in 10.
func madeCommand(runtime dotnettest.Runtime, dll, times string) *exec.Cmd {
	cmd := runtime.Command(dll, times)
	if runtime.Major() == 9 {
		cmd.Env = append(cmd.Env, "DOTNET_gcConcurrent=0")
	}
	return cmd
}

// compileProgram compiles a made-up program.
func compileProgram(t *testing.T, in *dotnettest.Install, o programs.Options) string {
	t.Helper()
	source, err := in.Made("Program.cs", programs.Source(o))
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{source, "../testdata/targets"}, "",
		dotnettest.Options{Name: "Made", Debug: dotnettest.DebugNone})
	if err != nil {
		t.Fatal(err)
	}
	return dll
}

// compareProgram compares a session of a made-up program with what that printed.
func compareProgram(t *testing.T, r result, flags []string) {
	t.Helper()
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s", r.exit, r.stderr)
	}
	timed, made := false, true
	for _, f := range flags {
		timed = timed || f == "--time"
	}
	if timed {
		soundTime(t, r.session)
		made = slices.Contains(flags, "--memory")
		if slices.Contains(flags, "mine") {
			compareOwnCalls(t, r, "Made.dll")
		} else {
			compareCalls(t, r, "Made.dll")
		}
	}
	if made {
		compareMade(t, r)
	}
	for _, l := range query[map[string]any](t, r.session, "SELECT * FROM loss") {
		t.Errorf("lost: %v", l)
	}
}

// madeRow is a row "made" of a target: what a function allocates itself.
type madeRow struct {
	dotnettest.Truth
}

// compareMade compares objects by function and type. Objects of the program's own types are made by nobody else.
func compareMade(t *testing.T, r result) {
	t.Helper()
	got := readRecorded(t, r.session, false)
	type key struct {
		f called
		t string
	}
	want, have := map[key]made{}, map[key]made{}
	types := map[string]bool{}
	for _, row := range truthRows[madeRow](t, r.stdout, "made") {
		k := key{called{row.Module, uint32(row.Token)}, row.Type}
		want[k] = made{want[k].Objects + row.Objects, want[k].Bytes + row.Bytes}
		types[row.Type] = true
	}
	for ft, m := range got.exclusive {
		if types[ft.Type] {
			k := key{called{ft.function.Module, ft.function.Token}, ft.Type}
			have[k] = made{have[k].Objects + m.Objects, have[k].Bytes + m.Bytes}
		}
	}
	for k, w := range want {
		h := have[k]
		// the size of an exception is the runtime's affair
		if w.Objects != h.Objects || w.Bytes != 0 && w.Bytes != h.Bytes {
			t.Errorf("%v made %d objects of %d bytes of type %s; the session says %d of %d", k.f, w.Objects, w.Bytes,
				k.t, h.Objects, h.Bytes)
		}
	}
	for k, h := range have {
		if want[k].Objects == 0 {
			t.Errorf("the session says that %v made %d objects of type %s, of which the truth knows nothing", k.f,
				h.Objects, k.t)
		}
	}
}
