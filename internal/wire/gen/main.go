// Command gen writes what follows from package wire: the agent's header agent/src/wire_gen.h and docs/wire.md.
// Run it with `go generate ./internal/wire`; a test in package wire fails when the files are stale.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/wire"
)

func main() {
	root := filepath.Join("..", "..")
	for name, text := range wire.Generate() {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}
