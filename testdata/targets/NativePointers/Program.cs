// NativePointers [N]: managed code that native code calls back by function pointers,
// without a delegate and without a stub between the two.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace NativePointers
{
    sealed class ByImport { public long A; }
    sealed class ByPointer { public long A, B; }
    sealed class Below { public long A, B, C; }

    static unsafe class Program
    {
        [DllImport("libc")]
        static extern void qsort(int* items, nuint count, nuint size, delegate* unmanaged<int*, int*, int> compare);

        static object sink;
        static long byImport, byPointer, below;

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            for (int i = 0; i < 3; i++)
                Outer(n);
            Say("CompareByImport", typeof(ByImport), byImport, Size.Object(8));
            Say("CompareByPointer", typeof(ByPointer), byPointer, Size.Object(16));
            Say("Make", typeof(Below), below, Size.Object(24));
            foreach (string caller in new[] { "Outer", "SortByImport" })
                Above(caller, typeof(ByImport), byImport, Size.Object(8));
            foreach (string caller in new[] { "Outer", "SortByPointer" })
                Above(caller, typeof(ByPointer), byPointer, Size.Object(16));
            foreach (string caller in new[] { "Outer", "SortByPointer", "CompareByPointer" })
                Above(caller, typeof(Below), below, Size.Object(24));
            return Truth.Print();
        }

        static void Say(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Site(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        static void Above(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Below(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Outer(int n)
        {
            int* items = (int*)NativeMemory.Alloc((nuint)n, 4);
            SortByImport(items, n);
            SortByPointer(items, n);
            NativeMemory.Free(items);
        }

        static void Fill(int* items, int n)
        {
            for (int i = 0; i < n; i++)
                items[i] = (int)(i * 7919L % n);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SortByImport(int* items, int n)
        {
            Fill(items, n);
            qsort(items, (nuint)n, 4, &CompareByImport);
            sink = null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SortByPointer(int* items, int n)
        {
            Fill(items, n);
            var sort = (delegate* unmanaged<int*, nuint, nuint, delegate* unmanaged<int*, int*, int>, void>)NativeLibrary.GetExport(
                NativeLibrary.GetMainProgramHandle(), "qsort");
            sort(items, (nuint)n, 4, &CompareByPointer);
            sink = null;
        }

        [UnmanagedCallersOnly]
        static int CompareByImport(int* a, int* b)
        {
            sink = new ByImport();
            byImport++;
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        [UnmanagedCallersOnly]
        static int CompareByPointer(int* a, int* b)
        {
            sink = new ByPointer();
            byPointer++;
            Make();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make()
        {
            sink = new Below();
            below++;
        }
    }
}
