package control

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

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
	folder, err := os.OpenFile(filepath.Dir(session), unix.O_PATH|unix.O_DIRECTORY, 0)
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
