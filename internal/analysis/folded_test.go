package analysis

import (
	"testing"

	"pgregory.net/rapid"

	q "github.com/clrprof/clrprof/internal/quantity"
)

// TestAtLeast: no part is less than either bound allows, and elapsed time and overhead together are no more than what
// one of the two has, or what the other one's elapsed time takes.
func TestAtLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (out q.Time) {
			n := func(what string) q.Nanoseconds {
				return q.Nanoseconds(rapid.Int64Range(0, 1000).Draw(t, name+" "+what))
			}
			out.Elapsed, out.Overhead = n("elapsed"), n("overhead")
			out.CPU = min(out.Elapsed, n("CPU"))
			out.Application = min(out.CPU, n("application"))
			return out
		}
		of, least := draw("time"), draw("least")
		got := atLeast(of, least)
		if got.Elapsed < least.Elapsed || got.Overhead < max(of.Overhead, least.Overhead) ||
			got.Application < least.Application || got.CPU < least.CPU {
			t.Errorf("%+v is less than %+v", got, least)
		}
		if got.Application > got.CPU || got.CPU > got.Elapsed {
			t.Errorf("%+v: a part is more than the whole", got)
		}
		all := max(of.Elapsed+of.Overhead, least.Elapsed+least.Overhead, least.Elapsed+of.Overhead)
		if got.Elapsed+got.Overhead > all {
			t.Errorf("%v and %v are more than %v", got.Elapsed, got.Overhead, all)
		}
	})
}
