package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// teamProgram has threads that come and go in functions named Scoped, while one other thread works: it knows how often
// that works while some thread is in such a call (Busy), and while none is (Idle). All that follows waits for what came
// before, so which it is is certain.
const teamProgram = `
using System;
using System.Threading;
using System.Threading.Tasks;
using System.Runtime.CompilerServices;

namespace Shop
{
    sealed class In { public long A; }
    sealed class Out { public long A; }

    static class Program
    {
        static readonly SemaphoreSlim asked = new SemaphoreSlim(0), done = new SemaphoreSlim(0);
        static Action work;
        static object kept;

        static void Main()
        {
            var worker = new Thread(Serve) { IsBackground = true };
            worker.Start();
            Ask(Idle);
            for (int i = 0; i < 50; i++)
                Round(i);
            Thread ends = Start(ScopedEnds); // begins and ends inside
            ends.Join();
            Ask(Idle);
            Tree(3);
            Ask(Idle);
            Async().GetAwaiter().GetResult();
            Ask(Idle);
            Console.WriteLine("{\"truth\":\"work\",\"busy\":" + busy + ",\"idle\":" + idle + "}");
        }

        static void Round(int i)
        {
            var within = new SemaphoreSlim(0);
            SemaphoreSlim leave = new SemaphoreSlim(0), two = new SemaphoreSlim(0);
            Thread one = Start(() =>
            {
                try
                {
                    Scoped(within, leave, i % 2 == 0);
                }
                catch (InvalidOperationException)
                {
                    Ask(Idle); // the call has ended
                }
            });
            within.Wait();
            Ask(Busy);
            leave.Release();
            one.Join();
            Ask(Idle);
            Thread a = Start(() => Scoped(within, leave, false)), b = Start(() => Scoped(within, two, false));
            within.Wait();
            within.Wait();
            Ask(Busy);
            leave.Release();
            a.Join(); // one has left, one is there
            Ask(Busy);
            two.Release();
            b.Join();
            Ask(Idle);
        }

        static Thread Start(ThreadStart run)
        {
            var t = new Thread(run);
            t.Start();
            return t;
        }

        static void Scoped(SemaphoreSlim within, SemaphoreSlim leave, bool throws)
        {
            within.Release();
            leave.Wait();
            if (throws)
                throw new InvalidOperationException();
        }

        static void ScopedEnds() => Ask(Busy);

        static void Tree(int n) // inside of itself from the first ScopedNode on
        {
            Ask(Idle);
            ScopedNode(n);
        }

        static void ScopedNode(int n)
        {
            Ask(Busy);
            if (n > 0)
                ScopedNode(n - 1);
            Ask(Busy);
        }

        static async Task Async()
        {
            var said = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            Task waits = ScopedAsync(said.Task);
            Ask(Idle);
            said.SetResult(true);
            await waits.ConfigureAwait(false);
            Ask(Idle);
        }

        static async Task ScopedAsync(Task wait)
        {
            Ask(Busy);
            await wait.ConfigureAwait(false);
        }

        static void Ask(Action what)
        {
            lock (asked)
            {
                work = what;
                asked.Release();
                done.Wait();
            }
        }

        static void Serve()
        {
            for (;;)
            {
                asked.Wait();
                work();
                done.Release();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Busy() { kept = new In(); Interlocked.Increment(ref busy); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Idle() { kept = new Out(); Interlocked.Increment(ref idle); }

        static int busy, idle;
    }
}
`

// TestScopesOfProcess: with :process all threads are recorded while one is in a call of a function that is meant, or
// none is, exactly, however the calls of several threads overlap and end.
func TestScopesOfProcess(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, teamProgram)
	modes := [][]string{byProbes, {"--lifetime"}, byHooks, {"--memory"}}
	for f, flag := range []string{"--record-inside", "--record-outside"} {
		for i, mode := range dotnettest.Some(modes) {
			for _, runtime := range in.InTurn(f + i) {
				if runtime.Major() < 5 {
					continue
				}
				t.Run(flag+" "+strings.Join(mode, " ")+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					r := recordOnce(t, runtime.Command(dll), slices.Concat(mode, []string{flag, "Shop.Program.Scoped*:process"})...)
					if r.exit != 0 {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					compareTeam(t, r, flag == "--record-inside", mode[0] == "--time")
				})
			}
		}
	}
}

func compareTeam(t *testing.T, r result, inside, timed bool) {
	t.Helper()
	truth := truthRows[struct {
		Busy int64 `json:"busy"`
		Idle int64 `json:"idle"`
	}](t, r.stdout, "work")[0]
	call, class, n := "Busy", "Shop.In", truth.Busy
	if !inside {
		call, class, n = "Idle", "Shop.Out", truth.Idle
	}
	if timed {
		checkTimeSession(t, r.session)
		want := map[string]int64{call: n}
		if inside { // the functions themselves, too
			want["Scoped"], want["ScopedEnds"], want["ScopedNode"], want["ScopedAsync"] = 150, 1, 4, 1
		}
		compareCallsByName(t, r, "f.raw_type = 'Shop.Program' AND (f.raw_name IN ('Busy', 'Idle') OR f.raw_name LIKE "+
			"'Scoped%')", want)
	} else {
		sound(t, r.session)
		type objects struct {
			Name string `json:"name"`
			N    int64  `json:"n"`
		}
		have := query[objects](t, r.session, "SELECT name, instances AS n FROM types WHERE name IN ('Shop.In', 'Shop.Out')")
		if d := cmp.Diff([]objects{{class, n}}, have); d != "" {
			t.Errorf("objects (-truth +session): %s", d)
		}
	}
	// 50 rounds of two spans, and one for ScopedEnds, Tree and Async each.
	const spans = 103
	type paused struct {
		N int64 `json:"n"`
	}
	want := map[bool]int64{true: spans + 1, false: spans}[inside]
	have := query[paused](t, r.session, "SELECT count(*) AS n FROM pause WHERE level = 'process'")
	if have[0].N != want {
		t.Errorf("%d pauses, want %d", have[0].N, want)
	}
	if lost := losses(t, r.session); len(lost) != 0 {
		t.Errorf("lost: %v", lost)
	}
}
