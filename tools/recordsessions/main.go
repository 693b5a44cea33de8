// Command recordsessions records the program in testdata/sessions/shop anew: the sessions there, which golden tests
// show. It needs "make build" and "make dotnet", and a Linux on which it may have a file system of its own (root, or
// user namespaces): there the program and .NET lie in /srv, so that nothing in a session is of the machine that made
// it. Usage, at the root of the repository:
//
//	go run ./tools/recordsessions
package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const (
	folder  = "testdata/sessions"
	program = folder + "/shop"
	control = "integrations/control"
	binary  = "bin/clrprof"
	seenAt  = "/srv" // where the recorded program sees what is staged
)

// recording is one of the sessions.
type recording struct {
	name    string // of the file, without .clrprof.gz
	runtime dotnettest.Runtime
	flags   []string // of clrprof run
}

func recordings(in *dotnettest.Install) []recording {
	return []recording{
		{"net10", in.Newest(), []string{"--snapshot", "end", "--interactions"}},
		{"net10-time", in.Newest(), []string{"--time", "--memory", "--interactions", "--events", "sched"}},
		{"netcore31", in.Net31(), []string{"--snapshot", "end"}},
		{"netcore31-time", in.Net31(), []string{"--time", "--memory"}},
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "recordsessions:", err)
		os.Exit(1)
	}
}

func run() error {
	in, err := dotnettest.Ensure(os.Stderr)
	if err != nil {
		return err
	}
	if in.Newest().Major() != 10 {
		return fmt.Errorf("the newest .NET here is %s, and the sessions are of .NET 10", in.Newest().Name)
	}
	for _, r := range recordings(in) {
		if err := record(in, r); err != nil {
			return fmt.Errorf("recording %s: %w", r.name, err)
		}
	}
	return nil
}

// record stages what a session needs, records it and puts it into the folder.
func record(in *dotnettest.Install, r recording) error {
	stage, err := os.MkdirTemp("", "recordsessions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := prepare(in, r, stage); err != nil {
		return err
	}
	const inside = `mount --bind "$0" ` + seenAt + ` && cd ` + seenAt + `/shop && exec "$@"`
	cmd := exec.Command("/bin/sh", "-c", inside, stage,
		seenAt+"/clrprof", "run", "--no-report", "-o", seenAt+"/s.clrprof")
	cmd.Args = append(cmd.Args, r.flags...)
	cmd.Args = append(cmd.Args, "--", "dotnet", "Shop.dll")
	cmd.Env = r.runtime.Env("DOTNET_ROOT="+seenAt+"/dotnet", "PATH="+seenAt+"/dotnet:/usr/bin:/bin",
		"XDG_CACHE_HOME="+seenAt+"/cache")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if id := os.Getuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	if err := cmd.Run(); err != nil {
		return err
	}
	return place(filepath.Join(stage, "s.clrprof"), filepath.Join(folder, r.name+".clrprof.gz"))
}

// prepare puts the runtime, the program and clrprof into the stage.
func prepare(in *dotnettest.Install, r recording, stage string) error {
	var sources, paths []string
	for _, dir := range []string{program, control} {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		sources, paths = append(sources, dir), append(paths, absolute+"=/src/"+filepath.Base(dir))
	}
	if _, err := in.Compile(sources, filepath.Join(stage, "shop"), dotnettest.Options{Name: "Shop",
		Deterministic: true, PathMap: strings.Join(paths, ",")}); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(stage, "dotnet"), 0o755); err != nil {
		return err
	}
	// A test's DOTNET_ROOT has links into other directories, which the runtime would follow.
	root := r.runtime.Root
	for to, from := range map[string][]string{"dotnet": {root + "/dotnet", root + "/host", root + "/shared"},
		"clrprof": {binary}} {
		cmd := exec.Command("cp", append(append([]string{"-rL"}, from...), filepath.Join(stage, to))...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return err
		}
	}
	return nil
}

// place compresses a session into the folder. What names the machine is taken out, and small pages leave less empty.
func place(path, to string) (err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	for _, statement := range []string{"UPDATE info SET value = 'host' WHERE key = 'host'",
		"UPDATE info SET value = 'Linux' WHERE key = 'system'", "PRAGMA page_size=512", "VACUUM"} {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return errors.Join(err, conn.Close())
		}
	}
	if err := conn.Close(); err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	zip, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(zip, from); err != nil {
		return err
	}
	return zip.Close()
}
