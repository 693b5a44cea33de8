package mcp

import (
	"strings"
	"testing"
)

// TestArguments: an argument that a tool does not have, or of another kind, is named with what would be right; one text
// is taken for a list of one.
func TestArguments(t *testing.T) {
	c := client(t, sample(t, "kitchen"))
	for _, tt := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"view", map[string]any{"view": "functions", "nope": 1},
			`view has no argument "nope": it has argument, bottom_up, by,`},
		{"list_views", map[string]any{"view": "functions"}, `list_views takes no arguments, and got "view"`},
		{"view", map[string]any{"view": "functions", "limit": "many"},
			`the argument "limit" of view is a whole number, such as 20`},
		{"view", map[string]any{"view": "functions", "columns": 3},
			`the argument "columns" of view is a list of texts, such as ["Shop.*"]`},
		{"sql", map[string]any{"query": []string{"SELECT 1"}}, `the argument "query" of sql is a text`},
		{"summary", map[string]any{"my_code": "yes"}, `the argument "my_code" of summary is true or false`},
		{"summary", map[string]any{"from_seconds": "1"},
			`the argument "from_seconds" of summary is a number, such as 1.5`},
	} {
		if text, failed := call(t, c, tt.tool, tt.arguments); !failed || !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s %v: %v, %s\nwant %s", tt.tool, tt.arguments, failed, text, tt.want)
		}
	}
	list, _ := call(t, c, "view",
		map[string]any{"view": "functions", "columns": []string{"name"}, "function": []string{"*"}})
	one, failed := call(t, c, "view", map[string]any{"view": "functions", "columns": "name", "function": "*"})
	if failed || one != list {
		t.Errorf("one text: %s\na list of one: %s", one, list)
	}
}
