package dotnettest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Runtime is one .NET runtime to run programs on.
type Runtime struct {
	Name   string // version, such as "9.0.7"
	Root   string // DOTNET_ROOT
	Dotnet string // path of the dotnet executable
	own    bool   // the machine's own, whose root can hold several versions
}

// Runtimes returns 9.0.7, 3.1.2 and, if the machine has its own dotnet with a
// runtime of 6 or later, the newest one of that.
func (in *Install) Runtimes() []Runtime {
	rs := []Runtime{in.Net9(), in.Net31()}
	if own, ok := ownRuntime(); ok {
		rs = append(rs, own)
	}
	return rs
}

// Net9 returns the 9.0.7 runtime.
func (in *Install) Net9() Runtime {
	return Runtime{Name: version9, Root: in.Root9(), Dotnet: filepath.Join(in.Root9(), "dotnet")}
}

// Net31 returns the 3.1.2 runtime.
func (in *Install) Net31() Runtime {
	return Runtime{Name: version3, Root: in.Root31(), Dotnet: filepath.Join(in.Root31(), "dotnet")}
}

// Env returns the environment for programs on 9.0.7.
func (in *Install) Env(extra ...string) []string { return in.Net9().Env(extra...) }

// Major returns the first part of the version, such as 9, or 0.
func (r Runtime) Major() int { return major(r.Name) }

// Args returns the command line that runs a program, to be followed by the
// program's own arguments.
func (r Runtime) Args(dll string, args ...string) []string {
	argv := []string{r.Dotnet}
	if r.own {
		argv = append(argv, "--fx-version", r.Name)
	}
	return append(append(argv, dll), args...)
}

// Env returns this process's environment with what a program on the runtime
// needs, and then extra ("NAME=value"). Settings of .NET that this process has,
// such as of a profiler, are not passed on: they would make tests depend on the
// shell that started them.
func (r Runtime) Env(extra ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc([]string{"DOTNET_", "COMPlus_", "CORECLR_", "COR_", "COREHOST_", "CLRPROF_"},
			func(prefix string) bool { return strings.HasPrefix(kv, prefix) })
	})
	env = append(env,
		"DOTNET_ROOT="+r.Root,
		"DOTNET_MULTILEVEL_LOOKUP=0",
		"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1", // no ICU
		"DOTNET_CLI_TELEMETRY_OPTOUT=1",
		"DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1",
		"DOTNET_NOLOGO=1",
	)
	return append(env, extra...)
}

// Command returns a command that runs a program in the runtime's environment.
func (r Runtime) Command(dll string, args ...string) *exec.Cmd {
	argv := r.Args(dll, args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = r.Env()
	return cmd
}

// ownRuntime finds the machine's dotnet, in DOTNET_ROOT or on the PATH.
func ownRuntime() (Runtime, bool) {
	dotnet := filepath.Join(os.Getenv("DOTNET_ROOT"), "dotnet")
	if fi, err := os.Stat(dotnet); os.Getenv("DOTNET_ROOT") == "" || err != nil || fi.IsDir() {
		if dotnet, err = exec.LookPath("dotnet"); err != nil {
			return Runtime{}, false
		}
	}
	dotnet, err := filepath.EvalSymlinks(dotnet)
	if err != nil {
		return Runtime{}, false
	}
	out, err := exec.Command(dotnet, "--list-runtimes").Output()
	if err != nil {
		return Runtime{}, false
	}
	version := newestRuntime(out)
	return Runtime{Name: version, Root: filepath.Dir(dotnet), Dotnet: dotnet, own: true}, version != ""
}

// newestRuntime returns the last Microsoft.NETCore.App of at least 6 in the
// output of "dotnet --list-runtimes", which is sorted; "" if there is none.
// Previews are left out.
func newestRuntime(list []byte) string {
	newest := ""
	for line := range bytes.Lines(list) {
		f := strings.Fields(string(line))
		if len(f) >= 2 && f[0] == "Microsoft.NETCore.App" && major(f[1]) >= 6 && !strings.Contains(f[1], "-") {
			newest = f[1]
		}
	}
	return newest
}

func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}
