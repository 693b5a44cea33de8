// Inlined: a service whose small functions the JIT puts into code that is not the user's. It reads what to do, one thing in a line,
// does it and prints "done":
//   made N     N times, call a method that is made at run time and calls Small.Make, which allocates an Item, and Small.Twice
//   framed N   N times, call a method that is made at run time and reads Version.Major, and read Version.Major and Minor
//   sorted N   N times, have the framework sort four numbers of a type of the user's, whose CompareTo counts its calls
//   counted 0  print how often CompareTo was called since the last time
//   end        print what is known, and end
// First it prints "ready" and its process id.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq.Expressions;
using System.Runtime.CompilerServices;

namespace Inlined
{
    sealed class Item { public int Value; }

    static class Small
    {
        static Item last;

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Make(int n)
        {
            last = new Item { Value = n };
            return n;
        }

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Twice(int n) => 2 * n;
    }

    struct Number : IComparable<Number>
    {
        public static int Calls;
        public int Value;

        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public int CompareTo(Number other)
        {
            Calls++;
            return Value.CompareTo(other.Value);
        }
    }

    static class Program
    {
        static Func<int, int> made;
        static Func<Version, int> major;
        static readonly Version version = new Version(3, 1);
        static int sum;

        static int Main()
        {
            ParameterExpression n = Expression.Parameter(typeof(int));
            made = Expression.Lambda<Func<int, int>>(Expression.Call(typeof(Small), "Twice", null,
                Expression.Call(typeof(Small), "Make", null, n)), n).Compile();
            ParameterExpression of = Expression.Parameter(typeof(Version));
            major = Expression.Lambda<Func<Version, int>>(Expression.Property(of, "Major"), of).Compile();
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
            if (what == "counted")
            {
                Console.WriteLine(Number.Calls);
                Number.Calls = 0;
            }
            for (int i = 0; what != "counted" && i < n; i++)
                if (what == "made")
                    made(i);
                else if (what == "framed")
                    sum += major(version) + version.Major + version.Minor;
                else
                    Array.Sort(new[] { new Number { Value = 3 }, new Number { Value = 1 }, new Number { Value = 2 }, new Number { Value = 4 } });
        }
    }
}
