// Toggled CYCLES THREADS ASK: a program under load that pauses and resumes its own recording, again and again. In each cycle every
// thread begins a call in the pause, and goes on inside of it when it is recorded again; then it does work of which it knows the calls.
// All the time else it does what nobody counts, in functions whose names begin with Say. In every ASKth pause the program says "pause", and goes
// on when it is answered by a line, so that somebody can wait until that pause has settled; the others last some milliseconds.
//
// Compiled with integrations/control/Control.cs.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using Clrprof.Control;

namespace Toggled
{
    interface IShape { int Area(int n); }
    sealed class Square : IShape { public int Area(int n) => n * n; }
    sealed class Strip : IShape { public int Area(int n) => 2 * n; }

    static class Program
    {
        internal const int Calls = 50, Half = 6;
        internal static volatile int begin, go;
        static volatile bool stop;
        static int entered, done;
        static long sum;

        static int Main(string[] args)
        {
            int cycles = int.Parse(args[0]), threads = int.Parse(args[1]), ask = int.Parse(args[2]);
            var workers = new List<Thread>();
            for (int i = 0; i < threads; i++)
                workers.Add(new Thread(Work.Thread) { IsBackground = true });
            foreach (Thread t in workers)
                t.Start();
            for (int k = 1; k <= cycles; k++)
            {
                entered = done = 0;
                Check(Profile.Suspend());
                Wait(k % ask == 0);
                begin = k;
                Await(ref entered, threads);
                Check(Profile.Resume());
                go = k;
                Await(ref done, threads);
            }
            stop = true;
            foreach (Thread t in workers)
                t.Join();
            long want = (long)cycles * threads * Work.Expected();
            if (sum != want)
                throw new InvalidOperationException(sum + " instead of " + want);
            return Tell((long)cycles * threads);
        }

        static void Wait(bool ask)
        {
            if (ask)
            {
                Console.WriteLine("pause");
                if (Console.ReadLine() == null)
                    Environment.Exit(3);
                return;
            }
            for (Stopwatch w = Stopwatch.StartNew(); w.ElapsedMilliseconds < 4;)
                Thread.Yield();
        }

        static void Await(ref int count, int threads)
        {
            while (Volatile.Read(ref count) < threads)
                Thread.Yield();
        }

        static void Check(Result r)
        {
            if (r != Result.Ok)
                throw new InvalidOperationException(r.ToString());
        }

        internal static bool Stops => stop;
        internal static void Enter() => Interlocked.Increment(ref entered);

        internal static void Finish(int value)
        {
            Interlocked.Add(ref sum, value);
            Interlocked.Increment(ref done);
        }

        static MethodBase Of(string name) => global::Calls.Method(typeof(Work), name);

        /// <summary>What there must be of so many rounds of all threads together.</summary>
        static int Tell(long rounds)
        {
            MethodBase round = Of("Round");
            global::Calls.Of(round, rounds);
            global::Calls.By(round, Of("Leaf"), rounds * Calls);
            global::Calls.By(round, Of("Same"), rounds * 2 * Calls);
            global::Calls.By(round, global::Calls.Method(typeof(Square), "Area"), rounds * Calls / 2);
            global::Calls.By(round, global::Calls.Method(typeof(Strip), "Area"), rounds * Calls / 2);
            global::Calls.By(round, Of("Catches"), rounds);
            global::Calls.By(Of("Catches"), Of("Throws"), rounds, rounds);
            global::Calls.Of(Of("Self"), rounds * Half);
            global::Calls.Unknown(Of("Thread"));
            global::Calls.Unknown(Of("Expected"));
            global::Calls.Unknown(typeof(Work).TypeInitializer);
            foreach (Type t in new[] { typeof(Square), typeof(Strip) })
                global::Calls.Unknown(global::Calls.Method(t, ".ctor"));
            return global::Calls.Print();
        }
    }

    static class Work
    {
        static readonly IShape[] shapes = { new Square(), new Strip() };

        internal static void Thread()
        {
            for (int last = 0, turn = 0; !Program.Stops;)
            {
                int k = Program.begin;
                if (k > last)
                {
                    Self(2 * Program.Half, k);
                    Program.Finish(Round());
                    last = k;
                }
                else
                {
                    SayTurn(turn++);
                }
            }
        }

        /// <summary>Begins in a pause, and calls itself after it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Self(int n, int k)
        {
            if (n == Program.Half)
                SayWait(k);
            return n == 0 ? 0 : Self(n - 1, k) + 1;
        }

        static void SayWait(int k)
        {
            Program.Enter();
            for (int turn = 0; Program.go < k; turn++)
                SayTurn(turn);
        }

        internal static int Expected() => 3 * Program.Calls + Program.Calls / 2 * 2 * Program.Calls;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Round()
        {
            int sum = 0;
            for (int i = 0; i < Program.Calls; i++)
            {
                Leaf();
                sum += Same(1) + (Same("x") == "x" ? 1 : 0);
                sum += shapes[i % 2].Area(i % 2 == 0 ? 1 : Program.Calls) * (i % 2 == 0 ? 0 : 1);
            }
            return sum + Catches();
        }

        static void Leaf() { }

        static T Same<T>(T value) => value;

        static int Catches()
        {
            try
            {
                Throws();
                return 0;
            }
            catch (InvalidOperationException)
            {
                return Program.Calls;
            }
        }

        static void Throws() => throw new InvalidOperationException();

        // What nobody counts.

        internal static long said;

        static void SayTurn(int turn)
        {
            SayList(turn % 7);
            SayShared(turn);
            SayShared("" + turn);
            if (turn % 16 == 0)
                SayCatch();
            said += SayDown(turn % 20);
        }

        static void SayList(int n)
        {
            var list = new List<int>();
            foreach (int i in SayNumbers(n))
                list.Add(i);
            list.Sort(SayCompare);
        }

        static int SayCompare(int a, int b) => b - a;

        static IEnumerable<int> SayNumbers(int n)
        {
            for (int i = 0; i < n; i++)
                yield return i;
        }

        static int SayShared<T>(T value) => value.GetHashCode();

        static int SayDown(int n) => n == 0 ? 0 : SayDown(n - 1) + 1;

        static void SayCatch()
        {
            try
            {
                SayFinally();
            }
            catch (ArgumentException e) when (e.Message != "")
            {
            }
        }

        static void SayFinally()
        {
            try
            {
                SayThrow();
            }
            finally
            {
                SayDown(2);
            }
        }

        static void SayThrow() => throw new ArgumentException();
    }
}
