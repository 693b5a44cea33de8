// Calls of functions that do next to nothing, timed from inside, in 21 rounds of about COUNT calls. Prints one line: the
// median and the least nanoseconds of processor time per call of a round. Processor time, because the machine may be
// busy with something else.
// Arguments: KIND COUNT, where KIND is
//   loop       one loop calls one function
//   recursion  a function calls itself, a thousand deep, from one place
//   tree       a function calls itself from ten places, three deep: 1,111 paths, which do not fit the first cache
//   wide       the same, five deep: 111,111 paths, which do not fit the second cache either
//   threads    sixteen threads, each with the loop
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace CallCost
{
    static class Program
    {
        const int Rounds = 21, Depth = 1000, Threads = 16;
        const int ProcessCpu = 2; // CLOCK_PROCESS_CPUTIME_ID

        struct Timespec { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Timespec time);

        static int Main(string[] args)
        {
            string kind = args[0];
            int count = int.Parse(args[1]);
            Run(kind, count); // warm up: tiers, caches, nodes
            var times = new double[Rounds];
            for (int i = 0; i < times.Length; i++)
            {
                long begin = ProcessorTime();
                long calls = Run(kind, count);
                times[i] = (double)(ProcessorTime() - begin) / calls;
            }
            Array.Sort(times);
            Console.WriteLine("{0:F2} {1:F2}", times[Rounds / 2], times[0]);
            return 0;
        }

        static long ProcessorTime()
        {
            Timespec t;
            clock_gettime(ProcessCpu, out t);
            return t.Seconds * 1000000000 + t.Nanoseconds;
        }

        // Returns how many calls were made, those of this function's helpers aside.
        static long Run(string kind, int count)
        {
            long calls = 0;
            switch (kind)
            {
                case "loop": Loop(count); return count;
                case "recursion": for (; calls < count; calls += Depth) Recursion(Depth - 1); return calls;
                case "tree": for (; calls < count; calls += 1111) Tree(3); return calls;
                case "wide": for (; calls < count; calls += 111111) Tree(5); return calls;
                case "threads": return InThreads(count);
                default: throw new ArgumentException(kind);
            }
        }

        static long InThreads(int count)
        {
            var threads = new Thread[Threads];
            for (int i = 0; i < threads.Length; i++)
            {
                threads[i] = new Thread(() => Loop(count / Threads));
                threads[i].Start();
            }
            foreach (Thread t in threads)
                t.Join();
            return count / Threads * Threads;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Empty() { }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Loop(int count)
        {
            for (int i = 0; i < count; i++)
                Empty();
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static int Recursion(int depth) => depth == 0 ? 0 : Recursion(depth - 1) + 1;

        static int calls;

        // Ten to the power of level calls without callees, and all those above them.
        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Tree(int level)
        {
            if (level == 0)
                return;
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            Tree(level - 1);
            calls++; // the last call is no tail call
        }
    }
}
