// Fragmented: a heap of large objects of which seven of eight are dropped. It prints a row "heap": how many bytes the runtime
// says that the heap has after the last collection, and how many of these are free between objects.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Fragmented
{
    static class Program
    {
        static readonly List<byte[]> Kept = new List<byte[]>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fill()
        {
            var all = new List<byte[]>();
            for (int i = 0; i < 400; i++)
                all.Add(new byte[200_000]);
            for (int i = 0; i < 400; i += 8)
                Kept.Add(all[i]);
        }

        static void Main()
        {
            Fill();
            for (int i = 0; i < 3; i++)
                GC.Collect(2, GCCollectionMode.Forced, true, false);
            var info = GC.GetGCMemoryInfo();
            Console.WriteLine($"{{\"kind\":\"heap\",\"bytes\":{info.HeapSizeBytes},\"free\":{info.FragmentedBytes}}}");
            GC.KeepAlive(Kept);
        }
    }
}
