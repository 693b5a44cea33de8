using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace TimeExceptions
{
    sealed class Problem : Exception { }
    sealed class Trouble : Exception
    {
        public Trouble(Exception inner) : base("", inner) { }
    }

    /// <summary>
    /// Every shape of throwing and catching. All that a function does after a call is not optional, so that no call is
    /// a jump; what handlers call tells by whom it was called.
    /// </summary>
    static class Shapes
    {
        static int sum;

        static int Throw() { sum++; throw new Problem(); }
        static int ThrowBelow(int depth) => depth == 0 ? Throw() + 1 : ThrowBelow(depth - 1) + 1;
        static int Zero() => 0;
        static int InFilter() => sum++;
        static int InCatch() => sum++;
        static int InFinally() => sum++;
        static int InTry() => sum++;
        static int After() => sum++;

        public static void Direct(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { sum += Throw(); }
                catch (Problem) { InCatch(); }
                After();
            }
            sum++;
        }

        public static void Same(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { InTry(); throw new Problem(); }
                catch (Problem) { InCatch(); }
                finally { InFinally(); }
            }
            sum++;
        }

        // Thrown by the callee of a callee; both have a finally block.
        static int Middle()
        {
            try { return Inner() + 1; }
            finally { InFinally(); }
        }

        static int Inner()
        {
            try { return Throw() + 1; }
            finally { InFinally(); }
        }

        public static void Finally(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { sum += Middle(); }
                catch (Problem) { InCatch(); }
                After();
            }
            sum++;
        }

        // A filter that refuses, around one that takes.
        static int Refused()
        {
            try { return Throw() + 1; }
            catch (Problem) when (InFilter() < 0) { return 1; }
        }

        public static void Filter(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { sum += Refused(); }
                catch (Problem) when (InFilter() >= 0) { InCatch(); }
                After();
            }
            sum++;
        }

        static bool ThrowingFilter() { sum++; throw new InvalidOperationException(); }

        static int BadFilter()
        {
            try { return Throw() + 1; }
            catch (Problem) when (ThrowingFilter()) { return 1; }
        }

        // An exception in a filter counts as a refusal.
        public static void FilterThrows(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { sum += BadFilter(); }
                catch (Problem) { InCatch(); }
            }
            sum++;
        }

        static int Rethrow()
        {
            try { return Throw() + 1; }
            catch (Problem) { InCatch(); throw; }
        }

        static int ThrowCaught()
        {
            try { return Throw() + 1; }
            catch (Problem e) { InCatch(); throw e; }
        }

        static int ThrowAnother()
        {
            try { return Throw() + 1; }
            catch (Problem e) { InCatch(); throw new Trouble(e); }
        }

        public static void Again(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { sum += Rethrow(); } catch (Problem) { After(); }
                try { sum += ThrowCaught(); } catch (Problem) { After(); }
                try { sum += ThrowAnother(); } catch (Trouble) { After(); }
            }
            sum++;
        }

        // Throws and catches in a catch block, and in a finally block, while another exception is on its way.
        static int CatchInside()
        {
            try { return Throw() + 1; }
            catch (Problem)
            {
                try { sum += Throw(); } catch (Problem) { InCatch(); }
                return After();
            }
        }

        static int FinallyInside()
        {
            try { return Throw() + 1; }
            finally
            {
                try { sum += Throw(); } catch (Problem) { InCatch(); }
                After();
            }
        }

        // The second exception replaces the first.
        static int Replaced()
        {
            try { return Throw() + 1; }
            finally { sum += Throw(); }
        }

        public static void Nested(int n)
        {
            for (int i = 0; i < n; i++)
            {
                sum += CatchInside();
                try { sum += FinallyInside(); } catch (Problem) { InCatch(); }
                try { sum += Replaced(); } catch (Problem) { InCatch(); }
            }
            sum++;
        }

        // Finally blocks that run without an exception, and throw one.
        static int Entered(int i)
        {
            try
            {
                try { InTry(); }
                finally { sum += Throw(); }
            }
            catch (Problem) { InCatch(); }
            return After();
        }

        sealed class Failing : IDisposable
        {
            public void Dispose() { sum += Throw(); }
        }

        static int Disposes(int i)
        {
            try
            {
                using (new Failing())
                    InTry();
            }
            catch (Problem) { InCatch(); }
            sum += i > 0 ? Disposes(i - 1) : 0; // it calls itself after it went on
            return After();
        }

        // The same in a function that calls itself, of which only the outer calls catch.
        static int Falls(int i)
        {
            try
            {
                try { InTry(); }
                finally { sum += i > 0 ? Falls(i - 1) : Throw(); }
                return After();
            }
            finally { InFinally(); }
        }

        // A filter in which the framework throws refuses.
        static int Asks()
        {
            try { return Throw() + 1; }
            catch (Problem) when (long.Parse("x") > 0) { return 1; }
        }

        public static void Thrown(int n)
        {
            for (int i = 0; i < n; i++)
            {
                sum += Entered(i) + Disposes(1);
                try { sum += Falls(2); } catch (Problem) { InCatch(); }
                After();
                try { sum += Asks(); } catch (Problem) { InCatch(); }
                After();
            }
            sum++;
        }

        static void SayThrown(int n)
        {
            MethodBase failing = Calls.Method(typeof(Failing), "Dispose");
            SayBy("Thrown", "Entered", n);
            SayBy("Entered", "InTry", n);
            SayBy("Entered", "Throw", n, n);
            SayBy("Entered", "InCatch", n);
            SayBy("Entered", "After", n);
            SayBy("Thrown", "Disposes", n);
            SayBy("Disposes", "Disposes", n);
            Calls.By(SayOf("Disposes"), Calls.Method(typeof(Failing), ".ctor"), 2 * n);
            Calls.By(SayOf("Disposes"), failing, 2 * n, 2 * n);
            Calls.By(failing, SayOf("Throw"), 2 * n, 2 * n);
            SayBy("Disposes", "InTry", 2 * n);
            SayBy("Disposes", "InCatch", 2 * n);
            SayBy("Disposes", "After", 2 * n);
            SayBy("Thrown", "Falls", n, n);
            SayBy("Falls", "Falls", 2 * n, 2 * n);
            SayBy("Falls", "InTry", 3 * n);
            SayBy("Falls", "Throw", n, n);
            SayBy("Falls", "InFinally", 3 * n);
            SayBy("Thrown", "Asks", n, n);
            SayBy("Asks", "Throw", n, n);
            Calls.Of(Calls.Method(typeof(long), "Parse", typeof(string)), n, n);
            SayBy("Thrown", "InCatch", 2 * n);
            SayBy("Thrown", "After", 2 * n);
        }

        public const int Deep = 100;

        public static void Unwound(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { sum += ThrowBelow(Deep); }
                catch (Problem) { InCatch(); }
                After();
            }
            sum++;
        }

        // Not thrown by code: by the processor.
        static int Divide(int a, int b) => a / b + 1;
        static int Length(int[] a) => a.Length + 1;
        static int At(int[] a, int i) => a[i] + 1;

        public static void Faults(int n)
        {
            var numbers = new int[1];
            for (int i = 0; i < n; i++)
            {
                try { sum += Divide(i, Zero()); } catch (DivideByZeroException) { InCatch(); }
                try { sum += Length(null); } catch (NullReferenceException) { InCatch(); }
                try { sum += At(numbers, 1); } catch (IndexOutOfRangeException) { InCatch(); }
            }
            sum++;
        }

        // The catching function goes on with what was on its stack before, and calls others from there.
        public static void Continue(int n)
        {
            int local = 0;
            for (int i = 0; i < n; i++)
            {
                try
                {
                    local += InTry();
                    if (i % 2 == 0)
                        sum += Throw();
                    local += After();
                }
                catch (Problem) { continue; }
                finally { InFinally(); }
                local += Zero();
            }
            sum += local;
        }

        static MethodBase SayOf(string name) => Calls.Method(typeof(Shapes), name);

        static void SayBy(string caller, string callee, long calls, long thrown = 0) => Calls.By(SayOf(caller), SayOf(callee), calls, thrown);

        public static void Say(int n, int times)
        {
            MethodBase problem = Calls.Method(typeof(Problem), ".ctor"), trouble = Calls.Method(typeof(Trouble), ".ctor");
            SayBy("Direct", "Throw", n, n);
            SayBy("Direct", "InCatch", n);
            SayBy("Direct", "After", n);

            SayBy("Same", "InTry", n);
            Calls.By(SayOf("Same"), problem, n);
            SayBy("Same", "InCatch", n);
            SayBy("Same", "InFinally", n);

            SayBy("Finally", "Middle", n, n);
            SayBy("Middle", "Inner", n, n);
            SayBy("Inner", "Throw", n, n);
            SayBy("Inner", "InFinally", n);
            SayBy("Middle", "InFinally", n);
            SayBy("Finally", "InCatch", n);
            SayBy("Finally", "After", n);

            SayBy("Filter", "Refused", n, n);
            SayBy("Refused", "Throw", n, n);
            Calls.Of(SayOf("InFilter"), 2 * n); // on top of the stack that threw
            SayBy("Filter", "InCatch", n);
            SayBy("Filter", "After", n);

            SayBy("FilterThrows", "BadFilter", n, n);
            SayBy("BadFilter", "Throw", n, n);
            Calls.Of(SayOf("ThrowingFilter"), n, n);
            SayBy("FilterThrows", "InCatch", n);

            foreach (string name in new[] { "Rethrow", "ThrowCaught", "ThrowAnother" })
            {
                SayBy("Again", name, n, n);
                SayBy(name, "Throw", n, n);
                SayBy(name, "InCatch", n);
            }
            Calls.By(SayOf("ThrowAnother"), trouble, n);
            SayBy("Again", "After", 3 * n);
            SayNested(n);
            SayThrown(n);
            SayRest(n, times);
            Calls.By(SayOf("Throw"), problem, SayThrows(n, times));
        }

        static void SayNested(int n)
        {
            SayBy("Nested", "CatchInside", n);
            SayBy("CatchInside", "Throw", 2 * n, 2 * n);
            SayBy("CatchInside", "InCatch", n);
            // Returned from within the handler, it is not a tail call.
            SayBy("CatchInside", "After", n);
            SayBy("Nested", "FinallyInside", n, n);
            SayBy("FinallyInside", "Throw", 2 * n, 2 * n);
            SayBy("FinallyInside", "InCatch", n);
            SayBy("FinallyInside", "After", n);
            SayBy("Nested", "Replaced", n, n);
            SayBy("Replaced", "Throw", 2 * n, 2 * n);
            SayBy("Nested", "InCatch", 2 * n);
        }

        static void SayRest(int n, int times)
        {
            SayBy("Unwound", "ThrowBelow", n, n);
            SayBy("ThrowBelow", "ThrowBelow", n * Deep, n * Deep);
            SayBy("ThrowBelow", "Throw", n, n);
            SayBy("Unwound", "InCatch", n);
            SayBy("Unwound", "After", n);

            foreach (string name in new[] { "Divide", "Length", "At" })
                SayBy("Faults", name, n, n);
            SayBy("Faults", "Zero", n);
            SayBy("Faults", "InCatch", 3 * n);

            SayBy("Continue", "InTry", times);
            SayBy("Continue", "Throw", times / 2, times / 2);
            SayBy("Continue", "After", times / 2);
            SayBy("Continue", "InFinally", times);
            SayBy("Continue", "Zero", times / 2);
        }

        // Direct, Finally, Filter, FilterThrows, Again 3, CatchInside 2, FinallyInside 2, Replaced 2, Unwound; Entered,
        // Disposes 2, Falls, Asks.
        static long SayThrows(int n, int times) => 19L * n + times / 2;
    }
}
