package dotnettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	Embed         bool `json:",omitempty"` // the PDB holds the sources
	Library       bool // no entry point
	References    []string
	Defines       []string
	Framework     Framework
	Web           bool     // needs ASP.NET Core, too; not for .NET Core 3.1
	Features      []string // of the C# compiler, such as "runtime-async=on"
	PathMap       string   `json:",omitempty"` // of the C# compiler: where PDBs say that sources are, "FROM=TO,FROM=TO"

	// Trimmed is the version of one of SingleFiles: the program is compiled against
	// what that has of the libraries, and defines TRIMMED.
	Trimmed string `json:",omitempty"`
}

// Compile compiles C#, or with an SDK F# or Visual Basic, which it knows by the
// first source. Each source is a file or a directory, of which those of the
// language are taken. It returns the path of the DLL, beside which lie the PDB,
// the references that are not of the framework, and for a program a
// runtimeconfig.json that lets it run on any later .NET. Without an SDK, if it
// needs one, the error is [errNoSDK].
//
// With an empty outDir the files stay in the cache and must not be changed;
// otherwise they are placed in outDir, which is made if need be. Results are
// cached by a hash of all that goes in, the path of each source included,
// because the PDB holds it.
//
// If the compiler finds mistakes, the error holds its messages.
func (in *Install) Compile(sources []string, outDir string, o Options) (dll string, err error) {
	files, lang, err := sourceFiles(sources)
	if err != nil {
		return "", fmt.Errorf("compiling: %w", err)
	}
	if o.Name == "" {
		o.Name = strings.TrimSuffix(filepath.Base(sources[0]), string(lang))
	}
	tc, err := in.toolchainFor(lang, o)
	if err != nil {
		return "", fmt.Errorf("compiling %s: %w", o.Name, err)
	}
	key, err := tc.key(files, o)
	if err != nil {
		return "", fmt.Errorf("compiling %s: %w", o.Name, err)
	}
	dir := filepath.Join(in.cache, "compiled", key)
	if _, err := os.Stat(dir); err != nil {
		if err := fill(dir, func(tmp string) error { return tc.compileInto(tmp, files, o) }); err != nil {
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

// sourceFiles resolves directories and returns absolute paths, and the language
// of the first. Files of one directory are sorted, those in subdirectories are
// not taken.
func sourceFiles(sources []string) ([]string, language, error) {
	var files []string
	lang := csharp
	for i, s := range sources {
		s, err := filepath.Abs(s)
		if err != nil {
			return nil, "", err
		}
		fi, err := os.Stat(s)
		if err != nil {
			return nil, "", err
		}
		if !fi.IsDir() {
			files = append(files, s)
			if i == 0 {
				lang = language(filepath.Ext(s))
			}
			continue
		}
		for _, l := range []language{csharp, fsharp, visualBasic} {
			in, err := filepath.Glob(filepath.Join(s, "*"+string(l)))
			if err != nil {
				return nil, "", err
			}
			if i == 0 && len(in) > 0 {
				lang = l
			}
			if l == lang {
				files = append(files, in...)
			}
		}
	}
	if len(files) == 0 {
		return nil, "", fmt.Errorf("no %s files in %q", lang, sources)
	}
	return files, lang, nil
}

// args returns the arguments for the compiler that compile the files to out. All
// three compilers understand them, if they begin with two dashes for that of F#.
func (tc toolchain) args(files []string, out string, o Options) []string {
	options := []string{"out:" + out}
	switch o.Debug {
	case DebugNone:
		options = append(options, "debug-")
	case "":
		options = append(options, "debug:"+string(DebugPortable))
	default:
		options = append(options, "debug:"+string(o.Debug))
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{!o.NoOptimize, "optimize"}, {o.Deterministic, "deterministic"}} {
		sign := "-"
		if f.on {
			sign = "+"
		}
		options = append(options, f.name+sign)
	}
	if o.Embed {
		options = append(options, "embed")
	}
	if o.Unsafe {
		options = append(options, "unsafe+")
	}
	if o.Library {
		options = append(options, "target:library")
	}
	for _, d := range o.Defines {
		options = append(options, "define:"+d)
	}
	if o.Trimmed != "" {
		options = append(options, "define:TRIMMED")
	}
	for _, f := range o.Features {
		options = append(options, "features:"+f)
	}
	if o.PathMap != "" {
		options = append(options, "pathmap:"+o.PathMap)
	}
	args := slices.Clone(tc.flags)
	for _, option := range options {
		args = append(args, tc.dash+option)
	}
	for _, r := range slices.Concat(tc.refs, o.References) {
		args = append(args, "-r:"+r)
	}
	return append(args, files...)
}

// CompilerCommand returns the command line, dotnet first, that runs the C# 8
// compiler on a runtime to compile the files to out: for those who run the
// compiler as a target. The environment is that of the runtime.
func (in *Install) CompilerCommand(r Runtime, files []string, out string, o Options) ([]string, error) {
	tc, err := in.toolchainFor(csharp, o)
	if err != nil {
		return nil, err
	}
	return append(in.oldCompiler(r), tc.args(files, out, o)...), nil
}

// key hashes all that decides what the compiler writes.
func (tc toolchain) key(files []string, o Options) (string, error) {
	h := sha256.New()
	head, err := json.Marshal(struct {
		Version, SDK string
		Options      Options
	}{compileVersion, tc.version, o})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s\n", head)
	for _, f := range slices.Concat(files, o.References) {
		if err := hashFile(h, f, f); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// hashFile adds a file to a hash, under a name.
func hashFile(h io.Writer, name, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%q %d\n", name, len(b))
	_, err = h.Write(b)
	return err
}

// fill has a temporary directory filled and renames it to dir. Of two processes
// that do so at once, the second finds dir and drops its own work.
func fill(dir string, with func(tmp string) error) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := with(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// compileInto compiles into a directory.
func (tc toolchain) compileInto(tmp string, files []string, o Options) error {
	args := tc.args(files, filepath.Join(tmp, o.Name+".dll"), o)
	// The list of references is long; a response file is what build tools use.
	// -noconfig alone has no effect there.
	command := slices.Concat(tc.command, tc.server)
	if i := slices.Index(args, "-noconfig"); i >= 0 {
		command, args = append(command, args[i]), slices.Delete(args, i, i+1)
	}
	rsp := filepath.Join(tmp, "csc.rsp")
	if err := os.WriteFile(rsp, tc.responseFile(args), 0o644); err != nil {
		return err
	}
	cmd := exec.Command(command[0], append(command[1:], "@"+rsp)...)
	cmd.Env = tc.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running the compiler: %w\n%s", err, bytes.TrimSpace(out))
	}
	if err := os.Remove(rsp); err != nil {
		return err
	}
	for _, r := range slices.Concat(tc.beside, o.References) {
		if err := copyFile(r, filepath.Join(tmp, filepath.Base(r))); err != nil {
			return err
		}
	}
	if o.Library {
		return nil
	}
	return writeRuntimeConfig(tmp, o)
}

// responseFile is the text of a response file with these arguments, one on a line:
// quoted, but not for the compiler of F#, which takes lines as they are.
func (tc toolchain) responseFile(args []string) []byte {
	var b bytes.Buffer
	for _, a := range args {
		if tc.dash != "--" {
			a = `"` + strings.ReplaceAll(a, `"`, `\"`) + `"`
		}
		b.WriteString(a + "\n")
	}
	return b.Bytes()
}

// writeRuntimeConfig writes the file that tells the host which framework the
// program needs: that version, or any later one. There is no ICU where tests run.
func writeRuntimeConfig(dir string, o Options) error {
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
	name := coreFramework
	if o.Web {
		name = webFramework // which brings the other along
	}
	return writeJSON(filepath.Join(dir, o.Name+".runtimeconfig.json"), map[string]options{"runtimeOptions": {
		TFM: o.Framework.tfm(), Framework: framework{name, o.Framework.version() + ".0"}, RollForward: "Major",
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
