// NativeCallers LIBRARY [N]: managed functions that call native code by P/Invokes that need no stub: visit of the library at that
// path, which calls back a delegate for N - 1 pairs. A function that is called back does the same, for one pair. It runs on .NET Core 3.1, too.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace NativeCallers
{
    sealed class Visited { public long A, B; }
    sealed class VisitedWithin { public long A; }

    static unsafe class Program
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        delegate int Comparison(int* a, int* b);

        [DllImport("visit")] static extern int visit(int* items, UIntPtr count, IntPtr compare);

        const int Each = 10; // of so many calls one visits

        static readonly Comparison compare = Compare, compareWithin = CompareWithin;
        static readonly IntPtr atCompare = Marshal.GetFunctionPointerForDelegate(compare);
        static readonly IntPtr atCompareWithin = Marshal.GetFunctionPointerForDelegate(compareWithin);
        static object sink;
        static IntPtr loaded;
        static long visited, within;
        static int sum;

        static IntPtr Resolve(string name, System.Reflection.Assembly assembly, DllImportSearchPath? path) => name == "visit" ? loaded : IntPtr.Zero;

        static int Main(string[] args)
        {
            int n = args.Length > 1 ? int.Parse(args[1]) : 2000;
            loaded = NativeLibrary.Load(args[0]);
            NativeLibrary.SetDllImportResolver(typeof(Program).Assembly, Resolve);
            int* items = stackalloc int[n];
            for (int i = 0; i < 5; i++)
            {
                Outer(items, n);
                Other(items, n);
            }
            Truth.Check("visited", 10, 10 * (n - 1), visited);
            Say("Compare", typeof(Visited), visited, Size.Object(16));
            Say("CompareWithin", typeof(VisitedWithin), within, Size.Object(8));
            Below("Outer", typeof(Visited), visited / 2, Size.Object(16));
            Below("Other", typeof(Visited), visited / 2, Size.Object(16));
            Below("Visit", typeof(Visited), visited / 2, Size.Object(16));
            Below("Visit", typeof(VisitedWithin), within / 2, Size.Object(8));
            Below("Compare", typeof(VisitedWithin), within, Size.Object(8));
            Below("VisitWithin", typeof(VisitedWithin), within, Size.Object(8));
            return Truth.Print();
        }

        static void Say(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Site(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        static void Below(string function, Type type, long objects, long bytesOfEach) =>
            Truth.Below(Truth.Method(typeof(Program), function), type, objects, objects * bytesOfEach);

        /// <summary>Calls the function that visits.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Outer(int* items, int n) { Visit(items, n); sink = null; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Visit(int* items, int n) { sum += visit(items, (UIntPtr)(uint)n, atCompare); sink = null; }

        /// <summary>Visits itself.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Other(int* items, int n) { sum += visit(items, (UIntPtr)(uint)n, atCompare); sink = null; }

        static int Compare(int* a, int* b)
        {
            sink = new Visited();
            if (++visited % Each == 0)
                VisitWithin(a);
            return *a - *b;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void VisitWithin(int* items) { sum += visit(items, (UIntPtr)2, atCompareWithin); sink = null; }

        static int CompareWithin(int* a, int* b)
        {
            sink = new VisitedWithin();
            within++;
            return 0;
        }
    }
}
