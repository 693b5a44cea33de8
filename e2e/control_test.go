package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// pausedTarget compiles the target Paused.
func pausedTarget(t *testing.T, in *dotnettest.Install) string {
	t.Helper()
	return controlled(t, in, "Paused", "../testdata/targets/Paused", "../testdata/targets")
}

// controlled compiles a program with the library by which a program controls the profiler.
func controlled(t *testing.T, in *dotnettest.Install, name string, sources ...string) string {
	t.Helper()
	dir := t.TempDir()
	library, err := in.Compile([]string{"../integrations/control"}, filepath.Join(dir, "library"),
		dotnettest.Options{Name: "Clrprof.Control", Library: true})
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile(sources, filepath.Join(dir, "target"),
		dotnettest.Options{Name: name, References: []string{library}})
	if err != nil {
		t.Fatal(err)
	}
	return dll
}

// pausedModes are the flags by which sessions with pauses are recorded. "probes" has probes in the code of what is
// recorded.
var pausedModes = map[string][]string{"memory": {"--memory"}, "lifetime": {"--lifetime"}, "time": {"--time"},
	"probes": byProbes, "together": {"--time", "--memory"}}

// TestPaused: what a program does while it is recorded is in the session, exactly, and nothing else, whoever pauses at
// which level, and whatever is recorded.
func TestPaused(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for i, who := range []string{"process", "global", "thread", "stop"} {
		for j, mode := range []string{"memory", "lifetime", "time", "probes", "together"} {
			if mode == "together" && who != "process" || !dotnettest.Paired(i, 4, j, 5) {
				continue
			}
			for _, runtime := range dotnettest.OneInTurn(in.NewestAndOldest(), i+j) {
				t.Run(who+"/"+mode+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					r := recordOnce(t, runtime.Command(dll, who, "3"), pausedModes[mode]...)
					if r.exit != 0 {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					comparePaused(t, r, who, mode)
				})
			}
		}
	}
}

// comparePaused compares a session of Paused with what that knows.
func comparePaused(t *testing.T, r result, who, mode string) {
	t.Helper()
	comparePausedRounds(t, r, who, mode, 3)
}

// comparePausedRounds does it for so many rounds.
func comparePausedRounds(t *testing.T, r result, who, mode string, rounds int) {
	t.Helper()
	if mode == "time" || mode == "probes" || mode == "together" {
		soundTime(t, r.session)
		compareCalls(t, r, "Paused.dll")
	}
	if mode == "together" {
		comparePausedTypes(t, r)
	} else if mode == "memory" || mode == "lifetime" {
		checkSession(t, r.session)
		comparePausedTypes(t, r)
	}
	if mode == "lifetime" {
		comparePausedLifetimes(t, r)
	}
	for _, l := range query[map[string]any](t, r.session, "SELECT * FROM loss") {
		t.Errorf("lost: %v", l)
	}
	level := map[string]string{"process": "process", "stop": "process", "thread": "thread", "global": "global",
		"outside": "global", "outside-thread": "thread"}[who]
	type pause struct {
		Level string `json:"level"`
		N     int    `json:"n"`
	}
	have := query[pause](t, r.session, "SELECT level, count(*) AS n FROM pause WHERE end_ns >= begin_ns GROUP BY level")
	if d := cmp.Diff([]pause{{level, 1 + 3*rounds}}, have); d != "" {
		t.Errorf("pauses: %s", d)
	}
}

// comparePausedTypes: objects of the target's types are those that were made while it was recorded.
func comparePausedTypes(t *testing.T, r result) {
	t.Helper()
	type made struct {
		Name    string `json:"name"`
		Objects int64  `json:"objects"`
		Bytes   int64  `json:"bytes"`
	}
	want := truthRows[made](t, r.stdout, "type")
	have := query[made](t, r.session, `SELECT name, instances AS objects, bytes FROM types
		WHERE name IN ('Paused.Recorded', 'Paused.Unrecorded', 'Paused.Kept', 'Paused.Across', 'Paused.Beside') ORDER BY name`)
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("objects (-truth +session): %s", d)
	}
}

// comparePausedLifetimes: objects that were recorded are followed through pauses, to their end.
func comparePausedLifetimes(t *testing.T, r result) {
	t.Helper()
	type end struct {
		Name  string `json:"name"`
		Dead  int64  `json:"dead"`
		Alive int64  `json:"alive"`
	}
	have := query[end](t, r.session,
		`SELECT name, gen0_instances + gen1_instances + gen2_instances AS dead, alive_instances AS alive
		FROM lifetime WHERE name IN ('Paused.Recorded', 'Paused.Unrecorded', 'Paused.Kept', 'Paused.Across', 'Paused.Beside') ORDER BY name`)
	for _, e := range have {
		kept := e.Name == "Paused.Kept" || e.Name == "Paused.Across"
		if kept != (e.Dead == 0) || kept != (e.Alive != 0) {
			t.Errorf("%s: %d died and %d are alive", e.Name, e.Dead, e.Alive)
		}
	}
	if len(have) != 3 {
		t.Errorf("lifetimes: %v", have)
	}
}

// TestPausedOften: threads that pause and resume as fast as they can, some ten thousand times a second and more. What
// they do between two pauses is in the session, once, and each pause is.
func TestPausedOften(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it repeats what others do once")
	const threads, pauses = 4, 10_000
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for i, mode := range []string{"memory", "lifetime", "probes", "together"} {
		for _, runtime := range dotnettest.OneInTurn(in.NewestAndOldest(), i) {
			t.Run(mode+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := recordOnce(t, runtime.Command(dll, "often", strconv.Itoa(pauses)), pausedModes[mode]...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				if mode == "probes" || mode == "together" {
					soundTime(t, r.session)
					compareCalls(t, r, "Paused.dll")
				}
				if mode != "probes" {
					checkSession(t, r.session)
					comparePausedTypes(t, r)
				}
				for _, l := range query[map[string]any](t, r.session, "SELECT * FROM loss") {
					t.Errorf("lost: %v", l)
				}
				type count struct{ Pauses, Bad int64 }
				have := query[count](t, r.session, `SELECT count(*) AS pauses,
					sum(level <> 'thread' OR end_ns < begin_ns) AS bad FROM pause`)
				if want := (count{Pauses: threads * pauses}); have[0] != want {
					t.Errorf("%+v, want %+v", have[0], want)
				}
			})
		}
	}
}

// TestManyMarks: a program that marks in a loop takes a sixteenth of the agent's memory, and no more: what is refused
// is reported to the program and to whoever reads, and objects are as exact as ever.
func TestManyMarks(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := recordOnce(t, runtime.Command(dll, "marks", "200000"), "--memory-limit", "32M")
			if r.exit != 0 {
				t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
			}
			sound(t, r.session)
			comparePausedTypes(t, r)
			type marks struct {
				Done    int64 `json:"done"`
				Refused int64 `json:"refused"`
			}
			said := truthRows[marks](t, r.stdout, "marks")[0]
			have := query[marks](t, r.session, `SELECT (SELECT count(*) FROM mark WHERE source = 'api') AS done,
				(SELECT events FROM loss WHERE reason = 'marks_lost') - 1 AS refused`) // and a pause
			if d := cmp.Diff([]marks{said}, have); d != "" {
				t.Errorf("marks (-truth +session): %s", d)
			}
			if said.Done+said.Refused != 200_000 || said.Done < 1000 {
				t.Errorf("%+v, want more than 1,000 of 200,000", said)
			}
			if lost := losses(t, r.session); len(lost) != 1 {
				t.Errorf("lost: %v", lost)
			}
		})
	}
}

// TestPausedFromOutside: the same when clrprof ctl pauses and resumes.
func TestPausedFromOutside(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for i, who := range []string{"outside", "outside-thread"} {
		for j, mode := range []string{"memory", "lifetime", "time", "probes"} {
			if !dotnettest.Paired(i, 2, j, 4) {
				continue
			}
			for _, runtime := range dotnettest.OneInTurn(in.NewestAndOldest(), i+j) {
				t.Run(who+"/"+mode+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					toggle := byCtl
					if who == "outside-thread" {
						toggle = byCtlOfThread
					}
					r := recordPausing(t, runtime.Command(dll, who, "3"), toggle, pausedModes[mode]...)
					comparePaused(t, r, who, mode)
					checkMarks(t, r, map[string]string{"outside": "nothing was recorded for ", "outside-thread": "for a part of the run, nothing was recorded of 1 thread."}[who])
					type thread struct {
						Name string `json:"name"`
					}
					if named := query[thread](t, r.session, "SELECT name FROM thread WHERE os_id = (SELECT pid FROM process)"); len(named) != 1 ||
						named[0].Name != "the first" {
						t.Errorf("the main thread: %v", named)
					}
				})
			}
		}
	}
}

// checkMarks: the session has the marks that were made and those of the process, and reports say what was paused.
func checkMarks(t *testing.T, r result, paused string) {
	t.Helper()
	type mark struct {
		Name   string `json:"mark_name"`
		Text   string `json:"mark_text"`
		Source string `json:"mark_source"`
	}
	want := []mark{{"begin", "Paused", "program"}, {"first", "of all", "ctl"}, {"end", "Paused", "program"}}
	if d := cmp.Diff(want, printed[mark](t, "report", r.session, "marks", "--json")); d != "" {
		t.Errorf("marks: %s", d)
	}
	if text := run(t, "report", r.session, "processes").stdout; !strings.Contains(text, "Paused: "+paused) {
		t.Errorf("the report does not say that it was paused:\n%s", text)
	}
	if c := run(t, "ctl", r.session, "status"); c.exit != 121 || strings.Count(c.stderr, "\n") != 1 {
		t.Errorf("ctl after the end: exit code %d: %s", c.exit, c.stderr)
	}
	if _, err := os.Lstat(r.session + ".sock"); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
}

// checkStatus: what ctl says of a recording that goes on, by its session and by its process.
func checkStatus(t *testing.T, path string) {
	t.Helper()
	if c := run(t, "ctl", path, "flush"); c.exit != 0 || c.stdout != "recording\n" {
		t.Errorf("ctl flush: exit code %d: %s%s", c.exit, c.stdout, c.stderr)
	}
	if c := run(t, "ctl", path, "mark", "first", "of all"); c.exit != 0 {
		t.Errorf("ctl mark: exit code %d: %s", c.exit, c.stderr)
	}
	var status struct {
		Recording bool
		Processes []struct {
			PID     int
			Name    string
			Threads int
			Running []struct{ ID int }
		}
	}
	if err := json.Unmarshal([]byte(run(t, "ctl", path, "status", "--json").stdout), &status); err != nil {
		t.Fatal(err)
	}
	if !status.Recording || len(status.Processes) != 1 || status.Processes[0].Name != "Paused" ||
		status.Processes[0].Threads == 0 {
		t.Errorf("status: %+v", status)
		return
	}
	pid := strconv.Itoa(status.Processes[0].PID)
	if c := run(t, "ctl", pid, "status"); c.exit != 0 || !strings.Contains(c.stdout, "Process "+pid+": Paused") {
		t.Errorf("ctl %s status: exit code %d: %s%s", pid, c.exit, c.stdout, c.stderr)
	}
	if !slices.Contains(status.Processes[0].Running, struct{ ID int }{status.Processes[0].PID}) {
		t.Errorf("the main thread is not listed: %+v", status.Processes[0].Running)
	}
	if c := run(t, "ctl", path, "name-thread", "the first", "--thread", pid); c.exit != 0 || c.stdout != "named\n" {
		t.Errorf("ctl name-thread: exit code %d: %s%s", c.exit, c.stdout, c.stderr)
	}
	if text := run(t, "ctl", path, "status").stdout; !strings.Contains(text, "\n  thread "+pid+" the first\n") {
		t.Errorf("ctl status: %s", text)
	}
	const nobody = "1073741824"
	for _, c := range []struct {
		args []string
		exit int
	}{{[]string{"resume"}, 121}, {[]string{"explode"}, 120}, {[]string{"mark"}, 120},
		{[]string{"pause", "--process", nobody}, 121}, {[]string{"pause", "--thread", nobody}, 121},
		{[]string{"pause", "--thread", pid, "--process", nobody}, 121}, {[]string{"resume", "--thread", pid}, 121},
		{[]string{"name-thread", "x"}, 120}, {[]string{"name-thread", "x", "--thread", nobody}, 121},
		{[]string{"name-thread", "x", "y", "--thread", pid}, 120}, {[]string{"gc", "--thread", pid}, 120}} {
		if r := run(t, append([]string{"ctl", path}, c.args...)...); r.exit != c.exit || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("ctl %v: exit code %d, want %d: %s", c.args, r.exit, c.exit, r.stderr)
		}
	}
}

// TestPausedBySignal: the same when signals to clrprof pause and resume.
func TestPausedBySignal(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for _, mode := range []string{"memory", "probes"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			flags := append([]string{"--control-signals"}, pausedModes[mode]...)
			r := recordPausing(t, in.Newest().Command(dll, "outside", "3"), bySignal, flags...)
			comparePaused(t, r, "outside", mode)
			type mark struct {
				Name string `json:"mark_name"`
			}
			want := []mark{{"begin"}, {"first"}, {"signal"}, {"end"}}
			if d := cmp.Diff(want, printed[mark](t, "report", r.session, "marks", "--json")); d != "" {
				t.Errorf("marks: %s", d)
			}
		})
	}
}

// TestRecordFirst: what a process does until the first collections have ended is in the session, exactly, and nothing
// that it does later. What was recorded is followed through the later collections.
func TestRecordFirst(t *testing.T) {
	t.Parallel()
	const collections = 4
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for _, mode := range [][]string{{"--lifetime"}, {"--lifetime", "--time"}} {
		for _, runtime := range in.Runtimes() {
			t.Run(strings.Join(mode, "")+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				r := recordOnce(t, runtime.Command(dll, "collections", strconv.Itoa(collections)),
					append([]string{"--record-first", strconv.Itoa(collections)}, mode...)...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				compareRecordFirst(t, r, len(mode) > 1, collections)
			})
		}
	}
}

func compareRecordFirst(t *testing.T, r result, withTime bool, collections int64) {
	t.Helper()
	if withTime {
		soundTime(t, r.session)
		compareCalls(t, r, "Paused.dll")
	} else {
		checkSession(t, r.session)
	}
	comparePausedTypes(t, r)
	type end struct{ Dead, Alive int64 }
	kept := query[end](t, r.session, `SELECT gen0_instances + gen1_instances + gen2_instances AS dead,
		alive_instances AS alive FROM lifetime WHERE name = 'Paused.Kept'`)
	if d := cmp.Diff([]end{{collections, 0}}, kept); d != "" {
		t.Errorf("objects that died after the last recorded collection: %s", d)
	}
	for _, l := range query[map[string]any](t, r.session, "SELECT * FROM loss") {
		t.Errorf("lost: %v", l)
	}
	type mark struct {
		Name, Text, Source string
		Pauses             int64 // that begin at this moment
	}
	have := query[mark](t, r.session, `SELECT name, text, source, (SELECT count(*) FROM pause p
		WHERE p.level = 'process' AND p.begin_ns = m.time_ns AND p.end_ns > p.begin_ns) AS pauses
		FROM mark m WHERE source = 'run'`)
	if d := cmp.Diff([]mark{{"record-first", strconv.FormatInt(collections, 10) + " collections", "run", 1}}, have); d != "" {
		t.Errorf("marks: %s", d)
	}
}

// TestRecordedFor: clrprof begins and ends to record by itself, after a time or when a condition holds, and the program
// runs on. What is recorded is what the program did while it was on.
func TestRecordedFor(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for _, tt := range []struct {
		name  string
		flags []string
		least int64 // objects
	}{
		{"for", []string{"--for", "2s"}, 1},
		{"after and for", []string{"--after", "1500ms", "--for", "2s"}, 1},
		{"allocated", []string{"--stop-when", "allocated > 10MB"}, 10 << 20 / 24},
		{"allocations", []string{"--stop-when", "allocations > 100000"}, 100_000},
		{"calls", []string{"--stop-when", "calls > 100000"}, 100_000},
		{"gcs", []string{"--stop-when", "gcs > 3"}, 1},
		{"time", []string{"--stop-when", "time > 1s"}, 1},
	} {
		for _, mode := range []string{"memory", "lifetime", "probes"} {
			if (mode == "lifetime") != (tt.name == "gcs") || (tt.name == "calls" && mode == "memory") || (strings.HasPrefix(tt.name, "alloc") && mode == "probes") {
				continue // not recorded
			}
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				r := recordOnce(t, in.Newest().Command(dll, "watch"), append(tt.flags, pausedModes[mode]...)...)
				if r.exit != 0 {
					t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
				}
				compareWatched(t, r, mode, tt.least)
			})
		}
	}
}

// compareWatched compares a session with what a program made at least and at most while it was recorded.
func compareWatched(t *testing.T, r result, mode string, least int64) {
	t.Helper()
	type watched struct {
		Least int64 `json:"least"`
		Most  int64 `json:"most"`
	}
	said := truthRows[watched](t, r.stdout, "watched")[0]
	count := "SELECT instances AS n FROM types WHERE name = 'Paused.Recorded'"
	if mode != "probes" {
		sound(t, r.session)
	} else {
		soundTime(t, r.session)
		count = "SELECT sum(v.calls) AS n FROM function_time v JOIN function f ON f.id = v.function_id WHERE " +
			"f.raw_name = 'Leaf'"
	}
	have := query[struct{ N int64 }](t, r.session, count)[0].N
	if have < said.Least || have > said.Most || said.Most-said.Least > 2*1000 {
		t.Errorf("%d recorded, the program says %d to %d", have, said.Least, said.Most)
	}
	if have < least {
		t.Errorf("%d recorded, want %d at least", have, least)
	}
	if lost := losses(t, r.session); len(lost) != 0 {
		t.Errorf("lost: %v", lost)
	}
	if text := run(t, "report", r.session, "processes").stdout; !strings.Contains(text,
		"Paused: nothing was recorded for ") {
		t.Errorf("the report does not say that it was paused:\n%s", text)
	}
}

// byCtl pauses or resumes a recording by clrprof ctl.
func byCtl(t *testing.T, path string, _ *os.Process, command string) {
	if c := runHere("ctl", path, command); c.exit != 0 {
		t.Errorf("ctl %s: exit code %d: %s", command, c.exit, c.stderr)
	}
}

// byCtlOfThread does it to the main thread of its only process, whose id is the process's.
func byCtlOfThread(t *testing.T, path string, _ *os.Process, command string) {
	var status struct{ Processes []struct{ PID int } }
	if err := json.Unmarshal([]byte(runHere("ctl", path, "status", "--json").stdout), &status); err != nil {
		t.Error(err)
		return
	}
	pid := strconv.Itoa(status.Processes[0].PID)
	want := map[string]string{"pause": "thread " + pid + ": paused once\n", "resume": "thread " + pid + ": on\n"}[command]
	if c := runHere("ctl", path, command, "--thread", pid); c.exit != 0 || c.stdout != want {
		t.Errorf("ctl %s --thread: exit code %d: %s%s, want %s", command, c.exit, c.stdout, c.stderr, want)
	}
}

// bySignal does it by a signal, which has come when ctl says so, and marks the first time.
func bySignal(t *testing.T, path string, clrprof *os.Process, command string) {
	status := func() (now struct {
		Recording bool
		Marks     int
		Pauses    int
	}) {
		if err := json.Unmarshal([]byte(runHere("ctl", path, "status", "--json").stdout), &now); err != nil {
			t.Error(err)
		}
		return now
	}
	send := func(s unix.Signal) {
		if err := clrprof.Signal(s); err != nil {
			t.Error(err)
		}
	}
	if before := status(); before.Pauses == 0 {
		send(unix.SIGUSR2)
		await(t, "a mark by a signal", func() bool { return status().Marks != before.Marks })
	}
	send(unix.SIGUSR1)
	await(t, command+" by a signal", func() bool { return status().Recording == (command == "resume") })
}

// recordPausing records a target that says when it wants to be paused and resumed.
func recordPausing(t *testing.T, target *exec.Cmd, toggle func(*testing.T, string, *os.Process, string),
	flags ...string) result {
	t.Helper()
	first := true
	return recordAsked(t, target, func(t *testing.T, path string, clrprof *os.Process, line string) {
		if first {
			checkStatus(t, path)
		}
		first = false
		toggle(t, path, clrprof, line)
	}, flags...)
}

// recordAsked records a target that says "pause" or "resume", and goes on when it is answered.
func recordAsked(t *testing.T, target *exec.Cmd, answer func(*testing.T, string, *os.Process, string),
	flags ...string) result {
	t.Helper()
	path, in, args := recordArgs(t, target, flags)
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir = in.env, in.dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	ready := false // the target can be there before the socket is
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		said.WriteString(line + "\n")
		if line != "pause" && line != "resume" {
			continue
		}
		if !ready {
			if c := run(t, "ctl", path, "wait", "ready"); c.exit != 0 {
				t.Errorf("ctl wait ready: exit code %d: %s", c.exit, c.stderr)
			}
			ready = true
		}
		answer(t, path, cmd.Process, line)
		if _, err := io.WriteString(stdin, "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s%s", err, said.String(), stderr.String())
	}
	return result{session: path, stdout: said.String(), stderr: stderr.String()}
}
