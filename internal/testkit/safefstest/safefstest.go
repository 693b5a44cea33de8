// Package safefstest has what tests need to try what another user can do to root: a folder of that user, a file that no
// trick may reach, and a thread with that user's rights.
package safefstest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Nobody is a user and a group that are neither root nor those that run the tests.
const Nobody = 65534

const content = "root's"

// NeedRoot skips a test that needs a second user.
func NeedRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs two users: root can take another one's rights")
	}
}

// Theirs makes a folder of Nobody, in one that everybody may enter. The test's end removes it.
func Theirs(t *testing.T) (path string) {
	t.Helper()
	NeedRoot(t)
	path, err := os.MkdirTemp("", "theirs")
	if err == nil {
		err = os.Chown(path, Nobody, Nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return path
}

// Secret makes a file that is root's alone, in a folder of root's that everybody may enter and that has nothing else.
func Secret(t *testing.T) (path string) {
	t.Helper()
	folder := t.TempDir()
	path = filepath.Join(folder, "secret")
	err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chmod(folder, 0o755),
		os.Chmod(filepath.Dir(folder), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Unharmed checks that a file of Secret and its folder are what they were, and that nothing else is in the folder.
func Unharmed(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	beside, noList := os.ReadDir(filepath.Dir(path))
	var file, folder unix.Stat_t
	err = errors.Join(err, noList, unix.Lstat(path, &file), unix.Lstat(filepath.Dir(path), &folder))
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != content || file.Uid != 0 || file.Mode != unix.S_IFREG|0o600 || folder.Uid != 0 {
		t.Errorf("%q of user %d, mode %o, in a folder of user %d", text, file.Uid, file.Mode, folder.Uid)
	}
	if len(beside) != 1 {
		t.Errorf("beside it: %v", beside)
	}
}

// AsNobody calls fn in a thread with Nobody's rights, which ends with it, and returns where its error will come.
func AsNobody(t *testing.T, fn func() error) (done chan error) {
	t.Helper()
	NeedRoot(t)
	done = make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, Nobody, Nobody, Nobody); errno != 0 {
			done <- errno
			return
		}
		done <- fn()
	}()
	return done
}
