package collect

import (
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/arena"
	"github.com/clrprof/clrprof/internal/cgroup"
	"github.com/clrprof/clrprof/internal/launch"
)

// TestGroup: the agent's limit follows the control group of its process down, and nothing else changes in the arena.
func TestGroup(t *testing.T) {
	for _, tt := range []struct {
		name          string
		allowed, want int64
		over, set     bool
	}{
		{"no limit", cgroup.None, 1 << 30, false, true},
		{"a larger group", 1 << 40, 1 << 30, false, true},
		{"a smaller group", 64 << 20, 16 << 20, false, true},
		{"as the user says", 64 << 20, 1 << 30, false, false},
		{"has ended", 64 << 20, 1 << 30, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, a := newRecording(t), newArena(0)
			a.Header.MemoryLimit = 1 << 30
			r.alive = func(int) bool { return !tt.over }
			r.allowed = func(pid int) int64 {
				if pid != int(a.Header.PID) {
					t.Errorf("asked for process %d, not %d", pid, a.Header.PID)
				}
				return tt.allowed
			}
			if tt.set {
				r.group = func(memory int64) int64 { return memory / 4 }
			}
			r.mustSync(a)
			got, err := arena.Open(filepath.Join(r.directory, "1-1"+launch.ArenaSuffix))
			if err != nil {
				t.Fatal(err)
			}
			defer got.Close()
			h, err := got.Header()
			if err != nil {
				t.Fatal(err)
			}
			if h.MemoryLimit != uint64(tt.want) {
				t.Errorf("the limit is %d, want %d", h.MemoryLimit, tt.want)
			}
			h.MemoryLimit = a.Header.MemoryLimit
			want := a.Header
			want.Regions = h.Regions // the file has its own
			if *h != want {
				t.Errorf("the header changed: %+v, want %+v", *h, want)
			}
		})
	}
}
