package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/testkit/analysistest"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// TestDist makes a release, and another one of its archive of sources: in another folder, at another time, with another
// umask, and with neither git nor npm. Then it tries each file as its users do.
func TestDist(t *testing.T) {
	dotnettest.NotQuick(t, "it makes two releases")
	one := filepath.Join(t.TempDir(), "one")
	makeRelease(t, "../..", one, withSDK(t.TempDir(), os.Getenv("PATH")))
	t.Run("Again", func(t *testing.T) { testAgain(t, one) })
	for _, m := range compiled(t) {
		t.Run("Archive/"+m.name, func(t *testing.T) { testArchive(t, one, m) })
		t.Run("Debian/"+m.name, func(t *testing.T) { testDebian(t, one, m) })
		t.Run("Alpine/"+m.name, func(t *testing.T) { testAlpine(t, one, m) })
		t.Run("RPM/"+m.name, func(t *testing.T) { testRPM(t, one, m) })
	}
	t.Run("Tool", func(t *testing.T) { testTool(t, one) })
	t.Run("ToolOfOlderSDKs", func(t *testing.T) { testOlderTool(t, one) })
	t.Run("ToolPackages", func(t *testing.T) { testToolPackages(t, one) })
	t.Run("Documents", func(t *testing.T) { testDocuments(t, one) })
	t.Run("Statements", func(t *testing.T) { testStatements(t, one) })
}

// A release has so many files for each machine, and others: two packages of the .NET tool, the sources, the statement and
// the sums.
const filesOfMachine, filesOfAll = 6, 5

// files returns how many files a release of this machine has.
func files(t *testing.T) int {
	t.Helper()
	n := len(compiled(t))*filesOfMachine + filesOfAll
	if _, ok := sdk(); ok {
		n += len(projects)
	}
	return n
}

// sdk returns the SDK of .NET that makes the packages of the integrations, if this machine has one.
func sdk() (dotnettest.SDK, bool) {
	in, err := dotnettest.Ensure(io.Discard)
	if err != nil {
		return dotnettest.SDK{}, false
	}
	return in.NewestSDK()
}

// withSDK returns variables with the SDK before what a PATH has, and with the feeds of an SDK that needs no network. What
// it builds waits for other builds of tests, in the folder of a command that it makes there.
func withSDK(folder, path string) []string {
	sdk, ok := sdk()
	if !ok {
		return []string{"PATH=" + path}
	}
	first := sdk.Root
	if flock, err := exec.LookPath("flock"); err == nil {
		lock, err := dotnettest.BuildsLock()
		script := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' '%s' \"$@\"\n", flock, lock, sdk.Dotnet())
		if err == nil && os.WriteFile(filepath.Join(folder, "dotnet"), []byte(script), 0o755) == nil {
			first = folder
		}
	}
	env := []string{"PATH=" + first + string(filepath.ListSeparator) + path}
	for _, kv := range sdk.Env(os.TempDir()) {
		if strings.HasPrefix(kv, "RestoreConfigFile=") {
			env = append(env, kv)
		}
	}
	return env
}

// host is the machine of the tests that install and run something.
var host = machines[0]

// compiled returns the machines that the release is for. Where there is no compiler for others, it is for the host.
func compiled(t *testing.T) []machine {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(machines), func(m machine) bool { return !m.compiled("../..") })
}

// printed runs a binary for a machine, for others than the host by an emulator, and returns what it printed.
func (m machine) printed(t *testing.T, binary string, args ...string) string {
	t.Helper()
	if m == host {
		return printed(t, binary, args...)
	}
	emulator, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Skip("no qemu-aarch64-static")
	}
	return printed(t, emulator, append([]string{binary}, args...)...)
}

// makeRelease runs "make dist" in a checkout, or in unpacked sources.
func makeRelease(t *testing.T, root, to string, env []string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "umask $UMASK && exec make -j2 -s dist DIST="+to)
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), "UMASK=022"), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// testAgain: the archive of sources is all that a release takes, and gives the same bytes.
func testAgain(t *testing.T, one string) {
	sources := filepath.Join(t.TempDir(), "elsewhere")
	for name, f := range untar(t, named(t, one, "-src.tar.gz")) {
		path := filepath.Join(sources, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.content, 0o600)); err != nil {
			t.Fatal(err)
		}
		old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		if err := errors.Join(os.Chmod(path, os.FileMode(f.mode&0o700)), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	two := filepath.Join(t.TempDir(), "two")
	env := []string{"UMASK=077", "TZ=Asia/Tokyo", "HOME=" + t.TempDir(), "GOENV=" + goEnv(t, "GOENV"), "GOMODCACHE=" + goEnv(t, "GOMODCACHE"), "GOCACHE=" + goEnv(t, "GOCACHE")}
	env = append(env, withSDK(t.TempDir(), without(t, "git", "npm", "npx", "node"))...)
	if dotnettest.EveryRuntime() { // all is compiled again, too
		env = append(env, "GOCACHE="+t.TempDir())
	}
	makeRelease(t, sources, two, env)
	if first, second := names(t, one), names(t, two); !slices.Equal(first, second) || len(first) != files(t) {
		t.Errorf("files:\n%v\n%v", first, second)
	}
	for _, name := range names(t, one) {
		if a, b := readFile(t, filepath.Join(one, name)), readFile(t, filepath.Join(two, name)); !bytes.Equal(a, b) {
			t.Errorf("%s: %d and %d bytes, which differ", name, len(a), len(b))
		}
	}
	version := exec.Command("make", "-s", "build") // with what version.mk says
	version.Dir, version.Env = sources, append(os.Environ(), env...)
	if out, err := version.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if built, released := printed(t, filepath.Join(sources, "bin/clrprof"), "version"),
		printed(t, unpackBinary(t, one, host), "version"); built != released {
		t.Errorf("make build: %s, make dist: %s", built, released)
	}
}

// testArchive: the binary is small enough, says what it is, and has what belongs to it beside it.
func testArchive(t *testing.T, one string, m machine) {
	archive := named(t, one, "-linux-"+m.name+".tar.gz")
	files := untar(t, archive)
	binary := files["bin/clrprof"].content
	if packed := readFile(t, archive); len(packed) > maxArchive || len(binary) > maxBinary || len(binary) == 0 {
		t.Errorf("the archive has %d bytes, the binary %d", len(packed), len(binary))
	}
	t.Logf("archive: %d bytes, binary: %d bytes", len(readFile(t, archive)), len(binary))
	if bytes.Contains(binary, []byte("text/template.(*state).evalField")) { // in the table of functions
		t.Error("text/template is in the binary: with it the linker keeps every exported method")
	}
	var facts struct {
		Version, Commit string
		Agents          []struct {
			RID     string
			BuildID string `json:"build_id"`
		}
	}
	if err := json.Unmarshal([]byte(m.printed(t, unpackBinary(t, one, m), "version", "--json")), &facts); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(archive, facts.Version) || len(facts.Commit) != 40 || len(facts.Agents) != 2 {
		t.Errorf("%+v", facts)
	}
	for _, a := range facts.Agents {
		if agentbin.Library(a.RID).Machine() != m.name {
			t.Errorf("the agent %s is in the archive for %s", a.RID, m.name)
		}
		if id, err := agentbin.BuildID(agentbin.Library(a.RID)); err != nil || fmt.Sprintf("%x", id) != a.BuildID {
			t.Errorf("the agent for %s has build id %s, that of make agent %x: %v", a.RID, a.BuildID, id, err)
		}
	}
	session := filepath.Join(t.TempDir(), "shop.clrprof")
	analysistest.Open(t, sessiontest.Shop(), session)
	have := m.printed(t, unpackBinary(t, one, m), "report", session)
	if want := printed(t, unpackBinary(t, one, host), "report", session); have != want || len(want) < 500 {
		t.Errorf("its report:\n%s\nthat of the one for this machine:\n%s", have, want)
	}
	page := string(gunzip(t, files["share/man/man1/clrprof-run.1.gz"].content))
	if !strings.HasPrefix(page, `.nh`) || !strings.Contains(page, "--snapshot") {
		t.Errorf("the page of clrprof run: %.300s", page)
	}
	for _, path := range []string{"share/man/man1/clrprof.1.gz", "share/bash-completion/completions/clrprof",
		"share/zsh/site-functions/_clrprof", "share/fish/vendor_completions.d/clrprof.fish", docFolder + "LICENSE",
		docFolder + "licences/go/LICENSE", docFolder + "licences/github.com/spf13/cobra/LICENSE.txt",
		docFolder + "licences/npm/uplot/LICENSE", docFolder + "licences/modernc.org/sqlite/SQLITE-LICENSE"} {
		if len(files[path].content) == 0 {
			t.Errorf("there is no %s", path)
		}
	}
}

// testStatements: the sums are those of the files, and the statements name them.
func testStatements(t *testing.T, one string) {
	cmd := exec.Command("sha256sum", "--check", "--strict", checksumsName)
	cmd.Dir = one
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Count(out, []byte(": OK\n")) != len(names(t, one))-1 {
		t.Errorf("%v\n%s", err, out)
	}
	var statement struct {
		Subject   []digest
		Predicate struct {
			BuildDefinition struct{ ResolvedDependencies []digest }
			RunDetails      struct {
				Builder struct{ Version map[string]string }
			}
		}
	}
	if err := json.Unmarshal(readFile(t, named(t, one, ".intoto.json")), &statement); err != nil {
		t.Fatal(err)
	}
	sums := string(readFile(t, filepath.Join(one, checksumsName)))
	for _, s := range statement.Subject {
		if !strings.Contains(sums, s.Digest["sha256"]+"  "+s.Name+"\n") {
			t.Errorf("%s is not what %s says", s.Name, checksumsName)
		}
	}
	// It does not name itself and the sums.
	builder := statement.Predicate.RunDetails.Builder.Version
	sdk, _ := sdk()
	if len(statement.Subject) != files(t)-2 || !strings.HasPrefix(builder["go"], "go1.") ||
		!strings.Contains(builder["gcc"], "gcc") || builder["dotnet"] != sdk.Version {
		t.Errorf("%+v", statement)
	}
	for _, d := range statement.Predicate.BuildDefinition.ResolvedDependencies {
		if len(d.Digest["gitCommit"]) != 40 {
			t.Errorf("it is made from %+v", d)
		}
	}
	for _, m := range compiled(t) {
		testBill(t, one, m)
	}
}

// testBill: the bill of materials names what is in the binary.
func testBill(t *testing.T, one string, m machine) {
	var bom struct {
		BOMFormat  string
		Components []struct{ Name, Version, PURL string }
	}
	if err := json.Unmarshal(readFile(t, named(t, one, m.name+".cdx.json")), &bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range bom.Components {
		listed[c.Name] = c.Version != "" && c.PURL != ""
	}
	for _, name := range []string{"std", "github.com/spf13/cobra", "modernc.org/sqlite", "preact", "@preact/signals"} {
		if !listed[name] {
			t.Errorf("the bill of materials has no %s: %v", name, slices.Sorted(maps.Keys(listed)))
		}
	}
}

// named returns the file of a release whose name ends so.
func named(t *testing.T, folder, suffix string) string {
	t.Helper()
	for _, name := range names(t, folder) {
		if strings.HasSuffix(name, suffix) {
			return filepath.Join(folder, name)
		}
	}
	t.Fatalf("no %s in %v", suffix, names(t, folder))
	return ""
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// untar returns the files of an archive by their paths below its folder.
func untar(t *testing.T, path string) map[string]file {
	t.Helper()
	files := map[string]file{}
	for name, f := range tarred(t, gunzip(t, readFile(t, path))) {
		_, rel, _ := strings.Cut(name, "/")
		files[rel] = f
	}
	return files
}

// tarred returns the regular files of an archive.
func tarred(t *testing.T, b []byte) map[string]file {
	t.Helper()
	files := map[string]file{}
	for archive := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = file{path: h.Name, content: content, mode: h.Mode & 0o777}
	}
}

// unpackBinary returns the path of the binary of a release for a machine.
func unpackBinary(t *testing.T, one string, m machine) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clrprof")
	if err := os.WriteFile(path, untar(t, named(t, one, "-linux-"+m.name+".tar.gz"))["bin/clrprof"].content, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// printed runs a command and returns what it printed.
func printed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return strings.TrimSpace(string(out))
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return printed(t, "go", "env", name)
}

// without returns a PATH with all commands but some.
func without(t *testing.T, left ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from) // a PATH may name what is not there
		for _, e := range entries {
			if slices.Contains(left, e.Name()) {
				continue
			}
			err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(folder, e.Name()))
			if err != nil && !errors.Is(err, os.ErrExist) { // the first one counts
				t.Fatal(err)
			}
		}
	}
	return folder
}
