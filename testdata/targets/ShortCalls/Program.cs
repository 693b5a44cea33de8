// ShortCalls SHAPE ROUNDS: short calls, by two classes of the same code, of which a test records one. They take turns, so a machine that
// is slow for a while is slow for both, and what the other one takes of a processor is what the recorded one would.
//
//   leaf      one function that does next to nothing
//   nested    functions that call functions that call it
//   virtual   two methods in turn, by an interface
//   walk      a function that reads memory for longer than its probes take
//   fib       one that calls itself, from two places
//
// Prints {"truth":"short","cpu":N}, the nanoseconds of a processor of the class that is not recorded.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ShortCalls
{
    interface IStep { long Do(long x); }

    static class Probed
    {
        const MethodImplOptions Whole = MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;

        sealed class Add : IStep { [MethodImpl(Whole)] public long Do(long x) => x + 1; }

        sealed class Multiply : IStep { [MethodImpl(Whole)] public long Do(long x) => x * 3; }

        static readonly IStep[] steps = { new Add(), new Multiply(), new Add(), new Multiply() };
        static readonly long[] data = new long[1 << 16];
        static long count;

        [MethodImpl(Whole)]
        static long Leaf(long x) { count++; return x * 3; }

        [MethodImpl(Whole)]
        static long Two(long x) => Leaf(x) + Leaf(x + 1);

        [MethodImpl(Whole)]
        static long Four(long x) => Two(x) ^ Two(x + 7);

        [MethodImpl(Whole)]
        static long Fib(int k) => k < 2 ? k : Fib(k - 1) + Fib(k - 2);

        [MethodImpl(Whole)]
        static long Walk(long x)
        {
            long sum = 0;
            for (int i = 0; i < 40; i++)
                sum += data[(x * 977 + i * 131) & 0xFFFF];
            return sum;
        }

        [MethodImpl(Whole)]
        public static long Run(string shape)
        {
            long sum = 0;
            for (int i = 0; i < Program.Calls; i++)
                switch (shape)
                {
                    case "leaf": sum += Leaf(i); break;
                    case "nested": sum += Four(i); i += 6; break;
                    case "virtual": sum += steps[i & 3].Do(i); break;
                    case "walk": sum += Walk(i); break;
                    case "fib": sum += Fib(17); i += 5167; break;
                }
            return sum;
        }
    }

    static class Plain // the same, letter by letter
    {
        const MethodImplOptions Whole = MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;

        sealed class Add : IStep { [MethodImpl(Whole)] public long Do(long x) => x + 1; }

        sealed class Multiply : IStep { [MethodImpl(Whole)] public long Do(long x) => x * 3; }

        static readonly IStep[] steps = { new Add(), new Multiply(), new Add(), new Multiply() };
        static readonly long[] data = new long[1 << 16];
        static long count;

        [MethodImpl(Whole)]
        static long Leaf(long x) { count++; return x * 3; }

        [MethodImpl(Whole)]
        static long Two(long x) => Leaf(x) + Leaf(x + 1);

        [MethodImpl(Whole)]
        static long Four(long x) => Two(x) ^ Two(x + 7);

        [MethodImpl(Whole)]
        static long Fib(int k) => k < 2 ? k : Fib(k - 1) + Fib(k - 2);

        [MethodImpl(Whole)]
        static long Walk(long x)
        {
            long sum = 0;
            for (int i = 0; i < 40; i++)
                sum += data[(x * 977 + i * 131) & 0xFFFF];
            return sum;
        }

        [MethodImpl(Whole)]
        public static long Run(string shape)
        {
            long sum = 0;
            for (int i = 0; i < Program.Calls; i++)
                switch (shape)
                {
                    case "leaf": sum += Leaf(i); break;
                    case "nested": sum += Four(i); i += 6; break;
                    case "virtual": sum += steps[i & 3].Do(i); break;
                    case "walk": sum += Walk(i); break;
                    case "fib": sum += Fib(17); i += 5167; break;
                }
            return sum;
        }
    }

    static class Program
    {
        public const int Calls = 5000; // of a turn, or as many as the shape makes at once: shorter than a tick of the kernel's scheduler
        const int ThreadCpu = 3;       // CLOCK_THREAD_CPUTIME_ID

        struct Timespec { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Timespec time);

        static long Now()
        {
            clock_gettime(ThreadCpu, out Timespec t);
            return t.Seconds * 1000000000 + t.Nanoseconds;
        }

        // Compiling them is no part of what they take.
        static void Prepare(Type type)
        {
            const BindingFlags Own = BindingFlags.Static | BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
            foreach (MethodInfo method in type.GetMethods(Own))
                RuntimeHelpers.PrepareMethod(method.MethodHandle);
            foreach (Type nested in type.GetNestedTypes(Own))
                Prepare(nested);
            RuntimeHelpers.RunClassConstructor(type.TypeHandle);
        }

        static int Main(string[] args)
        {
            long cpu = 0, sum = 0;
            foreach (Type type in new[] { typeof(Probed), typeof(Plain) })
                Prepare(type);
            for (int i = int.Parse(args[1]); i > 0; i--)
            {
                long begin = Now();
                sum += Plain.Run(args[0]);
                cpu += Now() - begin;
                sum -= Probed.Run(args[0]);
            }
            Console.WriteLine("{\"truth\":\"short\",\"cpu\":" + cpu + "}");
            Console.WriteLine("{\"truth\":\"end\",\"ok\":" + (sum != 1 ? "true" : "false") + "}");
            return 0;
        }
    }
}
