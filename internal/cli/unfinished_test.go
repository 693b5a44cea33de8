package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/session"
)

// beingWritten makes a session that somebody still writes, without any rows, in a state.
func beingWritten(t *testing.T, state session.State) (path string, w *session.Writer) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "app.clrprof")
	w, err := session.Create(path, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.SetState(state); err != nil {
		t.Fatal(err)
	}
	return path, w
}

// readers are commands that read sessions, with S for the path of one and B for that of a budget.
var readers = [][]string{
	{"report", "S"}, {"report", "S", "functions"}, {"check", "S", "--budget", "B"},
	{"check", "C", "--budget", "B", "--baseline", "S"}, {"diff", "C", "S"}, {"diff", "S", "C"},
	{"export", "S", "--format", "pprof", "-o", "-"}, {"export", "S", "--format", "sqlite"}, {"sql", "S", "SELECT 1"},
	{"check-session", "S"}, {"budget", "init", "S", "-o", "-"}, {"counters", "S"}, {"view", "S"}, {"mcp", "S"},
}

// TestUnfinishedRefused: no command reads a session that is still being written if it may not wait, and the code says
// that it is worth trying again.
func TestUnfinishedRefused(t *testing.T) {
	for _, state := range []session.State{session.Recording, session.Recorded, session.Resolved} {
		path, _ := beingWritten(t, state)
		word := map[bool]string{true: "recording", false: "completing"}[state == session.Recording]
		for _, reader := range readers {
			code, _, stderr := runReader(t, reader, path, "--no-wait")
			if code != exitUnfinished || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, word) {
				t.Errorf("%s, %v: code %d, %q", state, reader, code, stderr)
			}
		}
	}
}

// TestUnfinishedWaits: a command says that it waits, once where there is no terminal, and reads what is there in the
// end.
func TestUnfinishedWaits(t *testing.T) {
	path, w := beingWritten(t, session.Recording)
	said, out := io.Pipe()
	var stdout bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- Main([]string{"sql", path, "SELECT value FROM info WHERE key = 'state'", "--csv"}, nil, &stdout, out)
		out.Close()
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.Contains(lines.Text(), "waiting until it is complete") {
		t.Fatalf("it says %q", lines.Text())
	}
	if err := errors.Join(w.SetState(session.Recorded), analysis.Complete(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("it also says %q", lines.Text())
	}
	if got := <-code; got != exitOK || stdout.String() != "value\ncomplete\n" {
		t.Errorf("code %d, %q", got, &stdout)
	}
}

// TestUnfinishedSoFar: what there is of a session can be seen before it is complete, and it is not said to have been
// cut off. When its writer is gone, it is.
func TestUnfinishedSoFar(t *testing.T) {
	path, w := beingWritten(t, session.Recording)
	code, stdout, stderr := runReader(t, []string{"report", "S", "functions"}, path, "--so-far")
	if code != exitOK || !strings.Contains(stdout, "Still recording") || strings.Contains(stdout+stderr, "cut off") {
		t.Errorf("code %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr = runReader(t, []string{"sql", "S", "SELECT 1"}, path, "--so-far"); code != exitOK ||
		!strings.Contains(stderr, "not complete (recording)") {
		t.Errorf("code %d: %s", code, stderr)
	}
	if code, _, _ = runReader(t, []string{"report", "S"}, path, "--so-far", "--no-wait"); code != exitUsage {
		t.Errorf("with both flags: code %d", code)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ = runReader(t, []string{"report", "S", "functions"}, path, "--no-wait")
	if code != exitOK || !strings.Contains(stdout, "was cut off") {
		t.Errorf("after its writer: code %d: %s", code, stdout)
	}
}

// TestWaitEnd: clrprof ctl wait end waits until the session is complete, not only until the recording has ended, and
// knows when it never will be.
func TestWaitEnd(t *testing.T) {
	path, w := beingWritten(t, session.Recorded)
	wait := []string{"ctl", "S", "wait", "end", "--timeout", "1ms"}
	if code, _, stderr := runReader(t, wait, path); code != exitUnreadable || !strings.Contains(stderr, "not reached") {
		t.Errorf("a session without sums: code %d, %s", code, stderr)
	}
	if code, _, stderr := runReader(t, []string{"ctl", "S", "wait", "ready"}, path); code != exitUnreadable ||
		!strings.Contains(stderr, "has ended") {
		t.Errorf("wait ready: code %d, %s", code, stderr)
	}
	if err := analysis.Complete(w); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runReader(t, wait, path); code != exitOK || stderr != "" {
		t.Errorf("a complete session: code %d, %s", code, stderr)
	}
	path, w = beingWritten(t, session.Recorded)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runReader(t, wait, path); code != exitUnreadable || !strings.Contains(stderr, "cut off") {
		t.Errorf("a session whose writer is gone: code %d, %s", code, stderr)
	}
}

// runReader runs a command of readers.
func runReader(t *testing.T, command []string, path string, flags ...string) (code int, stdout, stderr string) {
	t.Helper()
	folder := filepath.Dir(path)
	limits, complete := filepath.Join(folder, "budget.toml"), filepath.Join(folder, "complete.clrprof")
	if _, err := os.Stat(limits); err != nil {
		w, err := session.Create(complete, false)
		if err == nil {
			err = errors.Join(w.SetState(session.Recorded), analysis.Complete(w), w.Close(),
				os.WriteFile(limits, []byte("[[limit]]\nmetric = \"bytes\"\nmax = \"1\"\n"), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{}, command...)
	for i, a := range args {
		switch a {
		case "S":
			args[i] = path
		case "B":
			args[i] = limits
		case "C":
			args[i] = complete
		}
	}
	var out, said bytes.Buffer
	code = Main(append(args, flags...), strings.NewReader(""), &out, &said)
	return code, out.String(), said.String()
}

// TestWaitForProcess: a process that is not recorded is waited for, until it ends, but not for the end of a recording
// that never began.
func TestWaitForProcess(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	if code, output := runMain([]string{"ctl", pid, "wait", "ready", "--timeout", "1ns"}, ""); code != exitUnreadable ||
		!strings.Contains(output, "is not being recorded") {
		t.Errorf("in time: %d: %s", code, output)
	}
	if code, output := runMain([]string{"ctl", pid, "wait", "end", "--timeout", "0"}, ""); code != exitUnreadable {
		t.Errorf("its end: %d: %s", code, output)
	}
	waited := make(chan int)
	go func() {
		code, _ := runMain([]string{"ctl", pid, "wait", "ready", "--timeout", "0"}, "")
		waited <- code
	}()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if code := <-waited; code != exitUnreadable {
		t.Errorf("a process that has ended: %d", code)
	}
}
