package text

import "testing"

// TestCutNames: parameters go first, then type arguments, then outer classes; the class and the method last.
func TestCutNames(t *testing.T) {
	const name = "Outer.Cache<string, Order>.Fill(Dictionary<string, Order>, int) [async]"
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, name},
		{len(name), name},
		{len(name) - 1, "Outer.Cache<string, Order>.Fill(…) [async]"},
		{41, "Outer.Cache<…>.Fill(…) [async]"},
		{29, "Cache<…>.Fill(…) [async]"},
	} {
		got := cutName(name, c.width)
		if c.width > 0 && Width(got) > c.width {
			t.Errorf("at %d columns: %q is %d wide", c.width, got, Width(got))
		}
		if got != c.want {
			t.Errorf("at %d columns: %q, want %q", c.width, got, c.want)
		}
	}
}
