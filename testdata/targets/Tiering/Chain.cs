using System;
using System.Runtime.CompilerServices;

namespace Tiering
{
    interface ILink { long Go(long a); }

    sealed class Link : ILink
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public long Go(long a) => Chain.Generic<string>(a + 1) + 1;
    }

    /// <summary>
    /// Small functions that call each other in every way there is. Optimized, most
    /// have no frame pointer. Each works on the result, so none is a tail call.
    /// </summary>
    static class Chain
    {
        static readonly ILink link = new Link();
        static readonly Func<long, long> func = ByDelegate;
        static long sum;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Run(int n) { for (int i = 0; i < n; i++) sum += First(i); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long First(long a) => Second(a + 1, a) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Second(long a, long b) => ByInterface(a) + b;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long ByInterface(long a) => link.Go(a) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Generic<T>(long a) => CallDelegate(a) + (typeof(T) == typeof(string) ? 1 : 0);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long CallDelegate(long a) => func(a) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long ByDelegate(long a) => Many(a, 1, 2, 3, 4, 5, 6, 7.0) + 1;

        // More arguments than registers.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Many(long a, long b, long c, long d, long e, long f, long g, double h) => Twice(a + g) + b + c + d + e + f + (long)h;

        // Two ways to the bottom, from one function.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Twice(long a) => Bottom(a).A + Bottom(a + 1).A;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Item Bottom(long a) => new Item { A = a };

        /// <summary>Each function of the chain is above two objects, each time.</summary>
        public static void Say(long times, Made item)
        {
            foreach (string name in new[] { "First", "Second", "ByInterface", "Generic", "CallDelegate", "ByDelegate", "Many", "Twice" })
                Truth.Below(Truth.Method(typeof(Chain), name), item.Type, 2 * times, 2 * times * item.Bytes);
            Truth.Below(Truth.Method(typeof(Link), "Go"), item.Type, 2 * times, 2 * times * item.Bytes);
        }
    }
}
