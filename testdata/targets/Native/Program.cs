// Native [N]: managed code that native code calls back. Between the two lie frames
// of a library that was compiled without frame pointers.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Native
{
    sealed class Compared { public long A, B; }
    sealed class Nested { public long A; }

    static class Program
    {
        delegate int Comparison(IntPtr a, IntPtr b);

        [DllImport("libc")]
        static extern void qsort(int[] items, UIntPtr count, UIntPtr size, Comparison compare);

        [DllImport("libc")]
        static extern IntPtr bsearch(ref int key, int[] items, UIntPtr count, UIntPtr size, Comparison compare);

        static object sink;
        static int[] numbers;
        static long compared, nested;

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            numbers = new int[n];
            for (int i = 0; i < n; i++)
                numbers[i] = (int)(i * 7919L % n);
            Outer(n);
            Say("Compare", typeof(Compared), compared, Size.Object(16));
            Say("CompareNested", typeof(Nested), nested, Size.Object(8));
            Below("Sort", typeof(Compared), compared, Size.Object(16));
            Below("Search", typeof(Nested), nested, Size.Object(8));
            // Some comparisons of a sort search, too.
            Below("Compare", typeof(Nested), nested, Size.Object(8));
            Below("Outer", typeof(Nested), nested, Size.Object(8));
            Below("Outer", typeof(Compared), compared, Size.Object(16));
            return Truth.Print();
        }

        static void Say(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Site(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        static void Below(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Below(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Outer(int n) { Sort(n); sink = numbers; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Sort(int n) { qsort(numbers, (UIntPtr)n, (UIntPtr)4, Compare); sink = null; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Compare(IntPtr a, IntPtr b)
        {
            sink = new Compared();
            compared++;
            int x = Marshal.ReadInt32(a), y = Marshal.ReadInt32(b);
            if (compared % 100 == 0)
                Search(x);
            return x.CompareTo(y);
        }

        static readonly int[] few = { 1, 2, 3, 4, 5, 6, 7 };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Search(int key)
        {
            bsearch(ref key, few, (UIntPtr)few.Length, (UIntPtr)4, CompareNested);
            sink = null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int CompareNested(IntPtr a, IntPtr b)
        {
            sink = new Nested();
            nested++;
            return Marshal.ReadInt32(a).CompareTo(Marshal.ReadInt32(b));
        }
    }
}
