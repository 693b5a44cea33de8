// How long garbage collections stop the program with LIVE objects alive. Prints the medians, in microseconds, of
// collections of generation 0 with a hundred thousand dead objects, and of full ones, and the most memory that the
// process had, in bytes.
// Arguments: LIVE
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Pauses
{
    sealed class Node { public Node Next; public object Value; }

    static class Program
    {
        static Node[] live;
        static object sink;

        static void Main(string[] args)
        {
            int count = int.Parse(args[0]);
            Build(count);
            GC.Collect();
            GC.Collect();
            var young = new double[21];
            var full = new double[count > 1000000 ? 5 : 11];
            for (int i = 0; i < young.Length; i++)
            {
                Garbage(100000);
                young[i] = Timed(0);
            }
            for (int i = 0; i < full.Length; i++)
            {
                Garbage(100000);
                full[i] = Timed(2);
            }
            Array.Sort(young);
            Array.Sort(full);
            Console.WriteLine("{0:F1} {1:F1} {2}", young[young.Length / 2], full[full.Length / 2], Process.GetCurrentProcess().PeakWorkingSet64);
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
        static void Garbage(int count)
        {
            for (int i = 0; i < count; i++)
                sink = new Node();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static double Timed(int generation)
        {
            var watch = Stopwatch.StartNew();
            GC.Collect(generation, GCCollectionMode.Forced, true);
            return watch.Elapsed.TotalMilliseconds * 1000;
        }
    }
}
