// LifetimeTruth [N]: objects that die in a known generation after a known number of collections, or live to the end. It
// wants a budget so large that no collection comes by itself (COMPlus_GCgen0size=1000000) and makes sure of that.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace LifetimeTruth
{
    sealed class Died0 { }
    sealed class Died1 { public long A; }
    sealed class Died2 { public long A, B, C; }
    sealed class Generic<T> { public T Value; }
    struct Boxed { public long A, B; }
    sealed class Ring { public Ring Next; }
    sealed class OfThreads { public long A; }
    struct Cell { public long A; }         // arrays of it are small
    struct LargeCell { public long A; }    // large
    struct MovedCell { public long A; }    // large, and the large object heap is compacted
    struct PinnedCell { public long A; }   // on the pinned object heap
    struct HandleCell { public long A; }   // small, with pinned handles
    struct KeptLargeCell { public long A; }
    struct KeptPinnedCell { public long A; }
    sealed class Older { public Younger Child; }
    sealed class Younger { }
    sealed class Key { }
    sealed class Value { public object Payload; }
    sealed class Kept { public object Other; }
    sealed class KeptOld { public object Other; }
    sealed class AtEnd0 { }
    sealed class AtEnd1 { }
    sealed class AtEnd2 { }
    sealed class Aged3 { }
    sealed class Aged7 { }
    sealed class Aged20 { }
    sealed class Aged70 { }

    static class Steps
    {
        public static readonly List<object> Forever = new List<object>();
        static readonly List<(int Generation, bool Compacting)> collected = new List<(int, bool)>();

        /// <summary>Says at once that something is not as it must be.</summary>
        public static void That(bool holds, Type type, string what, long expected = 1, long measured = 0)
        {
            if (holds)
                return;
            Truth.Say("wrong", "name", Truth.Name(type) + " " + what, "expected", expected, "measured", measured);
            Environment.Exit(99);
        }

        /// <summary>A collection; it must be the first one since the last.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Collect(int generation, bool compacting = false)
        {
            int before = GC.CollectionCount(0), before1 = GC.CollectionCount(1), before2 = GC.CollectionCount(2);
            That(before == collected.Count, typeof(Steps), "no collection comes by itself", collected.Count, before);
            CollectWithBallast(generation, compacting);
            // The runtime may collect more than it was asked for.
            collected.Add((GC.CollectionCount(2) > before2 ? 2 : GC.CollectionCount(1) > before1 ? 1 : 0, compacting));
            That(GC.CollectionCount(0) == collected.Count, typeof(Steps), "one collection at a time", collected.Count, GC.CollectionCount(0));
        }

        /// <summary>
        /// With segments (before .NET 7, or with libclrgc.so) survivors are only promoted if they are more than 6 % of the
        /// budget: there, arrays of 1.6 MB survive with them.
        /// </summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CollectWithBallast(int generation, bool compacting)
        {
            var ballast = new byte[Environment.Version.Major < 7 || Environment.GetEnvironmentVariable("COMPlus_GCName") != null ? 20 : 0][];
            for (int i = 0; i < ballast.Length; i++)
                ballast[i] = new byte[80_000];
            if (compacting)
                GC.Collect(generation, GCCollectionMode.Forced, true, true);
            else
                GC.Collect(generation);
            GC.KeepAlive(ballast);
        }

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            Plain.Run(n);
            Arrays.Run(n / 50);
            References.Run(n);
            Finalizers.Run(n);
            Ages.Run(n);
            Ends.Run(n);
            That(GC.CollectionCount(0) == collected.Count, typeof(Steps), "no collection comes by itself", collected.Count, GC.CollectionCount(0));
            for (int i = 0; i < collected.Count; i++)
                Truth.Say("gc", "number", i + 1, "generation", collected[i].Generation, "compacting", collected[i].Compacting);
            Truth.Say("gcs", "gen0", GC.CollectionCount(0), "gen1", GC.CollectionCount(1), "gen2", GC.CollectionCount(2));
            return Truth.Print();
        }
    }

    static class Plain
    {
        public static void Run(int n)
        {
            var c = new Cohort(typeof(Died0), Size.Object(0), n, i => new Died0()).In(0).Drop();
            var generic = new Cohort(typeof(Generic<int>), Size.Object(4), n, i => new Generic<int>()).In(0).Drop();
            var boxed = new Cohort(typeof(Boxed), Size.Object(16), n, i => (object)new Boxed { A = i }).In(0).Drop();
            Steps.Collect(0);
            c.Dead(); generic.Dead(); boxed.Dead();

            c = new Cohort(typeof(Died1), Size.Object(8), n, i => new Died1()).In(0);
            Steps.Collect(0);
            c.In(1).Drop();
            Steps.Collect(1);
            c.Dead();

            c = new Cohort(typeof(Died2), Size.Object(24), n, i => new Died2()).In(0);
            Steps.Collect(0);
            Steps.Collect(1);
            c.In(2).Drop();
            Steps.Collect(2);
            c.Dead();

            Threads(n);
        }

        static void Threads(int n)
        {
            var made = new OfThreads[n];
            Thread[] threads = Enumerable.Range(0, 8).Select(t => new Thread(() => Fill(made, t, 8))).ToArray();
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
            Cohort c = Taken(made).In(0).Drop();
            Steps.Collect(2);
            c.Dead();
        }

        static void Fill(OfThreads[] made, int from, int step)
        {
            for (int i = from; i < made.Length; i += step)
                made[i] = new OfThreads();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Cohort Taken(OfThreads[] made)
        {
            var c = new Cohort(typeof(OfThreads), Size.Object(8), made.Length, i => made[i]);
            Array.Clear(made, 0, made.Length);
            return c;
        }
    }

    static class Arrays
    {
        const int Small = 10_000, Big = 20_000; // 80 KB and 160 KB; from 85,000 bytes on arrays are large

        public static void Run(int n)
        {
            var c = new Cohort(typeof(Cell[]), Size.Array(8, Small), n, i => new Cell[Small]).In(0).Drop();
            Steps.Collect(0);
            c.Dead();

            c = new Cohort(typeof(LargeCell[]), Size.Array(8, Big), n, i => new LargeCell[Big], Heap.Large).In(2);
            Steps.Collect(0);
            Steps.Collect(1);
            c.In(2).Drop();
            Steps.Collect(2);
            c.Dead();

            c = new Cohort(typeof(MovedCell[]), Size.Array(8, Big), n, i => new MovedCell[Big], Heap.Large).In(2);
            GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
            Steps.Collect(2, true);
            c.In(2).Drop();
            Steps.Collect(2);
            c.Dead();

            Pinned(n);
            Handles(n);
            new Cohort(typeof(KeptLargeCell[]), Size.Array(8, Big), n, i => new KeptLargeCell[Big], Heap.Large).Alive();
        }

        static void Pinned(int n)
        {
            MethodInfo allocate = typeof(GC).GetMethods().FirstOrDefault(m => m.Name == "AllocateArray" && m.IsGenericMethod);
            if (allocate == null)
                return; // before .NET 5
            var make = (Func<int, bool, PinnedCell[]>)allocate.MakeGenericMethod(typeof(PinnedCell)).CreateDelegate(typeof(Func<int, bool, PinnedCell[]>));
            var keep = (Func<int, bool, KeptPinnedCell[]>)allocate.MakeGenericMethod(typeof(KeptPinnedCell)).CreateDelegate(typeof(Func<int, bool, KeptPinnedCell[]>));
            new Cohort(typeof(KeptPinnedCell[]), Size.Array(8, 10), n, i => keep(10, true), Heap.Pinned).Alive();
            var c = new Cohort(typeof(PinnedCell[]), Size.Array(8, 10), n, i => make(10, true), Heap.Pinned).In(2);
            Steps.Collect(1);
            c.In(2).Drop();
            Steps.Collect(2);
            c.Dead();
        }

        /// <summary>Objects that cannot move between others that die: some stay in their generation, or go back to it.</summary>
        static void Handles(int n)
        {
            var handles = new List<GCHandle>();
            var c = new Cohort(typeof(HandleCell[]), Size.Array(8, 500), n * 10, i =>
            {
                var cells = new HandleCell[500];
                if (i % 7 == 0)
                    handles.Add(GCHandle.Alloc(cells, GCHandleType.Pinned));
                return cells;
            }).In(0);
            for (int i = 0; i < 2; i++)
                Steps.Collect(i, true);
            foreach (GCHandle handle in handles)
                handle.Free();
            c.Drop();
            Steps.Collect(2);
            c.Dead();
        }
    }

    static class References
    {
        static Older[] older;

        public static void Run(int n)
        {
            var c = new Cohort(typeof(Ring), Size.Object(8), n, Rings()).In(0).Drop();
            Steps.Collect(0);
            c.Dead();
            Nepotism(n);
            Dependent(n);
        }

        static Func<int, object> Rings()
        {
            Ring last = null, first = null;
            return i =>
            {
                var ring = new Ring { Next = last };
                if (i % 10 == 0)
                {
                    first = ring;
                    ring.Next = null;
                }
                first.Next = ring; // a cycle through the first of ten
                last = i % 10 == 9 ? null : ring;
                if (i % 10 == 9)
                    first = null;
                return ring;
            };
        }

        /// <summary>The dead in a generation that is not collected keep alive what they refer to.</summary>
        static void Nepotism(int n)
        {
            Cohort parents = Parents(n);
            Steps.Collect(1);
            Steps.Collect(1);
            Cohort children = Children(n);
            children.In(0).Release();
            older = null;
            parents.In(2).Drop();
            Steps.Collect(0);
            children.In(1).Drop();
            Steps.Collect(2);
            parents.Dead();
            children.Dead();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Cohort Parents(int n)
        {
            older = new Older[n];
            return new Cohort(typeof(Older), Size.Object(8), n, i => older[i] = new Older());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Cohort Children(int n) => new Cohort(typeof(Younger), Size.Object(0), n, i => older[i].Child = new Younger());

        /// <summary>A value of a ConditionalWeakTable lives as long as its key.</summary>
        static void Dependent(int n)
        {
            var table = new ConditionalWeakTable<object, object>();
            Steps.Forever.Add(table);
            var keys = new Key[n];
            var k = new Cohort(typeof(Key), Size.Object(0), n, i => keys[i] = new Key()).In(0);
            Cohort v = Values(table, keys).In(0).Release();
            Steps.Collect(0);
            v.In(1);
            Array.Clear(keys, 0, n);
            v.Drop();
            k.In(1).Drop();
            Steps.Collect(1);
            k.Dead();
            v.Dead();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Cohort Values(ConditionalWeakTable<object, object> table, Key[] keys) =>
            new Cohort(typeof(Value), Size.Object(8), keys.Length, i =>
            {
                var value = new Value();
                table.Add(keys[i], value);
                return value;
            });
    }

    /// <summary>Objects of exactly so many collections, and of collections of all kinds.</summary>
    static class Ages
    {
        public static void Run(int n)
        {
            var c70 = new Cohort(typeof(Aged70), Size.Object(0), n, i => new Aged70());
            for (int i = 0; i < 50; i++)
                Steps.Collect(i % 3);
            var c20 = new Cohort(typeof(Aged20), Size.Object(0), n, i => new Aged20());
            for (int i = 0; i < 13; i++)
                Steps.Collect(i % 2);
            var c7 = new Cohort(typeof(Aged7), Size.Object(0), n, i => new Aged7());
            for (int i = 0; i < 4; i++)
                Steps.Collect(0);
            var c3 = new Cohort(typeof(Aged3), Size.Object(0), n, i => new Aged3());
            for (int i = 0; i < 3; i++)
                Steps.Collect(2 - i);
            c3.Drop(); c7.Drop(); c20.Drop(); c70.Drop();
            Steps.Collect(2);
            c3.Dead(); c7.Dead(); c20.Dead(); c70.Dead();
        }
    }

    /// <summary>What is still there at the end.</summary>
    static class Ends
    {
        public static void Run(int n)
        {
            new Cohort(typeof(KeptOld), Size.Object(8), n, i => new KeptOld()).Alive();
            var c2 = new Cohort(typeof(AtEnd2), Size.Object(0), n, i => new AtEnd2());
            Steps.Collect(1);
            var c1 = new Cohort(typeof(AtEnd1), Size.Object(0), n, i => new AtEnd1()).In(0);
            Steps.Collect(1);
            new Cohort(typeof(Kept), Size.Object(8), n, i => new Kept()).Alive();
            var c0 = new Cohort(typeof(AtEnd0), Size.Object(0), n, i => new AtEnd0()).In(0);
            c2.In(2).LeftToTheEnd();
            c1.In(1).LeftToTheEnd();
            c0.LeftToTheEnd();
        }
    }
}
