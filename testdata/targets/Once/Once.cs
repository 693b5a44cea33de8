// Once CAUSE ROUNDS: does the same in each round, of which the first also fills something once. It says what all rounds
// would have allocated without that: as much as the last one, by the runtime's own count, for each of them.

using System;
using System.Buffers;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Once
{
    sealed class Thing { public void Do() { } }

    sealed class Other { }

    enum Color { Red, Green }

    static class Constructed
    {
        public static readonly object Value;
        static Constructed() { Value = new byte[5000]; }
    }

    static class Lazily
    {
        public static readonly Lazy<byte[]> Value = new Lazy<byte[]>(() => new byte[6000]);
        public static readonly ThreadLocal<byte[]> OfThread = new ThreadLocal<byte[]>(() => new byte[7000]);
    }

    static class Program
    {
        static object kept;

        static int Main(string[] args)
        {
            int cause = int.Parse(args[0]), rounds = int.Parse(args[1]);
            long last = 0;
            for (int i = 0; i < rounds; i++)
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                Work(cause);
                last = GC.GetAllocatedBytesForCurrentThread() - before;
            }
            Console.WriteLine(last * rounds);
            return kept == null ? 1 : 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Work(int cause)
        {
            kept = new byte[100];
            switch (cause)
            {
                case 1: kept = Constructed.Value; break;
                case 2:
                    var array = ArrayPool<byte>.Shared.Rent(4096);
                    ArrayPool<byte>.Shared.Return(array);
                    break;
                case 3: kept = Color.Red.ToString(); break;
                case 4: kept = Activator.CreateInstance<Thing>(); break;
                case 5: kept = new Other().GetType().Name; break;
                case 6: kept = typeof(Thing).GetMethods(); break;
                case 7: kept = Lazily.Value.Value; break;
                case 8: kept = Lazily.OfThread.Value; break;
                case 9: kept = ArrayPool<byte>.Shared.Rent(4096); break; // and never returned
            }
        }
    }
}
