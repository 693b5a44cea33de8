package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clrprof/clrprof/internal/testkit/dotnettest"
)

// marked are the marks at a function: of its calls, and of its returns.
type marked struct {
	Calls   int64 `json:"calls"`
	Returns int64 `json:"returns"`
}

// TestMarkAt: each call and each return of a function is marked, once, whatever is recorded, and whatever the runtime
// makes of its code; a call that ends by an exception, or does not end, has no mark at its return. With time all calls
// are recorded as ever.
func TestMarkAt(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	memory, together := []string{"--memory"}, []string{"--time", "--memory"}
	for _, tt := range []struct {
		target []string
		flags  [][]string
		ways   []way
	}{
		{[]string{"TimeCalls", "60", "1", "40"}, [][]string{byProbes, memory, timeOnly, boundaryHooks, together},
			[]way{timeTiered, timeOptimized, timeHurried}},
		{[]string{"TimeExceptions", "20"}, [][]string{timeOnly, byProbes, memory, byHooks}, []way{timeOptimized}},
	} {
		for i, w := range dotnettest.Some(tt.ways) {
			for k, runtime := range in.InTurn(i) {
				if runtime.Major() < 5 {
					continue
				}
				flags := tt.flags[(i+k)%len(tt.flags)]
				t.Run(strings.Join(append(tt.target, flags...), " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
					t.Parallel()
					module := tt.target[0] + ".dll"
					cmd := runtime.Command(dotnettest.Target(t, tt.target[0], w.options), tt.target[1:]...)
					cmd.Env = append(cmd.Env, w.env...)
					r := recordOnce(t, cmd,
						append([]string{"--memory-limit", "1G", "--mark-at", module, "--mark-at", module + ":after"},
							flags...)...)
					if r.exit != 0 {
						t.Fatalf("exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
					}
					if flags[0] == "--time" {
						checkTimeSession(t, r.session)
						if flags[len(flags)-1] == "il" {
							compareOwnCalls(t, r, module)
						} else {
							compareCalls(t, r, module)
						}
					} else {
						sound(t, r.session)
					}
					compareMarks(t, r, module)
				})
			}
		}
	}
}

// tokenNames returns the names of a module's functions, as marks at them have them, by token.
func tokenNames(t *testing.T, session, module string) map[int64]string {
	t.Helper()
	names := map[int64]string{}
	for _, f := range query[struct {
		Token int64  `json:"token"`
		Name  string `json:"name"`
	}](t, session, `SELECT DISTINCT f.token, f.raw_type || '.' || f.raw_name AS name
		FROM function f JOIN module m ON m.id = f.module_id WHERE m.name = '`+module+`'`) {
		names[f.Token] = f.Name
	}
	return names
}

// marksOf are the marks at a function that have one name.
type marksOf struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

func functionMarks(t *testing.T, session string) []marksOf {
	t.Helper()
	return query[marksOf](t, session,
		"SELECT name, count(*) AS n FROM mark WHERE source = 'function' GROUP BY name")
}

// compareMarks compares the marks at functions with what the target knows of its calls. Overloads have one name.
func compareMarks(t *testing.T, r result, module string) {
	t.Helper()
	names := tokenNames(t, r.session, module)
	have := map[string]marked{}
	for _, m := range functionMarks(t, r.session) {
		name, returned := strings.CutSuffix(m.Name, " end")
		sum := have[name]
		if returned {
			sum.Returns += m.N
		} else {
			sum.Calls += m.N
		}
		have[name] = sum
	}
	want, unknown := map[string]marked{}, map[string]bool{}
	for _, row := range truthRowsIfAny[callTruth](t, r.stdout, "uncounted") {
		unknown[names[int64(row.Token)]] = true
	}
	for _, row := range truthRows[callTruth](t, r.stdout, "calls") {
		if name := names[int64(row.Token)]; row.Module == module && row.Calls > 0 {
			want[name] = marked{want[name].Calls + row.Calls, want[name].Returns + row.Calls - row.Thrown - row.Running}
		}
	}
	for name := range have {
		if _, reported := want[name]; unknown[name] || !reported {
			delete(have, name) // of the classes that count
			delete(want, name)
		}
	}
	if len(want) < 10 {
		t.Errorf("the target reported %d functions", len(want))
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("marks (-truth +session): %s", d)
	}
}

// placesProgram calls known functions in a known order on threads with names. It is built without the library of
// control, as programs are for which marks at functions are made.
const placesProgram = `using System; using System.Collections; using System.Runtime.CompilerServices; using System.Threading; using System.Threading.Tasks;
namespace Shop {
	public struct Wide { public long A, B, C, D; }
	public class Order { public int N; public Order(int n) { N = n; } }
	public static class Box<T> { public static T Same(T x) { return x; } }
	public static class Program {
		[MethodImpl(MethodImplOptions.AggressiveInlining)] static int Tiny(int x) { return x + 1; }
		static int Outer(int n) { int s = Inner(n); return s + Inner(n); }
		static int Inner(int n) { return n == 0 ? 0 : 1 + Inner(n - 1); }
		static Wide Large(long a) { return new Wide { A = a, D = a }; }
		static double Sum(double a, float b) { return a + b; }
		static int Fails(int n) { try { if (n % 4 == 0) throw new InvalidOperationException(); return n; } finally { n++; } }
		static async Task<int> Later(int n) { await Task.Yield(); return n; }
		static void Never() { throw new InvalidOperationException(); }
		static void Turn(int i, BitArray bits) {
			double d = Sum(i, 2);
			Wide w = Large(i);
			if (w.A != i || w.D != i || d != i + 2 || Tiny(i) != i + 1 || new Order(i).N != i)
				throw new Exception("a probe changed a result");
			if (Box<string>.Same("a") != "a" || Box<int>.Same(i) != i || Box<object>.Same(bits) != (object)bits)
				throw new Exception("a probe changed a result");
			try { Fails(i); } catch (InvalidOperationException) { }
			bits.SetAll(true);
		}
		static void Work() { var bits = new BitArray(8); for (int i = 0; i < turns; i++) Turn(i, bits); }
		static int turns = 400;
		public static int Main(string[] args) {
			if (args.Length > 0) turns = int.Parse(args[0]);
			if (turns < 0) Never();
			for (int i = 0; i < 3; i++) {
				var t = new Thread(Work) { Name = "worker " + i };
				t.Start();
				t.Join();
			}
			Outer(2);
			return Later(0).Result;
		}
	}
}`

// TestMarkAtPlaces: functions of all shapes, also inlined ones, generic ones and the framework's, are marked on the
// thread that calls them, and in the order of their calls. What is marked nowhere is said at the end, by pattern.
func TestMarkAtPlaces(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, placesProgram)
	var flags []string
	for _, at := range []string{"Shop.Program.Outer", "Shop.Program.Outer:after", "Shop.Program.Inner:before",
		"Shop.Program.Inner:after", "Shop.Program.Tiny", "Shop.Order..ctor:after",
		"shop.box*", "*.Large", "Shop.Program.Sum:after", "Shop.Program.Fails", "Shop.Program.Fails:after",
		"Shop.Program.Later", "Shop.Program.Later:after",
		"System.Collections.BitArray.SetAll", "Shop.Program.Never", "Shop.Program.Nobody:after"} {
		flags = append(flags, "--mark-at", at)
	}
	type mark struct {
		Thread string `json:"thread"`
		Name   string `json:"name"`
		N      int64  `json:"n"`
	}
	var want []mark
	for _, thread := range []string{"worker 0", "worker 1", "worker 2"} {
		for _, m := range []mark{{Name: "Shop.Box`1.Same", N: 1200}, {Name: "Shop.Order..ctor end", N: 400},
			{Name: "Shop.Program.Fails", N: 400}, {Name: "Shop.Program.Fails end", N: 300},
			{Name: "Shop.Program.Large", N: 400}, {Name: "Shop.Program.Sum end", N: 400},
			{Name: "Shop.Program.Tiny", N: 400}, {Name: "System.Collections.BitArray.SetAll", N: 400}} {
			m.Thread = thread
			want = append(want, m)
		}
	}
	inner := []string{"Inner", "Inner", "Inner", "Inner end", "Inner end", "Inner end"}
	order := slices.Concat([]string{"Outer"}, inner, inner, []string{"Outer end", "Later", "Later end"})
	for i, w := range []way{timeTiered, timeOptimized, timeHurried} {
		for k, runtime := range in.InTurn(i) {
			if runtime.Major() < 5 {
				continue
			}
			mode := [][]string{timeOnly, {"--lifetime"}, byProbes, boundaryHooks, {"--memory"},
				{"--time", "--include", "Shop.Program.Turn"}}[(2*i+k)%6]
			t.Run(strings.Join(mode, " ")+"/"+w.name+"/"+runtime.Name, func(t *testing.T) {
				t.Parallel()
				cmd := runtime.Command(dll)
				cmd.Env = append(cmd.Env, w.env...)
				must := mustRecord
				if mode[0] == "--time" {
					must = mustRecordTime
				}
				r := must(t, cmd, append(slices.Clone(flags), mode...)...)
				have := query[mark](t, r.session,
					`SELECT t.name AS thread, m.name, count(*) AS n FROM mark m JOIN thread t ON t.id = m.thread_id
					WHERE m.source = 'function' AND t.name LIKE 'worker %' GROUP BY 1, 2 ORDER BY 1, 2`)
				if d := cmp.Diff(want, have); d != "" {
					t.Errorf("marks (-want +have): %s", d)
				}
				var names []string
				for _, m := range printed[struct {
					Name   string `json:"mark_name"`
					Source string `json:"mark_source"`
					Thread string `json:"thread"`
				}](t, "report", r.session, "marks", "--json", "--top", "0") {
					if name, ok := strings.CutPrefix(m.Name, "Shop.Program."); ok && slices.Contains(order, name) &&
						m.Source == "function" {
						names = append(names, name)
					}
				}
				if d := cmp.Diff(order, names); d != "" {
					t.Errorf("order of marks (-want +have): %s", d)
				}
				checkSaid(t, r.stderr, map[string]int{"--mark-at Shop.Program.Never: no mark was made": 1,
					"--mark-at Shop.Program.Nobody:after: no mark was made": 1, "no mark was made": 2})
			})
		}
	}
}

// checkSaid compares how often clrprof says something with how often it should.
func checkSaid(t *testing.T, stderr string, want map[string]int) {
	t.Helper()
	for text, n := range want {
		if strings.Count(stderr, text) != n {
			t.Errorf("%q is not said %d times:\n%s", text, n, stderr)
		}
	}
}

// TestMarkAtPaused: in a pause nothing is marked, and what is refused for want of room is counted.
func TestMarkAtPaused(t *testing.T) {
	t.Parallel()
	in := dotnettest.Need(t)
	dll := compileText(t, in, placesProgram)
	newest := in.Runtimes()[0]
	r := record(t, newest.Command(dll), "--paused", "--mark-at", "Shop.*")
	if n := query[struct {
		N int64 `json:"n"`
	}](t, r.session, "SELECT count(*) AS n FROM mark WHERE source = 'function'")[0].N; r.exit != 0 || n != 0 {
		t.Errorf("exit code %d, %d marks in a pause\n%s", r.exit, n, r.stderr)
	}
	if !strings.Contains(r.stderr, "--mark-at Shop.*: no mark was made") {
		t.Errorf("it is not said that there are no marks:\n%s", r.stderr)
	}
	const turns = 20_000 // on each of three threads
	full := record(t, newest.Command(dll, strconv.Itoa(turns)), "--memory", "--memory-limit", "16M", "--mark-at",
		"Shop.Program.Turn")
	type marks struct {
		Done int64 `json:"done"`
		Lost int64 `json:"lost"`
	}
	have := query[marks](t, full.session, `SELECT (SELECT count(*) FROM mark WHERE source = 'function') AS done,
		(SELECT events FROM loss WHERE reason = 'marks_lost') AS lost`)[0]
	if full.exit != 0 || have.Done+have.Lost != 3*turns || have.Done < 1000 || have.Lost < 1000 {
		t.Errorf("exit code %d, %+v of %d marks\n%s", full.exit, have, 3*turns, full.stderr)
	}
}
