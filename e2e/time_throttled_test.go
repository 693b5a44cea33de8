package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTimeThrottled: a process that computes gets the processor for a part of the time only, since two others want the
// same one or the quota of its container is used up. That is ready: neither CPU time nor blocked. Also where it waits
// in the same interval.
func TestTimeThrottled(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	type run struct {
		what      string
		throttle  func(t *testing.T, pid int) (release func())
		mechanism string
		runtime   dotnettest.Runtime
		waits     int64 // nanoseconds of each call
	}
	var runs []run
	for _, rt := range in.Runtimes() {
		runs = append(runs, run{"compete", byOthers, "best", rt, 0}, run{"throttle", byQuota, "best", rt, 0})
	}
	for _, rt := range in.NewestAndOldest() {
		runs = append(runs, run{"mix", byOthers, "best", rt, 400e6})
	}
	for _, m := range dotnettest.Some(timeMechanisms) {
		runs = append(runs, run{"throttle", byQuota, m, in.Newest(), 0},
			run{"mix", byOthers, m + ",delay", in.Newest(), 400e6})
	}
	for _, tt := range runs {
		t.Run(tt.what+"/"+tt.mechanism+"/"+tt.runtime.Name, func(t *testing.T) {
			if tt.what == "throttle" { // others want one processor: it is long enough with two of them
				t.Parallel()
			}
			s := newSandbox(t)
			if tt.mechanism != "best" {
				s.env = append(s.env, "CLRPROF_MECHANISMS="+tt.mechanism)
			}
			p := s.start(runTime(s.target(tt.runtime, "TimeWaits", tt.what, "4"))...)
			p.expect("ready")
			release := tt.throttle(t, s.pidOf("TimeWaits"))
			if _, err := p.in.Write([]byte("\n")); err != nil {
				t.Fatal(err)
			}
			r := p.wait()
			release()
			if r.exit != 0 {
				t.Fatalf("exit code %d: %s", r.exit, r.stderr)
			}
			r.session = filepath.Join(s.out, "s.clrprof")
			checkTimeSession(t, r.session)
			checkThrottled(t, r, tt.waits)
		})
	}
}

// checkThrottled compares what the function that computes is said to have done with what it measured, and with what a
// user sees.
func checkThrottled(t *testing.T, r result, waits int64) {
	t.Helper()
	own := int64(compareTimes(t, r).processes[0].Agent) // is in no interval
	w := truthRows[took](t, r.stdout, "took")[0]
	if w.WallMin < w.CPUMax*3/2 || w.PreemptedMin == 0 {
		t.Errorf("it had the processor nearly all the time: %+v", w)
	}
	rows := query[struct{ CPU, Blocked, Ready, Probes int64 }](t, r.session,
		fmt.Sprintf(`SELECT cpu_inclusive AS cpu, blocked_inclusive AS blocked,
		ready_inclusive AS ready, overhead_inclusive AS probes FROM function_times WHERE name LIKE '%s(%%'`, w.Name))
	if len(rows) != 1 {
		t.Fatalf("%s: %v", w.Name, rows)
	}
	without := w.WallMin - w.CPUMax
	between(t, w.Name+": CPU time shown and that of probes, ns", rows[0].CPU+rows[0].Probes, w.CPUMin*97/100-own,
		w.CPUMax*103/100+w.Stolen)
	waited := waits * w.Calls
	between(t, w.Name+": ready shown, ns", rows[0].Ready, (without-waited)*97/100-own-w.Stolen,
		(w.WallMax-w.CPUMin-waited)*103/100)
	between(t, w.Name+": blocked shown, ns", rows[0].Blocked, waited*97/100, waited*103/100+without/100+w.Stolen)
}

// byQuota puts the process into a control group that may compute for 2 of 10 milliseconds: where others want the
// processor as well, one turn of it still uses up the quota.
func byQuota(t *testing.T, pid int) func() {
	t.Helper()
	const quota, period, least = 2_000, 10_000, 5
	for _, c := range []struct{ base, file, limit string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", itoa(quota)},
		{"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", itoa(quota)},
		{"/sys/fs/cgroup", "cpu.max", itoa(quota) + " " + itoa(period)},
	} {
		group := filepath.Join(c.base, fmt.Sprintf("clrprof-e2e-%d-%d", os.Getpid(), pid))
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(group); err != nil {
				t.Error(err)
			}
		})
		if c.file != "cpu.max" && os.WriteFile(filepath.Join(group, "cpu.cfs_period_us"), []byte(itoa(period)),
			0) != nil ||
			os.WriteFile(filepath.Join(group, c.file), []byte(c.limit), 0) != nil ||
			os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(itoa(pid)), 0) != nil {
			continue
		}
		return func() {
			if n := throttled(t, group); n < least {
				t.Errorf("the kernel throttled the group %d times", n)
			}
		}
	}
	t.Skip("no control groups here whose processor time this test may limit: for the agent that is as if others " +
		"competed for the processor, which is tested")
	return nil
}

// throttled is how often a group has used up its quota.
func throttled(t *testing.T, group string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(group, "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "nr_throttled "); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	t.Fatalf("nr_throttled is not in %s", text)
	return 0
}

// byOthers lets two other processes compete for the processor that the process will keep to.
func byOthers(t *testing.T, _ int) func() {
	t.Helper()
	others := []*exec.Cmd{busyOnFirst(t), busyOnFirst(t)}
	return func() {
		for _, busy := range others {
			err := busy.Process.Kill()
			_ = busy.Wait() // it was killed
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// busyOnFirst starts a process that computes on the first processor that this one may use.
func busyOnFirst(t *testing.T) *exec.Cmd {
	t.Helper()
	var cpus, first unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	for i := range len(cpus) * 64 {
		if cpus.IsSet(i) {
			first.Set(i)
			break
		}
	}
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Process.Kill() }) // it may have been killed
	if err := unix.SchedSetaffinity(busy.Process.Pid, &first); err != nil {
		t.Fatal(errors.Join(err, busy.Process.Kill()))
	}
	return busy
}
