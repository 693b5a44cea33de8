package e2e

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

const packageConsumer = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType><TargetFramework>net10.0</TargetFramework>
    <RestoreAdditionalProjectSources>../bin/packages</RestoreAdditionalProjectSources>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Clrprof.Control" Version="0.1.0" />
    <PackageReference Include="Clrprof.Xunit" Version="0.1.0" />
    <PackageReference Include="Clrprof.BenchmarkDotNet" Version="0.1.0" />
  </ItemGroup>
</Project>
`

// TestPackages: "make packages" builds the NuGet packages; a project that takes them from there builds and runs.
func TestPackages(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs real builds")
	_, sdk := dotnettest.NeedSDK(t)
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "integrations"), os.DirFS("../integrations")); err != nil {
		t.Fatal(err)
	}
	if err := copyFile("../Makefile", filepath.Join(root, "Makefile")); err != nil {
		t.Fatal(err)
	}
	make := exec.Command("make", "packages")
	make.Dir, make.Env = root, sdk.Env(filepath.Join(root, "home"))
	if out, err := make.CombinedOutput(); err != nil {
		skipWithoutPackages(t, string(out))
		t.Fatalf("%v\n%s", err, out)
	}
	for name, wanted := range map[string]string{"Clrprof.Control": "lib/netstandard2.0/Clrprof.Control.dll",
		"Clrprof.Xunit":           "lib/net8.0/Clrprof.Xunit.dll",
		"Clrprof.BenchmarkDotNet": "lib/net8.0/Clrprof.BenchmarkDotNet.dll"} {
		files := zipped(t, filepath.Join(root, "bin/packages", name+".0.1.0.nupkg"))
		for _, f := range []string{wanted, strings.TrimSuffix(wanted, "dll") + "xml", "README.md"} {
			if !slices.Contains(files, f) {
				t.Errorf("%s has no %s: %v", name, f, files)
			}
		}
	}
	p := sdkProject{t, sdk, filepath.Join(root, "app")}
	for name, text := range map[string]string{"App.csproj": packageConsumer,
		"Program.cs": `System.Console.WriteLine(Clrprof.Control.Profile.Mark("m") + " " + typeof(Clrprof.Xunit.AllocationBudgetAttribute).Name +
			" " + typeof(Clrprof.BenchmarkDotNet.ClrprofDiagnoserAttribute).Name);`} {
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.build("Release")
	if out := p.plain("run", "--no-build", "-c", "Release"); out != "NotPresent AllocationBudgetAttribute ClrprofDiagnoserAttribute\n" {
		t.Errorf("it says %q", out)
	}
}

// zipped lists the files of an archive.
func zipped(t *testing.T, path string) []string {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var names []string
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	return names
}
