// How long garbage collections stop the program with LIVE objects alive: by the processor time of the thread that asks for them and
// with workstation GC does the work, since other load of the machine does not show in that. Prints the medians, in microseconds, of
// collections of generation 0 with a hundred thousand dead objects, of such with a hundred thousand survivors as well, and of full
// ones, and the most memory that the process had, in bytes.
// Arguments: LIVE
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Pauses
{
    sealed class Node { public Node Next; public object Value; }

    static class Program
    {
        struct Time { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Time time);

        static long ProcessorTime()
        {
            clock_gettime(3 /* CLOCK_THREAD_CPUTIME_ID */, out Time time);
            return time.Seconds * 1000000000 + time.Nanoseconds;
        }

        static Node[] live;
        static object sink;

        static void Main(string[] args)
        {
            int count = int.Parse(args[0]);
            Build(count);
            GC.Collect();
            GC.Collect();
            var young = new double[21];
            var survived = new double[21];
            var full = new double[count > 1000000 ? 5 : 11];
            for (int i = 0; i < young.Length; i++)
            {
                Garbage(100000);
                young[i] = Timed(0);
            }
            for (int i = 0; i < survived.Length; i++)
            {
                Node[] kept = Survivors(100000);
                Garbage(100000);
                survived[i] = Timed(0);
                GC.KeepAlive(kept);
            }
            for (int i = 0; i < full.Length; i++)
            {
                Garbage(100000);
                full[i] = Timed(2);
            }
            Array.Sort(young);
            Array.Sort(survived);
            Array.Sort(full);
            Console.WriteLine("{0:F1} {1:F1} {2:F1} {3}", young[young.Length / 2], survived[survived.Length / 2], full[full.Length / 2], Process.GetCurrentProcess().PeakWorkingSet64);
            GC.KeepAlive(live);
        }

        // A thousand lists, so that the collector does not follow one long one.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Build(int count)
        {
            live = new Node[1000];
            for (int i = 0; i < count; i++)
                live[i % live.Length] = new Node { Next = live[i % live.Length] };
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Node[] Survivors(int count)
        {
            var kept = new Node[1000];
            for (int i = 0; i < count; i++)
                kept[i % kept.Length] = new Node { Next = kept[i % kept.Length] };
            return kept;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Garbage(int count)
        {
            for (int i = 0; i < count; i++)
                sink = new Node();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static double Timed(int generation)
        {
            long begin = ProcessorTime();
            GC.Collect(generation, GCCollectionMode.Forced, true);
            return (ProcessorTime() - begin) / 1000.0;
        }
    }
}
