package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// startReady starts a recording by --wait-ready, and waits until clrprof returns. What it leaves in the background still
// writes into the files, so pipes would be open for as long.
func startReady(t *testing.T, target *exec.Cmd, flags ...string) (r result, output func() string) {
	t.Helper()
	path, in, args := recordArgs(t, target, flags)
	dir := t.TempDir()
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd := exec.Command(binary, args...)
	cmd.Stdin, cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = in.stdin, in.env, in.dir, stdout, stderr
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return result{exit: exitCode(cmd.ProcessState), stderr: read(t, stderr.Name()), session: path},
		func() string { return read(t, stdout.Name()) }
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWaitReady: clrprof returns when the program is being recorded, and the recording goes on without it, to
// the end of the program.
func TestWaitReady(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := pausedTarget(t, in)
	for _, runtime := range in.NewestAndOldest() {
		r, output := startReady(t, runtime.Command(dll, "watch"), "--memory", "--wait-ready", "--stop-when",
			"allocations > 100000")
		if r.exit != 0 || !strings.Contains(r.stderr, " into "+r.session) {
			t.Fatalf("exit code %d: %s", r.exit, r.stderr)
		}
		for _, command := range [][]string{{"status"}, {"wait", "end", "--timeout", "0"}} {
			if c := run(t, append([]string{"ctl", r.session}, command...)...); c.exit != 0 {
				t.Fatalf("ctl %v: exit code %d: %s", command, c.exit, c.stderr)
			}
		}
		r.stdout = output()
		compareWatched(t, r, "memory", 100_000)
	}
}

// TestWaitReadyEnded: a command that ends before it is recorded has its exit code, and knows nothing of the waiting.
func TestWaitReadyEnded(t *testing.T) {
	t.Parallel()
	script := `test -z "$CLRPROF_PATH_TO" && ! test -e /proc/$$/fd/3 && exit 7; exit 9`
	r, _ := startReady(t, exec.Command("sh", "-c", script), "--wait-ready=10m")
	if r.exit != 7 {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	r, _ = startReady(t, exec.Command("sh", "-c", "kill -KILL $$"), "--wait-ready")
	if r.exit != 128+int(unix.SIGKILL) {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
}

// TestWaitReadyLate: a command that is not recorded in time does not stay behind.
func TestWaitReadyLate(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	r, _ := startReady(t, exec.Command("sh", "-c", "echo $$ >'"+pidFile+"'; exec sleep 1000"), "--wait-ready=1s")
	if r.exit != 124 || !strings.Contains(r.stderr, "no .NET process is being recorded after 1s") {
		t.Errorf("exit code %d: %s", r.exit, r.stderr)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, pidFile)))
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the command has ended", func() bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) })
}
