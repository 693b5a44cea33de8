package replay

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/heap"
	"github.com/clrprof/clrprof/internal/testkit/heap/heapsim"
	"github.com/clrprof/clrprof/internal/wire"
)

// With -seeds 200000 it is millions of collections, see "make heaps".
var (
	seeds = flag.Int("seeds", 400, "simulated heaps that the agent replays")
	first = flag.Int("first", 0, "the first of their seeds")
)

// flags of the compiler: those of the product, as far as they matter here. In the simulation objects of any size are
// on any heap, so the agent asks for the place of each.
const flags = "-std=c11 -I../../../../agent/src -O2 -g -fno-omit-frame-pointer -pthread -Wall -Wextra -Wconversion -Werror " +
	"-Dclock_gettime=replay_clock_gettime -DLARGE_BYTES=1 -DDENSE_BYTES=0xFFFFFFFFu"

// build compiles the agent with the replaying runtime.
func build(t testing.TB, more string) string {
	t.Helper()
	sources, err := filepath.Glob("../../../../agent/src/*/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources of the agent: %v", err)
	}
	faster := ""
	if more != "" { // the product's optimizations are tried once: with fewer, variants are compiled in half the time
		faster = " -O1"
	}
	args := append(strings.Fields("gcc "+flags+faster+" "+more), "-o", dotnettest.NativeOut+"/replay",
		"../../../../agent/test/replay.c")
	return filepath.Join(dotnettest.Native(t, append(args, sources...)...), "replay")
}

// scratch is a directory in memory, since arenas are mapped; the test removes it.
func scratch(t testing.TB) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "clrprof-replay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// policies are values of CLRPROF_ROOTS, and of which collections the agent then says why objects survived.
var policies = []struct {
	roots   string
	reasons func(heap.GCStart) bool
}{
	{"off", func(heap.GCStart) bool { return false }},
	{"every", func(heap.GCStart) bool { return true }},
	{"gen2", func(s heap.GCStart) bool { return s.Collected&4 != 0 }},
	{"induced", func(s heap.GCStart) bool { return s.Induced || s.Final }},
}

// simulate writes the recording of a simulated heap to a file. It returns what the tracker says of it, which the truth
// must be too.
func simulate(o heapsim.Options, r heapsim.Rand, path string, reasons func(heap.GCStart) bool) (*heap.Result, error) {
	tracker := &heap.Tracker{Reasons: reasons}
	var truth *heap.Result
	if err := write(path, func(emit func(heap.Event)) { truth = heapsim.Run(o, r, emit) }, tracker); err != nil {
		return nil, err
	}
	truth.Reasons = tracker.Result().Reasons
	if diff := differ.Of(truth, tracker.Result()); diff != "" {
		return nil, fmt.Errorf("truth (-) and tracker (+) differ: %s", diff)
	}
	return tracker.Result(), nil
}

// write makes a recording of the events, and lets the tracker follow them.
func write(path string, events func(emit func(heap.Event)), tracker *heap.Tracker) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := heap.NewWriter(f)
	events(func(e heap.Event) {
		w.Write(e)
		if err == nil {
			err = tracker.Add(e)
		}
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// run gives recordings to the agent.
func run(program, dir string, env []string, recordings ...string) error {
	cmd := exec.Command(program, append([]string{dir}, recordings...)...)
	cmd.Env = append(os.Environ(), append(slices.Clip(env), "TSAN_OPTIONS=halt_on_error=1",
		"ASAN_OPTIONS=detect_leaks=0")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// perProcess is how many recordings one process of the agent's replays.
const perProcess = 50

// compareSeeds lets the agent replay the heaps with the seeds from a to b, and returns the number of collections.
func compareSeeds(t *testing.T, program string, a, b int, env ...string) (collections int) {
	t.Helper()
	for a < b {
		dir, recordings := scratch(t), []string(nil)
		policy := policies[a/perProcess%len(policies)]
		want := map[string]*heap.Result{}
		for ; a < b && len(recordings) < perProcess; a++ {
			r := rand.New(rand.NewPCG(uint64(a), 2))
			name := fmt.Sprint("seed", a)
			path := filepath.Join(dir, name+".heap")
			result, err := simulate(heapsim.Draw(r), r, path, policy.reasons)
			if err != nil {
				t.Fatalf("seed %d: %v", a, err)
			}
			want[name+".heap"] = result
			recordings = append(recordings, path)
		}
		arenas := scratch(t)
		if err := run(program, arenas, append(slices.Clip(env), "CLRPROF_ROOTS="+policy.roots),
			recordings...); err != nil {
			t.Fatal(err)
		}
		for name, result := range want {
			got, err := readArena(filepath.Join(arenas, name))
			if err != nil {
				t.Fatal(err)
			}
			got.nothingLost(t)
			if slices.Contains(env, oneHeap) {
				joinHeaps(result)
				joinHeaps(&got.result)
			}
			if diff := differ.Of(result, &got.result); diff != "" || t.Failed() {
				t.Fatalf("%s: tracker (-) and agent (+) differ: %s", name, diff)
			}
			collections += len(result.GCs)
		}
		os.RemoveAll(dir)
		os.RemoveAll(arenas)
	}
	return collections
}

func TestAgentEqualsTracker(t *testing.T) {
	n := compareSeeds(t, build(t, ""), *first, *first+*seeds)
	t.Logf("%d collections", n)
}

// walks lets the agent look at each dead object of generation 0, as it does where it cannot know them by difference.
const walks = " -UDENSE_BYTES -DDENSE_BYTES=0"

// TestWalkingAgentEqualsTracker is the same where the dead are looked at.
func TestWalkingAgentEqualsTracker(t *testing.T) {
	n := compareSeeds(t, build(t, walks), 3_000_000, 3_000_200)
	t.Logf("%d collections", n)
}

// oneHeap says that the heaps of large and of pinned objects are compared as if they were one.
const oneHeap = "HEAPS=1"

func joinHeaps(r *heap.Result) {
	for i := range r.GCs {
		g := &r.GCs[i].Generations
		large, pinned := &g[wire.GenerationLarge], &g[wire.GenerationPinned]
		add(&large.Before, pinned.Before)
		add(&large.After, pinned.After)
		large.Extent += pinned.Extent
		pinned.Before, pinned.After, pinned.Extent = wire.Population{}, wire.Population{}, 0
	}
}

// TestSmallEverywhere has no large objects: how many were born outside generation 0 follows from how many were born in
// all.
func TestSmallEverywhere(t *testing.T) {
	n := compareSeeds(t, build(t, "-ULARGE_BYTES -DLARGE_BYTES=0xFFFFFFFFFFFF"+walks), 2_000_000, 2_000_200, oneHeap)
	t.Logf("%d collections", n)
}

// TestUnseenObjects leaves some allocations out of the recordings: their objects are gaps in ranges of survivors, which
// both count, and everything else stays right.
func TestUnseenObjects(t *testing.T) {
	program, dir, arenas := build(t, ""), scratch(t), scratch(t)
	want := map[string]*heap.Result{}
	var recordings []string
	var gaps uint64
	for seed := range perProcess {
		name := fmt.Sprint("unseen", seed)
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		path := filepath.Join(dir, name)
		tracker := new(heap.Tracker)
		err := write(path, func(emit func(heap.Event)) {
			heapsim.Run(heapsim.Draw(r), r, func(e heap.Event) {
				if a, ok := e.(heap.Alloc); ok && a.Site != 0 && !a.Frozen && a.Address>>3%16 == 0 {
					return
				}
				emit(e)
			})
		}, tracker)
		if err != nil {
			t.Fatal(err)
		}
		want[name], recordings = tracker.Result(), append(recordings, path)
	}
	if err := run(program, arenas, []string{"CLRPROF_ROOTS=off"}, recordings...); err != nil {
		t.Fatal(err)
	}
	for name, result := range want {
		got, err := readArena(filepath.Join(arenas, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ.Of(result, &got.result); diff != "" {
			t.Errorf("%s: tracker (-) and agent (+) differ: %s", name, diff)
		}
		gaps += result.Untracked
	}
	if gaps < 1000 {
		t.Errorf("%d gaps", gaps)
	}
}

// TestSanitized looks for mistakes that no counter shows.
func TestSanitized(t *testing.T) {
	for name, more := range map[string]string{
		"address and undefined": "-fsanitize=address,undefined -fno-sanitize-recover=all",
		"thread":                "-fsanitize=thread",
	} {
		t.Run(name, func(t *testing.T) {
			n := compareSeeds(t, build(t, more), 1_000_000, 1_000_050, "REPLAY_THREADS=4")
			t.Logf("%d collections", n)
		})
	}
}

// drawn takes every decision from rapid, which then finds the smallest heap that goes wrong.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "") }

func TestAgentProperty(t *testing.T) {
	program := build(t, "")
	base := scratch(t)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		r := drawn{t}
		o := heapsim.Draw(r)
		o.Collections, o.Allocations = min(o.Collections, 4), min(o.Allocations, 12)
		path := filepath.Join(dir, "heap")
		want, err := simulate(o, r, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		arenas := filepath.Join(dir, "arenas")
		if err := os.Mkdir(arenas, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := run(program, arenas, []string{"CLRPROF_ROOTS=off"}, path); err != nil {
			t.Fatal(err)
		}
		got, err := readArena(filepath.Join(arenas, "heap"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ.Of(want, &got.result); diff != "" {
			t.Fatalf("tracker (-) and agent (+) differ: %s", diff)
		}
	})
}
