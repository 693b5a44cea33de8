// Stacks LEVELS [wait]: allocates one object under each of 2^LEVELS stacks, of LEVELS + 1 frames. With wait it prints "ready"
// and reads a line before.

using System;
using System.Runtime.CompilerServices;

namespace Stacks
{
    sealed class Item { public long A, B; }

    static class Program
    {
        static object sink;

        static int Main(string[] args)
        {
            int levels = int.Parse(args[0]);
            if (args.Length > 1)
            {
                Console.WriteLine("ready");
                Console.ReadLine();
            }
            Left(levels);
            long half = 1L << (levels - 1);
            Truth.Site(Truth.Method(typeof(Program), "Left"), typeof(Item), half, half * Size.Object(16));
            Truth.Site(Truth.Method(typeof(Program), "Right"), typeof(Item), half, half * Size.Object(16));
            // All are below the first call of Left, and all but the leftmost below some call of Right.
            Truth.Below(Truth.Method(typeof(Program), "Left"), typeof(Item), half, half * Size.Object(16));
            Truth.Below(Truth.Method(typeof(Program), "Right"), typeof(Item), half - 1, (half - 1) * Size.Object(16));
            return Truth.Print();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Left(int level)
        {
            if (level > 0)
                return Left(level - 1) + Right(level - 1);
            sink = new Item();
            return 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Right(int level)
        {
            if (level > 0)
                return Left(level - 1) + Right(level - 1);
            sink = new Item();
            return 1;
        }
    }
}
