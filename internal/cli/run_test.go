package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/clrprof/clrprof/internal/session"
)

// TestMemoryShares: the agent's part and the collector's are half of the memory, but where there is hardly any.
func TestMemoryShares(t *testing.T) {
	for _, c := range []struct{ memory, limit, nodes int64 }{
		{32 << 20, 16 << 20, 13981},
		{256 << 20, 64 << 20, 111848},
		{8 << 30, 2 << 30, 3579139},
		{1 << 40, 8 << 30, 458129844},
	} {
		if limit, nodes := defaultLimit(c.memory), mostNodes(c.memory); limit != c.limit || nodes != c.nodes {
			t.Errorf("%d bytes: limit %d, %d nodes; want %d, %d", c.memory, limit, nodes, c.limit, c.nodes)
		}
	}
}

// TestDataSets: which flags record what, and what the agent gets.
func TestDataSets(t *testing.T) {
	type reported struct {
		Mode                     string
		Lifetime, Time, NoMemory bool
		Instrument               string
		Small                    int
		Rules                    []string
		Set                      string
	}
	for _, c := range []struct {
		flags string
		want  reported
	}{
		{"", reported{Mode: "memory,lifetime", Lifetime: true, Instrument: "boundary", Set: "{}"}},
		{"--lifetime", reported{Mode: "memory,lifetime", Lifetime: true, Instrument: "boundary", Set: "{}"}},
		{"--memory", reported{Mode: "memory", Instrument: "boundary", Set: "{}"}},
		{"--memory --lifetime", reported{Mode: "memory,lifetime", Lifetime: true, Instrument: "boundary", Set: "{}"}},
		{"--lifetime=false", reported{Mode: "memory", Instrument: "boundary", Set: "{}"}},
		{"--time", reported{Mode: "time", Time: true, NoMemory: true, Instrument: "boundary", Set: "{}"}},
		{"--time --lifetime=false", reported{Mode: "time", Time: true, NoMemory: true, Instrument: "boundary", Set: "{}"}},
		{"--time --memory", reported{Mode: "memory,time", Time: true, Instrument: "boundary", Set: "{}"}},
		{"--time --lifetime", reported{Mode: "memory,lifetime,time", Lifetime: true, Time: true, Instrument: "boundary",
			Set: "{}"}},
		{"--time --memory --lifetime", reported{Mode: "memory,lifetime,time", Lifetime: true, Time: true,
			Instrument: "boundary", Set: "{}"}},
		{"--time --instrument mine --exclude-small --include A.*,B --exclude C",
			reported{Mode: "time", Time: true, NoMemory: true, Instrument: "mine", Small: 16,
				Rules: []string{"+A.*", "+B", "-C"},
				Set:   `{"exclude":["C"],"exclude_small":16,"include":["A.*","B"],"instrument":"mine"}`}},
		{"--time --exclude-small=24", reported{Mode: "time", Time: true, NoMemory: true, Instrument: "boundary", Small: 24,
			Set: `{"exclude_small":24}`}},
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
		have := reported{o.Facts[session.KeyMode], l.Lifetime, l.Time, l.NoMemory, l.Instrument, l.Small, l.Rules,
			o.Facts[session.KeyOptions]}
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
