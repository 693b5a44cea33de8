package report

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFloors: docs/rules.md has the floors of the findings of a summary.
func TestFloors(t *testing.T) {
	text, err := os.ReadFile("../../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, have, ok := strings.Cut(string(text), "<!-- floors -->\n\n")
	have, _, end := strings.Cut(have, "\n\n")
	want := "| finding | from | a part of |\n| --- | --- | --- |"
	for _, f := range floors() {
		want += fmt.Sprintf("\n| %s | %s | %s |", f.What, f.From, f.Of)
	}
	if diff := cmp.Diff(want, have); diff != "" || !ok || !end {
		t.Errorf("docs/rules.md (-want +have):\n%s", diff)
	}
}
