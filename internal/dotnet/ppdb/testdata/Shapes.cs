// Code whose sequence points take every form of the format: hidden points, more
// than one document in a method, lines that go backwards, long lines, methods
// without points.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

public class Shapes
{
    readonly List<int> list = new List<int> { 1, 2, 3 };
    static readonly object Lock = new object();

    public int Property { get; set; } = 5;

    static async Task Main()
    {
        var s = new Shapes();
        foreach (var i in s.Iterate(3)) Console.Write(i);
        await s.Async(2);
        await foreach (var i in s.Both()) Console.Write(i);
        s.Documents(2); s.Locked(); s.Switch("b"); s.Lambdas(7); s.Backwards(4);
        Console.WriteLine(s.Property);
    }

    IEnumerable<int> Iterate(int n)
    {
        for (int i = 0; i < n; i++)
        {
            if (i == 1) continue;
            yield return list[i];
        }
    }

    async Task<int> Async(int n)
    {
        try
        {
            await Task.Yield();
            return n + await Task.FromResult(1);
        }
        finally
        {
            await Task.Delay(0);
        }
    }

    async IAsyncEnumerable<int> Both()
    {
        yield return 1;
        await Task.Yield();
        yield return 2;
    }

    void Documents(int n)
    {
        Console.Write(n);
#line 10 "/elsewhere/Other.cs"
        Console.Write(n + 1);
#line 5000000 "/elsewhere/Third.cs"
        Console.Write(n + 2);
#line hidden
        Console.Write(n + 3);
#line default
        Console.Write(n + 4);
    }

    void Locked()
    {
        lock (Lock) { Console.Write("locked"); }
        using (var m = new System.IO.MemoryStream()) m.WriteByte(1);
    }

    int Switch(string s)
    {
        switch (s)
        {
            case "a": return 1;
            case "b": return 2;
            case "c": return 3;
            case "d": return 4;
            case "e": return 5;
            case "f": return 6;
            case "g": return 7;
            case "h": return 8;
            default: return s switch { "i" => 9, "j" => 10, _ => throw new ArgumentException(s) };
        }
    }

    int Lambdas(int n)
    {
        Func<int, int> f = x => x + n; Func<int> g = () => { return f(2); };
        int Local(int y) => y * n;
        return g() + Local(3) /*                                                                                                                                                                                              far to the right */ + Local(4);
    }

    int Backwards(int n)
    {
        int i = 0;
        do
        {
            i += n;
            if (i > 100)
                break;
        } while (i < 1000);
        try { return i; } catch (Exception e) when (e.Message.Length > 3) { return 1; } finally { Console.Write(i); }
    }

    unsafe void Empty() { }
}
