// Command hookbuild makes the assemblies that are committed, so that building clrprof needs no SDK of .NET: the one
// that listens to the meters of programs, from agent/hook, and the one that starts clrprof as a .NET tool of older
// SDKs. Usage, at the root of the repository:
//
//	go run ./tools/hookbuild [-check]
//
// With -check nothing is written, and it is an error if a committed assembly is of other sources, or, where the SDK is
// the one that it was made with, if it has other bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// assembly is one that is committed: NAME.dll in a folder.
type assembly struct {
	name, sources, folder string
	library               bool // it is no program
}

var assemblies = []assembly{
	{"Clrprof.Meters", "agent/hook", "internal/capture/agentbin/hook", true},
	{"Clrprof.Launcher", "tools/dist/launcher", "tools/dist/launcher", false},
}

// made is the file beside an assembly with the hash of the sources, and the version of the SDK.
const made = "made-of.txt"

var errStale = errors.New("the committed assembly is not that of its sources: run `make hook`")

func main() {
	check := flag.Bool("check", false, "compare with the committed assemblies instead of writing them")
	flag.Parse()
	for _, a := range assemblies {
		if err := a.make(*check); err != nil {
			fmt.Fprintf(os.Stderr, "hookbuild: %s: %v\n", a.name, err)
			os.Exit(1)
		}
	}
}

func (a assembly) make(check bool) error {
	hash, err := a.hashSources()
	if err != nil {
		return err
	}
	of, err := os.ReadFile(filepath.Join(a.folder, made))
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
	dll, err := in.Compile([]string{a.sources}, "", dotnettest.Options{Name: a.name, Debug: dotnettest.DebugNone,
		Deterministic: true, Unsafe: true, Library: a.library, Framework: dotnettest.Net8})
	if err != nil {
		return err
	}
	compiled, err := os.ReadFile(dll)
	if err != nil {
		return err
	}
	committed := filepath.Join(a.folder, a.name+".dll")
	if check {
		if have, err := os.ReadFile(committed); err != nil || !bytes.Equal(have, compiled) {
			return errors.Join(errStale, err)
		}
		return nil
	}
	return errors.Join(os.WriteFile(committed, compiled, 0o644),
		os.WriteFile(filepath.Join(a.folder, made), label, 0o644))
}

func (a assembly) hashSources() (string, error) {
	files, err := filepath.Glob(filepath.Join(a.sources, "*.cs"))
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
