// What rules about the whole program say, as the program and its runtime count it.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

static class Counted
{
    sealed class Finalized
    {
        ~Finalized() { Sink.Sum++; }
    }

    static readonly List<GCHandle> pins = new List<GCHandle>();
    static List<byte[]> kept;
    static int asked;
    static long pending;

    // All prints by rule: collections asked for, objects pinned, objects that waited for finalizers after a collection at most, bytes
    // that died in generation 2 at least, and collections of generations 2, 1 and 0 that nobody asked for.
    public static void All()
    {
        for (int i = 0; i < 1_000; i++)
            pins.Add(GCHandle.Alloc(new byte[100], GCHandleType.Pinned));
        Keep();
        Collect(); // to generation 1
        Collect(); // to generation 2
        kept = null;
        Drop();
        for (int i = 0; i < 4; i++)
            Collect();
        while (GC.CollectionCount(2) - asked < 12)
            Sink.Kept = new byte[4_000_000];
        int old = GC.CollectionCount(2), middle = GC.CollectionCount(1), all = GC.CollectionCount(0);
        Console.WriteLine("induced-gcs " + asked);
        Console.WriteLine("pinning " + pins.Count);
        Console.WriteLine("finalizer-queue " + pending);
        Console.WriteLine("many-gen2-deaths " + 200 * (10_000 + 3 * IntPtr.Size));
        Console.WriteLine("gc-rate-2 " + (old - asked));
        Console.WriteLine("gc-rate-1 " + (middle - old));
        Console.WriteLine("gc-rate-0 " + (all - middle));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Keep()
    {
        kept = new List<byte[]>(200);
        for (int i = 0; i < 200; i++)
            kept.Add(new byte[10_000]);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Drop()
    {
        for (int i = 0; i < 3_000; i++)
            new Finalized();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Collect()
    {
        GC.Collect();
        asked++;
        object info = GC.GetGCMemoryInfo();
        pending = Math.Max(pending, (long)info.GetType().GetProperty("FinalizationPendingCount").GetValue(info));
        GC.WaitForPendingFinalizers(); // so that what is finalized dies in generation 1
    }

    // Pieces prints how often it reads and writes 16 bytes.
    public static void Pieces()
    {
        var piece = new byte[16];
        int reads = 0, writes = 0;
        using (var file = new FileStream("/dev/zero", FileMode.Open, FileAccess.Read, FileShare.ReadWrite, 1))
            for (var until = DateTime.Now.AddSeconds(2.5); DateTime.Now < until; reads++)
                file.Read(piece, 0, piece.Length);
        using (var file = new FileStream("/dev/null", FileMode.Open, FileAccess.Write, FileShare.ReadWrite, 1))
            for (var until = DateTime.Now.AddSeconds(2.5); DateTime.Now < until; writes++)
                file.Write(piece, 0, piece.Length);
        Console.WriteLine("small-reads " + reads);
        Console.WriteLine("small-writes " + writes);
    }
}
