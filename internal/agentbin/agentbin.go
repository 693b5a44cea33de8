// Package agentbin holds the agent: the C library that the .NET runtime loads into the target. It is built from
// agent/src by `make agent` and embedded; a binary made with plain `go build` before that has none and says so.
package agentbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed lib
var lib embed.FS

// ErrMissing means that this binary was built without the agent.
var ErrMissing = errors.New("this clrprof was built without its agent: build it with `make build`")

const library = "libclrprof-linux-x64.so"

// Bytes returns the agent for linux-x64.
func Bytes() ([]byte, error) {
	b, err := lib.ReadFile("lib/" + library)
	if err != nil {
		return nil, ErrMissing
	}
	return b, nil
}

// Extract writes the agent where the runtime can load it and returns its path. Directories are tried in order; one
// on a file system mounted noexec is of no use, nor is one that cannot be written. The file's name holds its hash: an
// agent that is in use is never overwritten.
func Extract(directories []string) (string, error) {
	b, err := Bytes()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	name := "libclrprof-" + hex.EncodeToString(sum[:8]) + ".so"
	var errs []error
	for _, d := range directories {
		path := filepath.Join(d, name)
		err := place(path, b)
		if err == nil {
			err = loadable(path)
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("no directory to load the agent from: %w", errors.Join(errs...))
}

// place makes sure that path holds exactly b, readable by the user alone.
func place(path string, b []byte) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(b) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "libclrprof-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(0o500), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
