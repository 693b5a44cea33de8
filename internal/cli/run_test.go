package cli

import (
	"io/fs"
	"math"
	"testing"
)

func TestContainerMemory(t *testing.T) {
	const v2, v1 = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"none", nil, math.MaxInt64},
		{"version 2", map[string]string{v2: "536870912\n"}, 512 << 20},
		{"version 2 without a limit", map[string]string{v2: "max\n"}, math.MaxInt64},
		{"version 1", map[string]string{v1: "268435456\n"}, 256 << 20},
		{"nonsense", map[string]string{v2: "-1", v1: ""}, math.MaxInt64},
	} {
		read := func(path string) ([]byte, error) {
			if text, ok := c.files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}
		if got := containerMemory(read); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for text, want := range map[string]int64{"4M": 4 << 20, "512m": 512 << 20, "2GiB": 2 << 30, "8388608": 8 << 20} {
		if got, err := memoryLimit(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"1M", "-4M", "x", "M", "99999999999G"} {
		if got, err := memoryLimit(text); err == nil {
			t.Errorf("%s: %d, want an error", text, got)
		}
	}
}
