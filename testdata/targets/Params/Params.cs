// Params: functions that make arrays and collections because a method has params, and functions that make the same ones for
// other reasons, or none. For each it prints ("params") its name, and how many objects and bytes it made for params itself;
// it compares the bytes with what the runtime counted for the thread.
//
// It is compiled for .NET 8 or later, with C# 13 or later: before, only arrays can be for params.

using System;
using System.Collections;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Params
{
    /// <summary>What is called. Nothing here allocates, and nothing is inlined.</summary>
    static class Take
    {
        const MethodImplOptions Kept = MethodImplOptions.NoInlining;
        [MethodImpl(Kept)] public static void Array(string first, params object[] all) { }
        [MethodImpl(Kept)] public static void Numbers(params int[] all) { }
        [MethodImpl(Kept)] public static void Any<T>(params T[] all) { }
        [MethodImpl(Kept)] public static void Lists<T>(params List<T>[] all) { }
        [MethodImpl(Kept)] public static void ReadOnlySpan(params ReadOnlySpan<object> all) { }
        [MethodImpl(Kept)] public static void NumberSpan(params ReadOnlySpan<int> all) { }
        [MethodImpl(Kept)] public static void Span(params Span<object> all) { }
        [MethodImpl(Kept)] public static void List(params List<object> all) { }
        [MethodImpl(Kept)] public static void IList(params IList<object> all) { }
        [MethodImpl(Kept)] public static void Enumerable(params IEnumerable<object> all) { }
        [MethodImpl(Kept)] public static void AnyEnumerable<T>(params IEnumerable<T> all) { }
        [MethodImpl(Kept)] public static void ReadOnlyList(params IReadOnlyList<object> all) { }
        [MethodImpl(Kept)] public static void Immutable(params ImmutableArray<object> all) { }
        [MethodImpl(Kept)] public static void Bag(params Bag all) { }
        [MethodImpl(Kept)] public static void Plain(object[] all) { }
        [MethodImpl(Kept)] public static void Both(object[] plain, params object[] all) { }
        public static object Field;
    }

    sealed class Bag : IEnumerable<object>
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public void Add(object a) { }
        public IEnumerator<object> GetEnumerator() => null;
        IEnumerator IEnumerable.GetEnumerator() => null;
    }

    struct Keeper
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public Keeper(params object[] all) { }
    }

    static class Generic<T>
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public static void OfClass(T x) => Take.Any(x, x, x);
    }

    static class Program
    {
        const int Often = 5_000;
        static readonly object a = new object();
        static readonly string s = "s";

        // For params. Generic functions have no loops: in those the compiler of .NET 8 gives what it makes of type arguments that
        // it looks up to the statement before. And they are not inlined: what is made in an inlined function is not found.
        static void Array(int n) { for (; n > 0; n--) Take.Array(s, a, a); }
        static void Constants(int n) { for (; n > 0; n--) Take.Numbers(1, 2, 3, 4, 5, 6, 7); }
        static void Constructor(int n) { for (; n > 0; n--) new Keeper(a, a, a, a); }
        static void AnyText(int n) { for (; n > 0; n--) Take.Any(s, s); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void AnyOf<T>(T x) => Take.Any(x, x, x, x);
        [MethodImpl(MethodImplOptions.NoInlining)] static void ListsOf<T>(List<T> x) => Take.Lists(x, x);
        static void List(int n) { for (; n > 0; n--) Take.List(a, a, a); }
        static void IList(int n) { for (; n > 0; n--) Take.IList(a); }
        static void Enumerable(int n) { for (; n > 0; n--) Take.Enumerable(a, a); }
        static void OneEnumerable(int n) { for (; n > 0; n--) Take.Enumerable(a); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void EnumerableOf<T>(T x) => Take.AnyEnumerable(x, x);
        static void ReadOnlyList(int n) { for (; n > 0; n--) Take.ReadOnlyList(a, a, a); }
        static void Immutable(int n) { for (; n > 0; n--) Take.Immutable(a, a); }
        static void Bag(int n) { for (; n > 0; n--) Take.Bag(a, a); }
        static void TwoTypes(int n) { for (; n > 0; n--) Take.Both(null, a, new string[] { s, s }); }
        static void Written(int n) { for (; n > 0; n--) Take.Array(s, new object[] { a, a }); } // the same code as Array's

        static async Task Later(int n)
        {
            for (; n > 0; n--)
                Take.Array(s, await Task.FromResult(a).ConfigureAwait(false), a);
        }

        // For other reasons, or none.
        static void NoArguments(int n) { for (; n > 0; n--) { Take.Array(s); Take.Enumerable(); Take.List(null); } }
        static void ReadOnlySpan(int n) { for (; n > 0; n--) Take.ReadOnlySpan(a, a); }
        static void NumberSpan(int n) { for (; n > 0; n--) Take.NumberSpan(1, 2, 3); }
        static void Span(int n) { for (; n > 0; n--) Take.Span(a, a); }
        static void ArrayAsSpan(int n) { for (; n > 0; n--) Take.ReadOnlySpan(new object[] { a, a }); }

        static void Variable(int n)
        {
            for (; n > 0; n--)
            {
                var all = new object[] { a, a };
                Take.Array(s, all);
                GC.KeepAlive(all);
            }
        }

        static void Plain(int n) { for (; n > 0; n--) Take.Plain(new object[] { a, a }); }
        static void Field(int n) { for (; n > 0; n--) Take.Field = new object[] { a, a }; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void AnyField<T>(T x) => Take.Field = new T[] { x, x };
        static void Sized(int n) { for (int i = n; i > 0; i--) Take.Array(s, new object[n & 1]); }
        static void ListAsEnumerable(int n) { for (; n > 0; n--) Take.Enumerable(new List<object> { a, a }); }
        static void WrittenList(int n) { for (; n > 0; n--) Take.List(new List<object> { a, a }); }
        static void ListField(int n) { for (; n > 0; n--) Take.Field = new List<object>(2) { a, a }; }
        static void BagField(int n) { for (; n > 0; n--) Take.Field = new Bag { a, a }; }
        static void Together(int n) { for (; n > 0; n--) Take.Both(new object[] { a }, a, a); } // cannot be told apart

        static async Task<int> Main()
        {
            long two = Size.Array(8, 2), list = Size.Object(16), one = Size.Object(8);
            Report(nameof(Array), Array, 1, two);
            Report(nameof(Constants), Constants, 1, Size.Array(4, 7), -1); 
            Report(nameof(Constructor), Constructor, 1, Size.Array(8, 4));
            Report(nameof(AnyText), AnyText, 1, two);
            Report("AnyOf<T>", n => Repeat(n, () => AnyOf(s)), 1, Size.Array(8, 4));
            Report("AnyOf<long>", n => Repeat(n, () => AnyOf(1L)), 1, Size.Array(8, 4));
            Report("ListsOf<T>", n => Repeat(n, () => ListsOf<string>(null)), 1, two);
            Report("Generic<T>.OfClass", n => Repeat(n, () => Generic<string>.OfClass(s)), 1, Size.Array(8, 3));
            Report(nameof(List), List, 2, list + Size.Array(8, 3));
            Report(nameof(IList), IList, 2, list + Size.Array(8, 1));
            Report(nameof(Enumerable), Enumerable, 2, two + one);
            Report(nameof(OneEnumerable), OneEnumerable, 1, one);
            Report("EnumerableOf<T>", n => Repeat(n, () => EnumerableOf(s)), 2, two + one);
            Report(nameof(ReadOnlyList), ReadOnlyList, 2, Size.Array(8, 3) + one);
            Report(nameof(Immutable), Immutable, 1, two);
            Report(nameof(Bag), Bag, 1, Size.Object(0));
            Report(nameof(TwoTypes), TwoTypes, 1, two, two);
            Report(nameof(Written), Written, 1, two);
            for (int n = 1; n <= Often; n += Often - 1)
                await Later(n);
            Print(nameof(Later), 1, two);

            foreach ((string name, Action<int> run, long bytes) in new (string, Action<int>, long)[]
            {
                (nameof(NoArguments), NoArguments, 0), (nameof(ReadOnlySpan), ReadOnlySpan, 0),
                (nameof(NumberSpan), NumberSpan, -1), (nameof(Span), Span, 0), (nameof(ArrayAsSpan), ArrayAsSpan, two),
                (nameof(Variable), Variable, two), (nameof(Plain), Plain, two), (nameof(Field), Field, two),
                ("AnyField<T>", n => Repeat(n, () => AnyField(s)), two), (nameof(Sized), Sized, -1),
                (nameof(ListAsEnumerable), ListAsEnumerable, list + Size.Array(8, 4)),
                (nameof(WrittenList), WrittenList, list + Size.Array(8, 4)), (nameof(ListField), ListField, list + two),
                (nameof(BagField), BagField, Size.Object(0)), (nameof(Together), Together, two + Size.Array(8, 1)),
            })
                Report(name, run, 0, 0, bytes);
            return Truth.Print(0);
        }

        static void Repeat(int n, Action once)
        {
            for (; n > 0; n--)
                once();
        }

        /// <summary>Runs a function that makes objects for params in each of its iterations, and other bytes; below 0: any,
        /// such as what the runtime makes to find constants, unless it compiles with all optimizations.</summary>
        static void Report(string name, Action<int> run, int objects, long bytes, long other = 0)
        {
            run(1); // what is made once
            long before = GC.GetAllocatedBytesForCurrentThread();
            run(Often);
            long made = GC.GetAllocatedBytesForCurrentThread() - before;
            if (other >= 0 && made != Often * (bytes + other))
                throw new Exception($"{name}: made {made} bytes, not {Often * (bytes + other)}");
            Print(name, objects, bytes);
        }

        static void Print(string name, int objects, long bytes) =>
            Truth.Say("params", "function", name, "objects", objects * (Often + 1), "bytes", bytes * (Often + 1));
    }
}
