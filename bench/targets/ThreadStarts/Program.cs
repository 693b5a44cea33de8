// Starts and joins threads one after the other, each of which makes one call. Prints one line: the least, of rounds of
// 200 threads, of the microseconds per thread that passed, and that the processor worked. The least, because all that a
// busy machine does is to add some.
// Arguments: ROUNDS
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace ThreadStarts
{
    static class Program
    {
        const int Threads = 200;
        const int ProcessCpu = 2; // CLOCK_PROCESS_CPUTIME_ID

        struct Timespec { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Timespec time);

        static void Main(string[] args)
        {
            int rounds = int.Parse(args[0]);
            var passed = new double[rounds];
            var worked = new double[rounds];
            Round();
            for (int i = 0; i < rounds; i++)
            {
                long begin = ProcessorTime();
                var watch = Stopwatch.StartNew();
                Round();
                passed[i] = watch.Elapsed.TotalMilliseconds * 1000 / Threads;
                worked[i] = (ProcessorTime() - begin) / 1000.0 / Threads;
            }
            Array.Sort(passed);
            Array.Sort(worked);
            Console.WriteLine("{0:F2} {1:F2}", passed[0], worked[0]);
        }

        static long ProcessorTime()
        {
            Timespec t;
            clock_gettime(ProcessCpu, out t);
            return t.Seconds * 1000000000 + t.Nanoseconds;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Round()
        {
            for (int i = 0; i < Threads; i++)
            {
                var t = new Thread(Call, 65536);
                t.Start();
                t.Join();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Call() { }
    }
}
