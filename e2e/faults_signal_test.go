package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestSignals: what clrprof is sent, the target gets, once, and what it does then is its own affair. The session is
// complete.
func TestSignals(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, tt := range []struct {
		signal syscall.Signal
		says   string // "": nothing, the signal ends it
		code   int
		state  string
	}{
		{unix.SIGINT, "SIGINT", 10, "exited"},
		{unix.SIGTERM, "SIGTERM", 11, "exited"},
		{unix.SIGUSR1, "", 128 + int(unix.SIGUSR1), "died"},
		{unix.SIGUSR2, "", 128 + int(unix.SIGUSR2), "died"},
	} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(unix.SignalName(tt.signal)+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
					s.target(runtime, "Echo", "signal")...)...)
				p.expect("ready")
				p.signal(tt.signal)
				if tt.says != "" {
					p.expect(tt.says)
				}
				r := p.wait()
				if r.exit != tt.code {
					t.Errorf("exit code %d, want %d: %s", r.exit, tt.code, r.stderr)
				}
				s.signalled(r, tt.says, tt.state)
			})
		}
	}
}

// signalled checks what a signalled run of Echo left.
func (s *sandbox) signalled(r result, says, state string) {
	s.t.Helper()
	want := "ready\n"
	if says != "" {
		want += says + "\n"
	}
	if r.stdout != want {
		s.t.Errorf("the target says %q, want %q", r.stdout, want)
	}
	path := filepath.Join(s.out, "s.clrprof")
	checkSession(s.t, path)
	if d := cmp.Diff(map[string]string{"Echo": state}, endStates(s.t, path)); d != "" {
		s.t.Error(d)
	}
}

// TestSignalsAsWithout: where .NET itself decides what a signal does, clrprof changes nothing about it.
func TestSignalsAsWithout(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, signal := range []syscall.Signal{unix.SIGHUP, unix.SIGQUIT, unix.SIGWINCH} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(unix.SignalName(signal)+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t)
				command := s.target(runtime, "Echo", "signal")
				var outputs []string
				var codes []int
				plain := s.command()
				plain.Path, plain.Args = command[0], command
				for _, cmd := range []*exec.Cmd{plain,
					s.command(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"}, command...)...)} {
					p := s.startCommand(cmd)
					p.expect("ready")
					p.signal(signal)
					if signal == unix.SIGWINCH { // does nothing
						p.signal(unix.SIGTERM)
					}
					r := p.wait()
					outputs, codes = append(outputs, r.stdout), append(codes, r.exit)
				}
				if outputs[0] != outputs[1] || codes[0] != codes[1] {
					t.Errorf("without and with clrprof: output %q, exit codes %d", outputs, codes)
				}
				checkSession(t, filepath.Join(s.out, "s.clrprof"))
			})
		}
	}
}

// TestIgnoredInterrupt: a target that goes on after a signal is recorded on; the second ends it.
func TestIgnoredInterrupt(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
		s.target(in.Newest(), "Echo", "ignore")...)...)
	p.expect("ready")
	p.signal(unix.SIGINT)
	p.expect("ignored")
	p.signal(unix.SIGINT)
	p.expect("SIGINT")
	if r := p.wait(); r.exit != 10 || !strings.Contains(r.stderr, "Ctrl-C once more to stop waiting") {
		t.Errorf("exit code %d, want 10; it says %q", r.exit, r.stderr)
	}
	checkSession(t, filepath.Join(s.out, "s.clrprof"))
}

// TestStopWaiting: the third Ctrl-C ends clrprof alone. What was recorded is a session, and the target is not harmed.
func TestStopWaiting(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	// A shell that ignores the signals that its child then ignores too; .NET leaves an ignored SIGTERM alone.
	command := append([]string{"sh", "-c", `trap "" INT; "$@" & wait; echo stopped`, "sh"},
		s.target(in.Newest(), "Echo", "signal")...)
	p := s.start(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"}, command...)...)
	p.expect("ready")
	// Signals that come faster than they are taken become one, so the key is pressed until it has worked.
	await(t, "clrprof ends after the third Ctrl-C", func() bool {
		_ = p.cmd.Process.Signal(unix.SIGINT) // an error means that it has ended
		return p.hasEnded()
	})
	var target int
	for _, pid := range s.processes() {
		if strings.Contains(procText(pid, "cmdline"), "Echo.dll") &&
			!strings.HasPrefix(procText(pid, "cmdline"), "sh") {
			target = pid
		}
	}
	if target == 0 {
		t.Fatal("the target is gone")
	}
	s.expectEmpty(s.shm)
	path := filepath.Join(s.out, "s.clrprof")
	checkSession(t, path)
	if d := cmp.Diff(map[string]string{"Echo": "running"}, endStates(t, path)); d != "" {
		t.Error(d)
	}
	if err := unix.Kill(target, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.expect("SIGTERM")
	p.expect("stopped")
	if r := p.wait(); r.exit != 130 || !strings.Contains(r.stderr, "the command continues") {
		t.Errorf("exit code %d, want 130; it says %q", r.exit, r.stderr)
	}
}

// terminal is a pseudo terminal: what is read from screen is what a person sees, what is written to it is typed.
type terminal struct {
	screen *os.File
	name   string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}))
	if err != nil {
		t.Fatal(err)
	}
	screen := os.NewFile(uintptr(fd), "terminal")
	t.Cleanup(func() { screen.Close() })
	return &terminal{screen, fmt.Sprintf("/dev/pts/%d", number)}
}

// start starts a command in a session of its own whose terminal this is. Streams that are set already stay.
func (x *terminal) start(t *testing.T, cmd *exec.Cmd) (seen *strings.Builder, lines *bufio.Scanner) {
	t.Helper()
	tty, err := os.OpenFile(x.name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	cmd.Stdin = tty
	if cmd.Stdout == nil {
		cmd.Stdout = tty
	}
	if cmd.Stderr == nil {
		cmd.Stderr = tty
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) // an error means that it has ended
	seen = &strings.Builder{}
	return seen, bufio.NewScanner(io.TeeReader(x.screen, seen))
}

// until reads the screen until a line ends with text.
func until(t *testing.T, lines *bufio.Scanner, text string) {
	t.Helper()
	for lines.Scan() {
		if strings.HasSuffix(strings.TrimRight(lines.Text(), "\r"), text) {
			return
		}
	}
	t.Fatalf("the screen never shows %q", text)
}

// TestKeyboard: Ctrl-C goes from the terminal to all processes of the foreground; clrprof does not add another.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		s := newSandbox(t)
		cmd := s.command(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
			s.target(runtime, "Echo", "ignore")...)...)
		x := newTerminal(t)
		seen, lines := x.start(t, cmd)
		until(t, lines, "ready")
		if _, err := x.screen.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		until(t, lines, "ignored")
		// A second SIGINT would end it. SIGTERM comes from no key, and is passed on after what came before.
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		until(t, lines, "SIGTERM")
		for lines.Scan() {
			continue // until the last process has let go of the terminal
		}
		_ = cmd.Wait() // its code is checked
		if code := exitCode(cmd.ProcessState); code != 11 || strings.Contains(seen.String(), "SIGINT") {
			t.Errorf("exit code %d, want 11: %q", code, seen)
		}
		checkSession(t, filepath.Join(s.out, "s.clrprof"))
	}
}

// TestProgress: a terminal shows progress in a line that disappears; a file does not.
func TestProgress(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	command := s.target(in.Newest(), "Exits", "return")
	x := newTerminal(t)
	cmd := s.command(append([]string{"run", "-o", "s.clrprof", "--"}, command...)...)
	seen, lines := x.start(t, cmd)
	for lines.Scan() {
		continue
	}
	_ = cmd.Wait() // its code is checked
	if code := exitCode(cmd.ProcessState); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	const erase = "\r\x1b[K" // what takes less than a second, as here unless the machine is busy, shows no progress
	if _, after, shown := strings.Cut(seen.String(), "clrprof: adding up"); shown && !strings.Contains(after, erase) {
		t.Errorf("progress is not taken back: %q", seen)
	}
	if !strings.Contains(seen.String(), "\x1b[1mNext\x1b[0m") {
		t.Errorf("no summary in colours: %q", seen)
	}
	r := s.run(append([]string{"run", "-f", "-o", "s.clrprof", "--"}, command...)...)
	if strings.ContainsAny(r.stderr, "\x1b\r") || strings.Contains(r.stderr, "adding up") ||
		!strings.Contains(r.stderr, "\nNext\n") {
		t.Errorf("what is not a terminal gets %q", r.stderr)
	}
}

// TestProgressOfRecording: while the command runs, progress is shown only where it cannot stand in its output.
func TestProgressOfRecording(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, shared := range []bool{false, true} {
		s := newSandbox(t)
		x := newTerminal(t)
		cmd := s.command(append([]string{"run", "--no-report", "-o", "s.clrprof", "--"},
			s.target(in.Newest(), "Echo", "signal")...)...)
		if !shared {
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			cmd.Stdout = null
		}
		seen, lines := x.start(t, cmd)
		await(t, "a second slice is recorded", func() bool { return s.slices() > 1 })
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			continue
		}
		_ = cmd.Wait() // its code is checked
		if code := exitCode(cmd.ProcessState); code != 11 {
			t.Errorf("exit code %d, want 11", code)
		}
		if got := strings.Contains(seen.String(), "clrprof: recording: "); got == shared {
			t.Errorf("the terminal is the command's output: %v; progress of the recording: %v: %q", shared, got, seen)
		}
	}
}

// slices is how many slices the session s.clrprof has at the moment.
func (s *sandbox) slices() int {
	path := filepath.Join(s.out, "s.clrprof")
	if f, err := os.Stat(path); err != nil || f.Size() == 0 {
		return 0 // an empty file keeps the place until the session has its tables
	}
	return query[struct{ N int }](s.t, path, "select count(*) n from slice")[0].N
}
