package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestTotalCompiler does as TestTotal with the C# compiler.
func TestTotalCompiler(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	in := dotnettest.Need(t)
	source, err := in.Large(1500)
	if err != nil {
		t.Fatal(err)
	}
	for _, runtime := range in.Runtimes() {
		if runtime.Major() < 5 {
			continue // it needs an OpenSSL of its time
		}
		t.Run(runtime.Name, func(t *testing.T) {
			args, err := in.CompilerCommand(runtime, []string{source}, filepath.Join(t.TempDir(), "Large.dll"),
				dotnettest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Env = runtime.Env()
			checkTotals(t, cmd, 1)
		})
	}
}

// TestTotalWeb does so with a server with ASP.NET Core, which answers requests of its own.
func TestTotalWeb(t *testing.T) {
	t.Parallel()
	in, _ := dotnettest.NeedSDK(t)
	for _, runtime := range in.Runtimes() {
		if runtime.Major() < 8 {
			continue
		}
		t.Run(runtime.Name, func(t *testing.T) {
			checkTotals(t,
				runtime.Command(dotnettest.Target(t, "TotalWeb",
					dotnettest.Options{Framework: dotnettest.Net8, Web: true}), "300"), 1)
		})
	}
}

// TestTotalAsync does so with async methods, as the compiler makes them and with those whose state the runtime itself
// keeps.
func TestTotalAsync(t *testing.T) {
	t.Parallel()
	dotnettest.NeedSDK(t)
	for _, runtime := range dotnettest.NeedRuntimes(t, 10) {
		for _, features := range [][]string{nil, {"runtime-async=on"}} {
			t.Run(strings.Join(features, " ")+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "TotalAsync",
					dotnettest.Options{Framework: dotnettest.Net10, Features: features}), "500")
				cmd.Env = append(cmd.Env, "DOTNET_RuntimeAsync=1")
				checkTotals(t, cmd, 1)
			})
		}
	}
}

// project is a console program of its directory's sources.
const project = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <LangVersion>8</LangVersion>
    <DefineConstants>$(DefineConstants);HOOK</DefineConstants>
    <AssemblyName>Boxes</AssemblyName>
    <InvariantGlobalization>true</InvariantGlobalization>
    <NoWarn>$(NoWarn);CS0649</NoWarn>
  </PropertyGroup>
</Project>
`

// makeProject makes a project of targets in a directory of the test's own.
func makeProject(t *testing.T, targets ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Boxes.csproj"), []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if err := copyFile(filepath.Join("..", "testdata", "targets", target),
			filepath.Join(dir, filepath.Base(target))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTotalBuild does so with all processes of "dotnet build".
func TestTotalBuild(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	_, sdk := dotnettest.NeedSDK(t)
	cmd := exec.Command(sdk.Dotnet(), "build", "-c", "Release")
	cmd.Dir = makeProject(t, "TotalHook/TotalHook.cs", "Boxes/Boxes.cs", "Truth.cs")
	cmd.Env = sdk.Env(t.TempDir())
	checkTotals(t, cmd, 2)
}

// TestTotalPublished does so with a program that boxes in every way, and is one file, with the runtime in it, either
// compressed or trimmed, or is precompiled. That it is trimmed takes the hook away; the program calls it itself.
func TestTotalPublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	single := []string{"SelfContained=true", "PublishSingleFile=true"}
	for _, tt := range []struct {
		name       string
		properties []string
	}{
		{"compressed", append(single[:2:2], "EnableCompressionInSingleFile=true")},
		{"trimmed", append(single[:2:2], "PublishTrimmed=true")}, // its own code, too: TrimMode is full
		{"precompiled", deliveries[0].properties},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := deliveredWith(t, "Boxes", []string{"TotalHook"}, append([]string{"LangVersion=8",
				"DefineConstants=HOOK"}, tt.properties...))
			if entries, err := os.ReadDir(filepath.Dir(cmd.Path)); err != nil ||
				tt.name != "precompiled" && len(entries) > 2 {
				t.Errorf("published are %v, %v", entries, err)
			}
			cmd.Args = append(cmd.Args, "1000")
			for _, total := range takeTotals(t, cmd, 1) {
				total.check(t)
			}
		})
	}
}
