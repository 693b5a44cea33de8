package main

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// hello is what the tool records: its exit code is its own.
const hello = `System.Console.WriteLine("hello from " + System.Environment.Version); return 42;`

const helloExit = 42

// feed is a user with an SDK, and a folder of packages as the only feed.
type feed struct {
	t       *testing.T
	sdk     dotnettest.SDK
	home    string
	config  string // NuGet.Config
	version string // of the tool
	program string // hello.dll
}

func newFeed(t *testing.T, one string) *feed {
	t.Helper()
	in, sdk := dotnettest.NeedSDK(t)
	home := t.TempDir()
	f := &feed{t: t, sdk: sdk, home: home, config: filepath.Join(home, "NuGet.Config")}
	f.version = versionOf(t, one)
	config := `<configuration><packageSources><clear /><add key="local" value="` + one + `" /></packageSources></configuration>`
	source := filepath.Join(home, "Hello.cs")
	if err := os.WriteFile(f.config, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	var err error
	f.program, err = in.Compile([]string{source}, filepath.Join(home, "app"), dotnettest.Options{Framework: dotnettest.Net10})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// command is one of this user in a folder of its own.
func (f *feed) command(name string, args ...string) *exec.Cmd {
	f.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = f.t.TempDir()
	cmd.Env = f.sdk.Env(f.home, "DOTNET_CLI_TELEMETRY_OPTOUT=1", "DOTNET_NOLOGO=1")
	return cmd
}

// install has the user install a package of the tool.
func (f *feed) install(id string, args ...string) (tool string) {
	f.t.Helper()
	cmd := f.command(f.sdk.Dotnet(), append([]string{"tool", "install", "-g", id, "--version", f.version,
		"--configfile", f.config}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(f.home, ".dotnet/tools/clrprof")
}

// records has a command, which ends with one of the tool, record hello with real .NET, and wants its exit code and its
// output; and of the session that it holds together and has the program's objects.
func (f *feed) records(name string, args ...string) {
	f.t.Helper()
	cmd := f.command(name, append(args, "run", "-o", "hello.clrprof", "--", f.sdk.Dotnet(), f.program)...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != helloExit || !bytes.HasPrefix(out, []byte("hello from 10.0.")) {
		f.t.Errorf("%v: %v\n%s", cmd.Args, err, out)
		return
	}
	for _, ask := range [][]string{{"check-session", "hello.clrprof"}, {"sql", "hello.clrprof", "--csv",
		"select value, (select sum(instances) > 100 from types) from info where key = 'exit_code'"}} {
		read := f.command(name, append(slices.Clone(args), ask...)...)
		read.Dir = cmd.Dir
		out, err = read.CombinedOutput()
		if err != nil {
			f.t.Errorf("%v: %v\n%s", read.Args, err, out)
		}
	}
	if !bytes.Contains(out, []byte("\n42,1\n")) {
		f.t.Errorf("the session has: %s", out)
	}
}

// versionOf returns the version of a release.
func versionOf(t *testing.T, one string) string {
	t.Helper()
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(named(t, one, "-src.tar.gz")), "clrprof-"), "-src.tar.gz")
}

// testTool: the SDK of .NET 10 installs the binary itself, of the package for its machine alone, and runs it without
// installing. Asked for what older SDKs take of this package, it gets a program that names the package for these.
func testTool(t *testing.T, one string) {
	f := newFeed(t, one)
	tool := f.install(toolID)
	binary, err := filepath.EvalSymlinks(tool)
	if err != nil || !bytes.Equal(readFile(t, binary), untar(t, named(t, one, "-linux-x64.tar.gz"))["bin/clrprof"].content) {
		t.Errorf("%s is not the binary: %v", tool, err)
	}
	f.records(tool)
	f.records(f.sdk.Dotnet(), "tool", "exec", "clrprof", "--yes", "--version", f.version, "--configfile", f.config, "--")
	f.records(filepath.Join(f.sdk.Root, "dnx"), "clrprof", "--yes", "--version", f.version, "--configfile", f.config)
	for _, m := range machines {
		cached, err := filepath.Glob(filepath.Join(f.home, ".nuget/packages", m.toolID(), "*"))
		if err != nil || len(cached) > 0 != (m == host) {
			t.Errorf("for %s it has fetched %v: %v", m.name, cached, err)
		}
	}
	older := newFeed(t, one)
	cmd := older.command(older.install(toolID, "--framework", "net8.0"), "version")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 126 || !bytes.Contains(out, []byte("dotnet tool install -g "+olderTool)) {
		t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// testToolPackages reads which package an SDK takes for a machine and its C library: the binary there is that of the
// machine's archive. The package for older SDKs has all of them.
func testToolPackages(t *testing.T, one string) {
	unzip := func(id string) map[string][]byte {
		return unzipped(t, filepath.Join(one, id+"."+versionOf(t, one)+".nupkg"))
	}
	var said struct {
		Version  string `xml:",attr"`
		Packages []struct {
			RuntimeIdentifier string `xml:",attr"`
			ID                string `xml:"Id,attr"`
		} `xml:"RuntimeIdentifierPackages>RuntimeIdentifierPackage"`
	}
	if err := xml.Unmarshal(unzip(toolID)[ofPointer+toolSettings], &said); err != nil {
		t.Fatal(err)
	}
	if said.Version != "2" || len(said.Packages) != 2*len(compiled(t)) {
		t.Errorf("%+v", said)
	}
	all := unzip(olderTool)
	for _, m := range compiled(t) {
		binary := untar(t, named(t, one, "-linux-"+m.name+".tar.gz"))["bin/clrprof"].content
		for _, rid := range []string{"linux-" + m.name, "linux-musl-" + m.name} {
			at := slices.IndexFunc(said.Packages, func(p struct {
				RuntimeIdentifier string `xml:",attr"`
				ID                string `xml:"Id,attr"`
			}) bool {
				return p.RuntimeIdentifier == rid
			})
			if at < 0 || !bytes.Equal(unzip(said.Packages[at].ID)[m.ofNative()+"clrprof"], binary) {
				t.Errorf("the package for %s of %+v has not its binary", rid, said.Packages)
			}
		}
		if !bytes.Equal(all[m.ofNative()+"clrprof"], binary) {
			t.Errorf("%s has another binary for %s", olderTool, m.name)
		}
	}
}

// unzipped returns the files of a NuGet package.
func unzipped(t *testing.T, path string) map[string][]byte {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	files := map[string][]byte{}
	for _, f := range r.File {
		if files[f.Name], err = unpack(f); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// testDocuments runs the commands that documents tell visitors, as one of them: in a folder with the files of a release.
func testDocuments(t *testing.T, one string) {
	for _, path := range []string{"README.md", "docs/install.md"} {
		f := newFeed(t, one)
		release := t.TempDir()
		if err := os.CopyFS(release, os.DirFS(one)); err != nil {
			t.Fatal(err)
		}
		text := string(readFile(t, filepath.Join("../..", path)))
		if path == "README.md" { // of which only the installation is for this folder
			_, text, _ = strings.Cut(text, "## Install")
			text, _, _ = strings.Cut(text, "\n## ")
		}
		ran := 0
		for _, block := range strings.Split(text, "```sh\n")[1:] {
			commands, _, _ := strings.Cut(block, "```")
			if strings.HasPrefix(commands, "make ") {
				continue // is for a checkout
			}
			cmd := f.command("sh", "-euxc", commands)
			cmd.Dir = release
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
			ran++
		}
		if ran == 0 {
			t.Errorf("%s has no commands", path)
		}
		f.records(filepath.Join(f.home, ".dotnet/tools/clrprof"))
	}
}

// testOlderTool: what SDKs before 10 take of the package, which this SDK takes if it is asked to. There is one process:
// what its starter gave it, and what it ignores, is as if the binary had been started.
func testOlderTool(t *testing.T, one string) {
	f := newFeed(t, one)
	tool := f.install(olderTool, "--framework", "net8.0")
	native := filepath.Join(f.home, ".dotnet/tools/.store", olderTool, f.version, olderTool, f.version, host.ofNative(),
		"clrprof")
	if err := os.Chmod(native, 0o644); err != nil { // as NuGet leaves files in some versions
		t.Fatal(err)
	}
	f.records(tool)
	// Signals are those of the command, to which clrprof passes them on: the threads of clrprof block others now and then,
	// and so does a shell while it starts a command, which is why the shell itself reads them.
	const look = `while read -r name value; do case $name in SigBlk:|SigIgn:) echo $name $value; esac; done </proc/self/status
echo $PPID; readlink /proc/$PPID/exe; tail -zn +2 /proc/$PPID/cmdline | tr '\0' '\n'; tr '\0' '\n' </proc/$PPID/environ`
	var seen []string
	for _, name := range []string{native, tool} {
		for _, runtime := range []string{"Major", "LatestMajor"} { // the oldest one from 8 on, and the newest
			cmd := f.command(name, "run", "-o", "\xff é.clrprof", "--", "sh", "-c", look)
			cmd.Env = append(cmd.Env, "DOTNET_ROLL_FORWARD=Major", "ODD=\xfe=")
			cmd.Env[len(cmd.Env)-2] = "DOTNET_ROLL_FORWARD=" + runtime
			out, _ := cmd.Output() // no .NET was in it, which is an error that does not matter here
			lines := strings.Split(strings.ReplaceAll(string(out), "LatestMajor", "Major"), "\n")
			const id, exe = 2, 3
			if len(lines) <= exe || lines[id] != fmt.Sprint(cmd.Process.Pid) || lines[exe] != native {
				t.Fatalf("%s, process %d: %.200s", name, cmd.Process.Pid, out)
			}
			seen = append(seen, strings.Join(slices.Delete(lines, id, id+1), "\n"))
		}
	}
	for _, other := range seen[1:] {
		if diff := cmp.Diff(seen[0], other); diff != "" {
			t.Errorf("it differs (-binary +launcher):\n%s", diff)
		}
	}
	left, err := filepath.Glob(filepath.Join(f.home, "*-*-*-*")) // where temporary files of this user are
	if err != nil || slices.ContainsFunc(left, func(path string) bool {
		return strings.Contains(path, "clr-debug-pipe") || strings.Contains(path, "dotnet-diagnostic")
	}) {
		t.Errorf("it leaves %v: %v", left, err)
	}
}
