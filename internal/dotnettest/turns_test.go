package dotnettest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named is a test with a name.
type named string

func (n named) Name() string { return string(n) }

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
	seen := map[string]int{}
	for i := range 300 {
		few := Few(named(strconv.Itoa(i)), in.Runtimes())
		if len(few) != 2 || few[0].Name != "10" {
			t.Fatalf("%v, want the newest and another one", few)
		}
		seen[few[1].Name]++
	}
	for _, name := range []string{"9", "8", "3"} {
		if seen[name] < 50 {
			t.Errorf("%s is seen by %d of 300 tests", name, seen[name])
		}
	}
	if n := len(Few(t, in.NewestAndOldest())) + len(Few(t, in.runtimes[:1])); n != 3 {
		t.Errorf("of two runtimes and of one %d runs, want 3", n)
	}
	t.Setenv(everyRuntime, "1")
	if n := len(Few(t, in.Runtimes())); n != 4 {
		t.Errorf("of every runtime %d runs, want 4", n)
	}
	if n := len(OneInTurn(in.Runtimes(), 3)) + len(in.InTurn(3)); n != 8 {
		t.Errorf("of every runtime %d runs, want 8", n)
	}
}
