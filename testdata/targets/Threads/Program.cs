// Threads THREADS OBJECTS: each thread allocates that many objects. Of each three
// threads one has a name from the start, one gives itself a name, and one has
// none. Then the thread pool does the same work.

using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Threads
{
    sealed class Item { public long A, B; }

    static class Program
    {
        static readonly long itemSize = Size.Object(16);

        static int Main(string[] args)
        {
            int count = int.Parse(args[0]), objects = int.Parse(args[1]);
            var measured = new long[count];
            Thread[] threads = Enumerable.Range(0, count).Select(i => Make(i, objects, measured)).ToArray();
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
            Parallel.For(0, count, i => OnPool(objects));
            Say(count, objects, measured);
            return Truth.Print();
        }

        static Thread Make(int i, int objects, long[] measured)
        {
            var thread = new Thread(() =>
            {
                if (i % 3 == 2)
                    Thread.CurrentThread.Name = "self " + i;
                Allocate(1);
                long before = GC.GetAllocatedBytesForCurrentThread();
                Allocate(objects);
                measured[i] = GC.GetAllocatedBytesForCurrentThread() - before;
            });
            if (i % 3 == 0)
                thread.Name = "worker " + i;
            return thread;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Item Allocate(int n)
        {
            Item last = null;
            for (int i = 0; i < n; i++)
                last = Keep(new Item { A = i });
            return last;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Item OnPool(int n)
        {
            Item last = null;
            for (int i = 0; i < n; i++)
                last = Keep(new Item { A = i });
            return last;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Item Keep(Item item) => item;

        static void Say(int count, int objects, long[] measured)
        {
            var allocate = Truth.Method(typeof(Program), "Allocate");
            long each = objects + 1;
            for (int i = 0; i < count; i++)
            {
                Truth.Check("thread " + i, objects, objects * itemSize, measured[i]);
                string name = i % 3 == 0 ? "worker " + i : i % 3 == 2 ? "self " + i : "";
                Truth.OnThread(name, allocate, typeof(Item), each, each * itemSize);
            }
            Truth.Site(allocate, typeof(Item), count * each, count * each * itemSize);
            long pool = (long)count * objects;
            Truth.Site(Truth.Method(typeof(Program), "OnPool"), typeof(Item), pool, pool * itemSize);
        }
    }
}
