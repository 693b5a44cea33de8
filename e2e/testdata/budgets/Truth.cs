// Tests whose arguments say what they allocate: TestAllocationBudget compares it with what they are told to have allocated. Those
// whose names begin with Held pass, the others fail.

#pragma warning disable xUnit1026, xUnit1028, xUnit1048 // arguments that nobody uses; tests that return something, or nothing though they wait

using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Clrprof.Xunit;
using Xunit;

public sealed class Widget
{
    public long Value;
}

public static class Made
{
    static object kept;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Keep(object o) => kept = o;
}

public class Counted
{
    readonly object[] slot = new object[1]; // and what a constructor makes does not count

    [Theory, InlineData(1, 24), InlineData(1000, 24_000), InlineData(100_000, 2_400_000)]
    [AllocationBudget(bytes: 0)]
    public void Widgets(int n, long expected)
    {
        for (int i = 0; i < n; i++)
            Made.Keep(new Widget());
    }

    [Theory, InlineData(1, 24), InlineData(2, 32), InlineData(5, 32), InlineData(6, 40)] // 22 and 2 for each character, in eights
    [AllocationBudget(bytes: 0)]
    public void Strings(int length, long expected) => Made.Keep(new string('x', length));

    [Theory, InlineData(1, 100_024), InlineData(3, 300_072)]
    [AllocationBudget(bytes: 8)]
    public void Large(int n, long expected)
    {
        for (int i = 0; i < n; i++)
            Made.Keep(new byte[100_000]);
    }

    [Theory, InlineData(3, 3072)]
    [AllocationBudget(bytes: 3064)]
    public void Pinned(int n, long expected)
    {
        for (int i = 0; i < n; i++)
            Made.Keep(GC.AllocateUninitializedArray<byte>(1000, pinned: true));
    }

    [Theory, InlineData(100, 2400)]
    [AllocationBudget(bytes: 2399)]
    public void Collected(int n, long expected)
    {
        for (int i = 0; i < n; i++)
        {
            Made.Keep(new Widget());
            if (i % 10 == 0)
                GC.Collect();
        }
    }

    [Theory, InlineData(7, 24)]
    [AllocationBudget(bytes: 0)]
    public void Boxes(long value, long expected) => slot[0] = value;

    [Theory, InlineData(1.5, 24)]
    [AllocationBudget(bytes: 0)]
    public object Returns(double value, long expected) => value;

    [Theory, InlineData(10, 240)]
    [AllocationBudget(bytes: 0, WarmUp = 3)]
    public void Last(int n, long expected)
    {
        for (int i = 0; i < n; i++)
            Made.Keep(new Widget());
    }
}

public class Held
{
    bool ran;

    [Fact, AllocationBudget(bytes: 24)]
    public void HeldExactly() => Made.Keep(new Widget());

    [Fact, AllocationBudget(bytes: 0, WarmUp = 1)]
    public void HeldWhenWarm()
    {
        if (!ran)
            Made.Keep(new Widget());
        ran = true;
    }

    [Fact, AllocationBudget(bytes: 0)]
    public Task HeldByTask() => Task.CompletedTask;

    [Fact]
    public void HeldByNone() => Made.Keep(new Widget());

    [Fact(Skip = "is not run"), AllocationBudget(bytes: 0)]
    public void Skipped() => Made.Keep(new Widget());

    [Fact]
    public void HeldIsLoud()
    {
        var nobody = Assert.Throws<InvalidOperationException>(() => new AllocationBudgetAttribute(0).Before(typeof(Assert).GetMethod("True", new[] { typeof(bool) })));
        Assert.Contains("[assembly: Clrprof.Xunit.AllocationBudget]", nobody.Message);
        Assert.Throws<ArgumentOutOfRangeException>(() => new AllocationBudgetAttribute(-1));
    }
}

[AllocationBudget(bytes: 0)]
public class OfClass
{
    [Theory, InlineData(1, 24)]
    public void Inherits(int n, long expected) => Made.Keep(new Widget());

    [Fact, AllocationBudget]
    public void HeldByNone() => Made.Keep(new Widget());

    public class Nested
    {
        [Theory, InlineData(1, 24)]
        [AllocationBudget(bytes: 0)]
        public void Broken(int n, long expected) => Made.Keep(new Widget());
    }
}

public class Refused
{
    [Fact, AllocationBudget(bytes: 1_000_000)]
    public async Task Waits() => await Task.Yield();

    [Fact, AllocationBudget(bytes: 1_000_000)]
    public async void ReturnsNothing() => await Task.Yield();

    [Fact, AllocationBudget(bytes: 0)]
    public void Throws() => throw new InvalidOperationException("its own");
}
