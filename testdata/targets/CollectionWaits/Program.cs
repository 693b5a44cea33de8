// CollectionWaits: threads compute while another one has the heap collected, again and again; and a thread handles requests that sleep. Nobody
// waits for a lock. Prints how often and for how long the runtime was stopped, as it counts itself.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

sealed class Node
{
    public readonly Node Left, Right;
    public Node(Node left, Node right) { Left = left; Right = right; }
}

static class Computing
{
    static volatile bool stop;
    static long sum;

    public static void End() => stop = true;

    public static void Run()
    {
        while (!stop)
            Step();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Step()
    {
        long s = 0;
        for (int i = 0; i < 200_000; i++)
            s += i ^ s;
        Interlocked.Add(ref sum, s);
    }
}

static class Requests
{
    public const int Count = 25, Milliseconds = 20;

    public static void Run()
    {
        for (int i = 0; i < Count; i++)
            Handle();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Handle() => Thread.Sleep(Milliseconds);
}

static class Program
{
    static Node root;

    static Node Tree(int levels) => levels == 0 ? null : new Node(Tree(levels - 1), Tree(levels - 1));

    /// <summary>How long all pauses have taken so far; 0: the runtime does not say it (before .NET 7).</summary>
    static TimeSpan Paused()
    {
        MethodInfo m = typeof(GC).GetMethod("GetTotalPauseDuration");
        return m == null ? TimeSpan.Zero : (TimeSpan)m.Invoke(null, null);
    }

    static int Main()
    {
        root = Tree(20);
        var threads = new[] { new Thread(Computing.Run) { Name = "computes" }, new Thread(Computing.Run) { Name = "computes" },
            new Thread(Requests.Run) { Name = "requests" } };
        TimeSpan before = Paused();
        foreach (Thread t in threads)
            t.Start();
        for (int i = 0; i < 12; i++)
        {
            GC.Collect();
            Thread.Sleep(5);
        }
        Computing.End();
        foreach (Thread t in threads)
            t.Join();
        TimeSpan after = Paused();
        GC.KeepAlive(root);
        Console.WriteLine("{{\"truth\":\"paused\",\"count\":{0},\"all\":{1},\"within\":{2}}}", GC.CollectionCount(0),
            (long)(after.TotalMilliseconds * 1e6), (long)((after - before).TotalMilliseconds * 1e6));
        Console.WriteLine("{\"truth\":\"end\",\"ok\":true}");
        return 0;
    }
}
