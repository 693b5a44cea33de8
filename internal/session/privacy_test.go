package session

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPrivacy: docs/privacy.md names each table, so that somebody thought of what it may reveal, and no other.
func TestPrivacy(t *testing.T) {
	text, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "## Tables")
	section, _, ended := strings.Cut(after, "\n## ")
	if !found || !ended {
		t.Fatal("there is no section of tables")
	}
	var named []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.Contains(cells[1], "`") {
			continue
		}
		for name := range strings.FieldsSeq(cells[1]) {
			named = append(named, strings.Trim(name, "`"))
		}
	}
	slices.Sort(named)
	if twice := slices.Compact(slices.Clone(named)); len(twice) != len(named) {
		t.Errorf("a table is named twice: %q", named)
	}
	want := slices.Sorted(slices.Values(append(slices.Clone(tableNames), packedTableNames...)))
	for _, name := range want {
		if !slices.Contains(named, name) {
			t.Errorf("%s is not named", name)
		}
	}
	for _, name := range named {
		if !slices.Contains(want, name) {
			t.Errorf("%s is no table", name)
		}
	}
}
