// Two ways to write a line of a log, with what each allocates: by type and call path, and exactly.

using System;
using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Running;
using Clrprof.BenchmarkDotNet;

// BenchmarkDotNet builds each program anew, for which a busy machine needs more than its two minutes.
BenchmarkSwitcher.FromAssembly(typeof(Lines).Assembly)
    .Run(args, ManualConfig.Create(DefaultConfig.Instance).WithBuildTimeout(TimeSpan.FromMinutes(20)));

[ClrprofDiagnoser]
public class Lines
{
    readonly char[] buffer = new char[64];
    int order = 1000;
    int cents = 1250;

    /// <summary>A string.</summary>
    [Benchmark]
    public int Interpolated() => $"order {order} at {cents}".Length;

    /// <summary>A box for each number, and the string.</summary>
    [Benchmark]
    public int Formatted() => string.Format("order {0} at {1}", order, cents).Length;

    /// <summary>Into a buffer that is there already.</summary>
    [Benchmark]
    public int IntoBuffer()
    {
        buffer.AsSpan().TryWrite($"order {order} at {cents}", out int written);
        return written;
    }
}
