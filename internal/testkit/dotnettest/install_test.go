package dotnettest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tarball makes a .tgz of names and contents.
func tarball(t *testing.T, files [][2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, f := range files {
		h := &tar.Header{Name: f[0], Mode: 0o644, Size: int64(len(f[1])), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f[0], ".sh") {
			h.Mode = 0o744
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fakeNPM puts a program named npm first on the PATH: a shell script, which
// finds the directory for the tarball in $dest and its source in $from.
func fakeNPM(t *testing.T, from []byte, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "from"), from, 0o644); err != nil {
		t.Fatal(err)
	}
	script = "#!/bin/sh\nfrom=" + dir +
		"/from\nwhile [ $# -gt 1 ]; do [ \"$1\" = --pack-destination ] && dest=$2; shift; done\n" + script
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func fakePackage(content []byte) npmPackage {
	sum := sha512.Sum512(content)
	return npmPackage{name: "fake", version: "1.2.3", sha512: base64.StdEncoding.EncodeToString(sum[:]),
		file: "fake-1.2.3.tgz"}
}

func TestFetch(t *testing.T) {
	content := []byte("a tarball")
	pkg := fakePackage(content)
	dir := t.TempDir()
	var log bytes.Buffer

	fakeNPM(t, content, `cp $from $dest/fake-1.2.3.tgz`)
	path, err := fetch(dir, pkg, newProgress(&log))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
		t.Errorf("fetched %q, %v", got, err)
	}

	// The second time npm is not asked.
	fakeNPM(t, nil, `exit 1`)
	if _, err := fetch(dir, pkg, newProgress(&log)); err != nil {
		t.Error(err)
	}
	want := "downloading fake 1.2.3 from npm, 0 MB\nusing " + path + "\n"
	if d := cmp.Diff(want, log.String()); d != "" {
		t.Error(d)
	}

	// One that has been damaged is fetched again.
	if err := os.WriteFile(path, []byte("a tarbal1"), 0o644); err != nil {
		t.Fatal(err)
	}
	fakeNPM(t, content, `cp $from $dest/fake-1.2.3.tgz`)
	if _, err := fetch(dir, pkg, newProgress(&log)); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, want the tarball: %v", len(left), err)
	}
}

func TestFetchErrors(t *testing.T) {
	pkg := fakePackage([]byte("a tarball"))
	for _, tt := range []struct{ name, script, want string }{
		{"wrong content", `cp $from $dest/fake-1.2.3.tgz`, "its SHA-512 is not the one that is pinned"},
		{"fails", `echo 404 not found; exit 3`, "404 not found (is the npm registry reachable?)"},
		{"writes nothing", `exit 0`, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fakeNPM(t, []byte("another"), tt.script)
			dir := t.TempDir()
			_, err := fetch(dir, pkg, newProgress(&bytes.Buffer{}))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("%d files are left: %v", len(left), err)
			}
		})
	}
	t.Run("no npm", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := fetch(t.TempDir(), pkg, newProgress(&bytes.Buffer{}))
		if err == nil || !strings.Contains(err.Error(), "apt-get install npm") {
			t.Errorf("error %v does not say what to install", err)
		}
	})
}

func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tgz")
	files := [][2]string{{"package/a", "1"}, {"package/sub/run.sh", "2"}, {"other/b", "3"}}
	if err := os.WriteFile(path, tarball(t, files), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	keep := func(name string) (string, bool) { return strings.CutPrefix(name, "package/") }
	if err := unpack(path, out, keep); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(out, "a")); err != nil || string(b) != "1" {
		t.Errorf("a is %q, %v", b, err)
	}
	if fi, err := os.Stat(filepath.Join(out, "sub", "run.sh")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("run.sh: %v, %v", fi, err)
	}
	if _, err := os.Stat(filepath.Join(out, "b")); err == nil {
		t.Error("a file that is not wanted was unpacked")
	}
	for _, bad := range [][]byte{
		tarball(t, [][2]string{{"package/../../escaped", "x"}}),
		tarball(t, files)[:40],
		[]byte("no gzip"),
	} {
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unpack(path, filepath.Join(dir, "bad"), keep); err == nil {
			t.Error("a bad tarball was accepted")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "escaped")); err == nil {
		t.Error("a file was written outside of the directory")
	}
}

func TestKeepSDK(t *testing.T) {
	for name, want := range map[string]string{
		"package/dotnet": "dotnet",
		"package/sdk/3.1.102/Roslyn/bincore/csc.dll":   "sdk/3.1.102/Roslyn/bincore/csc.dll",
		"package/sdk/3.1.102/MSBuild.dll":              "sdk/3.1.102/MSBuild.dll",
		"package/sdk/3.1.102/FSharp/fsc.exe":           "",
		"package/templates/3.1.3/x.nupkg":              "",
		"package/sdk/3.1.102/ru/MSBuild.resources.dll": "",
		"elsewhere": "",
	} {
		if got, ok := keepSDK(name); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path, func() { t.Error("waits for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	waiting, got := make(chan bool), make(chan error)
	go func() {
		second, err := lock(path, func() { close(waiting) })
		if err == nil {
			second()
		}
		got <- err
	}()
	<-waiting
	select {
	case err := <-got:
		t.Fatalf("two have the lock (%v)", err)
	default:
	}
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// fakeRoot makes a DOTNET_ROOT with empty runtimes and SDKs of these versions.
func fakeRoot(t *testing.T, runtimes, sdks []string) string {
	t.Helper()
	root := t.TempDir()
	files := []string{"dotnet"}
	for _, v := range runtimes {
		files = append(files, "host/fxr/"+v+"/libhostfxr.so", "shared/Microsoft.NETCore.App/"+v+"/libcoreclr.so")
	}
	for _, v := range sdks {
		files = append(files, "sdk/"+v+"/Roslyn/bincore/csc.dll")
	}
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(root), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestFindMachine: all roots count, of each major version the newest is taken, and each gets a root of its own.
func TestFindMachine(t *testing.T) {
	named := fakeRoot(t, []string{"8.0.9", "8.0.33", "11.0.0-rc.1.25451.107", "9.0.7"}, []string{"9.0.100"})
	path := fakeRoot(t, []string{"5.0.17", "8.0.33", "9.0.22", "10.0.2"},
		[]string{"10.0.9", "10.0.100", "11.0.100-rc.1"})
	t.Setenv("CLRPROF_TEST_DOTNET", named)
	t.Setenv("DOTNET_ROOT", t.TempDir())
	t.Setenv("PATH", path)
	in := &Install{cache: t.TempDir()}
	for range 2 { // the second time it is there
		if err := in.findMachine(); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for _, r := range in.EachRuntime() {
		names = append(names, r.Name)
	}
	if d := cmp.Diff([]string{"10.0.2", "9.0.22", "9.0.7", "8.0.33"}, names); d != "" {
		t.Error(d)
	}
	for name, from := range map[string]string{"8.0.33": named, "10.0.2": path} {
		r := in.EachRuntime()[slices.Index(names, name)]
		there, err := filepath.Glob(r.Root + "/shared/Microsoft.NETCore.App/*")
		if err != nil || len(there) != 1 || filepath.Base(there[0]) != name {
			t.Errorf("the root of %s has %v (%v)", name, there, err)
		}
		if b, err := os.ReadFile(r.Root + "/shared/Microsoft.NETCore.App/" + name + "/libcoreclr.so"); err != nil ||
			string(b) != from {
			t.Errorf("%s is of %q (%v), want %q", name, b, err, from)
		}
	}
	if sdk, ok := in.NewestSDK(); !ok || sdk.Version != "10.0.100" || sdk.Root != path {
		t.Errorf("the SDK is %+v, %v", sdk, ok)
	}
	t.Setenv("CLRPROF_TEST_DOTNET", named+":"+t.TempDir())
	if err := in.findMachine(); err == nil || !strings.Contains(err.Error(), "which has no .NET") {
		t.Errorf("a root without .NET: %v", err)
	}
}

func TestEnv(t *testing.T) {
	for _, name := range []string{"CORECLR_ENABLE_PROFILING", "DOTNET_TieredCompilation", "COMPlus_gcServer"} {
		t.Setenv(name, "1")
	}
	env := Runtime{Name: "9.0.7", Root: "/root9"}.Env("A=b")
	for _, kv := range env {
		if strings.HasPrefix(kv, "CORECLR_") || strings.HasPrefix(kv, "COMPlus_") ||
			strings.HasPrefix(kv, "DOTNET_Tiered") {
			t.Errorf("%s is passed on", kv)
		}
	}
	for _, want := range []string{"DOTNET_ROOT=/root9", "A=b", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

func TestPrune(t *testing.T) {
	dir := t.TempDir()
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{"c", "a", "d", "b"} { // in the order of use
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		used := start.Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(dir, 2); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{filepath.Join(dir, "b"), filepath.Join(dir, "d")}, left); d != "" {
		t.Error(d)
	}
}

func TestCompileErrors(t *testing.T) {
	in := Need(t)
	dir := t.TempDir()
	bad := filepath.Join(dir, "Bad.cs")
	if err := os.WriteFile(bad, []byte("class C { int x = \"text\"; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, sources := range map[string][]string{
		"error CS0029":    {bad},
		"no .cs files":    {t.TempDir()},
		"no such file":    {filepath.Join(dir, "None.cs")},
		"compiling Bad: ": {bad},
	} {
		if _, err := in.Compile(sources, "", Options{Library: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", sources, err, want)
		}
	}
}
