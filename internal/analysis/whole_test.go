package analysis

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/clrprof/clrprof/internal/analysis/calltree"
	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// shownFirst is what views of the whole session show first.
type shownFirst struct {
	Causes    []*UserCauses // by how many are asked for
	Paths     map[session.TypeID][]session.TypePath
	Lifetimes []TypeLifetime
	Error     string
}

func showFirst(rt *rapid.T, v *Source) shownFirst {
	out := shownFirst{Paths: map[session.TypeID][]session.TypePath{}}
	for most := range 9 {
		c, err := v.UserCauses(most)
		if err != nil {
			rt.Fatal(err)
		}
		out.Causes = append(out.Causes, c)
	}
	types, err := v.Types()
	if err != nil {
		rt.Fatal(err)
	}
	for _, t := range types {
		if out.Paths[t.Type], err = v.TypeHotPath(t.Type); err != nil {
			rt.Fatal(err)
		}
	}
	if out.Lifetimes, err = v.TypeLifetimes(); err != nil {
		out.Error = err.Error()
	}
	return out
}

// naiveHotPath follows the heaviest child in the tree of a type.
func naiveHotPath(rt *rapid.T, v *Source, of session.TypeID) (functions []session.FunctionID, last q.Bytes) {
	paths, err := v.TypePaths(of)
	if err != nil {
		rt.Fatal(err)
	}
	hot, err := calltree.HotPath(session.PathValue{}, 0,
		func(at session.PathValue) (out []calltree.Weighted[session.PathValue], err error) {
			for _, p := range paths {
				if p.Parent == at.ID {
					out = append(out, calltree.Weighted[session.PathValue]{Node: p, Inclusive: int64(p.Inclusive.Bytes),
						Exclusive: int64(p.Exclusive.Bytes)})
				}
			}
			return out, nil
		})
	if err != nil {
		rt.Fatal(err)
	}
	for _, p := range hot {
		functions, last = append(functions, p.Function), p.Inclusive.Bytes
	}
	return functions, last
}

// checkAhead compares what a source computes at the same time as the causes with what another one computes by itself.
func checkAhead(rt *rapid.T, s *session.Session, causes []*UserCauses) {
	ahead, err := Computed(s)
	if err != nil {
		rt.Fatal(err)
	}
	alone, err := Computed(s)
	if err != nil {
		rt.Fatal(err)
	}
	have, err := ahead.SummaryCauses(3)
	if diff := differ.Of(causes[3], have, cmpopts.EquateEmpty()); err != nil || diff != "" {
		rt.Fatal(err, diff)
	}
	wait := ahead.TreeAhead()
	uses, err := ahead.Uses(nil)
	wait()
	if err != nil {
		rt.Fatal(err)
	}
	wanted, err := alone.Uses(nil)
	if diff := differ.Of(wanted.Total, uses.Total); err != nil || diff != "" {
		rt.Fatal(err, diff)
	}
	wantPaths, err := alone.Paths()
	if err != nil {
		rt.Fatal(err)
	}
	var paths []session.PathValue // of which rows are made when they are asked for
	for ids := []session.PathID{0}; len(ids) > 0; ids = ids[1:] {
		rows, err := ahead.PathChildren(ids[0])
		if err != nil {
			rt.Fatal(err)
		}
		for _, r := range rows {
			paths, ids = append(paths, r), append(ids, r.ID)
		}
	}
	slices.SortFunc(paths, func(a, b session.PathValue) int { return cmp.Compare(a.ID, b.ID) })
	if diff := differ.Of(wantPaths, paths, cmpopts.EquateEmpty()); diff != "" {
		rt.Fatal(diff)
	}
}

// checkFewFirst compares the paths of types where it was said which are asked for first, with those of all types.
func checkFewFirst(rt *rapid.T, s *session.Session, want map[session.TypeID][]session.TypePath) {
	v, err := Computed(s)
	if err != nil {
		rt.Fatal(err)
	}
	ids := slices.Sorted(maps.Keys(want))
	few := ids[:len(ids)/2]
	v.OfTypes(few)
	for round, of := range [][]session.TypeID{few, ids, few} {
		for _, id := range of {
			have, err := v.TypeHotPath(id)
			if diff := differ.Of(want[id], have, cmpopts.EquateEmpty()); err != nil || diff != "" {
				rt.Fatal(round, err, diff)
			}
		}
		if all := v.types != nil; all != (round > 0) && len(ids) > 0 {
			rt.Fatalf("the trees of all types are there: %v", all)
		}
	}
	if v.OfTypes(ids); len(v.few.types) > 0 {
		rt.Fatal("who comes a second time has not the trees of all types")
	}
}

// TestWhole: what is stored of the whole session is what is computed of it, also in a session of an older clrprof, which
// has none of it, and in one that has fewer causes than are asked for.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		b := sessiontest.Random(rapid.Uint64().Draw(rt, "seed"))
		drawOrigins(rt, b)
		path := filepath.Join(dir, "a")
		s := open(rt, b, path)
		computed, err := Computed(s)
		if err != nil {
			rt.Fatal(err)
		}
		want := showFirst(rt, computed)
		checkAhead(rt, s, want.Causes)
		checkFewFirst(rt, s, want.Paths)
		for of, steps := range want.Paths {
			var have []session.FunctionID
			end := q.Bytes(0)
			for _, step := range steps {
				have, end = append(have, slices.Repeat([]session.FunctionID{step.Function}, int(step.Times))...), step.Bytes
			}
			if functions, last := naiveHotPath(rt, computed, of); !slices.Equal(have, functions) || end != last {
				rt.Fatalf("type %d: %v, %d; want %v, %d", of, have, end, functions, last)
			}
		}
		script := rapid.SampledFrom([]string{"SELECT 1", "DELETE FROM cause WHERE position > 2",
			"DELETE FROM cause; DELETE FROM cause_total; DELETE FROM type_death; DELETE FROM type_path"}).Draw(rt, "script")
		s.Close()
		if err := sessiontest.Change(path, func(conn *sqlite.Conn) error {
			return sqlitex.ExecuteScript(conn, script, nil)
		}); err != nil {
			rt.Fatal(err)
		}
		if s, err = session.Open(path); err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		v, err := Open(s, Selection{})
		if err != nil {
			rt.Fatal(err)
		}
		have := showFirst(rt, v)
		if !v.Stored() || script == "SELECT 1" && len(b.Sites) > 0 && v.data != nil {
			rt.Fatal("the session was read whole")
		}
		if diff := differ.Of(want, have, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatal(script, diff)
		}
	})
}
