package dotnettest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// TB is the part of testing.TB that this package needs. The package does not
// import testing, because commands use it too.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

var ensureOnce = sync.OnceValues(func() (*Install, error) { return Ensure(io.Discard) })

var singleOnce = sync.OnceValues(func() ([]SingleFile, error) {
	in, err := ensureOnce()
	if err != nil {
		return nil, err
	}
	return in.SingleFiles(io.Discard)
})

// Need returns the installation and makes it first if there is none. A test that
// needs .NET and cannot get it fails; it is not skipped, as that would look like
// success.
func Need(t TB) *Install {
	t.Helper()
	in, err := ensureOnce()
	if err != nil {
		t.Fatalf("this test needs .NET: %v\nrun \"go run ./tools/getdotnet\" to see its progress", err)
	}
	return in
}

// NeedSDK returns the newest SDK. A test that needs one is skipped on a machine
// that has none: none can be fetched.
func NeedSDK(t TB) (*Install, SDK) {
	t.Helper()
	in := Need(t)
	sdk, ok := in.NewestSDK()
	if !ok {
		t.Skipf("%v", errNoSDK)
	}
	return in, sdk
}

// NeedRuntimes returns the runtimes of at least that major version, newest first.
// A test for which there is none is skipped.
func NeedRuntimes(t TB, major int) []Runtime {
	t.Helper()
	rs := slices.DeleteFunc(Need(t).Runtimes(), func(r Runtime) bool { return r.Major() < major })
	if len(rs) == 0 {
		t.Skipf("needs .NET %d or later (set %s or DOTNET_ROOT, or put dotnet on the PATH)", major, rootsVariable)
	}
	return rs
}

// NeedSingleFiles returns the single-file runtimes of the major versions of which
// there is no whole one. A test is skipped on a machine that needs none of them.
func NeedSingleFiles(t TB) []SingleFile {
	t.Helper()
	rs, err := singleOnce()
	if err != nil {
		t.Fatalf("this test needs .NET: %v", err)
	}
	if len(rs) == 0 {
		t.Skipf("there are whole runtimes of all major versions: those of single-file applications are not needed")
	}
	return rs
}

// Target compiles testdata/targets/NAME, once for all checkouts, and returns the
// path of the DLL, which lies in the cache: copy it before changing anything beside
// it. The name in the options need not be set.
func Target(t TB, name string, o Options) string {
	t.Helper()
	dir, err := targetDir(name)
	if err != nil {
		t.Fatalf("finding target %s: %v", name, err)
	}
	in := Need(t)
	if o.Name == "" {
		o.Name = name
	}
	sources := []string{dir, filepath.Dir(dir)} // beside the targets lies what they share
	if o.Trimmed != "" {
		sources = append(sources, filepath.Join(filepath.Dir(filepath.Dir(dir)), "trimmed"))
	}
	files, _, err := sourceFiles(sources)
	if err == nil {
		files, err = in.kept(files)
	}
	if err != nil {
		t.Fatalf("finding the sources of target %s: %v", name, err)
	}
	dll, err := in.Compile(files, "", o)
	if errors.Is(err, errNoSDK) {
		t.Skipf("%v", err)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return dll
}

// targetDir finds testdata/targets/NAME at the module's root, which is the
// nearest directory above the current one with a go.mod. Tests run in the
// directory of their package.
func targetDir(name string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "testdata", "targets", name)
	_, err = os.Stat(dir)
	return dir, err
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", &os.PathError{Op: "find", Path: "go.mod", Err: os.ErrNotExist}
		}
		dir = up
	}
}
