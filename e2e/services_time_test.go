package e2e

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// startServed starts Served, a service that knows its calls.
func (s *sandbox) startServed(runtime dotnettest.Runtime) *service {
	s.t.Helper()
	return s.startServiceOf(s.target(runtime, "Served"), nil)
}

// truthOf is what a service says there must be of so many rounds.
func (x *service) truthOf(rounds int) string {
	x.t.Helper()
	x.tell(fmt.Sprint("tell ", rounds))
	var text strings.Builder
	for line := x.line(); line != "done"; line = x.line() {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// hasCalls compares the calls of Served in a session with what it knows of so many rounds.
func (a *attachment) hasCalls(x *service, rounds int) {
	a.t.Helper()
	soundTime(a.t, a.session)
	compareCalls(a.t, result{stdout: x.truthOf(rounds), session: a.session}, "Served.dll")
	if lost := losses(a.t, a.session); len(lost) != 0 {
		a.t.Errorf("lost: %v", lost)
	}
}

// TestAttachTime: the calls of a service that runs are those that it knows, again and again.
func TestAttachTime(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		for _, mode := range []string{"boundary", "mine"} {
			t.Run(mode+"/"+r.Name, func(t *testing.T) {
				t.Parallel()
				x := newSandbox(t).startServed(r)
				x.do("rounds 3")
				for i := range 3 {
					a := x.attach(fmt.Sprint("calls", i), "--time", "--instrument", mode)
					x.do("rounds 7")
					x.detach(a)
					a.hasCalls(x, 7)
					x.do("rounds 40")
				}
				x.finish()
			})
		}
	}
}

// attaches is how often services are recorded with calls: -attaches=300 for a longer look.
var attaches = flag.Int("attaches", 12, "recordings of calls of each service under load")

// TestAttachTimeOften: calls of a service under load are exact in each of many recordings, and what the service prints is
// what it prints without.
func TestAttachTimeOften(t *testing.T) {
	t.Parallel()
	for _, r := range dotnettest.NeedRuntimes(t, 5) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			x := newSandbox(t).startServed(r)
			x.do("load 2")
			for i := range *attaches {
				a := x.attach("load", "--time", "--instrument", []string{"mine", "boundary"}[i%2], "--sample-counters", "0")
				x.do(fmt.Sprint("rounds ", 1+i%5))
				x.detach(a)
				a.hasCalls(x, 1+i%5)
				x.do("rounds 2")
			}
			x.do("calm 0")
			x.finish()
		})
	}
}
