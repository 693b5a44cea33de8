package e2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestEmittedIsMine: what a program emits is its own code, under the name of its assembly, in all ways to record it and
// whether it can be collected or not; what the framework emits for it is not. --mine knows it by that name.
func TestEmittedIsMine(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	origins := map[string]string{"My.Rules": "memory", "Your.Rules": "memory", "ProxyBuilder": "generated"}
	byPattern := map[string]string{"My.Rules": "pattern", "Your.Rules": "memory", "ProxyBuilder": "generated"}
	for _, tt := range []struct {
		flags []string
		want  map[string]string
	}{
		{[]string{"--time"}, origins},
		{[]string{"--time", "--mine", "My.*"}, byPattern},
		{[]string{"--time", "--memory"}, origins},
		{[]string{"--time", "--probes", "hooks"}, origins},
		{[]string{"--memory"}, origins},
	} {
		for _, runtime := range in.Runtimes() {
			t.Run(fmt.Sprint(tt.flags, runtime.Name), func(t *testing.T) {
				t.Parallel()
				look, times := mustRecord, slices.Contains(tt.flags, "--time")
				if times {
					look = mustRecordTime
				}
				r := look(t, runtime.Command(dotnettest.Target(t, "Emitted", dotnettest.Options{})), tt.flags...)
				have := map[string]string{}
				for _, m := range query[struct{ Name, Origin string }](t, r.session,
					"SELECT name, origin FROM module WHERE is_dynamic") {
					have[m.Name] = m.Origin
				}
				if diff := cmp.Diff(tt.want, have); diff != "" {
					t.Errorf("origins (-want +have)\n%s", diff)
				}
				checkEmittedFunctions(t, r.session, tt.flags)
			})
		}
	}
}

// checkEmittedFunctions asserts the calls and the bytes of the two functions called Area that the program emitted.
func checkEmittedFunctions(t *testing.T, session string, flags []string) {
	t.Helper()
	var sum int64
	for i := range int64(1000) {
		sum += (24 + i*i + 7) &^ 7
	}
	for _, module := range []string{"My.Rules", "Your.Rules"} {
		if slices.Contains(flags, "--time") {
			if calls := query[struct{ Calls int64 }](t, session, "SELECT coalesce(sum(v.calls), 0) AS calls FROM "+
				"function_time v JOIN function f ON f.id = v.function_id JOIN module m ON m.id = f.module_id "+
				"WHERE f.name LIKE '%Area%' AND m.name = '"+module+"'")[0].Calls; calls != 1000 {
				t.Errorf("%s: %d calls of Area, want 1,000", module, calls)
			}
		}
		if slices.Contains(flags, "--memory") {
			if bytes := query[struct{ Bytes int64 }](t, session, "SELECT coalesce(sum(exclusive_bytes), 0) "+
				"AS bytes FROM functions WHERE name LIKE '%Area%' AND module = '"+module+"'")[0].Bytes; bytes != sum {
				t.Errorf("%s: %d bytes of Area, want %d", module, bytes, sum)
			}
		}
	}
}
