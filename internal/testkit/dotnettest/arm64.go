package dotnettest

import (
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// arm64File is an application of npm for arm64, with a trimmed runtime.
var arm64File = singleFile{
	npmPackage: npmPackage{
		name: "@azure/mcp-linux-arm64", version: "2.0.5", megabytes: 46,
		sha512: "3o771OPZS8eWf1/OW0RXRElhxsh8jDYljLArUhddHJi4uA51ADEeJ9S6pqTe97E0wNJ5eJ4pu3Z2+qNW2xkJjQ==",
		file:   "azure-mcp-linux-arm64-2.0.5.tgz",
	},
	runtime: "10.0.9", app: "package/dist/azmcp", main: "azmcp.dll", trimmed: true,
}

// What runs programs of arm64 here, and their C library (Debian: qemu-user-static, libc6-arm64-cross and
// libstdc++6-arm64-cross).
const (
	arm64Emulator  = "qemu-aarch64-static"
	arm64Libraries = "/usr/aarch64-linux-gnu"
)

// ARM64 is a .NET for arm64 in a single-file application, which an emulator runs.
type ARM64 struct {
	Runtime
	emulator string
}

// Command runs a DLL, which was compiled with Options.Trimmed.
func (a ARM64) Command(dll string, args ...string) *exec.Cmd {
	cmd := exec.Command(a.emulator, append([]string{"-L", arm64Libraries, a.Dotnet, dll}, args...)...)
	cmd.Env = a.Env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1")
	return cmd
}

// NeedARM64 returns a runtime for arm64. The test is skipped where nothing can run it.
func NeedARM64(t TB) ARM64 {
	t.Helper()
	emulator, err := exec.LookPath(arm64Emulator)
	if err != nil {
		t.Skipf("there is no %s here (Debian: qemu-user-static)", arm64Emulator)
	}
	for _, library := range []string{"ld-linux-aarch64.so.1", "libstdc++.so.6"} {
		if !exists(filepath.Join(arm64Libraries, "lib", library)) {
			t.Skipf("there is no C or C++ library of arm64 in %s (Debian: libc6-dev-arm64-cross, "+
				"libstdc++6-arm64-cross)", arm64Libraries)
		}
	}
	in := Need(t)
	r := SingleFile{newRuntime(arm64File.runtime, in.singleDir(arm64File.runtime)), arm64File.trimmed}
	if !exists(r.Dotnet) {
		if err := in.getSingle(arm64File, r, io.Discard); err != nil {
			t.Fatalf("%v", fmt.Errorf("getting .NET %s for arm64: %w", arm64File.runtime, err))
		}
	}
	return ARM64{r.Runtime, emulator}
}
