package launch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/capture/control"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/wire"
)

const (
	// keepFile in a directory says that its arenas are to be kept: their session could not be written.
	keepFile = "keep"

	// minFree is the space that a file system must have to be used for arenas: what a small program needs.
	minFree = 16 << 20

	// newSuffix ends the name of a directory that is not locked yet, and therefore has not got its name.
	newSuffix = ".new"

	// goneSuffix ends the name of a directory that is being removed.
	goneSuffix = ".gone"

	// mostHeld is how many files of a directory are open while it is removed: most systems allow 1,024.
	mostHeld = 256

	// newAge is when such a directory must be a dead collector's: the two calls in between take microseconds.
	newAge = time.Minute
)

// Ends of the names of the files that agents make in a directory: PID-START.arena is an arena, PID-START.WHY.failed
// is empty and says that a process could not make one. START is in hexadecimal nanoseconds of CLOCK_MONOTONIC.
const (
	ArenaSuffix  = ".arena"
	FailedSuffix = ".failed"

	// SnapshotSuffix ends the name of a snapshot of a heap, PID-GC.heap. GC is decimal.
	SnapshotSuffix = ".heap"
)

// errInUse means that a living collector uses the directory.
var errInUse = errors.New("a running clrprof uses it")

// Directory is a place for the arenas of one run. The lock of the folder says that it is in use; the kernel releases it
// when its holder dies. What is done in it is done by its descriptor, with the rights of whose it is: who else can
// write it, as the process that is recorded can, puts nothing in our way that leads elsewhere.
type Directory struct {
	Path  string
	files *safefs.Dir // the folder, and
	base  *safefs.Dir // the folder that it is in
	name  string      // there
}

// Files is the folder.
func (d *Directory) Files() *safefs.Dir { return d.files }

// envBase is the variable by which a user chooses where arenas are.
const envBase = "CLRPROF_SHM"

// Bases lists where arenas may be, best first: CLRPROF_SHM if it is set; else memory that belongs to no disk, then
// the user's own, then any.
func Bases() []string {
	if d := os.Getenv(envBase); d != "" {
		return []string{d}
	}
	list := []string{"/dev/shm"}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		list = append(list, d)
	}
	return append(list, os.TempDir())
}

// ArenasPrefix begins the name of each directory of a user, and of nothing else.
func ArenasPrefix(uid int) string { return "clrprof-" + strconv.Itoa(uid) + "-" }

// NewDirectory makes a directory for arenas in the first of the bases that will do. In each that it looks at it
// removes those that killed collectors left behind.
func NewDirectory(bases []string) (*Directory, error) { return firstOf(bases, "", minFree) }

// firstOf makes a directory of a kind, for so many bytes beside what agents leave to others.
func firstOf(bases []string, kind string, need uint64) (*Directory, error) {
	var errs []error
	for _, path := range bases {
		d, err := newDirectoryAt(path, kind, need)
		if err == nil {
			return d, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("making a directory for shared memory: %w", errors.Join(errs...))
}

func newDirectoryAt(path, kind string, need uint64) (*Directory, error) {
	path, err := filepath.Abs(path) // the target may run elsewhere
	if err != nil {
		return nil, err
	}
	if err := isBase(path); err != nil {
		return nil, err
	}
	base, err := safefs.OpenDir(path, safefs.Self())
	if err != nil {
		return nil, err
	}
	removeStale(base, "")
	d, err := newDirectoryIn(base, kind, need)
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	return d, nil
}

// isBase refuses a folder in which another user can replace a directory: agents would meet there what that user made.
// One for all without the sticky bit, as volumes of containers are, is taken if this user chose it.
func isBase(path string) error {
	err := safefs.Trusted(path)
	if errors.Is(err, safefs.ErrOpen) && os.Getenv(envBase) != "" {
		return nil
	}
	if errors.Is(err, safefs.ErrOpen) || errors.Is(err, safefs.ErrForeign) {
		return fmt.Errorf("%s is not used: %w: choose a folder of this user by %s", path, err, envBase)
	}
	return err
}

// newDirectoryIn makes a directory for the user with whose rights the base was opened, which is the directory's then.
func newDirectoryIn(base *safefs.Dir, kind string, need uint64) (*Directory, error) {
	free, size, err := base.Free()
	if err != nil {
		return nil, err
	}
	if left := reserve(size); free < left+need {
		return nil, fmt.Errorf("%s: %d bytes free, %d needed", base.Path(), free, left+need)
	}
	name := ArenasPrefix(base.User().UID) + kind + rand.Text()
	files, err := base.Mkdir(name + newSuffix)
	if err != nil {
		return nil, err
	}
	err = lock(files)
	// From here on the name says that it is locked as long as its collector lives.
	if err == nil {
		err = base.Rename(name+newSuffix, name)
	}
	if err != nil {
		return nil, errors.Join(err, base.Remove(name+newSuffix), files.Close())
	}
	return &Directory{filepath.Join(base.Path(), name), files, base, name}, nil
}

// reserve is how many bytes of a file system agents leave to others: see room_of in agent/src/core/arena.c.
func reserve(size uint64) uint64 { return min(size/8, 1<<30) }

// lock takes the lock that says that a directory is in use.
func lock(d *safefs.Dir) error {
	err := d.Lock(true)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("lock %s: %w", d.Path(), errInUse)
	}
	return err
}

// OpenDirectory opens a directory that a collector left behind, to recover what is in it. The error wraps errInUse
// if the collector is still at work. Until Remove or Keep, no other run takes it for a dead collector's. One of another
// user is used with that user's rights.
func OpenDirectory(path string) (*Directory, error) {
	path = filepath.Clean(path)
	if name := filepath.Base(path); name == "." || name == ".." { // they are names elsewhere
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		path = absolute
	}
	base, err := safefs.OpenDir(filepath.Dir(path), safefs.Self())
	if err != nil {
		return nil, err
	}
	d, err := openIn(base, filepath.Base(path))
	if err != nil {
		return nil, errors.Join(err, base.Close())
	}
	return d, nil
}

// openIn opens a directory in a base, which is the directory's then, and locks it.
func openIn(base *safefs.Dir, name string) (*Directory, error) {
	files, err := base.Sub(name)
	if err != nil {
		return nil, err
	}
	d := &Directory{filepath.Join(base.Path(), name), files, base, name}
	owner, err := files.Owner()
	if err == nil && owner != base.User().UID {
		user := safefs.Lend(owner, owner, nil, 0)
		d.files, d.base = files.With(user), base.With(user)
	}
	if err == nil {
		err = lock(files)
	}
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	return d, nil
}

// removeStale removes directories of a kind, or of all, of the base's user whose collector is gone. Errors are not its
// caller's concern: what cannot be removed now is tried again by the next run.
func removeStale(base *safefs.Dir, kind string) {
	names, err := base.Names()
	if err != nil {
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, ArenasPrefix(base.User().UID)+kind) {
			continue
		}
		if st, err := base.Stat(name); err == nil && isStale(name, &st, base.User().UID) {
			removeIfUnused(base, name)
		}
	}
}

// isStale says whether what has the name of a directory of a user may be a dead collector's.
func isStale(name string, st *unix.Stat_t, uid int) bool {
	age := time.Since(time.Unix(st.Mtim.Unix()))
	return st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == uid &&
		(!strings.HasSuffix(name, newSuffix) || age >= newAge)
}

func removeIfUnused(base *safefs.Dir, name string) {
	own, err := base.Again()
	if err != nil {
		return
	}
	d, err := openIn(own, name)
	if err != nil {
		_ = own.Close() // nothing was done
		return
	}
	if _, err := d.files.Stat(keepFile); err == nil {
		_ = d.Close() // the same
		return
	}
	_ = d.RemoveSocket() // who makes one of that name replaces it
	_ = d.Remove()       // an error leaves it to the next run
}

// Remove deletes the directory and what is in it. A target that still runs keeps its memory until it ends. Processes
// that start now find no directory of that name, so nothing can appear in it meanwhile.
func (d *Directory) Remove() error {
	release, err := d.Unlink()
	release()
	return err
}

// Unlink does so, but for the memory of the files, which takes longer, and which release gives back, or else the end of
// the process.
func (d *Directory) Unlink() (release func(), err error) {
	name := d.name + goneSuffix
	if d.base.Rename(d.name, name) != nil {
		name = d.name
	}
	held := d.files.Hold(mostHeld)
	if d.empty(name) != nil {
		err = d.empty(name) // a file that was being made during the renaming
	}
	release = func() {
		for _, f := range held {
			_ = f.Close() // nothing was written
		}
	}
	return release, errors.Join(err, d.Close())
}

// empty removes what is in the directory, and then its name.
func (d *Directory) empty(name string) error {
	err := d.files.RemoveAll()
	if removing := d.base.Remove(name); !errors.Is(removing, fs.ErrNotExist) {
		err = errors.Join(err, removing)
	}
	return err
}

// Keep leaves the directory where it is, so that its arenas can be recovered by hand.
func (d *Directory) Keep() error {
	f, err := d.files.Create(keepFile)
	if err == nil {
		err = f.Close()
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// SetTrace says where the events of the run's call trace are.
func (d *Directory) SetTrace(path string) error { return d.link(path, traceLink) }

// link makes a link to a file, for those who come later.
func (d *Directory) link(path, name string) error {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return d.files.Symlink(absolute, name)
}

// linked returns where a link of the directory leads; "": there is none, or nobody but another user may have made it.
func (d *Directory) linked(name string) string {
	if !d.isOwn() {
		return ""
	}
	path, err := d.files.Readlink(name)
	if err != nil {
		return ""
	}
	return path
}

// isOwn says whether only this user, or root, can have made what is in the directory. Root of a container has the same
// number, and its files are below /proc.
func (d *Directory) isOwn() bool {
	owner, err := d.files.Owner()
	resolved, linkErr := filepath.EvalSymlinks(d.Path)
	return err == nil && linkErr == nil && owner == os.Geteuid() && d.files.User().IsSelf() &&
		!strings.HasPrefix(resolved+"/", "/proc/") && !strings.HasPrefix(d.Path, "/proc/")
}

// Trace returns where the events of the run's call trace are, "" if it has none.
func (d *Directory) Trace() string { return d.linked(traceLink) }

// RemoveSocket removes the socket beside the session that a killed collector wrote, if nobody listens there.
func (d *Directory) RemoveSocket() error {
	session := d.linked(sessionLink)
	if session == "" {
		return nil // it was killed before it had one
	}
	return control.RemoveLeft(session)
}

// Close lets go of the directory and leaves it as it is.
func (d *Directory) Close() error { return errors.Join(d.files.Close(), d.base.Close()) }

// Discard removes what collectors and agents put into the directory, and the directory if that was all. For one
// that a user named, who may have put other things there.
func (d *Directory) Discard() error {
	names, err := d.files.Names()
	errs := []error{err}
	others := false
	for _, name := range names {
		switch {
		case name == keepFile, name == sessionLink, name == traceLink,
			name == wire.ControlFile, name == wire.OptionsFile,
			strings.HasSuffix(name, ArenaSuffix), strings.HasSuffix(name, ArenaSuffix+newSuffix),
			strings.HasSuffix(name, FailedSuffix), strings.HasSuffix(name, SnapshotSuffix), agentbin.IsAgent(name):
			errs = append(errs, d.files.Remove(name))
		default:
			others = true
		}
	}
	if !others {
		errs = append(errs, d.base.Remove(d.name))
	}
	return errors.Join(append(errs, d.Close())...)
}
