package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
	"github.com/clrprof/clrprof/internal/wire"
)

// mostLate is how many objects a program that does nothing at its end may make after its last collection. The description
// of the runtime's events, which the agent prevents, is 7,600.
const mostLate = 20

// TestLifetimeWalks checks that the runtime does not walk generation 0 at the start of collections, not even of the
// last one, once the agent has its events, and that what the runtime allocates for them is no part of the program.
func TestLifetimeWalks(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	for i, w := range []way{tiered, serverGC} {
		for _, runtime := range in.InTurn(i) {
			t.Run(runtime.Name+"/"+w.name, func(t *testing.T) {
				target := runtime.Command(dll, "churn", "400")
				target.Env = append(target.Env, w.env...)
				r := mustRecord(t, target, "--lifetime")
				got := query[struct {
					GCs     int64 `json:"gcs"`
					Walked  int64 `json:"walked_gcs"`
					LeftOut int64 `json:"objects"`
					Alive   int64 `json:"alive_known"`
				}](t, r.session,
					"SELECT gcs, walked_gcs, objects, alive_known FROM process_lifetime JOIN process_left_out USING "+
						"(process_id)")
				if len(got) != 1 || got[0].GCs < 50 || got[0].Alive != 1 {
					t.Fatalf("%+v", got)
				}
				if runtime.Major() < 8 {
					if got[0].LeftOut != 0 || got[0].Walked == 0 {
						t.Errorf("%+v: this runtime has no events for it", got[0])
					}
					return
				}
				t.Logf("%+v", got[0])
				// It takes some collections until a thread of the agent's own has started the events.
				if got[0].Walked >= got[0].GCs-1 || got[0].LeftOut > mostLate {
					t.Errorf("%+v", got[0])
				}
				last := query[struct {
					Walked int64 `json:"walked_gcs"`
				}](t, mustRecord(t, runtime.Command(dll, "grow", "40"), "--lifetime").session,
					"SELECT walked_gcs FROM process_left_out")
				if last[0].Walked > 10 {
					t.Errorf("%+v of 21", last)
				}
				rows := query[struct {
					Name string `json:"name"`
				}](t, r.session,
					"SELECT DISTINCT f.name FROM function f JOIN node n ON n.function_id = f.id WHERE f.name LIKE "+
						"'%CreateManifest%'")
				if len(rows) != 0 {
					t.Errorf("the program has the runtime's %v", rows)
				}
			})
		}
	}
}

// TestLifetimeDeaf takes the events away at the fortieth collection: what survived is not known then, which is
// reported, and the program runs to its end.
func TestLifetimeDeaf(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	agent := oracle(t)
	dll := dotnettest.Target(t, "LifetimeHeap", dotnettest.Options{Unsafe: true})
	for i, env := range [][]string{nil, server} {
		for _, runtime := range in.InTurn(i) {
			if runtime.Major() < 8 {
				continue
			}
			t.Run(runtime.Name+"/"+strings.Join(env, " "), func(t *testing.T) {
				target := runtime.Command(dll, "churn", "400")
				arenas := attachAgent(t, target, agent,
					slices.Concat(env, []string{"CLRPROF_VARIANT=deaf", "CLRPROF_EVERY=40"})...)
				runTarget(t, target)
				_, h := openArena(t, arenas)
				if lost := h.Losses[wire.LossMoves].Events; lost != 1 || h.Collections < 50 || h.Walks < 20 {
					t.Errorf("%d collections, %d lost, %d walks", h.Collections, lost, h.Walks)
				}
			})
		}
	}
}
