using System;
using System.Runtime.CompilerServices;
using System.Threading;

/// <summary>
/// A program by itself, for a runtime that has next to no libraries. Two threads allocate so many objects, and make so many calls, as the
/// test knows. It ends with 42 if it was right itself.
/// </summary>
static class Program
{
    const int Rounds = 100_000, Kept = 1_000, Depth = 50;

    sealed class Item { public long A, B = 0; }
    sealed class Big { public long A = 0, B = 0, C = 0, D = 0, E = 0, F; }

    static readonly Item[] kept = new Item[Kept];
    static long sum, other;
    static bool done;

    sealed class Work : IThreadPoolWorkItem
    {
        public void Execute()
        {
            Beside();
            Volatile.Write(ref done, true);
        }
    }

    static int Main()
    {
        ThreadPool.UnsafeQueueUserWorkItem(new Work(), false);
        for (int i = 0; i < Rounds; i++)
            sum += Make(i).A;
        while (!Volatile.Read(ref done)) { }
        Deep(Depth);
        long most = (long)Rounds * (Rounds - 1) / 2;
        return sum == most && other == most && kept[Kept - 1].A == Rounds - 1 ? 42 : 1;
    }

    static void Beside()
    {
        for (int i = 0; i < Rounds; i++)
            other += Large(i).F;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Item Make(int i)
    {
        var item = new Item { A = i };
        kept[i % Kept] = item;
        return item;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Big Large(int i) => new Big { F = i };

    [MethodImpl(MethodImplOptions.NoInlining)]
    static object Deep(int n) => n == 0 ? new Big() : Deep(n - 1);
}
