// TimeExceptions [N [TIMES]]: exceptions of every shape, N of each; TIMES are caught in one
// loop. All functions, and how often each ends by an exception, are known.

using System.Reflection;

namespace TimeExceptions
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 20, times = args.Length > 1 ? int.Parse(args[1]) : 10_000;
            Shapes.Direct(n);
            Shapes.Same(n);
            Shapes.Finally(n);
            Shapes.Filter(n);
            Shapes.FilterThrows(n);
            Shapes.Again(n);
            Shapes.Nested(n);
            Shapes.Thrown(n);
            Shapes.Unwound(n);
            Shapes.Faults(n);
            Shapes.Continue(times);
            Places.Framework(n);
            Places.Initializer();
            Places.Async(n);
            Places.Threads(n);
            Places.Finalizers(n);
            Resolving.All(n);

            MethodBase main = Calls.Method(typeof(Program), "Main");
            foreach (string name in new[] { "Direct", "Same", "Finally", "Filter", "FilterThrows", "Again", "Nested", "Thrown", "Unwound", "Faults", "Continue" })
                Calls.By(main, Calls.Method(typeof(Shapes), name), 1);
            foreach (string name in new[] { "Framework", "Initializer", "Async", "Threads", "Finalizers" })
                Calls.By(main, Calls.Method(typeof(Places), name), 1);
            Calls.By(main, Calls.Method(typeof(Resolving), "All"), 1);
            Shapes.Say(n, times);
            Resolving.Say(n);
            Places.Say(n);
            return Calls.Print();
        }
    }
}
