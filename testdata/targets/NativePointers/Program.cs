// NativePointers LIBRARY [N]: managed code that native code calls back, by delegates and by function pointers to methods that only
// native code may call, without a delegate and without a stub between the two. The native code is libc's qsort, and visit of the
// library at that path, which calls back for N - 1 pairs.

using System;
using System.Reflection;

namespace NativePointers
{
    static class Program
    {
        const int Times = 3;

        static int Main(string[] args)
        {
            int n = args.Length > 1 ? int.Parse(args[1]) : 1000;
            Sorts.SayWhere(args[0]);
            Sorts.Run(n, Times);
            MethodBase run = Calls.Method(typeof(Sorts), "Run");
            Calls.Of(run, 1);
            Say("SortByDelegate", typeof(InSortByDelegate), typeof(BelowSortByDelegate), Comparers.OfSortByDelegate, -1);
            Say("SortByImport", typeof(InSortByImport), typeof(BelowSortByImport), Comparers.OfSortByImport, -1);
            Say("SortByPointer", typeof(InSortByPointer), typeof(BelowSortByPointer), Comparers.OfSortByPointer, -1);
            Say("VisitByDelegate", typeof(InVisitByDelegate), typeof(BelowVisitByDelegate), Comparers.OfVisitByDelegate, Times * (n - 1));
            Say("VisitByImport", typeof(InVisitByImport), typeof(BelowVisitByImport), Comparers.OfVisitByImport, Times * (n - 1));
            Say("VisitByPointer", typeof(InVisitByPointer), typeof(BelowVisitByPointer), Comparers.OfVisitByPointer, Times * (n - 1));
            foreach ((string way, string native) in new[] { ("SortByDelegate", "SortWith"), ("SortByImport", "qsort"), ("VisitByDelegate", "VisitWith"), ("VisitByImport", "visit") })
                Calls.Extern(Calls.Method(typeof(Sorts), way), Calls.Method(typeof(Sorts), native), Times);
            return Calls.Print();
        }

        /// <summary>What one way did: a function that calls native code, a comparer that it calls back, and a function below.</summary>
        static void Say(string way, Type compared, Type made, long count, long known)
        {
            if (known >= 0)
                Truth.Check(way, 1, known, count);
            MethodBase run = Calls.Method(typeof(Sorts), "Run"), caller = Calls.Method(typeof(Sorts), way);
            MethodBase compare = Calls.Method(typeof(Comparers), way), make = Calls.Method(typeof(Makers), way);
            Calls.By(run, caller, Times);
            Calls.By(caller, Calls.Method(typeof(Sorts), "Fill"), Times);
            Calls.By(caller, compare, count);
            Calls.By(compare, make, Comparers.Loops * count);
            Calls.By(compare, Calls.Method(compared, ".ctor"), count);
            Calls.By(make, Calls.Method(made, ".ctor"), Comparers.Loops * count);
            Truth.Site(compare, compared, count, count * Size.Object(8));
            Truth.Site(make, made, Comparers.Loops * count, Comparers.Loops * count * Size.Object(16));
            foreach (MethodBase above in new[] { run, caller })
                Truth.Below(above, compared, count, count * Size.Object(8));
            foreach (MethodBase above in new[] { run, caller, compare })
                Truth.Below(above, made, Comparers.Loops * count, Comparers.Loops * count * Size.Object(16));
        }
    }
}
