package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// evidence is what a rule says of the whole program.
func (all brokenRules) evidence(t *testing.T, rule string) string {
	t.Helper()
	i := slices.IndexFunc(all, func(b brokenRule) bool { return b.Rule == rule })
	if i < 0 {
		t.Fatalf("%s: no finding", rule)
	}
	return all[i].Evidence
}

// scanned are the numbers of a sentence that begins as a format says.
func scanned(t *testing.T, sentence, format string, into ...any) {
	t.Helper()
	if n, err := fmt.Sscanf(strings.ReplaceAll(sentence, ",", ""), format, into...); n != len(into) {
		t.Fatalf("%q is not %q: %v", sentence, format, err)
	}
}

// TestRulesCounted: rules about a whole program find the numbers that the program itself, or its runtime, counts.
func TestRulesCounted(t *testing.T) {
	t.Parallel()
	for _, runtime := range dotnettest.NeedRuntimes(t, 8) {
		t.Run(runtime.Name, func(t *testing.T) {
			t.Parallel()
			found, truth := judged(t, runtime, "--lifetime", "counted")
			var n, of1, of0 int
			scanned(t, found.evidence(t, "induced-gcs"), "the program asked for %d collections", &n)
			if n != truth["induced-gcs"] {
				t.Errorf("induced-gcs: %d, the program asked for %d", n, truth["induced-gcs"])
			}
			scanned(t, found.evidence(t, "gc-rate"),
				"%d collections of generation 2 for %d of generation 1 and %d of generation 0", &n, &of1, &of0)
			if n != truth["gc-rate-2"] || of1 != truth["gc-rate-1"] || of0 != truth["gc-rate-0"] {
				t.Errorf("gc-rate: %d, %d and %d, the runtime says %v", n, of1, of0, truth)
			}
			scanned(t, found.evidence(t, "finalizer-queue"), "%d objects waited for their finalizers", &n)
			if n != truth["finalizer-queue"] {
				t.Errorf("finalizer-queue: %d, the runtime says %d", n, truth["finalizer-queue"])
			}
			const others = 50 // objects that the runtime pins itself, at most
			scanned(t, found.evidence(t, "pinning"), "%d objects were pinned in a collection", &n)
			if want := truth["pinning"]; n < want || n > want+others {
				t.Errorf("pinning: %d, the program pins %d", n, want)
			}
			at := slices.IndexFunc(found, func(b brokenRule) bool { return b.Rule == "many-gen2-deaths" })
			const more = 100 // one part in so many of what died there is the framework's
			if want := truth["many-gen2-deaths"]; at < 0 || found[at].Bytes < want || found[at].Bytes > want+want/more {
				t.Errorf("many-gen2-deaths: %+v, the program let %d bytes die", found[max(at, 0)], want)
			}
		})
	}
}

// TestPiecesCounted: small reads and writes have the size that they have, and are not more than the program makes.
func TestPiecesCounted(t *testing.T) {
	t.Parallel()
	runtime := dotnettest.Need(t).Newest()
	found, truth := judged(t, runtime, "--lifetime", "pieces")
	for rule, did := range map[string]string{"small-reads": "read", "small-writes": "wrote"} {
		var pid, calls int
		var each float64
		scanned(t, found.evidence(t, rule), "process %d (Rules) made %d system calls that "+did+" %f B each", &pid, &calls, &each)
		const others = 1_000 // calls of the runtime
		if calls > truth[rule]+others || each < 15 || each > 17 {
			t.Errorf("%s: %d calls of %.1f B, the program made %d of 16 B", rule, calls, each, truth[rule])
		}
	}
}
