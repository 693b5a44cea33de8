// LifetimeHeap WHAT ROUNDS: makes the heap hard to follow, in one way or in all of them, and says how many garbage
// collections there were. A storm also says its process and its rounds, so that it can be killed. It knows nothing of how long its objects live; the agent compares itself with the runtime.

using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.Linq;
using System.Reflection;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace LifetimeHeap
{
    sealed class Node { public Node Left, Right; public object Payload; public long Value; }

    struct Cell { public long A; }
    sealed class Label { public Cell[] Cells; }

    static class Program
    {
        static readonly Dictionary<string, Action<int>> ways = new Dictionary<string, Action<int>>
        {
            ["churn"] = rounds => Churn.Run(rounds, 1),
            ["pin"] = Pinning.Run,
            ["large"] = Large.Run,
            ["pinned-heap"] = Large.RunPinned,
            ["finalizers"] = Finalizers.Run,
            ["weak"] = Weak.Run,
            ["unload"] = Contexts.Run,
            ["frozen"] = Frozen.Run,
            ["threads"] = rounds => OnThreads(16, i => Churn.Run(rounds, i)),
            ["storm"] = Storm,
            ["collector"] = Collector,
            ["huge"] = Large.RunHuge,
            ["grow"] = Grow,
            ["spread"] = Spread,
            ["crowd"] = Crowd,
            ["flood"] = Flood,
            ["running"] = Running,
            ["listeners"] = Listeners,
        };

        static int Main(string[] args)
        {
            if (args[0] == "all") // these have their own conditions
                foreach (string way in ways.Keys.Where(w => w != "huge" && w != "grow" && w != "spread" && w != "crowd" && w != "flood" && w != "collector" && w != "running").OrderBy(w => w, StringComparer.Ordinal))
                    ways[way](int.Parse(args[1]));
            else
                ways[args[0]](int.Parse(args[1]));
            Truth.Say("gcs", "gen0", GC.CollectionCount(0), "gen1", GC.CollectionCount(1), "gen2", GC.CollectionCount(2));
            return Truth.Print();
        }

        sealed class Listener : EventListener
        {
            public EventSource Source;
            protected override void OnEventSourceCreated(EventSource source)
            {
                if (source.Name == "Microsoft-Windows-DotNETRuntime")
                    Source = source;
            }
        }

        /// <summary>Churn while the program itself listens to the runtime's events, and does not, and does.</summary>
        static void Listeners(int rounds)
        {
            bool over = false;
            var listener = new Listener();
            var toggles = new Thread(() =>
            {
                while (!Volatile.Read(ref over))
                {
                    listener.EnableEvents(listener.Source, EventLevel.Informational, (EventKeywords)1);
                    listener.DisableEvents(listener.Source);
                }
            });
            toggles.Start();
            Churn.Run(rounds, 1);
            Volatile.Write(ref over, true);
            toggles.Join();
            listener.Dispose();
        }

        /// <summary>A heap of so many MB, of one site, of which every other collection finds half dead.</summary>
        static void Grow(int megabytes)
        {
            int count = megabytes * (1 << 20) / (int)Size.Object(32);
            var kept = new Node[count];
            for (int i = 0; i < count; i++)
            {
                kept[i] = new Node();
                if (i % 2 == 1)
                    kept[i / 2] = null;
                if (i % (count / 20) == 0)
                    GC.Collect(i % 3);
            }
            GC.KeepAlive(kept);
            Truth.OfType(typeof(Node), count, count * Size.Object(32));
        }

        /// <summary>So many arrays of 10 KB, each behind a small object that has it; half of them are alive in the end.</summary>
        static void Spread(int count)
        {
            var kept = new Label[count];
            for (int i = 0; i < count; i++)
            {
                kept[i] = new Label { Cells = new Cell[1250] };
                if (i % 2 == 1)
                    kept[i] = null;
            }
            GC.Collect();
            Truth.OfType(typeof(Label), count, count * Size.Object(8));
            Truth.OfType(typeof(Cell[]), count, count * Size.Array(8, 1250));
            held = kept;
        }

        static Label[] held;

        /// <summary>So many million objects, of which the last 100,000 are alive at any time, and none in the end.</summary>
        static void Flood(int millions)
        {
            var kept = new Node[100_000];
            for (int m = 0; m < millions; m++)
                for (int i = 0; i < 1_000_000; i++)
                    kept[i % kept.Length] = new Node();
            Truth.OfType(typeof(Node), millions * 1_000_000L, millions * 1_000_000L * Size.Object(32));
        }

        /// <summary>So many threads at once, whose objects are dead in the end.</summary>
        static void Crowd(int threads)
        {
            var ready = new Barrier(threads);
            OnThreads(threads, i =>
            {
                var kept = new Node[10];
                for (int j = 0; j < 200; j++)
                {
                    kept[j % kept.Length] = new Node { Left = kept[(j + 3) % kept.Length] };
                    if (j == 100)
                        ready.SignalAndWait(); // all threads are there and hold objects
                    if (i == 1 && j % 50 == 49)
                        GC.Collect(j % 3);
                }
            });
            Truth.OfType(typeof(Node), threads * 200, threads * 200 * Size.Object(32));
        }

        /// <summary>The program ends while threads allocate and collect.</summary>
        static void Running(int rounds)
        {
            for (int i = 0; i < 4; i++)
            {
                int number = i;
                new Thread(() => Churn.Run(int.MaxValue, number)) { IsBackground = true }.Start();
            }
            Churn.Run(rounds, 5);
        }

        public static void OnThreads(int count, Action<int> body)
        {
            Thread[] threads = Enumerable.Range(1, count).Select(i => new Thread(() => body(i))).ToArray();
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
        }

        /// <summary>Collections asked for from several threads at once, while others allocate.</summary>
        static long nodes;
        static volatile bool enough;

        /// <summary>For so many milliseconds a thread collects, and makes sites that are new, while others make nodes, of
        /// which none is held; then the process ends. Its last collections fall into the first reading of the clrprof that
        /// records it.</summary>
        static void Collector(int milliseconds)
        {
            var clock = System.Diagnostics.Stopwatch.StartNew();
            var collector = new Thread(() =>
            {
                for (int n = 0; !enough; n++)
                    if (n < 2000) // enough to keep a reader busy
                        GC.Collect();
                    else
                        Thread.Yield();
            });
            collector.Start();
            while (clock.ElapsedMilliseconds < milliseconds)
                Make(20);
            enough = true;
            collector.Join();
            Late(1000);
            GC.Collect();
            Truth.Say("type", "name", "LifetimeHeap.Node", "objects", nodes, "bytes", nodes * Size.Object(32));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int count)
        {
            for (int i = 0; i < count; i++, nodes++)
                GC.KeepAlive(new Node());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Late(int count)
        {
            for (int i = 0; i < count; i++, nodes++)
                GC.KeepAlive(new Node());
        }

        static void Storm(int rounds)
        {
            Truth.Say("process", "name", "LifetimeHeap", "pid", System.Diagnostics.Process.GetCurrentProcess().Id);
            OnThreads(6, i =>
            {
                var random = new Random(i);
                var kept = new object[100];
                for (int r = 0; r < rounds * 4; r++)
                {
                    for (int j = 0; j < 50; j++)
                        kept[random.Next(kept.Length)] = new Node { Payload = new byte[random.Next(300)] };
                    if (i % 2 == 0)
                        GC.Collect(random.Next(3), (GCCollectionMode)random.Next(3), true, random.Next(2) == 0);
                    if (i == 2 && r % 10 == 9)
                        Truth.Say("note", "name", "round " + (r + 1));
                }
            });
        }
    }

    /// <summary>A graph whose parts are replaced at random.</summary>
    public static class Churn
    {
        public static void Run(int rounds, int seed)
        {
            var random = new Random(seed);
            var kept = new Node[1500];
            for (int r = 0; r < rounds; r++)
            {
                for (int i = 0; i < 10000; i++)
                {
                    Node made = Make(random, kept);
                    if (i % 5 == 0)
                        kept[Skewed(random, kept.Length)] = made;
                }
                if (r % 5 == 4)
                    GC.Collect(random.Next(3), GCCollectionMode.Forced, true, random.Next(2) == 0);
            }
        }

        // The first slots are replaced often, the last ones rarely, so that all ages are there.
        static int Skewed(Random random, int n) => (int)(n * Math.Pow(random.NextDouble(), 4));

        static Node Make(Random random, Node[] kept)
        {
            var node = new Node { Value = random.Next() };
            switch (random.Next(5))
            {
                case 0: node.Payload = new byte[random.Next(200)]; break;
                case 1: node.Payload = new string('x', random.Next(60)); break;
                case 2: node.Payload = (object)random.NextDouble(); break;
                case 3: node.Left = kept[random.Next(kept.Length)]; break;
                default: node.Payload = new List<int>(random.Next(20)); break;
            }
            if (node.Left != null)
                node.Left.Left = node.Left.Right = null; // chains stay short
            return node;
        }
    }

    static class Pinning
    {
        public static void Run(int rounds)
        {
            var random = new Random(2);
            var handles = new GCHandle[64];
            for (int r = 0; r < rounds; r++)
            {
                for (int i = 0; i < 600; i++)
                {
                    var bytes = new byte[random.Next(1500)];
                    if (random.Next(8) == 0)
                        Replace(ref handles[random.Next(handles.Length)], bytes);
                }
                if (r % 2 == 0)
                    Fixed(new long[1 + random.Next(100)], random);
            }
            foreach (GCHandle handle in handles)
                if (handle.IsAllocated)
                    handle.Free();
        }

        static void Replace(ref GCHandle handle, byte[] bytes)
        {
            if (handle.IsAllocated)
                handle.Free();
            handle = GCHandle.Alloc(bytes, GCHandleType.Pinned);
        }

        // References into the middle of objects, and pinned locals, as compilers make them for "fixed".
        [MethodImpl(MethodImplOptions.NoInlining)]
        static unsafe void Fixed(long[] longs, Random random)
        {
            var node = new Node { Payload = new byte[30] };
            ref long value = ref node.Value;
            ref object payload = ref node.Payload;
            ref long element = ref longs[random.Next(longs.Length)];
            fixed (long* first = longs)
            {
                GC.Collect(random.Next(3), GCCollectionMode.Forced, true, true);
                *first = 1;
            }
            value = element + 1;
            payload = null;
        }
    }

    static class Large
    {
        public static void Run(int rounds) => Replace(rounds, 5, (n, random) => new byte[n]);

        /// <summary>On .NET 5 and later there is a heap for objects that are never moved.</summary>
        public static void RunPinned(int rounds)
        {
            MethodInfo allocate = typeof(GC).GetMethods().FirstOrDefault(m => m.Name == "AllocateArray" && m.IsGenericMethod);
            if (allocate == null)
            {
                Replace(rounds, 6, (n, random) => new byte[n / 100]);
                return;
            }
            var make = (Func<int, bool, byte[]>)allocate.MakeGenericMethod(typeof(byte)).CreateDelegate(typeof(Func<int, bool, byte[]>));
            Replace(rounds, 6, (n, random) => make(random.Next(2) == 0 ? n : n / 100, true));
        }

        static void Replace(int rounds, int seed, Func<int, Random, byte[]> make)
        {
            var random = new Random(seed);
            var kept = new byte[60][];
            for (int r = 0; r < rounds; r++)
            {
                for (int i = 0; i < 30; i++)
                    kept[random.Next(kept.Length)] = make(85_000 + random.Next(200_000), random);
                if (r % 4 == 1)
                    GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
                GC.Collect(r % 4 == 0 ? 1 : 2, GCCollectionMode.Forced, true, r % 2 == 0);
            }
        }

        /// <summary>Arrays of 2 to 4 GB: they are not written to, so that little of them is in memory.</summary>
        public static void RunHuge(int rounds)
        {
            for (int r = 0; r < rounds; r++)
            {
                object kept = MakeHuge(r);
                var after = new Node[100];
                for (int i = 0; i < after.Length; i++)
                    after[i] = new Node();
                GC.Collect(2, GCCollectionMode.Forced, true, r % 2 == 0);
                GC.KeepAlive(kept);
                GC.KeepAlive(after);
            }
            GC.Collect();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object MakeHuge(int r) => r % 2 == 0 ? (object)new byte[int.MaxValue - 100] : new long[536_870_912];
    }

    /// <summary>Objects that come back to life in their finalizers, some of them several times.</summary>
    static class Finalizers
    {
        sealed class Phoenix
        {
            public int Lives;
            public object Payload = new byte[40];

            ~Phoenix()
            {
                if (--Lives <= 0)
                    return;
                saved.Enqueue(this);
                GC.ReRegisterForFinalize(this);
            }
        }

        sealed class Plain { public object Payload = new byte[100]; ~Plain() { Payload = null; } }

        static readonly System.Collections.Concurrent.ConcurrentQueue<object> saved = new System.Collections.Concurrent.ConcurrentQueue<object>();

        public static void Run(int rounds)
        {
            for (int r = 0; r < rounds; r++)
            {
                Make(200, r);
                GC.Collect(r % 3);
                if (r % 2 == 0)
                    GC.WaitForPendingFinalizers();
                for (int i = 0; i < 150; i++)
                    saved.TryDequeue(out _);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int count, int r)
        {
            for (int i = 0; i < count; i++)
                if (i % 2 == 0)
                    new Phoenix { Lives = i % 5 };
                else
                    new Plain();
        }
    }

    /// <summary>Weak handles of both kinds, and dependent ones.</summary>
    static class Weak
    {
        sealed class Key { public object Self; ~Key() { Self = null; } }

        public static void Run(int rounds)
        {
            var random = new Random(4);
            var table = new ConditionalWeakTable<object, object>();
            var keys = new object[200];
            var handles = new List<GCHandle>();
            for (int r = 0; r < rounds; r++)
            {
                Make(random, table, keys, handles);
                GC.Collect(r % 3, GCCollectionMode.Forced, true, r % 2 == 0);
                for (int i = 0; i < 40 && handles.Count > 100; i++)
                {
                    int at = random.Next(handles.Count);
                    handles[at].Free();
                    handles.RemoveAt(at);
                }
            }
            GC.KeepAlive(table);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(Random random, ConditionalWeakTable<object, object> table, object[] keys, List<GCHandle> handles)
        {
            for (int i = 0; i < 150; i++)
            {
                object key = i % 3 == 0 ? new Key() : (object)new Node();
                // The value of one refers to the key of another: chains of dependent handles.
                table.Add(key, new Node { Payload = keys[random.Next(keys.Length)] });
                keys[random.Next(keys.Length)] = key;
                if (i % 4 == 0)
                    handles.Add(GCHandle.Alloc(key, random.Next(2) == 0 ? GCHandleType.Weak : GCHandleType.WeakTrackResurrection));
            }
        }
    }
}
