// Package agentbin holds the agent: the C library that the .NET runtime loads into the target. It is built from
// agent/src by `make agent` and embedded; a binary made with plain `go build` before that has none and says so.
package agentbin

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/clrprof/clrprof/internal/files/atomicfile"
	"github.com/clrprof/clrprof/internal/files/openfile"
	"github.com/clrprof/clrprof/internal/files/safefs"
)

//go:embed lib
var lib embed.FS

// ErrMissing means that this binary was built without the agent.
var ErrMissing = errors.New("this clrprof was built without its agent")

// Library is one build of the agent, by the runtime identifier of .NET that it is for. A process has one C library, and
// what the two want of a library that is loaded late differs.
type Library string

// The builds there are.
const (
	Glibc      Library = "linux-x64"
	Musl       Library = "linux-musl-x64" // of Alpine
	GlibcARM64 Library = "linux-arm64"
	MuslARM64  Library = "linux-musl-arm64"
)

// Of returns the build for a machine, as .NET calls it, and its C library.
func Of(machine string, musl bool) Library {
	if musl {
		return Library("linux-musl-" + machine)
	}
	return Library("linux-" + machine)
}

// machines are what .NET calls the machines that Go has other names for.
var machines = map[string]string{"amd64": "x64"}

// MachineHere returns the machine that this clrprof is for, as .NET calls it.
func MachineHere() string {
	if name, ok := machines[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}

// Machine returns the machine that a build is for, as .NET calls it.
func (l Library) Machine() string { return string(l)[strings.LastIndex(string(l), "-")+1:] }

// Libc returns the C library of the processes that a build is for.
func (l Library) Libc() string {
	if strings.Contains(string(l), "-musl-") {
		return "musl"
	}
	return "glibc"
}

// Bytes returns a build of the agent.
func Bytes(l Library) ([]byte, error) {
	b, err := lib.ReadFile("lib/" + prefix + string(l) + suffix)
	if err != nil {
		return nil, fmt.Errorf("%w for %s: build it with `make build`, where there is %s", ErrMissing, l, l.compiler())
	}
	return b, nil
}

// compiler is what builds the agent.
func (l Library) compiler() string {
	if l.Machine() == "arm64" {
		return "aarch64-linux-gnu-gcc"
	}
	return "gcc"
}

// prefix and suffix are what the names of agents begin and end with.
const (
	prefix = "libclrprof-"
	suffix = ".so"
)

// IsAgent says whether a file of that name is one that Extract wrote.
func IsAgent(name string) bool {
	return strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// FileName is the name of a build of the agent in a directory for all users.
func FileName(l Library) string { return prefix + string(l) + suffix }

// NameByContent is the name of a file with this agent where agents of several versions lie: it holds the agent's hash.
func NameByContent(agent []byte) string {
	sum := sha256.Sum256(agent)
	return prefix + hex.EncodeToString(sum[:8]) + suffix
}

// Copy writes a build of the agent into a directory for all users, which is made if need be, and returns its path. A
// process that has the one before loaded keeps it. The error wraps safefs.ErrForeign if another user can replace what
// is in the directory: whoever loads it would run that user's code.
func Copy(l Library, directory string) (path string, err error) {
	b, err := Bytes(l)
	if err != nil {
		return "", err
	}
	if err := safefs.Trusted(directory); errors.Is(err, safefs.ErrForeign) {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	path, err = filepath.Abs(filepath.Join(directory, FileName(l)))
	if err != nil {
		return "", err
	}
	return path, write(path, b, 0o555)
}

// Extract writes a build of the agent where the runtime can load it and returns its path. Directories are tried in
// order; one on a file system mounted noexec is of no use, nor is one that cannot be written or that others can write:
// they could replace what the target is about to load. The file's name holds its hash: an agent that is in use is never
// overwritten.
func Extract(l Library, directories []string) (string, error) {
	b, err := Bytes(l)
	if err != nil {
		return "", err
	}
	return extract(b, directories)
}

func extract(b []byte, directories []string) (string, error) {
	name := NameByContent(b)
	var errs []error
	for _, d := range directories {
		path := filepath.Join(d, name)
		err := place(path, b)
		if err == nil {
			err = loadable(path)
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no directory to load the agent from: %w", errors.Join(errs...))
}

// place makes sure that path holds exactly b, readable by the user alone.
func place(path string, b []byte) error {
	folder := filepath.Dir(path)
	if err := trusted(folder); err != nil { // before anything is made there, and
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := errors.Join(trusted(folder), private(folder)); err != nil {
		return err
	}
	if old, err := openfile.ReadRegular(path, int64(len(b))); err == nil && bytes.Equal(old, b) {
		return nil
	}
	return write(path, b, 0o500)
}

// write writes a file of which there is always the old one or the new one. Its mode does not depend on the umask.
func write(path string, b []byte, mode os.FileMode) error {
	f, err := atomicfile.Create(path, atomicfile.Options{Mode: 0o600, Replace: true})
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(b); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return f.Publish()
}
