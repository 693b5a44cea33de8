package control

import (
	"errors"
	"io/fs"
	"os"

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
	_, err = a.removeLeft()
	return err
}

// removeLeft also says whether the name is free now.
func (a address) removeLeft() (free bool, err error) {
	found, st, err := a.find()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if errors.Is(err, errNoSocket) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer found.Close() // nothing was written
	if int(st.Uid) != os.Geteuid() {
		return false, nil
	}
	conn, err := dial(found)
	if err == nil {
		return false, conn.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return false, nil
	}
	return true, a.remove(st)
}
