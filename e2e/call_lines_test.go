package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/differ"
	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// callLinesProgram has calls where C# leaves a value on the evaluation stack between two statements, as it does with
// each variable that is used once. Whatever it calls makes an object. It says nothing: its text is the truth.
const callLinesProgram = `using System;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;
public delegate object Handler(int n);
public class Node { public object Of; }
public class Other { public object Of; }
public static class Program
{
    static object kept;
    [MethodImpl(MethodImplOptions.NoInlining)] static object Make() { return kept = new int[1]; }
    [MethodImpl(MethodImplOptions.NoInlining)] static object Wrap(object o) { return kept = new object[] { o }; }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Keep(object o) { kept = new object[] { o }; }
    [MethodImpl(MethodImplOptions.NoInlining)] static object Each(int n) { return kept = new int[n]; }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Both(object a, object b) { kept = new[] { a, b }; }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Last(object o) { kept = new object[] { o }; }
    [MethodImpl(MethodImplOptions.NoInlining)] static bool Asked() { kept = new bool[1]; return true; }
    [MethodImpl(MethodImplOptions.NoInlining)] static object Said() { return kept = new char[1]; }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Found(object o) { kept = new object[] { o }; }
    [MethodImpl(MethodImplOptions.NoInlining)] static object Early() { return kept = new byte[1]; }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Later(object o) { kept = new object[] { o }; }
    [MethodImpl(MethodImplOptions.NoInlining)] static object Handled(int n) { return kept = new long[n]; }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Plain()
    {
        var made = Make();          // calls
        Keep(Wrap(made));           // calls
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Alone()
    {
        var made = Make();          // calls
        Last(made);                 // calls
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Twice()
    {
        var first = Each(1);        // calls
        var second = Each(2);       // calls
        Both(first, second);        // calls
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Objects()
    {
        var first = new Node();     // calls
        var second = new Other();   // calls
        Both(first, second);        // calls
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Branches()
    {
        var answer = Asked() ? Said() : null; // calls
        Found(answer);              // calls
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Handlers(Handler handler)
    {
        var result = handler(3);    // calls Handled
        Later(result);              // calls
    }
    static async Task Waits()
    {
        var before = Early();       // calls
        Later(before);              // calls
        await Task.Yield();
        var after = Make();         // calls
        Last(Wrap(after));          // calls
    }
    public static int Main()
    {
        Plain();
        Alone();
        Twice();
        Objects();
        Branches();
        Handlers(Handled);
        Waits().Wait();
        return 0;
    }
}
`

// callsInText returns the calls in lines of a program that end in "// calls", and what these make: "LINE NAME".
func callsInText(text string) []string {
	var calls []string
	name := regexp.MustCompile(`\b([A-Z][a-z]+)\(`)
	for i, line := range strings.Split(text, "\n") {
		code, rest, is := strings.Cut(line, "// calls")
		if !is {
			continue
		}
		if rest != "" {
			calls = append(calls, fmt.Sprint(i+1, rest))
		}
		for _, m := range name.FindAllStringSubmatch(code, -1) {
			calls = append(calls, fmt.Sprintf("%d %s", i+1, m[1]))
		}
	}
	return calls
}

// TestCallLines: each call is on its own line, also if the runtime's map has it in the statement before.
func TestCallLines(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, callLinesProgram)
	want := callsInText(callLinesProgram)
	for i, flags := range [][]string{{"--memory"}, {"--time"}, {"--time", "--memory"}} {
		for _, env := range []string{"COMPlus_TieredCompilation=1", "COMPlus_TieredCompilation=0"} {
			for _, runtime := range in.InTurn(i) {
				target := runtime.Command(dll)
				target.Env = append(target.Env, env)
				record := mustRecord
				if i == 1 {
					record = mustRecordTime
				}
				r := record(t, target, flags...)
				compareCallLines(t, fmt.Sprint(runtime.Name, env, flags), r.session, want)
			}
		}
	}
}

// compareCallLines compares what a session says was called, and made, at which line.
func compareCallLines(t *testing.T, name, path string, want []string) {
	t.Helper()
	lines := map[string]bool{}
	for _, at := range want {
		line, _, _ := strings.Cut(at, " ")
		lines[line] = true
	}
	var have []string
	for _, r := range query[struct{ At string }](t, path, `SELECT l.line_begin || ' ' ||
			iif(called.raw_name = '.ctor', called.raw_type, called.raw_name) AS at
		FROM node c JOIN node n ON n.id = c.parent_id JOIN instruction i ON i.id = n.instruction_id
		JOIN line l ON l.id = i.line_id JOIN function called ON called.id = c.function_id
		JOIN module m ON m.id = called.module_id WHERE m.name LIKE 'Program%'
		UNION SELECT l.line_begin || ' ' || t.raw_name
		FROM site s JOIN node n ON n.id = s.node_id JOIN instruction i ON i.id = n.instruction_id
		JOIN line l ON l.id = i.line_id JOIN type t ON t.id = s.type_id WHERE t.raw_name IN ('Node', 'Other')`) {
		if line, _, _ := strings.Cut(r.At, " "); lines[line] {
			have = append(have, r.At)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := differ.Of(want, have); diff != "" {
		t.Errorf("%s (-want +have):\n%s", name, diff)
	}
}
