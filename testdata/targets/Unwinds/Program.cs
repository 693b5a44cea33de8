// Unwinds [N]: calls that exceptions end, N times each: thrown by code, by a fault, through frames with finally blocks and
// filters, caught in the function itself, and thrown again. It needs so little of the core library that it runs on a
// trimmed one.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Unwinds
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 200;
            for (int i = 0; i < n; i++)
                Frames.Round();
            MethodBase main = Calls.Method(typeof(Program), "Main");
            Calls.By(main, Of("Round"), n);
            Calls.By(Of("Round"), Of("Catch"), n);
            Calls.By(Of("Round"), Of("Outer"), n);
            Calls.By(Of("Round"), Of("Fault"), n);
            Calls.By(Of("Catch"), Of("Down"), n, n);
            Calls.By(Of("Down"), Of("Down"), 5 * n, 5 * n);
            Calls.By(Of("Catch"), Of("After"), n);
            Calls.By(Of("Outer"), Of("Middle"), n, n);
            Calls.By(Of("Middle"), Of("Inner"), n, n);
            Calls.By(Of("Inner"), Of("Own"), n, n);
            Calls.By(Of("Inner"), Of("After"), n);
            Calls.By(Of("Middle"), Of("After"), n);
            Calls.By(Of("Outer"), Of("After"), n);
            Calls.By(Of("Fault"), Of("Read"), 2 * n, n);
            Calls.By(Of("Fault"), Of("After"), n);
            Calls.By(Of("Fault"), typeof(Node).GetConstructors()[0], n);
            return Calls.Print();
        }

        static MethodBase Of(string name) => Calls.Method(typeof(Frames), name);
    }

    sealed class Node { public int Value; }

    static class Frames
    {
        static int after;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Round()
        {
            Catch();
            Outer();
            Fault();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Catch()
        {
            try { Down(5); }
            catch (InvalidOperationException) { After(); }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Down(int depth)
        {
            if (depth == 0)
                throw new InvalidOperationException();
            return Down(depth - 1) + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Outer()
        {
            try { Middle(); }
            catch (Exception e) when (e is ArgumentException) { After(); }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Middle()
        {
            try { Inner(); }
            finally { After(); }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Inner()
        {
            try { Own(); }
            catch (ArgumentException)
            {
                After();
                throw;
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Own()
        {
            try { throw new InvalidOperationException(); }
            catch (InvalidOperationException) { }
            throw new ArgumentException();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fault()
        {
            Read(new Node());
            try { Read(null); }
            catch (NullReferenceException) { After(); }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Read(Node node) => node.Value;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void After() => after++;
    }
}
