using System;
using System.Runtime.CompilerServices;

namespace Tiering
{
    sealed class Caught { public long A; }
    sealed class Filtered { public long A; }
    sealed class Finished { public long A; }

    /// <summary>
    /// Objects made in finally blocks, filters and catch blocks. Each is a piece of
    /// code with a frame of its own, which belongs to its function.
    /// </summary>
    static class Handlers
    {
        static object sink;
        static int zero, quotient;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Finally(int n)
        {
            for (int i = 0; i < n; i++)
            {
                try { zero = 0; }
                finally { sink = new Item { A = i }; }
            }
        }

        public static void Run(int times)
        {
            for (int i = 0; i < times; i++)
                Catch();
            var function = Truth.Method(typeof(Handlers), "Catch");
            long bytes = times * Size.Object(8);
            Truth.Site(function, typeof(Caught), times, bytes);
            Truth.Site(function, typeof(Filtered), times, bytes);
            Truth.Site(function, typeof(Finished), times, bytes);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Catch()
        {
            try
            {
                try { quotient = 1 / zero; }
                finally { sink = new Finished(); }
            }
            catch (DivideByZeroException) when ((sink = new Filtered()) != null)
            {
                sink = new Caught();
            }
        }
    }
}
