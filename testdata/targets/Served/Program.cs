// Served: a service whose calls are recorded while it runs. It reads what to do, one thing in a line, does it and prints "done":
//   rounds N     do N rounds of work, of which it knows the calls
//   objects N    allocate N objects of the type Item, one in each call of a function
//   trace 0      print stack traces, of a call and of an exception, with lines
//   tell N       print what there must be of so many rounds
//   load N       N threads, and short ones that they start, do what nobody counts, in functions whose names begin with Say, until calm
//   calm 0       no thread does any more
//   end          print what is known, and end
// First it prints "ready" and its process id.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Served
{
    interface IShape { int Area(int n); }
    sealed class Square : IShape { public int Area(int n) => n * n; }
    sealed class Strip : IShape { public int Area(int n) => 2 * n; }

    struct Pair<T> { public T First; public T Swap(T other) { T was = First; First = other; return was; } }

    static class Program
    {
        static volatile bool calm;
        static readonly List<Thread> loading = new List<Thread>();
        internal static long sum;

        static int Main()
        {
            Console.WriteLine("ready");
            Console.WriteLine(Process.GetCurrentProcess().Id);
            for (string line; (line = Console.ReadLine()) != null && line != "end";)
            {
                string[] words = line.Split(' ');
                Do(words[0], int.Parse(words[1]));
                Console.WriteLine("done");
            }
            return Calls.Print();
        }

        static void Do(string what, int n)
        {
            switch (what)
            {
                case "rounds":
                    for (int i = 0; i < n; i++)
                        sum += Work.Round();
                    break;
                case "objects":
                    for (int i = 0; i < n; i++)
                        Work.Make();
                    break;
                case "trace":
                    Console.WriteLine(Work.Trace(2).Replace("\n", "|"));
                    break;
                case "tell":
                    Tell(n);
                    break;
                case "load":
                    calm = false;
                    for (int i = 0; i < n; i++)
                    {
                        var t = new Thread(SayUntilCalm);
                        loading.Add(t);
                        t.Start();
                    }
                    break;
                case "calm":
                    calm = true;
                    foreach (Thread t in loading)
                        t.Join();
                    loading.Clear();
                    break;
                default: throw new ArgumentException(what);
            }
        }

        static void SayUntilCalm()
        {
            for (int turn = 0; !calm; turn++)
            {
                Load.SayTurn(turn);
                if (turn % 8 != 0)
                    continue;
                var once = new Thread(SayOnce); // threads end while others begin and end to be recorded
                once.Start(turn);
                once.Join();
            }
        }

        static void SayOnce(object turn) => Load.SayTurn((int)turn);

        static MethodBase Of(string name) => Calls.Method(typeof(Work), name);

        static void Tell(long rounds)
        {
            Calls.Clear();
            MethodBase round = Of("Round"), parts = Of("Parts");
            long calls = Work.Repeated;
            Calls.Of(round, rounds);
            Calls.By(round, Of("Leaf"), rounds * calls);
            Calls.By(round, Of("Small"), rounds * calls);
            Calls.By(Of("Small"), Of("Smaller"), rounds * calls);
            Calls.By(round, Of("Same"), rounds * 2 * calls);
            Calls.By(round, Calls.Method(typeof(Pair<>), "Swap"), rounds * 2 * calls);
            Calls.By(round, Calls.Method(typeof(Square), "Area"), rounds * calls / 2);
            Calls.By(round, Calls.Method(typeof(Strip), "Area"), rounds * calls / 2);
            Calls.By(round, Of("Catches"), rounds);
            Calls.By(Of("Catches"), Of("Finally"), rounds, rounds);
            Calls.By(Of("Finally"), Of("Throws"), rounds, rounds);
            Calls.Of(Of("Down"), rounds * 11);
            Calls.By(round, Of("Sum"), rounds);
            Calls.By(Of("Sum"), parts, rounds);
            Calls.Unknown(typeof(Work).TypeInitializer);
            Calls.Unknown(Calls.Method(Calls.Machine(parts), "MoveNext"));
            foreach (MethodBase m in Calls.Machine(parts).GetMethods(BindingFlags.NonPublic | BindingFlags.Public | BindingFlags.Instance | BindingFlags.DeclaredOnly))
                Calls.Unknown(m);
            foreach (Type t in new[] { typeof(Square), typeof(Strip), Calls.Machine(parts) })
                Calls.Unknown(Calls.Method(t, ".ctor"));
            Calls.Print();
        }
    }

    sealed class Item { public long A, B; }

    static class Work
    {
        static object made;

        internal static void Make() => made = new Item();

        internal static string Trace(int depth)
        {
            if (depth > 0)
                return Trace(depth - 1) + "";
            string here = new StackTrace(true).ToString();
            try
            {
                Finally();
            }
            catch (InvalidOperationException e)
            {
                here += e.StackTrace;
            }
            return here;
        }

        internal const int Repeated = 20;
        static readonly IShape[] shapes = { new Square(), new Strip() };

        internal static int Round()
        {
            int sum = 0;
            var numbers = new Pair<int>();
            var texts = new Pair<string>();
            for (int i = 0; i < Repeated; i++)
            {
                Leaf();
                sum += Small(i);
                sum += Same(1) + (Same("x") == "x" ? 1 : 0);
                sum += shapes[i % 2].Area(i);
                numbers.Swap(i);
                texts.Swap("x");
            }
            return sum + Catches() + Down(10) + Sum();
        }

        static void Leaf() { }

        static int Small(int n) => Smaller(n) + 1;

        static int Smaller(int n) => n / 2;

        static T Same<T>(T value) => value;

        static int Down(int n) => n == 0 ? 0 : Down(n - 1) + 1;

        static int Catches()
        {
            try
            {
                Finally();
                return 0;
            }
            catch (InvalidOperationException e) when (e.Message != "")
            {
                return 1;
            }
        }

        static void Finally()
        {
            try
            {
                Throws();
            }
            finally
            {
                Program.sum++;
            }
        }

        static void Throws() => throw new InvalidOperationException();

        static int Sum()
        {
            int sum = 0;
            foreach (int part in Parts(3))
                sum += part;
            return sum;
        }

        static IEnumerable<int> Parts(int n)
        {
            for (int i = 0; i < n; i++)
                yield return i;
        }
    }

    // What nobody counts.
    static class Load
    {
        static long said;

        internal static void SayTurn(int turn)
        {
            SayList(turn % 7);
            SayShared(turn);
            SayShared("" + turn);
            if (turn % 16 == 0)
                SayCatch();
            said += SayDown(turn % 20);
        }

        static void SayList(int n)
        {
            var list = new List<int>();
            foreach (int i in SayNumbers(n))
                list.Add(i);
            list.Sort(SayCompare);
        }

        static int SayCompare(int a, int b) => b - a;

        static IEnumerable<int> SayNumbers(int n)
        {
            for (int i = 0; i < n; i++)
                yield return i;
        }

        static int SayShared<T>(T value) => value.GetHashCode();

        static int SayDown(int n) => n == 0 ? 0 : SayDown(n - 1) + 1;

        static void SayCatch()
        {
            try
            {
                SayFinally();
            }
            catch (ArgumentException e) when (e.Message != "")
            {
            }
        }

        static void SayFinally()
        {
            try
            {
                SayThrow();
            }
            finally
            {
                SayDown(2);
            }
        }

        static void SayThrow() => throw new ArgumentException();
    }
}
