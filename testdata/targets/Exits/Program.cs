// Exits HOW: allocates known objects in a known function, says so, and ends.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Exits
{
    sealed class Item { public long A, B; }

    sealed class Last
    {
        ~Last()
        {
            Program.Allocate(Program.Objects);
            Environment.Exit(9);
        }
    }

    static class Program
    {
        public const int Objects = 1000;
        static object sink;

        [DllImport("libc", SetLastError = true)] static extern int kill(int pid, int signal);
        [DllImport("libc")] static extern int getpid();
        [DllImport("libc")] static extern void _exit(int code);
        [DllImport("libc")] static extern void abort();

        static int Main(string[] args)
        {
            string how = args.Length > 0 ? args[0] : "return";
            int times = how == "finalizer" ? 2 : 1;
            Allocate(Objects);
            Truth.Site(Truth.Method(typeof(Program), "Allocate"), typeof(Item), Objects * times, Objects * times * Size.Object(16));
            Truth.Print();
            return End(how);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Allocate(int n) { for (int i = 0; i < n; i++) sink = new Item { A = i }; }

        static int End(string how)
        {
            switch (how)
            {
                case "return": return 7;
                case "exit": Environment.Exit(8); return 0;
                case "exit-thread": new Thread(() => Environment.Exit(6)).Start(); Thread.Sleep(Timeout.Infinite); return 0;
                case "finalizer": return Finalize();
                case "failfast": Environment.FailFast("failed fast on purpose"); return 0;
                case "unhandled": throw new InvalidOperationException("unhandled on purpose");
                case "unhandled-thread": new Thread(() => throw new InvalidOperationException("unhandled on purpose")).Start(); Thread.Sleep(Timeout.Infinite); return 0;
                case "overflow": return Overflow(1);
                case "kill": kill(getpid(), 9); Thread.Sleep(Timeout.Infinite); return 0;
                case "memory": return Exhaust();
                case "abort": abort(); return 0;
                case "_exit": _exit(5); return 0;
                case "segv": Marshal.WriteByte(new IntPtr(1 << 20), 1); return 0;
                case "hang": Thread.Sleep(Timeout.Infinite); return 0;
                default: Console.Error.WriteLine("unknown way to end: " + how); return 2;
            }
        }

        static int Finalize()
        {
            MakeLast();
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return 0; // not reached
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void MakeLast() => new Last();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Overflow(int depth) => Overflow(depth + 1) + depth;

        // The heap is limited by the one who runs this (GCHeapHardLimit); without a
        // limit it stops at 4 GB.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Exhaust()
        {
            var all = new List<byte[]>();
            for (int i = 0; i < 4096; i++)
                all.Add(new byte[1 << 20]);
            return all.Count == 4096 ? 3 : 0;
        }
    }
}
