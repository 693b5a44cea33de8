package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// scopeTruth is what the target Scopes knows of one of its functions: how often it is called inside of the functions
// that are meant, and outside of them.
type scopeTruth struct {
	Name    string `json:"name"`
	Inside  int64  `json:"inside"`
	Outside int64  `json:"outside"`
}

// scopeFlags limit what is recorded to the functions that the target Scopes means, or to all others.
func scopeFlags(flag string) []string {
	return []string{flag, "Scopes.Phases.Scoped*", flag, "Scopes.Jumping.Scoped*"}
}

// TestScopes: what is done inside of functions is recorded, or what is done outside of them, exactly, in whatever way
// their calls begin and end.
func TestScopes(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	modes := [][]string{{"--memory"}, {"--time"}, {"--lifetime"}, {"--time", "--memory"}, byProbes, boundaryHooks, byHooks}
	for i, mode := range modes {
		if mode[0] == "--time" { // what it emits is not taken for the program's own
			modes[i] = append(slices.Clip(mode), "--include", "Scopes.*")
		}
	}
	for f, flag := range []string{"--record-inside", "--record-outside"} {
		for i, w := range dotnettest.Some([]way{timeTiered, timeOptimized, timeHurried}) {
			for k, runtime := range in.InTurn(i) {
				if runtime.Major() < 5 {
					continue
				}
				mode := modes[(4*f+2*i+k)%len(modes)]
				t.Run(strings.Join(append([]string{flag}, mode...), " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					cmd := runtime.Command(dotnettest.Target(t, "Scopes", w.options), "400", "3")
					cmd.Env = append(cmd.Env, w.env...)
					r := recordOnce(t, cmd, slices.Concat([]string{"--memory-limit", "1G"}, scopeFlags(flag), mode)...)
					if r.exit != 0 {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					compareScopes(t, r, flag == "--record-inside", mode)
				})
			}
		}
	}
}

func compareScopes(t *testing.T, r result, inside bool, mode []string) {
	t.Helper()
	if slices.Contains(mode, "--time") {
		soundTime(t, r.session)
		want := map[string]int64{}
		for _, row := range truthRows[scopeTruth](t, r.stdout, "scope") {
			if n := map[bool]int64{true: row.Inside, false: row.Outside}[inside]; n > 0 {
				want[row.Name] = n
			}
		}
		names := slices.Collect(maps.Keys(want))
		for _, row := range truthRows[scopeTruth](t, r.stdout, "scope") {
			names = append(names, row.Name)
		}
		compareCallsByName(t, r, "f.raw_type IN ('Scopes.Phases', 'Scopes.Jumping') AND f.raw_name IN ('"+
			strings.Join(names, "', '")+"')", want)
		compareSlept(t, r, inside)
	} else {
		sound(t, r.session)
	}
	if len(mode) > 1 && mode[1] == "--memory" || mode[0] != "--time" {
		type made struct {
			Name    string `json:"name"`
			Objects int64  `json:"objects"`
			Bytes   int64  `json:"bytes"`
		}
		name := map[bool]string{true: "Scopes.In", false: "Scopes.Out"}[inside]
		want := slices.DeleteFunc(truthRows[made](t, r.stdout, "type"), func(m made) bool { return m.Name != name })
		have := query[made](t, r.session, `SELECT name, instances AS objects, bytes FROM types
			WHERE name IN ('Scopes.In', 'Scopes.Out')`)
		if d := cmp.Diff(want, have); d != "" {
			t.Errorf("objects (-truth +session): %s", d)
		}
	}
	compareSpells(t, r, inside)
	lost := losses(t, r.session)
	if slices.Contains(mode, "hooks") && !inside {
		delete(lost, session.LossCallsJumped) // hooks leave jumps as they are
	}
	if len(lost) != 0 {
		t.Errorf("lost: %v", lost)
	}
}

// compareSpells: how often threads were inside of the functions is known, and how long.
func compareSpells(t *testing.T, r result, inside bool) {
	t.Helper()
	type spells struct {
		Inside    int64 `json:"inside"`
		Outside   int64 `json:"outside"`
		InsideNS  int64 `json:"inside_ns"`
		OutsideNS int64 `json:"outside_ns"`
	}
	have := query[spells](t, r.session, `SELECT sum(inside_times) AS inside, sum(outside_times) AS outside,
		sum(inside_ns) AS inside_ns, sum(outside_ns) AS outside_ns FROM thread_scope`)[0]
	if !inside {
		have = spells{have.Outside, have.Inside, have.OutsideNS, have.InsideNS}
	}
	want := truthRows[struct {
		Times int64 `json:"times"`
	}](t, r.stdout, "times")[0].Times
	slept := truthRows[sleptTruth](t, r.stdout, "slept")[0]
	if have.Inside != want || have.Outside != 0 || have.OutsideNS != 0 || have.InsideNS < slept.Within {
		t.Errorf("%+v, want %d times, and more than %d ns", have, want, slept.Within)
	}
}

// sleptTruth is how long a function of Scopes took at most, and how long the scoped functions that it called took, at
// least.
type sleptTruth struct {
	All    int64 `json:"all"`
	Within int64 `json:"within"`
}

// compareSlept: what a scoped function takes is no time of its caller's, or the only one that there is.
func compareSlept(t *testing.T, r result, inside bool) {
	t.Helper()
	slept := truthRows[sleptTruth](t, r.stdout, "slept")[0]
	type took struct {
		NS int64 `json:"ns"`
	}
	name, least, most := "ScopedSleeps", slept.Within*99/100, slept.All // the agent's own time is in none
	if !inside {
		name, least, most = "Around", 0, slept.All-slept.Within
	}
	have := query[took](t, r.session, "SELECT v.elapsed_inclusive AS ns FROM function_time v JOIN function f ON "+
		"f.id = v.function_id WHERE f.raw_name = '"+name+"'")
	if len(have) != 1 || have[0].NS < least || have[0].NS > most {
		t.Errorf("%s took %v, want %d to %d", name, have, least, most)
	}
}

// TestScopesTogether: in a function of --record-outside nothing is recorded, also if it is inside of one of
// --record-inside, or is one itself. What no function was called of is said, and how long it was.
func TestScopesTogether(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, placesProgram)
	for i, mode := range [][]string{byProbes, {"--lifetime"}, byHooks} {
		for _, runtime := range dotnettest.OneInTurn(in.NewestAndOldest(), i) {
			if runtime.Major() < 5 {
				runtime = in.Newest()
			}
			t.Run(strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := recordOnce(t, runtime.Command(dll), slices.Concat(mode, []string{"--record-inside", "Shop.Program.Work",
					"--record-inside", "Shop.Program.Outer", "--record-inside", "Shop.Program.Nobody",
					"--record-outside", "Shop.Program.Fails,Shop.Program.Inner", "--record-outside", "Nothing.*",
					"--mark-at", "Shop.Program.Turn,Shop.Program.Inner"})...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				if mode[0] == "--time" {
					checkTimeSession(t, r.session)
					compareCallsByName(t, r, "f.raw_type LIKE 'Shop.%' AND f.raw_name NOT LIKE '.c%'", map[string]int64{
						"Work": 3, "Turn": 1200, "Sum": 1200, "Large": 1200, "Tiny": 1200, "Same": 3600, "Outer": 1})
				} else {
					sound(t, r.session)
					type objects struct {
						N int64 `json:"n"`
					}
					orders := query[objects](t, r.session, "SELECT instances AS n FROM types WHERE name = 'Shop.Order'")
					if d := cmp.Diff([]objects{{1200}}, orders); d != "" {
						t.Errorf("objects (-want +have): %s", d)
					}
				}
				type scope struct {
					Name    string `json:"name"`
					Inside  int64  `json:"inside_times"`
					Outside int64  `json:"outside_times"`
				}
				have := query[scope](t, r.session, `SELECT t.name, s.inside_times, s.outside_times FROM thread_scope s
					JOIN thread t ON t.id = s.thread_id ORDER BY t.name`)
				if d := cmp.Diff([]scope{{"", 1, 2}, {"worker 0", 1, 400}, {"worker 1", 1, 400}, {"worker 2", 1, 400}},
					have); d != "" {
					t.Errorf("scopes (-want +have): %s", d)
				}
				marks := query[struct {
					N int64 `json:"n"`
				}](t, r.session, "SELECT count(*) AS n FROM mark WHERE source = 'function' AND name = 'Shop.Program.Turn'")
				if marks[0].N != 1200 {
					t.Errorf("%d marks", marks[0].N)
				}
				checkSaid(t, r.stderr, map[string]int{"--mark-at Shop.Program.Inner: no mark was made": 1,
					"--record-inside Shop.Program.Nobody: no function of this name was called": 1,
					"--record-outside Nothing.*: no function of this name was called":          1, "was called": 2})
			})
		}
	}
}

// TestScopesMissing: where no probe can be put into a function, everything is recorded, and that is said.
func TestScopesMissing(t *testing.T) {
	t.Parallel()
	old := dotnettest.Guest(t)
	dll := compileText(t, dotnettest.Need(t), placesProgram)
	r := recordOnce(t, old.Command(dll), "--memory", "--record-inside", "Shop.Program.Outer")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	lost := losses(t, r.session)
	if have := query[struct {
		N int64 `json:"n"`
	}](t, r.session, "SELECT instances AS n FROM types WHERE name = 'Shop.Order'"); len(have) != 1 || have[0].N != 1200 ||
		lost[session.LossNotLimited].Events != 1 || len(lost) != 1 {
		t.Errorf("%v objects, lost: %v", have, lost)
	}
	if !strings.Contains(r.stderr, "--record-inside, --record-outside: not everywhere: 1 ") || strings.Contains(r.stderr, "was called") {
		t.Errorf("it is not said that all was recorded:\n%s", r.stderr)
	}
}
