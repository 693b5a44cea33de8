package dotnettest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// maxPublished bounds the published programs that are kept; a self-contained one
// has 15 to 70 MB. A run of all tests makes 19: were fewer kept, each would be
// gone before the next run asks for it. There is room for those of two checkouts.
const maxPublished = 40

// projectText is the project file of a published program. Warnings are about what
// trimming and single files forbid; tests find that out by themselves.
const projectText = `<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <AssemblyName>%s</AssemblyName>
    <EnableDefaultCompileItems>false</EnableDefaultCompileItems>
    <InvariantGlobalization>true</InvariantGlobalization>
    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
    <TreatWarningsAsErrors>false</TreatWarningsAsErrors>
    <WarningLevel>0</WarningLevel>
  </PropertyGroup>
  <ItemGroup>
%s  </ItemGroup>
</Project>
`

// Publish runs "dotnet publish" for linux-x64 with these properties, each as
// "Name=value", and returns the executable. Sources are as of Compile, all of C#.
// Results are cached by a hash of all that goes in, from whatever checkout.
func (in *Install) Publish(sdk SDK, name string, sources []string, properties ...string) (exe string, err error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("publishing %s: %w", name, err) }
	files, _, err := sourceFiles(sources)
	if err == nil {
		files, err = in.kept(files)
	}
	if err != nil {
		return fail(err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %q\n%s\n", compileVersion, sdk.Version, properties, projectText)
	var items strings.Builder
	for _, f := range files { // whose paths say what they contain
		fmt.Fprintf(h, "%s\n", f)
		fmt.Fprintf(&items, "    <Compile Include=%q />\n", f)
	}
	dir := filepath.Join(in.cache, "published", hex.EncodeToString(h.Sum(nil)[:16]))
	exe = filepath.Join(dir, name)
	if exists(exe) {
		return exe, touch(dir)
	}
	if err := sdk.publishInto(dir, name, fmt.Sprintf(projectText, name, items.String()), properties); err != nil {
		return fail(err)
	}
	return exe, prune(filepath.Dir(dir), maxPublished)
}

// publishInto publishes a project into a temporary directory and renames it.
func (s SDK) publishInto(dir, name, project string, properties []string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	path := filepath.Join(tmp, name+".csproj")
	if err := os.WriteFile(path, []byte(project), 0o644); err != nil {
		return err
	}
	out := filepath.Join(tmp, "out")
	args := []string{"publish", path, "-c", "Release", "-r", "linux-x64", "-o", out}
	for _, p := range properties {
		args = append(args, "-p:"+p)
	}
	cmd := exec.Command(s.Dotnet(), args...)
	cmd.Env = s.Env(filepath.Join(tmp, "home"))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running dotnet publish: %w\n%s", err, bytes.TrimSpace(text))
	}
	if err := os.Rename(out, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
