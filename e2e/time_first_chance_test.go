package e2e

import (
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTimeFirstChance compares the calls of a program with what it knows of them, of which most are made by handlers of
// AppDomain.FirstChanceException: from .NET 9 on the runtime calls these in the middle of managed code of its own, with
// the exception handling of the runtimes before it does not.
func TestTimeFirstChance(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	const target = "TimeFirstChance"
	all := []string{"--time", "--instrument", "all"}
	for i, tt := range dotnettest.Some([]struct {
		name  string
		flags []string
		ways  []way
	}{
		{"probes", timeOnly, []way{timeTiered}},
		{"hooks", boundaryHooks, []way{timeTiered, timeOptimized, timeDebug, timeHurried}},
		{"mine", byHooks, []way{timeTiered}},
		{"all", all, []way{timeTiered}},
	}) {
		for j, w := range tt.ways {
			runtimes, times := crossed(in, i, j), "2" // the first time, and one that is not
			if w.name == timeHurried.name {
				times = "3" // one in code that is compiled again
			}
			if tt.name == "all" { // it takes the oldest a minute, and each time has 100,000 places of its own
				runtimes = dotnettest.NeedRuntimes(t, 9)
			}
			for _, runtime := range runtimes {
				ways := []way{w}
				if runtime.Major() == 9 {
					ways = append(ways, way{name: w.name + " legacy", options: w.options,
						env: slices.Concat(legacy.env, w.env)})
				}
				for _, w := range ways {
					t.Run(tt.name+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
						t.Parallel()
						cmd := runtime.Command(dotnettest.Target(t, target, w.options), times)
						cmd.Env = append(cmd.Env, w.env...)
						compareCalls(t, mustRecordTime(t, cmd, tt.flags...), target+".dll")
					})
				}
			}
		}
	}
}
