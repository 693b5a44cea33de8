// Allocations under a stack of known depth, timed from inside, in ROUNDS rounds of COUNT, by the thread's processor time: other
// load of the machine shows in some rounds only. Prints one line: the median and the least nanoseconds per allocation of a round.
// Arguments: KIND DEPTH COUNT ROUNDS, where KIND is
//   same    one line allocates one class: the stack never changes
//   lines   four lines of one function allocate four classes: the innermost instruction changes each time
//   leaves  a small callee allocates, called from four places
//   tree    a recursion over a binary tree of callers: the stack changes by a few frames each time
//   wide    100,000 different stacks: five functions on top of each other, each called from ten places of the one before
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Alloc
{
    sealed class A { public object Field; }
    sealed class B { public object Field; }
    sealed class C { public object Field; }
    sealed class D { public object Field; }

    static class Program
    {
        struct Time { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Time time);

        static long ProcessorTime()
        {
            clock_gettime(3 /* CLOCK_THREAD_CPUTIME_ID */, out Time time);
            return time.Seconds * 1000000000 + time.Nanoseconds;
        }

        static object sink;

        static int Main(string[] args)
        {
            string kind = args[0];
            int depth = int.Parse(args[1]), count = int.Parse(args[2]);
            var rounds = new double[int.Parse(args[3])];
            for (int i = 0; i < 3; i++)
                Down(kind, depth, count); // warm up: tiers, caches
            for (int i = 0; i < rounds.Length; i++)
            {
                long begin = ProcessorTime();
                Down(kind, depth, count);
                rounds[i] = (double)(ProcessorTime() - begin) / count;
            }
            Array.Sort(rounds);
            Console.WriteLine("{0:F2} {1:F2}", rounds[rounds.Length / 2], rounds[0]);
            return sink == null ? 1 : 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Down(string kind, int depth, int count)
        {
            // Main, this function depth times, and the loop below are depth + 2 frames.
            if (depth > 1)
                return Down(kind, depth - 1, count) + 1;
            switch (kind)
            {
                case "same": Same(count); break;
                case "lines": Lines(count); break;
                case "leaves": Leaves(count); break;
                case "wide": for (int left = count; left > 0; left -= 100000) Wide(5); break;
                case "tree": while (count > 0) count -= Tree(12); break;
                default: throw new ArgumentException(kind);
            }
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Same(int count)
        {
            for (int i = 0; i < count; i++)
                sink = new A();
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Lines(int count)
        {
            for (int i = 0; i < count; i += 4)
            {
                sink = new A();
                sink = new B();
                sink = new C();
                sink = new D();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static object Make() => new A();

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Leaves(int count)
        {
            for (int i = 0; i < count; i += 4)
            {
                sink = Make();
                sink = Make();
                sink = Make();
                sink = Make();
            }
        }

        // Allocates ten to the power of level objects, each under a stack of its own.
        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static void Wide(int level)
        {
            if (level == 0)
            {
                sink = new A();
                return;
            }
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            Wide(level - 1);
            depth--;
        }

        static int depth;

        // Allocates once per node of the tree; returns how many.
        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        static int Tree(int levels)
        {
            sink = new A();
            if (levels == 0)
                return 1;
            int left = Tree(levels - 1);
            int right = Tree(levels - 1);
            return left + right + 1;
        }
    }
}
