package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/analysis"
	"github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
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
	t.Parallel()
	in := dotnettest.Need(t)
	for _, w := range []way{tiered, optimized, debug, serverGC} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "LifetimeSnapshot", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--snapshot", "end")
				compareHeap(t, r, 30)
				compareAlive(t, r.session)
			})
		}
	}
}

// TestLifetimeSnapshotOfStacks takes the snapshot while only stacks hold some objects, one by a reference into it.
func TestLifetimeSnapshotOfStacks(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, w := range []way{tiered, optimized, debug} {
		for _, runtime := range in.NewestAndOldest() {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "LifetimeSnapshot", w.options), "stack")
				cmd.Env = append(cmd.Env, w.env...)
				compareHeap(t, mustRecord(t, cmd, "--snapshot", "1"), 5)
			})
		}
	}
}

// TestLifetimeSnapshotOfChildren: each process has its own.
func TestLifetimeSnapshotOfChildren(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	r := mustRecord(t, in.Newest().Command(dotnettest.Target(t, "Children", dotnettest.Options{}), "wait", "3"),
		"--snapshot", "end")
	type one struct{ Processes, Snapshots int }
	got := query[one](t, r.session, "SELECT count(*) AS processes, (SELECT count(*) FROM snapshot WHERE objects > "+
		"100) AS snapshots FROM process_lifetime WHERE alive_known = 1")
	if len(got) != 1 || got[0].Processes != 4 || got[0].Snapshots != got[0].Processes {
		t.Errorf("%+v", got)
	}
	compareAlive(t, r.session)
}

func compareHeap(t *testing.T, r result, types int) {
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
	if n < types {
		t.Errorf("the target reported %d types", n)
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
	functions, err := s.Functions() // without gaps
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
		h.Objects, h.Bytes, h.Retained = h.Objects+int64(row.Allocations), h.Bytes+int64(row.Bytes), h.Retained+
			int64(row.Retained)
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
			if step.Kind == session.RootStack && step.Function != 0 {
				name, _, _ := strings.Cut(functions[step.Function-1].Name, "(")
				h.State += " " + name
			}
			if step.Flags&session.RootInterior != 0 {
				h.State = "interior " + h.State
			}
		} else {
			h.Path += " " + names[step.ObjectType]
		}
		got[names[step.Type]] = h
	}
	return got
}

// compareAlive compares the snapshot with what the agent's shadow of the heap says of the same collection: by site. If
// the program has begun to end with that collection, then objects that were made later and are alive are not in it: no
// more than came onto the heap until the next collection.
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
	type one struct{ Made int64 }
	later := query[one](t, path, `SELECT coalesce(sum(h.before_objects - e.after_objects), 0) AS made
		FROM process_ending p JOIN snapshot s ON s.process_id = p.process_id AND s.gc_number = p.gc_number
		JOIN gc a ON a.process_id = p.process_id AND a.number = p.gc_number JOIN gc_heap e ON e.gc_id = a.id
		JOIN gc b ON b.process_id = p.process_id AND b.number = p.gc_number + 1
		JOIN gc_heap h ON h.gc_id = b.id AND h.generation = e.generation`)[0].Made
	sum, inSnapshot := map[session.SiteID]quantity.Amount{}, map[session.SiteID]quantity.Amount{}
	for _, row := range alive {
		sum[row.Site] = sum[row.Site].Add(row.Amount)
	}
	for _, row := range sites {
		inSnapshot[row.Site] = inSnapshot[row.Site].Add(row.Amount)
	}
	var want, got []string
	for site, amount := range sum {
		if more := int64(amount.Allocations - inSnapshot[site].Allocations); more > 0 && more <= later {
			later -= more
			amount = inSnapshot[site]
		}
		if !amount.IsZero() {
			want = append(want, fmt.Sprintf("site %06d: %d objects, %d bytes", site, amount.Allocations, amount.Bytes))
		}
	}
	for site, amount := range inSnapshot {
		got = append(got, fmt.Sprintf("site %06d: %d objects, %d bytes", site, amount.Allocations, amount.Bytes))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alive after the last collection (-shadow +snapshot):\n%s", diff)
	}
}

// TestLifetimeSnapshotOfNumber takes the snapshot in the middle of programs that make the heap hard to follow. It has
// the objects that the agent found surviving that collection, site by site.
func TestLifetimeSnapshotOfNumber(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	for i, w := range []way{{name: "workstation"}, {name: "server", env: server}} {
		for j, what := range []string{"churn", "pin", "large", "weak", "finalizers", "unload", "frozen", "storm"} {
			if !dotnettest.Paired(i, 2, j, 8) {
				continue
			}
			for _, runtime := range dotnettest.OneInTurn(in.NewestAndOldest(), i+j) {
				t.Run(w.name+"/"+what+"/"+runtime.Name, func(t *testing.T) {
					cmd := runtime.Command(dll, what, "20")
					cmd.Env = append(append(cmd.Env, w.env...), smallBudget...)
					r := mustRecord(t, cmd, "--snapshot", "4")
					compareSurvivors(t, r.session)
				})
			}
		}
	}
}

func compareSurvivors(t *testing.T, path string) {
	t.Helper()
	type one struct {
		Number, Objects, Bytes int64
	}
	wanted := query[one](t, path, "SELECT number FROM gc WHERE number >= 4 AND generation = 2 ORDER BY number LIMIT 1")
	got := query[one](t, path, "SELECT gc_number AS number FROM snapshot")
	if diff := cmp.Diff(wanted, got); diff != "" || len(got) != 1 {
		t.Fatalf("collection of the snapshot (-want +got):\n%s", diff)
	}
	want := query[one](t, path,
		fmt.Sprintf("SELECT site_id AS number, uncollected_objects + rooted_objects + reachable_objects AS objects, "+
			"uncollected_bytes + rooted_bytes + reachable_bytes AS bytes FROM survival v JOIN gc ON gc.id = v.gc_id "+
			"WHERE gc.number = %d ORDER BY 1", got[0].Number))
	have := query[one](t, path, "SELECT site_id AS number, objects, bytes FROM snapshot_site ORDER BY 1")
	if diff := cmp.Diff(want, have); diff != "" || len(have) < 10 {
		t.Errorf("survivors by site (-agent +snapshot):\n%s", diff)
	}
}

// TestLifetimeSnapshotCut cuts off the end of a snapshot: it is a loss, and the session good otherwise. Whole, it can
// be recovered.
func TestLifetimeSnapshotCut(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, cut := range []int64{0, 1, 5000} {
		target := in.Newest().Command(dotnettest.Target(t, "LifetimeSnapshot", dotnettest.Options{}))
		arenas := attachAgent(t, target, productAgent(t), "CLRPROF_SNAPSHOT=end")
		runTarget(t, target)
		heaps, err := filepath.Glob(filepath.Join(arenas, "*.heap"))
		if err != nil || len(heaps) != 1 {
			t.Fatalf("snapshots %v, %v", heaps, err)
		}
		st, err := os.Stat(heaps[0])
		if err == nil {
			err = os.Truncate(heaps[0], st.Size()-cut)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "s.clrprof")
		if r := run(t, "recover", arenas, "-o", path); r.exit != 0 {
			t.Fatalf("recover: exit code %d: %s", r.exit, r.stderr)
		}
		if _, err := os.Stat(arenas); !os.IsNotExist(err) {
			t.Errorf("the directory is left: %v", err)
		}
		losses := query[struct{ Reason string }](t, path, "SELECT reason FROM loss")
		snapshots := query[struct{ Objects int }](t, path, "SELECT objects FROM snapshot")
		if cut == 0 && (len(losses) != 0 || len(snapshots) != 1 || snapshots[0].Objects < 5000) {
			t.Errorf("whole: lost %v, snapshots %v", losses, snapshots)
		}
		if cut != 0 && (len(losses) != 1 || losses[0].Reason != session.LossSnapshot || len(snapshots) != 0) {
			t.Errorf("without its last %d bytes: lost %v, snapshots %v", cut, losses, snapshots)
		}
		if found, err := analysis.Check(openSession(t, path)); err != nil || len(found) != 0 {
			t.Errorf("%v, %v", found, err)
		}
	}
}

// productAgent is the path of the agent that is in the program under test.
func productAgent(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../internal/capture/agentbin/lib/libclrprof-linux-x64.so")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLifetimeSnapshotDiskFull: there is room for the arena and not for the snapshot, which is lost; the target ends as
// it would.
func TestLifetimeSnapshotDiskFull(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	s := newSandbox(t)
	s.mount(s.shm, 32<<20, 0)
	target := in.Newest().Command(dotnettest.Target(t, "LifetimeSnapshot", dotnettest.Options{}), "200000")
	r := s.record(target.Args, "--snapshot", "end")
	if r.exit != 0 {
		t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	if found, err := analysis.Check(openSession(t, r.session)); err != nil || len(found) != 0 {
		t.Errorf("%v, %v", found, err)
	}
	type loss struct {
		Reason string
		Events int
	}
	if diff := cmp.Diff([]loss{{session.LossSnapshot, 1}},
		query[loss](t, r.session, "SELECT reason, events FROM loss")); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	text := run(t, "report", r.session, "snapshot")
	if text.exit != codeUsage || !strings.Contains(text.stderr, "the snapshot was lost") {
		t.Errorf("exit code %d: %s%s", text.exit, text.stdout, text.stderr)
	}
}
