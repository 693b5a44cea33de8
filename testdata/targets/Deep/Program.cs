// Deep [LEVELS]: stacks that are deep, and stacks that only look like the one before.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Deep
{
    sealed class Narrow { public long A; }
    sealed class Wide { public long A, B; }
    sealed class Level { public long A, B, C; }
    sealed class Step { public long A, B, C, D; }

    static class Program
    {
        static object sink;

        static int Main(string[] args)
        {
            int levels = args.Length > 0 ? int.Parse(args[0]) : 100000;
            // Once optimized, a call of Narrower has 16 bytes of the stack, one of Wider 48, and neither has a frame
            // pointer: the frames of what they call lie where they were, below three times as many callers.
            long rounds = 0, narrow = 0, wide = 0;
            for (int n = 1; n <= 512; n *= 2)
                for (int again = 0; again < 3; again++, rounds++)
                {
                    Wider(n - 1, 1, 2, 3, 4, 5);
                    wide++;
                    Narrower(3 * n - 1, 1);
                    narrow++;
                }
            Say("Wider", typeof(Wide), wide, Size.Object(16));
            Say("Narrower", typeof(Narrow), narrow, Size.Object(8));
            var thread = new Thread(() => Down(levels), 1 << 30);
            thread.Start();
            thread.Join();
            Say("Down", typeof(Level), levels, Size.Object(24));
            Say("Back", typeof(Step), levels, Size.Object(32));
            return Truth.Print();
        }

        static void Say(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Site(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Narrower(int n, long a)
        {
            if (n == 0)
            {
                sink = new Narrow();
                return a;
            }
            return Narrower(n - 1, a) + a;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static long Wider(int n, long a, long b, long c, long d, long e)
        {
            if (n == 0)
            {
                sink = new Wide();
                return a;
            }
            return Wider(n - 1, a, b, c, d, e) + a - (b ^ c) + (d ^ e);
        }

        /// <summary>Allocates at every level, on the way down and on the way back.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Down(int n)
        {
            sink = new Level();
            int below = n > 1 ? Down(n - 1) : 0;
            Back();
            return below + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Back() { sink = new Step(); }
    }
}
