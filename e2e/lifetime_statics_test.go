package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// staticTruth is what the target LifetimeStatics knows of one of its types: which static field holds its only object.
type staticTruth struct {
	Kind  string `json:"truth"`
	Type  string `json:"type"`
	Field string `json:"field"`
	Path  string `json:"path"` // types, from what the field refers to on
}

// heldRow is a row of the view snapshot.
type heldRow struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	RootKind    string `json:"root_kind"`
	StaticField string `json:"static_field"`
	Objects     *int64 `json:"live_objects"`
}

// knowsInstances says whether the static fields of generic classes with type arguments are known: from .NET 9 on.
func knowsInstances(r dotnettest.Runtime) bool { return r.Major() >= 9 }

// TestLifetimeStatics compares which static field holds an object with what the program says, for fields of all kinds.
func TestLifetimeStatics(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, w := range []way{tiered, optimized, serverGC} {
		for _, runtime := range in.Runtimes() {
			if w.name != tiered.name && runtime.Name != in.Newest().Name && !dotnettest.EveryRuntime() {
				continue
			}
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "LifetimeStatics", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--snapshot", "end")
				compareStatics(t, r, knowsInstances(runtime))
				compareAlive(t, r.session)
			})
		}
	}
}

// TestLifetimeStaticsChurn takes the snapshot while threads begin and end, at a collection that the program asks for
// and at the last one.
func TestLifetimeStaticsChurn(t *testing.T) {
	t.Parallel()
	for i, when := range []string{"1", "end"} {
		for _, runtime := range dotnettest.Need(t).InTurn(i) {
			t.Run(when+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "LifetimeStatics", dotnettest.Options{}), "churn")
				compareStatics(t, mustRecord(t, cmd, "--snapshot", when), knowsInstances(runtime))
			})
		}
	}
}

func compareStatics(t *testing.T, r result, instances bool) {
	t.Helper()
	n := 0
	for line := range strings.Lines(r.stdout) {
		var want staticTruth
		if err := json.Unmarshal([]byte(line), &want); err != nil || want.Kind != "static" {
			continue
		}
		n++
		if isInstance := strings.Contains(want.Field, ".Generic"); isInstance && !instances {
			continue
		}
		have := staticOf(t, r, want.Type)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Type, diff)
		}
	}
	if n < 20 {
		t.Errorf("the target reported %d types", n)
	}
	left := query[struct{ Classes int }](t, r.session, "SELECT statics_left_out AS classes FROM snapshot")
	if len(left) != 1 || (left[0].Classes == 0) != instances {
		t.Errorf("classes whose static fields are not known: %v", left)
	}
	never := query[struct{ Name string }](t, r.session, "SELECT name FROM snapshot_static WHERE name = 'Never'")
	if len(never) != 0 {
		t.Errorf("a class that is not initialised holds %v", never)
	}
}

// staticOf asks the view how the object of a type is held.
func staticOf(t *testing.T, r result, name string) staticTruth {
	t.Helper()
	shown := run(t, "report", r.session, "snapshot", name, "--json")
	var rows []heldRow
	if err := json.Unmarshal([]byte(shown.stdout), &rows); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, shown.stderr)
	}
	have := staticTruth{Kind: "static", Type: name}
	var path []string
	for _, row := range rows {
		switch {
		case row.Kind == "root" && row.Objects != nil: // who holds the objects of the type, before the path of one of them
			if have.Field != "" || *row.Objects != 1 {
				t.Errorf("%s: a static field holds %d objects of it, beside %s", name, *row.Objects, have.Field)
			}
			have.Field = row.Name
		case row.Kind == "root":
			if holder := have.Field; row.RootKind == "static" && holder != row.Name {
				t.Errorf("%s: %s holds it, and its path begins at %s", name, holder, row.Name)
			}
			have.Field = strings.TrimSuffix(strings.TrimSuffix(row.Name, " (static)"), " (thread static)")
			if row.RootKind != "static" {
				have.Field += " " + row.RootKind
			}
		case row.Kind == "object":
			path = append(path, strings.ReplaceAll(row.Name, " ", ""))
		}
	}
	have.Path = strings.Join(path, " ")
	// What retains most of a type is what holds its only object.
	types := slices.DeleteFunc(rows, func(r heldRow) bool { return r.Kind != "type" })
	if len(types) != 1 || types[0].StaticField != have.Field {
		t.Errorf("%s: the type is %+v, its path begins at %s", name, types, have.Field)
	}
	return have
}
