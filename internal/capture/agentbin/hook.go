package agentbin

import (
	"crypto/sha256"
	_ "embed" // the assembly
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
)

// hook is the assembly that listens to the meters of a program. `make hook` makes it of agent/hook.
//
//go:embed hook/Clrprof.Meters.dll
var hook []byte

// hookName is the file's name, which views show as a module.
const hookName = "Clrprof.Meters.dll"

// ExtractHook writes the assembly that listens to meters where the runtime can load it, as Extract does, and returns
// its path. It is where a version of a package would be: so it is nobody's own code.
func ExtractHook(directories []string) (string, error) {
	sum := sha256.Sum256(hook)
	var errs []error
	for _, d := range directories {
		path := filepath.Join(d, "packages", "clrprof.meters", "1.0-"+hex.EncodeToString(sum[:8]), hookName)
		err := place(path, hook)
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no directory for the assembly that listens to meters: %w", errors.Join(errs...))
}
