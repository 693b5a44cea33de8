package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// rebuiltProgram is built twice: as it is, and with something written above, so that lines, tokens, and the numbers in
// the names of lambdas and closures are others. Its functions allocate as much each time.
const rebuiltProgram = `using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Rebuilt
{
    class Order<T> { public T Value; public byte[] Text = new byte[10]; }

    static class Program
    {
//ABOVE
        static object kept;

        static int Main()
        {
            for (int i = 0; i < 100; i++)
            {
                Each(i, n => { kept = new Order<int>(); return n; });
                Each(i, n => { kept = new Order<string>(); return i; });
                kept = Local(i);
                kept = Later(i).Result;
                foreach (object o in Some(3))
                    kept = o;
            }
            //MAIN
            return 0;

            object Local(int n) { return new int[n]; }
        }

        static void Each(int n, Func<int, int> f) { kept = new object[f(n)]; }

        static async Task<object> Later(int n) { await Task.CompletedTask; return new long[n]; }

        static IEnumerable<object> Some(int n)
        {
            for (int i = 0; i < n; i++)
                yield return new short[i];
        }
    }
}
`

// above is what is written above, and called; it is new.
const above = `
        // The numbers of methods, lambdas and lines below are others now.
        static int Extra(int n)
        {
            Func<int, int> f = x => x + 1;
            kept = new Guid[7];
            return f(n);
        }

`

// TestDiffRebuilt: two runs of a program that was built again differ in what was written, and in nothing else.
func TestDiffRebuilt(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			var sessions []string
			for _, source := range []string{rebuiltProgram,
				strings.NewReplacer("//ABOVE", above, "//MAIN", "Extra(1);").Replace(rebuiltProgram)} {
				path, err := in.Made("Rebuilt.cs", []byte(source))
				if err != nil {
					t.Fatal(err)
				}
				dll, err := in.Compile([]string{path}, "", dotnettest.Options{})
				if err != nil {
					t.Fatal(err)
				}
				sessions = append(sessions, mustRecord(t, runtime.Command(dll)).session)
			}
			for _, c := range []struct{ view, want string }{
				{"functions", "Rebuilt.Program.Extra(int) null"},
				{"types", "System.Guid[] null, System.Func<int, int> there"},
				{"lines", "Rebuilt.Program.Extra(int) null"}, // one or two: the JIT decides,
			} {
				type row struct {
					Name     string `json:"name"`
					Baseline *int64 `json:"baseline"`
				}
				var have []string
				for _, r := range printed[row](t, "diff", sessions[0], sessions[1], c.view, "--module", "Rebuilt",
					"--json") {
					was := "null"
					if r.Baseline != nil {
						was = "there"
					}
					if name := r.Name + " " + was; !slices.Contains(have, name) {
						have = append(have, name)
					}
				}
				if diff := cmp.Diff(c.want, strings.Join(have, ", ")); diff != "" {
					t.Errorf("%s: %s", c.view, diff)
				}
			}
		})
	}
}
