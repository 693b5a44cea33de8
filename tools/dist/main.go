// Command dist makes what a release consists of, below bin/dist: an archive with one binary, packages for Debian, RPM
// and Alpine, a .NET tool, packages for programs and tests, the sources, a bill of materials, where it all comes from,
// and checksums. The same commit, Go, gcc and SDK of .NET give the same bytes, wherever and whenever they are built.
// Usage, at the root of the repository, after the agents were built ("make dist" does both):
//
//	go run ./tools/dist [-o FOLDER]
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of a release, so that one who adds a dear dependency sees it: the binary had 33 MB and the archive 12 MB when
// they were set.
const (
	maxBinary  = 40_000_000
	maxArchive = 15_000_000
)

// machine is a processor architecture that releases are made for.
type machine struct {
	name    string // as .NET calls it
	goarch  string // as Go calls it
	level   string // environment variable that names the oldest processor that the binary runs on
	prefix  string // of the names of the programs that compile for it
	notable string // what a visitor should know of the archives
}

// machines are all architectures. Each has files of its own.
var machines = []machine{
	{name: "x64", goarch: "amd64", level: "GOAMD64=v1"},
	{name: "arm64", goarch: "arm64", level: "GOARM64=v8.0", prefix: "aarch64-linux-gnu-",
		notable: "tried with an emulator only: docs/arm64.md"},
}

// stagePrefix begins the name of the folder for what a release is made of.
const stagePrefix = "clrprof-dist-"

// release is what is being made, and where.
type release struct {
	origin
	out     string    // folder of the results
	stage   string    // folder of what the results are made of
	targets []*target // one for each machine with compiled agents
	sdk     string    // version of the SDK of .NET that built the packages of the integrations; empty without these
}

// target is the part of a release for one machine.
type target struct {
	*release
	machine
	binary   []byte
	licences []file // of all that is in the binary
}

func main() {
	out := flag.String("o", filepath.Join("bin", "dist"), "folder for the release; an earlier one in it goes")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	from, err := findOrigin()
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", stagePrefix)
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer os.RemoveAll(stage)
	if err := empty(out); err != nil {
		return err
	}
	r := &release{origin: from, out: out, stage: stage}
	var notes []string
	for _, m := range machines {
		switch {
		case !m.compiled("."):
			notes = append(notes, fmt.Sprintf("there is nothing for %s: install %sgcc and run `make dist` again", m.name,
				m.prefix))
			continue
		case m.notable != "":
			notes = append(notes, fmt.Sprintf("%s was %s", m.name, m.notable))
		}
		r.targets = append(r.targets, &target{release: r, machine: m})
	}
	if err := r.make(); err != nil {
		return err
	}
	if r.sdk == "" {
		notes = append(notes, "there are no packages of integrations: put dotnet, the SDK of .NET 8 or later, on the PATH "+
			"and run `make dist` again")
	}
	return printResults(out, notes)
}

// printResults prints what was made, and what one should know of it.
func printResults(out string, notes []string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return fmt.Errorf("listing %s: %w", out, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("listing %s: %w", out, err)
		}
		fmt.Printf("%11d  %s\n", info.Size(), filepath.Join(out, e.Name()))
	}
	for _, note := range notes {
		fmt.Println("dist:", note)
	}
	return nil
}

// empty makes the folder for a release, and removes an earlier one from it. It touches nothing else that it finds.
func empty(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", out, err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		return fmt.Errorf("listing %s: %w", out, err)
	}
	for _, e := range entries {
		ours := e.Name() == checksumsName || strings.HasPrefix(strings.ToLower(e.Name()), "clrprof")
		if !e.Type().IsRegular() || !ours {
			return fmt.Errorf("%s has %s, which is no file of a release: choose a folder for releases alone", out, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(out, e.Name())); err != nil {
			return fmt.Errorf("removing an earlier release: %w", err)
		}
	}
	return nil
}

// make makes all files of the release, one after the other.
func (r *release) make() error {
	for _, t := range r.targets {
		if err := t.make(); err != nil {
			return fmt.Errorf("making what is for %s: %w", t.name, err)
		}
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"the .NET tool", r.dotnetTool},
		{"the packages of integrations", r.integrationPackages},
		{"the archive of sources", r.sourceArchive},
		{"the provenance", r.provenance},
		{"the checksums", r.checksums},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("making %s: %w", step.what, err)
		}
	}
	return nil
}

// make makes the files for one machine.
func (r *target) make() error {
	var err error
	if r.binary, err = r.build(); err != nil {
		return err
	}
	if r.licences, err = r.findLicences(); err != nil {
		return err
	}
	files, err := r.installed()
	if err != nil {
		return err
	}
	if err := r.archive(files); err != nil {
		return err
	}
	if err := r.linuxPackages(files); err != nil {
		return fmt.Errorf("making the packages for Linux: %w", err)
	}
	if err := r.billOfMaterials(); err != nil {
		return fmt.Errorf("making the bill of materials: %w", err)
	}
	return nil
}

// base is how the names of files for this machine begin.
func (r *target) base() string { return "clrprof-" + r.version + "-linux-" + r.name }

// write writes a file of the release, with a mode that does not depend on the umask.
func (r *release) write(name string, b []byte) error {
	path := filepath.Join(r.out, name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return os.Chmod(path, 0o644)
}

// results returns the names of the files of the release that were written so far, in order.
func (r *release) results() ([]string, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, fmt.Errorf("listing the results: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// archive writes the archive for this machine, below one folder.
func (r *target) archive(files []file) error {
	b, err := tarball(r.base(), files, r.time)
	if err != nil {
		return fmt.Errorf("making the archive: %w", err)
	}
	if len(b) > maxArchive {
		return fmt.Errorf("the archive has %d bytes, more than %d: look for what makes it large", len(b), maxArchive)
	}
	return r.write(r.base()+".tar.gz", b)
}

// installed returns what is installed, by paths below a prefix such as /usr.
func (r *target) installed() ([]file, error) {
	files := append([]file{{path: "bin/clrprof", content: r.binary, mode: 0o755}}, r.licences...)
	for _, part := range []func() ([]file, error){r.manPages, completions} {
		more, err := part()
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		files = append(files, file{path: docFolder + name, content: b, mode: 0o644})
	}
	return sorted(files), nil
}

// docFolder is where what is to be read goes, in all packages.
const docFolder = "share/doc/clrprof/"

// read returns the files below a folder, by their paths in it.
func read(folder, below string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		files = append(files, file{path: below + filepath.ToSlash(rel), content: b, mode: 0o644})
		return err
	})
	return files, err
}
