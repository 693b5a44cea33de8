package dotnettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// maxNative bounds the builds of C code that are kept. A run of all tests makes 10,
// of 1 to 15 MB.
const maxNative = 40

// NativeOut stands in the arguments of Native for the directory to build into.
const NativeOut = "{out}"

// Native runs a command that builds the agent's C code, or that of its tests, and
// returns the directory with what it built. Compiling all of the agent takes 10 to
// 20 s of CPU: so results are cached by a hash of the command, of gcc's version, of
// the Makefile and of all files below agent. A test is skipped where there is no
// gcc. The files must not be changed.
func Native(t TB, command ...string) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("gcc is not installed")
	}
	build, _ := nativeBuilt.LoadOrStore(fmt.Sprintf("%q", command), sync.OnceValues(func() (string, error) {
		return native(command)
	}))
	dir, err := build.(func() (string, error))()
	if err != nil {
		t.Fatalf("building with %q: %v", command, err)
	}
	return dir
}

// nativeBuilt are this process's builds by command, each a function that returns its directory: some tests ask hundreds
// of times. Different commands build at the same time.
var nativeBuilt sync.Map

// native is Native without what is known from before.
func native(command []string) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	key, err := nativeKey(command)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "native", key)
	if exists(dir) {
		return dir, touch(dir)
	}
	if err := fill(dir, func(tmp string) error { return nativeInto(tmp, command) }); err != nil {
		return "", err
	}
	return dir, prune(filepath.Dir(dir), maxNative)
}

// nativeKey hashes all that decides what the command builds.
func nativeKey(command []string) (string, error) {
	version, err := exec.Command("gcc", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking gcc for its version: %w", err)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("finding the agent's sources: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%s\n", command, version)
	add := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return hashFile(h, strings.TrimPrefix(path, root), path)
	}
	for _, name := range []string{"Makefile", "agent"} {
		if err := filepath.WalkDir(filepath.Join(root, name), add); err != nil {
			return "", fmt.Errorf("reading the agent's sources: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// nativeInto builds into a directory.
func nativeInto(tmp string, command []string) error {
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.ReplaceAll(a, NativeOut, tmp)
	}
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}
