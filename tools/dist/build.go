package main

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clrprof/clrprof/internal/capture/agentbin"
)

// agents is where "make agent" puts them.
const agents = "internal/capture/agentbin/lib"

// build returns the binary, with agents inside that have no tables for debuggers: these are four fifths of an agent.
// The build id of an agent stays that of "make agent", so its tables can be found later.
func (r *target) build() ([]byte, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, l := range agentbin.Libraries() {
		from, err := filepath.Abs(filepath.Join(agents, agentbin.FileName(l)))
		if err != nil {
			return nil, err
		}
		if l.Machine() != r.name {
			overlay.Replace[from] = "" // as if it were not there
			continue
		}
		to := filepath.Join(r.stage, agentbin.FileName(l))
		if err := command(r.prefix+"objcopy", "--strip-debug", from, to); err != nil {
			return nil, fmt.Errorf("the agent for %s (run `make agent` first): %w", l, err)
		}
		overlay.Replace[from] = to
	}
	list, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	listed, binary := filepath.Join(r.stage, "overlay-"+r.name+".json"), r.binaryPath()
	if err := os.WriteFile(listed, list, 0o600); err != nil {
		return nil, fmt.Errorf("writing the list of agents: %w", err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-overlay", listed, "-ldflags",
		"-s -w -E=clrprof_start"+r.stamp(), "-o", binary, "./cmd/clrprof")
	cmd.Env = append(environment(), "GOARCH="+r.goarch, r.level)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	b, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the binary: %w", err)
	}
	if len(b) > maxBinary {
		return nil, fmt.Errorf("the binary has %d bytes, more than %d: look for what makes it large", len(b), maxBinary)
	}
	return b, isStatic(binary)
}

// binaryPath is where build leaves the binary, for programs that read it there.
func (r *target) binaryPath() string { return filepath.Join(r.stage, "clrprof-"+r.name) }

// compiled reports whether the agents for a machine are in a checkout. "make agent" skips a machine without a compiler.
func (m machine) compiled(root string) bool {
	for _, l := range agentbin.Libraries() {
		if _, err := os.Stat(filepath.Join(root, agents, agentbin.FileName(l))); l.Machine() == m.name && err != nil {
			return false
		}
	}
	return true
}

// isStatic refuses a binary that needs a loader or a library.
func isStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("reading the binary: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return errors.New("the binary is not static: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// environment is that of commands whose output is in the release: nothing of it is the user's that changes a byte.
func environment() []string {
	ours := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=", "GOAMD64=", "GOARM64=", "GOFLAGS=", "GOWORK=off",
		"GOEXPERIMENT=", "GO_EXTLINK_ENABLED=", "LC_ALL=C", "TZ=UTC"}
	return append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(ours, func(o string) bool {
			name, _, _ := strings.Cut(o, "=")
			return strings.HasPrefix(kv, name+"=")
		})
	}), ours...)
}

func goCommand(args ...string) error { return command("go", args...) }

// command runs a command, and says what it printed if it fails.
func command(name string, args ...string) error {
	_, err := output(name, args...)
	return err
}

// output runs a command and returns what it printed to standard output.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = environment()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, args[0], err, out, stderr.String())
	}
	return string(out), nil
}
