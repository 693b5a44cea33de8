// TimeFolded WHAT N: recursion of which there are more paths than any profiler keeps, and code that comes later.
//
//   pairs     two functions that call each other and themselves, N levels; then another two; then a function that sleeps
//             in two calls of another one, 50 ms each
//   down      a function that calls itself, N deep
//   several   two functions that call each other by delegates of two types, which are instances of one, and that go over
//             arrays of two types by one generic method, N levels; the last one sleeps 100 ms
//   late      33,000 paths of six functions, 40 levels deep, and then a thread that calls a function there N times

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
            else if (args[0] == "late")
                Late(n);
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

        static void Late(int n)
        {
            Chain.D1(-1);
            var thread = new Thread(() => Chain.D1(n));
            thread.Start();
            thread.Join();
            Calls.Of(Calls.Method(typeof(Chain), "Leaf"), n + 1L);
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

    static class Wide
    {
        public static long W1() => W2() + W2() + W2() + W2() + W2() + W2() + W2() + W2();
        public static long W2() => W3() + W3() + W3() + W3() + W3() + W3() + W3() + W3();
        public static long W3() => W4() + W4() + W4() + W4() + W4() + W4() + W4() + W4();
        public static long W4() => W5() + W5() + W5() + W5() + W5() + W5() + W5() + W5();
        public static long W5() => W6() + W6() + W6() + W6() + W6() + W6() + W6() + W6();
        static long W6() => 1;
    }

    // Each of these calls the next one, once; D31 calls N times, or if that is negative once, for what is wide.
    static class Chain
    {
        public static long D1(int n) => D2(n);
        static long D2(int n) => D3(n);
        static long D3(int n) => D4(n);
        static long D4(int n) => D5(n);
        static long D5(int n) => D6(n);
        static long D6(int n) => D7(n);
        static long D7(int n) => D8(n);
        static long D8(int n) => D9(n);
        static long D9(int n) => D10(n);
        static long D10(int n) => D11(n);
        static long D11(int n) => D12(n);
        static long D12(int n) => D13(n);
        static long D13(int n) => D14(n);
        static long D14(int n) => D15(n);
        static long D15(int n) => D16(n);
        static long D16(int n) => D17(n);
        static long D17(int n) => D18(n);
        static long D18(int n) => D19(n);
        static long D19(int n) => D20(n);
        static long D20(int n) => D21(n);
        static long D21(int n) => D22(n);
        static long D22(int n) => D23(n);
        static long D23(int n) => D24(n);
        static long D24(int n) => D25(n);
        static long D25(int n) => D26(n);
        static long D26(int n) => D27(n);
        static long D27(int n) => D28(n);
        static long D28(int n) => D29(n);
        static long D29(int n) => D30(n);
        static long D30(int n) => D31(n);
        static long D31(int n)
        {
            long sum = n < 0 ? D32(n) : 0;
            for (int i = 0; i < n; i++)
                sum += D32(i);
            return sum;
        }
        static long D32(int n) => D33(n);
        static long D33(int n) => D34(n);
        static long D34(int n) => D35(n);
        static long D35(int n) => D36(n);
        static long D36(int n) => D37(n);
        static long D37(int n) => D38(n);
        static long D38(int n) => D39(n);
        static long D39(int n) => D40(n);
        static long D40(int n) => Leaf(n);

        static long Leaf(int n)
        {
            if (n < 0)
                return Wide.W1();
            for (int i = 0; i < 30000; i++)
                n = n * 31 + i;
            return n;
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
