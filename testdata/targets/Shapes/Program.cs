// Every shape that an object can have.

using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Shapes
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            // Else its statics, which are boxed decimals, are made whenever code that uses it is compiled.
            RuntimeHelpers.RunClassConstructor(typeof(decimal).TypeHandle);
            Plain(n);
            Boxes(n);
            GenericTypes(n);
            Arrays(n);
            Compiled(n);
            Pinned.Run(n);
#if !TRIMMED // what async methods need is not there then
            Async.Run(n).GetAwaiter().GetResult();
#endif
            return Truth.Print();
        }

        static Made Of<T>(long objects, long bytesOfEach) => new Made(typeof(T), objects, bytesOfEach);

        static void Plain(int n)
        {
            Truth.Exclusive(Bodies.Empty, n, Of<Empty>(1, Size.Object(0)));
            Truth.Exclusive(Bodies.Item, n, Of<Item>(1, Size.Object(16)));
            Truth.Exclusive(Bodies.Derived, n, Of<Derived>(1, Size.Object(24)));
            Truth.Exclusive(Bodies.Finalizable, n, Of<Finalizable>(1, Size.Object(0)));
            Truth.Exclusive(Bodies.Two, n, Of<Item>(2, Size.Object(16)), Of<Empty>(1, Size.Object(0)));
            Truth.Exclusive(Bodies.Nothing, n);
            Truth.Inclusive(Bodies.Clone, n, Of<Item>(1, Size.Object(16)));
            Truth.OfType(typeof(Item), n + 1 + 1, (n + 1 + 1) * Size.Object(16)); // the clones and what they are of
            Truth.Inclusive(Bodies.Text, n, Of<string>(1, Size.String(10)));
            Truth.Inclusive(Bodies.Concatenation, n, Of<string>(1, Size.String(13)));
            Truth.Inclusive(Bodies.LargeText, 20, Of<string>(1, Size.String(50_000)));
        }

        static void Boxes(int n)
        {
            Truth.Exclusive(Bodies.BoxInt, n, Of<int>(1, Size.Object(4)));
            Truth.Exclusive(Bodies.BoxDecimal, n, Of<decimal>(1, Size.Object(16)));
            Truth.Exclusive(Bodies.BoxEnum, n, Of<DayOfWeek>(1, Size.Object(4)));
            Truth.Exclusive(Bodies.BoxNullable, n, Of<long>(1, Size.Object(8)));
            Truth.Exclusive(Bodies.BoxStruct, n, Of<Wide>(1, Size.Object(40)));
            Truth.Exclusive(Bodies.BoxGeneric, n, Of<KeyValuePair<int, string>>(1, Size.Object(16)));
            Truth.Inclusive(Bodies.BoxEnumerator, n, Of<List<int>.Enumerator>(1, Size.Object(24)));
        }

        static void GenericTypes(int n)
        {
            Truth.Exclusive(Bodies.GenericInt, n, Of<Box<int>>(1, Size.Object(4)));
            Truth.Exclusive(Bodies.GenericDecimal, n, Of<Box<decimal>>(1, Size.Object(16)));
            Truth.Exclusive(Bodies.GenericString, n, Of<Box<string>>(1, Size.Object(8)));
            Truth.Exclusive(Bodies.GenericNested, n, Of<Box<Pair<int, Item>>>(1, Size.Object(8)), Of<Pair<int, Item>>(1, Size.Object(16)));
            Truth.Exclusive(Bodies.GenericInner, n, Of<Outer<int>.Inner<string>>(1, Size.Object(16)));
            Truth.Inclusive(Bodies.GenericMethods, n, Of<Box<long>>(1, Size.Object(8)), Of<Box<Item>>(1, Size.Object(8)),
                Of<long[]>(1, Size.Array(8, 3)), Of<Item[]>(1, Size.Array(8, 3)));
            Truth.Site(Truth.Method(typeof(Bodies), "Make"), typeof(Box<long>), n + 1, (n + 1) * Size.Object(8));
            Truth.Site(Truth.Method(typeof(Bodies), "Make"), typeof(Box<Item>), n + 1, (n + 1) * Size.Object(8));
            Truth.Site(Truth.Method(typeof(Bodies), "MakeArray"), typeof(long[]), n + 1, (n + 1) * Size.Array(8, 3));
            Truth.Site(Truth.Method(typeof(Bodies), "MakeArray"), typeof(Item[]), n + 1, (n + 1) * Size.Array(8, 3));
        }

        static void Arrays(int n)
        {
            Truth.Exclusive(Bodies.Bytes, n, Of<byte[]>(1, Size.Array(1, 13)));
            Truth.Exclusive(Bodies.EmptyArray, n, Of<int[]>(1, Size.Array(4, 0)));
            Truth.Exclusive(Bodies.References, n, Of<Item[]>(1, Size.Array(8, 7)));
            Truth.Exclusive(Bodies.Structs, n, Of<Wide[]>(1, Size.Array(40, 5)));
            Truth.Exclusive(Bodies.StructsWithReferences, n, Of<KeyValuePair<int, string>[]>(1, Size.Array(16, 5)));
            Truth.Exclusive(Bodies.Rank2, n, Of<int[,]>(1, Size.Array(2, 4, 3 * 5)));
            Truth.Exclusive(Bodies.Rank3, n, Of<string[,,]>(1, Size.Array(3, 8, 2 * 3 * 4)));
            Truth.Exclusive(Bodies.Rank4, n, Of<byte[,,,]>(1, Size.Array(4, 1, 3 * 3 * 3 * 3)));
            Truth.Exclusive(Bodies.Jagged, n, Of<int[][]>(1, Size.Array(8, 2)), Of<int[]>(2, Size.Array(4, 4)));
            Truth.Exclusive(Bodies.PlaneOfRows, n, Of<int[,][]>(1, Size.Array(2, 8, 6)));
            Truth.Inclusive(Bodies.ArrayClone, n, Of<double[]>(1, Size.Array(8, 4)));
            Truth.ExclusiveLarge(Bodies.Large, 20, Of<byte[]>(1, Size.Array(1, 100_000)));
            Truth.ExclusiveLarge(Bodies.LargeReferences, 20, Of<object[]>(1, Size.Array(8, 20_000)));
        }

        static void Compiled(int n)
        {
            Type closure = Bodies.ClosureType();
            Truth.Exclusive(Bodies.Closure, n, new Made(closure, 1, Size.Object(4)), Of<Func<int>>(1, Size.Delegate));
            Truth.Exclusive(Bodies.DelegateOfInstance, n, Of<Func<int>>(1, Size.Delegate));
            Truth.Inclusive(Bodies.Multicast, n, Of<Func<int>>(1, Size.Delegate), Of<object[]>(1, Size.Array(8, 2)));
            Truth.Exclusive(Bodies.Params, n, Of<int[]>(1, Size.Array(4, 3)));
            Truth.Exclusive(Bodies.Anonymous, n, new Made(Bodies.AnonymousType(), 1, Size.Object(16)));
            Truth.Exclusive(Bodies.Tuple, n, Of<Tuple<int, string>>(1, Size.Object(16)));
            MethodInfo iterator = Truth.Method(typeof(Bodies), "Numbers");
            Type machine = Truth.Body(iterator).DeclaringType;
            Truth.Inclusive(Bodies.Iterator, n, new Made(machine, 1, Size.Object(28)), Of<Item>(3, Size.Object(16)));
            Truth.Site(iterator, machine, n + 1, (n + 1) * Size.Object(28));
            Truth.Site(Truth.Body(iterator), typeof(Item), 3 * (n + 1), 3 * (n + 1) * Size.Object(16));
        }
    }
}
