package launch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/files/safefs"
	"github.com/clrprof/clrprof/internal/testkit/safefstest"
	"github.com/clrprof/clrprof/internal/wire"
)

// theirProcess starts a process of the other user that says that its agent is in a folder.
func theirProcess(t *testing.T, says string) int {
	t.Helper()
	safefstest.NeedRoot(t)
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Dir, cmd.Env = "/", dormantEnv(says)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: safefstest.Nobody, Gid: safefstest.Nobody}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // an error means that it has ended
		cmd.Wait()         // it was killed
	})
	return cmd.Process.Pid
}

// theirDormant finds the agent of a process of the other user.
func theirDormant(t *testing.T, base string) *Dormant {
	t.Helper()
	pid := theirProcess(t, base)
	if err := makePlace(t, base, pid, nil).Chown(safefstest.Nobody, safefstest.Nobody); err != nil {
		t.Fatal(err)
	}
	d, err := FindDormant(pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() }) // it may be
	return d
}

// TestHostileDirectory: whatever the process's user puts into the directory of the arena, or in its place, root writes
// only what that user may write.
func TestHostileDirectory(t *testing.T) {
	base := safefstest.Theirs(t)
	d := theirDormant(t, base)
	hidden := safefstest.Secret(t)
	directory, err := d.NewDirectory()
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Lstat(directory.Path, &st); err != nil || st.Uid != safefstest.Nobody || st.Mode != unix.S_IFDIR|0o700 {
		t.Errorf("%v: of user %d, mode %o", err, st.Uid, st.Mode)
	}
	for _, name := range []string{wire.OptionsFile, wire.ControlFile, keepFile, sessionLink, traceLink} {
		if err := os.Symlink(hidden, filepath.Join(directory.Path, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Ask(directory, Options{Time: true, Mine: []string{"+Stolen"}}); err != nil {
		t.Errorf("a link in the way is replaced as itself: %v", err)
	}
	if f, err := directory.Files().Create(wire.ControlFile); err == nil {
		t.Errorf("made %v", f)
	}
	for _, name := range []string{sessionLink, traceLink} {
		if to := directory.linked(name); to != "" {
			t.Errorf("the link %s to %s is believed", name, to)
		}
	}
	safefstest.Unharmed(t, hidden)
	// another folder has the directory's name now
	moved := directory.Path + "-moved"
	if err := errors.Join(os.Rename(directory.Path, moved), os.Symlink(filepath.Dir(hidden), directory.Path)); err != nil {
		t.Fatal(err)
	}
	if err := directory.Remove(); err != nil {
		t.Log(err) // what is not there any more is the user's affair
	}
	safefstest.Unharmed(t, hidden)
	if have := names(t, moved); len(have) != 0 {
		t.Errorf("%v is left", have)
	}
}

// TestHostileBase: where a process says that its agent is, root makes only what the process's user could make there.
func TestHostileBase(t *testing.T) {
	base := safefstest.Theirs(t)
	hidden := safefstest.Secret(t)
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	d := theirDormant(t, link)
	if err := errors.Join(os.Remove(link), os.Symlink(filepath.Dir(hidden), link)); err != nil { // after it was found
		t.Fatal(err)
	}
	directory, err := d.NewDirectory()
	if err != nil {
		t.Fatal(err)
	}
	safefstest.Unharmed(t, hidden)
	if err := directory.Remove(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	// and before
	pid := theirProcess(t, link)
	if err := makePlace(t, link, pid, nil).Chown(safefstest.Nobody, safefstest.Nobody); err != nil {
		t.Fatal(err)
	}
	if d, err = FindDormant(pid, Options{}); err != nil {
		t.Fatal(err)
	}
	if directory, err := d.NewDirectory(); !errors.Is(err, ErrDenied) {
		t.Errorf("%v %v", directory, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if have := names(t, filepath.Dir(hidden)); len(have) != 2 { // the place of the agent is the test's own
		t.Errorf("%v", have)
	}
	for _, says := range []string{"relative", "../..", "/dev/null", "/none", "/proc/self/fd"} {
		if d, err := FindDormant(theirProcess(t, says), Options{}); err == nil {
			t.Errorf("%s: %v", says, d)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// TestOddPlace: what else has the name of a dormant agent's file is refused at once.
func TestOddPlace(t *testing.T) {
	base := safefstest.Theirs(t)
	namespace, err := os.Stat("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	hidden := safefstest.Secret(t)
	for name, mk := range map[string]func(path string) error{
		"a FIFO": func(path string) error {
			return errors.Join(unix.Mkfifo(path, 0o600), os.Chown(path, safefstest.Nobody, safefstest.Nobody))
		},
		"a link":   func(path string) error { return os.Symlink(hidden, path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o777) },
		"root's":   func(path string) error { return os.WriteFile(path, nil, 0o666) },
		"an empty": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o666), os.Chown(path, safefstest.Nobody, safefstest.Nobody))
		},
		"a hard link": func(path string) error { return os.Link(hidden, path) },
	} {
		pid := theirProcess(t, base)
		path := filepath.Join(base, fmt.Sprintf("%s%d-%d", wire.DormantPrefix, inode(namespace), pid))
		if err := mk(path); err != nil && !errors.Is(err, unix.EXDEV) {
			t.Fatal(err)
		}
		if d, err := FindDormant(pid, Options{}); err == nil {
			t.Errorf("%s: %v", name, d)
		}
	}
	// what is removed as left behind is a file of an agent
	d := theirDormant(t, base)
	if directory, err := d.NewDirectory(); err != nil {
		t.Error(err)
	} else if err := directory.Remove(); err != nil {
		t.Error(err)
	}
	safefstest.Unharmed(t, hidden)
}

// forged makes a directory as a collector's, which another user may have made, and holds its lock.
func forged(t *testing.T, base, name, session string, owner int, pids ...int) {
	t.Helper()
	path := filepath.Join(base, name)
	err := errors.Join(os.Mkdir(path, 0o755), os.Symlink(session, filepath.Join(path, sessionLink)))
	for _, pid := range pids {
		err = errors.Join(err, os.WriteFile(filepath.Join(path, fmt.Sprintf("%d-1%s", pid, ArenaSuffix)), nil, 0o600))
	}
	if err = errors.Join(err, os.Chown(path, owner, owner)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() }) // nothing was written
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// TestForgedRecordings: about a process only its own user, and whoever asks, is believed, and only about sessions of the
// same user.
func TestForgedRecordings(t *testing.T) {
	base := safefstest.Theirs(t)
	file := func(name string, owner int) string {
		t.Helper()
		path := filepath.Join(base, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, owner, owner)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	theirs, roots, third := file("theirs", safefstest.Nobody), file("roots", 0), file("third", 4711)
	pid, own := theirProcess(t, "/dev/shm"), os.Getpid()
	forged(t, base, "clrprof-0-a", theirs, safefstest.Nobody, pid, own)      // root's name
	forged(t, base, "clrprof-65534-b", theirs, safefstest.Nobody, own, 4000) // about a process of root's
	forged(t, base, "clrprof-65534-c", roots, safefstest.Nobody, pid)        // a session of root's
	forged(t, base, "clrprof-4711-d", third, 4711, pid)                      // a third user's
	forged(t, base, "clrprof-65534-e", filepath.Join(base, "none"), safefstest.Nobody, pid)
	bases := []string{base}
	if r := Recordings(bases); len(r) != 0 {
		t.Errorf("root's: %v", r)
	}
	for _, pid := range []int{pid, own, 4000} {
		if r, ok := RecordingOf(bases, pid); ok {
			t.Errorf("%d: %v", pid, r)
		}
	}
	forged(t, base, "clrprof-65534-f", theirs, safefstest.Nobody, pid)
	if r, ok := RecordingOf(bases, pid); !ok || r.Session != theirs || r.Owner != safefstest.Nobody {
		t.Errorf("what the user of a process says of it: %v", r)
	}
	forged(t, base, "clrprof-0-g", roots, 0, pid)
	if r, ok := RecordingOf(bases, pid); !ok || r.Session != roots || r.Owner != 0 {
		t.Errorf("what root has said itself comes first: %v", r)
	}
}

// TestForeignBase: a folder in which another user can replace a directory is passed over, one that this user has chosen
// is not if it is for all.
func TestForeignBase(t *testing.T) {
	theirs, good, open := safefstest.Theirs(t), t.TempDir(), filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o777), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(envBase, "")
	d := newDirectory(t, theirs, open, good)
	if filepath.Dir(d.Path) != good {
		t.Errorf("it is %s, want one in %s", d.Path, good)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := NewDirectory([]string{theirs}); !errors.Is(err, safefs.ErrForeign) ||
		!strings.Contains(err.Error(), envBase) {
		t.Errorf("%v", err)
	}
	t.Setenv(envBase, open)
	if err := newDirectory(t, Bases()...).Remove(); err != nil {
		t.Error(err)
	}
	t.Setenv(envBase, theirs)
	if _, err := NewDirectory(Bases()); !errors.Is(err, safefs.ErrForeign) {
		t.Errorf("%v", err)
	}
}

// TestAnnounce: a process that is attached to is found by its id here, until the directory is removed or its collector
// is gone.
func TestAnnounce(t *testing.T) {
	base, session := t.TempDir(), filepath.Join(t.TempDir(), "a.clrprof")
	t.Setenv(envBase, base)
	put(t, session)
	d, err := Announce(4711, session)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := RecordingOf(Bases(), 4711); !ok || r.Session != session {
		t.Errorf("%v", r)
	}
	if r := Recordings(Bases()); len(r) != 1 {
		t.Errorf("%v", r)
	}
	RemoveAnnounced(Bases())
	if have := names(t, base); len(have) != 1 {
		t.Errorf("%v", have)
	}
	if err := d.Close(); err != nil { // as if killed
		t.Fatal(err)
	}
	if r, ok := RecordingOf(Bases(), 4711); ok {
		t.Errorf("%v", r)
	}
	arenas := filepath.Join(base, ArenasPrefix(os.Getuid())+"left")
	if err := os.Mkdir(arenas, 0o700); err != nil { // to be recovered
		t.Fatal(err)
	}
	RemoveAnnounced(Bases())
	if have := names(t, base); len(have) != 1 || have[0] != filepath.Base(arenas) {
		t.Errorf("%v", have)
	}
}

// TestHostileLibrary: the library that a process of the other user is to load is put only where that user and root alone
// can replace it, whatever lies there.
func TestHostileLibrary(t *testing.T) {
	const third = safefstest.Nobody - 1
	for name, tt := range map[string]struct {
		make func(t *testing.T, base string) error
		want error // nil: it is put there
	}{
		"nothing":             {func(*testing.T, string) error { return nil }, nil},
		"a folder of a third": {func(_ *testing.T, base string) error { return os.Chown(base, third, third) }, safefs.ErrForeign},
		"without sticky bit":  {func(_ *testing.T, base string) error { return os.Chmod(base, 0o777) }, safefs.ErrOpen},
		"theirs by a third": {func(_ *testing.T, base string) error {
			own := filepath.Join(base, libraryFolder+fmt.Sprint(safefstest.Nobody))
			return errors.Join(os.Mkdir(own, 0o755), os.Chown(own, third, third))
		}, safefs.ErrForeign},
		"a link": {func(_ *testing.T, base string) error {
			return os.Symlink("/etc", filepath.Join(base, libraryFolder+fmt.Sprint(safefstest.Nobody)))
		}, syscall.ENOTDIR},
		"another file": {func(_ *testing.T, base string) error {
			own := filepath.Join(base, libraryFolder+fmt.Sprint(safefstest.Nobody))
			agent, err := agentbin.Bytes(agentbin.Glibc)
			file := filepath.Join(own, agentbin.NameByContent(agent))
			return errors.Join(err, os.Mkdir(own, 0o700), os.Chown(own, safefstest.Nobody, safefstest.Nobody),
				os.WriteFile(file, []byte("another"), 0o777))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			base := safefstest.Theirs(t)
			if err := errors.Join(os.Chown(base, 0, 0), os.Chmod(base, 0o777|os.ModeSticky), tt.make(t, base)); err != nil {
				t.Fatal(err)
			}
			d := &Dormant{PID: os.Getpid(), UID: safefstest.Nobody,
				user: safefs.Lend(safefstest.Nobody, safefstest.Nobody, nil, 0)}
			path, err := d.putLibrary(base)
			if !errors.Is(err, tt.want) {
				t.Fatalf("%v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}
			agent, err := agentbin.Bytes(agentbin.Glibc)
			there, readErr := os.ReadFile(path)
			info, statErr := os.Stat(path)
			if err := errors.Join(err, readErr, statErr); err != nil {
				t.Fatal(err)
			}
			if uid := info.Sys().(*syscall.Stat_t).Uid; uid != safefstest.Nobody || info.Mode() != 0o500 || !bytes.Equal(there, agent) {
				t.Errorf("%d bytes of user %d with mode %v, want the agent's %d", len(there), uid, info.Mode(), len(agent))
			}
		})
	}
}
