package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/capture/launch"
	"github.com/clrprof/clrprof/internal/capture/steer"
)

// envPathTo is for a clrprof in the background: the descriptor of the pipe into which it writes the session's path, as
// soon as there is a session. Who started it reads until the end.
const envPathTo = "CLRPROF_PATH_TO"

// firstExtra is the descriptor of the first of a command's additional files (os/exec).
const firstExtra = 3

// waitForever is the value of --wait-ready without one.
const waitForever = "forever"

// readyFlag is --wait-ready of the run command.
type readyFlag struct {
	within string // a duration, waitForever, or "": not given
}

func (w *readyFlag) add(f *pflag.FlagSet) {
	f.StringVar(&w.within, "wait-ready", "", "return as soon as a .NET process is being recorded, and leave the command "+
		"and the recording running in the background; optionally with a limit: --wait-ready=30s")
	f.Lookup("wait-ready").NoOptDefVal = waitForever
}

// limit is how long to wait; 0: without limit.
func (w *readyFlag) limit() (time.Duration, error) {
	if w.within == waitForever {
		return 0, nil
	}
	limit, err := time.ParseDuration(w.within)
	if err != nil || limit <= 0 {
		return 0, usage("--wait-ready=%s: want a duration, such as --wait-ready=30s", w.within)
	}
	return limit, nil
}

// check refuses what cannot be waited for.
func (w *readyFlag) check(live string) error {
	if w.within == "" {
		return nil
	}
	if live != "" {
		return usage("--wait-ready and --live exclude each other: use clrprof top SESSION to watch the recording")
	}
	_, err := w.limit()
	return err
}

// wanted says whether this clrprof is to start another one in the background. That one has the same arguments.
func (w *readyFlag) wanted(e *environment) bool { return w.within != "" && e.getenv(envPathTo) == "" }

// pathPipe is the pipe of a clrprof in the background; nil: it is in the foreground.
type pathPipe struct{ file *os.File }

// openPathPipe takes the pipe. The command must not inherit it, nor by what it is known.
func openPathPipe(e *environment) (*pathPipe, error) {
	text := e.getenv(envPathTo)
	if text == "" {
		return nil, nil
	}
	if err := os.Unsetenv(envPathTo); err != nil {
		return nil, exit(exitInternal, err)
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd < firstExtra {
		return nil, usage("%s=%q is for clrprof itself: unset it", envPathTo, text)
	}
	unix.CloseOnExec(fd)
	return &pathPipe{os.NewFile(uintptr(fd), "pipe")}, nil
}

// send writes the session's path.
func (p *pathPipe) send(path string) {
	if p != nil {
		fmt.Fprintln(p.file, path) // who does not read has given up
		p.close()
	}
}

func (p *pathPipe) close() {
	if p != nil {
		p.file.Close() // also twice
	}
}

// background is a clrprof that was started in the background.
type background struct {
	cmd   *exec.Cmd
	path  chan string // of the session, "": it has ended without one
	ended chan struct{}
}

// startBackground starts clrprof with the same arguments, in a session of its own, so that Ctrl-C is not for it. Like
// what shells start in the background, it does not read what the script reads.
func startBackground(e *environment) (*background, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	b := &background{cmd: exec.Command(self, e.args...), path: make(chan string, 1), ended: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr, b.cmd.ExtraFiles = e.stdout, e.stderr, []*os.File{write}
	b.cmd.Env = append(os.Environ(), envPathTo+"="+strconv.Itoa(firstExtra))
	b.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := b.cmd.Start(); err != nil {
		read.Close()
		return nil, err
	}
	go func() {
		path, _ := io.ReadAll(read) // what is cut is no path, and the process has ended
		read.Close()
		b.path <- strings.TrimSpace(string(path))
	}()
	go func() {
		_ = b.cmd.Wait() // its exit code says all
		close(b.ended)
	}()
	return b, nil
}

// wait starts the recording in the background and returns when it is ready.
func (w *readyFlag) wait(e *environment) error {
	limit, err := w.limit()
	if err != nil {
		return err
	}
	b, err := startBackground(e)
	if err != nil {
		return exit(exitInternal, fmt.Errorf("starting clrprof in the background: %w", err))
	}
	var late <-chan time.Time
	if limit > 0 {
		late = time.After(limit)
	}
	tick := time.NewTicker(waitLook)
	defer tick.Stop()
	path := ""
	for {
		select {
		case path = <-b.path:
		case <-b.ended:
			return statusError(launch.ExitCode(b.cmd.ProcessState))
		case <-late:
			return b.tooLate(limit)
		case <-tick.C:
			if path == "" {
				continue
			}
			if pid, ready := recorded(path); ready {
				newNotes(e.stderr).say("recording process %d into %s", pid, path)
				return nil
			}
		}
	}
}

// recorded returns the first process of a recording, if there is one.
func recorded(path string) (pid int, is bool) {
	answer, err := askRecorder(control.Of(path), steer.Request{Command: steer.Status}, time.Second)
	if err != nil || len(answer.Report.Processes) == 0 {
		return 0, false // not yet, or it ends just now, which is seen another way
	}
	return answer.Report.Processes[0].PID, true
}

// tooLate asks the command to end: a script that gives up must not leave it behind.
func (b *background) tooLate(limit time.Duration) error {
	err := fmt.Errorf("no .NET process is being recorded after %s: the command was asked to end (SIGTERM)", limit)
	if signalErr := b.cmd.Process.Signal(unix.SIGTERM); signalErr != nil && !errors.Is(signalErr, os.ErrProcessDone) {
		err = fmt.Errorf("no .NET process is being recorded after %s, and clrprof, process %d, cannot be ended: %w", limit,
			b.cmd.Process.Pid, signalErr)
	}
	return exit(exitNoRuntime, err)
}
