package e2e

import (
	"maps"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTimeAndMemory records allocations, the ends of objects and times in one run: what is said of allocations is as
// true as without times, and both are in one tree.
func TestTimeAndMemory(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		target []string
		flags  []string
		ways   []way
	}{
		{[]string{"Shapes"}, []string{"--time", "--memory"}, []way{timeTiered, timeOptimized}},
		{[]string{"Shapes"}, []string{"--time", "--memory", "--lifetime"}, []way{timeTiered, timeDebug}},
		{[]string{"Threads", "16", "1000"}, []string{"--time", "--memory", "--lifetime"}, []way{timeOptimized}},
		{[]string{"Tiering", "5000", "500"}, []string{"--time", "--memory"},
			[]way{timeTiered, timeOptimized, timeHurried}},
		{[]string{"StaticInit"}, []string{"--time", "--lifetime"}, []way{timeOptimized}},
	} {
		for j, w := range tt.ways {
			for _, runtime := range crossedInTurn(in, i, j) {
				t.Run(strings.Join(append(tt.target, tt.flags...), " ")+"/"+w.name+"/"+runtime.Name,
					func(t *testing.T) {
						t.Parallel()
						cmd := runtime.Command(dotnettest.Target(t, tt.target[0], w.options), tt.target[1:]...)
						cmd.Env = append(cmd.Env, w.env...)
						r := mustRecord(t, cmd, tt.flags...)
						checkTimeSums(t, r.session)
						compareTruth(t, r, runtime)
						checkOneTree(t, r.session)
					})
			}
		}
	}
}

// checkOneTree asserts that every path of calls below which something was allocated was timed, too. What the runtime
// itself calls while it looks for the handler of an exception is not.
func checkOneTree(t *testing.T, path string) {
	t.Helper()
	for _, row := range query[struct {
		Name   string
		Caller string
		Bytes  int64
	}](t, path,
		`SELECT f.raw_type || '.' || f.raw_name Name, coalesce(cf.raw_type || '.' || cf.raw_name, '') Caller, sum(p.inclusive_bytes) Bytes
		FROM path_value p JOIN function f ON f.id = p.function_id LEFT JOIN path_value c ON c.id = p.parent_id LEFT JOIN function cf ON cf.id = c.function_id
		WHERE f.kind = 'method' AND f.raw_type <> 'System.Runtime.EH' AND f.raw_type NOT IN ('System.TypeInitializationException', 'System.DivideByZeroException', 'System.Exception')
			AND p.inclusive_bytes > 0 AND NOT EXISTS (SELECT 1 FROM path_time t WHERE t.id = p.id AND t.calls > 0) GROUP BY 1, 2`) {
		t.Errorf("%s allocated %d bytes below %q, where it was not timed", row.Name, row.Bytes, row.Caller)
	}
}

// TestTimeAndMemorySums: with times a program makes as many objects of each type as without, if calls are seen by probes,
// and its functions make the same, whatever they are seen by. Literals are made when code is compiled. On a busy machine
// .NET 8 makes one int[] more in one process of twenty, in a function that makes none, with and without times: so each
// sum is the least of three runs.
func TestTimeAndMemorySums(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it records a program twelve times on each runtime")
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			sums := func(by string, flags ...string) map[string]int64 {
				var least map[string]int64
				for range 3 {
					cmd := runtime.Command(dotnettest.Target(t, "Tiering", timeOptimized.options), "300", "30")
					cmd.Env = append(cmd.Env, timeOptimized.env...)
					have := objectsBy(t, mustRecord(t, cmd, flags...).session, by)
					if least == nil {
						least = have
					}
					for key := range least {
						least[key] = min(least[key], have[key])
					}
				}
				maps.DeleteFunc(least, func(_ string, n int64) bool { return n == 0 })
				return least
			}
			const types = `t.name WHERE f.raw_name <> '(runtime: no managed code on the stack)'`
			const functions = `f.name || ' ' || t.name WHERE f.raw_type LIKE 'Tiering.%' AND NOT s.frozen`
			equalObjects(t, sums(types, "--memory"), sums(types, "--time", "--memory"))
			equalObjects(t, sums(functions, "--time", "--memory", "--probes", "hooks"),
				sums(functions, "--time", "--memory", "--probes", "il"))
		})
	}
}

// objectsBy adds up the objects of the first thread. By is what they are added up by, and those that count.
func objectsBy(t *testing.T, path, by string) map[string]int64 {
	t.Helper()
	key, where, _ := strings.Cut(by, " WHERE ")
	sums := map[string]int64{}
	for _, row := range query[struct {
		Key     string
		Objects int64
	}](t, path, `SELECT `+key+` Key, sum(v.allocations) Objects FROM site_value v JOIN site s ON s.id = v.site_id
		JOIN node n ON n.id = s.node_id JOIN function f ON f.id = n.function_id JOIN type t ON t.id = s.type_id
		WHERE s.thread_id = (SELECT min(id) FROM thread) AND `+where+` GROUP BY 1`) {
		sums[row.Key] = row.Objects
	}
	return sums
}

func equalObjects(t *testing.T, want, have map[string]int64) {
	t.Helper()
	if len(want) == 0 {
		t.Error("no objects")
	}
	for key := range want {
		if want[key] != have[key] {
			t.Errorf("%d objects of %s, want %d", have[key], key, want[key])
		}
	}
	for key := range have {
		if _, ok := want[key]; !ok {
			t.Errorf("%d objects of %s, want none", have[key], key)
		}
	}
}

// TestTimeAndMemoryCalls: allocations do not change what is said of calls.
func TestTimeAndMemoryCalls(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, target := range [][]string{{"TimeExceptions", "10"}, {"TimeCalls", "300"}} {
		for _, runtime := range in.InTurn(i) {
			t.Run(target[0]+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := mustRecord(t, runtime.Command(dotnettest.Target(t, target[0], dotnettest.Options{}),
					target[1:]...), "--time", "--memory", "--lifetime")
				checkTimeSums(t, r.session)
				compareCalls(t, r, target[0]+".dll")
			})
		}
	}
}
