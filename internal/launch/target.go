package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/agentbin"
)

// ProfilerID is the class id by which the runtime asks for the agent; any would do.
const ProfilerID = "{8B2F1E5A-6C3D-4E9B-9A57-C1B0F2D34E61}"

// ErrOtherProfiler means that the environment already names a profiler; a process can have only one.
var ErrOtherProfiler = errors.New("another profiler is set in the environment")

// ErrStart means that the command could not be started.
var ErrStart = errors.New("cannot start the command")

// Options tell how to start a target.
type Options struct {
	Command     []string
	Directory   string // for arenas
	MemoryLimit int64  // bytes for each process, 0: the agent's default
	StackDepth  int    // frames, 0: the agent's default
	Agent       string // path of the library, "": the embedded one
	Environment []string
}

// Target is a started command.
type Target struct {
	cmd     *exec.Cmd
	signals chan os.Signal
	done    chan struct{}
	err     error
}

// forwarded are the signals that are passed on to the target; others act on clrprof as usual.
var forwarded = []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH}

// Start starts the command with clrprof's own standard streams.
func Start(o Options) (*Target, error) {
	if err := checkEnvironment(o.Environment); err != nil {
		return nil, err
	}
	path, err := exec.LookPath(o.Command[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	agent := o.Agent
	if agent == "" {
		if agent, err = agentbin.Extract(agentDirectories(o.Directory)); err != nil {
			return nil, err
		}
	}
	cmd := &exec.Cmd{Path: path, Args: o.Command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.Env = append(o.Environment, environment(o, agent)...)
	t := &Target{cmd: cmd, signals: make(chan os.Signal, len(forwarded)), done: make(chan struct{})}
	signal.Notify(t.signals, forwarded...)
	if err := cmd.Start(); err != nil {
		signal.Stop(t.signals)
		return nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	go t.wait()
	return t, nil
}

// agentDirectories lists where the agent may be loaded from: the user's cache, which lasts, then temporary places.
func agentDirectories(arenas string) []string {
	var list []string
	if cache, err := os.UserCacheDir(); err == nil {
		list = append(list, filepath.Join(cache, "clrprof", "agent"))
	}
	return append(list, filepath.Join(os.TempDir(), prefix()+"agent"), arenas)
}

func environment(o Options, agent string) []string {
	env := []string{
		"CORECLR_ENABLE_PROFILING=1",
		"CORECLR_PROFILER=" + ProfilerID,
		"CORECLR_PROFILER_PATH=" + agent,
		"CORECLR_PROFILER_PATH_64=" + agent,
		"CLRPROF_ARENAS=" + o.Directory,
	}
	if o.MemoryLimit > 0 {
		env = append(env, "CLRPROF_MEMORY="+strconv.FormatInt(o.MemoryLimit, 10))
	}
	if o.StackDepth > 0 {
		env = append(env, "CLRPROF_STACK_DEPTH="+strconv.Itoa(o.StackDepth))
	}
	return env
}

// checkEnvironment refuses an environment that names another profiler: replacing it would break what it does.
func checkEnvironment(env []string) error {
	enabled, id := "", ""
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch name {
		case "CORECLR_ENABLE_PROFILING":
			enabled = value
		case "CORECLR_PROFILER":
			id = value
		}
	}
	on, err := strconv.ParseUint(strings.TrimPrefix(enabled, "0x"), 16, 32)
	if err != nil || on == 0 || strings.EqualFold(id, ProfilerID) {
		return nil
	}
	return fmt.Errorf("%w: CORECLR_PROFILER=%s", ErrOtherProfiler, id)
}

// PID is the target's process id.
func (t *Target) PID() int { return t.cmd.Process.Pid }

// Done is closed when the target has ended.
func (t *Target) Done() <-chan struct{} { return t.done }

func (t *Target) wait() {
	ended := make(chan struct{})
	go func() {
		t.err = t.cmd.Wait()
		close(ended)
	}()
	for {
		select {
		case s := <-t.signals:
			if !fromKeyboard(s) {
				t.cmd.Process.Signal(s) // an error means that the target has ended: the other case follows
			}
		case <-ended:
			signal.Stop(t.signals)
			close(t.done)
			return
		}
	}
}

// fromKeyboard says whether the terminal has sent the signal to the whole foreground process group already, the
// target included.
func fromKeyboard(s os.Signal) bool {
	if s != unix.SIGINT && s != unix.SIGQUIT && s != unix.SIGWINCH {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ExitCode is the target's exit code after Done, or 128 + the number of the signal that ended it, as shells say it.
func (t *Target) ExitCode() int {
	state := t.cmd.ProcessState
	if state == nil {
		return 1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// Kill ends the target: clrprof cannot record it.
func (t *Target) Kill() {
	t.cmd.Process.Kill() // an error means that it has ended
	<-t.done
}
