// Scopes [N [THREADS]]: calls functions whose names begin with Scoped in every way in which one can begin and end, and knows
// what is inside of such a call and what is outside: in all functions of Phases, and those beside it that it emits.
//
// It prints for each function how often it is called inside and outside ("scope"), how many objects of the types In and Out are
// made, which are all those of the one and of the other, and how often a thread that was in no such call begins one ("times").
// Functions named Scoped… are inside of themselves. A filter of an exception that leaves one still runs inside of it.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Scopes
{
    public sealed class In { public long A; }
    public sealed class Out { public long A, B; }
    sealed class Thrown : Exception { }

    /// <summary>What the target knows. Nothing of it is compared.</summary>
    public static class Tally
    {
        static readonly SortedDictionary<string, long[]> calls = new SortedDictionary<string, long[]>(StringComparer.Ordinal);
        [ThreadStatic] static Dictionary<string, long[]> own; // of a thread, without a lock
        static long times;

        public static void Add(string name, bool within, long n = 1)
        {
            own = own ?? new Dictionary<string, long[]>();
            if (!own.TryGetValue(name, out long[] counts))
                own[name] = counts = new long[2];
            counts[within ? 0 : 1] += n;
        }

        public static void Times(long n) => Interlocked.Add(ref times, n);

        /// <summary>At the end of a thread.</summary>
        public static void Collect()
        {
            lock (calls)
            {
                if (own == null)
                    return;
                foreach (KeyValuePair<string, long[]> c in own)
                {
                    if (!calls.TryGetValue(c.Key, out long[] sum))
                        calls[c.Key] = sum = new long[2];
                    sum[0] += c.Value[0];
                    sum[1] += c.Value[1];
                }
                own = null;
            }
        }

        public static void Print()
        {
            Collect();
            foreach (KeyValuePair<string, long[]> c in calls)
                Console.WriteLine(Truth.Row("scope", "name", c.Key, "inside", c.Value[0], "outside", c.Value[1]) + "}");
            Console.WriteLine(Truth.Row("times", "times", times) + "}");
            Truth.OfType(typeof(In), calls["Leaf"][0], calls["Leaf"][0] * Size.Object(8));
            Truth.OfType(typeof(Out), calls["Leaf"][1], calls["Leaf"][1] * Size.Object(16));
        }
    }

    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 2000, threads = args.Length > 1 ? int.Parse(args[1]) : 3;
            Emitted.Make();
            for (int i = 0; i < 2; i++)
                All(n);
            Many(50 * n);
            var all = new Thread[threads];
            for (int i = 0; i < threads; i++)
            {
                all[i] = new Thread(k => { All(n / 10); Many(n); Tally.Collect(); }) { Name = "worker " + i };
                all[i].Start(i);
            }
            foreach (Thread t in all)
                t.Join();
            var within = new Thread(Phases.ScopedThread) { Name = "within" }; // begins and ends inside
            within.Start();
            within.Join();
            Tally.Times(1);
            Sleep();
            var forever = new Thread(Phases.ScopedForever) { Name = "forever", IsBackground = true }; // does not end
            forever.Start();
            Tally.Times(1);
            Phases.Waits.WaitOne();
            Tally.Print();
            return Truth.Print(0);
        }

        static void All(int n)
        {
            Phases.Plain(n);
            Phases.Recursion(n);
            Phases.Loops(n);
            Phases.Exceptions(n);
            Phases.Reflected();
            Phases.Initialized();
            Phases.Jumps(n);
            Phases.Generic();
            Phases.Async().GetAwaiter().GetResult();
            Phases.After();
        }

        /// <summary>In and out, very often.</summary>
        static void Many(int n)
        {
            for (int i = 0; i < n; i++)
                Phases.ScopedTiny();
            Tally.Add("ScopedTiny", true, n);
            Tally.Times(n);
            Phases.After();
        }

        static void Sleep()
        {
            var all = Stopwatch.StartNew();
            TimeSpan within = Phases.Around();
            all.Stop();
            Console.WriteLine(Truth.Row("slept", "all", Nanoseconds(all.Elapsed), "within", Nanoseconds(within)) + "}");
        }

        static long Nanoseconds(TimeSpan t) => t.Ticks * 100;
    }

    public static class Phases
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static object Leaf(bool within)
        {
            Tally.Add("Leaf", within);
            return within ? (object)new In() : new Out();
        }

        internal static void After()
        {
            Tally.Add("After", false);
            Leaf(false);
        }

        internal static void ScopedTiny() => Leaf(true);

        internal static void ScopedThread()
        {
            Tally.Add("ScopedThread", true);
            Leaf(true);
            Tally.Collect();
        }

        internal static readonly ManualResetEvent Waits = new ManualResetEvent(false);

        internal static void ScopedForever()
        {
            Tally.Add("ScopedForever", true);
            Leaf(true);
            Tally.Collect();
            Waits.Set();
            Thread.Sleep(Timeout.Infinite);
        }

        // ── calls and returns ──

        internal static void Plain(int n)
        {
            Tally.Add("Plain", false);
            for (int i = 0; i < n; i++)
            {
                Leaf(false);
                if (ScopedPlain(i) != i)
                    throw new Exception("a probe changed a result");
            }
            Tally.Times(n);
            After();
        }

        internal static int ScopedPlain(int i)
        {
            Tally.Add("ScopedPlain", true);
            Leaf(true);
            Within(i % 3);
            return i;
        }

        static void Within(int n)
        {
            Tally.Add("Within", true);
            Leaf(true);
            if (n > 0)
                Within(n - 1);
        }

        internal static void Recursion(int n)
        {
            Tally.Add("Recursion", false);
            ScopedDeep(n);
            Tally.Times(1);
            After();
            Ping(false, 9); // of two functions in turn only one is scoped
            Tally.Times(1);
            After();
        }

        static void ScopedDeep(int n)
        {
            Tally.Add("ScopedDeep", true);
            Leaf(true);
            if (n > 0)
                ScopedDeep(n - 1);
            Leaf(true);
        }

        static void Ping(bool within, int n)
        {
            Tally.Add("Ping", within);
            Leaf(within);
            ScopedPong(n - 1);
            Leaf(within);
        }

        static void ScopedPong(int n)
        {
            Tally.Add("ScopedPong", true);
            if (n > 0)
                Ping(true, n - 1);
            Leaf(true);
        }

        // ── loops that go on in optimized code in the middle of a call (OSR) ──

        internal static void Loops(int n)
        {
            Tally.Add("Loops", false);
            ScopedLoop(200 * n, 0);
            Tally.Times(1);
            After();
            ScopedLoop(200 * n, 2);
            Tally.Times(1);
            After();
        }

        static int ScopedLoop(int n, int below)
        {
            Tally.Add("ScopedLoop", true);
            int sum = 0;
            for (int i = 0; i < n; i++)
            {
                sum += i ^ sum;
                if (i == n / 2 && below > 0)
                    ScopedLoop(n, below - 1);
            }
            Leaf(true);
            return sum;
        }

        // ── exceptions ──

        internal static void Exceptions(int n)
        {
            Tally.Add("Exceptions", false);
            for (int i = 0; i < n; i++)
                Caught(i);
        }

        /// <summary>Catches, in one of several ways, what leaves a scoped function.</summary>
        static void Caught(int i)
        {
            Tally.Add("Caught", false);
            try
            {
                Tally.Times(1);
                if (i % 4 == 0)
                    ScopedThrows();
                else if (i % 4 == 1)
                    Passes();
                else if (i % 4 == 2)
                    ScopedRethrows(i % 3);
                else
                    ScopedCatches();
            }
            catch (Thrown) when (Filter())
            {
                Leaf(false);
                After();
            }
            finally
            {
                Leaf(false);
            }
            After();
        }

        /// <summary>A filter is asked while the scoped function is still on the stack.</summary>
        static bool Filter()
        {
            Tally.Add("Filter", true);
            Leaf(true);
            return true;
        }

        static void ScopedThrows()
        {
            Tally.Add("ScopedThrows", true);
            try
            {
                Throws();
            }
            finally
            {
                Leaf(true);
            }
        }

        static void Throws()
        {
            Tally.Add("Throws", true);
            Leaf(true);
            throw new Thrown();
        }

        /// <summary>The exception passes through its finally block, which is outside, and through others.</summary>
        static void Passes()
        {
            Tally.Add("Passes", false);
            try
            {
                ScopedThrows();
            }
            finally
            {
                Leaf(false);
                Tally.Times(1);
                ScopedTinyAgain();
                Leaf(false);
            }
        }

        static void ScopedTinyAgain()
        {
            Tally.Add("ScopedTinyAgain", true);
            Leaf(true);
        }

        /// <summary>An exception that leaves an inner call is caught further out, and thrown again.</summary>
        static void ScopedRethrows(int n)
        {
            Tally.Add("ScopedRethrows", true);
            try
            {
                if (n > 0)
                    ScopedRethrows(n - 1);
                else
                    Throws();
            }
            catch (Thrown)
            {
                Leaf(true);
                throw;
            }
        }

        /// <summary>Nothing leaves it, so the rest of it is inside, too.</summary>
        static void ScopedCatches()
        {
            Tally.Add("ScopedCatches", true);
            try
            {
                ScopedThrows();
            }
            catch (Thrown)
            {
                Leaf(true);
            }
            Leaf(true);
        }

        // ── exceptions that the runtime or the framework catches ──

        internal static void Reflected()
        {
            Tally.Add("Reflected", false);
            MethodInfo throws = typeof(Phases).GetMethod(nameof(ScopedThrows), BindingFlags.Static | BindingFlags.NonPublic);
            for (int i = 0; i < 3; i++)
            {
                Tally.Times(1);
                try
                {
                    throws.Invoke(null, null);
                }
                catch (TargetInvocationException)
                {
                    Leaf(false);
                }
                After();
            }
        }

        static class Fails
        {
            internal static int A;
            static Fails() { ScopedThrows(); A = 1; }
        }

        static int initialized;

        /// <summary>Once in a process: later the same exception comes again, without a call.</summary>
        internal static void Initialized()
        {
            Tally.Add("Initialized", false);
            Tally.Times(Interlocked.Exchange(ref initialized, 1) == 0 ? 1 : 0);
            try
            {
                Fails.A++;
            }
            catch (TypeInitializationException)
            {
                Leaf(false);
            }
            After();
        }

        // ── calls with tail. ──

        internal static void Jumps(int n)
        {
            Tally.Add("Jumps", false);
            Emitted.Once(true);
            Tally.Add("ScopedOnce", true);
            Tally.Times(1);
            After();
            Emitted.Loop(100 * n);
            Tally.Add("ScopedLoops", true, 100 * n + 1);
            Tally.Times(1);
            After();
            Emitted.From(3); // jumps to ScopedOnce, and that to Leaf
            Tally.Add("From", false, 4);
            Tally.Add("ScopedOnce", true);
            Tally.Times(1);
            After();
        }

        // ── code that functions share ──

        internal static void Generic()
        {
            Tally.Add("Generic", false);
            ScopedShared("a");
            ScopedShared(new object());
            ScopedShared(1);
            Tally.Times(3);
            After();
        }

        static void ScopedShared<T>(T x)
        {
            Tally.Add("ScopedShared", true);
            Leaf(x != null);
        }

        // ── async methods: inside up to the first wait ──

        internal static async Task Async()
        {
            Leaf(false);
            Tally.Times(1);
            var returned = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            Task waits = ScopedAsync(returned.Task);
            Leaf(false);
            returned.SetResult(true);
            await waits.ConfigureAwait(false);
            Tally.Collect(); // another thread may go on
            Leaf(false);
            After();
            Tally.Times(1);
            try
            {
                await ScopedAsyncThrows().ConfigureAwait(false);
            }
            catch (Thrown)
            {
                Leaf(false);
            }
            After();
            Tally.Collect();
        }

        /// <summary>Waits for what is not done before its call has returned: a short delay may be.</summary>
        static async Task ScopedAsync(Task wait)
        {
            Leaf(true);
            await wait.ConfigureAwait(false);
            Leaf(false);
            Tally.Collect();
        }

        static async Task ScopedAsyncThrows()
        {
            Leaf(true);
            await Task.CompletedTask.ConfigureAwait(false);
            throw new Thrown();
        }

        // ── times ──

        internal static TimeSpan Around()
        {
            Tally.Add("Around", false);
            TimeSpan within = TimeSpan.Zero;
            for (int i = 0; i < 3; i++)
                within += ScopedSleeps();
            Tally.Times(3);
            return within;
        }

        static TimeSpan ScopedSleeps()
        {
            Tally.Add("ScopedSleeps", true);
            var w = Stopwatch.StartNew();
            Thread.Sleep(100);
            return w.Elapsed;
        }
    }

    /// <summary>Functions that call with tail., which C# does not: the type Jumping of a module of its own.</summary>
    static class Emitted
    {
        internal static Action<bool> Once;
        internal static Action<int> Loop, From;

        internal static void Make()
        {
            var name = new AssemblyName("Emitted");
            TypeBuilder type = AssemblyBuilder.DefineDynamicAssembly(name, AssemblyBuilderAccess.Run).DefineDynamicModule("Emitted").DefineType("Scopes.Jumping", TypeAttributes.Public);
            MethodInfo leaf = typeof(Phases).GetMethod(nameof(Phases.Leaf));
            MethodBuilder once = Define(type, "ScopedOnce", typeof(bool), typeof(object)), loop = Define(type, "ScopedLoops", typeof(int), typeof(object)),
                from = Define(type, "From", typeof(int), typeof(object));
            ILGenerator il = once.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            Jump(il, leaf);
            il = loop.GetILGenerator();
            Countdown(il, loop, () => { il.Emit(OpCodes.Ldc_I4_1); Jump(il, leaf); });
            il = from.GetILGenerator();
            Countdown(il, from, () => { il.Emit(OpCodes.Ldc_I4_1); Jump(il, once); });
            Type made = type.CreateTypeInfo();
            Once = Wrap<bool>(made, "ScopedOnce");
            Loop = Wrap<int>(made, "ScopedLoops");
            From = Wrap<int>(made, "From");
        }

        static Action<T> Wrap<T>(Type type, string name)
        {
            var f = (Func<T, object>)Delegate.CreateDelegate(typeof(Func<T, object>), type.GetMethod(name));
            return x => f(x);
        }

        static MethodBuilder Define(TypeBuilder type, string name, Type argument, Type result) =>
            type.DefineMethod(name, MethodAttributes.Public | MethodAttributes.Static, result, new[] { argument });

        static void Jump(ILGenerator il, MethodInfo to)
        {
            il.Emit(OpCodes.Tailcall);
            il.Emit(OpCodes.Call, to);
            il.Emit(OpCodes.Ret);
        }

        /// <summary>Calls itself with one less, or at 0 something else.</summary>
        static void Countdown(ILGenerator il, MethodInfo self, Action end)
        {
            Label more = il.DefineLabel();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Brtrue, more);
            end();
            il.MarkLabel(more);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Sub);
            Jump(il, self);
        }
    }
}
