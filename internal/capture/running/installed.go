package running

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/capture/proc"
)

// Installed returns the paths of the libraries of the runtimes at the usual places.
func Installed() (paths []string) {
	roots := []string{os.Getenv("DOTNET_ROOT"), os.Getenv("DOTNET_ROOT_X64"), "/usr/share/dotnet", "/usr/lib/dotnet",
		"/usr/lib64/dotnet"}
	if dotnet, err := exec.LookPath("dotnet"); err == nil {
		if dotnet, err = filepath.EvalSymlinks(dotnet); err == nil {
			roots = append(roots, filepath.Dir(dotnet))
		}
	}
	for _, root := range roots {
		if filepath.IsAbs(root) {
			found, _ := filepath.Glob(filepath.Join(root, "shared/Microsoft.NETCore.App/*", proc.RuntimeLibrary))
			paths = append(paths, found...)
		}
	}
	return paths
}
