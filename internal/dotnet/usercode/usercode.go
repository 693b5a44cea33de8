// Package usercode decides which modules of a process are the user's own code.
//
// Problem: what people look for first is what their own code did, and a module does not say whose it is. Names do not
// tell: frameworks and packages are called anything, and some programs are called Microsoft.Something.
//
// Idea: the build tells. The file NAME.deps.json beside a program lists each assembly with its library, and the type of
// the library: project, package, runtimepack (dotnet/sdk, documentation/specs/runtime-configuration-file.md). Where
// there is no such file, the place of the assembly decides, and who made it.
//
// The rules, of which the first that fits decides; Origin has one value for each:
//
//	a pattern of --mine that matches           yours
//	below shared/NAME/VERSION                  framework
//	below sdk/VERSION                          SDK
//	in deps.json as a project                  yours
//	in deps.json as part of a runtime pack     framework
//	in deps.json as anything else              package
//	below packages/NAME/VERSION (NuGet)        package
//	an adapter of the test platform            package
//	made in memory, with a framework's name    generated
//	made in memory                             yours
//	by a company called Microsoft              Microsoft
//	in the folder of the main assembly         yours
//	elsewhere                                  elsewhere
//
// If no module of a session is yours by these rules, such as for the C# compiler, all modules in the folders of the
// main assemblies are.
//
// With times the agent must know before a module's code runs. It has the same rules
// (agent/src/metadata/code_origin.c), which a test here compares with these; what it decided is what the session says.
//
// Modules that System.Reflection.Emit makes all have one name, so the agent reports that of their assemblies.
//
// Limits: an assembly that a program loads from another folder is yours only if a deps.json says so, and what a package
// emits under a name of its own is taken for yours.
package usercode

import (
	"path"
	"strings"
)

// Origin says why a module is the user's, or what it is otherwise.
type Origin string

// Origins of modules. Those up to Folder are the user's.
const (
	Pattern   Origin = "pattern"   // --mine says so
	Project   Origin = "project"   // a project of the program's deps.json
	Beside    Origin = "beside"    // the main assembly, or beside it, and no package
	Memory    Origin = "memory"    // loaded from memory, or emitted
	Folder    Origin = "folder"    // nothing else is the user's, and it lies beside the main assembly
	Framework Origin = "framework" // of a shared framework, or the one that came with the program
	SDK       Origin = "sdk"       // of an SDK
	Package   Origin = "package"   // a NuGet package
	Generated Origin = "generated" // emitted by the framework
	Microsoft Origin = "microsoft" // Microsoft is the company in its attributes
	Elsewhere Origin = "elsewhere" // in another folder than the main assembly, or in none that is known
)

// IsUser says whether modules of the origin are the user's own code.
func (o Origin) IsUser() bool {
	switch o {
	case Pattern, Project, Beside, Memory, Folder:
		return true
	}
	return false
}

// Module is what is known about a module.
type Module struct {
	Name      string // without folder: Shop.dll; of code that was emitted, its assembly's name
	Path      string // "" or relative: in memory, or within a single file
	InMemory  bool
	Company   string // AssemblyCompanyAttribute; "": none, or unknown
	Directory string // of the main assembly of its process; "": unknown
	IsMain    bool   // it is the main assembly of its process
}

// Opener reads a file NAME.deps.json, nil if there is none.
type Opener func(path string) []byte

// Decide returns the origin of each module. mine says whether a pattern of the user's matches a module; it can be nil.
func Decide(modules []Module, open Opener, mine func(name string) bool) []Origin {
	d := decider{open: open, mine: mine, libraries: map[string]map[string]string{}}
	d.readLibraries(modules)
	out := make([]Origin, len(modules))
	found := false
	for i := range modules {
		out[i] = d.origin(&modules[i])
		found = found || out[i].IsUser()
	}
	if found {
		return out
	}
	for i, m := range modules {
		if m.IsMain || m.Directory != "" && m.Path != "" && path.Dir(m.Path) == m.Directory {
			out[i] = Folder
		}
	}
	return out
}

type decider struct {
	open      Opener
	mine      func(string) bool
	libraries map[string]map[string]string // by folder, by file name: the type of the library
}

// readLibraries reads the deps.json of each module that has one beside it: the main assembly, or that of a test.
func (d *decider) readLibraries(modules []Module) {
	for _, m := range modules {
		if m.InMemory {
			continue
		}
		file := path.Join(path.Dir(m.Path), strings.TrimSuffix(m.Name, path.Ext(m.Name))+".deps.json")
		for name, kind := range readLibraries(d.open(file)) {
			folder := d.libraries[path.Dir(m.Path)]
			if folder == nil {
				folder = map[string]string{}
				d.libraries[path.Dir(m.Path)] = folder
			}
			folder[name] = stronger(folder[name], kind) // what is a project of one program is a project
		}
	}
}

func (d *decider) origin(m *Module) Origin {
	switch kind := d.libraries[path.Dir(m.Path)][lower(m.Name)]; {
	case d.mine != nil && d.mine(m.Name):
		return Pattern
	case m.InMemory && isFrameworkName(m.Name):
		return Generated
	case m.InMemory:
		return Memory
	case below(m.Path, "shared", 2):
		return Framework
	case below(m.Path, "sdk", 1):
		return SDK
	case kind == typeProject:
		return Project
	case kind == typeRuntime:
		return Framework
	case kind != "":
		return Package
	case below(m.Path, "packages", 2), isTestAdapter(m.Path):
		return Package
	case strings.HasPrefix(m.Company, "Microsoft"):
		return Microsoft
	case m.IsMain, m.Directory != "" && path.Dir(m.Path) == m.Directory:
		return Beside
	}
	return Elsewhere
}

// below reports whether a path leads through a folder of this name and then, n levels deeper, one that is called as
// versions are: dotnet/shared/Microsoft.NETCore.App/10.0.1/System.Linq.dll is below shared, 2.
func below(file, folder string, n int) bool {
	parts := strings.Split(path.Dir(file), "/")
	for i, part := range parts {
		if strings.EqualFold(part, folder) && i+n < len(parts) && isVersion(parts[i+n]) {
			return true
		}
	}
	return false
}

// isVersion reports whether a folder is called as versions are: digits, a dot, a digit.
func isVersion(s string) bool {
	major, rest, _ := strings.Cut(s, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(major) && rest != "" && digits(rest[:1])
}

// isFrameworkName reports whether a module in memory is called as those are that the framework and well-known packages
// emit: serializers, compiled expressions, proxies.
func isFrameworkName(name string) bool {
	for _, prefix := range []string{"System.", "Microsoft.", "DynamicProxyGenAssembly", "ProxyBuilder",
		"MetadataViewProxies_", "Snippets", "Anonymously Hosted"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isTestAdapter reports whether a file is called as what packages put beside tests without saying so in deps.json:
// adapters, which the test platform finds by this name (vstest, TestPlatformConstants), and NUnit's engine.
func isTestAdapter(file string) bool {
	name := path.Base(file)
	return strings.HasSuffix(lower(name), "testadapter.dll") || strings.HasPrefix(name, "nunit.engine.") ||
		strings.HasPrefix(name, "testcentric.")
}
