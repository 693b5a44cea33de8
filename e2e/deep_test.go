package e2e

import (
	"slices"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// withTimes records times and memory together.
var withTimes = way{name: "with times", flags: []string{"--time", "--memory"}}

// TestDeep records a program that allocates at each of 70,000 levels of a recursion, and one whose stacks have the same
// frames as the ones before, below three times as many callers without frame pointers. What each function makes itself
// is exact at any depth; nothing is lost but what deep stacks must lose. The agent must not look at a whole stack for
// each object: that took minutes.
func TestDeep(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "Deep", dotnettest.Options{})
	for i, w := range []way{tiered, optimized, withTimes} {
		if i > 0 && !dotnettest.Drawn(i, 2) {
			continue
		}
		runtimes := in.NewestAndOldest()
		if i == 1 { // withTimes calls are seen in another way on each of the two
			runtimes = dotnettest.OneInTurn(runtimes, i)
		}
		for _, runtime := range runtimes {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll, "70000")
				cmd.Env = append(cmd.Env, w.env...)
				r := recordOnce(t, cmd, w.flags...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				sound(t, r.session)
				compareTruth(t, r, runtime)
				expected := []string{session.LossStackTruncated}
				if w.name == withTimes.name {
					expected = append(expected, session.LossCallsFolded)
				}
				lost := losses(t, r.session)
				for reason := range lost {
					if !slices.Contains(expected, reason) {
						t.Errorf("lost: %v", lost)
					}
				}
				if lost[session.LossStackTruncated].Allocations < 2*(70000-20000) {
					t.Errorf("stacks of %v are too deep, want more: both objects of each level beyond the limit", lost)
				}
			})
		}
	}
}
