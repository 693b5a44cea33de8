package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// sharedMethods are generic methods whose code all reference types share, and sharedThreads threads call each of them
// for the first time, at moments that differ by less than a method takes to be compiled.
const sharedMethods, sharedThreads = 400, 4

// sharedProgram makes the text of that program.
func sharedProgram() string {
	var b strings.Builder
	b.WriteString(`using System; using System.Threading;
public static class Program {
`)
	for i := range sharedMethods {
		fmt.Fprintf(&b, "\tstatic T M%d<T>(T value, int n) { for (int i = 0; i < n; i++) if (value.Equals(n)) return default; return value; }\n", i)
	}
	b.WriteString(`	static void All(int thread) {
		uint random = (uint)thread * 7919 + 1; string mine = "x" + thread; object sum = mine;
`)
	for i := range sharedMethods {
		fmt.Fprintf(&b, "\t\tWait(ref random, %d); sum = M%d(sum, 1); M%d(mine, 1);\n", i, i, i)
	}
	fmt.Fprintf(&b, `	}
	static int arrived;
	static void Wait(ref uint random, int turn) {
		Interlocked.Increment(ref arrived);
		while (Volatile.Read(ref arrived) < %d * (turn + 1)) Thread.Yield();
		random = random * 1664525 + 1013904223;
		for (long end = System.Diagnostics.Stopwatch.GetTimestamp() + (random >> 13); System.Diagnostics.Stopwatch.GetTimestamp() < end; ) ;
	}
	public static int Main() {
		var threads = new Thread[%d];
		for (int t = 0; t < threads.Length; t++) { int mine = t; threads[t] = new Thread(() => All(mine)); threads[t].Start(); }
		foreach (var thread in threads) thread.Join();
		return 0;
	}
}
`, sharedThreads, sharedThreads)
	return b.String()
}

// TestSharedCodeAtOnce: code that several functions share is run by other threads from the moment on in which it is
// compiled, and each call is counted for the function that it is of, even before the runtime has reported the code.
func TestSharedCodeAtOnce(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, sharedProgram())
	want := map[string]int64{"All": sharedThreads, "Wait": sharedThreads * sharedMethods, "Main": 1}
	for i := range sharedMethods {
		want[fmt.Sprintf("M%d", i)] = 2 * sharedThreads
	}
	for i, w := range []way{timeTiered, timeOptimized} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dll)
				cmd.Env = append(cmd.Env, w.env...)
				compareCallsByName(t, mustRecordTime(t, cmd, byProbes...), "f.raw_type = 'Program'", want)
			})
		}
	}
}
