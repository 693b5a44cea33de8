// Callees [N]: calls functions of the framework in every way that C# has, N times each, and knows how often, by the
// function that its code names. What is declared and what runs may be two: both are told.

using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text;

namespace Callees
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 100;
            Direct.Run(n);
            Indirect.Run(n);
            Ends.Run(n);
            MethodBase main = Calls.Method(typeof(Program), "Main");
            foreach (Type type in new[] { typeof(Direct), typeof(Indirect), typeof(Ends) })
                Calls.By(main, Calls.Method(type, "Run"), 1);
            Direct.Say(n);
            Indirect.Say(n);
            Ends.Say(n);
            return Calls.Print();
        }
    }

    /// <summary>Calls of which the code says exactly what runs.</summary>
    static class Direct
    {
        static long sum;
        static int twice;

        public static void Run(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Static(i);
                Generic(i);
                Values(i);
                Objects(i);
                Arrays(i);
                Sums(i, ref twice);
            }
        }

        static void Static(int i) => sum += Math.Max(i, 3) + (int)Math.Pow(i, 2) + string.CompareOrdinal("a", "b");

        // A type that is generic, a method that is, and one of each.
        static void Generic(int i)
        {
            var list = new List<int>();
            list.Add(i);
            list.Insert(0, i);
            list.AddRange(new[] { i });
            sum += list.Count + list[0];
            var names = new Dictionary<string, List<int>>(4);
            names["list"] = list;
            sum += names.ContainsKey("list") ? 1 : 0;
            sum += list.ConvertAll(One).Count;
            sum += Array.IndexOf(new[] { "a", "b" }, "b");
        }

        static readonly Converter<int, long> One = x => x + 1L;

        // Of values, by reference, which are returned, and as one of the arguments of another call.
        static void Values(int i)
        {
            TimeSpan span = TimeSpan.FromTicks(i).Add(TimeSpan.FromTicks(TimeSpan.FromTicks(1).Ticks));
            sum += span.Ticks + new DateTime(2000, 1, 1).AddDays(i).Day;
            decimal d = decimal.Multiply(i, 2m);
            sum += decimal.ToInt32(d);
            Guid.TryParse("x", out Guid _);
        }

        static void Objects(int i)
        {
            var text = new StringBuilder(8);
            text.Append('a').Append(i).Append("b");
            sum += text.ToString().Length;
            sum += new Version(1, i).Minor;
        }

        // Methods of arrays with several dimensions, which nobody has written, and what the compiler makes of literals.
        static void Arrays(int i)
        {
            var plane = new int[2, 2];
            plane[1, 1] = i;
            int[] literal = { 1, 2, 3, 4, 5, 6, 7, 8 };
            sum += plane[1, 1] + literal[i % 8] + typeof(Direct).Name.Length;
        }

        // With more arguments than registers, in a loop, with a value that stays on the evaluation stack.
        static void Sums(int i, ref int reference)
        {
            for (int k = 0; k < 3; k++)
                sum += i + new DateTime(2001, 2, 3, 4, 5, 6, k).Ticks + Math.Abs(-k);
            reference += Math.Min(i, 2);
        }

        public static void Say(int n)
        {
            MethodBase run = SayOf("Run");
            foreach (string name in new[] { "Static", "Generic", "Values", "Objects", "Arrays", "Sums" })
                Calls.By(run, SayOf(name), n);
            Type list = typeof(List<int>), names = typeof(Dictionary<string, List<int>>), integer = typeof(int);
            MethodBase called = SayOf("Static");
            Calls.By(called, Calls.Method(typeof(Math), "Max", integer, integer), n);
            Calls.By(called, Calls.Method(typeof(Math), "Pow"), n);
            Calls.By(called, Calls.Method(typeof(string), "CompareOrdinal", typeof(string), typeof(string)), n);
            called = SayOf("Generic");
            foreach (string name in new[] { "Add", "Insert", "AddRange", "get_Item", "ConvertAll" })
                Calls.By(called, Calls.Method(list, name), n);
            Calls.By(called, SayConstructor(list), n);
            Calls.By(called, Calls.Method(list, "get_Count"), 2 * n); // that of another instance is the same declaration
            Calls.By(called, SayConstructor(names, integer), n);
            Calls.By(called, Calls.Method(names, "set_Item"), n);
            Calls.By(called, Calls.Method(names, "ContainsKey"), n);
            Calls.By(called, typeof(Array).GetMethods().Single(m => m.Name == "IndexOf" && m.IsGenericMethod && m.GetParameters().Length == 2), n);
            Calls.By(Calls.Method(list, "ConvertAll"), Calls.Made(typeof(Direct), "<.cctor>"), 3 * n);
            Calls.Of(Calls.Method(typeof(Direct), ".cctor"), 1);
            Calls.Lambdas(typeof(Direct));
            called = SayOf("Values");
            Calls.By(called, Calls.Method(typeof(TimeSpan), "FromTicks"), 3 * n);
            Calls.By(called, Calls.Method(typeof(TimeSpan), "Add"), n);
            Calls.By(called, Calls.Method(typeof(TimeSpan), "get_Ticks"), 2 * n);
            Calls.By(called, SayConstructor(typeof(DateTime), integer, integer, integer), n);
            Calls.By(called, Calls.Method(typeof(DateTime), "AddDays"), n);
            Calls.By(called, Calls.Method(typeof(DateTime), "get_Day"), n);
            Calls.By(called, Calls.Method(typeof(decimal), "op_Implicit", integer), n);
            Calls.By(called, SayConstructor(typeof(decimal), integer), n);
            Calls.By(called, Calls.Method(typeof(decimal), "Multiply"), n);
            Calls.By(called, Calls.Method(typeof(decimal), "ToInt32"), n);
            Calls.By(called, Calls.Method(typeof(Guid), "TryParse", typeof(string), typeof(Guid).MakeByRefType()), n);
            called = SayOf("Objects");
            Calls.By(called, SayConstructor(typeof(StringBuilder), integer), n);
            foreach (Type type in new[] { typeof(char), integer, typeof(string) })
                Calls.By(called, Calls.Method(typeof(StringBuilder), "Append", type), n);
            Calls.By(called, Calls.Method(typeof(object), "ToString"), n);
            Calls.By(called, SayConstructor(typeof(Version), integer, integer), n);
            Calls.By(called, Calls.Method(typeof(Version), "get_Minor"), n);
            called = SayOf("Arrays");
            Calls.By(called, Calls.Method(typeof(MemberInfo), "get_Name"), n);
            called = SayOf("Sums");
            Calls.By(called, SayConstructor(typeof(DateTime), integer, integer, integer, integer, integer, integer, integer), 3 * n);
            Calls.By(called, Calls.Method(typeof(DateTime), "get_Ticks"), 3 * n);
            Calls.By(called, Calls.Method(typeof(Math), "Abs", integer), 3 * n);
            Calls.By(called, Calls.Method(typeof(Math), "Min", integer, integer), n);
        }

        static MethodBase SayConstructor(Type type, params Type[] parameters) =>
            type.GetConstructor(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic, null, parameters, null);

        static MethodBase SayOf(string name) => Calls.Method(typeof(Direct), name);
    }

    /// <summary>Calls that the code leaves to the object: interfaces, virtual functions, delegates.</summary>
    static class Indirect
    {
        static long sum;

        sealed class Item : IComparable<Item>, IDisposable
        {
            public int Value;
            public int CompareTo(Item other) => Value - other.Value;
            public override string ToString() => "item";
            public override int GetHashCode() => Value;
            public override bool Equals(object other) => other is Item item && item.Value == Value;
            public void Dispose() => sum++;
        }

        sealed class Reader : StringReader
        {
            public Reader(string text) : base(text) { }
            public override int Read() => base.Read() - 1;
        }

        static IEnumerable<int> Numbers(int n)
        {
            for (int i = 0; i < n; i++)
                yield return i;
        }

        static int Same<T>(T a, T b) where T : IComparable<T> => a.CompareTo(b) + a.GetHashCode();

        static long Back(int x) => x + 1;

        public static void Run(int n)
        {
            object item = new Item { Value = 2 };
            for (int i = 0; i < n; i++)
            {
                Interfaces((IComparable<Item>)item, (Item)item);
                Virtual(item);
                Delegates(Back, x => x);
                Enumerated(2);
                sum += Same((Item)item, (Item)item) + Same(1, 2);
                Streams(new Reader("bc"));
            }
        }

        static void Interfaces(IComparable<Item> item, Item other)
        {
            sum += item.CompareTo(other);
            using ((IDisposable)item)
                sum++;
            IList<int> list = new List<int> { 1 };
            sum += list[0] + list.Count;
        }

        static void Virtual(object item)
        {
            sum += item.ToString().Length + item.GetHashCode();
            sum += item.Equals(item) ? 1 : 0;
        }

        static void Delegates(Func<int, long> own, Func<int, int> lambda)
        {
            sum += own(1) + lambda(2);
            Func<double, double> framework = Math.Floor;
            sum += (long)framework(2.5);
        }

        static void Enumerated(int n)
        {
            foreach (int i in Numbers(n))
                sum += i;
            foreach (int i in new List<int> { 1, 2 })
                sum += i;
        }

        static void Streams(TextReader reader)
        {
            sum += reader.Read() + reader.Peek();
        }

        public static void Say(int n)
        {
            MethodBase run = SayOf("Run"), compare = Calls.Method(typeof(IComparable<>), "CompareTo");
            foreach (string name in new[] { "Interfaces", "Virtual", "Delegates", "Enumerated", "Streams" })
                Calls.By(run, SayOf(name), n);
            Calls.By(run, SayOf("Same"), 2 * n);
            Calls.By(run, SayIn("Item", ".ctor"), 1);
            Calls.By(run, SayIn("Reader", ".ctor"), n);
            Calls.By(SayIn("Reader", ".ctor"), typeof(StringReader).GetConstructor(new[] { typeof(string) }), n);
            MethodBase called = SayOf("Interfaces");
            Calls.By(called, compare, n);
            Calls.By(compare, SayIn("Item", "CompareTo"), 2 * n); // those of Same, too
            Calls.By(called, Calls.Method(typeof(IDisposable), "Dispose"), n);
            Calls.Of(SayIn("Item", "Dispose"), n);
            Calls.By(called, typeof(List<int>).GetConstructor(Type.EmptyTypes), n);
            Calls.By(called, Calls.Method(typeof(List<int>), "Add"), n);
            Calls.By(called, Calls.Method(typeof(IList<int>), "get_Item"), n);
            Calls.By(called, Calls.Method(typeof(ICollection<int>), "get_Count"), n);
            called = SayOf("Virtual");
            MethodBase text = Calls.Method(typeof(object), "ToString"), hash = Calls.Method(typeof(object), "GetHashCode"), equals = Calls.Method(typeof(object), "Equals", typeof(object));
            Calls.By(called, text, n);
            Calls.By(text, SayIn("Item", "ToString"), n);
            Calls.By(called, hash, n);
            Calls.By(called, equals, n);
            Calls.By(equals, SayIn("Item", "Equals"), n);
            called = SayOf("Delegates");
            Calls.By(called, Calls.Method(typeof(Func<,>), "Invoke"), 3 * n);
            Calls.By(Calls.Method(typeof(Func<,>), "Invoke"), SayOf("Back"), n);
            Calls.By(Calls.Method(typeof(Func<,>), "Invoke"), Calls.Made(typeof(Indirect), "<Run>"), n);
            Calls.Lambdas(typeof(Indirect));
            called = SayOf("Same");
            Calls.By(called, compare, 2 * n);
            Calls.By(called, hash, 2 * n);
            Calls.By(hash, SayIn("Item", "GetHashCode"), 2 * n); // those of Virtual, too
            SayEnumerated(n);
            called = SayOf("Streams");
            MethodBase read = typeof(TextReader).GetMethod("Read", Type.EmptyTypes);
            Calls.By(called, read, n);
            Calls.By(read, SayIn("Reader", "Read"), n);
            Calls.By(SayIn("Reader", "Read"), typeof(StringReader).GetMethod("Read", Type.EmptyTypes), n);
            Calls.By(called, Calls.Method(typeof(TextReader), "Peek"), n);
        }

        static void SayEnumerated(int n)
        {
            MethodBase called = SayOf("Enumerated");
            Type machine = Calls.Machine(SayOf("Numbers")), each = typeof(List<int>.Enumerator);
            MethodBase next = Calls.Method(typeof(IEnumerator), "MoveNext"), begin = typeof(IEnumerable<>).GetMethod("GetEnumerator");
            MethodBase current = typeof(IEnumerator<>).GetMethod("get_Current");
            Calls.By(called, SayOf("Numbers"), n);
            Calls.By(SayOf("Numbers"), Calls.Method(machine, ".ctor"), n);
            Calls.By(called, begin, n);
            Calls.By(begin, Calls.Method(machine, "System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator"), n);
            Calls.By(called, next, 3 * n);
            Calls.By(next, Calls.Method(machine, "MoveNext"), 3 * n);
            Calls.By(called, current, 2 * n);
            Calls.By(current, Calls.Method(machine, "System.Collections.Generic.IEnumerator<System.Int32>.get_Current"), 2 * n);
            Calls.By(called, Calls.Method(typeof(IDisposable), "Dispose"), n); // of the numbers; that of a list's enumerator is called as of an interface, too
            Calls.By(called, Calls.Method(typeof(IDisposable), "Dispose"), n);
            Calls.Of(Calls.Method(machine, "System.IDisposable.Dispose"), n);
            Calls.By(Calls.Method(machine, ".ctor"), Calls.Method(typeof(Environment), "get_CurrentManagedThreadId"), n);
            Calls.By(Calls.Method(machine, "System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator"), Calls.Method(typeof(Environment), "get_CurrentManagedThreadId"), n);
            Calls.By(called, typeof(List<int>).GetConstructor(Type.EmptyTypes), n);
            Calls.By(called, Calls.Method(typeof(List<int>), "Add"), 2 * n);
            Calls.By(called, Calls.Method(typeof(List<int>), "GetEnumerator"), n);
            Calls.By(called, Calls.Method(each, "MoveNext"), 3 * n);
            Calls.By(called, Calls.Method(each, "get_Current"), 2 * n);
        }

        static MethodBase SayIn(string type, string name) => Calls.Method(typeof(Indirect).GetNestedType(type, BindingFlags.NonPublic), name);

        static MethodBase SayOf(string name) => Calls.Method(typeof(Indirect), name);
    }

    /// <summary>Calls that do not return: they throw, in a try and in a catch, and from code that is called back.</summary>
    static class Ends
    {
        static int caught;

        public static void Run(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Thrown("x");
                Thrown("1");
                Through();
                Twice();
            }
        }

        static void Thrown(string text)
        {
            try
            {
                caught += int.Parse(text, CultureInfo.InvariantCulture);
            }
            catch (FormatException) when (Math.Sign(caught) >= 0)
            {
                caught += Math.Sign(1);
            }
            finally
            {
                caught += Math.Sign(2);
            }
        }

        static void Through()
        {
            try
            {
                new List<int> { 1 }.ForEach(Fails);
            }
            catch (InvalidOperationException)
            {
                caught++;
            }
        }

        static void Fails(int i) => throw new InvalidOperationException(i.ToString());

        static void Twice()
        {
            try
            {
                try
                {
                    Convert.ToInt32("y");
                }
                finally
                {
                    caught += Math.Sign(3);
                }
            }
            catch (FormatException)
            {
                caught++;
            }
        }

        public static void Say(int n)
        {
            MethodBase run = SayOf("Run"), sign = Calls.Method(typeof(Math), "Sign", typeof(int)), each = Calls.Method(typeof(List<int>), "ForEach");
            Calls.By(run, SayOf("Thrown"), 2 * n);
            Calls.By(run, SayOf("Through"), n);
            Calls.By(run, SayOf("Twice"), n);
            Calls.By(SayOf("Thrown"), Calls.Method(typeof(int), "Parse", typeof(string), typeof(IFormatProvider)), 2 * n, n);
            Calls.By(SayOf("Thrown"), Calls.Method(typeof(CultureInfo), "get_InvariantCulture"), 2 * n);
            // What a filter calls is not told: the framework's function that has thrown is still there, and is below no other.
            Calls.By(SayOf("Thrown"), sign, 3 * n);
            Calls.By(SayOf("Twice"), sign, n);
            Calls.By(SayOf("Through"), typeof(List<int>).GetConstructor(Type.EmptyTypes), n);
            Calls.By(SayOf("Through"), Calls.Method(typeof(List<int>), "Add"), n);
            Calls.By(SayOf("Through"), each, n, n);
            Calls.By(each, SayOf("Fails"), n, n);
            Calls.By(SayOf("Fails"), typeof(int).GetMethod("ToString", Type.EmptyTypes), n);
            Calls.By(SayOf("Fails"), typeof(InvalidOperationException).GetConstructor(new[] { typeof(string) }), n);
            Calls.By(SayOf("Twice"), Calls.Method(typeof(Convert), "ToInt32", typeof(string)), n, n);
        }

        static MethodBase SayOf(string name) => Calls.Method(typeof(Ends), name);
    }
}
