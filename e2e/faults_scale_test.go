package e2e

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestManyThreads: short threads by the hundreds and thousands, which use each other's memory in the agent.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		for _, args := range [][]string{{"500", "20"}, {"5000", "3"}} {
			t.Run(args[0]+"/"+runtime.Name, func(t *testing.T) {
				s := newSandbox(t)
				r := s.record(s.target(runtime, "Threads", args...))
				if r.exit != 0 {
					t.Fatalf("exit code %d: %s", r.exit, r.stderr)
				}
				checkSession(t, r.session)
				compareTruth(t, r, runtime)
			})
		}
	}
}

// TestDeepRecursion: of stacks of ten thousand frames a limit keeps the frames nearest to the root and the one that
// allocates. The values that a function has itself stay exact, and what is cut off is said. TestTruth has the same
// without a limit.
func TestDeepRecursion(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			s := newSandbox(t)
			r := s.record(s.target(runtime, "Tiering", "50", "10000"), "--max-stack-depth", "100")
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			s.truncated(r, runtime)
		})
	}
}

// truncated checks a session whose stacks were cut off at 100 frames.
func (s *sandbox) truncated(r result, runtime dotnettest.Runtime) {
	s.t.Helper()
	sound(s.t, r.session)
	var own []string
	for _, line := range strings.SplitAfter(r.stdout, "\n") {
		if !strings.Contains(line, `"scope":"inclusive"`) && !strings.Contains(line, `"truth":"thread"`) {
			own = append(own, line)
		}
	}
	r.stdout = strings.Join(own, "")
	compareTruth(s.t, r, runtime)
	lost := losses(s.t, r.session)
	cut := lost["stack_truncated"]
	below := query[struct{ N, B int64 }](s.t, r.session,
		"select inclusive_allocations n, inclusive_bytes b from functions where name = '(truncated)'")
	if len(lost) != 1 || len(below) != 1 || cut.Allocations == 0 || cut.Allocations != below[0].N ||
		cut.Bytes != below[0].B {
		s.t.Errorf("losses %v, below (truncated) %v", lost, below)
	}
	deepest := query[struct{ N int }](s.t, r.session, "select max(level) n from call_tree")
	if deepest[0].N != 102 { // with (truncated) and what allocates
		s.t.Errorf("the deepest stack has %d frames, want 102", deepest[0].N)
	}
	if shown := s.run("report", r.session); !strings.Contains(shown.stdout, "stack_truncated") ||
		!strings.Contains(shown.stdout, "(truncated)") {
		s.t.Errorf("the report does not say what is cut off: %s", shown.stdout)
	}
}
