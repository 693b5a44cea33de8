// TimeTraces: what programs see of their own code: stack traces with lines and IL offsets, of exceptions and of the stack,
// and the caller's line. It prints the same whoever watches. With an argument it prints calls whose line in a stack trace is
// another one than that of the source: optimized code has some without clrprof, of calls whose result is returned by the line behind.

using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace TimeTraces
{
    static class Program
    {
        static int n;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Throw(int i)
        {
            if (i == 3)
                throw new InvalidOperationException("three");
            n++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Middle(int i)
        {
            n += 2;
            Throw(i);
            return n;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Say(string what, [CallerLineNumber] int line = 0)
        {
            Console.WriteLine(what + " at " + line);
            var trace = new StackTrace(1, true);
            for (int i = 0; i < trace.FrameCount; i++)
            {
                StackFrame frame = trace.GetFrame(i);
                if (frame.GetMethod().DeclaringType?.Namespace == nameof(TimeTraces))
                    Console.WriteLine("  " + frame.GetMethod().Name + " line " + frame.GetFileLineNumber() + " IL " + frame.GetILOffset());
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static T Same<T>(T x)
        {
            int before = n;
            Say("Same of " + typeof(T).Name);
            n = before;
            return x;
        }

        static int Choose(int i)
        {
            switch (i)
            {
                case 0: return Middle(0);
                case 1:
                    try { return Middle(3); }
                    catch (InvalidOperationException e) when (Filter(e)) { return -1; }
                    finally { Say("finally"); }
                case 2:
                    Func<int, int> f = x => { Say("lambda"); return x + 1; };
                    return f(i);
                default:
                    for (int k = 0; ; k++)
                        if (k == 200)
                            return Middle(k);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static bool Filter(Exception e)
        {
            Say("filter");
            return e != null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static async Task<int> Later(int i)
        {
            await Task.Yield();
            Throw(i);
            return i;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Compare([CallerLineNumber] int line = 0)
        {
            StackFrame caller = new StackTrace(1, true).GetFrame(0);
            if (caller.GetFileLineNumber() != line)
                Console.WriteLine("line " + line + " of " + caller.GetMethod().Name + " is " + caller.GetFileLineNumber());
            return n++ & 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Add(int x)
        {
            n++;
            x += Compare();
            return x;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static T Pick<T>(T x, T y)
        {
            int c = Compare();
            return c == 0 ? x : y;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static double Convert(int x)
        {
            n += x;
            double d = Compare();
            return d;
        }

        static int Main(string[] args)
        {
            if (args.Length > 0)
                return Add(1) + Pick(1, 2) + Pick("a", "bc").Length + Convert(3) > 0 ? 0 : 1;
            for (int k = 0; k < 60; k++)
            {
                try
                {
                    Middle(k % 4);
                }
                catch (InvalidOperationException e)
                {
                    if (k == 3 || k == 59)
                        Console.WriteLine(e.StackTrace);
                }
            }
            for (int i = 0; i < 4; i++)
                Choose(i);
            Same(1);
            Same("x");
            Same(2.0);
            try
            {
                Later(3).GetAwaiter().GetResult();
            }
            catch (InvalidOperationException e)
            {
                Console.WriteLine(e.StackTrace);
            }
            Console.WriteLine(Environment.StackTrace);
            return 0;
        }
    }
}
