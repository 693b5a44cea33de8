#if !TRIMMED
using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Shapes
{
    sealed class Before { public int A; }
    sealed class After { public long A, B; }
    sealed class Problem : Exception { }

    /// <summary>State machines that really wait, and exceptions that are caught.</summary>
    static class Async
    {
        public static async Task Run(int n)
        {
            for (int i = 0; i < n; i++)
                await Twice();
            MethodInfo body = Truth.Body(Truth.Method(typeof(Async), "Twice"));
            Truth.Site(body, typeof(Before), n, n * Size.Object(4));
            Truth.Site(body, typeof(After), n, n * Size.Object(16));

            long size = ProblemSize();
            for (int i = 0; i < n; i++)
                Catch();
            Truth.Site(Truth.Method(typeof(Async), "Throw"), typeof(Problem), n, n * size);
        }

        // It goes on in another call of MoveNext, usually on another thread.
        static async Task Twice()
        {
            Bodies.Sink = new Before();
            await Task.Yield();
            Bodies.Sink = new After();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Catch()
        {
            try { Throw(); }
            catch (Problem) { Bodies.Finalized++; }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Throw() => throw new Problem();

        // The fields of an exception differ between runtimes. The second of two is
        // measured, and both are made by this function.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static long ProblemSize()
        {
            Bodies.Sink = new Problem();
            long before = GC.GetAllocatedBytesForCurrentThread();
            Bodies.Sink = new Problem();
            long size = GC.GetAllocatedBytesForCurrentThread() - before;
            Truth.Site(Truth.Method(typeof(Async), "ProblemSize"), typeof(Problem), 2, 2 * size);
            return size;
        }
    }
}
#endif
