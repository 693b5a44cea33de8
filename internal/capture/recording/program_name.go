package recording

import (
	"path/filepath"
	"strings"
)

// ProgramName is the managed program's name: App for `dotnet [exec] [options] App.dll`, else the executable's.
func ProgramName(exe string, arguments []string) string {
	base := filepath.Base(exe)
	if base == "dotnet" {
		for _, a := range arguments[min(1, len(arguments)):] {
			if strings.HasSuffix(a, ".dll") {
				return strings.TrimSuffix(filepath.Base(a), ".dll")
			}
		}
	}
	return base
}
