package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const (
	tracingPath  = "/sys/kernel/tracing"
	callsID      = "/events/raw_syscalls/sys_enter/id"
	callsWithout = "SKIPPED: system calls cannot be listed here: "
)

// seesCalls makes tracefs be where commands look for it that this goroutine starts, and returns the number of the
// tracepoint of system calls. Where it is not mounted it is in a name space of this thread, which ends with the test.
func seesCalls(t *testing.T) string {
	t.Helper()
	for _, root := range []string{tracingPath, "/sys/kernel/debug/tracing"} {
		if id, err := os.ReadFile(root + callsID); err == nil {
			needsPerf(t)
			return strings.TrimSpace(string(id))
		}
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		t.Skipf(callsWithout+"tracefs is not mounted, and a name space for it cannot be had: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Skipf(callsWithout+"tracefs is not mounted, and the name space for it cannot be made private: %v", err)
	}
	if err := unix.Mount("none", tracingPath, "tracefs", 0, ""); err != nil {
		t.Skipf(callsWithout+"tracefs cannot be mounted: %v", err)
	}
	needsPerf(t)
	id, err := os.ReadFile(tracingPath + callsID)
	if err != nil {
		t.Skipf(callsWithout+"%v", err)
	}
	return strings.TrimSpace(string(id))
}

// needsPerf skips where the kernel's own events are refused.
func needsPerf(t *testing.T) {
	t.Helper()
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_MIGRATIONS,
		Size: unix.PERF_ATTR_SIZE_VER3}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Skipf(callsWithout+"perf_event_open: %v", err)
	}
	_ = unix.Close(fd)
}

// callsTruth is what the target SystemCalls counted in a call of a function, and around it.
type callsTruth struct {
	Name   string     `json:"name"`
	Thread string     `json:"thread"`
	Least  callCounts `json:"least"`
	Most   callCounts `json:"most"`
}

type callCounts struct {
	Calls      int64 `json:"calls"`
	Migrations int64 `json:"migrations"`
}

// callRow is a row of the view events.
type callRow struct {
	systemRow
	Calls      int64  `json:"event_calls"`
	Migrations int64  `json:"event_migrations"`
	Called     string `json:"event_system_calls"`
}

// called are the system calls of a row by name, with those that have none.
func (r *callRow) called(t *testing.T) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for word := range strings.SplitSeq(r.Called, ", ") {
		name, number, _ := strings.Cut(word, " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		out[name] = n
	}
	return out
}

// TestSystemCalls compares the list, call by call, with what the target counted itself within its functions, and around
// them; and times in which the system acted with those in which it did not.
func TestSystemCalls(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, net dotnettest.Runtime, mode []string) {
		id := seesCalls(t)
		dll := dotnettest.Target(t, "SystemCalls", dotnettest.Options{Unsafe: true})
		const rounds, asked = "40", 10
		flags := append([]string{"--include", "SystemCalls.Work.*"}, mode...)
		r := recordOnce(t, net.Command(dll, id, rounds), append(flags, "--events", "sched,syscalls,migrations")...)
		if r.exit != 0 {
			t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
		}
		soundTime(t, r.session)
		compareSystemCalls(t, r, asked)
		compareNames(t, r, asked)
		compareActed(t, r)
	})
}

// compareSystemCalls: each call of a function of the target is an event, with what was counted in it.
func compareSystemCalls(t *testing.T, r result, asked int64) {
	t.Helper()
	type key struct{ function, thread string }
	have := map[key][]callRow{}
	for _, row := range view[callRow](t, r.session, "events") {
		if k := (key{row.function(), row.Thread}); row.Calls+row.Migrations != 0 { // not where it was preempted in a probe
			have[k] = append(have[k], row)
		}
	}
	exact, moves := map[string]int{}, int64(0)
	for _, w := range truthRows[callsTruth](t, r.stdout, "call") {
		k := key{w.Name, w.Thread}
		if len(have[k]) == 0 {
			t.Fatalf("%v: there are fewer events than calls", k)
		}
		row := have[k][0]
		have[k] = have[k][1:]
		if row.Calls < w.Least.Calls || row.Calls > w.Most.Calls || row.Migrations < w.Least.Migrations ||
			row.Migrations > w.Most.Migrations {
			t.Errorf("%v: %d system calls, %d migrations, want %+v to %+v", k, row.Calls, row.Migrations, w.Least, w.Most)
		}
		if strings.HasSuffix(w.Name, ".Ask") && row.Calls < asked+4 {
			t.Errorf("%v: %d system calls, asked for %d", k, row.Calls, asked)
		}
		if w.Least == w.Most {
			exact[w.Name]++
		}
		moves += row.Migrations
	}
	for k, rows := range have {
		if k.function != "SystemCalls.Work.Compute" && len(rows) != 0 {
			t.Errorf("%v: %d events more than calls", k, len(rows))
		}
	}
	if exact["SystemCalls.Work.Ask"] == 0 || runtime.NumCPU() > 1 && moves == 0 {
		t.Errorf("nothing was compared exactly: %v, %d migrations", exact, moves)
	}
}

// compareNames: of each call of a function it is known which system calls there were, which the target knows itself
// where nobody else did anything: two readings of its two counters, and what the function is for. Sums by name are
// those of the list.
func compareNames(t *testing.T, r result, asked int64) {
	t.Helper()
	sums, compared := map[string]int64{}, 0
	for _, row := range view[callRow](t, r.session, "events") {
		if row.Calls == 0 {
			continue
		}
		have, all := row.called(t), int64(0)
		for name, n := range have {
			sums[name] += n
			all += n
		}
		if all != row.Calls || have["other"] != 0 {
			t.Errorf("%+v: the names are those of %d calls", row, all)
		}
		n := asked
		if row.Thread == "second" {
			n += 3
		}
		if strings.HasSuffix(row.function(), ".Ask") && row.Calls == n+4 {
			compared++
			if have["getppid"] != n || have["read"] != 4 {
				t.Errorf("%+v, want %d getppid and 4 read", row, n)
			}
		}
		if strings.HasSuffix(row.function(), ".Ask") && (have["getppid"] < n || have["read"] < 4) ||
			strings.HasSuffix(row.function(), ".Move") && (have["sched_getaffinity"] != 1 || have["sched_setaffinity"] < 1) {
			t.Errorf("%+v", row)
		}
	}
	if compared == 0 {
		t.Error("nothing was compared exactly")
	}
	type group struct {
		Name  string `json:"name"`
		Calls int64  `json:"event_calls"`
	}
	grouped := map[string]int64{}
	for _, g := range view[group](t, r.session, "events", "--by", "system-call") {
		grouped[g.Name] = g.Calls
	}
	reported := map[string]int64{}
	for _, g := range query[struct {
		Name  string `json:"name"`
		Calls int64  `json:"calls"`
	}](t, r.session, `SELECT c.name, sum(e.calls) AS calls FROM system_event_call e JOIN system_call c USING (number) GROUP BY c.name`) {
		reported[g.Name] = g.Calls
	}
	if d := cmp.Diff(sums, grouped); d != "" {
		t.Errorf("by name (-list +groups)\n%s", d)
	}
	if d := cmp.Diff(sums, reported); d != "" {
		t.Errorf("by name (-list +tables)\n%s", d)
	}
}

// compareActed: what does nothing but to make system calls that do not block has no application time, and is not
// blocked.
func compareActed(t *testing.T, r result) {
	t.Helper()
	type row struct {
		Name        string `json:"name"`
		Calls       int64  `json:"calls"`
		Elapsed     int64  `json:"elapsed_exclusive"`
		Application int64  `json:"application_exclusive"`
		SystemCalls int64  `json:"system_calls_exclusive"`
	}
	listed := map[string]int64{}
	for _, e := range view[callRow](t, r.session, "events") {
		listed[e.Name] += e.Calls
	}
	for _, f := range view[row](t, r.session, "functions") {
		switch name, _, _ := strings.Cut(f.Name, "("); name {
		case "SystemCalls.Work.Ask":
			if f.Elapsed == 0 || f.Application != 0 {
				t.Errorf("%+v", f)
			}
		case "SystemCalls.Work.Compute":
			if f.Application == 0 {
				t.Errorf("%+v", f)
			}
		}
		if f.SystemCalls != listed[f.Name] {
			t.Errorf("%s: %d system calls in its sum, %d in the list", f.Name, f.SystemCalls, listed[f.Name])
		}
	}
}

// TestSystemCallsRefused: a user without the right learns what is missing, and nothing is started. A target that has
// less rights than its clrprof is recorded without system calls, which is a loss, and with all that needs no right.
func TestSystemCallsRefused(t *testing.T) {
	t.Parallel()
	level, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if n, bad := strconv.Atoi(strings.TrimSpace(string(level))); err != nil || bad != nil || n < 2 {
		t.Skipf("SKIPPED: everyone may count what the kernel does here: perf_event_paranoid is %s (%v)", level, err)
	}
	t.Run("clrprof", func(t *testing.T) {
		t.Parallel()
		s := newSandbox(t).asUser()
		if s.user() == 0 {
			t.Skip("SKIPPED: there is no other user")
		}
		r := s.run("run", "--time", "--events", "syscalls", "--", "false")
		if r.exit != codeUsage || !strings.Contains(r.stderr, "--events syscalls: ") ||
			!strings.Contains(r.stderr, "perf_event_paranoid is ") {
			t.Errorf("exit code %d: %s", r.exit, r.stderr)
		}
	})
	t.Run("target", func(t *testing.T) {
		t.Parallel()
		seesCalls(t)
		setpriv, err := exec.LookPath("setpriv")
		if err != nil {
			t.Skipf("SKIPPED: no target with less rights: %v", err)
		}
		dll := dotnettest.Target(t, "SystemEvents", dotnettest.Options{Unsafe: true})
		cmd := dotnettest.Need(t).Newest().Command(dll, "5", filepath.Join(t.TempDir(), "data"))
		cmd.Args = append([]string{setpriv, "--bounding-set=-perfmon,-sys_admin"}, cmd.Args...)
		r := recordOnce(t, cmd, "--include", "SystemEvents.Work.*", "--time", "--events", "sched,syscalls")
		if r.exit != 0 {
			t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
		}
		soundTime(t, r.session)
		waits := int64(0)
		for _, row := range view[callRow](t, r.session, "events") {
			if waits += row.Voluntary; row.Calls != 0 {
				t.Errorf("%+v", row)
			}
		}
		sum := query[struct {
			Voluntary int64 `json:"voluntary"`
			Lost      int64 `json:"lost"`
		}](t, r.session, `SELECT (SELECT sum(voluntary) FROM timing_value) AS voluntary,
			(SELECT sum(events) FROM loss WHERE reason = 'cpu_counters_lost') AS lost`)[0]
		if waits == 0 || waits != sum.Voluntary || sum.Lost == 0 {
			t.Errorf("%d waits are listed, %+v", waits, sum)
		}
	})
}
