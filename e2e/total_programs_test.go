package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// TestTotalCompiler does as TestTotal with the C# compiler.
func TestTotalCompiler(t *testing.T) {
	t.Parallel()
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

// project is a console program of this directory's sources, with more properties.
const project = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <LangVersion>8</LangVersion>
    <DefineConstants>$(DefineConstants);HOOK</DefineConstants>
    <AssemblyName>Boxes</AssemblyName>
    <InvariantGlobalization>true</InvariantGlobalization>
    <SatelliteResourceLanguages>en</SatelliteResourceLanguages>
    <NoWarn>$(NoWarn);CS0649;IL2026;IL2072;IL2075;IL3050</NoWarn>
    %s
  </PropertyGroup>
</Project>
`

// makeProject makes a project of a target in a directory of the test's own.
func makeProject(t *testing.T, properties string, targets ...string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(project, properties)
	if err := os.WriteFile(filepath.Join(dir, "Boxes.csproj"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		source, err := os.ReadFile(filepath.Join("..", "testdata", "targets", target))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(target)), source, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestTotalBuild does so with all processes of "dotnet build".
func TestTotalBuild(t *testing.T) {
	_, sdk := dotnettest.NeedSDK(t)
	cmd := exec.Command(sdk.Dotnet(), "build", "-c", "Release")
	cmd.Dir = makeProject(t, "", "TotalHook/TotalHook.cs", "Boxes/Boxes.cs", "Truth.cs")
	cmd.Env = sdk.Env(t.TempDir())
	checkTotals(t, cmd, 2)
}

// TestTotalPublished does so with a program that boxes in every way, and is one file, with the runtime in it, either
// compressed or trimmed, or is precompiled. That it is trimmed takes the hook away; the program calls it itself.
func TestTotalPublished(t *testing.T) {
	t.Parallel()
	_, sdk := dotnettest.NeedSDK(t)
	const single = "<RuntimeIdentifier>linux-x64</RuntimeIdentifier><SelfContained>true</SelfContained><PublishSingleFile>true</PublishSingleFile>"
	for _, p := range []struct{ name, properties string }{
		{"compressed", single + "<EnableCompressionInSingleFile>true</EnableCompressionInSingleFile>"},
		{"trimmed", single + "<PublishTrimmed>true</PublishTrimmed>"},
		{"precompiled",
			"<RuntimeIdentifier>linux-x64</RuntimeIdentifier><SelfContained>false</SelfContained><PublishReadyToRun>true</PublishReadyToRun>"},
	} {
		t.Run(p.name, func(t *testing.T) {
			dir, home := makeProject(t, p.properties, "TotalHook/TotalHook.cs", "Boxes/Boxes.cs",
				"Truth.cs"), t.TempDir()
			publish := exec.Command(sdk.Dotnet(), "publish", "-c", "Release", "-o", filepath.Join(dir, "out"))
			publish.Dir, publish.Env = dir, sdk.Env(home)
			if text, err := publish.CombinedOutput(); err != nil {
				t.Fatalf("dotnet publish: %v\n%s", err, text)
			}
			cmd := exec.Command(filepath.Join(dir, "out", "Boxes"), "1000")
			cmd.Env = sdk.Env(home)
			for _, total := range takeTotals(t, cmd, 1) {
				total.check(t)
			}
			if entries, err := os.ReadDir(filepath.Join(dir, "out")); err != nil ||
				strings.Contains(p.properties, "SingleFile") && len(entries) > 2 {
				t.Errorf("published are %v, %v", entries, err)
			}
		})
	}
}
