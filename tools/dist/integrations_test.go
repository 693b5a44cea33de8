package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// usesIntegrations is a project that takes all packages of integrations from a release.
const usesIntegrations = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType><TargetFramework>net10.0</TargetFramework><NoWarn>NU1603</NoWarn>
    <RestoreAdditionalProjectSources>%[1]s</RestoreAdditionalProjectSources>
  </PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Clrprof.Xunit" Version="[%[2]s]" />
    <PackageReference Include="Clrprof.BenchmarkDotNet" Version="[%[2]s]" />
  </ItemGroup>
</Project>
`

// TestIntegrations: a project builds with the packages of a release, of which one needs another, and runs. They name the
// commit and no folder of the machine that built them, and have the same bytes if they are built in another folder.
func TestIntegrations(t *testing.T) {
	dotnettest.NotQuick(t, "it runs real builds")
	dotnettest.NeedSDK(t)
	for _, kv := range withSDK(t.TempDir(), os.Getenv("PATH")) {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	one, two := packIntegrations(t), packIntegrations(t)
	for _, name := range names(t, one) {
		if !bytes.Equal(readFile(t, filepath.Join(one, name)), readFile(t, filepath.Join(two, name))) {
			t.Errorf("%s differs", name)
		}
	}
	f := newFeed(t, one)
	p := filepath.Join(f.home, "user")
	for name, text := range map[string]string{"User.csproj": fmt.Sprintf(usesIntegrations, one, f.version),
		"Program.cs": `System.Console.WriteLine(Clrprof.Control.Profile.Mark("m") + " " +
			typeof(Clrprof.Xunit.AllocationBudgetAttribute).Name + " " +
			typeof(Clrprof.BenchmarkDotNet.ClrprofDiagnoserAttribute).Name);`} {
		if err := errors.Join(os.MkdirAll(p, 0o755), os.WriteFile(filepath.Join(p, name), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	dotnettest.BuildAlone(t)
	cmd := f.command(f.sdk.Dotnet(), "run", "-c", "Release")
	cmd.Dir = p
	if out, err := cmd.CombinedOutput(); err != nil ||
		!strings.HasSuffix(string(out), "NotPresent AllocationBudgetAttribute ClrprofDiagnoserAttribute\n") {
		t.Errorf("%v\n%s", err, out)
	}
	for id, library := range map[string]string{"Clrprof.Control": "lib/netstandard2.0/", "Clrprof.Xunit": "lib/net8.0/",
		"Clrprof.BenchmarkDotNet": "lib/net8.0/"} {
		files := unzipped(t, filepath.Join(one, id+"."+f.version+".nupkg"))
		dll := files[library+id+".dll"]
		if !bytes.Contains(dll, []byte("/_/integrations/")) || bytes.Contains(dll, []byte(stagePrefix)) {
			t.Errorf("%s names folders of the machine that built it", id)
		}
		if len(files[library+id+".xml"]) == 0 || len(files["README.md"]) == 0 || len(files["LICENSE.txt"]) == 0 {
			t.Errorf("%s has %v", id, slices.Sorted(maps.Keys(files)))
		}
		if nuspec := files[id+".nuspec"]; !bytes.Contains(nuspec, []byte(`commit="`)) ||
			!bytes.Contains(nuspec, []byte("<version>"+f.version+"</version>")) {
			t.Errorf("%s", nuspec)
		}
	}
}

// packIntegrations makes the packages of a release, and a file that is named as its archive of sources.
func packIntegrations(t *testing.T) string {
	t.Helper()
	stage, err := os.MkdirTemp(t.TempDir(), stagePrefix)
	if err != nil {
		t.Fatal(err)
	}
	r := &release{origin: origin{version: "1.2.3-dev.g0123456789ab", commit: strings.Repeat("0123456789", 4),
		time: time.Unix(1_800_000_000, 0).UTC()}, out: t.TempDir(), stage: stage}
	if err := r.write("clrprof-"+r.version+"-src.tar.gz", nil); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	if err := r.integrationPackages(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	if len(names(t, r.out)) != 1+len(projects) || r.sdk == "" {
		t.Fatalf("the SDK %q has made %v", r.sdk, names(t, r.out))
	}
	return r.out
}
