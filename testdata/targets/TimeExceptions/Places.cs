using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

namespace TimeExceptions
{
    static class Broken
    {
        public static int Value;
        static Broken() { Value = Places.Throw() + 1; }
    }

    /// <summary>Exceptions that go through frames that are not the program's own, and on threads of all kinds.</summary>
    static class Places
    {
        static int sum;
        static volatile bool waiting;

        public static int Throw() { sum++; throw new Problem(); }
        static int InCatch() => sum++;
        static int InFinally() => sum++;
        static void ThrowOn(int a) { sum += Throw(); sum++; }
        static int ThrowAt(int a) => Throw() + 1;
        static int ThrowComparing(int a, int b) => Throw() + 1;
        static object ThrowReflected() => Throw() + 1;

        public static void Framework(int n)
        {
            var list = new List<int> { 2, 1 };
            var array = new[] { 2, 1 };
            var method = Truth.Method(typeof(Places), "ThrowReflected");
            for (int i = 0; i < n; i++)
            {
                try { list.ForEach(ThrowOn); } catch (Problem) { InCatch(); }
                try { list.Sort(ThrowComparing); } catch (InvalidOperationException) { InCatch(); } // with a Problem inside
                try { sum += Array.ConvertAll(array, ThrowAt)[0]; } catch (Problem) { InCatch(); }
                try { sum += array.Select(ThrowAt).ToList()[0]; } catch (Problem) { InCatch(); }
                try { method.Invoke(null, null); } catch (TargetInvocationException) { InCatch(); }
                try { sum += (int)double.Parse("x"); } catch (FormatException) { InCatch(); }
            }
            sum++;
        }

        public static void Initializer()
        {
            for (int i = 0; i < 3; i++) // run once, thrown each time
                try { sum += Broken.Value; } catch (TypeInitializationException) { InCatch(); }
            sum++;
        }

        // Tasks keep what was thrown, and it is thrown again where they are awaited.
        static async Task<int> ThrowSoon(int i)
        {
            await Task.Yield();
            return Throw() + 1;
        }

        static async Task<int> Pass(int i)
        {
            try { return await ThrowSoon(i); }
            finally { InFinally(); }
        }

        static async Task AwaitAll(int n)
        {
            for (int i = 0; i < n; i++)
                try { sum += await Pass(i); } catch (Problem) { InCatch(); }
        }

        public static void Async(int n)
        {
            AwaitAll(n).Wait();
            sum++;
        }

        static void CatchOnThread()
        {
            try { sum += Throw(); } catch (Problem) { InCatch(); }
            sum++;
        }

        static void SleepForever() { waiting = true; Thread.Sleep(Timeout.Infinite); sum++; }

        static void Interrupted()
        {
            try { SleepForever(); }
            catch (ThreadInterruptedException) { InCatch(); }
            sum++;
        }

        public static void Threads(int n)
        {
            for (int i = 0; i < n; i++)
            {
                var thread = new Thread(CatchOnThread);
                thread.Start();
                thread.Join();
            }
            var sleeper = new Thread(Interrupted);
            sleeper.Start();
            while (!waiting) // if it does not sleep yet, it is interrupted when it begins to
                Thread.Yield();
            sleeper.Interrupt();
            sleeper.Join();
            sum++;
        }

        // Exceptions that end a call by no means: caught on the finalizer's thread.
        sealed class Finalized
        {
            ~Finalized()
            {
                try { sum += Throw(); } catch (Problem) { Interlocked.Increment(ref finalized); }
            }
        }

        static int finalized;

        public static void Finalizers(int n)
        {
            Make(n);
            for (int i = 0; i < 10 && Volatile.Read(ref finalized) < n; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            sum++;
        }

        static void Make(int n)
        {
            for (int i = 0; i < n; i++)
                GC.KeepAlive(new Finalized());
            sum++;
        }

        static MethodBase SayOf(string name) => Calls.Method(typeof(Places), name);

        static void SayBy(string caller, string callee, long calls, long thrown = 0) => Calls.By(SayOf(caller), SayOf(callee), calls, thrown);

        public static void Say(int n)
        {
            Type list = typeof(List<int>);
            MethodBase framework = SayOf("Framework"), each = Calls.Method(list, "ForEach"), sort = Calls.Method(list, "Sort", typeof(Comparison<int>));
            MethodBase convert = Calls.Method(typeof(Array), "ConvertAll"), parse = Calls.Method(typeof(double), "Parse", typeof(string));
            foreach (MethodBase f in new[] { each, sort, convert, parse })
                Calls.By(framework, f, n, n);
            Calls.By(each, SayOf("ThrowOn"), n, n);
            Calls.By(sort, SayOf("ThrowComparing"), n, n);
            Calls.Of(SayOf("ThrowAt"), 2 * n, 2 * n);
            Calls.Of(SayOf("ThrowReflected"), n, n);
            SayBy("ThrowOn", "Throw", n, n);
            SayBy("ThrowComparing", "Throw", n, n);
            SayBy("ThrowAt", "Throw", 2 * n, 2 * n);
            SayBy("ThrowReflected", "Throw", n, n);
            SayBy("Framework", "InCatch", 6 * n);

            MethodBase cctor = Calls.Method(typeof(Broken), ".cctor");
            Calls.Of(cctor, 1, 1);
            Calls.By(cctor, SayOf("Throw"), 1, 1);
            SayBy("Initializer", "InCatch", 3);

            SayAsync(n);
            SayThreads(n);
            Calls.By(SayOf("Throw"), Calls.Method(typeof(Problem), ".ctor"), 7 * n + 1 + finalized);
        }

        static void SayAsync(int n)
        {
            MethodBase all = Calls.Method(Calls.Machine(SayOf("AwaitAll")), "MoveNext"), pass = Calls.Method(Calls.Machine(SayOf("Pass")), "MoveNext");
            MethodBase soon = Calls.Method(Calls.Machine(SayOf("ThrowSoon")), "MoveNext");
            SayBy("Async", "AwaitAll", 1);
            Calls.By(all, SayOf("Pass"), n);
            Calls.By(pass, SayOf("ThrowSoon"), n);
            Calls.Of(soon, 2 * n);
            Calls.By(soon, SayOf("Throw"), n, n);
            Calls.By(pass, SayOf("InFinally"), n);
            Calls.By(all, SayOf("InCatch"), n);
            Calls.Unknown(all); // whether they have to wait is a race
            Calls.Unknown(pass);
            foreach (string name in new[] { "AwaitAll", "Pass", "ThrowSoon" })
            {
                Type machine = Calls.Machine(SayOf(name));
                if (machine.IsClass)
                    Calls.Of(Calls.Method(machine, ".ctor"), name == "AwaitAll" ? 1 : n);
            }
        }

        static void SayThreads(int n)
        {
            Calls.Root(SayOf("CatchOnThread"), n);
            SayBy("CatchOnThread", "Throw", n, n);
            SayBy("CatchOnThread", "InCatch", n);
            Calls.Root(SayOf("Interrupted"), 1);
            SayBy("Interrupted", "SleepForever", 1, 1);
            SayBy("Interrupted", "InCatch", 1);
            MethodBase finalize = Calls.Method(typeof(Finalized), "Finalize");
            SayBy("Finalizers", "Make", 1);
            Calls.By(SayOf("Make"), Calls.Method(typeof(Finalized), ".ctor"), n);
            Calls.Root(finalize, finalized);
            Calls.By(finalize, SayOf("Throw"), finalized, finalized);
        }
    }
}
