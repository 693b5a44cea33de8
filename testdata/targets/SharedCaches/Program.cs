// SharedCaches: uses parts of the framework that fill caches for good when they are first used, after so many collections that the agent
// has its session of events. Its arguments are the parts:
//
//   hello         one line on the console
//   texts         formats, parses, names of enums, a regular expression, collections and LINQ
//   reflection    members, attributes, invocations
//   events        an EventSource of its own, and a listener to it
//
// It makes the same objects each time. Whatever else in the process uses these parts before it does takes objects away from it.

using System;
using System.Collections.Generic;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;

namespace SharedCaches
{
    [EventSource(Name = "SharedCaches-Own")]
    sealed class Own : EventSource
    {
        public static readonly Own Log = new Own();

        [Event(1, Message = "{0}")]
        public void Said(string what, int times) => WriteEvent(1, what, times);
    }

    sealed class Listener : EventListener
    {
        public int Heard;

        protected override void OnEventWritten(EventWrittenEventArgs e) => Heard++;
    }

    [AttributeUsage(AttributeTargets.All)]
    sealed class NamedAttribute : Attribute
    {
        public string Name { get; set; }

        public NamedAttribute(int n) { }
    }

    [Named(1, Name = "x")]
    sealed class Described
    {
        [Named(2, Name = "y")] public readonly int Field;

        [Named(3)] public string Text { get; set; }

        public int Sum(int a, int b) => a + b;
    }

    enum Colour { Red, Green, Blue }

    static class Program
    {
        const int Collections = 400; // a session of events begins in the first few
        static volatile object sink;

        static int Main(string[] args)
        {
            for (int i = 0; i < Collections; i++)
                GC.Collect(0);
            foreach (string part in args)
                switch (part)
                {
                    case "hello":
                        Console.WriteLine("hello");
                        break;
                    case "texts":
                        Format();
                        Collect();
                        break;
                    case "reflection":
                        Reflect();
                        break;
                    case "events":
                        Listen();
                        break;
                    default:
                        return 1;
                }
            return 0;
        }

        static void Format()
        {
            sink = string.Format("{0} {1:N2} {2:X} {3:o} {4} {5:D}", 1, 2.5, 255, new DateTime(2020, 1, 2), Guid.Empty, Colour.Green);
            sink = $"{Colour.Red} {TimeSpan.FromSeconds(3)} {1m:C}";
            sink = ((CultureInfo)CultureInfo.InvariantCulture.Clone()).DateTimeFormat.GetMonthName(3);
            sink = DateTime.Parse("2020-03-04", CultureInfo.InvariantCulture);
            sink = Enum.Parse(typeof(Colour), "Blue");
            sink = new StringBuilder().AppendFormat("{0}", 3).ToString();
            sink = Enum.GetNames(typeof(Colour));
            sink = Regex.Replace("a1b22c333", "[0-9]+", m => m.Length.ToString());
        }

        static void Collect()
        {
            var numbers = new Dictionary<string, int>();
            for (int i = 0; i < 100; i++)
                numbers["k" + i] = i;
            var sorted = new SortedDictionary<int, string>();
            for (int i = 0; i < 100; i++)
                sorted[i] = "v" + i;
            sink = numbers.OrderBy(x => x.Key).Select(x => x.Value).ToArray();
            sink = sorted.Values.ToList();
            sink = new HashSet<Type>(new[] { typeof(int), typeof(string), typeof(Guid) });
            sink = new Dictionary<ulong, string> { [1] = "a" };
            var list = new List<int> { 3, 1, 2 };
            list.Sort();
            sink = list;
        }

        static void Reflect()
        {
            sink = typeof(Described).GetCustomAttributes(true);
            foreach (MemberInfo m in typeof(Described).GetMembers())
                sink = m.GetCustomAttributes(true);
            for (int i = 0; i < 5; i++)
                sink = typeof(Described).GetMethod("Sum").Invoke(new Described(), new object[] { 1, 2 });
            foreach (MethodInfo m in typeof(EventSource).GetMethods())
                sink = m.GetParameters();
            sink = Activator.CreateInstance(typeof(Described));
        }

        static void Listen()
        {
            Own.Log.Said("a", 1);
            using (var listener = new Listener())
            {
                listener.EnableEvents(Own.Log, EventLevel.Verbose);
                Own.Log.Said("b", 2);
                sink = listener.Heard;
            }
        }
    }
}
