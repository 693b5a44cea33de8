// Stack frames in code of every shape, with the positions that the runtime
// itself reads from the PDB.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

public static class Frames
{
    static readonly HashSet<string> Seen = new HashSet<string>();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static T Here<T>(T t)
    {
        foreach (var f in new StackTrace(true).GetFrames())
        {
            var m = f.GetMethod();
            if (m.Module != typeof(Frames).Module) continue;
            var s = string.Format("{0:x8}\t{1}\t{2}\t{3}\t{4}", m.MetadataToken, f.GetILOffset(), f.GetFileName(), f.GetFileLineNumber(), f.GetFileColumnNumber());
            if (Seen.Add(s)) Console.WriteLine(s);
        }
        return t;
    }

    public static async Task Run()
    {
        Loops(3); Here(0); Here(1);
        new Inner(Here(2));
        await Asynchronous(2);
        foreach (var i in Iterator(2)) Here(i);
        await foreach (var i in Both(2)) Here(i);
        try { Throws(1); } catch (InvalidOperationException e) { Trace(e); }
        Documents();
        Lambdas(4);
        Switches("b"); Switches("zz");
        Disposes();
        Property = 3;
        Generic<string>("a"); Generic<int>(1);
        Here(Here(Here(1) +
            Here(2)) +
            Here(3));
    }

    static void Trace(Exception e)
    {
        foreach (var f in new StackTrace(e, true).GetFrames())
            Console.WriteLine("{0:x8}\t{1}\t{2}\t{3}\t{4}", f.GetMethod().MetadataToken, f.GetILOffset(), f.GetFileName(), f.GetFileLineNumber(), f.GetFileColumnNumber());
    }

    static int Property { get => Here(1); set { Here(value); } }

    class Inner
    {
        readonly int a = Here(1);
        static readonly int B = Here(2);
        public Inner(int n)
            : base()
        {
            Here(n + a + B);
        }
    }

    static void Loops(int n)
    {
        for (int i = Here(0); Here(i) < n; i += Here(1))
        {
            while (Here(false)) { }
            do Here(i); while (Here(false));
        }
        if (n > 1 &&
            Here(n) > 2 ||
            Here(n) < 0)
            Here(1);
        else
            Here(2);
    }

    static async Task<int> Asynchronous(int n)
    {
        Here(1);
        await Task.Yield();
        Here(2);
        try
        {
            Here(await Task.FromResult(n));
        }
        finally
        {
            Here(3);
            await Task.Delay(1);
            Here(4);
        }
        return Here(5);
    }

    static IEnumerable<int> Iterator(int n)
    {
        try
        {
            for (int i = 0; i < n; i++)
                yield return Here(i);
        }
        finally { Here(9); }
    }

    static async IAsyncEnumerable<int> Both(int n)
    {
        yield return Here(1);
        await Task.Yield();
        yield return Here(n);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throws(int depth)
    {
        if (depth > 0)
            Throws(depth - 1);
        else
            throw new InvalidOperationException(Here("thrown"));
    }

    static void Documents()
    {
        Here(1);
#line 100 "/elsewhere/Other.cs"
        Here(2);
#line hidden
        Here(3);
#line 7 "/elsewhere/Third.cs"
        Here(4);
#line default
        Here(5);
    }

    static void Lambdas(int n)
    {
        Func<int, int> f = x => Here(x + n);
        Func<int> g = () =>
        {
            Here(1);
            return f(2);
        };
        int Local(int y)
        {
            return Here(y);
        }
        g(); Local(2);
        new[] { 1, 2 }.Select(x => Here(x)).Where(x => x > 0).OrderBy(x => Here(-x)).ToArray();
    }

    static int Switches(string s)
    {
        switch (s)
        {
            case "a": return Here(1);
            case "b": return Here(2);
            default: return s switch { "c" => Here(3), _ => Here(4) };
        }
    }

    sealed class Resource : IDisposable { public void Dispose() { Here(1); } }

    static void Disposes()
    {
        using (new Resource())
            Here(1);
        using var r = new Resource();
        lock (r) { Here(2); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static T Generic<T>(T t) => Here(t);
}
