package e2e

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// TestTimeAndMemory records allocations, the ends of objects and times in one run: what is said of allocations is as
// true as without times, and both are in one tree.
func TestTimeAndMemory(t *testing.T) {
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		target []string
		flags  []string
		ways   []way
	}{
		{[]string{"Shapes"}, []string{"--time", "--memory"}, []way{timeTiered, timeOptimized}},
		{[]string{"Shapes"}, []string{"--time", "--memory", "--lifetime"}, []way{timeTiered, timeDebug}},
		{[]string{"Threads", "16", "1000"}, []string{"--time", "--memory", "--lifetime"}, []way{timeOptimized}},
		{[]string{"Tiering", "5000", "500"}, []string{"--time", "--memory"}, []way{timeTiered, timeOptimized, timeHurried}},
		{[]string{"StaticInit"}, []string{"--time", "--lifetime"}, []way{timeOptimized}},
	} {
		for _, w := range tt.ways {
			for _, runtime := range in.Runtimes() {
				t.Run(strings.Join(append(tt.target, tt.flags...), " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
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

// checkOneTree asserts that whatever function of the program allocated was also timed, and below the same callers: the
// node above that of an allocation is above that of a call, or of an end of one, too.
func checkOneTree(t *testing.T, path string) {
	t.Helper()
	for _, row := range query[struct {
		Name   string
		Caller string
		Bytes  int64
	}](t, path, `SELECT f.raw_type || '.' || f.raw_name Name, coalesce(pf.raw_type || '.' || pf.raw_name, '') Caller, sum(v.bytes) Bytes
		FROM site_value v JOIN site s ON s.id = v.site_id JOIN node n ON n.id = s.node_id JOIN function f ON f.id = n.function_id
		LEFT JOIN node p ON p.id = n.parent_id LEFT JOIN function pf ON pf.id = p.function_id
		WHERE f.kind = 'method' AND NOT EXISTS (SELECT 1 FROM timing t JOIN node tn ON tn.id = t.node_id
			WHERE tn.parent_id = n.parent_id AND tn.function_id = n.function_id)
		GROUP BY 1, 2`) {
		t.Errorf("%s allocated %d bytes below %q, where it was not timed", row.Name, row.Bytes, row.Caller)
	}
}

// TestTimeAndMemoryCalls: allocations do not change what is said of calls.
func TestTimeAndMemoryCalls(t *testing.T) {
	in := dotnettest.Need(t)
	for _, target := range [][]string{{"TimeCalls", "300"}, {"TimeExceptions", "10"}} {
		for _, runtime := range in.Runtimes() {
			t.Run(target[0]+"/"+runtime.Name, func(t *testing.T) {
				r := mustRecord(t, runtime.Command(dotnettest.Target(t, target[0], dotnettest.Options{}), target[1:]...), "--time", "--memory", "--lifetime")
				checkTimeSums(t, r.session)
				compareCalls(t, r, target[0]+".dll")
			})
		}
	}
}
