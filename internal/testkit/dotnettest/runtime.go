package dotnettest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Runtime is one .NET runtime to run programs on.
type Runtime struct {
	Name   string // version, such as "10.0.12"
	Root   string // DOTNET_ROOT, which has this version alone
	Dotnet string // path of the dotnet executable
}

// Runtimes returns the runtimes to test on, newest first: those of the machine
// and of the directories named in CLRPROF_TEST_DOTNET, the newest of each major
// version from 6 on, and always 9.0.7. .NET Core 3.1, which has not been supported
// since 2022, is a guest: tests ask for it with Net31. In the quick suite these are
// the newest and, in one of three tests, one other.
func (in *Install) Runtimes() []Runtime { return quickly(in.runtimes) }

// EachRuntime is Runtimes in every suite: for tools, and for tests of what differs between versions, or that are what
// the quick suite sees of a runtime.
func (in *Install) EachRuntime() []Runtime { return slices.Clone(in.runtimes) }

// othersEvery is in how many tests of the quick suite one sees another runtime than the newest.
const othersEvery = 3

// quickly returns those of the runtimes, the newest first, that the quick suite uses.
func quickly(runtimes []Runtime) []Runtime {
	others := runtimes[1:]
	switch {
	case !Quick() || len(others) == 0:
		return slices.Clone(runtimes)
	case drawn(0, othersEvery) != 0:
		return slices.Clone(runtimes[:1])
	}
	return []Runtime{runtimes[0], others[drawn(1, len(others))]}
}

// Newest returns the first of Runtimes: that of tests, demo and benchmarks that
// need only one.
func (in *Install) Newest() Runtime { return in.runtimes[0] }

// NewestAndOldest returns two of Runtimes, or the only one: those of tests that do
// not depend on which versions lie between.
func (in *Install) NewestAndOldest() []Runtime {
	if len(in.runtimes) == 1 {
		return slices.Clone(in.runtimes)
	}
	return quickly([]Runtime{in.Newest(), in.runtimes[len(in.runtimes)-1]})
}

// InTurn returns those of Runtimes for the i-th of several ways to run a target: all of them for the first way, and for
// each other one the newest and one of the others in turn. So each way is seen on two runtimes, and each runtime in
// several ways. In the quick suite each other way has one runtime.
func (in *Install) InTurn(i int) []Runtime {
	others := in.runtimes[1:]
	switch {
	case i == 0 || len(others) == 0 || EveryRuntime():
		return in.Runtimes()
	case Quick():
		return oneDrawn(in.runtimes, i)
	}
	return []Runtime{in.Newest(), others[(i-1)%len(others)]}
}

// oneDrawn is one of the runtimes, in half of all cases the newest.
func oneDrawn(runtimes []Runtime, i int) []Runtime {
	at := max(0, drawn(i, 2*len(runtimes)-1)-len(runtimes)+1)
	return runtimes[at : at+1]
}

// OneInTurn returns those of the runtimes, which are the newest first, for the i-th of many runs that are alike: all of
// them for the first, and for each other one a single one, the newest and one of the others by turns. The caller counts
// so that what the runs have in common falls on both: the j-th way to run the i-th program is number i+j, and so each
// way is seen on the newest runtime with one program and on an older one with the next.
func OneInTurn(runtimes []Runtime, i int) []Runtime {
	others := runtimes[1:]
	switch {
	case i == 0 || len(others) == 0 || EveryRuntime():
		return runtimes
	case Quick():
		return oneDrawn(runtimes, i)
	case i%2 == 0:
		return runtimes[:1]
	}
	last := len(others) - 1 // the oldest first: it differs most
	at := last - i/2%len(others)
	return others[at : at+1]
}

// Net9 returns the 9.0.7 runtime.
func (in *Install) Net9() Runtime { return newRuntime(version9, in.Root9()) }

// Net31 returns the 3.1.2 runtime.
func (in *Install) Net31() Runtime { return newRuntime(version3, in.Root31()) }

func newRuntime(version, root string) Runtime {
	return Runtime{Name: version, Root: root, Dotnet: filepath.Join(root, "dotnet")}
}

// Env returns the environment for programs on the newest runtime.
func (in *Install) Env(extra ...string) []string { return in.Newest().Env(extra...) }

// Major returns the first part of the version, such as 9, or 0.
func (r Runtime) Major() int { return parseVersion(r.Name)[0] }

// Args returns the command line that runs a program, to be followed by the
// program's own arguments.
func (r Runtime) Args(dll string, args ...string) []string {
	return append([]string{r.Dotnet, dll}, args...)
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
