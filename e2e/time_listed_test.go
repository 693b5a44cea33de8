package e2e

import (
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// listedFunction is what list-functions says of a function.
type listedFunction struct{ Module, Function, Recorded, Why string }

// functionCalls are the calls of a function in a session.
type functionCalls struct {
	Module, Function, Kind string
	Calls                  int64
}

// callsByName adds up the calls of functions by module and name. Dynamic and pseudo functions are not in any file.
func callsByName(t *testing.T, path string) map[[2]string]int64 {
	t.Helper()
	out := map[[2]string]int64{}
	for _, f := range query[functionCalls](t, path,
		"SELECT m.name AS module, f.raw_type || '.' || f.raw_name AS function, f.kind, sum(v.calls) AS calls "+
			"FROM function_time v JOIN function f ON f.id = v.function_id JOIN module m ON m.id = f.module_id WHERE "+
			"f.kind = 'method' AND m.path <> '' GROUP BY 1, 2, 3") {
		if f.Calls > 0 {
			out[[2]string{f.Module, f.Function}] = f.Calls
		}
	}
	return out
}

// TestListedFunctions: what list-functions says beforehand is what the agent does with the same flags. A function that
// is listed as not recorded has no calls, and one whose calls are all recorded has as many as without flags; a name
// that several functions have is left out if they differ.
func TestListedFunctions(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "TimeCalls", dotnettest.Options{})
	const mine = "TimeCalls.dll"
	record := func(flags ...string) string {
		t.Helper()
		return mustRecordTime(t, in.Newest().Command(dll, "50", "1", "10"), append(timeOnly, flags...)...).session
	}
	plain := record()
	unlimited := callsByName(t, plain)
	files := []string{}
	for _, m := range query[struct{ Path string }](t, plain,
		"SELECT path FROM module WHERE path <> '' AND is_dynamic = 0 ORDER BY path") {
		files = append(files, m.Path)
	}
	for _, flags := range dotnettest.Some([][]string{
		{},
		{"--instrument", "mine"},
		{"--instrument", "all"},
		{"--exclude-small"},
		{"--exclude-small=60", "--instrument", "mine"},
		{"--include", "TimeCalls.Depth"},
		{"--include", "timecalls.depth", "--include", "*.Generic*", "--instrument", "mine"},
		{"--exclude", "TimeCalls.Machines*", "--exclude", "System.Threading.*"},
		{"--include", "TimeCalls", "--include", "System.Collections.Generic", "--exclude", "*..ctor"},
	}) {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			have := callsByName(t, record(flags...))
			listed := map[[2]string]string{}
			for _, f := range printed[listedFunction](t, append(append([]string{"list-functions", "--json"}, flags...),
				files...)...) {
				name := [2]string{f.Module, f.Function}
				if before, again := listed[name]; again && before != f.Recorded {
					f.Recorded = "overloads differ"
				}
				listed[name] = f.Recorded
			}
			for name, calls := range have {
				if how := listed[name]; how == "no" || how == "" {
					t.Errorf("%v has %d calls and is listed as %q", name, calls, how)
				}
			}
			checked := 0
			for name, how := range listed {
				// awaiting what has ended takes a call less
				if how != "all calls" || name[0] != mine || strings.HasSuffix(name[1], ".MoveNext") {
					continue
				}
				checked++
				if have[name] != unlimited[name] {
					t.Errorf("%v has %d calls, without flags %d", name, have[name], unlimited[name])
				}
			}
			if checked == 0 {
				t.Error("nothing is listed")
			}
		})
	}
}
