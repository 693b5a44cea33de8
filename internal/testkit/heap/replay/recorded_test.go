package replay

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/heap"
)

// buildRecorder compiles the agent with the variants that only tests use.
func buildRecorder(t *testing.T) string {
	t.Helper()
	sources, err := filepath.Glob("../../../../agent/src/*/*.c")
	if err != nil {
		t.Fatal(err)
	}
	args := append(strings.Fields("gcc -std=c11 -I../../../../agent/src -O2 -g -fno-tree-slp-vectorize -fPIC -fvisibility=hidden "+
		"-fno-omit-frame-pointer -fstack-protector-strong -fcf-protection=none -DCLRPROF_ORACLE -shared -nostdlib ../../../../agent/test/oracle.c"), sources...)
	return filepath.Join(dotnettest.Native(t, append(args, "-o", dotnettest.NativeOut+"/oracle.so")...), "oracle.so")
}

var (
	// smallBudget makes the runtime collect generation 0 early: many collections that nobody asked for.
	smallBudget = []string{"COMPlus_GCgen0size=40000", "COMPlus_GCgen0MaxBudget=40000"}
	server      = []string{"COMPlus_gcServer=1", "COMPlus_GCHeapCount=2"}
)

// TestRecordedRuntimes lets real programs run under an agent that counts as the product does and also records what it
// is reported. The reference tracker follows the recording, and every counter of every site and collection must be
// equal. What is born after the last collection is not counted, and how much that is: finalizers and the runtime may
// still allocate.
func TestRecordedRuntimes(t *testing.T) {
	in := dotnettest.Need(t)
	agent := buildRecorder(t)
	sample, err := in.Compile([]string{"../../../../samples/orderbook"}, "", dotnettest.Options{Name: "orderbook"})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := in.Compile([]string{"testdata/FreshTypes/FreshTypes.cs"}, "", dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	heavy := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	collectors := []struct {
		name string
		env  []string
	}{{"workstation", smallBudget}, {"server", slices.Concat(smallBudget, server)}}
	for i, program := range []struct {
		name string
		dll  string
		args []string
	}{
		{"orderbook", sample, nil},
		{"Shapes", dotnettest.Target(t, "Shapes", dotnettest.Options{Unsafe: true}), nil},
		{"Tiering", dotnettest.Target(t, "Tiering", dotnettest.Options{Unsafe: true}), nil},
		{"FreshTypes", fresh, []string{"300"}},
		{"LifetimeHeap", heavy, []string{"all", "8"}},
	} {
		for j, collector := range collectors {
			for _, runtime := range dotnettest.OneInTurn(in.NewestAndOldest(), i+j) {
				t.Run(program.name+"/"+collector.name+"/"+runtime.Name, func(t *testing.T) {
					compareRecorded(t, agent, runtime.Command(program.dll, program.args...), collector.env)
				})
			}
		}
	}
}

func compareRecorded(t *testing.T, agent string, target *exec.Cmd, env []string) {
	t.Helper()
	arenas := scratch(t)
	recording := filepath.Join(t.TempDir(), "recording")
	target.Env = append(target.Env, "CORECLR_ENABLE_PROFILING=1",
		"CORECLR_PROFILER={8B2F1E5A-6C3D-4E9B-9A57-C1B0F2D34E61}",
		"CORECLR_PROFILER_PATH="+agent, "CLRPROF_ARENAS="+arenas, "CLRPROF_LIFETIME=1", "CLRPROF_FINAL_GC=1",
		"CLRPROF_MEMORY=4000000000",
		"CLRPROF_VARIANT=record", "CLRPROF_RECORDING="+recording)
	target.Env = append(target.Env, env...)
	if out, err := target.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", target.Args, err, out)
	}
	got, err := readArena(arenas)
	if err != nil {
		t.Fatal(err)
	}
	got.nothingLost(t)
	want, late, err := follow(recording, got.ends, got.ending)
	if err != nil {
		t.Fatal(err)
	}
	if diff := differ.Of(want, &got.result); diff != "" {
		t.Errorf("tracker (-) and agent (+) differ: %s", diff)
	}
	t.Logf("%d objects were born after the last collection", late)
	if late != got.leftOut {
		t.Errorf("%d objects were born after the last collection, the agent left out %d", late, got.leftOut)
	}
	conserved(t, got, want)
}

// follow gives a recording to the tracker. The times are the agent's, which reads the clock itself. It also returns how
// many objects were born after the last collection, which it does not give to it.
func follow(path string, ends []uint64, ending uint32) (result *heap.Result, late uint64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	// what the agent looks at if nothing else is asked for
	gen2 := func(s heap.GCStart) bool { return s.Collected&4 != 0 }
	tracker, n := &heap.Tracker{Reasons: gen2, Ending: ending}, 0
	for r := heap.NewReader(f); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return tracker.Result(), late, nil
		}
		if err != nil {
			return nil, 0, err
		}
		if _, ok := e.(heap.Alloc); ok && tracker.Result().AliveKnown {
			late++
			continue
		}
		if end, ok := e.(heap.GCEnd); ok && n < len(ends) {
			end.NS = ends[n]
			n++
			e = end
		}
		if err := tracker.Add(e); err != nil {
			return nil, 0, err
		}
	}
}

// conserved checks that every object is dead, alive or frozen.
func conserved(t *testing.T, got *counted, r *heap.Result) {
	t.Helper()
	var allocated, dead, alive, frozen uint64
	for i, s := range r.Sites {
		allocated += s.Allocated.Objects
		if got.frozen[i] {
			frozen += s.Allocated.Objects
		}
		for _, d := range s.Dead {
			dead += d.Objects
		}
	}
	for _, c := range r.Alive {
		alive += c.Objects.Objects
	}
	t.Logf("%d sites, %d collections; of %d objects %d dead, %d alive, %d frozen", len(r.Sites), len(r.GCs), allocated,
		dead, alive, frozen)
	if !r.AliveKnown || dead == 0 || alive == 0 || dead+alive+frozen != allocated {
		t.Errorf("alive is known: %v; %d objects are neither dead nor alive", r.AliveKnown,
			int64(allocated-dead-alive-frozen))
	}
}
