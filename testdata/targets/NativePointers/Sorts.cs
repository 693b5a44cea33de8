using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace NativePointers
{
    /// <summary>Functions that call native code with a comparer, each in its own way.</summary>
    static unsafe class Sorts
    {
        delegate int Comparison(int* a, int* b);

        [DllImport("libc", EntryPoint = "qsort")] static extern void SortWith(int* items, nuint count, nuint size, Comparison compare);
        [DllImport("libc")] static extern void qsort(int* items, nuint count, nuint size, delegate* unmanaged<int*, int*, int> compare);
        [DllImport("visit", EntryPoint = "visit")] static extern int VisitWith(int* items, nuint count, Comparison compare);
        [DllImport("visit")] static extern int visit(int* items, nuint count, delegate* unmanaged<int*, int*, int> compare);

        static delegate* unmanaged<int*, nuint, nuint, delegate* unmanaged<int*, int*, int>, void> sortAt;
        static delegate* unmanaged<int*, nuint, delegate* unmanaged<int*, int*, int>, int> visitAt;
        static IntPtr loaded;
        static int sum;

        static IntPtr SayResolve(string name, System.Reflection.Assembly assembly, DllImportSearchPath? path) => name == "visit" ? loaded : IntPtr.Zero;

        public static void SayWhere(string library)
        {
            loaded = NativeLibrary.Load(library);
            NativeLibrary.SetDllImportResolver(typeof(Sorts).Assembly, SayResolve);
            visitAt = (delegate* unmanaged<int*, nuint, delegate* unmanaged<int*, int*, int>, int>)NativeLibrary.GetExport(loaded, "visit");
            sortAt = (delegate* unmanaged<int*, nuint, nuint, delegate* unmanaged<int*, int*, int>, void>)NativeLibrary.GetExport(
                NativeLibrary.GetMainProgramHandle(), "qsort");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Run(int n, int times)
        {
            int* items = stackalloc int[n];
            for (int i = 0; i < times; i++)
            {
                SortByDelegate(items, n);
                SortByImport(items, n);
                SortByPointer(items, n);
                VisitByDelegate(items, n);
                VisitByImport(items, n);
                VisitByPointer(items, n);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fill(int* items, int n)
        {
            for (int i = 0; i < n; i++)
                items[i] = (int)(i * 7919L % n);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SortByDelegate(int* items, int n)
        {
            Fill(items, n);
            SortWith(items, (nuint)n, 4, Comparers.SortByDelegate);
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SortByImport(int* items, int n)
        {
            Fill(items, n);
            qsort(items, (nuint)n, 4, &Comparers.SortByImport);
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SortByPointer(int* items, int n)
        {
            Fill(items, n);
            sortAt(items, (nuint)n, 4, &Comparers.SortByPointer);
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void VisitByDelegate(int* items, int n)
        {
            Fill(items, n);
            sum += VisitWith(items, (nuint)n, Comparers.VisitByDelegate);
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void VisitByImport(int* items, int n)
        {
            Fill(items, n);
            sum += visit(items, (nuint)n, &Comparers.VisitByImport);
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void VisitByPointer(int* items, int n)
        {
            Fill(items, n);
            sum += visitAt(items, (nuint)n, &Comparers.VisitByPointer);
            sum++;
        }
    }
}
