using System.Reflection;

namespace TimeCalls
{
    /// <summary>Functions that call themselves and each other, and calls that an optimizing compiler makes jumps.</summary>
    static class Depth
    {
        static long sum;

        // There is work after each of these.
        static long Self(int depth) => depth == 0 ? 0 : Self(depth - 1) + 1;
        static long Even(int depth) => depth == 0 ? 0 : Odd(depth - 1) + 1;
        static long Odd(int depth) => depth == 0 ? 0 : Even(depth - 1) + 1;
        static long Fibonacci(int n) => n < 2 ? 1 : Fibonacci(n - 1) + Fibonacci(n - 2);

        // And after none of these.
        static long TailSelf(int depth, long a) => depth == 0 ? a : TailSelf(depth - 1, a + 1);
        static long TailEven(int depth, long a) => depth == 0 ? a : TailOdd(depth - 1, a + 1);
        static long TailOdd(int depth, long a) => depth == 0 ? a : TailEven(depth - 1, a + 2);
        static long First(int a) => Second(a, a + 1);
        static long Second(int a, int b) => Third(a, b, a + b);
        static long Third(int a, int b, int c) => Calm(a + b + c);
        static long Calm(int a) => a;

        public const int Deep = 5000;
        const int Small = 15;

        public static void Run(int n)
        {
            for (int i = 0; i < n; i++)
            {
                sum += Self(10) + Even(10) + Fibonacci(Small);
                sum += TailSelf(10, 0) + TailEven(10, 0) + First(i);
            }
            sum += Self(Deep) + Even(Deep) + 1;
        }

        public static void Say(int n)
        {
            MethodBase run = SayOf("Run"), self = SayOf("Self"), even = SayOf("Even"), odd = SayOf("Odd"), fibonacci = SayOf("Fibonacci");
            Calls.By(run, self, n + 1);
            Calls.By(self, self, 10 * n + Deep);
            Calls.By(run, even, n + 1);
            Calls.By(even, odd, 5 * n + Deep / 2);
            Calls.By(odd, even, 5 * n + Deep / 2);
            long calls = 2 * Fibonacci(Small) - 1; // Fibonacci(n) leaves, and one less that add two results
            Calls.By(run, fibonacci, n);
            Calls.By(fibonacci, fibonacci, (calls - 1) * n);
            Calls.Of(SayOf("TailSelf"), 11 * n);
            Calls.Of(SayOf("TailEven"), 6 * n);
            Calls.Of(SayOf("TailOdd"), 5 * n);
            foreach (string name in new[] { "Second", "Third", "Calm" })
                Calls.Of(SayOf(name), n);
            Calls.By(run, SayOf("First"), n);
            Calls.By(SayOf("Say"), fibonacci, 1); // the call above
            Calls.By(fibonacci, fibonacci, calls - 1);
        }

        static MethodBase SayOf(string name) => Calls.Method(typeof(Depth), name);
    }
}
