package launch

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
	"github.com/clrprof/clrprof/internal/files/openfile"
)

// maxInterpreter bounds the path of a dynamic loader: PATH_MAX.
const maxInterpreter = 4096

// Explain says in one line why no .NET runtime may have loaded the agent: what can be seen of it in the command
// and the environment, or else all that it may be.
func Explain(command, env []string) string {
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		switch strings.ToUpper(name) {
		case "DOTNET_ENABLEDIAGNOSTICS", "DOTNET_ENABLEDIAGNOSTICS_PROFILER", "COMPLUS_ENABLEDIAGNOSTICS",
			"COMPLUS_ENABLEDIAGNOSTICS_PROFILER":
			if value == "0" {
				return fmt.Sprintf("%s=0 forbids profilers: unset it", name)
			}
		}
	}
	if path, err := exec.LookPath(command[0]); err == nil {
		if why := explainBinary(path); why != "" {
			return why
		}
	}
	if filepath.Base(command[0]) == "dotnet" && len(command) > 1 && isAssemblyName(command[1]) {
		if _, err := os.Stat(command[1]); err == nil && unrunnable(command[1]) != "" {
			return unrunnable(command[1])
		}
	}
	return "the command started no .NET program, or one that is compiled with NativeAOT or runs on Mono; or it " +
		"cleared the environment, ran as another user, has DOTNET_EnableDiagnostics=0 in its runtimeconfig.json, " +
		"ended before the runtime started, or does not see " + Bases()[0] + " as clrprof does, as in a sandbox with " +
		"its own /dev/shm (bubblewrap, snap): then choose a folder that it sees by " + envBase
}

// loaderPatience is how long the loader may take to load one library: a network's file system can be slow.
const loaderPatience = 10 * time.Second

// LoaderSays is what the dynamic loader of a command, or for scripts and the like this machine's, says when it cannot
// load a library; "" if it can, or there is no such loader. .NET does not pass on these words.
func LoaderSays(command []string, library string) string {
	loader := loaders[agentbin.MachineHere()].glibc
	if path, err := exec.LookPath(command[0]); err == nil {
		if own, _ := interpreter(path); own != "" {
			loader = own
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), loaderPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, loader, "--list", library)
	cmd.Env = []string{} // nothing that makes the loader do something else
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || ctx.Err() != nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first
}

// interpreter is the dynamic loader that an executable names, or "", and the machine that it is for, as .NET calls it.
// The path can be any argument of a command, also that of a FIFO.
func interpreter(path string) (loader, machine string) {
	file, err := openfile.OpenRegular(path)
	if err != nil {
		return "", ""
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return "", ""
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > maxInterpreter {
			continue
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err == nil {
			return string(bytes.TrimRight(name, "\x00")), dotnetMachines[f.Machine]
		}
	}
	return "", dotnetMachines[f.Machine]
}

// explainBinary looks at an executable: how it is linked, and whether it is a NativeAOT program.
func explainBinary(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		if isScript(path) {
			return "the script started no .NET program with the environment that it got"
		}
		return ""
	}
	defer f.Close()
	if dotnetMachines[f.Machine] == "" {
		return fmt.Sprintf("%s is a program for %v: clrprof's agents are for x64 and arm64", path, f.Machine)
	}
	if f.Section("__managedcode") != nil {
		return path + " is compiled with NativeAOT, which has no profiling interface"
	}
	return ""
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == "#!"
}
