package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// grownProgram is built twice: as it is, and with code above functions and lines, and a function that allocates more.
const grownProgram = `using System;

namespace Grown
{
    static class Program
    {
        static object kept;
//ABOVE
        static int Main()
        {
            for (int i = 0; i < 100; i++)
            {
                Stays();
                Grows();
                Each(() => { kept = new byte[40_000]; });
            }
            //MAIN
            return 0;
        }

        static void Each(Action each) { each(); }

        static void Stays()
        {
            //INSIDE
            kept = new long[10_000];
            kept = string.Concat("a", kept.ToString());
        }

        static void Grows()
        {
            //INSIDE
            kept = new char[5_000]; // PLACE
            kept = new int[12_500]; // SHRINKS
        }
    }
}
`

// grownChange moves all lines, gives lambdas other numbers, and lets Grows allocate 2,000,000 bytes more: at its first
// line 4,000,000, and 2,000,000 less at the second.
var grownChange = strings.NewReplacer("//ABOVE", `
        static void Extra() { Action a = () => { }; a(); }
`, "//MAIN", "Extra();", "//INSIDE", "// one\n            // two\n", "char[5_000]", "char[25_000]", "int[12_500]", "int[7_500]")

// recordBuilt compiles a program and records it.
func recordBuilt(t *testing.T, in *dotnettest.Install, runtime dotnettest.Runtime, name, source string) string {
	t.Helper()
	path, err := in.Made(name, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{path}, "", dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return mustRecord(t, runtime.Command(dll)).session
}

// TestGrownMovedLines: a limit on growth that is broken names the function that allocates more by as much as it does, and
// its line, where code was written above; what only moved has not grown.
func TestGrownMovedLines(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			changed := grownChange.Replace(grownProgram)
			old := recordBuilt(t, in, runtime, "Grown.cs", grownProgram)
			now := recordBuilt(t, in, runtime, "Grown.cs", changed)
			budget := filepath.Join(t.TempDir(), "budget.toml")
			if err := os.WriteFile(budget, []byte("[[limit]]\nmetric = \"bytes\"\ngrow = \"1%\"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := runHere("check", now, "--budget", budget, "--baseline", old, "--format", "json")
			type place struct {
				Function string
				Line     int
				Value    int64
				AtLine   int64 `json:"line_value"`
				Types    []string
			}
			var verdicts []struct {
				State, Why string
				Places     []place
			}
			if err := json.Unmarshal([]byte(r.stdout), &verdicts); err != nil || r.exit != 1 {
				t.Fatalf("exit code %d, %v\n%s", r.exit, err, r.stdout+r.stderr)
			}
			v := verdicts[len(verdicts)-1]
			before, _, _ := strings.Cut(changed, "// PLACE")
			line := strings.Count(before, "\n") + 1
			const perRun = 100
			want := place{"Grown.Program.Grows()", line, perRun * 20_000, perRun * 40_000, []string{"char[]"}}
			if len(v.Places) == 0 || fmt.Sprint(v.Places[0]) != fmt.Sprint(want) {
				t.Fatalf("the first place is not %+v: %+v", want, v.Places)
			}
			for _, p := range v.Places[1:] { // Extra is new, and its delegate has some bytes
				if p.Value > 1000 {
					t.Errorf("%s has grown by %d", p.Function, p.Value)
				}
			}
			said := fmt.Sprintf("Most of the growth: Program.Grows, 1.91 MiB of char[] (3.81 MiB more at Grown.cs:%d)", line)
			if v.State != "broken" || !strings.Contains(v.Why, said) {
				t.Errorf("it does not say %q: %s", said, v.Why)
			}
		})
	}
}
