package e2e

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// The two ways to see calls, where both can.
var (
	byHooks  = []string{"--time", "--instrument", "mine", "--probes", "hooks"}
	byProbes = []string{"--time", "--instrument", "mine", "--probes", "il"}
)

// TestProbesCalls compares the calls of the program's own functions, recorded by probes in their IL, with what the
// program knows of them, whatever the runtime makes of their code.
func TestProbesCalls(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		target []string
		ways   []way
	}{
		{[]string{"TimeCalls", "300", "1", "400"}, []way{timeTiered, timeOptimized, timeDebug, timeTier0, timeHurried,
			timeNoPGO, timeServer}},
		{[]string{"TimeExceptions", "20"}, []way{timeTiered, timeOptimized, timeDebug, timeTier0, timeHurried}},
		{[]string{"TimeCalls", "1000", "16", "4000"}, []way{timeTiered}},
		{[]string{"TimeEmpty", "wide"}, []way{timeTiered, timeOptimized}},
		{[]string{"TimeEmpty", "recursive", "100000"}, []way{timeHurried, timeDebug}},
	} {
		for j, w := range tt.ways {
			for _, runtime := range crossed(in, i, j) {
				t.Run(strings.Join(tt.target, " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					cmd := runtime.Command(dotnettest.Target(t, tt.target[0], w.options), tt.target[1:]...)
					cmd.Env = append(cmd.Env, w.env...)
					compareOwnCalls(t, mustRecordTime(t, cmd, byProbes...), tt.target[0]+".dll")
				})
			}
		}
	}
}

// compareOwnCalls compares the calls of a module's functions with what the target printed. A function that the
// framework calls as well has another caller here, who called the framework.
func compareOwnCalls(t *testing.T, r result, module string) {
	t.Helper()
	got := readRecordedTime(t, r.session)
	uncounted, callers, own := map[called]bool{}, map[called]bool{}, 0
	for _, row := range truthRowsIfAny[callTruth](t, r.stdout, "uncounted") {
		uncounted[row.callee()] = true
	}
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		if row.Module == module && !uncounted[row.callee()] {
			got.compareFunction(t, row)
			callers[row.callee()] = row.Callers
			own++
		}
	}
	edges := truthRowsIfAny[callTruth](t, r.stdout, "call")
	for _, row := range edges {
		if row.CallerModule != module {
			callers[row.callee()] = false
		}
	}
	want := map[call]int64{}
	for _, row := range edges {
		if callers[row.callee()] {
			want[call{row.caller(), row.callee()}] += row.Calls
		}
	}
	have := maps.Clone(got.calls)
	maps.DeleteFunc(have, func(c call, _ int64) bool { return !callers[c.Callee] })
	for c := range want {
		if have[c] != want[c] {
			t.Errorf("%s called %s %d times, the session says %d", got.name(c.Caller), got.name(c.Callee), want[c],
				have[c])
		}
	}
	for c := range have {
		if want[c] == 0 {
			t.Errorf("the session has %d calls of %s by %s, of which the truth knows nothing", have[c],
				got.name(c.Callee), got.name(c.Caller))
		}
	}
	if own == 0 {
		t.Errorf("the target reported nothing of its own functions")
	}
	for f, of := range got.functions {
		if f.Module != module && of.began > 0 {
			t.Errorf("%s of %s has %d calls", of.name, f.Module, of.began)
		}
	}
}

// lineCalls are what the view of lines says of calls.
type lineCalls struct {
	Module   string `json:"module"`
	Function string `json:"function"`
	File     string `json:"source_file"`
	Line     int    `json:"line_begin"`
	Column   int    `json:"column_begin"`
	Kind     string `json:"kind"`
	Calls    int64  `json:"calls"`
	Running  int64  `json:"running"`
}

// TestProbesEqualHooks: with both ways each line of a program makes the same calls, by function with its type
// arguments, and all stacks have the same calls, which end the same.
func TestProbesEqualHooks(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "each program is recorded in two ways; TestTimeCalls and TestProbesCalls compare each with what is true")
	in := dotnettest.Need(t)
	for i, tt := range []struct {
		target []string
		raced  []string // functions that run, or not, when a task waits
		ways   []way
	}{
		{[]string{"TimeCalls", "300", "1", "400"}, []string{"Machines", "Workers", "Pool"},
			[]way{timeTiered, timeOptimized, timeHurried}},
		{[]string{"TimeExceptions", "20"}, []string{"Places", "MoveNext"}, []way{timeTiered, timeOptimized}},
		{[]string{"Dynamic"}, nil, []way{timeTiered, timeHurried}}, // code that is made at run time, and unloaded
	} {
		for j, w := range tt.ways {
			for _, runtime := range crossed(in, i, j) {
				t.Run(tt.target[0]+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					dll := dotnettest.Target(t, tt.target[0], w.options)
					type seen struct {
						lines  map[lineCalls]bool
						stacks map[string]begunEnded
						// Functions of the framework that were compiled, and therefore looked at.
						framework int
					}
					look := func(flags []string) seen {
						cmd := runtime.Command(dll, tt.target[1:]...)
						cmd.Env = append(cmd.Env, w.env...)
						r := mustRecordTime(t, cmd, flags...)
						s := seen{map[lineCalls]bool{}, endsByStack(t, r, tt.target[0]+".dll", "no function"),
							query[struct{ N int }](t, r.session,
								"SELECT count(*) AS n FROM function f JOIN module m ON m.id = f.module_id WHERE "+
									"m.name LIKE 'System.%'")[0].N}
						isRaced := func(name string) bool {
							return slices.ContainsFunc(tt.raced, func(part string) bool {
								return strings.Contains(name, part)
							})
						}
						maps.DeleteFunc(s.stacks, func(stack string, _ begunEnded) bool { return isRaced(stack) })
						for _, l := range view[lineCalls](t, r.session, "lines") {
							// What is on no line is one sum, also of what is left out here; the stacks have it, too.
							if l.Function != "" && !isRaced(l.Function) && !untold(l.Function) {
								s.lines[l] = true
							}
						}
						return s
					}
					hooks, probes := look(byHooks), look(byProbes)
					if len(hooks.lines) < 20 || len(hooks.stacks) < 10 {
						t.Errorf("only %d lines and %d stacks", len(hooks.lines), len(hooks.stacks))
					}
					if runtime.Major() > 3 && w.name == timeTiered.name && hooks.framework < 5*probes.framework {
						t.Errorf("%d functions of the framework were compiled with probes, %d with hooks: "+
							"precompiled code is not used", probes.framework, hooks.framework)
					}
					sameKeys(t, "lines", hooks.lines, probes.lines)
					sameKeys(t, "stacks", hooks.stacks, probes.stacks)
				})
			}
		}
	}
}

// sameKeys compares what both ways say.
func sameKeys[K comparable, V comparable](t *testing.T, what string, hooks, probes map[K]V) {
	t.Helper()
	var other []string
	for k, v := range hooks {
		if w, ok := probes[k]; !ok || w != v {
			other = append(other, fmt.Sprintf("%v: %v by hooks, %v by probes", k, v, w))
		}
	}
	for k, v := range probes {
		if _, ok := hooks[k]; !ok {
			other = append(other, fmt.Sprintf("%v: %v by probes alone", k, v))
		}
	}
	slices.Sort(other)
	for _, line := range other[:min(len(other), 20)] {
		t.Errorf("%s: %s", what, line)
	}
	if len(other) > 0 {
		t.Errorf("%s: %d of %d are not equal", what, len(other), len(hooks))
	}
}

// TestProbesUnseen: a program sees the lines and offsets of its own code, not of the code with probes.
func TestProbesUnseen(t *testing.T) {
	t.Parallel()
	for _, w := range []way{timeTiered, timeOptimized, timeDebug, timeHurried} {
		for _, runtime := range dotnettest.NeedRuntimes(t, 5) { // before, hooks are used
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				command := func() *exec.Cmd {
					cmd := runtime.Command(dotnettest.Target(t, "TimeTraces", w.options))
					cmd.Env = append(cmd.Env, w.env...)
					return cmd
				}
				cmd := command()
				cmd.Env = append(cmd.Env, "COMPlus_TailCallOpt=0", "COMPlus_TailCallLoopOpt=0") // as recordings have it
				want, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Split(mustRecordTime(t, command(), byProbes...).stdout, "\n")
				if diff := cmp.Diff(strings.Split(string(want), "\n"), got); diff != "" {
					t.Errorf("what the program prints (-without +with probes)\n%s", diff)
				}
			})
		}
	}
}

// TestProbesLines: in optimized code with probes, a call's line in a stack trace is that of the call. (Without them it
// is often that of the statement behind, to which the JIT has moved the call.)
func TestProbesLines(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedRuntimes(t, 5) { // before, hooks are used
		for _, flags := range [][]string{byProbes, {"--time"}} {
			t.Run(fmt.Sprint(runtime.Name, flags), func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "TimeTraces", dotnettest.Options{}), "lines")
				cmd.Env = append(cmd.Env, timeOptimized.env...)
				if out := mustRecordTime(t, cmd, flags...).stdout; out != "" {
					t.Errorf("calls have other lines:\n%s", out)
				}
			})
		}
	}
}

// TestProbesAndMemory: the program's own objects are those of the functions and lines that made them. What the
// framework allocates counts for them as well, and is another thing.
func TestProbesAndMemory(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, target := range [][]string{{"Shapes"}, {"StaticInit"}, {"Threads", "16", "1000"},
		{"Tiering", "5000", "500"}} {
		for _, runtime := range in.InTurn(i) {
			t.Run(target[0]+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, target[0], dotnettest.Options{}), target[1:]...)
				r := mustRecord(t, cmd, append([]string{"--memory"}, byProbes...)...)
				checkTimeSums(t, r.session)
				rows, err := dotnettest.ParseTruth(strings.NewReader(r.stdout))
				if err != nil {
					t.Fatal(err)
				}
				c := comparison{t, readRecorded(t, r.session, false), linesOf(t, r.session), map[functionType]made{}}
				compared := 0
				for _, row := range rows {
					if strings.HasPrefix(row.Type, target[0]+".") {
						c.row(row)
						compared++
					}
				}
				if compared == 0 {
					t.Errorf("nothing was compared")
				}
			})
		}
	}
}

// TestProbesRoslyn records some functions of a large, precompiled program: it writes the same, and all of these are
// seen and no others.
func TestProbesRoslyn(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it runs a real compiler")
	const chosen = "Microsoft.CodeAnalysis.CSharp.Binder"
	path := compileLarge(t, 1000, func(cmd *exec.Cmd) result {
		return mustRecordTime(t, cmd, append(byProbes[:len(byProbes):len(byProbes)], "--include", chosen+".*")...)
	})
	called := 0
	for _, row := range view[struct {
		Name  string `json:"name"`
		Calls int64  `json:"calls"`
	}](t, path, "functions") {
		if row.Calls > 0 && !strings.HasPrefix(row.Name, chosen) {
			t.Errorf("%s has %d calls", row.Name, row.Calls)
		}
		if row.Calls > 0 {
			called++
		}
	}
	if called < 200 {
		t.Errorf("only %d functions were called", called)
	}
}
