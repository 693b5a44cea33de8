package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// visitors are the ways in which the library that NativePointers calls is compiled: whether and how it uses rbp.
var visitors = []struct {
	name  string
	flags []string
}{
	{"rbp used", []string{"-O2", "-fomit-frame-pointer", "-DNUMBER_IN_RBP"}}, // the chain of frame pointers is cut
	// it goes on, past who called the library
	{"rbp left alone", []string{"-O2", "-fomit-frame-pointer", "-ffixed-rbp"}},
	{"as it comes", []string{"-O2"}},
	{"frame pointers", []string{"-O2", "-fno-omit-frame-pointer"}},
	{"not optimized", []string{"-O0"}},
}

// visitor compiles the library.
func visitor(t *testing.T, flags []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libvisit.so")
	args := append([]string{"-shared", "-fPIC", "-fno-asynchronous-unwind-tables", "-fno-optimize-sibling-calls",
		"-Wall", "-Werror",
		"-o", path, "testdata/visit.c"}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("compiling visit.c: %v\n%s", err, out)
	}
	return path
}

// callbackWays are how the runtime makes code of what calls native code and is called back: tier 0, replaced in a loop,
// tier 1 at once, and as it comes.
var callbackWays = []way{tiered, tier0, timeHurried, optimized, debug}

// callbackData is what is recorded there.
var callbackData = [][]string{memoryOnly, {"--lifetime"}, {"--time", "--memory"}}

// TestNativePointers compares what managed code allocates that native code calls back by delegates and by function
// pointers, and below what. The ways in which the native code is compiled that are hard meet all ways of managed code,
// others one of them; each on one of the runtimes, the first on all.
func TestNativePointers(t *testing.T) {
	t.Parallel()
	for i, v := range visitors {
		library := visitor(t, v.flags)
		for k, w := range callbackWays {
			if i > 1 && k != 1+2*(i%2) || i+k > 0 && !dotnettest.Drawn(i<<8+k, waysEvery) {
				continue
			}
			for j, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i+k) {
				t.Run(v.name+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					flags := callbackData[(i+j+k)%len(callbackData)]
					compareTruth(t, mustRecord(t, callsBack(t, runtime, w, library), flags...), runtime)
				})
			}
		}
	}
}

// callsBack is a command that runs NativePointers.
func callsBack(t *testing.T, runtime dotnettest.Runtime, w way, library string) *exec.Cmd {
	t.Helper()
	o := w.options
	o.Framework, o.Unsafe = dotnettest.Net8, true
	cmd := runtime.Command(dotnettest.Target(t, "NativePointers", o), library)
	cmd.Env = append(cmd.Env, w.env...)
	return cmd
}

// TestNativePointersStacks compares each of these stacks with DoStackSnapshot's.
func TestNativePointersStacks(t *testing.T) {
	t.Parallel()
	for i, v := range visitors {
		library := visitor(t, v.flags)
		for k, w := range []way{optimized, tier0, tiered} {
			if i > 1 && k > 0 || i+k > 0 && !dotnettest.Drawn(i<<8+k, waysEvery) {
				continue
			}
			for _, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i+k) {
				t.Run(v.name+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					cmd := callsBack(t, runtime, w, library)
					path := filepath.Join(t.TempDir(), "comparison")
					withOracle(t, cmd, "compare", "CLRPROF_COMPARISON="+path, "CLRPROF_EVERY=1")
					r := mustRecord(t, cmd, "--memory")
					compareStacks(t, path, newHandlers(t, r.session), 0.998)
				})
			}
		}
	}
}

// TestNativeCallers does both for P/Invokes and delegates alone, which every runtime has.
func TestNativeCallers(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "NativeCallers", dotnettest.Options{Unsafe: true})
	for j, v := range visitors[:3] {
		library := visitor(t, v.flags)
		for i, w := range []way{optimized, tiered, timeHurried} {
			if i+j > 0 && !dotnettest.Drawn(j<<8+i, waysEvery) {
				continue
			}
			for _, runtime := range dotnettest.OneInTurn(in.Runtimes(), i+j) {
				t.Run(v.name+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					command := func() *exec.Cmd {
						cmd := runtime.Command(dll, library)
						cmd.Env = append(cmd.Env, w.env...)
						return cmd
					}
					compareTruth(t, mustRecord(t, command(), callbackData[i]...), runtime)
					cmd := command()
					path := filepath.Join(t.TempDir(), "comparison")
					withOracle(t, cmd, "compare", "CLRPROF_COMPARISON="+path, "CLRPROF_EVERY=1")
					r := mustRecord(t, cmd, "--memory")
					compareStacks(t, path, newHandlers(t, r.session), 0.97)
				})
			}
		}
	}
}

// TestNativePointersTime compares who calls what there.
func TestNativePointersTime(t *testing.T) {
	t.Parallel()
	library := visitor(t, visitors[0].flags)
	for i, w := range callbackWays {
		for _, runtime := range dotnettest.OneInTurn(dotnettest.NeedRuntimes(t, 8), i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				compareCalls(t, mustRecordTime(t, callsBack(t, runtime, w, library), timeOnly...), "NativePointers.dll")
			})
		}
	}
}

// TestNativePointersPublished does both for precompiled code and for a single file.
func TestNativePointersPublished(t *testing.T) {
	t.Parallel()
	dotnettest.NotQuick(t, "it publishes programs")
	_, sdk := dotnettest.NeedSDK(t)
	runtime := dotnettest.NeedRuntimes(t, sdk.Major())[0]
	for _, v := range visitors[:2] {
		library := visitor(t, v.flags)
		for _, tt := range deliveries[:2] {
			t.Run(v.name+"/"+tt.name, func(t *testing.T) {
				cmd := delivered(t, "NativePointers", tt.properties)
				cmd.Args = append(cmd.Args, library)
				compareTruth(t, withoutLines(mustRecord(t, cmd)), runtime)
				again := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env}
				compareCalls(t, mustRecordTime(t, again, timeOnly...), "NativePointers.dll")
			})
		}
	}
}

// TestUnmanagedCallbacks: a small function that libc calls back has no frame pointer, and neither has libc. Its objects are
// below the function that called libc.
func TestUnmanagedCallbacks(t *testing.T) {
	t.Parallel()
	const rounds, few = 200, 20 // of the runtime's own at the first call
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		for _, w := range []way{optimized, tiered} {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				o := w.options
				o.Framework, o.Unsafe = dotnettest.Net8, true
				cmd := runtime.Command(dotnettest.Target(t, "UnmanagedCallbacks", o), "200")
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--memory")
				for _, name := range []string{"CallPointed", "CallDelegated"} {
					made := query[struct {
						Objects int64 `json:"inclusive_allocations"`
					}](t, r.session, "SELECT inclusive_allocations FROM functions WHERE name LIKE '%."+name+"()'")
					if len(made) != 1 || made[0].Objects < rounds || made[0].Objects > rounds+few {
						t.Errorf("%s: %+v, want %d", name, made, rounds)
					}
				}
			})
		}
	}
}
