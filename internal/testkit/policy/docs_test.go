package policy

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the floors in ARCHITECTURE.md anew")

// drawFloors draws the groups of floors, each above all that it may import. Groups beside each other do not know each
// other.
func drawFloors(allowed map[string][]string) string {
	var level func(group string) int
	level = func(group string) (n int) {
		for _, below := range allowed[group] {
			n = max(n, level(below)+1)
		}
		return n
	}
	var levels [][]string
	for group := range allowed {
		for len(levels) <= level(group) {
			levels = append(levels, nil)
		}
		levels[level(group)] = append(levels[level(group)], group)
	}
	var b strings.Builder
	for i, groups := range slices.Backward(levels) {
		slices.Sort(groups)
		line := strings.Join(groups, "    ")
		b.WriteString(strings.Repeat(" ", (60-len(line))/2) + line + "\n")
		if i > 0 {
			b.WriteString("─────────────────────────────────────────────────────────────\n")
		}
	}
	return b.String()
}

// TestFloorsPicture requires that ARCHITECTURE.md shows the floors that TestDependencies enforces.
func TestFloorsPicture(t *testing.T) {
	const begin, end = "<!-- floors -->\n```\n", "```\n<!-- end of floors -->"
	path := filepath.Join(root, "ARCHITECTURE.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	have, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the floors", path)
	}
	want := drawFloors(parseFloors(t))
	if have == want {
		return
	}
	if !*update {
		t.Fatalf("%s shows other floors: go test ./internal/testkit/policy -update", path)
	}
	if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pathInText is a path of this repository in the text of a document. What has capitals only, as NAME in add-a-view.md, stands
// for any name.
var pathInText = regexp.MustCompile("(?:internal|agent|docs|testdata|e2e|web|tools|bench|samples|integrations|cmd)" +
	"/[A-Za-z0-9_./*-]*[A-Za-z0-9_*]")

// made are files and folders that are not in the repository: builds make them.
var made = []string{"bench/out", "bin/", "internal/capture/agentbin/lib/"}

// TestPathsInDocuments requires that the files and folders that documents name exist.
func TestPathsInDocuments(t *testing.T) {
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, at := range pathInText.FindAllStringIndex(line, -1) {
				if at[0] > 0 && !strings.ContainsRune("`( ", rune(line[at[0]-1])) {
					continue // the end of a longer path
				}
				name := line[at[0]:at[1]]
				if strings.Contains(name, "NAME") || slices.ContainsFunc(made, func(m string) bool {
					return strings.HasPrefix(name, m)
				}) {
					continue
				}
				if found, err := filepath.Glob(filepath.Join(root, name)); err != nil || len(found) == 0 {
					t.Errorf("%s:%d names %s, which does not exist", path, i+1, name)
				}
			}
		}
	}
}

// documents returns the documents for people who work on clrprof.
func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "agent/*.md", "docs/*.md", "docs/design/*.md", "docs/guides/*.md",
		"docs/howto/*.md", "samples/*/README.md",
		"testdata/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no document is called %s: %v", pattern, err)
		}
		all = append(all, found...)
	}
	return all
}

// TestAgentReadme requires that agent/README.md says of each file of the agent's code what it does.
func TestAgentReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "agent/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	agentFiles(t, func(rel, _ string) {
		if name := filepath.Base(rel); strings.HasSuffix(rel, ".c") && strings.Count(rel, "/") == 1 &&
			!strings.Contains(string(text), name) {
			t.Errorf("agent/README.md does not name %s", rel)
		}
	})
}
