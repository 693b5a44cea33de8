package eventpipe

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoSocket means that a process does not listen to diagnostic tools.
var ErrNoSocket = errors.New("no diagnostics socket")

// ErrNotYet is an ErrNoSocket of a process that may have one soon: .NET Core 3.1 makes it after the runtime has begun.
var ErrNotYet error = notYet{}

type notYet struct{}

func (notYet) Error() string { return ErrNoSocket.Error() }

func (notYet) Unwrap() error { return ErrNoSocket }

// answerTime is how long a process may take until it answers: one that is stopped, or whose machine is busy, takes
// long.
const answerTime = 30 * time.Second

// dial connects to the diagnostics socket of a process. The runtime names it by the process's id in its own namespace
// and by when it started, so that it cannot be another one's.
func dial(pid int) (net.Conn, error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	name, err := socketName(proc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSocket, err)
	}
	environment := environmentOf(proc)
	directory := environment["TMPDIR"]
	if directory == "" {
		directory = "/tmp"
	}
	if _, err := os.Readlink(filepath.Join(proc, "root")); err == nil { // the process may see another file system
		directory = filepath.Join(proc, "root", directory)
	}
	d, err := os.OpenFile(directory, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSocket, err)
	}
	defer d.Close()
	c, err := dialOf(int(d.Fd()), name, pid)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w that this user may use: the process belongs to another user", ErrNoSocket)
	case errors.Is(err, fs.ErrNotExist) && disabledBy(environment) != "":
		return nil, fmt.Errorf("%w: the process runs with %s", ErrNoSocket, disabledBy(environment))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED): // it is bound before it listens
		return nil, fmt.Errorf("%w %s in %s", ErrNotYet, name, directory)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoSocket, err)
}

// dialOf connects to a socket of a folder at which a process listens. In a folder for all, or one that the process's
// environment names, there can be another program's socket, or a link to one: so what has the name is looked at before
// it is used, and nothing is sent to another process.
func dialOf(folder int, name string, pid int) (net.Conn, error) {
	fd, err := unix.Openat(folder, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("%s is not a socket", name)
	}
	c, err := net.DialTimeout("unix", fmt.Sprintf("/proc/self/fd/%d", fd), answerTime)
	if err != nil {
		return nil, err
	}
	of, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is not a socket", name), c.Close())
	}
	var cred *unix.Ucred
	var credErr error
	raw, err := of.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		})
	}
	err = errors.Join(err, credErr)
	if err == nil && int(cred.Pid) != pid && int(cred.Pid) != os.Getpid() { // this process does not harm itself
		err = fmt.Errorf("process %d listens at %s", cred.Pid, name)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// disabledBy is the setting by which a process has no socket, "" if there is none.
func disabledBy(environment map[string]string) string {
	for _, prefix := range []string{"DOTNET_", "COMPlus_"} {
		for _, name := range []string{"EnableDiagnostics", "EnableDiagnostics_IPC"} {
			if n, err := strconv.ParseUint(environment[prefix+name], 16, 64); err == nil && n == 0 {
				return prefix + name + "=0"
			}
		}
	}
	return ""
}

// environmentOf is the environment with which a process was started, nil if it cannot be read.
func environmentOf(proc string) map[string]string {
	text, err := os.ReadFile(filepath.Join(proc, "environ"))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if _, ok := out[name]; !ok { // the first counts
			out[name] = value
		}
	}
	return out
}

// socketName is the name that a process gives its socket, from its files in /proc.
func socketName(proc string) (string, error) {
	const startTime = 22 - 3 // the field (proc_pid_stat(5)), counted from the one after the name
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	if len(fields) <= startTime {
		return "", fmt.Errorf("%s/stat has %d fields after the name", proc, len(fields))
	}
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		return "", err
	}
	pid := filepath.Base(proc)
	for line := range strings.Lines(string(status)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if of := strings.Fields(ids); len(of) > 0 {
				pid = of[len(of)-1] // in the innermost namespace
			}
		}
	}
	return fmt.Sprintf("dotnet-diagnostic-%s-%s-socket", pid, fields[startTime]), nil
}
