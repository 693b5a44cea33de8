// SystemCalls TRACEPOINT [N [CALLS]]: functions that make system calls that do not block, wait, compute and change the processor, N times, in
// two threads. TRACEPOINT is the number of raw_syscalls:sys_enter.
//
// Each thread has counters of its own for its system calls and migrations, as the kernel counts them (perf_event_open). A row says of each
// call of a function of Work, in their order, what was counted in the function ("least") and around its call ("most"): what is listed of the call
// lies between the two. Both are the same where nobody but the function did anything.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace SystemCalls
{
    static unsafe class Native
    {
        const int PerfEventOpen = 298, ThisThread = 0, AnyProcessor = -1, NoGroup = -1, AttributeBytes = 112;

        [DllImport("libc")] static extern IntPtr syscall(IntPtr number, byte* attributes, IntPtr pid, IntPtr cpu, IntPtr group, IntPtr flags);
        [DllImport("libc")] public static extern IntPtr read(int file, long* to, IntPtr size);
        [DllImport("libc")] public static extern int getppid();
        [DllImport("libc")] static extern int sched_getaffinity(int pid, IntPtr size, ulong* set);
        [DllImport("libc")] public static extern int sched_setaffinity(int pid, IntPtr size, ulong* set);
        [DllImport("libc")] public static extern int sched_getcpu();

        /// <summary>A perf event of this thread that counts what the kernel does, too.</summary>
        public static int Open(uint type, ulong config)
        {
            byte* a = stackalloc byte[AttributeBytes];
            for (int i = 0; i < AttributeBytes; i++)
                a[i] = 0;
            ((uint*)a)[0] = type;
            ((uint*)a)[1] = AttributeBytes;
            ((ulong*)a)[1] = config;
            int file = (int)syscall((IntPtr)PerfEventOpen, a, (IntPtr)ThisThread, (IntPtr)AnyProcessor, (IntPtr)NoGroup, IntPtr.Zero);
            if (file < 0)
                throw new InvalidOperationException("perf_event_open is refused");
            return file;
        }

        public static ulong Processors()
        {
            ulong set = 0;
            sched_getaffinity(0, (IntPtr)sizeof(ulong), &set);
            return set;
        }
    }

    /// <summary>What the kernel counted for this thread up to now: the reading of each is a system call.</summary>
    unsafe struct Counts
    {
        public long Calls, Migrations;

        public override string ToString() => string.Format("{{\"calls\":{0},\"migrations\":{1}}}", Calls, Migrations);
    }

    sealed unsafe class Meter
    {
        readonly int calls, migrations;
        public Counts Begun, Least;

        public Meter(ulong tracepoint)
        {
            calls = Native.Open(2, tracepoint);
            migrations = Native.Open(1, 4);
        }

        /// <summary>Of system calls, the reading of them is the last that is counted.</summary>
        public Counts Now()
        {
            long moved = 0, called = 0;
            Native.read(migrations, &moved, (IntPtr)sizeof(long));
            Native.read(calls, &called, (IntPtr)sizeof(long));
            return new Counts { Calls = called, Migrations = moved };
        }

        public void Begin() => Begun = Now();

        /// <summary>The two readings of the beginning are in the function, too.</summary>
        public void End()
        {
            Counts now = Now();
            Least = new Counts { Calls = now.Calls - Begun.Calls + 2, Migrations = now.Migrations - Begun.Migrations };
        }
    }

    /// <summary>What is recorded.</summary>
    static unsafe class Work
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Ask(Meter m, int n)
        {
            m.Begin();
            for (int i = 0; i < n; i++)
                Native.getppid();
            m.End();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Wait(Meter m, int n)
        {
            m.Begin();
            Thread.Sleep(1);
            m.End();
        }

        /// <summary>From processor to processor, n times; where there is only one it stays.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Move(Meter m, int n)
        {
            m.Begin();
            ulong all = Native.Processors();
            for (int i = 0; i < n; i++)
            {
                ulong others = all & ~(1ul << Native.sched_getcpu()), one = others & (~others + 1);
                if (one != 0)
                    Native.sched_setaffinity(0, (IntPtr)sizeof(ulong), &one);
            }
            Native.sched_setaffinity(0, (IntPtr)sizeof(ulong), &all);
            m.End();
        }

        /// <summary>No system call.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Compute(long n)
        {
            for (int i = 0; i < 10_000; i++)
                n = n * 31 + i;
            return n;
        }
    }

    sealed class Worker
    {
        readonly List<string> rows = new List<string>();
        readonly string name;
        readonly ulong tracepoint;
        readonly int rounds, calls;

        public Worker(string name, ulong tracepoint, int rounds, int calls)
        {
            this.name = name;
            this.tracepoint = tracepoint;
            this.rounds = rounds;
            this.calls = calls;
        }

        void Call(Meter m, string function, Action<Meter, int> what)
        {
            Counts before = m.Now();
            what(m, calls);
            Counts after = m.Now();
            Counts most = new Counts { Calls = after.Calls - before.Calls - 2, Migrations = after.Migrations - before.Migrations };
            rows.Add(string.Format("{{\"truth\":\"call\",\"name\":\"SystemCalls.Work.{0}\",\"thread\":\"{1}\",\"least\":{2},\"most\":{3}}}", function, name, m.Least, most));
        }

        /// <summary>What Work calls is compiled, and found in its library, so that the runtime makes no system calls for that in Work.</summary>
        static unsafe void WarmUp(Meter m)
        {
            m.Begin();
            Native.getppid();
            ulong all = Native.Processors();
            Native.sched_getcpu();
            Native.sched_setaffinity(0, (IntPtr)sizeof(ulong), &all);
            Thread.Sleep(1);
            m.End();
        }

        public void Run()
        {
            Meter m = new Meter(tracepoint);
            WarmUp(m);
            for (int i = 0; i < rounds; i++)
            {
                Call(m, "Ask", Work.Ask);
                Work.Compute(i);
                Call(m, "Wait", Work.Wait);
                Call(m, "Move", Work.Move);
            }
        }

        public void Say()
        {
            foreach (string row in rows)
                Console.WriteLine(row);
        }
    }

    static class Program
    {
        static int Main(string[] args)
        {
            ulong tracepoint = ulong.Parse(args[0]);
            int n = args.Length > 1 ? int.Parse(args[1]) : 20, calls = args.Length > 2 ? int.Parse(args[2]) : 10;
            Worker first = new Worker("first", tracepoint, n, calls), second = new Worker("second", tracepoint, n, calls + 3);
            Thread a = new Thread(first.Run) { Name = "first" }, b = new Thread(second.Run) { Name = "second" };
            a.Start();
            b.Start();
            a.Join();
            b.Join();
            first.Say();
            second.Say();
            Console.WriteLine("{\"truth\":\"end\",\"ok\":true}");
            return 0;
        }
    }
}
