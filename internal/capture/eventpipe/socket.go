package eventpipe

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/proc"
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
	name, err := socketName(pid)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSocket, err)
	}
	environment, _ := proc.Environment(pid) // without it everything has its default
	directory := environment["TMPDIR"]
	if directory == "" {
		directory = "/tmp"
	}
	root := filepath.Join("/proc", strconv.Itoa(pid), "root")
	if _, err := os.Readlink(root); err == nil { // the process may see another file system
		directory = filepath.Join(root, directory)
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
	return TurnedOff(environment, "EnableDiagnostics", "EnableDiagnostics_IPC")
}

// TurnedOff is the first of some settings of the runtime, named without their prefixes, that an environment sets to 0,
// as it stands there; "" if it does so with none. The runtime reads numbers in base 16 (clrconfignative).
func TurnedOff(environment map[string]string, settings ...string) string {
	for _, prefix := range []string{"DOTNET_", "COMPlus_"} {
		for _, name := range settings {
			if n, err := strconv.ParseUint(environment[prefix+name], 16, 64); err == nil && n == 0 {
				return prefix + name + "=" + environment[prefix+name]
			}
		}
	}
	return ""
}

// socketName is the name that a process gives its socket: by its id where it runs, and when it started.
func socketName(pid int) (string, error) {
	inner, alive := proc.Inner(pid)
	fields := proc.Stat(pid)
	if !alive || len(fields) <= proc.FieldStart {
		return "", fmt.Errorf("there is no process %d", pid)
	}
	return fmt.Sprintf("dotnet-diagnostic-%d-%s-socket", inner, fields[proc.FieldStart]), nil
}
