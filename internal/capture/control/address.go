package control

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Suffix ends the name of a session's socket.
const Suffix = ".sock"

// address is a socket as the kernel gets it, as long as folder is open.
type address struct {
	folder *os.File
	name   string
}

// addressOf opens the folder of a session. The path may be a symbolic link: the socket is where the session is.
func addressOf(session string) (address, error) {
	if resolved, err := filepath.EvalSymlinks(session); err == nil {
		session = resolved
	}
	folder, err := os.OpenFile(filepath.Dir(session), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return address{}, err
	}
	a := address{folder, filepath.Base(session) + Suffix}
	if len(a.path()) >= len(unix.RawSockaddrUnix{}.Path) {
		folder.Close()
		return address{}, fmt.Errorf("the name %s is too long for a socket", a.name)
	}
	return a, nil
}

func (a address) path() string { return fmt.Sprintf("/proc/self/fd/%d/%s", a.folder.Fd(), a.name) }

func (a address) unix() *net.UnixAddr { return &net.UnixAddr{Name: a.path(), Net: "unix"} }

func (a address) close() { a.folder.Close() }

// find opens the socket's file, without using it: what has its name now cannot be replaced by another one afterwards. A
// link is not followed. The error wraps fs.ErrNotExist if there is none, and errNoSocket if that is no socket.
func (a address) find() (*os.File, *unix.Stat_t, error) {
	fd, err := unix.Openat(int(a.folder.Fd()), a.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: a.name, Err: err}
	}
	f := os.NewFile(uintptr(fd), a.name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, nil, errors.Join(fmt.Errorf("%s %w", a.name, errNoSocket), f.Close())
	}
	return f, &st, nil
}

var errNoSocket = errors.New("is not a socket")

// dial connects to a socket that find has found.
func dial(found *os.File) (*net.UnixConn, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d", found.Fd()), Net: "unix"})
}

// remove removes the socket that find has found, unless another one has its name now.
func (a address) remove(found *unix.Stat_t) error {
	var now unix.Stat_t
	err := unix.Fstatat(int(a.folder.Fd()), a.name, &now, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) || err == nil && (now.Dev != found.Dev || now.Ino != found.Ino) {
		return nil
	}
	if err != nil {
		return err
	}
	return unix.Unlinkat(int(a.folder.Fd()), a.name, 0)
}

// ownerOf is whose the session is.
func (a address) ownerOf() (int, error) {
	var st unix.Stat_t
	name := strings.TrimSuffix(a.name, Suffix)
	if err := unix.Fstatat(int(a.folder.Fd()), name, &st, 0); err != nil {
		return -1, &os.PathError{Op: "stat", Path: name, Err: err}
	}
	return int(st.Uid), nil
}

// peerOf is the user at the other end of a connection: for a client, the one who began to listen.
func peerOf(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, credErr); err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
