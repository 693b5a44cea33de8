package launch

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clrprof/clrprof/internal/agentbin"
)

// maxInterpreters is how many scripts may run each other: as many as Linux allows (BINPRM_MAX_RECURSION).
const maxInterpreters = 5

// maxShebang is the longest first line of a script that Linux reads (BINPRM_BUF_SIZE).
const maxShebang = 256

// libraryFor returns the build of the agent for the C library of an executable, which is that of what it starts, too.
// It is known by the loader that the executable names; a script's is that of its interpreter. What names none, such as
// a static program, is taken to start programs of this machine.
func libraryFor(path string) agentbin.Library {
	for range maxInterpreters {
		switch loader := interpreter(path); {
		case strings.HasPrefix(filepath.Base(loader), "ld-musl-"):
			return agentbin.Musl
		case loader != "":
			return agentbin.Glibc
		}
		next := scriptInterpreter(path)
		if next == "" {
			break
		}
		path = next
	}
	return libraryOf(os.DirFS("/").Open)
}

// LibraryHere returns the build of the agent for this machine's C library.
func LibraryHere() agentbin.Library { return libraryOf(os.DirFS("/").Open) }

// scriptInterpreter returns what runs a script, also where its first line asks /usr/bin/env for it; "" if there is no
// such line.
func scriptInterpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, maxShebang)).ReadString('\n') // the last line may have no end
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) == "env" && len(words) > 1 {
		if found, err := exec.LookPath(words[1]); err == nil {
			return found
		}
	}
	return words[0]
}

// libraryOf returns the build for a machine whose files open opens, by its loaders: glibc where there are both.
func libraryOf[F io.Closer](open func(string) (F, error)) agentbin.Library {
	for _, l := range []struct {
		loader string
		agentbin.Library
	}{{defaultLoader[1:], agentbin.Glibc}, {"lib/ld-musl-x86_64.so.1", agentbin.Musl}} {
		if f, err := open(l.loader); err == nil {
			_ = f.Close() // nothing was read
			return l.Library
		}
	}
	return agentbin.Glibc
}
