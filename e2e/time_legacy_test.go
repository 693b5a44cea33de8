package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/session"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/testkit/programs"
)

// legacy makes .NET 9 deliver exceptions as the runtimes before it do, in native code. .NET 10 has no such setting any
// more.
var legacy = way{name: "legacy", env: []string{"DOTNET_LegacyExceptionHandling=1"}}

// legacySeeds are made-up programs, besides a target of which all shapes of exceptions are known.
const legacySeeds = 2

// TestTimeLegacyExceptions compares the calls, the ends and the stacks of a program on .NET 9 and 10 with those of the
// same program on .NET 9 with the exception handling of the runtimes before, of which other events are reported.
func TestTimeLegacyExceptions(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "exceptions as .NET 9 throws them only if it is asked to")
	in := dotnettest.Need(t)
	type program struct {
		name, dll, module, times, raced string
		flags                           []string
	}
	// whether its tasks wait is a race
	all := []program{{"TimeExceptions", dotnettest.Target(t, "TimeExceptions", dotnettest.Options{}),
		"TimeExceptions.dll", "20", "MoveNext", timeOnly},
		{"TimeFirstChance", dotnettest.Target(t, "TimeFirstChance", dotnettest.Options{}),
			"TimeFirstChance.dll", "2", "cctor", boundaryHooks}}
	for seed := range uint64(legacySeeds) {
		dll := compileProgram(t, in, programs.Options{Seed: 100 + seed, Units: programUnits, Tame: true, Still: true})
		all = append(all, program{fmt.Sprint("program ", 100+seed), dll, "Made.dll", programTimes, "Finalize",
			timeOnly})
	}
	for _, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			stacks := func(runtime dotnettest.Runtime, w way) map[string]begunEnded {
				cmd := madeCommand(runtime, p.dll, p.times)
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecordTime(t, cmd, append([]string{"--memory"}, p.flags...)...)
				compareCalls(t, r, p.module)
				managed := query[struct{ N int }](t, r.session,
					"SELECT count(*) AS n FROM function WHERE raw_type = 'System.Runtime.EH'")[0].N > 0
				if managed == (w.name == legacy.name) {
					t.Errorf("%s, %s: exceptions are delivered by managed code: %t", runtime.Name, w.name, managed)
				}
				return endsByStack(t, r, p.module, p.raced)
			}
			want := stacks(in.Net9(), legacy)
			if len(want) < 50 {
				t.Errorf("only %d stacks", len(want))
			}
			for _, runtime := range in.Runtimes() {
				if runtime.Major() < 9 {
					continue
				}
				got := stacks(runtime, timeTiered)
				for _, stack := range slices.Sorted(maps.Keys(want)) {
					if got[stack] != want[stack] {
						t.Errorf("%s: %s: %+v, with legacy exception handling %+v", runtime.Name, stack, got[stack],
							want[stack])
					}
				}
				for _, stack := range slices.Sorted(maps.Keys(got)) {
					if _, ok := want[stack]; !ok {
						t.Errorf("%s: %s: %+v, with legacy exception handling it is none", runtime.Name, stack,
							got[stack])
					}
				}
			}
		})
	}
}

// begunEnded is how many calls began and ended on a stack.
type begunEnded struct{ Began, Ended int64 }

// endsByStack returns the calls of a module's functions by the functions of the module on their stacks: those of the
// framework differ from runtime to runtime. What the target says in the end is not asked for, nor are stacks on which
// there is a function whose callers are a race.
func endsByStack(t *testing.T, r result, module, raced string) map[string]begunEnded {
	t.Helper()
	reader := newReader(t, r.session, false)
	timings := byID(need(t, reader.s.Timings), func(x session.Timing) session.TimingID { return x.ID })
	byNode := map[session.NodeID]begunEnded{}
	for _, v := range need(t, reader.s.TimingValues) {
		node := timings[v.Timing].Node
		if v.Calls+v.Ended != 0 && reader.functions[reader.nodes[node].Function].Module == module {
			byNode[node] = begunEnded{byNode[node].Began + int64(v.Calls), byNode[node].Ended + int64(v.Ended)}
		}
	}
	// The stack of each is walked, up to thousands of functions, and most have much in common: what is asked of a name
	// is known of the node, and a node that has what no stack may have is where a walk ends.
	type place struct {
		parent session.NodeID
		name   string // of a function of the module that is called there
		said   bool   // here or further out
	}
	nodes := need(t, reader.s.Nodes)
	places := make([]place, 1+slices.MaxFunc(nodes, func(a, b session.Node) int { return cmp.Compare(a.ID, b.ID) }).ID)
	for _, n := range nodes { // a parent comes before its children
		if n.Parent >= n.ID {
			t.Fatalf("node %d comes before its parent %d", n.ID, n.Parent)
		}
		p := place{parent: n.Parent, said: places[n.Parent].said}
		if f := reader.functions[n.Function]; f.Module == module {
			p.name, p.said = f.Name, p.said || said(f.Name)
		}
		places[n.ID] = p
	}
	out := map[string]begunEnded{}
	var names []string
	for id, calls := range byNode {
		if places[id].said || untold(places[id].name) {
			continue
		}
		names = names[:0]
		for ; id != 0; id = places[id].parent {
			if name := places[id].name; name != "" {
				names = append(names, name)
			}
		}
		stack := strings.Join(names, " < ")
		if !strings.Contains(stack, raced) {
			out[stack] = begunEnded{out[stack].Began + calls.Began, out[stack].Ended + calls.Ended}
		}
	}
	return out
}
