package launch

import (
	"bufio"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

// maxInterpreters is how many scripts may run each other: as many as Linux allows (BINPRM_MAX_RECURSION).
const maxInterpreters = 5

// maxShebang is the longest first line of a script that Linux reads (BINPRM_BUF_SIZE).
const maxShebang = 256

// emulator is what the names of QEMU's programs that run those of arm64 begin with: qemu-aarch64-static is one.
const emulator = "qemu-aarch64"

// dotnetMachines are what .NET calls the machines that executables are for.
var dotnetMachines = map[elf.Machine]string{elf.EM_X86_64: "x64", elf.EM_AARCH64: "arm64"}

// loaders are those of glibc and musl on each machine, by their own conventions (System V ABI, AMD64 supplement, 5.2.1;
// System V ABI for the Arm 64-bit architecture, 9.1).
var loaders = map[string]struct{ glibc, musl string }{
	"x64":   {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"},
	"arm64": {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"},
}

// libraryFor returns the build of the agent for the machine and the C library of an executable, which are those of what
// it starts, too. The library is known by the loader that the executable names; a script's is that of its interpreter,
// an emulator's that of the program that it runs. What names none, such as a static program, or is for a machine that
// no agent is for, is taken to start programs of this machine.
func libraryFor(path string, args []string) agentbin.Library {
	if strings.HasPrefix(filepath.Base(path), emulator) {
		return emulated(args)
	}
	for range maxInterpreters {
		if loader, machine := interpreter(path); loader != "" && machine != "" {
			return agentbin.Of(machine, strings.HasPrefix(filepath.Base(loader), "ld-musl-"))
		}
		next := scriptInterpreter(path)
		if next == "" {
			break
		}
		path = next
	}
	return libraryOf(os.DirFS("/").Open)
}

// emulated returns the build for what an emulator runs: the first of its arguments that is a program of its machine.
func emulated(args []string) agentbin.Library {
	for _, a := range args {
		if loader, machine := interpreter(a); machine == "arm64" {
			return agentbin.Of(machine, strings.HasPrefix(filepath.Base(loader), "ld-musl-"))
		}
	}
	return agentbin.GlibcARM64
}

// LibraryHere returns the build of the agent for this machine's C library.
func LibraryHere() agentbin.Library { return libraryOf(os.DirFS("/").Open) }

// scriptInterpreter returns what runs a script, also where its first line asks /usr/bin/env for it; "" if there is no
// such line.
func scriptInterpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxShebang)).ReadString('\n') // the last line may have no end
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" && len(words) > 1 {
		if found, err := exec.LookPath(words[1]); err == nil {
			return found
		}
	}
	return words[0]
}

// libraryOf returns the build for a machine whose files open opens, by its loaders: glibc where there are both.
func libraryOf[F io.Closer](open func(string) (F, error)) agentbin.Library {
	here := agentbin.MachineHere()
	for _, musl := range []bool{false, true} {
		loader := loaders[here].glibc
		if musl {
			loader = loaders[here].musl
		}
		if f, err := open(strings.TrimPrefix(loader, "/")); err == nil {
			_ = f.Close() // nothing was read
			return agentbin.Of(here, musl)
		}
	}
	return agentbin.Of(here, false)
}
