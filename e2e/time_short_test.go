package e2e

import (
	"math"
	"os/exec"
	"runtime"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestShortCalls: what short calls take without their probes lies within what is said of it, on a machine that does
// what it does, and beside an endless loop for each of its processors. The truth is what the same code takes in the
// same process, in turns, without probes. Both are processor time, so what others use is in neither.
func TestShortCalls(t *testing.T) {
	in := dotnettest.Need(t)
	target := dotnettest.Target(t, "ShortCalls", dotnettest.Options{})
	for _, busy := range []bool{false, true} {
		if busy {
			keepBusy(t)
		}
		for _, shape := range []string{"leaf", "nested", "virtual", "walk", "fib"} {
			r := mustRecordTime(t, in.Newest().Command(target, shape, "500"), "--time", "--include", "ShortCalls.Probed*")
			truth := truthRows[struct{ CPU float64 }](t, r.stdout, "short")[0].CPU
			said := query[shortCalls](t, r.session, `SELECT sum(cpu_exclusive) CPU,
				sum(overhead_exclusive) * uncertain_ns / (inside_ns + outside_ns) Uncertain, sum(calls) Calls, measured
				Measured, agent_time_ns Agent FROM function_times, process_time WHERE name LIKE 'ShortCalls.Probed%'`)[0]
			t.Logf("%s, busy: %t: %.1f ms, %+v", shape, busy, truth/1e6, said)
			if math.Abs(said.CPU-truth) > said.Uncertain {
				t.Errorf("%s, busy: %t: %.1f ms are said to be %.1f ± %.1f", shape, busy, truth/1e6, said.CPU/1e6,
					said.Uncertain/1e6)
			}
		}
	}
}

type shortCalls struct {
	CPU, Uncertain         float64
	Calls, Measured, Agent int64
}

// keepBusy runs an endless loop for each processor until the test ends.
func keepBusy(t *testing.T) {
	t.Helper()
	for range runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = loop.Process.Kill()
			_ = loop.Wait()
		})
	}
}
