// Read [lock]: a process whose memory others read.
//
// It allocates, writes "ready PID" and waits for a line. With "lock" it first asks the kernel to keep all its memory, that
// which is still to come included, from being paged out (mlockall), and goes on allocating; "refused" is written if it may not.

using System;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Read
{
    static class Program
    {
        const int Current = 1, Future = 2; // MCL_ in bits/mman-linux.h

        [DllImport("libc")]
        static extern int mlockall(int flags);

        static object[] kept = new object[1000];

        static int Main(string[] args)
        {
            Allocate(100_000);
            if (args.Length > 0 && mlockall(Current | Future) != 0)
                Console.WriteLine("refused");
            Allocate(100_000);
            using (Process self = Process.GetCurrentProcess())
                Console.WriteLine("ready " + self.Id);
            Console.ReadLine();
            return 0;
        }

        static void Allocate(int n)
        {
            for (int i = 0; i < n; i++)
                kept[i % kept.Length] = new byte[i % 64];
        }
    }
}
