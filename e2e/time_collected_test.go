package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// collectedProgram calls functions with references, references to the insides of objects, and structs of both, on three
// threads beside which the garbage collector compacts the heap again and again. What they compute depends on all of
// them.
const collectedProgram = `using System; using System.Threading;
public struct Pair { public object A; public string B; }
public class Box { public int Value; public ref int Inside() { return ref Value; } }
public static class Program {
	static int Add(ref int at, object o, Pair p) { at += p.B.Length; return o is int n ? n : 0; }
	static Pair Make(int i) { return new Pair { A = i, B = i.ToString() }; }
	static T Same<T>(T value) { return value; }
	static int Turn(int i) {
		var box = new Box();
		var pair = Same(Make(i));
		int sum = Add(ref Same(box).Inside(), pair.A, pair);
		try { if (i % 8 == 0) throw new Exception(Same(pair.B)); } catch (Exception e) when (e.Message == i.ToString()) { sum += 1; }
		return sum + box.Value;
	}
	static long Turns(int n) { long sum = 0; for (int i = 0; i < n; i++) sum += Turn(i); return sum; }
	public static int Main() {
		const int N = 12000;
		var threads = new Thread[3]; var sums = new long[3]; int running = 3;
		for (int t = 0; t < 3; t++) { int mine = t; threads[t] = new Thread(() => { sums[mine] = Turns(N); Interlocked.Decrement(ref running); }); threads[t].Start(); }
		int collections = 0;
		while (Volatile.Read(ref running) != 0 || collections < 20) { GC.Collect(collections++ % 3, GCCollectionMode.Forced, true, true); Thread.Sleep(1); } // or the others hardly get on
		foreach (var thread in threads) thread.Join();
		long want = N / 8; for (int i = 0; i < N; i++) want += i + i.ToString().Length;
		foreach (long sum in sums) if (sum != want) return 1;
		return 0;
	} }`

// compileText compiles a program that is one text.
func compileText(t *testing.T, in *dotnettest.Install, text string) string {
	t.Helper()
	source, err := in.Made("Program.cs", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dll, err := in.Compile([]string{source}, "", dotnettest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return dll
}

// compareCallsByName compares how often functions f were called, those of one name as one.
func compareCallsByName(t *testing.T, r result, where string, want map[string]int64) {
	t.Helper()
	have := map[string]int64{}
	for _, f := range query[struct {
		Name  string
		Calls int64
	}](t, r.session,
		"SELECT f.raw_name AS name, sum(v.calls) AS calls FROM function_time v JOIN function f ON f.id = "+
			"v.function_id "+
			"WHERE "+where+" GROUP BY 1 HAVING sum(v.calls) > 0") {
		have[f.Name] = f.Calls
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("calls (-want +have)\n%s", diff)
	}
}

// TestProbesCollected: garbage collections that move everything find all references in functions with probes in their
// IL, and each call is counted.
func TestProbesCollected(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, collectedProgram)
	const turns = 3 * 12000
	const thrown = 3 * 12000 / 8
	want := map[string]int64{"Add": turns, "Make": turns, "Same": 2*turns + thrown, "Turn": turns, "Turns": 3,
		"Inside": turns, ".ctor": turns, "Main": 1}
	for i, w := range []way{timeTiered, timeOptimized, timeHurried} {
		for _, runtime := range in.InTurn(i) {
			t.Run(w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll)
				cmd.Env = append(cmd.Env, w.env...)
				r := mustRecordTime(t, cmd, byProbes...)
				compareCallsByName(t, r, "f.raw_type IN ('Program', 'Box')", want)
			})
		}
	}
}

// thrownProgram throws exceptions on three threads beside which the garbage collector compacts the heap again and
// again. Each has a message of its own, by which filters decide.
const thrownProgram = `using System; using System.Threading;
public static class Program {
	const int N = 1000;
	static int Deep(int n, string s) { if (n == 0) throw new Exception(s); try { return Deep(n - 1, s) + 1; } finally { Work(n); } }
	[ThreadStatic] static int sink; static void Work(int n) { sink += n; }
	static string Filter(string want, int i) { try { throw new Exception(want); } catch (Exception e) when (e.Message == i.ToString()) { return e.Message; } }
	static string Other(string want, int i) { try { return Refuse(want, i); } catch (Exception e) { return e.Message; } }
	static string Refuse(string want, int i) { try { throw new Exception(want); } catch (Exception e) when (e.Message != i.ToString()) { return "taken"; } }
	static string Rethrow(string want) { try { try { throw new Exception(want); } catch { throw; } } catch (Exception e) { return e.Message; } }
	static string Within(string want) { try { try { throw new Exception("x"); } catch (Exception e) { throw new Exception(want, e); } } catch (Exception e) { return e.Message; } }
	static string Finally(string want) { try { Deep(3, want); } catch (Exception e) { return e.Message; } return "none"; }
	static string Catch(int i) {
		string want = i.ToString();
		switch (i % 8) {
		case 0: return Rethrow(want);
		case 1: return Within(want);
		case 2: return Finally(want);
		case 3: case 4: return Other(want, i);
		default: return Filter(want, i);
		}
	}
	public static int Main() {
		var threads = new Thread[3]; int running = 3, wrong = 0;
		for (int t = 0; t < 3; t++) {
			threads[t] = new Thread(() => {
				for (int i = 0; i < N; i++) if (Catch(i) != i.ToString()) Interlocked.Increment(ref wrong);
				Interlocked.Decrement(ref running);
			});
			threads[t].Start();
		}
		for (int i = 0; Volatile.Read(ref running) != 0; i++) { GC.Collect(i % 3, GCCollectionMode.Forced, true, true); Thread.Sleep(1); } // or the others hardly get on
		foreach (var thread in threads) thread.Join();
		return wrong == 0 ? 0 : 1;
	} }`

// TestThrownCollected: exceptions stay what they are while the garbage collector moves everything, also when it does so
// at the moment in which the runtime tells the agent of a block that is about to run.
func TestThrownCollected(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, thrownProgram)
	const n = 3 * 1000 / 8
	want := map[string]int64{"Catch": 8 * n, "Rethrow": n, "Within": n, "Finally": n, "Deep": 4 * n, "Work": 3 * n,
		"Other": 2 * n, "Refuse": 2 * n, "Filter": 3 * n}
	for _, runtime := range in.Runtimes() {
		for _, flags := range [][]string{{"--time", "--instrument", "mine", "--probes", "hooks"}, byProbes} {
			t.Run(flags[len(flags)-1]+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll)
				withOracle(t, cmd, "slowblocks")
				r := mustRecordTime(t, cmd, flags...)
				compareCallsByName(t, r, "f.raw_type = 'Program' AND f.raw_name NOT IN ('Main', '.cctor')", want)
			})
		}
	}
}
