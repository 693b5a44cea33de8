// Objects made by type initialisers: each runs once, when the type is first used,
// in the middle of whatever function does that.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace StaticInit
{
    sealed class Item { public long A, B; }

    // An explicit one runs exactly at the first use.
    static class Explicit
    {
        public static readonly Item[] Items = new Item[10];
        static Explicit() { for (int i = 0; i < Items.Length; i++) Items[i] = new Item { A = i }; }
    }

    // One without a static constructor may run earlier, and still once.
    static class Implicit
    {
        public static readonly Item First = new Item(), Second = new Item();
        public static readonly int[] Numbers = new int[100];
    }

    // One for each type argument; those for reference types share their code.
    static class Generic<T>
    {
        public static readonly Item Item = new Item();
        public static readonly T[] Values = new T[7];
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Use() => Item.GetType().Name.Length + Values.Length;
    }

    // The initialiser of the first runs that of the second.
    static class Outer
    {
        public static readonly Item Item;
        static Outer() { Item = new Item { A = Inner.Items.Length }; }
    }

    static class Inner
    {
        public static readonly Item[] Items;
        static Inner() { Items = new Item[3]; }
    }

    sealed class Fault : Exception { }

    // It throws: the type can never be used, and the exception is kept.
    static class Broken
    {
        public static readonly Item Item;
        static Broken() { Item = new Item(); if (Item.A == 0) throw new Fault(); }
    }

    static class Program
    {
        static int Main()
        {
            int sum = Explicit.Items.Length + Implicit.Numbers.Length + Outer.Item.GetHashCode() * 0;
            sum += Generic<int>.Use() + Generic<decimal>.Use() + Generic<string>.Use() + Generic<Item>.Use();
            for (int i = 0; i < 2; i++)
            {
                try { sum += (int)Broken.Item.A; }
                catch (TypeInitializationException e) when (e.InnerException is Fault) { sum++; }
            }
            Console.WriteLine(sum);

            long item = Size.Object(16);
            Made(typeof(Explicit), typeof(Item[]), 1, Size.Array(8, 10));
            Made(typeof(Explicit), typeof(Item), 10, item);
            Made(typeof(Implicit), typeof(Item), 2, item);
            Made(typeof(Implicit), typeof(int[]), 1, Size.Array(4, 100));
            Made(typeof(Generic<int>), typeof(Item), 4, item);
            Made(typeof(Generic<int>), typeof(int[]), 1, Size.Array(4, 7));
            Made(typeof(Generic<int>), typeof(decimal[]), 1, Size.Array(16, 7));
            Made(typeof(Generic<int>), typeof(string[]), 1, Size.Array(8, 7));
            Made(typeof(Generic<int>), typeof(Item[]), 1, Size.Array(8, 7));
            Made(typeof(Outer), typeof(Item), 1, item);
            Made(typeof(Inner), typeof(Item[]), 1, Size.Array(8, 3));
            Made(typeof(Broken), typeof(Item), 1, item);
            Made(typeof(Broken), typeof(Fault), 1, FaultSize());
            Truth.Below(typeof(Outer).TypeInitializer, typeof(Item[]), 1, Size.Array(8, 3));
            return Truth.Print();
        }

        // The fields of an exception differ between runtimes. The second of two is
        // measured.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static long FaultSize()
        {
            fault = new Fault();
            long before = GC.GetAllocatedBytesForCurrentThread();
            fault = new Fault();
            long size = GC.GetAllocatedBytesForCurrentThread() - before;
            Truth.Site(Truth.Method(typeof(Program), "FaultSize"), typeof(Fault), 2, 2 * size);
            return size;
        }

        static Fault fault;

        static void Made(Type by, Type type, long objects, long bytesOfEach)
        {
            // A generic type's initialiser is named after its definition.
            if (by.IsGenericType)
                by = by.GetGenericTypeDefinition();
            Truth.Site(by.TypeInitializer, type, objects, objects * bytesOfEach);
        }
    }
}
