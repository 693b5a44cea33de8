// Command gen writes what follows from package wire: the agent's header agent/src/core/wire_gen.h and docs/wire.md. The
// structs are read from the package, the constants and what they mean from its source, so each is described once.
// Run it with `go generate ./internal/wire`; a test fails when the files are stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write(".", filepath.Join("..", "..")); err != nil { // go generate runs it in the folder of package wire
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the files of the package in dir below root.
func write(dir, root string) error {
	files, err := generate(dir)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing what is generated: %w", err)
		}
	}
	return nil
}
