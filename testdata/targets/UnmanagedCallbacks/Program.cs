// Functions that native code calls back, by a delegate and without one (UnmanagedCallersOnly). The latter have no stub, and
// where they are small no frame pointer either: what libc's qsort, which has none, has in that register is in their frames.
//
//   UnmanagedCallbacks ROUNDS
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

class ByPointer { public int X; }
class ByDelegate { public int X; }

static unsafe class Program
{
    static object kept;
    delegate int Comparer(void* a, void* b);

    [DllImport("libc")]
    static extern void qsort(void* items, nint n, nint size, delegate* unmanaged<void*, void*, int> compare);
    [DllImport("libc", EntryPoint = "qsort")]
    static extern void SortBy(void* items, nint n, nint size, Comparer compare);

    [UnmanagedCallersOnly]
    static int Pointed(void* a, void* b) { kept = MakePointed(); return 0; }
    static int Delegated(void* a, void* b) { kept = MakeDelegated(); return 0; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static object MakePointed() { var o = new ByPointer(); o.X = 3; return o; }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static object MakeDelegated() { var o = new ByDelegate(); o.X = 3; return o; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallPointed() { long items = 0; qsort(&items, 2, 4, &Pointed); }
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallDelegated() { long items = 0; SortBy(&items, 2, 4, Delegated); }

    static void Main(string[] args)
    {
        for (int i = 0; i < int.Parse(args[0]); i++)
        {
            CallPointed();
            CallDelegated();
        }
    }
}
