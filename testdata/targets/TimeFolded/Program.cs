// TimeFolded WHAT N: recursion of which there are more paths than any profiler keeps, and code that comes later.
//
//   pairs     two functions that call each other and themselves, N levels; then another two; then a function that sleeps
//             in two calls of another one, 50 ms each
//   down      a function that calls itself, N deep
//   several   two functions that call each other by delegates of two types, which are instances of one, and that go over
//             arrays of two types by one generic method, N levels; the last one sleeps 100 ms

using System;
using System.Reflection;
using System.Threading;

namespace TimeFolded
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = int.Parse(args[1]);
            if (args[0] == "pairs")
                Pairs(n);
            else if (args[0] == "several")
                Several(n);
            else
                Down(n);
            return Calls.Print();
        }

        static MethodBase Of(string name) => Calls.Method(typeof(Shapes), name);

        static void Pairs(int n)
        {
            Shapes.All(n);
            Calls.By(Calls.Method(typeof(Program), "Pairs"), Of("All"), 1);
            long half = 1L << n - 1; // calls of each of the two that make calls: one more of the first, which is called from above
            foreach (var (one, other) in new[] { ("First", "Second"), ("Third", "Fourth") })
            {
                Calls.By(Of("All"), Of(one), 1);
                Calls.By(Of(one), Of(one), half);
                Calls.By(Of(one), Of(other), half);
                Calls.By(Of(other), Of(one), half - 1);
                Calls.By(Of(other), Of(other), half - 1);
            }
            Calls.By(Of("All"), Of("After"), 1);
            Calls.By(Of("After"), Of("Inner"), 2);
        }

        static void Down(int n)
        {
            var thread = new Thread(() => Shapes.Down(n), 256 << 20);
            thread.Start();
            thread.Join();
            Calls.Of(Of("Down"), n + 1L);
        }

        static void Several(int n)
        {
            Instances.All(n);
            MethodBase number = Calls.Method(typeof(Instances), "Number"), word = Calls.Method(typeof(Instances), "Word");
            Calls.By(Calls.Method(typeof(Program), "Several"), Calls.Method(typeof(Instances), "All"), 1);
            Calls.Of(number, n / 2 + 1L);
            Calls.Of(word, (n + 1L) / 2);
        }
    }

    static class Instances
    {
        public static int All(int n) => Number(n);

        static int Number(int n)
        {
            if (n == 0)
                Thread.Sleep(100);
            else
                Array.ForEach(new[] { n }, i => new Func<string>(() => Word(i - 1))());
            return n;
        }

        static string Word(int n)
        {
            if (n == 0)
                Thread.Sleep(100);
            else
                Array.ForEach(new[] { "" }, _ => new Func<int>(() => Number(n - 1))());
            return "";
        }
    }

    static class Shapes
    {
        public static long All(int n)
        {
            long sum = First(n) + Third(n);
            After();
            return sum;
        }

        static long First(int n) => n == 0 ? 1 : Second(n - 1) + First(n - 1);
        static long Second(int n) => n == 0 ? 1 : First(n - 1) + Second(n - 1);
        static long Third(int n) => n == 0 ? 1 : Fourth(n - 1) + Third(n - 1);
        static long Fourth(int n) => n == 0 ? 1 : Third(n - 1) + Fourth(n - 1);

        static void After()
        {
            Inner();
            Inner();
        }

        static void Inner() => Thread.Sleep(50);

        public static long Down(int n) => n == 0 ? 0 : Down(n - 1) + 1;
    }
}
