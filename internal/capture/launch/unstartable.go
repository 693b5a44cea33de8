package launch

import (
	"bytes"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binaryHead is how much of a file without a known format decides whether it is text, as shells look at it.
const binaryHead = 80

// explain says why there is no such command, in the words of a shell where these tell all, and what the user may have
// meant.
func (o Options) explain(err error) error {
	command := o.Command[0]
	info, statErr := os.Stat(command)
	isFile := statErr == nil && info.Mode().IsRegular()
	switch {
	case isFile && whatToRun(command) != "":
		return fmt.Errorf("%w: %s", ErrStart, whatToRun(command))
	case statErr == nil && info.IsDir():
		return fmt.Errorf("%w: %s is a directory", ErrStart, command)
	case errors.Is(err, exec.ErrNotFound) && isFile && info.Mode()&0o111 != 0:
		return fmt.Errorf("%w: %s: command not found: the file here is ./%[2]s", ErrStart, command)
	case errors.Is(err, exec.ErrNotFound) && isFile:
		return fmt.Errorf("%w: %s: command not found: the file here is not executable (chmod +x %[2]s, then ./%[2]s)",
			ErrStart, command)
	case errors.Is(err, exec.ErrNotFound) && isAssemblyName(command), errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s: no such file", ErrStart, command)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: %s: command not found", ErrStart, command)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s: permission denied: it is not executable", ErrStart, command)
	}
	return fmt.Errorf("%w: %w", ErrStart, err)
}

func isAssemblyName(path string) bool { return strings.EqualFold(filepath.Ext(path), ".dll") }

// whatToRun says of a file that is no command, but something that dotnet runs, how that is done; or why it is not.
// "": it is nothing of the kind.
func whatToRun(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".dll":
		if why := unrunnable(path); why != "" {
			return why
		}
		return fmt.Sprintf("%s is an assembly, which dotnet runs: clrprof run dotnet %[1]s", path)
	case ".csproj", ".fsproj", ".vbproj":
		return fmt.Sprintf("%s is a project, which dotnet builds and runs: clrprof run dotnet run --project %[1]s", path)
	case ".sln", ".slnx":
		return path + " is a solution, of which dotnet runs one project: clrprof run dotnet run --project PROJECT"
	case ".cs":
		return fmt.Sprintf("%s is source code, which dotnet runs from .NET 10 on: clrprof run dotnet run %[1]s", path)
	case ".fsx":
		return fmt.Sprintf("%s is a script of F#, which dotnet runs: clrprof run dotnet fsi %[1]s", path)
	}
	return ""
}

// unrunnable says why dotnet cannot run a file with the name of an assembly; "" if nothing speaks against it.
func unrunnable(path string) string {
	if !isAssembly(path) {
		return path + " is not a .NET assembly, so dotnet cannot run it"
	}
	config := strings.TrimSuffix(path, filepath.Ext(path)) + ".runtimeconfig.json"
	if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s is an assembly without %s, so dotnet cannot run it: it is a library, or the program "+
			"is in the folder where it was built", path, filepath.Base(config))
	}
	return ""
}

// comDescriptor is the entry of an image's directory that managed code has (ECMA-335 II.25.2.3.3).
const comDescriptor = 14

// isAssembly says whether a file is an image with managed code. One that has the first bytes of an image and cannot be
// read further passes for one: dotnet has more to say of it.
func isAssembly(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	var magic [2]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || magic != [2]byte{'M', 'Z'} {
		return false
	}
	image, err := pe.NewFile(f)
	if err != nil {
		return true
	}
	switch h := image.OptionalHeader.(type) {
	case *pe.OptionalHeader32:
		return h.DataDirectory[comDescriptor].Size != 0
	case *pe.OptionalHeader64:
		return h.DataDirectory[comDescriptor].Size != 0
	}
	return true
}

// checkText refuses what the kernel does not run and a shell would not either: it has more than text.
func checkText(path string) error {
	if isAssemblyName(path) {
		return fmt.Errorf("%w: %s", ErrStart, whatToRun(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // the shell says why
	}
	defer f.Close()
	head := make([]byte, binaryHead)
	n, _ := io.ReadFull(f, head)
	if bytes.IndexByte(head[:n], 0) < 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is not a program, or one for another system", ErrStart, path)
}
