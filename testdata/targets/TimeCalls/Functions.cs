using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

namespace TimeCalls
{
    /// <summary>Functions that are called through delegates, and those that framework code calls back.</summary>
    static class Functions
    {
        static int sum;
        static long compared;

        static int One(int a) => a + 1;
        static int Two(int a) => a + 2;

        public static void Run(int n)
        {
            Func<int, int> one = One, both = One;
            both += Two;
            both += One;
            int captured = 3;
            Func<int, int> closure = a => a + captured;
            Func<int, int> lambda = a => a + 4;
            int Local(int a) => a + 5;
            int Capturing(int a) => a + captured;
            for (int i = 0; i < n; i++)
            {
                sum += one(i) + both(i) + closure(i) + lambda(i) + Local(i) + Capturing(i);
                captured++;
            }
            sum++;
        }

        public static void SayRun(int n)
        {
            MethodBase run = Calls.Method(typeof(Functions), "Run");
            Calls.By(run, Calls.Method(typeof(Functions), "One"), 3 * n);
            Calls.By(run, Calls.Method(typeof(Functions), "Two"), n);
            Calls.By(run, Calls.Made(typeof(Functions), "<Run>b__0"), n);
            Calls.By(run, Calls.Made(typeof(Functions).GetNestedType("<>c", BindingFlags.NonPublic), "<Run>b__"), n);
            Calls.By(run, Calls.Made(typeof(Functions), "<Run>g__Local"), n);
            Calls.By(run, Calls.Made(typeof(Functions), "<Run>g__Capturing"), n);
            Calls.By(run, Calls.Method(Calls.Made(typeof(Functions), "<Run>g__Capturing").DeclaringType, ".ctor"), 1);
            Calls.Lambdas(typeof(Functions));
        }

        public static void Back(int n)
        {
            List<int> list = Enumerable.Range(0, n).Select(Doubled).Where(IsOdd).ToList();
            list.AddRange(new int[n]);
            list.ForEach(Add);
            list.Sort(Compare);
            sum += Array.ConvertAll(new int[n], Converted).Length;
            sum += new int[n].Aggregate(Folded);
            sum += new Dictionary<Key, int> { { new Key(1), 1 } }[new Key(1)];
            sum++;
        }

        static int Doubled(int a) => 2 * a + 1;
        static bool IsOdd(int a) => (a & 1) == 1;
        static void Add(int a) => sum += a;
        static string Converted(int a) => null;
        static int Folded(int a, int b) => a + b;

        static int Compare(int a, int b)
        {
            compared++;
            return a < b ? -1 : a > b ? 1 : 0;
        }

        struct Key : IEquatable<Key>
        {
            readonly int a;
            public Key(int a) { this.a = a; }
            public bool Equals(Key other) => a == other.a;
            public override int GetHashCode() => a;
        }

        public static void SayBack(int n)
        {
            Type list = typeof(List<int>);
            MethodBase back = Calls.Method(typeof(Functions), "Back");
            MethodBase toList = Calls.Method(typeof(Enumerable), "ToList"), each = Calls.Method(list, "ForEach"), sort = Calls.Method(list, "Sort", typeof(Comparison<int>));
            MethodBase convert = Calls.Method(typeof(Array), "ConvertAll"), aggregate = SayAggregate();
            foreach (MethodBase framework in new[] { toList, each, sort, convert, aggregate })
                Calls.By(back, framework, 1);
            // The last that ToList does is to call another function of the framework: a tail call, in optimized code.
            Calls.Of(Calls.Method(typeof(Functions), "Doubled"), n);
            Calls.Of(Calls.Method(typeof(Functions), "IsOdd"), n);
            Calls.By(each, Calls.Method(typeof(Functions), "Add"), 2 * n);
            Calls.By(sort, Calls.Method(typeof(Functions), "Compare"), compared);
            Calls.By(convert, Calls.Method(typeof(Functions), "Converted"), n);
            Calls.By(aggregate, Calls.Method(typeof(Functions), "Folded"), n - 1);
            Calls.By(back, Calls.Method(typeof(Key), ".ctor"), 2);
            Calls.Of(Calls.Method(typeof(Key), "GetHashCode"), 2);
            Calls.Of(Calls.Method(typeof(Key), "Equals"), 1);
        }

        // The one with a function alone; its parameters are generic.
        static MethodBase SayAggregate() => typeof(Enumerable).GetMethods().Single(m => m.Name == "Aggregate" && m.GetParameters().Length == 2);
    }
}
