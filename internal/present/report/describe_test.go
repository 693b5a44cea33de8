package report

import (
	"strings"
	"testing"
)

// TestDescribe: each column has a sentence, which the page shows at its head.
func TestDescribe(t *testing.T) {
	for key := range allColumns {
		if s := Describe(key); !strings.HasSuffix(s, ".") || strings.Contains(s, "..") ||
			s[:1] != strings.ToUpper(s[:1]) {
			t.Errorf("column %s is described as %q", key, s)
		}
	}
	if s := Describe("no_such_column"); s != "" {
		t.Errorf("a column that there is not is described as %q", s)
	}
}
