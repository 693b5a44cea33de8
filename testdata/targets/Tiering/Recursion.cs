using System.Runtime.CompilerServices;

namespace Tiering
{
    /// <summary>
    /// Functions that call themselves and each other. However often one of them is
    /// on the stack, its inclusive values count an object once.
    /// </summary>
    static class Recursion
    {
        static object sink;

        public static void Run(int depth, int times)
        {
            long size = Size.Object(16);
            long both = (long)depth * times;
            for (int i = 0; i < times; i++)
            {
                Self(depth);
                Even(depth);
                Top(depth);
            }
            Truth.Site(Truth.Method(typeof(Recursion), "Self"), typeof(Item), both, both * size);

            // Even and Odd take turns, Even first; each is above all but the first
            // object of the other.
            long even = (long)((depth + 1) / 2) * times, odd = (long)(depth / 2) * times;
            Truth.Site(Truth.Method(typeof(Recursion), "Even"), typeof(Item), even, even * size);
            Truth.Site(Truth.Method(typeof(Recursion), "Odd"), typeof(Item), odd, odd * size);
            Truth.Below(Truth.Method(typeof(Recursion), "Even"), typeof(Item), odd, odd * size);
            Truth.Below(Truth.Method(typeof(Recursion), "Odd"), typeof(Item), even - times, (even - times) * size);

            // Down makes nothing until the end.
            Truth.Site(Truth.Method(typeof(Recursion), "Top"), typeof(Item), times, times * size);
            Truth.Site(Truth.Method(typeof(Recursion), "End"), typeof(Item), times, times * size);
            Truth.Below(Truth.Method(typeof(Recursion), "Down"), typeof(Item), times, times * size);
            Truth.Below(Truth.Method(typeof(Recursion), "Top"), typeof(Item), times, times * size);
        }

        // None of these is a tail call: there is work after each.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Self(int depth)
        {
            sink = new Item { A = depth };
            return depth == 1 ? 1 : Self(depth - 1) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Even(int depth)
        {
            sink = new Item { A = depth };
            return depth == 1 ? 1 : Odd(depth - 1) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Odd(int depth)
        {
            sink = new Item { B = depth };
            return depth == 1 ? 1 : Even(depth - 1) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Top(int depth)
        {
            sink = new Item();
            return Down(depth) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Down(int depth) => (depth == 1 ? End() : Down(depth - 1)) + 1;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int End()
        {
            sink = new Item();
            return sink.GetHashCode() & 1;
        }
    }
}
