package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clrprof/clrprof/internal/dotnettest"
)

// visitor compiles the library that NativePointers calls, without frame pointers.
func visitor(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libvisit.so")
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-optimize-sibling-calls",
		"-Wall", "-Werror", "-o", path, "testdata/visit.c").CombinedOutput()
	if err != nil {
		t.Fatalf("compiling visit.c: %v\n%s", err, out)
	}
	return path
}

// callbackWays are how the runtime makes code of what calls native code and is called back: tier 0, replaced in a loop, tier 1 at once,
// and as it comes.
var callbackWays = []way{tiered, tier0, timeHurried, optimized, debug}

// TestNativePointers compares what native code allocates that is called back by delegates and by function pointers, and below what.
func TestNativePointers(t *testing.T) {
	library := visitor(t)
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		for _, w := range callbackWays {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				o := w.options
				o.Framework, o.Unsafe = dotnettest.Net8, true
				cmd := runtime.Command(dotnettest.Target(t, "NativePointers", o), library)
				cmd.Env = append(cmd.Env, w.env...)
				compareTruth(t, mustRecord(t, cmd, w.flags...), runtime)
			})
		}
	}
}

// TestNativePointersTime compares who calls what there.
func TestNativePointersTime(t *testing.T) {
	library := visitor(t)
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		for _, w := range callbackWays {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				o := w.options
				o.Framework, o.Unsafe = dotnettest.Net8, true
				cmd := runtime.Command(dotnettest.Target(t, "NativePointers", o), library)
				cmd.Env = append(cmd.Env, w.env...)
				compareCalls(t, mustRecordTime(t, cmd, timeOnly...), "NativePointers.dll")
			})
		}
	}
}

// TestNativePointersPublished does both for precompiled code and for a single file.
func TestNativePointersPublished(t *testing.T) {
	_, sdk := dotnettest.NeedSDK(t)
	runtime := dotnettest.NeedRuntimes(t, sdk.Major())[0]
	library := visitor(t)
	for _, tt := range deliveries[:2] {
		t.Run(tt.name, func(t *testing.T) {
			cmd := delivered(t, "NativePointers", tt.properties)
			cmd.Args = append(cmd.Args, library)
			compareTruth(t, withoutLines(mustRecord(t, cmd)), runtime)
			again := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env}
			compareCalls(t, mustRecordTime(t, again, timeOnly...), "NativePointers.dll")
		})
	}
}
