using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Shapes
{
    /// <summary>Arrays on the pinned object heap, which .NET has since version 5.</summary>
    static class Pinned
    {
        static Func<int, bool, byte[]> allocate;

        public static void Run(int n)
        {
            MethodInfo method = typeof(GC).GetMethod("AllocateArray");
            if (method == null)
                return;
            allocate = (Func<int, bool, byte[]>)method.MakeGenericMethod(typeof(byte)).CreateDelegate(typeof(Func<int, bool, byte[]>));
            Truth.Inclusive(Small, n, new Made(typeof(byte[]), 1, Size.Array(1, 100)));
            Truth.Inclusive(Large, 20, new Made(typeof(byte[]), 1, Size.Array(1, 200_000)));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Small(int n) { for (int i = 0; i < n; i++) Bodies.Sink = allocate(100, true); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Large(int n) { for (int i = 0; i < n; i++) Bodies.Sink = allocate(200_000, true); }
    }
}
