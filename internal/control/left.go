package control

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// RemoveLeft removes the socket of a session that a killed recording of this user left behind. One at which somebody
// listens, or may, stays: a socket that refuses does so for ever.
func RemoveLeft(session string) error {
	a, err := addressOf(session)
	if err != nil {
		return err
	}
	defer a.close()
	before, err := os.Lstat(a.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st, ok := before.Sys().(*syscall.Stat_t); !ok || before.Mode().Type() != fs.ModeSocket ||
		int(st.Uid) != os.Geteuid() {
		return nil
	}
	conn, err := net.DialUnix("unix", nil, a.unix())
	if err == nil {
		return conn.Close()
	}
	if after, statErr := os.Lstat(a.path()); !errors.Is(err, unix.ECONNREFUSED) || statErr != nil ||
		!os.SameFile(before, after) {
		return nil
	}
	return os.Remove(a.path())
}
