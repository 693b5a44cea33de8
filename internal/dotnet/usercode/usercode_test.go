package usercode

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// deps is a deps.json as the SDK writes it: a project, another one that it refers to, a package and a runtime pack.
const deps = `{"runtimeTarget": {"name": ".NETCoreApp,Version=v10.0/linux-x64"},
"targets": {".NETCoreApp,Version=v10.0": {}, ".NETCoreApp,Version=v10.0/linux-x64": {
	"Shop/1.0.0": {"dependencies": {"Newtonsoft.Json": "13.0.3"}, "runtime": {"Shop.dll": {}}},
	"Shop.Core/1.0.0": {"runtime": {"Shop.Core.dll": {"assemblyVersion": "1.0.0"}}},
	"Newtonsoft.Json/13.0.3": {"runtime": {"lib/net6.0/Newtonsoft.Json.dll": {"assemblyVersion": "13.0.0.0"}}},
	"Native.Thing/1.0.0": {"runtimeTargets": {"runtimes/unix/lib/net8.0/Native.Thing.dll": {"rid": "unix"}}},
	"runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/10.0.1": {"runtime": {"System.Linq.dll": {}}}}},
"libraries": {"Shop/1.0.0": {"type": "project"}, "Shop.Core/1.0.0": {"type": "project"},
	"Newtonsoft.Json/13.0.3": {"type": "package"}, "Native.Thing/1.0.0": {"type": "package"},
	"runtimepack.Microsoft.NETCore.App.Runtime.linux-x64/10.0.1": {"type": "runtimepack"}}}`

func reader(files map[string]string) Opener {
	return func(path string) []byte { return []byte(files[path]) }
}

func TestDecide(t *testing.T) {
	open := reader(map[string]string{"/app/Shop.deps.json": deps,
		"/usr/lib/dotnet/sdk/10.0.401/dotnet.deps.json": deps})
	app := func(name string) Module { return Module{Name: name, Path: "/app/" + name, Directory: "/app"} }
	main := app("Shop.dll")
	main.IsMain = true
	byMicrosoft := app("Microsoft.Thing.dll")
	byMicrosoft.Company = "Microsoft Corporation"
	for _, c := range []struct {
		module Module
		want   Origin
	}{
		{main, Project},
		{app("shop.core.DLL"), Project}, // file names of modules are as the program wrote them
		{app("Newtonsoft.Json.dll"), Package},
		{app("Native.Thing.dll"), Package},
		{app("System.Linq.dll"), Framework},
		{app("Plugin.dll"), Beside},
		{app("xunit.runner.visualstudio.testadapter.dll"), Package},
		{app("NUnit3.TestAdapter.dll"), Package},
		{app("nunit.engine.core.dll"), Package},
		{byMicrosoft, Microsoft},
		{Module{Name: "Plugin.dll", Path: "/app/plugins/Plugin.dll", Directory: "/app"}, Elsewhere},
		{Module{Name: "System.Runtime.dll",
			Path: "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.1/System.Runtime.dll", Directory: "/app"},
			Framework},
		{Module{Name: "shared.dll", Path: "/app/shared/code/v1/shared.dll", Directory: "/app/shared/code/v1"}, Beside},
		{Module{Name: "Shop.dll", Path: "/usr/lib/dotnet/sdk/10.0.401/Shop.dll"}, SDK},
		{Module{Name: "xunit.core.dll", Path: "/root/.nuget/packages/xunit.core/2.9.0/lib/xunit.core.dll",
			Directory: "/app"}, Package},
		{Module{Name: "FSI-ASSEMBLY", InMemory: true}, Memory},
		{Module{Name: "System.Linq.Expressions.Emitted", InMemory: true}, Generated},
		{Module{Name: "ProxyBuilder", InMemory: true}, Generated},
		{Module{Name: "My.Rules", InMemory: true}, Memory},
		{Module{Name: "DynamicProxyGenAssembly2", InMemory: true}, Generated},
	} {
		if got := Decide([]Module{main, c.module}, open, nil)[1]; got != c.want {
			t.Errorf("%s: %s, want %s", c.module.Path, got, c.want)
		}
	}
}

// TestDecideFolder: where nothing is the user's, what lies beside the main assembly is.
func TestDecideFolder(t *testing.T) {
	const roslyn = "/usr/lib/dotnet/sdk/10.0.401/Roslyn/bincore"
	modules := []Module{
		{Name: "csc.dll", Path: roslyn + "/csc.dll", Directory: roslyn, IsMain: true},
		{Name: "Microsoft.CodeAnalysis.dll", Path: roslyn + "/Microsoft.CodeAnalysis.dll", Directory: roslyn,
			Company: "Microsoft Corporation"},
		{Name: "System.Linq.dll", Path: "/usr/lib/dotnet/shared/Microsoft.NETCore.App/10.0.1/System.Linq.dll",
			Directory: roslyn},
	}
	if diff := cmp.Diff([]Origin{Folder, Folder, Framework}, Decide(modules, reader(nil), nil)); diff != "" {
		t.Error(diff)
	}
	modules = append(modules, Module{Name: "Shop.dll", Path: "/app/Shop.dll", Directory: "/app", IsMain: true})
	if diff := cmp.Diff([]Origin{SDK, SDK, Framework, Beside}, Decide(modules, reader(nil), nil)); diff != "" {
		t.Error("with a program of the user's:", diff)
	}
}

func TestDecidePattern(t *testing.T) {
	modules := []Module{{Name: "csc.dll", Path: "/usr/lib/dotnet/sdk/10.0.401/csc.dll"},
		{Name: "B.dll", Path: "/b/B.dll"}}
	got := Decide(modules, reader(nil), func(name string) bool { return name == "csc.dll" })
	if diff := cmp.Diff([]Origin{Pattern, Elsewhere}, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzReadLibraries: whatever is beside a program, it is read or passed over.
func FuzzReadLibraries(f *testing.F) {
	for _, seed := range []string{deps, "", "{}", `{"targets": 1}`,
		`{"targets": {"x": {"A/1": {"runtime": {"": {}}}}}, "libraries": {"A/1": {"type": "project"}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, kind := range readLibraries(text) {
			if kind == "" {
				t.Errorf("%q has no type", name)
			}
		}
	})
}
