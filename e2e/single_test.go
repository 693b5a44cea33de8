package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// singleTargets are the targets that run on runtimes of single-file applications. The others need what is trimmed away:
// async methods, Parallel, the marshalling of P/Invokes, finalizers that are waited for, type initialisers.
var singleTargets = []struct {
	target  []string
	ways    []way
	trimmed []way // those on a trimmed core library
}{
	{[]string{"Shapes"}, []way{tiered, optimized, tier0}, []way{tiered, optimized, tier0}},
	{[]string{"Boxes"}, []way{tiered, optimized, tier0}, []way{debug}},
	{[]string{"Tiering"}, []way{tiered}, []way{tiered}},
	{[]string{"Threads", "8", "1000"}, []way{tiered}, nil},
	{[]string{"StaticInit"}, []way{tiered}, nil},
	{[]string{"Native"}, []way{tiered}, nil},
	{[]string{"Totals"}, []way{tiered}, nil},
	{[]string{"Dynamic"}, []way{tiered}, nil},
}

// singleTarget returns the DLL of a target for a single-file runtime. If that is trimmed, only those that run there are
// compiled for it.
func singleTarget(t *testing.T, r dotnettest.SingleFile, name string, o dotnettest.Options, runs bool) string {
	t.Helper()
	if r.Trimmed {
		if !runs {
			t.Skipf("%s needs more than the core library of %s has: with an SDK or a runtime of .NET %d it runs", name,
				r.Title(), r.Major())
		}
		o.Trimmed = r.Name
	}
	return dotnettest.Target(t, name, o)
}

// TestSingleFileTruth does as TestTruth on machines that lack a whole .NET 10 or 8, with runtimes of single-file
// applications.
func TestSingleFileTruth(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedSingleFiles(t) {
		for _, tt := range singleTargets {
			ways := tt.ways
			if runtime.Trimmed && tt.trimmed != nil {
				ways = tt.trimmed
			}
			for _, w := range ways {
				t.Run(strings.Join(tt.target, " ")+"/"+w.name+"/"+runtime.Title(), func(t *testing.T) {
					cmd := runtime.Command(singleTarget(t, runtime, tt.target[0], w.options, tt.trimmed != nil),
						tt.target[1:]...)
					cmd.Env = append(cmd.Env, w.env...)
					r := mustRecord(t, cmd, w.flags...)
					compareTruth(t, r, runtime.Runtime)
					checkBodies(t, r, w, tt.target[0], runtime.Runtime)
				})
			}
		}
	}
}

// TestSingleFileStacks does as TestStacks there.
func TestSingleFileStacks(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedSingleFiles(t) {
		for _, target := range [][]string{{"Shapes"}, {"Tiering", "5000", "300"}} {
			t.Run(target[0]+"/"+runtime.Title(), func(t *testing.T) {
				cmd := runtime.Command(singleTarget(t, runtime, target[0], dotnettest.Options{}, true), target[1:]...)
				path := filepath.Join(t.TempDir(), "comparison")
				withOracle(t, cmd, "compare", "CLRPROF_COMPARISON="+path, "CLRPROF_EVERY=1")
				r := mustRecord(t, cmd, "--memory")
				compareStacks(t, path, newHandlers(t, r.session), 0.8)
			})
		}
	}
}

// TestSingleFileTotal does as TestTotal there. A trimmed program has no startup hooks, and TestSingleFileTruth compares
// less.
func TestSingleFileTotal(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedSingleFiles(t) {
		for _, target := range []string{"Shapes", "Boxes", "Totals"} {
			t.Run(target+"/"+runtime.Title(), func(t *testing.T) {
				if runtime.Trimmed {
					t.Skipf("%s has no startup hooks, which tell the runtime's total: with an SDK or a runtime of "+
						".NET %d it runs", runtime.Title(), runtime.Major())
				}
				for _, total := range takeTotals(t,
					runtime.Command(singleTarget(t, runtime, target, dotnettest.Options{}, false)), 1) {
					total.check(t)
				}
			})
		}
	}
}

// TestSingleFileCalls does as TestTimeCalls there.
func TestSingleFileCalls(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedSingleFiles(t) {
		for _, tt := range []struct {
			target  []string
			trimmed bool
		}{
			{[]string{"TimeCalls", "300", "1", "400"}, false},
			{[]string{"TimeExceptions", "20"}, false},
			{[]string{"TimeEmpty", "wide"}, true},
			{[]string{"TimeFolded", "pairs", "12"}, false}, // what is trimmed has no Array.ForEach
		} {
			t.Run(strings.Join(tt.target, " ")+"/"+runtime.Title(), func(t *testing.T) {
				cmd := runtime.Command(singleTarget(t, runtime, tt.target[0], dotnettest.Options{}, tt.trimmed),
					tt.target[1:]...)
				compareCalls(t, mustRecordTime(t, cmd, timeOnly...), tt.target[0]+".dll")
			})
		}
	}
}
