package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestHolders compares how many objects each holder has with what the program says. The holders are static fields,
// handles of two kinds, a frame, dependent handles, and several holders together.
func TestHolders(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	for i, w := range []way{tiered, optimized} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				cmd := runtime.Command(dotnettest.Target(t, "Holders", w.options))
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecord(t, cmd, "--snapshot", "1")
				want := map[string]map[string]int64{}
				for line := range strings.Lines(r.stdout) {
					var truth struct {
						Kind    string `json:"truth"`
						Type    string `json:"type"`
						Holder  string `json:"holder"`
						Objects int64  `json:"objects"`
					}
					if err := json.Unmarshal([]byte(line), &truth); err != nil || truth.Kind != "holder" {
						continue
					}
					if want[truth.Type] == nil {
						want[truth.Type] = map[string]int64{}
					}
					want[truth.Type][truth.Holder] = truth.Objects
				}
				if len(want) != 6 {
					t.Fatalf("the target reported %d types", len(want))
				}
				for name, holders := range want {
					if diff := cmp.Diff(holders, holdersOf(t, r, name)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
			})
		}
	}
}

// holdersOf asks the view who holds how many objects of a type, and compares the sums of the rows.
func holdersOf(t *testing.T, r result, name string) map[string]int64 {
	t.Helper()
	shown := run(t, "report", r.session, "snapshot", name, "--json")
	var rows []struct {
		Name    string `json:"name"`
		Kind    string `json:"kind"`
		Level   int    `json:"level"`
		Objects *int64 `json:"live_objects"`
		Bytes   *int64 `json:"live_bytes"`
	}
	if err := json.Unmarshal([]byte(shown.stdout), &rows); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, shown.stderr)
	}
	out := map[string]int64{}
	var all, held, placed, bytes, heldBytes int64
	for _, row := range rows {
		switch {
		case row.Kind == "type":
			all, bytes = *row.Objects, *row.Bytes
		case row.Kind == "root" && row.Objects != nil:
			out[row.Name] += *row.Objects
			held, heldBytes = held+*row.Objects, heldBytes+*row.Bytes
		case row.Level == 2 && row.Objects != nil:
			placed += *row.Objects
		}
	}
	if held != all || placed != all || heldBytes != bytes {
		t.Errorf("%s: %d objects with %d bytes, of which holders hold %d with %d, and %d have a place", name, all, bytes,
			held, heldBytes, placed)
	}
	return out
}
