package quantity

import "testing"

func TestCutUnit(t *testing.T) {
	for text, want := range map[string]struct {
		number string
		shift  int
	}{
		"4096": {"4096", 0}, "4096B": {"4096", 0}, "512k": {"512", 10}, "512M": {"512", 20}, "1.5GiB": {"1.5", 30},
		"2 TB": {"2 ", 40},
		"K":    {"", 10}, "much": {"MUCH", 0}, "": {"", 0}, "5Q": {"5Q", 0},
	} {
		if number, shift := CutUnit(text); number != want.number || shift != want.shift {
			t.Errorf("%q: %q, %d, want %q, %d", text, number, shift, want.number, want.shift)
		}
	}
}
