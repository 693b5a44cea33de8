// Calls tests as their frameworks do, and knows what each case makes: n widgets for the argument n.
using System;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.VisualStudio.TestTools.UnitTesting;
using NUnit.Framework;
using Xunit;

namespace Cases
{
    public sealed class Widget { public long Value; }

    public sealed class SlowTheoryAttribute : TheoryAttribute { }

    public class Tests
    {
        static Widget kept;
        readonly Barrier both = new Barrier(2);

        static void Make(int n) { for (int i = 0; i < n; i++) kept = new Widget { Value = i }; }

        [Theory, InlineData(10), InlineData(500)] public void Inline(int n) => Make(n);
        [TestCase("a\"\n", -3), TestCase(null, 7)] public void Texts(string s, sbyte n) => Make(n < 0 ? 3 : n);
        [TestMethod, DataRow('x', true, 1.5)] public static void Values(char c, bool b, double d, float f, ulong big) => Make(4);
        [Test] public void Objects(object o, int[] list, DayOfWeek day) => Make(list.Length);
        [SlowTheory, InlineData(1)] public void Many(int a, int b, int c, int d, int e, int f, int g) => Make(a);
        [Theory] public void Recurses(int n) { Make(n); if (n > 1) Recurses(n - 1); }
        [Theory] public void Throws(int n) { Make(n); throw new InvalidOperationException(); }
        [Theory] public async Task Waits(int n) { Make(n); await Task.Yield(); Make(100); }
        [Theory] public void Together(int n)
        {
            both.SignalAndWait();
            for (int i = 0; i < n; i++) { Make(1); if (i % 100 == 0) both.SignalAndWait(); }
        }
        [Theory] public void Quiet(int n) { }
        [Fact] public void Alone() => Make(5);
        public void NoTest(int n) => Make(n);
    }

    static class Program
    {
        static readonly Tests tests = new Tests();

        static object Call(string name, params object[] arguments)
        {
            try { return typeof(Tests).GetMethod(name).Invoke(tests, arguments); }
            catch (TargetInvocationException) { return null; }
        }

        static void Main()
        {
            Call("Inline", 10);
            Call("Inline", 500);
            Call("Inline", 500);
            Call("Texts", "a\"\n", (sbyte)-3);
            Call("Texts", null, (sbyte)7);
            Call("Values", 'x', true, 1.5, 0.1f, ulong.MaxValue);
            Call("Objects", "o", new int[2], DayOfWeek.Friday);
            Call("Objects", 1, new int[6], DayOfWeek.Monday);
            Call("Many", 1, 2, 3, 4, 5, 6, 7);
            Call("Recurses", 4);
            Call("Throws", 9);
            ((Task)Call("Waits", 20)).Wait();
            var other = new Thread(() => Call("Together", 300));
            other.Start();
            Call("Together", 299);
            other.Join();
            Call("Quiet", 1);
            Call("Alone");
            tests.NoTest(50);
            tests.Inline(11); // no call by reflection
        }
    }
}
