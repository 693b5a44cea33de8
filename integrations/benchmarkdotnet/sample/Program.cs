// Benchmarks whose allocations and calls can be counted by hand. Run it with clrprof on the PATH: dotnet run -c Release

using System.Runtime.CompilerServices;
using System.Threading.Tasks;
using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Running;
using Clrprof.BenchmarkDotNet;

BenchmarkRunner.Run(typeof(Orders).Assembly, null, args);

/// <summary>16 bytes of header, 8 of number.</summary>
public sealed class OrderLine
{
    public long Number;
}

public static class Parser
{
    /// <summary>The lines of an order: an array of 24 + 8 n bytes, and n objects of 24.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static OrderLine[] Lines(int n)
    {
        var lines = new OrderLine[n];
        for (int i = 0; i < n; i++)
            lines[i] = Line(i);
        return lines;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static OrderLine Line(int i) => new OrderLine { Number = i };
}

[ClrprofDiagnoser, MemoryDiagnoser]
public class Orders
{
    [Params(1, 10)]
    public int N;

    [GlobalSetup]
    public void Setup() => Parser.Lines(1000); // is not recorded

    [Benchmark]
    public int Load() => Parser.Lines(N).Length;
}

/// <summary>Calls, too. Each operation of a benchmark is one of two that its method makes.</summary>
[ClrprofDiagnoser(calls: true)]
public class OrderCalls
{
    int sum;

    [Benchmark(OperationsPerInvoke = 2)]
    public int LoadTwice() => Parser.Lines(5).Length + Parser.Lines(5).Length;

    [Benchmark]
    public int Nothing() => ++sum;

    [Benchmark]
    public async Task<int> Async() => (await Task.FromResult(Parser.Lines(2))).Length;
}
