package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pinned is an action by its commit, which nobody can change, and run a step that is a target of the Makefile, which
// everybody can try at home.
var (
	pinned = regexp.MustCompile(`^uses: [a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9.]+$`)
	runs   = regexp.MustCompile(`^run: make ([a-z-]+)$`)
)

// TestWorkflows requires that what runs on GitHub is pinned, has no rights but those that it names, and is short: targets
// of the Makefile.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "\npermissions: {}\n") {
			t.Errorf("%s gives all jobs rights", path)
		}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
			target := runs.FindStringSubmatch(line)
			switch {
			case strings.HasPrefix(line, "uses:") && !pinned.MatchString(line):
				t.Errorf("%s: %s: want the action's whole commit, and its version as a comment", path, line)
			case strings.HasPrefix(line, "run:") && target == nil:
				t.Errorf("%s: %s: want a target of the Makefile", path, line)
			case target != nil && !strings.Contains(string(makefile), "\n"+target[1]+":"):
				t.Errorf("%s: there is no target %s", path, target[1])
			}
		}
	}
}
