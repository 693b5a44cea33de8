package e2e

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTimeInstrument: whatever else is recorded, the calls of the program's own functions are the same; of the
// framework's there are none, those that the program makes, or all; and what a pattern excludes is not there.
func TestTimeInstrument(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	const excluded = "TimeCalls.Depth."
	for _, runtime := range in.NewestAndOldest() {
		framework := map[string]int{}
		for _, tt := range []struct {
			name  string
			flags []string
		}{
			{"mine", []string{"--instrument", "mine"}},
			{"boundary", []string{"--instrument", "boundary"}},
			{"all", []string{"--instrument", "all"}},
			{"exclude", []string{"--exclude", excluded + "*"}},
			{"include", []string{"--include", "TimeCalls.*"}},
		} {
			t.Run(tt.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "TimeCalls", dotnettest.Options{}), "50", "2", "8")
				r := mustRecordTime(t, cmd, append(timeOnly[:1:1], tt.flags...)...)
				got := readRecordedTime(t, r.session)
				for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
					if out := tt.name == "exclude" && strings.HasPrefix(row.Name, excluded); out &&
						got.functions[row.callee()] != nil {
						t.Errorf("%s is excluded and recorded", row.Name)
					} else if row.Module == "TimeCalls.dll" && !out {
						got.compareFunction(t, row)
					}
				}
				for f, of := range got.functions {
					if f.Module != "TimeCalls.dll" && of.began > 0 {
						framework[tt.name]++
					}
				}
			})
		}
		if n := framework; n["mine"] != 0 || n["boundary"] < 50 || n["all"] < 3*n["boundary"] {
			t.Errorf("%s: functions of the framework that are recorded: %v", runtime.Name, n)
		}
	}
}
