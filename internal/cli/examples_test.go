package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestExamples: the commands in the examples of all helps exist, take the flags that they are shown with, and as many
// arguments.
func TestExamples(t *testing.T) {
	root := newRoot(&environment{})
	root.InitDefaultHelpCmd()
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "clrprof ") {
				checkExample(t, line)
			}
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(root)
}

// TestExamplesInDocuments: so do those in the documents for visitors.
func TestExamplesInDocuments(t *testing.T) {
	for _, path := range []string{"README.md", "docs/tour.md", "docs/install.md"} {
		b, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		inside, found := false, 0
		for line := range strings.Lines(string(b)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				inside = line != "```"
				continue
			}
			command := strings.TrimPrefix(line, "$ ")
			if _, own, isPath := strings.Cut(command, "/clrprof "); isPath {
				command = "clrprof " + own
			}
			if inside && strings.HasPrefix(command, "clrprof ") {
				found++
				checkExample(t, command)
			}
		}
		if found == 0 {
			t.Errorf("%s has no command of clrprof", path)
		}
	}
}

// checkExample has the shell part a line, up to what it does with the output, and the command read its arguments.
func checkExample(t *testing.T, line string) {
	t.Helper()
	script := "clrprof() { printf '%s\\n' \"$@\" >&3; }; { " + line + "\n} >/dev/null"
	out := exec.Command("sh", "-c", script)
	out.Dir = t.TempDir()
	words, err := os.Create(filepath.Join(out.Dir, "words")) // of its own: what a shell cannot find is said on stderr
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	out.ExtraFiles = []*os.File{words}
	out.Env = []string{"PATH=", "GITHUB_STEP_SUMMARY=/dev/null"}
	_ = out.Run() // what comes behind a pipe need not be there
	reported, err := os.ReadFile(words.Name())
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(reported), "\n"), "\n")
	cmd, rest, err := newRoot(&environment{}).Find(args)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}
