using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace LifetimeTruth
{
    /// <summary>Where an object lies: GC.GetGeneration says 2 of large and pinned ones, too.</summary>
    enum Heap { Small, Large, Pinned }

    /// <summary>
    /// Objects of one type, all made between the same two collections. Each is watched through a weak handle, and held
    /// by nothing but an array: all work on them is done in functions of their own, whose frames are gone before a
    /// collection begins.
    /// </summary>
    sealed class Cohort
    {
        readonly Type type;
        readonly Heap heap;
        readonly long size;
        readonly int born; // collections before
        readonly GCHandle[] watch;
        readonly int[] generations = new int[3]; // of the objects, when they were counted
        object[] held;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Cohort(Type type, long size, int n, Func<int, object> make, Heap heap = Heap.Small, bool afterFinalizers = false)
        {
            this.type = type; this.size = size; this.heap = heap;
            born = GC.CollectionCount(0);
            held = new object[n];
            watch = new GCHandle[n];
            for (int i = 0; i < n; i++)
            {
                held[i] = make(i);
                watch[i] = GCHandle.Alloc(held[i], afterFinalizers ? GCHandleType.WeakTrackResurrection : GCHandleType.Weak);
            }
            Steps.That(born == GC.CollectionCount(0), type, "made between two collections");
        }

        /// <summary>All objects are there, and in this generation.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public Cohort In(int generation)
        {
            int there = 0;
            foreach (GCHandle handle in watch)
                if (handle.Target is object o && GC.GetGeneration(o) == generation)
                    there++;
            Steps.That(there == watch.Length, type, "in generation " + generation, watch.Length, there);
            return this;
        }

        /// <summary>Gives the objects up after noting in which generation each is. Only a collection may follow.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public Cohort Drop()
        {
            foreach (GCHandle handle in watch)
                if (handle.Target is object o)
                    generations[GC.GetGeneration(o)]++;
            Steps.That(generations.Sum() == watch.Length, type, "not dead before it is dropped", watch.Length, generations.Sum());
            return Release();
        }

        /// <summary>Gives the objects up. Something else still holds them: a finalizer, an older object.</summary>
        public Cohort Release()
        {
            held = null;
            return this;
        }

        /// <summary>All objects are dead since the last collection: says how long they lived.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public void Dead()
        {
            int left = watch.Count(handle => handle.Target != null);
            Steps.That(left == 0, type, "dead", 0, left);
            foreach (GCHandle handle in watch)
                handle.Free();
            Say(GC.CollectionCount(0) - 1 - born, 0);
        }

        /// <summary>The objects are held until the end, by a static variable.</summary>
        public void Alive()
        {
            Steps.Forever.Add(held);
            Say(-1, watch.Length);
        }

        /// <summary>The objects are dropped, and no collection is going to find them dead but one at the very end.</summary>
        public void LeftToTheEnd()
        {
            Drop();
            Say(GC.CollectionCount(0) - born, 0, true);
        }

        void Say(int survived, int alive, bool atEnd = false)
        {
            bool small = heap == Heap.Small && alive == 0;
            int all = watch.Length - alive;
            Truth.Say("lifetime", "name", Truth.Name(type), "size", size, "gen0", small ? generations[0] : 0, "gen1", small ? generations[1] : 0,
                "gen2", small ? generations[2] : 0, "loh", heap == Heap.Large ? all : 0, "poh", heap == Heap.Pinned ? all : 0,
                "alive", alive, "born", born, "survived", survived, "at_end", atEnd);
        }
    }
}
