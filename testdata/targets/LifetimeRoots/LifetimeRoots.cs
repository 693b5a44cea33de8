// LifetimeRoots [N]: objects that survive one garbage collection, each type for another reason. It wants a budget so
// large that no collection comes by itself (COMPlus_GCgen0size=1000000).

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace LifetimeRoots
{
    sealed class InOldGeneration { }
    sealed class OfHandle { }
    struct PinnedCell { public long A; }
    sealed class OfStatic { public object Other; }
    sealed class OfWeak { }
    sealed class OfOther { }
    sealed class OfStack { }
    sealed class OfFinalizer { ~OfFinalizer() { } }

    static class Program
    {
        static InOldGeneration[] old;
        static OfStatic[] ofStatic;
        static OfWeak[] ofWeak;
        static GCHandle[] handles;

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 100;
            handles = new GCHandle[3 * n];
            MakeOld(n);
            GC.Collect(2);
            GC.Collect(2);
            Check(old, 2);
            Make(n);
            MakeFinalizable(n);
            Hold();
            Say("InOldGeneration", n, 0, 0);
            Say("OfHandle", 0, n, 0, "handle");
            Say("PinnedCell[]", 0, n, 0, "handle", "pinning");
            Say("OfStatic", 0, 0, n);
            Say("OfOther", 0, 0, n); // OfStatic refers to them
            Say("OfWeak", 0, 0, n, "handle", "weak"); // which does not keep it alive
            Say("OfFinalizer", 0, n, 0, "finalizer");
            Say("OfStack", 0, 3, 0, "stack", "", 3);
            if (GC.CollectionCount(0) != 3 || GC.CollectionCount(2) != 2)
                Truth.Say("wrong", "name", "no collection comes by itself", "expected", 3, "measured", GC.CollectionCount(0));
            return Truth.Print();
        }

        /// <summary>Why how many objects survived the third collection, and how many references of which kind there are to them.</summary>
        static void Say(string name, int uncollected, int rooted, int reachable, string kind = "", string flags = "", int references = -1) =>
            Truth.Say("survivors", "gc", 3, "name", "LifetimeRoots." + name, "uncollected", uncollected, "rooted", rooted, "reachable", reachable,
                "kind", kind, "flags", flags, "references", references >= 0 ? references : kind == "" ? 0 : Math.Max(rooted, reachable));

        static void Check(object[] objects, int generation)
        {
            foreach (object o in objects)
                if (GC.GetGeneration(o) != generation)
                    Truth.Say("wrong", "name", o.GetType().Name, "expected", generation, "measured", GC.GetGeneration(o));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void MakeOld(int n)
        {
            old = new InOldGeneration[n];
            for (int i = 0; i < n; i++)
                old[i] = new InOldGeneration();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int n)
        {
            ofStatic = new OfStatic[n];
            ofWeak = new OfWeak[n];
            for (int i = 0; i < n; i++)
            {
                ofStatic[i] = new OfStatic { Other = new OfOther() };
                ofWeak[i] = new OfWeak();
                handles[i] = GCHandle.Alloc(new OfHandle());
                handles[n + i] = GCHandle.Alloc(new PinnedCell[1], GCHandleType.Pinned);
                handles[2 * n + i] = GCHandle.Alloc(ofWeak[i], GCHandleType.Weak);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void MakeFinalizable(int n)
        {
            for (int i = 0; i < n; i++)
                new OfFinalizer();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Hold()
        {
            OfStack a = new OfStack(), b = new OfStack(), c = new OfStack();
            GC.Collect(1);
            GC.KeepAlive(a);
            GC.KeepAlive(b);
            GC.KeepAlive(c);
        }
    }
}
