package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// integrations is the folder with the projects of the packages for programs, tests and benchmarks.
const integrations = "integrations"

// projects are the folders of these projects. A package may need another one, which has the same version.
var projects = []string{"control", "xunit", "benchmarkdotnet"}

// isSDK finds an SDK that can build them in what "dotnet --list-sdks" prints: .NET 8 or later.
var isSDK = regexp.MustCompile(`(?m)^([89]|[1-9][0-9]+)\.`)

// hasSDK reports whether dotnet on the PATH has an SDK for the integrations.
func hasSDK() bool {
	if _, err := exec.LookPath("dotnet"); err != nil {
		return false
	}
	listed, err := dotnet(".", "--list-sdks")
	return err == nil && isSDK.MatchString(listed)
}

// dotnet runs a command of the SDK in a folder. It leaves no server of a build behind.
func dotnet(folder string, args ...string) (string, error) {
	cmd := exec.Command("dotnet", args...)
	cmd.Dir = folder
	cmd.Env = append(environment(), "DOTNET_CLI_TELEMETRY_OPTOUT=1", "DOTNET_NOLOGO=1", "DOTNET_CLI_UI_LANGUAGE=en",
		"DOTNET_GENERATE_ASPNET_CERTIFICATE=false", "DOTNET_CLI_USE_MSBUILD_SERVER=0", "MSBUILDDISABLENODEREUSE=1",
		"UseSharedCompilation=false")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("dotnet %s: %w\n%s", args[0], err, out)
	}
	return string(out), nil
}

// integrationPackages writes the NuGet packages of the integrations. They are built in a folder of their own, whose
// path is not in what is built. Without an SDK there are none.
func (r *release) integrationPackages() error {
	if !hasSDK() {
		return nil
	}
	folder := filepath.Join(r.stage, integrations)
	if err := copyProjects(folder); err != nil {
		return err
	}
	version, err := dotnet(folder, "--version")
	if err != nil {
		return err
	}
	r.sdk = strings.TrimSpace(version)
	packed := filepath.Join(r.stage, "packages")
	for _, project := range projects {
		_, err := dotnet(folder, "pack", project, "--nologo", "-c", "Release", "-o", packed, "-p:Version="+r.version,
			"-p:SourceRevisionId="+r.commit, "-p:PathMap="+folder+"=/_/"+integrations, "-p:RepositoryType=git",
			"-p:RepositoryUrl="+homepage, "-p:RepositoryCommit="+r.commit, "-p:PackageProjectUrl="+homepage,
			"-p:EnableSourceControlManagerQueries=false",
			"-p:NuGetAudit=false") // what a feed says today changes nothing
		if err != nil {
			return fmt.Errorf("%s (a release without it: dotnet not on the PATH): %w", project, err)
		}
	}
	names, err := filepath.Glob(filepath.Join(packed, "*.nupkg"))
	if err != nil {
		return err
	}
	if len(names) != len(projects) {
		return fmt.Errorf("dotnet pack has made %v of %v", names, projects)
	}
	for _, name := range names {
		if err := r.repack(name); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

// copyProjects copies the projects without what builds and samples left in them.
func copyProjects(to string) error {
	files, err := read(integrations, "")
	if err != nil {
		return fmt.Errorf("reading %s: %w", integrations, err)
	}
	for _, f := range files {
		folders := strings.Split(f.path, "/")
		if slices.Contains(folders, "bin") || slices.Contains(folders, "obj") {
			continue
		}
		path := filepath.Join(to, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", f.path, err)
		}
	}
	return nil
}

// repack writes a package that dotnet made anew: without times, random names, and the version of what packed it.
func (r *release) repack(name string) error {
	packed, err := zip.OpenReader(name)
	if err != nil {
		return err
	}
	defer packed.Close()
	id := strings.TrimSuffix(filepath.Base(name), "."+r.version+".nupkg")
	nuspec, err := fs.ReadFile(packed, id+".nuspec")
	if err != nil {
		return err
	}
	var files []file
	for _, f := range packed.File {
		if f.Name != "README.md" && !strings.HasPrefix(f.Name, "lib/") {
			continue // the manifest, or what writeNuGet writes
		}
		content, err := unpack(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		files = append(files, file{path: f.Name, content: content})
	}
	return r.writeNuGet(id, nuspec, sorted(files))
}

func unpack(f *zip.File) ([]byte, error) {
	from, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(from)
}
