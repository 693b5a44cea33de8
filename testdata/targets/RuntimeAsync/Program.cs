// RuntimeAsync [N]: async methods that the runtime suspends itself. Compiled with the feature runtime-async=on, and run
// with DOTNET_RuntimeAsync=1. Prints in which order things happen, which is the same whoever looks on; ends with code 3
// if it would wait forever.

#pragma warning disable SYSLIB5007 // the feature is a preview

using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

sealed class Item { public long A; }

static class Methods
{
    public static object Sink;
    static readonly List<string> log = new List<string>();

    static void Note(string what) { lock (log) log.Add(what); }

    static async Task<int> Waits(string name, Task<int> gate)
    {
        Note(name + " begins");
        Sink = new Item();
        int x = await gate;
        Note(name + " goes on");
        Sink = new Item();
        return x;
    }

    static async Task<int> Passes(string name, Task<int> gate)
    {
        int x = await Waits(name, gate);
        Note(name + " is back");
        return x;
    }

    static async ValueTask<int> Catches(Task<int> gate)
    {
        try { return await Throws(gate); }
        catch (InvalidOperationException) { Sink = new Item(); return 1; }
        finally { Note("finally"); }
    }

    static async Task<int> Throws(Task<int> gate)
    {
        await gate;
        throw new InvalidOperationException();
    }

    static async Task<int> Yields(int n)
    {
        int sum = 0;
        for (int i = 0; i < n; i++)
        {
            await Task.Yield();
            sum += Plain(i);
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Plain(int i) { Sink = new Item(); return i & 1; }

    /// <summary>One after the other begins, and all wait; then each goes on when it is let.</summary>
    public static string Run(int n)
    {
        for (int i = 0; i < n; i++)
        {
            log.Clear();
            var gates = new TaskCompletionSource<int>[3];
            var tasks = new Task<int>[3];
            for (int k = 0; k < 3; k++)
            {
                gates[k] = new TaskCompletionSource<int>();
                tasks[k] = Passes("task " + k, gates[k].Task);
                Note("main has task " + k);
            }
            for (int k = 2; k >= 0; k--)
            {
                gates[k].SetResult(k);
                Note("task " + k + " says " + tasks[k].GetAwaiter().GetResult());
            }
            var last = new TaskCompletionSource<int>();
            ValueTask<int> caught = Catches(last.Task);
            Note("main has " + caught.IsCompleted);
            last.SetResult(0);
            Note("caught " + caught.AsTask().GetAwaiter().GetResult());
        }
        Note("yields " + Yields(n).GetAwaiter().GetResult());
        return string.Join(", ", log);
    }

    public static void Say(int n)
    {
        foreach (string name in new[] { "Waits", "Passes", "Catches", "Throws", "Yields" })
            foreach (MemberInfo m in typeof(Methods).GetMember(name, BindingFlags.Static | BindingFlags.NonPublic))
                Calls.Unknown((MethodBase)m);
        Calls.Of(Calls.Method(typeof(Methods), "Plain"), n);
        Calls.Of(Calls.Method(typeof(Item), ".ctor"), 8L * n);
        Calls.Unknown(Calls.Method(typeof(Methods), "Note"));
        Calls.Unknown(Calls.Method(typeof(Methods), ".cctor"));
        Calls.By(Calls.Method(typeof(Program), "Main"), Calls.Method(typeof(Methods), "Run"), 1);
        SayMade("Waits", 6L * n);
        SayMade("Catches", n);
        SayMade("Plain", n);
    }

    static void SayMade(string function, long objects) =>
        Truth.Add(Calls.Row("made", Calls.Function("", Calls.Method(typeof(Methods), function)), "type", "Item"), objects, objects * Size.Object(8));
}

static class Program
{
    static int Main(string[] args)
    {
        int n = args.Length > 0 ? int.Parse(args[0]) : 100;
        new Thread(Program.Watch) { IsBackground = true }.Start();
        Console.WriteLine("order: " + Methods.Run(n));
        Methods.Say(n);
        return Calls.Print();
    }

    static void Watch()
    {
        Thread.Sleep(600_000); // it takes less than one second, on a machine that does nothing else
        Environment.Exit(3);
    }
}
