// Points LEVEL [ROUNDS]: calls functions at which recording starts, stops, is paused and goes on, at each point of a call, as their
// names say: StopTop stops when its own code begins. LEVEL says which level that is: of thread, other threads are always recorded.
//
// What is made while it is recorded has the type In, all else Out. With LEVEL stopped nothing is recorded before the first round, and
// then the level is that of all processes.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Points
{
    sealed class In { public long A; }
    sealed class Out { public long A, B; }
    sealed class Thrown : Exception { }

    static class Program
    {
        static int Main(string[] args)
        {
            int rounds = args.Length > 1 ? int.Parse(args[1]) : 3;
            bool thread = args[0] == "thread";
            if (args[0] == "stopped")
            {
                Phases.Leaf(false);
                Phases.StartBefore(true);
                Phases.Leaf(true);
            }
            for (int i = 0; i < rounds; i++)
                Phases.Run(thread);
            if (args[0] != "stopped")
                Tell(rounds, thread);
            Truth.OfType(typeof(In), Phases.Made, Phases.Made * Size.Object(8));
            return Calls.Print();
        }

        static MethodBase Of(string name) => Calls.Method(typeof(Phases), name);

        static void Tell(int rounds, bool thread)
        {
            MethodBase run = Of("Run"), leaf = Of("Leaf");
            Calls.By(Calls.Method(typeof(Program), "Main"), run, rounds);
            long leaves = 2 * 2 * 4; // around each pair
            foreach (string off in new[] { "Stop", "Pause" })
            {
                foreach (string point in new[] { "Top", "Bottom", "After" }) // the call has begun before it is off
                    Calls.By(run, Of(off + point), rounds);
                foreach (string point in new[] { "Bottom", "After" })
                    Calls.By(Of(off + point), leaf, rounds);
            }
            foreach (string on in new[] { "Start", "Resume" })
            {
                Calls.By(run, Of(on + "Before"), rounds);
                Calls.By(Of(on + "Before"), leaf, rounds);
                leaves++; // that of …Top, whose call has begun while it was off
            }
            Calls.By(run, Of("Throws"), rounds, rounds);
            Calls.By(Of("Throws"), leaf, rounds);
            Calls.By(run, Of("PauseDeep"), rounds);
            leaves += 2; // after Throws, and when all is resumed
            Calls.By(run, leaf, rounds * leaves);
            if (thread)
            {
                Calls.Root(Of("Other"), rounds * 8);
                Calls.By(Of("Other"), leaf, rounds * 8);
            }
            Calls.By(Of("Throws"), typeof(Thrown).GetConstructor(Type.EmptyTypes), rounds);
            Calls.Of(typeof(In).GetConstructor(Type.EmptyTypes), Phases.Made);
        }
    }

    static class Phases
    {
        internal static long Made;

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static object Leaf(bool recorded)
        {
            if (recorded)
                Interlocked.Increment(ref Made);
            return recorded ? (object)new In() : new Out();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Run(bool thread)
        {
            Leaf(true); StopBefore(false); Between(thread); StartBefore(true); Leaf(true);
            Leaf(true); StopTop(false); Between(thread); StartTop(true); Leaf(true);
            Leaf(true); StopBottom(true); Between(thread); StartBottom(false); Leaf(true);
            Leaf(true); StopAfter(true); Between(thread); StartAfter(false); Leaf(true);
            Leaf(true); PauseBefore(false); Between(thread); ResumeBefore(true); Leaf(true);
            Leaf(true); PauseTop(false); Between(thread); ResumeTop(true); Leaf(true);
            Leaf(true); PauseBottom(true); Between(thread); ResumeBottom(false); Leaf(true);
            Leaf(true); PauseAfter(true); Between(thread); ResumeAfter(false); Leaf(true);
            try
            {
                Throws(); // stops at its end and after it, neither of which it gets to
            }
            catch (Thrown)
            {
            }
            Leaf(true);
            PauseDeep(2); // each of its calls pauses once more
            ResumeOnce();
            Leaf(false);
            ResumeOnce();
            Leaf(false);
            ResumeOnce();
            Leaf(true);
        }

        /// <summary>While it is off, or this thread is.</summary>
        static void Between(bool thread)
        {
            Leaf(false);
            var other = new Thread(Other);
            other.Start(thread ? "" : null);
            other.Join();
        }

        static void Other(object recorded) => Leaf(recorded != null);

        internal static void StopBefore(bool recorded) => Leaf(recorded);
        internal static void StopTop(bool recorded) => Leaf(recorded);
        internal static void StopBottom(bool recorded) => Leaf(recorded);
        internal static void StopAfter(bool recorded) => Leaf(recorded);
        internal static void StartBefore(bool recorded) => Leaf(recorded);
        internal static void StartTop(bool recorded) => Leaf(recorded);
        internal static void StartBottom(bool recorded) => Leaf(recorded);
        internal static void StartAfter(bool recorded) => Leaf(recorded);
        internal static void PauseBefore(bool recorded) => Leaf(recorded);
        internal static void PauseTop(bool recorded) => Leaf(recorded);
        internal static void PauseBottom(bool recorded) => Leaf(recorded);
        internal static void PauseAfter(bool recorded) => Leaf(recorded);
        internal static void ResumeBefore(bool recorded) => Leaf(recorded);
        internal static void ResumeTop(bool recorded) => Leaf(recorded);
        internal static void ResumeBottom(bool recorded) => Leaf(recorded);
        internal static void ResumeAfter(bool recorded) => Leaf(recorded);

        static void Throws()
        {
            Leaf(true);
            throw new Thrown();
        }

        static void PauseDeep(int n)
        {
            Leaf(false);
            if (n > 0)
                PauseDeep(n - 1);
            Leaf(false);
        }

        static void ResumeOnce() => Leaf(false);
    }
}
