package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// renamedProgram is built twice: the functions get other names, another class, or another body.
const renamedProgram = `using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Shop
{
    static class Program
    {
        static int Main()
        {
            for (int i = 0; i < 50; i++)
            {
                Parser.ParseLine("1;2;" + i);
                Parser.Total(i);
                Parser.Later(i).Wait();
                Parser.Short(i);
                Parser.Rebuilt(i);
                Parser.Generic<int>(i);
            }
            return 0;
        }
    }

    static class Parser
    {
        static readonly List<object> kept = new List<object>();

        public static string[] ParseLine(string line)
        {
            var parts = line.Split(';');
            kept.Add(new byte[parts.Length * 100]);
            return parts;
        }

        public static async Task<int> Later(int n)
        {
            await Task.CompletedTask;
            kept.Add(new short[n + 20]);
            Func<int, object> make = x => new char[x + n + 10];
            kept.Add(make(n));
            return kept.Count;
        }

        public static object Short(int n) { return new long[n]; }

        public static object Generic<T>(int n)
        {
            var made = new T[n + 3];
            kept.Add(made);
            return made.Length > 2 ? made : null;
        }

        public static object Rebuilt(int n)
        {
            var made = new double[n + 1]; // BODY
            kept.Add(made);
            return made.Length > 0 ? made : null;
        }
//FROM
        public static object Total(int n)
        {
            var made = new object[n];
            for (int i = 0; i < n; i++)
                made[i] = new Version(i, n);
            return made;
        }
//TO
    }
}
`

// renamedBuild is the program with other names: Total moves to another class, Rebuilt has another body, too, and
// ReadLine, which was ParseLine, is given longer lines.
func renamedBuild(t *testing.T) string {
	t.Helper()
	before, rest, _ := strings.Cut(renamedProgram, "//FROM\n")
	moved, after, found := strings.Cut(rest, "//TO\n")
	if !found {
		t.Fatal("the program has no function to move")
	}
	text := strings.NewReplacer("ParseLine", "ReadLine", "Later", "Soon", "Short", "Brief", "Rebuilt", "Anew",
		"Generic<", "Typed<", "Parser.Total", "Sums.Total",
		"\"1;2;\"", "\"1;2;3;\"", "new double[n + 1]; // BODY", "new double[n + 2]; made[0] = n;").Replace(before + after)
	return text + "namespace Shop\n{\n    static class Sums\n    {\n" + moved + "    }\n}\n"
}

// compareAll: lines of functions that were renamed and did the same do not differ, and the row of one that did
// something else says how it was called.
func compareAll(t *testing.T, old, now string) {
	t.Helper()
	out := run(t, "diff", old, now, "lines", "--my-code", "--json").stdout
	for _, name := range []string{"Soon", "Later", "Brief", "Short", "Total", "Typed", "Generic"} {
		if strings.Contains(out, name) {
			t.Errorf("lines of %s differ:\n%s", name, out)
		}
	}
	text := run(t, "diff", old, now, "lines", "--my-code", "--width", "200").stdout
	rows := 0
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "ReadLine") && !strings.Contains(line, "ParseLine") {
			continue
		}
		rows++
		if !strings.Contains(line, "Parser.ReadLine(string) (was Parser.ParseLine)") ||
			!strings.HasSuffix(strings.TrimSpace(line), "changed") {
			t.Errorf("a line of ReadLine, which was ParseLine, is not one row: %s", line)
		}
	}
	if rows == 0 {
		t.Errorf("no line of ReadLine differs, which is given more:\n%s", text)
	}
}

// TestRenamed: functions that were renamed or moved to another class are one row with what they had before, in
// functions, lines and check; one whose code was changed as well is not.
func TestRenamed(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for _, runtime := range in.NewestAndOldest() {
		t.Run(runtime.Name, func(t *testing.T) {
			old := recordBuilt(t, in, runtime, "Renamed.cs", renamedProgram)
			now := recordBuilt(t, in, runtime, "Renamed.cs", renamedBuild(t))
			type row struct {
				Name     string `json:"name"`
				Was      string `json:"baseline_name"`
				Module   string `json:"module"`
				Baseline *int64 `json:"baseline"`
				New      *int64 `json:"comparison"`
			}
			got := map[string]string{}
			for _, r := range printed[row](t, "diff", old, now, "functions", "--column", "inclusive_bytes", "--json") {
				if r.Module != "Renamed.dll" { // the framework's functions for a state machine have its name
					continue
				}
				got[r.Name] = fmt.Sprintf("was %s, before %v, after %v", r.Was, r.Baseline != nil, r.New != nil)
			}
			want := map[string]string{
				"Shop.Parser.Rebuilt(int)": "was Shop.Parser.Rebuilt(int), before true, after false",
				"Shop.Parser.Anew(int)":    "was , before false, after true",
				// which is given more
				"Shop.Parser.ReadLine(string)": "was Shop.Parser.ParseLine(string), before true, after true",
				"Shop.Program.Main()":          "was Shop.Program.Main(), before true, after true",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			compareAll(t, old, now)
			budget := filepath.Join(t.TempDir(), "budget.toml")
			text := "[[limit]]\nmetric = \"bytes\"\ngrow = \"0%\"\n[[limit]]\nmetric = \"bytes\"\nmax = \"1G\"\n" +
				"functions = [\"Shop.Parser.ParseLine\"]\n"
			if err := os.WriteFile(budget, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out := runHere("check", now, "--budget", budget, "--baseline", old).stdout
			for _, want := range []string{"Most of the growth: Parser.Anew",
				"and Shop.Parser.ReadLine(string) is new with the same code"} {
				if !strings.Contains(out, want) {
					t.Errorf("check does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
