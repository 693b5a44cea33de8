package dotnettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DebugType says where the compiler puts the portable PDB.
type DebugType string

// The places for a PDB. The zero value is beside the assembly.
const (
	DebugPortable DebugType = "portable"
	DebugEmbedded DebugType = "embedded"
	DebugNone     DebugType = "none"
)

// maxCompiled bounds the results that are kept. A run of all tests makes about
// 50; those of tests with temporary sources are never used again.
const maxCompiled = 500

// Options are those of Compile. The zero value is a console program, optimized,
// with a portable PDB beside it.
type Options struct {
	Name          string // assembly name; default: of the first source, without .cs
	Debug         DebugType
	NoOptimize    bool // as a Debug build does: locals are kept, calls are not inlined
	Deterministic bool // the same sources at the same paths give the same bytes
	Unsafe        bool // allow unsafe code
	Library       bool // no entry point
	References    []string
	Defines       []string
}

// Compile compiles C# 8 for netcoreapp3.1. Each source is a .cs file or a
// directory of them. It returns the path of the DLL, beside which lie the PDB,
// the references that are not of the framework, and for a program a
// runtimeconfig.json that lets it run on any later .NET.
//
// With an empty outDir the files stay in the cache and must not be changed;
// otherwise they are placed in outDir, which is made if need be. Results are
// cached by a hash of all that goes in, the path of each source included,
// because the PDB holds it.
//
// If the compiler finds mistakes, the error holds its messages.
func (in *Install) Compile(sources []string, outDir string, o Options) (dll string, err error) {
	files, err := sourceFiles(sources)
	if err != nil {
		return "", fmt.Errorf("compiling C#: %w", err)
	}
	if o.Name == "" {
		o.Name = strings.TrimSuffix(filepath.Base(sources[0]), ".cs")
	}
	key, err := in.compileKey(files, o)
	if err != nil {
		return "", fmt.Errorf("compiling %s: %w", o.Name, err)
	}
	dir := filepath.Join(in.cache, "compiled", key)
	if _, err := os.Stat(dir); err != nil {
		if err := in.compileInto(dir, files, o); err != nil {
			return "", fmt.Errorf("compiling %s: %w", o.Name, err)
		}
		if err := prune(filepath.Dir(dir), maxCompiled); err != nil {
			return "", fmt.Errorf("removing old results of the compiler: %w", err)
		}
	} else if err := touch(dir); err != nil {
		return "", fmt.Errorf("marking a result of the compiler as used: %w", err)
	}
	dll = filepath.Join(dir, o.Name+".dll")
	if outDir == "" {
		return dll, nil
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("reading what was compiled: %w", err)
	}
	for _, f := range made {
		if err := copyFile(filepath.Join(dir, f.Name()), filepath.Join(outDir, f.Name())); err != nil {
			return "", fmt.Errorf("placing what was compiled: %w", err)
		}
	}
	return filepath.Join(outDir, o.Name+".dll"), nil
}

// sourceFiles resolves directories and returns absolute paths. Files of one
// directory are sorted, and those in subdirectories are not taken.
func sourceFiles(sources []string) ([]string, error) {
	var files []string
	for _, s := range sources {
		s, err := filepath.Abs(s)
		if err != nil {
			return nil, err
		}
		fi, err := os.Stat(s)
		if err != nil {
			return nil, err
		}
		if !fi.IsDir() {
			files = append(files, s)
			continue
		}
		in, err := filepath.Glob(filepath.Join(s, "*.cs"))
		if err != nil {
			return nil, err
		}
		files = append(files, in...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no .cs files in %q", sources)
	}
	return files, nil
}

// CompilerArgs returns the arguments for csc.dll that compile the files to out.
// It is what Compile uses, for those who run the compiler as a target itself.
func (in *Install) CompilerArgs(files []string, out string, o Options) ([]string, error) {
	args := []string{"-nologo", "-nostdlib", "-noconfig", "-langversion:8", "-utf8output", "-out:" + out}
	switch o.Debug {
	case DebugNone:
		args = append(args, "-debug-")
	case "":
		args = append(args, "-debug:"+string(DebugPortable))
	default:
		args = append(args, "-debug:"+string(o.Debug))
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{!o.NoOptimize, "optimize"}, {o.Deterministic, "deterministic"}, {o.Unsafe, "unsafe"}} {
		sign := "-"
		if f.on {
			sign = "+"
		}
		args = append(args, "-"+f.name+sign)
	}
	if o.Library {
		args = append(args, "-target:library")
	}
	if len(o.Defines) > 0 {
		args = append(args, "-define:"+strings.Join(o.Defines, ";"))
	}
	refs, err := filepath.Glob(filepath.Join(in.Ref(), "*.dll"))
	if err != nil {
		return nil, err
	}
	for _, r := range append(refs, o.References...) {
		args = append(args, "-r:"+r)
	}
	return append(args, files...), nil
}

// CompilerCommand returns the command line, dotnet first, that runs the compiler
// on 9.0.7 with these arguments. The environment is that of [Install.Env].
func (in *Install) CompilerCommand(files []string, out string, o Options) ([]string, error) {
	args, err := in.CompilerArgs(files, out, o)
	if err != nil {
		return nil, err
	}
	return append([]string{in.Net9().Dotnet, "exec", "--roll-forward", "Major", in.CSC()}, args...), nil
}

// compileKey hashes all that decides what the compiler writes.
func (in *Install) compileKey(files []string, o Options) (string, error) {
	h := sha256.New()
	head, err := json.Marshal(struct {
		Version, SDK string
		Options      Options
	}{compileVersion, sdkVersion, o})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n", head)
	for _, f := range slices.Concat(files, o.References) {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %d\n", f, len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// compileInto compiles into a temporary directory and renames it to dir. Of two
// processes that do so at once, the second finds dir and drops its own work.
func (in *Install) compileInto(dir string, files []string, o Options) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	args, err := in.CompilerArgs(files, filepath.Join(tmp, o.Name+".dll"), o)
	if err != nil {
		return err
	}
	// The list of references is long; a response file is what build tools use.
	// -noconfig alone has no effect there.
	args = slices.DeleteFunc(args, func(a string) bool { return a == "-noconfig" })
	rsp := filepath.Join(tmp, "csc.rsp")
	if err := os.WriteFile(rsp, []byte(`"`+strings.Join(args, "\"\n\"")+"\"\n"), 0o644); err != nil {
		return err
	}
	cmd := exec.Command(in.Net9().Dotnet, "exec", "--roll-forward", "Major", in.CSC(), "-noconfig", "@"+rsp)
	cmd.Env = in.Env()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running csc: %w\n%s", err, bytes.TrimSpace(out))
	}
	if err := os.Remove(rsp); err != nil {
		return err
	}
	for _, r := range o.References {
		if err := copyFile(r, filepath.Join(tmp, filepath.Base(r))); err != nil {
			return err
		}
	}
	if !o.Library {
		if err := writeRuntimeConfig(tmp, o.Name); err != nil {
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// writeRuntimeConfig writes the file that tells the host which framework the
// program needs: 3.1, or any later one. There is no ICU where tests run.
func writeRuntimeConfig(dir, name string) error {
	type framework struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	type options struct {
		TFM         string          `json:"tfm"`
		Framework   framework       `json:"framework"`
		RollForward string          `json:"rollForward"`
		Properties  map[string]bool `json:"configProperties"`
	}
	return writeJSON(filepath.Join(dir, name+".runtimeconfig.json"), map[string]options{"runtimeOptions": {
		TFM: "netcoreapp3.1", Framework: framework{"Microsoft.NETCore.App", "3.1.0"}, RollForward: "Major",
		Properties: map[string]bool{"System.Globalization.Invariant": true},
	}})
}

// touch makes dir the one that was used last.
func touch(dir string) error {
	now := time.Now()
	return os.Chtimes(dir, now, now)
}

// prune removes the directories that have not been used for longest, until at
// most keep are left.
func prune(parent string, keep int) error {
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) <= keep {
		return err
	}
	used := make(map[string]time.Time, len(entries))
	for _, e := range entries {
		if fi, err := e.Info(); err == nil { // else another process removed it
			used[e.Name()] = fi.ModTime()
		}
	}
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return used[a].Compare(used[b]) })
	for _, name := range names[:max(0, len(names)-keep)] {
		if err := os.RemoveAll(filepath.Join(parent, name)); err != nil {
			return err
		}
	}
	return nil
}
