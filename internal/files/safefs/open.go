package safefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openat2 is the system call, which Linux has since 5.6, and filters of system calls do not all know.
var openat2 = unix.Openat2

// hasOpenat2 reports whether an error of openat2 is the file's, not the call's.
func hasOpenat2(err error) bool { return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) }

// within are the restrictions on what is opened by a name in a folder: neither links, nor what is mounted over it.
const within = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// openName opens what a folder has by a name.
func openName(folder int, name string, flags int, mode uint32) (int, error) {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return -1, unix.EINVAL
	}
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) {
		return openat2(folder, name, &unix.OpenHow{Flags: uint64(flags), Mode: uint64(mode), Resolve: within})
	})
	if err == nil || hasOpenat2(err) {
		return fd, err
	}
	fd, err = retry(func() (int, error) { return unix.Openat(folder, name, flags, mode) })
	if err != nil {
		return -1, err
	}
	var a, b unix.Stat_t
	if err = errors.Join(unix.Fstat(folder, &a), unix.Fstat(fd, &b)); err == nil && a.Dev != b.Dev {
		err = unix.EXDEV
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openBelow opens what a path leads to for a process whose root is the folder: links of the path, absolute ones too,
// stay in it. Without openat2 a path with links cannot be opened.
func openBelow(root int, path string, flags int) (int, error) {
	flags |= unix.O_CLOEXEC
	fd, err := retry(func() (int, error) {
		return openat2(root, path, &unix.OpenHow{Flags: uint64(flags),
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	})
	if err == nil || hasOpenat2(err) {
		return fd, err
	}
	fd, err = unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	names := strings.Split(strings.Trim(filepath.Clean("/"+path), "/"), "/")
	if names[0] == "" {
		names[0] = "."
	}
	for i, name := range names {
		next := unix.O_PATH | unix.O_DIRECTORY
		if i == len(names)-1 {
			next = flags
		}
		next |= unix.O_NOFOLLOW | unix.O_CLOEXEC
		inner, err := retry(func() (int, error) { return unix.Openat(fd, name, next, 0) })
		unix.Close(fd)
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return -1, fmt.Errorf("%w: %q may be a symbolic link, which this kernel cannot follow safely (openat2)", err,
				name)
		}
		if err != nil {
			return -1, err
		}
		fd = inner
	}
	return fd, nil
}

// retry repeats what a signal interrupts, or what the kernel could not decide for a folder that was just renamed.
func retry(fn func() (int, error)) (int, error) {
	const most = 1000 // another user may rename for ever
	for i := 0; ; i++ {
		fd, err := fn()
		if i == most || !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// reopen opens what an O_PATH descriptor stands for.
func reopen(fd, flags int) (int, error) {
	return retry(func() (int, error) {
		return unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flags|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
}

// pathError is an error of a system call, as the package os makes them.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *os.PathError
	if errors.As(err, &known) {
		return err
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}
