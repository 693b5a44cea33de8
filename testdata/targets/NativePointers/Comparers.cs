using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace NativePointers
{
    sealed class InSortByDelegate { public long A; }
    sealed class BelowSortByDelegate { public long A, B; }
    sealed class InSortByImport { public long A; }
    sealed class BelowSortByImport { public long A, B; }
    sealed class InSortByPointer { public long A; }
    sealed class BelowSortByPointer { public long A, B; }
    sealed class InVisitByDelegate { public long A; }
    sealed class BelowVisitByDelegate { public long A, B; }
    sealed class InVisitByImport { public long A; }
    sealed class BelowVisitByImport { public long A, B; }
    sealed class InVisitByPointer { public long A; }
    sealed class BelowVisitByPointer { public long A, B; }

    /// <summary>What native code calls back. Each has a loop, in the middle of which its code may be replaced.</summary>
    static unsafe class Comparers
    {
        public const int Loops = 3;

        public static long OfSortByDelegate, OfSortByImport, OfSortByPointer, OfVisitByDelegate, OfVisitByImport, OfVisitByPointer;
        static object sink;

        public static int SortByDelegate(int* a, int* b)
        {
            sink = new InSortByDelegate();
            OfSortByDelegate++;
            for (int i = 0; i < Loops; i++)
                Makers.SortByDelegate();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        [UnmanagedCallersOnly]
        public static int SortByImport(int* a, int* b)
        {
            sink = new InSortByImport();
            OfSortByImport++;
            for (int i = 0; i < Loops; i++)
                Makers.SortByImport();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        [UnmanagedCallersOnly]
        public static int SortByPointer(int* a, int* b)
        {
            sink = new InSortByPointer();
            OfSortByPointer++;
            for (int i = 0; i < Loops; i++)
                Makers.SortByPointer();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        public static int VisitByDelegate(int* a, int* b)
        {
            sink = new InVisitByDelegate();
            OfVisitByDelegate++;
            for (int i = 0; i < Loops; i++)
                Makers.VisitByDelegate();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        [UnmanagedCallersOnly]
        public static int VisitByImport(int* a, int* b)
        {
            sink = new InVisitByImport();
            OfVisitByImport++;
            for (int i = 0; i < Loops; i++)
                Makers.VisitByImport();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }

        [UnmanagedCallersOnly]
        public static int VisitByPointer(int* a, int* b)
        {
            sink = new InVisitByPointer();
            OfVisitByPointer++;
            for (int i = 0; i < Loops; i++)
                Makers.VisitByPointer();
            return *a < *b ? -1 : *a > *b ? 1 : 0;
        }
    }

    /// <summary>What comparers call.</summary>
    static class Makers
    {
        static object sink;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void SortByDelegate() => sink = new BelowSortByDelegate();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void SortByImport() => sink = new BelowSortByImport();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void SortByPointer() => sink = new BelowSortByPointer();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void VisitByDelegate() => sink = new BelowVisitByDelegate();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void VisitByImport() => sink = new BelowVisitByImport();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void VisitByPointer() => sink = new BelowVisitByPointer();
    }
}
