// One function for each shape. Each stores what it makes in a static field, so
// that no compiler finds out that nobody needs it.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Shapes
{
    sealed class Empty { }
    class Item { public int A; public long B; public Item Copy() => (Item)MemberwiseClone(); }
    sealed class Derived : Item { public double C; }
    sealed class Finalizable { ~Finalizable() { Bodies.Finalized++; } }
    sealed class Priced { public decimal Price = 1.5m; }
    struct Wide { public long A, B, C, D, E; }
    sealed class Box<T> { public T Value; }
    sealed class Pair<T, U> { public T First; public U Second; }
    static class Outer<T> { public sealed class Inner<U> { public T First; public U Second; } }

    static class Bodies
    {
        const MethodImplOptions Kept = MethodImplOptions.NoInlining;

        public static object Sink;
        public static int Finalized;
        static readonly Item original = new Item();
        static readonly double[] originals = new double[4];
        static readonly List<int> list = new List<int> { 1, 2, 3 };
        static readonly Func<int> first = () => 1, second = () => 2;
        static readonly Priced priced = new Priced(); // a literal is made by a constructor, which has objects of its own the first time
        static string text = new string('t', 3);

        [MethodImpl(Kept)]
        public static void Empty(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Empty(); } }

        [MethodImpl(Kept)]
        public static void Item(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Truth.Here(); Sink = new Item { A = i };
            }
        }

        [MethodImpl(Kept)]
        public static void Derived(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Derived { C = i }; } }

        [MethodImpl(Kept)]
        public static void Finalizable(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Finalizable(); } }

        // Two lines; only the second is asserted to be a line of its own.
        [MethodImpl(Kept)]
        public static void Two(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Sink = new Item(); Sink = new Item(); Sink = new Empty(); Truth.Here();
            }
        }

        [MethodImpl(Kept)]
        public static void Nothing(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Span<int> numbers = stackalloc int[16];
                int Add(int a) => a + i; // its closure is a struct
                numbers[i & 15] = Add(1);
                (int, int) pair = (i, numbers[0]);
                Finalized += pair.Item1 & 0;
            }
        }

        [MethodImpl(Kept)]
        public static void Clone(int n) { for (int i = 0; i < n; i++) Sink = original.Copy(); }

        [MethodImpl(Kept)]
        public static void Text(int n) { for (int i = 0; i < n; i++) Sink = new string('x', 10); }

        [MethodImpl(Kept)]
        public static void LargeText(int n) { for (int i = 0; i < n; i++) Sink = new string('x', 50_000); }

        [MethodImpl(Kept)]
        public static void Concatenation(int n) { for (int i = 0; i < n; i++) Sink = text + "0123456789"; }

        [MethodImpl(Kept)]
        public static void BoxInt(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = i; } }

        [MethodImpl(Kept)]
        public static void BoxDecimal(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = priced.Price; } }

        [MethodImpl(Kept)]
        public static void BoxEnum(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = (DayOfWeek)(i & 3); } }

        [MethodImpl(Kept)]
        public static void BoxNullable(int n) { for (int i = 0; i < n; i++) { long? v = i; Truth.Here(); Sink = v; } }

        [MethodImpl(Kept)]
        public static void BoxStruct(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Wide { A = i }; } }

        [MethodImpl(Kept)]
        public static void BoxGeneric(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new KeyValuePair<int, string>(i, text); } }

        [MethodImpl(Kept)]
        public static void BoxEnumerator(int n) { for (int i = 0; i < n; i++) Sink = ((IEnumerable<int>)list).GetEnumerator(); }

        [MethodImpl(Kept)]
        public static void GenericInt(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Box<int>(); } }

        [MethodImpl(Kept)]
        public static void GenericDecimal(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Box<decimal>(); } }

        [MethodImpl(Kept)]
        public static void GenericString(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Box<string>(); } }

        [MethodImpl(Kept)]
        public static void GenericNested(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Truth.Here(); Sink = new Box<Pair<int, Item>> { Value = new Pair<int, Item>() };
            }
        }

        [MethodImpl(Kept)]
        public static void GenericInner(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Outer<int>.Inner<string>(); } }

        [MethodImpl(Kept)]
        public static void GenericMethods(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Sink = Make<long>(); Sink = Make<Item>(); Sink = MakeArray<long>(3); Sink = MakeArray<Item>(3);
            }
        }

        [MethodImpl(Kept)]
        static Box<T> Make<T>() => new Box<T>();

        [MethodImpl(Kept)]
        static T[] MakeArray<T>(int length) => new T[length];

        [MethodImpl(Kept)]
        public static void Bytes(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new byte[13]; } }

        [MethodImpl(Kept)]
        public static void EmptyArray(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new int[n - n]; } }

        [MethodImpl(Kept)]
        public static void References(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Item[7]; } }

        [MethodImpl(Kept)]
        public static void Structs(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Wide[5]; } }

        [MethodImpl(Kept)]
        public static void StructsWithReferences(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new KeyValuePair<int, string>[5]; } }

        [MethodImpl(Kept)]
        public static void Rank2(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new int[3, 5]; } }

        [MethodImpl(Kept)]
        public static void Rank3(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new string[2, 3, 4]; } }

        [MethodImpl(Kept)]
        public static void Rank4(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new byte[3, 3, 3, 3]; } }

        [MethodImpl(Kept)]
        public static void Jagged(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new[] { new int[4], new int[4] }; } }

        [MethodImpl(Kept)]
        public static void PlaneOfRows(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new int[2, 3][]; } }

        [MethodImpl(Kept)]
        public static void ArrayClone(int n) { for (int i = 0; i < n; i++) Sink = originals.Clone(); }

        [MethodImpl(Kept)]
        public static void Large(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new byte[100_000]; } }

        [MethodImpl(Kept)]
        public static void LargeReferences(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new object[20_000]; } }

        [MethodImpl(Kept)]
        public static void Closure(int n) { for (int i = 0; i < n; i++) { Truth.Here(); int captured = i; Func<int> f = () => captured + 1; Sink = f; } }

        // The compiler's classes have names of the compiler's choice.
        public static Type ClosureType() =>
            typeof(Bodies).GetNestedTypes(BindingFlags.NonPublic).Single(t => t.GetField("captured") != null);

        [MethodImpl(Kept)]
        public static void DelegateOfInstance(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Func<int>(list.GetHashCode); } }

        [MethodImpl(Kept)]
        public static void Multicast(int n) { for (int i = 0; i < n; i++) Sink = first + second; }

        [MethodImpl(Kept)]
        public static void Params(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Finalized += Sum(i, i, -2 * i); } }

        [MethodImpl(Kept)]
        static int Sum(params int[] values) { Sink = values; return values[0] + values[1] + values[2]; }

        [MethodImpl(Kept)]
        public static void Anonymous(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new { Name = text, Number = i }; } }

        public static Type AnonymousType() =>
            typeof(Bodies).Assembly.GetTypes().Single(t => t.Name.StartsWith("<>f__Anonymous")).MakeGenericType(typeof(string), typeof(int));

        [MethodImpl(Kept)]
        public static void Tuple(int n) { for (int i = 0; i < n; i++) { Truth.Here(); Sink = new Tuple<int, string>(i, text); } }

        [MethodImpl(Kept)]
        public static void Iterator(int n)
        {
            for (int i = 0; i < n; i++)
                foreach (Item item in Numbers(3))
                    Sink = item;
        }

        [MethodImpl(Kept)]
        static IEnumerable<Item> Numbers(int count)
        {
            for (int i = 0; i < count; i++)
                yield return new Item { A = i };
        }
    }
}
