package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// literals returns the bytes of strings that Work itself seems to have made, which has none.
func literals(t *testing.T, path string) int64 {
	t.Helper()
	return query[struct{ Bytes int64 }](t, path, `SELECT coalesce(sum(bytes), 0) AS bytes FROM allocations
		WHERE type = 'string' AND function LIKE 'Once.Program.Work%'`)[0].Bytes
}

// TestSteady: a limit that is steady counts what each round allocates, to the byte, whatever the first one filled; one
// that is not counts more. Arrays of a pool that are never returned count.
func TestSteady(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	budget := filepath.Join(t.TempDir(), "budget.toml")
	const limit = "[[limit]]\nmetric = \"bytes\"\nfocus = [\"Once.Program.Work\"]\nmax = \"1G\"\n"
	if err := os.WriteFile(budget, []byte(limit+"steady = true\n"+limit), 0o600); err != nil {
		t.Fatal(err)
	}
	for cause, tt := range []struct {
		name   string
		rounds int
		counts bool // what fills once is not told apart
	}{{"nothing", 3, false}, {"static constructor", 3, false}, {"array pool", 3, false}, {"enum", 3, false},
		{"activator", 3, false}, {"name of a type", 3, false}, {"methods of a type", 3, false}, {"lazy", 3, false},
		{"thread local", 3, false}, {"arrays not returned", 100, true}} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(tt.name+"/"+runtime.Name, func(t *testing.T) {
				target := runtime.Command(dotnettest.Target(t, "Once", dotnettest.Options{}), strconv.Itoa(cause),
					strconv.Itoa(tt.rounds))
				r := mustRecord(t, target, "--memory")
				want, err := strconv.ParseInt(strings.TrimSpace(r.stdout), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				got := printed[struct {
					Limit, Why string
					Value      int64
				}](t, "check", r.session, "--budget", budget, "--format", "json")[1:]
				steady, all := got[0], got[1]
				if tt.name == "array pool" { // literals of the pool's code, which the runtime makes when they are needed
					want += literals(t, r.session)
				}
				switch {
				case tt.counts && (steady.Value < want || !strings.Contains(steady.Why, "they count")):
					t.Errorf("steady %d of %d, and the rounds made %d: %s", steady.Value, all.Value, want, steady.Why)
				case !tt.counts && steady.Value != want:
					t.Errorf("steady %d of %d, and the rounds made %d: %s", steady.Value, all.Value, want, steady.Why)
				case cause > 0 && all.Value <= want:
					t.Errorf("nothing fills once: %d of %d", want, all.Value)
				}
			})
		}
	}
}
