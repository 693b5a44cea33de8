// Garbage collections of a program with many types: THREADS threads allocate ROUNDS times 100,000 objects of TYPES types in
// turn, each of which keeps the last KEPT. Prints how many collections there were, their mean pause in microseconds,
// as the runtime says (.NET 7 and later), and the nanoseconds that an allocation took, pauses included.
// Arguments: TYPES THREADS ROUNDS KEPT
using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Serialization;
using System.Threading;

namespace Types
{
    sealed class Leaf<A, B, C> { public object Other; public long Value; }

    static class Program
    {
        const int Each = 100000;
        static readonly Type[] parts = { typeof(bool), typeof(byte), typeof(sbyte), typeof(char), typeof(short), typeof(ushort), typeof(int), typeof(uint),
            typeof(long), typeof(ulong), typeof(float), typeof(double), typeof(decimal), typeof(DateTime), typeof(TimeSpan) };

        static void Main(string[] args)
        {
            int types = int.Parse(args[0]), threads = int.Parse(args[1]), rounds = int.Parse(args[2]), kept = int.Parse(args[3]);
            var all = new Type[types];
            for (int i = 0; i < types; i++)
                all[i] = typeof(Leaf<,,>).MakeGenericType(parts[i % 15], parts[i / 15 % 15], parts[i / 225 % 15]);
            Allocate(all, 1, kept);
            GC.Collect();
            int before = GC.CollectionCount(0);
            TimeSpan paused = Paused();
            var watch = Stopwatch.StartNew();
            var running = new Thread[threads];
            for (int i = 0; i < threads; i++)
                (running[i] = new Thread(() => Allocate(all, rounds, kept))).Start();
            foreach (Thread t in running)
                t.Join();
            double ns = watch.Elapsed.TotalMilliseconds * 1e6 / ((double)threads * rounds * Each);
            int collections = GC.CollectionCount(0) - before;
            Console.WriteLine("{0} {1:F0} {2:F1}", collections, (Paused() - paused).TotalMilliseconds * 1000 / Math.Max(1, collections), ns);
        }

        static TimeSpan Paused()
        {
            MethodInfo total = typeof(GC).GetMethod("GetTotalPauseDuration");
            return total == null ? TimeSpan.Zero : (TimeSpan)total.Invoke(null, null);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Allocate(Type[] all, int rounds, int kept)
        {
            var last = new object[Math.Max(1, kept)];
            for (int r = 0; r < rounds; r++)
                for (int i = 0; i < Each; i++)
                    last[i % last.Length] = FormatterServices.GetUninitializedObject(all[(i + r) % all.Length]);
            GC.KeepAlive(last);
        }
    }
}
