package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

// launcher is where the program is that starts clrprof for older SDKs; "make hook" makes it of launcher/Launcher.cs.
const launcher = "tools/dist/launcher/Clrprof.Launcher.dll"

// Names of the tool's packages. The SDK of .NET 10 reads in the first one which package has the binary for its machine.
// Older SDKs know nothing of that: for them one package has the binaries of all machines.
const (
	toolID    = "clrprof"
	olderTool = toolID + ".any"
)

// toolID is the package with the binary for a machine alone.
func (m machine) toolID() string { return toolID + ".linux-" + m.name }

// Folders in the packages. An SDK takes the newest framework that it knows.
const (
	ofManaged = "tools/net8.0/any/"  // what starts the binary for older SDKs
	ofPointer = "tools/net10.0/any/" // which package has the binary for which machine
)

// ofNative is the folder with the binary for a machine. An SDK takes the machine that is the nearest to its own; .NET
// calls linux-x64 near to linux-musl-x64, too, and the binary needs no C library.
func (m machine) ofNative() string { return "tools/net10.0/linux-" + m.name + "/" }

// Settings of the tool for each of them. SDKs before 10 know only version 1, and only programs that dotnet runs.
const (
	nativeSettings = `<?xml version="1.0" encoding="utf-8"?>
<DotNetCliTool Version="2">
  <Commands>
    <Command Name="clrprof" EntryPoint="clrprof" Runner="executable" />
  </Commands>
</DotNetCliTool>
`
	managedSettings = `<?xml version="1.0" encoding="utf-8"?>
<DotNetCliTool Version="1">
  <Commands>
    <Command Name="clrprof" EntryPoint="Clrprof.Launcher.dll" Runner="dotnet" />
  </Commands>
</DotNetCliTool>
`
	pointerSettings = `<?xml version="1.0" encoding="utf-8"?>
<DotNetCliTool Version="2">
  <Commands>
    <Command Name="clrprof" />
  </Commands>
  <RuntimeIdentifierPackages>
%s  </RuntimeIdentifierPackages>
</DotNetCliTool>
`
	// pointer is a line of it.
	pointer = `    <RuntimeIdentifierPackage RuntimeIdentifier="%s" Id="%s" />
`
	// runtimeConfig has the launcher start quickly, on whichever .NET from 8 on there is.
	runtimeConfig = `{
  "runtimeOptions": {
    "tfm": "net8.0",
    "framework": { "name": "Microsoft.NETCore.App", "version": "8.0.0" },
    "rollForward": "Major",
    "configProperties": { "System.Globalization.Invariant": true, "System.Runtime.TieredPGO": false }
  }
}
`
	contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml" />
  <Default Extension="nuspec" ContentType="application/octet" />
  <Default Extension="xml" ContentType="application/octet" />
  <Default Extension="json" ContentType="application/octet" />
  <Default Extension="dll" ContentType="application/octet" />
  <Default Extension="md" ContentType="application/octet" />
  <Default Extension="txt" ContentType="application/octet" />
%s</Types>
`
	// contentType is a line of it for a file without an extension.
	contentType = `  <Override PartName="/%s" ContentType="application/octet" />
`
	relationships = `<?xml version="1.0" encoding="utf-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
  <Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/%s.nuspec" Id="R1" />
</Relationships>
`
)

// toolReadme is what a registry shows of the package.
const toolReadme = `# clrprof

An exact profiler for .NET on Linux: it counts every allocation, with its type, size, thread, stack and lifetime, or every
call and its time.

    dotnet tool install -g clrprof
    clrprof run -- dotnet app.dll

With the SDK of .NET 10, without installing it: ` + "`dnx clrprof run -- dotnet app.dll`" + `. With the SDKs of .NET 8 and 9 the
package is ` + "`" + olderTool + "`" + `. Linux on x64 or arm64, glibc or musl. On arm64 it was tried with an emulator only.
`

// dotnetTool writes the NuGet packages of the tool.
func (r *release) dotnetTool() error {
	managed, err := os.ReadFile(launcher)
	if err != nil {
		return fmt.Errorf("reading the launcher: %w", err)
	}
	older := []file{
		{path: ofManaged + toolSettings, content: []byte(managedSettings)},
		{path: ofManaged + "Clrprof.Launcher.dll", content: managed},
		{path: ofManaged + "Clrprof.Launcher.runtimeconfig.json", content: []byte(runtimeConfig)},
	}
	// Without binaries the launcher says which package has them.
	first := slices.Clone(older)
	pointers := ""
	for _, t := range r.targets {
		native := []file{{path: t.ofNative() + toolSettings, content: []byte(nativeSettings)},
			{path: t.ofNative() + "clrprof", content: t.binary, mode: 0o755}}
		older = append(older, native...)
		native = append(native, file{path: noticesName, content: notices(t.licences)})
		if err := r.writePackage(t.toolID(), "DotnetToolRidPackage", native); err != nil {
			return err
		}
		for _, l := range agentbin.Libraries() { // a name for each C library: the binary is for all
			if l.Machine() == t.name {
				pointers += fmt.Sprintf(pointer, l, t.toolID())
			}
		}
	}
	var all []file
	for _, t := range r.targets {
		all = append(all, t.licences...)
	}
	older = append(older, file{path: noticesName, content: notices(all)})
	if err := r.writePackage(olderTool, "DotnetTool", older); err != nil {
		return err
	}
	first = append(first, file{path: ofPointer + toolSettings, content: fmt.Appendf(nil, pointerSettings, pointers)})
	return r.writePackage(toolID, "DotnetTool", first)
}

// Files in the tool's packages.
const (
	toolSettings = "DotnetToolSettings.xml"
	noticesName  = "THIRD-PARTY-NOTICES.txt"
)

// writePackage writes a package of the tool, with what all of them have.
func (r *release) writePackage(id, kind string, files []file) error {
	nuspec, err := r.nuspec(id, kind)
	if err != nil {
		return err
	}
	return r.writeNuGet(id, nuspec, append([]file{{path: "README.md", content: []byte(toolReadme)}}, files...))
}

// writeNuGet writes a NuGet package: its manifest, the licence, and the files.
func (r *release) writeNuGet(id string, nuspec []byte, files []file) error {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return fmt.Errorf("reading the licence: %w", err)
	}
	binaries := ""
	for _, f := range files {
		if path.Ext(f.path) == "" {
			binaries += fmt.Sprintf(contentType, f.path)
		}
	}
	return r.writeZip(id+"."+r.version+".nupkg", append([]file{
		{path: id + ".nuspec", content: nuspec},
		{path: "[Content_Types].xml", content: fmt.Appendf(nil, contentTypes, binaries)},
		{path: "_rels/.rels", content: fmt.Appendf(nil, relationships, id)},
		{path: "LICENSE.txt", content: own},
	}, files...))
}

// notices returns licences as one text, each once.
func notices(licences []file) []byte {
	texts := map[string][]byte{}
	for _, l := range licences {
		texts[l.path] = l.content
	}
	var all bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&all, "---- %s\n\n%s\n\n", strings.TrimPrefix(path, docFolder+"licences/"),
			bytes.TrimSpace(texts[path]))
	}
	return all.Bytes()
}

// nuspec returns the manifest of a package of the tool.
func (r *release) nuspec(id, kind string) ([]byte, error) {
	type packageType struct {
		Name string `xml:"name,attr"`
	}
	type metadata struct {
		ID      string `xml:"id"`
		Version string `xml:"version"`
		Authors string `xml:"authors"`
		License struct {
			Type string `xml:"type,attr"`
			Is   string `xml:",chardata"`
		} `xml:"license"`
		ProjectURL  string        `xml:"projectUrl"`
		Readme      string        `xml:"readme"`
		Description string        `xml:"description"`
		Tags        string        `xml:"tags"`
		Types       []packageType `xml:"packageTypes>packageType"`
		Repository  struct {
			Type   string `xml:"type,attr"`
			URL    string `xml:"url,attr"`
			Commit string `xml:"commit,attr"`
		} `xml:"repository"`
	}
	m := metadata{ID: id, Version: r.version, Authors: "The clrprof authors", ProjectURL: homepage,
		Readme: "README.md", Description: description, Tags: "profiler allocations memory performance linux",
		Types: []packageType{{kind}}}
	m.License.Type, m.License.Is = "expression", "MIT"
	m.Repository.Type, m.Repository.URL, m.Repository.Commit = "git", homepage, r.commit
	b, err := xml.MarshalIndent(struct {
		XMLName  xml.Name `xml:"http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd package"`
		Metadata metadata `xml:"metadata"`
	}{Metadata: m}, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

// writeZip writes an archive that depends on nothing but its files and the time of the commit.
func (r *release) writeZip(name string, files []file) error {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: r.time}
		if f.mode == 0 {
			f.mode = 0o644
		}
		h.SetMode(os.FileMode(f.mode))
		w, err := archive.CreateHeader(h)
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return r.write(name, b.Bytes())
}
