package collect_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/capture/collect"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

var update = flag.Bool("update", false, "make the seed arena of internal/wire anew")

// agent returns the directory with the agent and the made-up runtime of agent/test, compiled with more flags if need
// be.
func agent(t *testing.T, flags ...string) string {
	t.Helper()
	return dotnettest.Native(t, append([]string{"../../../agent/test/build.sh", "gcc", dotnettest.NativeOut}, flags...)...)
}

// arenaDirectory is in memory, if there is such a place: the agent asks for memory in small steps.
func arenaDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "clrprof-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// scenarios returns a command that runs scenarios of the agent's tests, all if none is named.
func scenarios(bin, dir string, names ...string) *exec.Cmd {
	return exec.Command(filepath.Join(bin, "agent_test"), append([]string{filepath.Join(bin, "agent.so"), dir},
		names...)...)
}

// TestAgentScenarios runs all of the agent's own tests and records every arena that they leave: what was reported to
// the agent is in the session, or counted as lost.
func TestAgentScenarios(t *testing.T) {
	t.Parallel()
	bin, dir := agent(t), arenaDirectory(t)
	out, err := scenarios(bin, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	arenas := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, launch.ArenaSuffix) {
			arenas++
			t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
				t.Parallel()
				recordScenario(t, filepath.Dir(path))
			})
		}
		return err
	})
	if err != nil || arenas < 100 {
		t.Errorf("%d arenas, %v", arenas, err)
	}
}

// recordScenario records the arena that a scenario left in a directory.
func recordScenario(t *testing.T, dir string) {
	t.Helper()
	var want quantity.Amount
	reported, err := os.ReadFile(filepath.Join(dir, "totals"))
	if err == nil {
		_, err = fmt.Sscan(string(reported), &want.Allocations, &want.Bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("recording %s", dir)
	r := &recordingTest{t: t, dir: dir, path: filepath.Join(arenaDirectory(t), "s.clrprof")}
	if filepath.Base(dir) == "time_calls_cut" { // what no runtime does is reported there
		r.expected = "calls: "
	}
	r.begin(collect.Filter{})
	r.sync(collect.Monotonic())
	s := r.finish()
	have := total(t, s)
	for _, l := range get[session.Loss](t)(s.Losses()) {
		if l.IsMissing() && l.Reason != session.LossUntracked { // those were reported as survivors alone
			have = have.Add(l.Amount)
		}
	}
	for _, l := range get[session.LeftOut](t)(s.LeftOut()) {
		have = have.Add(l.Amount)
	}
	compareListed(t, s)
	killed := want == quantity.Amount{} && have.Allocations > 0 // that process could not tell
	if have != want && !killed {
		t.Errorf("%s: have %+v, want %+v", dir, have, want)
	}
}

// compareListed: if anything is listed, and nothing is lost, the list has all context switches that the sums have.
func compareListed(t *testing.T, s *session.Session) {
	t.Helper()
	listed, all := map[session.TimingID]quantity.Count{}, map[session.TimingID]quantity.Count{}
	for _, e := range get[session.SystemEvent](t)(s.SystemEvents()) {
		if n := e.Voluntary + e.Preempted; n > 0 {
			listed[e.Timing] += n
		}
	}
	if len(listed) == 0 || slices.ContainsFunc(get[session.Loss](t)(s.Losses()), func(l session.Loss) bool {
		return l.Reason == session.LossSystemEvents
	}) {
		return
	}
	for _, v := range get[session.TimingValue](t)(s.TimingValues()) {
		if n := v.Voluntary + v.Preempted; n > 0 {
			all[v.Timing] += n
		}
	}
	if !maps.Equal(listed, all) {
		t.Errorf("%s: %v are listed of %v", s.Path(), listed, all)
	}
}

// TestRecordWhileRunning reads an arena as fast as it can while 16 threads fill it.
func TestRecordWhileRunning(t *testing.T) {
	bin, dir := agent(t), arenaDirectory(t)
	r := &recordingTest{t: t, dir: filepath.Join(dir, "parallel"), path: filepath.Join(arenaDirectory(t), "s.clrprof")}
	cmd := scenarios(bin, dir, "parallel")
	done := make(chan error, 1)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- cmd.Wait() }()
	r.begin(collect.Filter{})
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			running = false
		default:
		}
		r.sync(collect.Monotonic())
	}
	s := r.finish()
	slices, reported := len(get[session.Slice](t)(s.Slices())), quantity.Amount{}
	b, err := os.ReadFile(filepath.Join(r.dir, "totals"))
	if err == nil {
		_, err = fmt.Sscan(string(b), &reported.Allocations, &reported.Bytes)
	}
	if have := total(t, s); err != nil || have != reported || slices < 2 {
		t.Errorf("have %+v in %d slices, want %+v, %v", have, slices, reported, err)
	}
}

// TestAgentSanitized runs the agent's tests under gcc's sanitizers; make test-agent does so with all compilers.
func TestAgentSanitized(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	t.Parallel()
	for _, sanitizers := range []string{"address,undefined", "thread"} {
		t.Run(sanitizers, func(t *testing.T) {
			t.Parallel()
			if sanitizers == "thread" {
				dotnettest.NotQuick(t, "it takes a minute, and agent/test/all.sh does it too")
			}
			// -O1 is compiled in half the time, and takes little longer
			flags := []string{"-O1", "-fsanitize=" + sanitizers, "-fno-sanitize-recover=all"}
			try := exec.Command("gcc", append(flags, "-x", "c", "-", "-o", filepath.Join(t.TempDir(), "try"))...)
			try.Stdin = strings.NewReader("int main(void) { return 0; }")
			if err := try.Run(); err != nil {
				t.Skipf("gcc has no %s sanitizer here", sanitizers)
			}
			if out, err := scenarios(agent(t, flags...), arenaDirectory(t)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestAgentSeed makes the arena from which internal/wire and internal/capture/arena test, when asked to.
func TestAgentSeed(t *testing.T) {
	if !*update {
		t.Skip("without -update")
	}
	dir := arenaDirectory(t)
	if out, err := scenarios(agent(t), dir, "every_record").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "every_record", "*"+launch.ArenaSuffix))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	seed, err := compact(found[0])
	if err == nil {
		err = os.WriteFile("../../wire/testdata/agent.arena", seed, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compact returns an arena without the room that its regions did not use, of a process that is nobody's.
func compact(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := make([]byte, wire.HeaderSize)
	if _, err := f.ReadAt(out, 0); err != nil {
		return nil, err
	}
	h, err := wire.DecodeHeader(out)
	if err != nil {
		return nil, err
	}
	h.PID, h.ParentPID = 1<<30, 1
	for i := range h.Regions {
		r := &h.Regions[i]
		rows := make([]byte, (r.Used+7)&^7)
		if _, err := f.ReadAt(rows, int64(r.Offset)); err != nil {
			return nil, err
		}
		r.Offset, r.Capacity, r.Backed = uint64(len(out)), uint64(len(rows)), uint64(len(rows))
		out = append(out, rows...)
	}
	if _, err := binary.Encode(out, binary.LittleEndian, h); err != nil {
		return nil, errors.Join(fmt.Errorf("encode the header of %s", path), err)
	}
	return out, nil
}
