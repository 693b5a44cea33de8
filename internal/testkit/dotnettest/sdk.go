package dotnettest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// oldestSDK is the first version of the SDK whose compiler tests ask for: C# 14.
const oldestSDK = 10

// SDK is an SDK of the machine: compilers of C#, F# and VB, MSBuild, and the
// commands of dotnet, such as build and test.
type SDK struct {
	Version string // such as "10.0.401"
	Root    string // DOTNET_ROOT, with all the runtimes that are there
}

// NewestSDK returns the newest SDK, of 10 or later, of the machine and of the
// directories named in CLRPROF_TEST_DOTNET.
func (in *Install) NewestSDK() (SDK, bool) {
	if in.newestSDK == nil {
		return SDK{}, false
	}
	return *in.newestSDK, true
}

// Major returns the first part of the version, such as 10.
func (s SDK) Major() int { return parseVersion(s.Version)[0] }

// Dotnet returns the path of the dotnet executable.
func (s SDK) Dotnet() string { return filepath.Join(s.Root, "dotnet") }

// Dir returns the directory of the SDK, with MSBuild.dll.
func (s SDK) Dir() string { return filepath.Join(s.Root, "sdk", s.Version) }

// Env returns the environment for commands of the SDK, in which home is the
// user's directory and that of temporary files, of which each build leaves some:
// nothing is read from or written to the real one, and no server of a build stays
// behind. Packages come from where NuGet.Config in the root says, if it has one;
// it is that of an installation that needs no network.
func (s SDK) Env(home string, extra ...string) []string {
	env := slices.DeleteFunc(newRuntime("", s.Root).Env(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "MSBUILD") || strings.HasPrefix(name, "NUGET_") ||
			slices.Contains([]string{"HOME", "PATH", "RestoreConfigFile"}, name)
	})
	_ = os.MkdirAll(home, 0o755) // else the SDK makes it, or says why it cannot
	env = append(env,
		"HOME="+home,
		"TMPDIR="+home,
		"PATH="+s.Root+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"DOTNET_CLI_HOME="+home,
		"DOTNET_GENERATE_ASPNET_CERTIFICATE=false",
		"DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=true",
		"DOTNET_CLI_USE_MSBUILD_SERVER=0",
		"MSBUILDDISABLENODEREUSE=1",
		"UseSharedCompilation=false",
		"NuGetAudit=false",
	)
	if config := filepath.Join(s.Root, "NuGet.Config"); exists(config) {
		env = append(env, "RestoreConfigFile="+config)
	}
	return append(env, extra...)
}

// compiler returns the path of a language's compiler.
func (s SDK) compiler(l language) string {
	switch l {
	case fsharp:
		return filepath.Join(s.Dir(), "FSharp", "fsc.dll")
	case visualBasic:
		return filepath.Join(s.Dir(), "Roslyn", "bincore", "vbc.dll")
	default:
		return filepath.Join(s.Dir(), "Roslyn", "bincore", "csc.dll")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
