package dotnettest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTurns: which runtimes a test is run on.
func TestTurns(t *testing.T) {
	t.Setenv(everyRuntime, "")
	in := &Install{runtimes: []Runtime{{Name: "10"}, {Name: "9"}, {Name: "8"}, {Name: "3"}}}
	names := func(of func(i int) []Runtime) (out []string) {
		for i := range 8 {
			var row []string
			for _, r := range of(i) {
				row = append(row, r.Name)
			}
			out = append(out, strings.Join(row, " "))
		}
		return out
	}
	one := func(runtimes []Runtime) func(i int) []Runtime {
		return func(i int) []Runtime { return OneInTurn(runtimes, i) }
	}
	for _, tt := range []struct {
		have, want []string
	}{
		{names(in.InTurn), []string{"10 9 8 3", "10 9", "10 8", "10 3", "10 9", "10 8", "10 3", "10 9"}},
		{names(one(in.Runtimes())), []string{"10 9 8 3", "3", "10", "8", "10", "9", "10", "3"}},
		{names(one(in.NewestAndOldest())), []string{"10 3", "3", "10", "3", "10", "3", "10", "3"}},
		{names(one(in.runtimes[:1])), []string{"10", "10", "10", "10", "10", "10", "10", "10"}},
	} {
		if d := cmp.Diff(tt.want, tt.have); d != "" {
			t.Error(d)
		}
	}
	t.Setenv(everyRuntime, "1")
	if n := len(OneInTurn(in.Runtimes(), 3)) + len(in.InTurn(3)); n != 8 {
		t.Errorf("of every runtime %d runs, want 8", n)
	}
}
