package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// naivePaths returns the values of paths by key, and their stacks: each path's key is made anew from the root down.
func naivePaths(t *testing.T, v *Source, column string) (values map[string]int64, stacks map[string]string) {
	t.Helper()
	d, err := v.named()
	if err != nil {
		t.Fatal(err)
	}
	keys, display := map[session.FunctionID]string{}, map[session.FunctionID]string{}
	for i, all := 0, d.Keys(); i < len(d.Functions); i++ {
		keys[d.Functions[i].ID], display[d.Functions[i].ID] = all.Function(i), d.Functions[i].DisplayName()
	}
	type path struct {
		parent   session.PathID
		function session.FunctionID
		value    int64
	}
	paths := map[session.PathID]path{}
	if column == "elapsed_exclusive" {
		rows, err := v.PathTimes()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			paths[r.ID] = path{r.Parent, r.Function, int64(r.Exclusive.Elapsed)}
		}
	} else {
		rows, err := v.Paths()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			paths[r.ID] = path{r.Parent, r.Function, int64(r.Inclusive.Bytes)}
		}
	}
	values, stacks = map[string]int64{}, map[string]string{}
	for id, p := range paths {
		var up []session.FunctionID
		for at := id; at != 0; at = paths[at].parent {
			up = append(up, paths[at].function)
		}
		slices.Reverse(up)
		key, names := "", []string(nil)
		for _, f := range up {
			key, names = digest(key, keys[f]), append(names, display[f])
		}
		if more := len(names) - maxComparedStack; more > 0 {
			names = append([]string{fmt.Sprintf("… %d more", more)}, names[more:]...)
		}
		values[key] += p.value
		stacks[key] = strings.Join(names, " › ")
	}
	return values, stacks
}

// TestComparePaths: call trees are compared, one above the other, as they are by the keys of their paths.
func TestComparePaths(t *testing.T) {
	differences := 0
	for seed := range uint64(40) {
		column, random := "inclusive_bytes", sessiontest.Random
		if seed%2 == 1 {
			column, random = "elapsed_exclusive", sessiontest.RandomTimes
		}
		from, to := source(t, random(seed), Selection{}), source(t, random(seed+100), Selection{})
		c, err := Compare([]*Source{from}, []*Source{to}, "calltree", column)
		if err != nil {
			t.Fatal(err)
		}
		before, oldStacks := naivePaths(t, from, column)
		after, newStacks := naivePaths(t, to, column)
		want := map[string]string{}
		for _, side := range []map[string]int64{before, after} {
			for key := range side {
				if before[key] != after[key] {
					stack, there := newStacks[key]
					if !there || after[key] == 0 {
						stack = oldStacks[key]
					}
					want[key] = fmt.Sprint(before[key], after[key], " ", stack)
				}
			}
		}
		areWanted(t, seed, c.All(), want, func(x *Change) string { return fmt.Sprint(x.Old, x.New, " ", x.Stack()) })
		differences += len(c.Changes)
	}
	if differences < 100 {
		t.Errorf("only %d differences", differences)
	}
}
