package e2e

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// growingProgram has the framework make strings and arrays for it: 1,000 strings of 10 characters at line 7, and at
// line 10 the arrays of a list that grows to 1,000 numbers, of 4 to 1,024.
const growingProgram = `using System.Collections.Generic;
using System.Runtime.CompilerServices;
public static class Program
{
    static string last;
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Join(string text) { last = string.Concat(text, "-"); }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Grow(List<int> list) { list.Add(list.Count); }

    public static int Main()
    {
        var list = new List<int>();
        for (int i = 0; i < 1000; i++)
        {
            Join("123456789");
            Grow(list);
        }
        return list.Count == 1000 && last.Length == 10 ? 0 : 1;
    }
}
`

// TestLinesOfMine: with --my-code a line has what the framework allocates for it, and all lines together are the whole.
func TestLinesOfMine(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, growingProgram)
	type line struct {
		Kind        string
		Line        int64 `json:"line_begin"`
		Allocations int64 `json:"exclusive_allocations"`
		Bytes       int64 `json:"exclusive_bytes"`
	}
	const string10, arrays = 48, 9 * 24
	numbers := int64(0)
	for n := int64(4); n <= 1024; n *= 2 {
		numbers += 4 * n
	}
	for i, flags := range [][]string{nil, {"--time", "--memory"}} {
		for _, runtime := range in.InTurn(i) {
			r := mustRecord(t, runtime.Command(dll), flags...)
			of := func(typ string) []line {
				return slices.DeleteFunc(view[line](t, r.session, "lines", "--my-code", "--type", typ),
					func(l line) bool { return l.Line != 7 && l.Line != 10 })
			}
			if diff := cmp.Diff([]line{{Kind: "line", Line: 7, Allocations: 1000, Bytes: 1000 * string10}},
				of("string")); diff != "" {
				t.Errorf("%s %v: strings (-want +have)\n%s", runtime.Name, flags, diff)
			}
			if diff := cmp.Diff([]line{{Kind: "line", Line: 10, Allocations: 9, Bytes: arrays + numbers}},
				of("int[]")); diff != "" {
				t.Errorf("%s %v: arrays (-want +have)\n%s", runtime.Name, flags, diff)
			}
			for _, l := range view[line](t, r.session, "lines") {
				if l.Line == 7 && l.Bytes != 0 {
					t.Errorf("%s %v: without --my-code, line 7 itself allocated %d bytes", runtime.Name, flags, l.Bytes)
				}
			}
			have, want := made{}, made{}
			for _, l := range view[line](t, r.session, "lines", "--my-code") {
				have = have.plus(made{l.Allocations, l.Bytes})
			}
			for _, p := range view[struct{ Allocations, Bytes int64 }](t, r.session, "processes") {
				want = want.plus(made{p.Allocations, p.Bytes})
			}
			if have != want || want.Objects < 1009 {
				t.Errorf("%s %v: %+v at all lines, of %+v", runtime.Name, flags, have, want)
			}
		}
	}
}
