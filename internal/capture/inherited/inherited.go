// Package inherited knows which signals were ignored and which were blocked when clrprof was started, and starts
// programs that inherit just that.
//
// Problem: a program that is started by nohup, by systemd, or by a shell in the background is to ignore what its
// caller ignores. Go's runtime replaces nearly all dispositions before any code of a program runs, does not say what
// they were, and resets them in the programs that it starts; of the blocked signals it unblocks some.
//
// Idea: the kernel starts clrprof not at Go's first instruction but at some of this package's (start_linux_amd64.s),
// which look first. Where that is something else than Go's runtime would pass on, the program is started by way of
// these instructions: clrprof is executed once more, and they set all dispositions and the mask and become the
// program before Go's runtime would start. That takes the linker's flag -E=clrprof_start, as in the Makefile: without
// it nothing is known, and programs are started as Go does it.
package inherited

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// What the first instructions have noted, before Go's runtime cleared its own variables' like: a bit for each signal,
// the first one's the lowest.
var (
	ignored, blocked uint64
	noted            bool
)

// trampoline is the name that makes a start of clrprof a start of another program. What follows: the states of the
// signals, the path of that program, and its arguments from its name on. Descriptor 3 is a pipe for the error.
const trampoline = "clrp:sig"

// signals is how many signals Linux has.
const signals = 64

// Ignored reports whether the caller ignores a signal; false if that is not known.
func Ignored(s os.Signal) bool {
	n, ok := s.(syscall.Signal)
	return ok && n > 0 && n <= signals && ignored&(1<<(n-1)) != 0
}

// Start starts a command, which inherits what this process inherited. Its errors are those of exec.Cmd.Start.
func Start(cmd *exec.Cmd) error {
	if !noted || ignored|blocked == 0 || len(cmd.ExtraFiles) > 0 {
		return cmd.Start()
	}
	return startBy(cmd, states())
}

// states are the signals', as the trampoline reads them.
func states() string {
	var out [signals]byte
	for i := range out {
		out[i] = '0' + byte(ignored>>i&1) + byte(blocked>>i&1)<<1
	}
	return string(out[:])
}

// startBy starts a command by way of the trampoline.
func startBy(cmd *exec.Cmd, states string) error {
	failure, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer failure.Close()
	path := cmd.Path
	cmd.Path, cmd.Args = "/proc/self/exe", append([]string{trampoline, states, path}, cmd.Args...)
	cmd.ExtraFiles = []*os.File{theirs}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	var why [8]byte
	switch n, err := failure.Read(why[:]); {
	case n == len(why):
		cmd.Wait() // the error says what is known
		return &fs.PathError{Op: "fork/exec", Path: path, Err: syscall.Errno(binary.NativeEndian.Uint64(why[:]))}
	case err == nil || errors.Is(err, unix.EINTR):
		return errors.New("the start of " + path + " cannot be followed")
	}
	return nil // the pipe was closed when the program began
}
