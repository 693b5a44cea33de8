package launch

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/files/safefs"
)

// sessionLink in a directory is a symbolic link to the session that its arenas are written to.
const sessionLink = "session"

// traceLink is one to the file in which the events of its call trace are.
const traceLink = "trace"

// attachedSuffix ends the name PID.attached of an empty file, which says that a process is attached to. PID is its id
// here.
const attachedSuffix = ".attached"

// announced begins the rest of the name of a directory that has such a file, and no arenas.
const announced = "attached-"

// SetSession says into which file the arenas of the directory are recorded, so that others find it.
func (d *Directory) SetSession(path string) error { return d.link(path, sessionLink) }

// Announce says into which file a process that is attached to is recorded, so that others find it, until the directory
// is removed. It is a directory of this user's, not the one of the arena: that is the process's user's, who could
// change what it says.
func Announce(pid int, session string) (*Directory, error) {
	d, err := firstOf(Bases(), announced, 0)
	if err != nil {
		return nil, err
	}
	err = d.SetSession(session)
	if err == nil {
		var f *os.File
		if f, err = d.files.Create(strconv.Itoa(pid) + attachedSuffix); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	return d, nil
}

// RemoveAnnounced removes what killed collectors of this user have announced, and the sockets of their sessions.
func RemoveAnnounced(bases []string) {
	for _, path := range bases {
		if base, err := safefs.OpenDir(path, safefs.Self()); err == nil {
			removeStale(base, announced)
			_ = base.Close() // nothing was written
		}
	}
}

// Recording is a session that a collector writes now.
type Recording struct {
	Session string // path
	Owner   int    // the user who records
	PIDs    []int  // of the processes that have appeared
}

// Recordings returns those of this user, in the order of their sessions' paths.
func Recordings(bases []string) []Recording { return recordingsOf(bases, os.Geteuid()) }

// RecordingOf returns the one of a process: of this user, or for root also of the user whose process it is. What
// another user says about it counts for nothing.
func RecordingOf(bases []string, pid int) (Recording, bool) {
	owners := []int{os.Geteuid()}
	if d := (&Dormant{PID: pid}); os.Geteuid() == 0 && d.readStatus() == nil && d.UID != 0 {
		owners = append(owners, d.UID)
	}
	for _, owner := range owners {
		for _, r := range recordingsOf(bases, owner) {
			if slices.Contains(r.PIDs, pid) {
				return r, true
			}
		}
	}
	return Recording{}, false
}

// recordingsOf returns those of a user.
func recordingsOf(bases []string, owner int) []Recording {
	var out []Recording
	for _, path := range bases {
		base, err := safefs.OpenDir(path, safefs.Self())
		if err != nil {
			continue // there is none
		}
		names, _ := base.Names() // in a folder with too many some are not found
		for _, name := range names {
			if !strings.HasPrefix(name, ArenasPrefix(owner)) {
				continue
			}
			if r, ok := recordingIn(base, name, owner); ok {
				out = append(out, r)
			}
		}
		_ = base.Close() // nothing was written
	}
	slices.SortFunc(out, func(a, b Recording) int { return strings.Compare(a.Session, b.Session) })
	return out
}

// recordingIn returns the recording that a directory of a user belongs to, if its collector lives. The directory and
// the session must be the user's: in a folder for all anybody can use these names.
func recordingIn(base *safefs.Dir, name string, owner int) (Recording, bool) {
	d, err := base.Sub(name)
	if err != nil {
		return Recording{}, false
	}
	defer d.Close()
	uid, err := d.Owner()
	if err != nil || uid != owner || !errors.Is(d.Lock(false), unix.EWOULDBLOCK) {
		return Recording{}, false
	}
	session, err := d.Readlink(sessionLink)
	if err != nil {
		return Recording{}, false
	}
	if info, err := os.Stat(session); err != nil || !ownedBy(info, owner) {
		return Recording{}, false
	}
	names, err := d.Names()
	if err != nil {
		return Recording{}, false
	}
	r := Recording{Session: session, Owner: owner}
	for _, name := range names {
		text, _ := strings.CutSuffix(name, attachedSuffix)
		if strings.HasSuffix(name, ArenaSuffix) {
			text, _, _ = strings.Cut(name, "-")
		}
		if pid, err := strconv.Atoi(text); err == nil && !slices.Contains(r.PIDs, pid) {
			r.PIDs = append(r.PIDs, pid)
		}
	}
	slices.Sort(r.PIDs)
	return r, true
}

// ownedBy says whether a file is a user's.
func ownedBy(info os.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
