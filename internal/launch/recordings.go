package launch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sessionLink in a directory is a symbolic link to the session that its arenas are written to.
const sessionLink = "session"

// traceLink is one to the file in which the events of its call trace are.
const traceLink = "trace"

// SetSession says into which file the arenas of the directory are recorded, so that others find it.
func (d *Directory) SetSession(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return os.Symlink(path, filepath.Join(d.Path, sessionLink))
}

// Recording is a session that a collector writes now.
type Recording struct {
	Session string // path
	PIDs    []int  // of the processes that have appeared
}

// Recordings returns those of this user, and for root of all, in the order of their sessions' paths.
func Recordings(bases []string) []Recording {
	mine := prefix()
	if os.Geteuid() == 0 {
		mine = "clrprof-"
	}
	var out []Recording
	for _, base := range bases {
		entries, err := os.ReadDir(base)
		if err != nil {
			continue // there is none
		}
		for _, e := range entries {
			if e.IsDir() && strings.HasPrefix(e.Name(), mine) {
				if r, ok := recordingIn(filepath.Join(base, e.Name())); ok {
					out = append(out, r)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Recording) int { return strings.Compare(a.Session, b.Session) })
	return out
}

// recordingIn returns the recording that a directory belongs to, if its collector lives.
func recordingIn(path string) (Recording, bool) {
	session, err := os.Readlink(filepath.Join(path, sessionLink))
	if err != nil || !isLocked(path) {
		return Recording{}, false
	}
	r := Recording{Session: session}
	entries, err := os.ReadDir(path)
	if err != nil {
		return Recording{}, false
	}
	for _, e := range entries {
		text, _, _ := strings.Cut(e.Name(), "-")
		if pid, err := strconv.Atoi(text); err == nil && strings.HasSuffix(e.Name(), ArenaSuffix) &&
			!slices.Contains(r.PIDs, pid) {
			r.PIDs = append(r.PIDs, pid)
		}
	}
	slices.Sort(r.PIDs)
	return r, true
}

// isLocked says whether a collector holds the lock of a directory.
func isLocked(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
