package collect

import "testing"

func TestAvailableMemory(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"MemTotal:       16384 kB\nMemFree:    1 kB\nMemAvailable:    2048 kB\n", 2048 << 10, true},
		{"MemAvailable: 0 kB", 0, true},
		{"MemTotal:       16384 kB\n", 0, false},
		{"MemAvailable: many kB\n", 0, false},
		{"MemAvailable: -1 kB\n", 0, false},
		{"MemAvailable: 99999999999999999999 kB\n", 0, false},
		{"", 0, false},
	} {
		if got, ok := availableMemory([]byte(tt.text)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %d, %t", tt.text, got, ok)
		}
	}
	if !fits(1<<20) || fits(1<<60) {
		t.Error("a megabyte does not fit into memory, or an exabyte does")
	}
}
