// ManyCalls [N]: millions of calls that are shorter than what records them. ElementAt runs the iterator from its beginning each time. Prints
// how often Price was called, and how long Total took, by a Stopwatch and in processor time.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;

static class Report
{
    static long evaluations;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Price(int x) { evaluations++; return x * 3; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static IEnumerable<int> Prices(IEnumerable<int> xs)
    {
        foreach (int x in xs)
            yield return Price(x);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Total(int n)
    {
        IEnumerable<int> prices = Prices(Enumerable.Range(0, n));
        long sum = 0;
        for (int i = 0; i < n; i++)
            sum += prices.ElementAt(i);
        return sum;
    }

    static int Main(string[] args)
    {
        int n = args.Length > 0 ? int.Parse(args[0]) : 2000;
        TimeSpan before = Process.GetCurrentProcess().TotalProcessorTime;
        Stopwatch watch = Stopwatch.StartNew();
        long total = Total(n);
        long elapsed = watch.ElapsedTicks * (1_000_000_000 / Stopwatch.Frequency);
        TimeSpan cpu = Process.GetCurrentProcess().TotalProcessorTime - before;
        Console.WriteLine("total " + total);
        Console.WriteLine("{{\"truth\":\"many\",\"calls\":{0},\"elapsed\":{1},\"cpu\":{2}}}", evaluations, elapsed, cpu.Ticks * 100);
        Console.WriteLine("{\"truth\":\"end\",\"ok\":true}");
        return 0;
    }
}
