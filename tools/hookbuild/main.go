// Command hookbuild makes the assembly that listens to the meters of programs from agent/hook. It is committed in
// internal/agentbin/hook, so that building clrprof needs no SDK of .NET. Usage, at the root of the repository:
//
//	go run ./tools/hookbuild [-check]
//
// With -check nothing is written, and it is an error if the committed assembly is of other sources, or, where the SDK
// is the one that it was made with, if it has other bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

const (
	sources = "agent/hook"
	folder  = "internal/agentbin/hook"
	name    = "Clrprof.Meters"
	made    = "made-of.txt" // the hash of the sources, and the SDK
)

var errStale = errors.New("the committed assembly is not that of agent/hook: run `make hook`")

func main() {
	check := flag.Bool("check", false, "compare with the committed assembly instead of writing it")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "hookbuild:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	hash, err := hashSources()
	if err != nil {
		return err
	}
	of, err := os.ReadFile(filepath.Join(folder, made))
	if check && (err != nil || !bytes.HasPrefix(of, []byte(hash))) {
		return errors.Join(errStale, err)
	}
	in, err := dotnettest.Ensure(os.Stderr)
	if err != nil {
		return err
	}
	sdk, ok := in.NewestSDK()
	label := []byte(hash + " " + sdk.Version + "\n")
	if check && (!ok || !bytes.Equal(of, label)) {
		return nil // another compiler writes other bytes
	}
	dll, err := in.Compile([]string{sources}, "", dotnettest.Options{Name: name, Debug: dotnettest.DebugNone,
		Deterministic: true, Unsafe: true, Library: true, Framework: dotnettest.Net8})
	if err != nil {
		return err
	}
	assembly, err := os.ReadFile(dll)
	if err != nil {
		return err
	}
	if check {
		if have, err := os.ReadFile(filepath.Join(folder, name+".dll")); err != nil || !bytes.Equal(have, assembly) {
			return errors.Join(errStale, err)
		}
		return nil
	}
	return errors.Join(os.WriteFile(filepath.Join(folder, name+".dll"), assembly, 0o644),
		os.WriteFile(filepath.Join(folder, made), label, 0o644))
}

func hashSources() (string, error) {
	files, err := filepath.Glob(filepath.Join(sources, "*.cs"))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(f), len(b), b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
