// TimeEmpty WHAT [N]: functions that do next to nothing, so often that it can be measured.
//
//   empty       one function without code, called N times: in ten equal loops, each of which runs within the one before
//   recursive   one function that calls itself, 100 deep, N calls in all
//   wide        two functions that call each other and themselves: 2^N - 1 paths of calls, each gone through 20 times

using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace TimeEmpty
{
    static class Program
    {
        static int Main(string[] args)
        {
            string what = args.Length > 0 ? args[0] : "empty";
            int n = args.Length > 1 ? int.Parse(args[1]) : what == "wide" ? 12 : 10_000_000;
            switch (what)
            {
                case "empty": Loop(n); break;
                case "recursive": Recursive(n); break;
                case "wide": Wide(n); break;
                default: Console.Error.WriteLine("unknown: " + what); return 2;
            }
            return Calls.Print();
        }

        static MethodBase Of(string name) => Calls.Method(typeof(Leaves), name);

        static void Took(Stopwatch watch, string name, long calls) => Console.WriteLine(Calls.Row("took", Calls.Function("", Of(name)),
            "calls", calls, "wall_max", watch.ElapsedTicks * (1_000_000_000 / Stopwatch.Frequency)) + "}");

        static void Loop(int n)
        {
            var watch = Stopwatch.StartNew();
            Leaves.Loop(n / 10, 10);
            Took(watch, "Loop", 1);
            Calls.By(Calls.Method(typeof(Program), "Loop"), Of("Loop"), 1);
            Calls.By(Of("Loop"), Of("Loop"), 9);
            Calls.By(Of("Loop"), Of("Empty"), n);
        }

        static void Recursive(int n)
        {
            const int depth = 100;
            var watch = Stopwatch.StartNew();
            for (int i = 0; i < n / depth; i++)
                Leaves.Down(depth);
            Took(watch, "Down", n / depth);
            Calls.By(Calls.Method(typeof(Program), "Recursive"), Of("Down"), n / depth);
            Calls.By(Of("Down"), Of("Down"), n / depth * (depth - 1));
        }

        static void Wide(int levels)
        {
            const int times = 20;
            for (int i = 0; i < times; i++)
                Leaves.Left(levels);
            Truth.Say("paths", "calls", times, "paths", (1 << levels) - 1);
            long half = (1 << (levels - 1)) - 1; // calls from one to another, each way, of all but the first
            Calls.By(Calls.Method(typeof(Program), "Wide"), Of("Left"), times);
            Calls.Of(Of("Left"), half * times);
            Calls.Of(Of("Right"), half * times);
        }
    }

    static class Leaves
    {
        static int sum;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Empty() { }

        // Optimized from the beginning, wherever that is possible.
        [MethodImpl(MethodImplOptions.AggressiveOptimization)]
        public static void Loop(int n, int times)
        {
            for (int i = 0; i < n; i++)
                Empty();
            if (times > 1)
                Loop(n, times - 1);
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Down(int depth) => depth == 1 ? 1 : Down(depth - 1) + 1;

        // A stack is a word of Left and Right: there are as many as calls.
        public static void Left(int levels)
        {
            if (levels > 1) { Left(levels - 1); Right(levels - 1); }
            sum++;
        }

        public static void Right(int levels)
        {
            if (levels > 1) { Left(levels - 1); Right(levels - 1); }
            sum++;
        }
    }
}
