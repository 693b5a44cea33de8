package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// TestRuntimeAsync records a program whose async methods the runtime suspends itself: what it does and in which order
// is the same as without clrprof, in all tiers. With times these methods have no probes, which the session says; what
// they allocate is nevertheless theirs.
func TestRuntimeAsync(t *testing.T) {
	t.Parallel()
	dotnettest.NeedSDK(t)
	dll := dotnettest.Target(t, "RuntimeAsync",
		dotnettest.Options{Framework: "net10.0", Features: []string{"runtime-async=on"}})
	for _, runtime := range dotnettest.NeedRuntimes(t, 10) {
		for _, w := range dotnettest.Some([]way{timeTiered, timeTier0, timeOptimized}) {
			plain := runtime.Command(dll, "50")
			plain.Env = append(append(plain.Env, w.env...), "DOTNET_RuntimeAsync=1")
			output, err := plain.Output()
			if err != nil {
				t.Fatalf("without clrprof: %v\n%s", err, output)
			}
			for _, flags := range [][]string{{"--memory"}, {"--lifetime"}, {"--time"}, {"--time", "--memory"}} {
				t.Run(fmt.Sprint(runtime.Name, "/", w.name, flags), func(t *testing.T) {
					cmd := runtime.Command(dll, "50")
					cmd.Env = plain.Env
					checkRuntimeAsync(t, record(t, cmd, flags...), string(output), flags)
				})
			}
		}
	}
}

// checkRuntimeAsync compares one recording with what the program prints without clrprof.
func checkRuntimeAsync(t *testing.T, r result, plain string, flags []string) {
	t.Helper()
	order := func(output string) string { line, _, _ := strings.Cut(output, "\n"); return line }
	if r.exit != 0 || order(r.stdout) != order(plain) {
		t.Fatalf("exit code %d\nwith clrprof:    %s\nwithout clrprof: %s", r.exit, order(r.stdout), order(plain))
	}
	timed := slices.Contains(flags, "--time")
	if timed {
		soundTime(t, r.session)
		compareCalls(t, r, "RuntimeAsync.dll")
	}
	if !timed || slices.Contains(flags, "--memory") {
		compareMade(t, r)
	}
	said := false
	for _, l := range query[map[string]any](t, r.session, "SELECT * FROM loss") {
		if said = l["reason"] == "async_not_hooked"; !said || !timed {
			t.Errorf("lost: %v", l)
		}
	}
	if said != timed {
		t.Errorf("the session says of methods without probes: %t", said)
	}
}
