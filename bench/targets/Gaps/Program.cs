// How long full collections stop the program where few arrays are alive between many dead ones: by the processor time of the thread
// that asks for them. Prints milliseconds: of the first collection, which finds them dead, and the median of six later ones.
// Arguments: COUNT arrays, BYTES of each, EACH that is kept is one of so many
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Gaps
{
    static class Program
    {
        struct Time { public long Seconds, Nanoseconds; }

        [DllImport("libc")]
        static extern int clock_gettime(int clock, out Time time);

        static double ProcessorTime()
        {
            clock_gettime(3 /* CLOCK_THREAD_CPUTIME_ID */, out Time time);
            return time.Seconds * 1e3 + time.Nanoseconds / 1e6;
        }

        static readonly List<byte[]> live = new List<byte[]>();

        static void Main(string[] args)
        {
            GC.Collect();
            Fill(int.Parse(args[0]), int.Parse(args[1]), int.Parse(args[2]));
            var later = new double[6];
            double first = Timed();
            for (int i = 0; i < later.Length; i++)
                later[i] = Timed();
            Array.Sort(later);
            Console.WriteLine("{0:F2} {1:F2}", first, (later[2] + later[3]) / 2);
            GC.KeepAlive(live);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fill(int count, int bytes, int each)
        {
            var all = new byte[count][];
            for (int i = 0; i < count; i++)
                all[i] = new byte[bytes];
            for (int i = 0; i < count; i += each)
                live.Add(all[i]);
        }

        static double Timed()
        {
            double begin = ProcessorTime();
            GC.Collect(2, GCCollectionMode.Forced, true, false);
            return ProcessorTime() - begin;
        }
    }
}
