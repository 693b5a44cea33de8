using System.Runtime.CompilerServices;

namespace Tiering
{
    static class Loops
    {
        public static object Sink;

        // Called twice, it is at tier 0 when its loop gets hot, so that the runtime
        // replaces it on the stack, in the middle of the loop.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Hot(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Item { A = i }; } }

        // It goes on long enough for Leaf to be compiled again.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Calls(int n)
        {
            uint state = 1;
            for (int i = 0; i < n; i++)
            {
                for (int j = 0; j < 300; j++)
                    state = state * 1664525 + 1013904223;
                Leaf(state);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Leaf(uint a) => Sink = new Item { A = a };

        // Three loops, each of which can be where the code is replaced.
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Nested(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Sink = new Item { A = i }; var all = new int[3]; Sink = all;
                for (int j = 0; j < all.Length; j++)
                {
                    all[j] = j;
                    if (j < 2) { Sink = new Item { A = j }; }
                }
            }
        }
    }
}
