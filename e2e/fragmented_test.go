package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestFragmented: what is free between the objects of a heap is what the runtime says, and the first screen says that
// it is most of the heap.
func TestFragmented(t *testing.T) {
	for _, runtime := range dotnettest.Need(t).Runtimes() {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			r := mustRecord(t, runtime.Command(dotnettest.Target(t, "Fragmented", dotnettest.Options{})))
			var want struct{ Bytes, Free int64 }
			if err := json.Unmarshal([]byte(r.stdout), &want); err != nil || want.Free < want.Bytes/2 {
				t.Fatalf("the target says %q: %v", r.stdout, err)
			}
			// The last collection of all is one that clrprof has made.
			have := query[struct{ Bytes, Free int64 }](t, r.session, "SELECT sum(after_bytes + free_bytes) AS bytes, "+
				"sum(free_bytes) AS free FROM gc_heaps WHERE number = (SELECT max(number) - 1 FROM gc_heaps)")
			const tolerance = 100 // one part in so many: what the allocating thread has ahead of it is free, too
			for _, x := range [][2]int64{{want.Bytes, have[0].Bytes}, {want.Free, have[0].Free}} {
				if d := x[0] - x[1]; d > x[0]/tolerance || -d > x[0]/tolerance {
					t.Errorf("the runtime says %+v, the session %+v", want, have[0])
				}
			}
			if text := run(t, "report", r.session).stdout; !strings.Contains(text, "The heap is fragmented: 63") ||
				!strings.Contains(text, "in LOH, where 66.77 MiB made by Program.Fill Fragmented.cs:19 died.") {
				t.Errorf("the first screen does not say it:\n%s", text)
			}
		})
	}
}
