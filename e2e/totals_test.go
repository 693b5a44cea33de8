package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestWholeProcess compares a whole session with GC.GetTotalAllocatedBytes(true), which the target called last thing:
// to the byte, from the runtime's first object on. What is made afterwards is known: by the function After, and at
// the runtime's end by the finalizer's thread, which has nothing to do before because nothing is collected. The
// runtime does not count frozen objects.
func TestWholeProcess(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{tiered, optimized, tier0, serverDebug} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Totals", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--memory") // no last collection
				rows, err := dotnettest.ParseTruth(strings.NewReader(r.stdout))
				if err != nil {
					t.Fatal(err)
				}
				var whole dotnettest.Truth
				for _, row := range rows {
					if row.Kind == "whole" {
						whole = row
					}
				}
				got := bytesOf(t, r.session, "NOT s.frozen AND t.os_id = p.pid")
				for f, m := range readRecorded(t, r.session, false).below {
					if f.Name == whole.Name {
						got -= m.Bytes
					}
				}
				if whole.Bytes == 0 || got != whole.Bytes {
					t.Errorf("the runtime counted %d bytes, the session has %d", whole.Bytes, got)
				}
			})
		}
	}
}

// bytesOf adds up the bytes of sites s, with thread t and process p, that satisfy a condition.
func bytesOf(t *testing.T, path, condition string) int64 {
	t.Helper()
	return query[struct {
		Bytes int64 `json:"bytes"`
	}](t, path, "SELECT coalesce(sum(v.bytes), 0) AS bytes FROM site s JOIN site_value v ON v.site_id = s.id "+
		"JOIN thread t ON t.id = s.thread_id JOIN process p ON p.id = t.process_id WHERE "+condition)[0].Bytes
}

// TestHeapWalk compares a session with what the runtime finds when it walks through its whole heap at the end of a
// collection: of a type that stays alive exactly what was allocated, and of no type more.
func TestHeapWalk(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{tiered, optimized, serverGC} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dotnettest.Target(t, "Kept", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				path := filepath.Join(t.TempDir(), "walk")
				withOracle(t, cmd, "walk", "CLRPROF_WALK="+path)
				r := mustRecord(t, cmd, "--memory")
				compareTruth(t, r, runtime)
				compareWalk(t, r.session, path)
				checkHeaps(t, r.session, runtime)
			})
		}
	}
}

func compareWalk(t *testing.T, path, walk string) {
	t.Helper()
	allocated, alive := map[string]made{}, map[string]made{}
	reader := newReader(t, path, false)
	bySite := map[session.SiteID]session.TypeID{}
	for _, s := range need(t, reader.s.Sites) {
		bySite[s.ID] = s.Type
	}
	for _, v := range need(t, reader.s.SiteValues) {
		name := reader.typeName(bySite[v.Site])
		allocated[name] = allocated[name].plus(made{int64(v.Allocations), int64(v.Bytes)})
	}
	text, err := os.ReadFile(walk)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var id session.TypeID // that of the agent is that of the session: there is one process, and nothing is unloaded
		var m made
		if _, err := fmt.Sscan(line, &id, &m.Objects, &m.Bytes); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		name := reader.typeName(id)
		alive[name] = alive[name].plus(m)
	}
	own := map[string]made{}
	for name, m := range alive {
		if a := allocated[name]; m.Objects > a.Objects || m.Bytes > a.Bytes {
			t.Errorf("%s: %v are alive, only %v were allocated", name, m, a)
		}
		if strings.HasPrefix(name, "Kept.") {
			own[name] = m
		}
	}
	want := map[string]made{}
	for name, m := range allocated {
		if strings.HasPrefix(name, "Kept.") {
			want[name] = m
		}
	}
	if d := cmp.Diff(want, own); d != "" || len(own) < 10 {
		t.Errorf("the heap does not hold what was allocated (-session +heap):\n%s", d)
	}
}

// checkHeaps makes sure that the test is about all heaps: those objects that can be are on the frozen heap.
func checkHeaps(t *testing.T, path string, runtime dotnettest.Runtime) {
	t.Helper()
	frozen := readRecorded(t, path, false).frozen
	if runtime.Major() < 8 {
		if len(frozen) != 0 {
			t.Errorf("there are frozen objects: %v", frozen)
		}
		return
	}
	for _, name := range []string{"Kept.Static", "Kept.InEmpty[]"} {
		if frozen[name].Objects != 1 {
			t.Errorf("of %s %d objects are frozen, not 1", name, frozen[name].Objects)
		}
	}
}
