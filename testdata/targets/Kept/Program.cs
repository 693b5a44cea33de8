// Kept [N]: all objects of its own types stay alive until the end, after a last
// collection: small, large, pinned and frozen ones. What was allocated is what the
// heap holds.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Kept
{
    sealed class Small { public long A, B; }
    sealed class Finalizable { public int A; ~Finalizable() { A = 1; } }
    sealed class Node<T> { public T Value; public Node<T> Next; }
    sealed class Fixed { public long A; }
    struct InSmall { public long A; }
    struct InLarge { public long A, B; }
    struct InPinned { public long A, B, C; }
    struct InGrid { public int A; }
    struct Boxed { public int A, B, C; }
    struct Static { public long A, B; }
    struct InEmpty { public long A; }

    /// <summary>
    /// Objects that belong to the type, not to a function that makes them. Newer
    /// runtimes put the last two, a struct's box and an empty array, on the frozen heap.
    /// </summary>
    static class Statics
    {
        public static readonly Fixed First = new Fixed(), Second = new Fixed();
        public static Static Value;
        public static readonly InEmpty[] Empty = Array.Empty<InEmpty>();
    }

    static class Program
    {
        static object[] kept;
        static int n;

        static int Main(string[] args)
        {
            n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            kept = new object[10 * n];
            int at = 0;
            Fill(ref at);
            Statics.Value.A = Statics.Empty.Length + Statics.Second.A;
            Truth.Site(typeof(Statics).TypeInitializer, typeof(Fixed), 2, 2 * Size.Object(8));
            Truth.OfType(typeof(Static), 1, Size.Object(16));
            Truth.OfType(typeof(InEmpty[]), 1, Size.Array(8, 0));
            // Twice: what is finalizable goes through a queue, and nothing else may stay behind.
            for (int i = 0; i < 2; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            GC.KeepAlive(kept);
            return Truth.Print();
        }

        static void Fill(ref int at)
        {
            for (int i = 0; i < n; i++)
            {
                kept[at++] = NewSmall();
                kept[at++] = NewFinalizable();
                kept[at++] = NewNode(i);
                kept[at++] = NewNode("x");
                kept[at++] = NewArray(i % 50);
                kept[at++] = NewGrid(i % 7);
                kept[at++] = NewBoxed(i);
            }
            Say("NewSmall", typeof(Small), n, n * Size.Object(16));
            Say("NewFinalizable", typeof(Finalizable), n, n * Size.Object(4));
            Say("NewNode", typeof(Node<int>), n, n * Size.Object(16));
            Say("NewNode", typeof(Node<string>), n, n * Size.Object(16));
            long arrays = 0, grids = 0;
            for (int i = 0; i < n; i++)
            {
                arrays += Size.Array(8, i % 50);
                grids += Size.Array(2, 4, 3 * (i % 7));
            }
            Say("NewArray", typeof(InSmall[]), n, arrays);
            Say("NewGrid", typeof(InGrid[,]), n, grids);
            Say("NewBoxed", typeof(Boxed), n, n * Size.Object(12));
            for (int i = 0; i < 20; i++)
                kept[at++] = NewLarge();
            Say("NewLarge", typeof(InLarge[]), 20, 20 * Size.Array(16, 10_000));
            MethodInfo pinned = typeof(GC).GetMethod("AllocateArray");
            if (pinned == null)
                return; // before .NET 5
            var make = (Func<int, bool, InPinned[]>)pinned.MakeGenericMethod(typeof(InPinned)).CreateDelegate(typeof(Func<int, bool, InPinned[]>));
            for (int i = 0; i < 50; i++)
                kept[at++] = make(i, true);
            long bytes = 0;
            for (int i = 0; i < 50; i++)
                bytes += Size.Array(24, i);
            Truth.OfType(typeof(InPinned[]), 50, bytes);
        }

        static void Say(string function, Type type, long objects, long bytes) =>
            Truth.Site(Truth.Method(typeof(Program), function), type, objects, bytes);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewSmall() => new Small();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewFinalizable() => new Finalizable();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewNode<T>(T value) => new Node<T> { Value = value };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewArray(int length) => new InSmall[length];

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewGrid(int length) => new InGrid[3, length];

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewBoxed(int i) => new Boxed { A = i };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object NewLarge() => new InLarge[10_000];
    }
}
