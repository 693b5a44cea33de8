package cli

import (
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/session"
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

// TestDataSets: which flags record what, and what the agent is told.
func TestDataSets(t *testing.T) {
	type told struct {
		Mode                     string
		Lifetime, Time, NoMemory bool
		Instrument               string
		Small                    int
		Rules                    []string
		Set                      string
	}
	for _, c := range []struct {
		flags string
		want  told
	}{
		{"", told{Mode: "memory,lifetime", Lifetime: true, Instrument: "boundary", Set: "{}"}},
		{"--lifetime", told{Mode: "memory,lifetime", Lifetime: true, Instrument: "boundary", Set: "{}"}},
		{"--memory", told{Mode: "memory", Instrument: "boundary", Set: "{}"}},
		{"--memory --lifetime", told{Mode: "memory,lifetime", Lifetime: true, Instrument: "boundary", Set: "{}"}},
		{"--lifetime=false", told{Mode: "memory", Instrument: "boundary", Set: "{}"}},
		{"--time", told{Mode: "time", Time: true, NoMemory: true, Instrument: "boundary", Set: "{}"}},
		{"--time --lifetime=false", told{Mode: "time", Time: true, NoMemory: true, Instrument: "boundary", Set: "{}"}},
		{"--time --memory", told{Mode: "memory,time", Time: true, Instrument: "boundary", Set: "{}"}},
		{"--time --lifetime", told{Mode: "memory,lifetime,time", Lifetime: true, Time: true, Instrument: "boundary", Set: "{}"}},
		{"--time --memory --lifetime", told{Mode: "memory,lifetime,time", Lifetime: true, Time: true, Instrument: "boundary", Set: "{}"}},
		{"--time --instrument mine --exclude-small --include A.*,B --exclude C", told{Mode: "time", Time: true, NoMemory: true, Instrument: "mine", Small: 16,
			Rules: []string{"+A.*", "+B", "-C"}, Set: `{"exclude":["C"],"exclude_small":16,"include":["A.*","B"],"instrument":"mine"}`}},
		{"--time --exclude-small=24", told{Mode: "time", Time: true, NoMemory: true, Instrument: "boundary", Small: 24, Set: `{"exclude_small":24}`}},
	} {
		r := &runFlags{}
		cmd := &cobra.Command{}
		r.add(cmd)
		if err := cmd.ParseFlags(strings.Fields(c.flags)); err != nil {
			t.Fatal(c.flags, err)
		}
		if err := r.choose(cmd.Flags().Changed); err != nil {
			t.Fatal(c.flags, err)
		}
		o, err := r.options(&environment{getenv: func(string) string { return "" }}, []string{"true"})
		if err != nil {
			t.Fatal(c.flags, err)
		}
		l := o.Launch
		have := told{o.Facts[session.KeyMode], l.Lifetime, l.Time, l.NoMemory, l.Instrument, l.Small, l.Rules, o.Facts[session.KeyOptions]}
		if diff := cmp.Diff(c.want, have); diff != "" {
			t.Errorf("%q: %s", c.flags, diff)
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
