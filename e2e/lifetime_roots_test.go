package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// survivorTruth is what the target says of the objects of a type that survived a collection.
type survivorTruth struct {
	Kind        string `json:"truth"`
	GC          int    `json:"gc"`
	Name        string `json:"name"`
	Uncollected int64  `json:"uncollected"`
	Rooted      int64  `json:"rooted"`
	Reachable   int64  `json:"reachable"`
	Root        string `json:"kind"`
	Flags       string `json:"flags"`
	References  int64  `json:"references"`
}

// survivor is a row of the view survivors: a type, or below it the references of a kind.
type survivor struct {
	Name        string `json:"name"`
	Level       int    `json:"level"`
	Uncollected int64  `json:"uncollected_objects"`
	Rooted      int64  `json:"rooted_objects"`
	Reachable   int64  `json:"reachable_objects"`
	Surviving   int64  `json:"surviving_objects"`
	Root        string `json:"root_kind"`
	Flags       string `json:"root_flags"`
	References  int64  `json:"references"`
}

// TestLifetimeRoots compares the reasons for which objects survive with those known by construction.
func TestLifetimeRoots(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range lifetimeWays {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				target := runtime.Command(dotnettest.Target(t, "LifetimeRoots", w.options), "100")
				target.Env = append(append(target.Env, largeBudget), w.env...)
				r := mustRecord(t, target, "--lifetime", "--roots", "every")
				if _, err := dotnettest.ParseTruth(strings.NewReader(r.stdout)); err != nil {
					t.Fatal(err)
				}
				truth := truthRows[survivorTruth](t, r.stdout, "survivors")
				roots := map[string][]survivor{}
				types := map[string]survivor{}
				of := ""
				for _, row := range view[survivor](t, r.session, "survivors", fmt.Sprint(truth[0].GC)) {
					if row.Level == 0 {
						of = row.Name
						types[of] = row
					} else {
						roots[of] = append(roots[of], row)
					}
				}
				// The runtime pins a few objects of its own.
				pinned := query[struct{ Pinned int64 }](t, r.session,
					fmt.Sprintf("SELECT pinned FROM gc JOIN gc_detail ON gc_id = id WHERE number = %d", truth[0].GC))
				if len(pinned) != 1 || pinned[0].Pinned < 100 || pinned[0].Pinned > 140 {
					t.Errorf("%v objects are pinned, want 100 and a few of the runtime's", pinned)
				}
				for _, want := range truth {
					got := types[want.Name]
					if got.Uncollected != want.Uncollected || got.Rooted != want.Rooted ||
						got.Reachable != want.Reachable ||
						got.Surviving != want.Uncollected+want.Rooted+want.Reachable {
						t.Errorf("%+v; the view says %+v", want, got)
					}
					checkRoots(t, want, roots[want.Name])
				}
			})
		}
	}
}

func checkRoots(t *testing.T, want survivorTruth, got []survivor) {
	t.Helper()
	var references int64
	for _, row := range got {
		if row.Root != want.Root || row.Flags != want.Flags || want.Root == "stack" &&
			!strings.Contains(row.Name, "LifetimeRoots.Program.Hold") {
			t.Errorf("%s: a reference that is not known: %+v", want.Name, row)
		}
		references += row.References
	}
	// A stack may hold an object several times: in a register, and where that was saved.
	if references < want.References || references > want.References && want.Root != "stack" {
		t.Errorf("%s: %d references, want %d: %+v", want.Name, references, want.References, got)
	}
}
