package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/dotnettest"
	"github.com/clrprof/clrprof/internal/session"
)

// heapTruth is what the target LifetimeSnapshot knows of one of its types.
type heapTruth struct {
	Kind     string `json:"truth"`
	Name     string `json:"name"`
	Objects  int64  `json:"objects"`
	Bytes    int64  `json:"bytes"`
	Retained int64  `json:"retained"`
	State    string `json:"state"`
	Path     string `json:"path"` // types, from the root on; "": not known
}

// TestLifetimeSnapshot compares what a snapshot says of a heap with what the program that left it knows, and with what
// the last collection found alive.
func TestLifetimeSnapshot(t *testing.T) {
	in := dotnettest.Need(t)
	for _, w := range []way{tiered, optimized, debug, serverGC} {
		for _, runtime := range []dotnettest.Runtime{in.Net9(), in.Net31()} {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "LifetimeSnapshot", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--snapshot", "end")
				compareHeap(t, r)
				compareAlive(t, r.session)
			})
		}
	}
}

func compareHeap(t *testing.T, r result) {
	t.Helper()
	if _, err := dotnettest.ParseTruth(strings.NewReader(r.stdout)); err != nil {
		t.Fatal(err)
	}
	got := readHeap(t, r.session)
	n := 0
	for line := range strings.Lines(r.stdout) {
		var want heapTruth
		if err := json.Unmarshal([]byte(line), &want); err != nil || want.Kind != "heap" {
			continue
		}
		n++
		have := got[want.Name]
		have.Kind, have.Name = want.Kind, want.Name
		if want.Objects == 0 && have.Objects == 0 {
			have.State = want.State
		}
		if want.Path == "" {
			have.Path = ""
		}
		// A static is in an array of the runtime's, which a handle holds, or before .NET 9 all are in one.
		have.Path = strings.TrimPrefix(have.Path, "System.Object[] ")
		if want.State == "reachable" && have.State != "finalizer" && have.State != "unreachable" {
			have.State = want.State
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if n < 30 {
		t.Errorf("the target told of %d types", n)
	}
}

// readHeap reads the snapshot by the .NET names of types, which are those of the metadata.
func readHeap(t *testing.T, path string) map[string]heapTruth {
	t.Helper()
	s := openSession(t, path)
	types, err := s.SnapshotTypes()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := s.SnapshotPaths()
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Types()
	if err != nil {
		t.Fatal(err)
	}
	names := map[session.TypeID]string{}
	for _, typ := range all {
		names[typ.ID] = typ.RawName
		if typ.Kind == session.TypeArray {
			names[typ.ID] = names[typ.ElementType] + "[]"
			if typ.Name == "object[]" {
				names[typ.ID] = "System.Object[]"
			}
		}
	}
	got := map[string]heapTruth{}
	for _, row := range types {
		name := names[row.Type]
		h := got[name] // of generic types there are several of a name
		h.Objects, h.Bytes, h.Retained = h.Objects+int64(row.Allocations), h.Bytes+int64(row.Bytes), h.Retained+int64(row.Retained)
		h.State = map[bool]string{true: "unreachable", false: "reachable"}[row.Unreachable+row.Frozen > 0]
		got[name] = h
	}
	for _, step := range paths {
		h := got[names[step.Type]]
		if step.Position == 0 {
			h.Path = names[step.ObjectType]
			if step.Kind != session.RootOther && h.State != "unreachable" {
				h.State = step.Kind
			}
			if step.Flags&session.RootPinning != 0 && step.Kind == session.RootHandle {
				h.State = "pinned"
			}
		} else {
			h.Path += " " + names[step.ObjectType]
		}
		got[names[step.Type]] = h
	}
	return got
}

// compareAlive compares the snapshot with what the agent's shadow of the heap says of the same collection: by site.
func compareAlive(t *testing.T, path string) {
	t.Helper()
	s := openSession(t, path)
	alive, err := s.SiteAlive()
	if err != nil {
		t.Fatal(err)
	}
	sites, err := s.SnapshotSites()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	sum := map[session.SiteID]session.SnapshotSite{}
	for _, row := range alive {
		of := sum[row.Site]
		of.Amount = of.Add(row.Amount)
		sum[row.Site] = of
	}
	for site, row := range sum {
		want = append(want, fmt.Sprintf("site %06d: %d objects, %d bytes", site, row.Allocations, row.Bytes))
	}
	for _, row := range sites {
		got = append(got, fmt.Sprintf("site %06d: %d objects, %d bytes", row.Site, row.Allocations, row.Bytes))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alive after the last collection (-shadow +snapshot):\n%s", diff)
	}
}
