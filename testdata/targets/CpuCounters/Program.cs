// CpuCounters [N]: calls functions that touch fresh pages, wait and compute, N times, and asks the kernel what it counted for the
// thread.
//
// It prints for each function of Work what was counted from its first statement to its last, all calls together and without those
// that it called ("counted"; least: the function has at least that), and for all of them what was counted around the outermost
// calls ("around": all functions together have at most that). What lies between the two is what a call itself takes, and the agent.

using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace CpuCounters
{
    /// <summary>What the kernel counted for this thread up to now.</summary>
    struct Usage
    {
        public long Faults, Switches, Cpu; // Cpu: nanoseconds

        [StructLayout(LayoutKind.Sequential)]
        struct ResourceUsage
        {
            public long UserSeconds, UserMicroseconds, SystemSeconds, SystemMicroseconds;
            public long MaxRSS, IxRSS, IdRSS, IsRSS, MinorFaults, MajorFaults, Swaps, BlocksIn, BlocksOut, Sent, Received, Signals, Voluntary, Involuntary;
        }

        struct Time { public long Seconds, Nanoseconds; }

        const int ThisThread = 1, ThreadClock = 3;

        [DllImport("libc")] static extern int getrusage(int who, out ResourceUsage usage);
        [DllImport("libc")] static extern int clock_gettime(int clock, out Time time);

        public static Usage Now()
        {
            clock_gettime(ThreadClock, out Time t);
            getrusage(ThisThread, out ResourceUsage r);
            return new Usage { Faults = r.MinorFaults + r.MajorFaults, Switches = r.Voluntary + r.Involuntary, Cpu = t.Seconds * 1_000_000_000 + t.Nanoseconds };
        }

        public static Usage operator +(in Usage a, in Usage b) => new Usage { Faults = a.Faults + b.Faults, Switches = a.Switches + b.Switches, Cpu = a.Cpu + b.Cpu };
        public static Usage operator -(in Usage a, in Usage b) => new Usage { Faults = a.Faults - b.Faults, Switches = a.Switches - b.Switches, Cpu = a.Cpu - b.Cpu };
    }

    /// <summary>What was counted within the calls of a function, without those that it called and that are measured, too.</summary>
    sealed class Meter
    {
        static Usage below; // of measured calls within the one that runs

        public Usage Own;
        public long Calls, Pages;
        Usage begun, outside;

        public void Begin()
        {
            outside = below;
            below = default;
            begun = Usage.Now();
        }

        public void End(int pages)
        {
            Usage all = Usage.Now() - begun;
            Own += all - below;
            below = outside + all;
            Calls++;
            Pages += pages;
        }
    }

    /// <summary>Fresh pages of memory.</summary>
    static unsafe class Memory
    {
        const int Read = 1, Write = 2, Private = 2, Anonymous = 0x20, NoHugePages = 15;
        public const int Page = 4096;

        [DllImport("libc")] static extern byte* mmap(void* at, IntPtr size, int protection, int flags, int file, IntPtr offset);
        [DllImport("libc")] static extern int munmap(void* at, IntPtr size);
        [DllImport("libc")] static extern int madvise(void* at, IntPtr size, int advice);

        public static byte* New(int pages)
        {
            byte* at = mmap(null, (IntPtr)(pages * Page), Read | Write, Private | Anonymous, -1, IntPtr.Zero);
            madvise(at, (IntPtr)(pages * Page), NoHugePages); // one fault for each page
            return at;
        }

        public static void Free(byte* at, int pages) => munmap(at, (IntPtr)(pages * Page));
    }

    /// <summary>What is measured.</summary>
    static unsafe class Work
    {
        public static readonly Meter Touched = new Meter(), Waited = new Meter(), Computed = new Meter(), Threw = new Meter(), Recursed = new Meter(), Called = new Meter();

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Touch(byte* at, int pages)
        {
            Touched.Begin();
            for (int i = 0; i < pages; i++)
                at[i * Memory.Page] = 1;
            Touched.End(pages);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Two(byte* at)
        {
            Called.Begin();
            Touch(at, 3); // line of three
            Touch(at + 3 * Memory.Page, 5); // line of five
            at[8 * Memory.Page] = 1;
            Called.End(1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Throw(byte* at)
        {
            Threw.Begin();
            at[0] = at[Memory.Page] = 1;
            Threw.End(2);
            throw new InvalidOperationException();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Recurse(byte* at, int pages)
        {
            if (pages == 0)
                return;
            Recursed.Begin();
            at[0] = 1;
            Recursed.End(1);
            Recurse(at + Memory.Page, pages - 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Wait()
        {
            Waited.Begin();
            Thread.Sleep(1);
            Waited.End(0);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Compute(long n)
        {
            Computed.Begin();
            for (int i = 0; i < 100_000; i++)
                n = n * 31 + i;
            Computed.End(0);
            return n;
        }
    }

    static unsafe class Program
    {
        const int Pages = 16;

        static void Round(ref Usage around)
        {
            byte* at = Memory.New(4 * Pages);
            Usage before = Usage.Now();
            Work.Touch(at, Pages);
            Work.Two(at + Pages * Memory.Page);
            Work.Recurse(at + 2 * Pages * Memory.Page, Pages);
            Work.Wait();
            Work.Compute(Environment.TickCount);
            try
            {
                Work.Throw(at + 3 * Pages * Memory.Page);
            }
            catch (InvalidOperationException)
            {
            }
            around += Usage.Now() - before;
            Memory.Free(at, 4 * Pages);
        }

        static void Say(string name, Meter m) =>
            Console.WriteLine("{{\"truth\":\"counted\",\"name\":\"CpuCounters.Work.{0}\",\"calls\":{1},\"pages\":{2},\"faults\":{3},\"switches\":{4},\"cpu\":{5}}}",
                name, m.Calls, m.Pages, m.Own.Faults, m.Own.Switches, m.Own.Cpu);

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 20;
            Usage around = default;
            for (int i = 0; i < n; i++)
                Round(ref around);
            Say(nameof(Work.Touch), Work.Touched);
            Say(nameof(Work.Two), Work.Called);
            Say(nameof(Work.Recurse), Work.Recursed);
            Say(nameof(Work.Wait), Work.Waited);
            Say(nameof(Work.Compute), Work.Computed);
            Say(nameof(Work.Throw), Work.Threw);
            Console.WriteLine("{{\"truth\":\"around\",\"faults\":{0},\"switches\":{1},\"cpu\":{2}}}", around.Faults, around.Switches, around.Cpu);
            Console.WriteLine("{\"truth\":\"end\",\"ok\":true}");
            return 0;
        }
    }
}
