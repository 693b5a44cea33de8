// SystemEvents [N [FILE]]: functions that touch fresh pages, wait, write and read a file, N times, in two threads, one of which does half as
// much.
//
// It prints for each function of Work and each thread what the kernel counted for the thread from the first statement of the function to the
// last ("least"), and around its calls ("most"): what is listed of the function lies between the two, and both are the same where
// nothing else happened.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace SystemEvents
{
    /// <summary>What the kernel counted for this thread up to now.</summary>
    struct Usage
    {
        public long Minor, Major, Voluntary, Preempted, Reads, Writes;

        [StructLayout(LayoutKind.Sequential)]
        struct ResourceUsage
        {
            public long UserSeconds, UserMicroseconds, SystemSeconds, SystemMicroseconds;
            public long MaxRSS, IxRSS, IdRSS, IsRSS, MinorFaults, MajorFaults, Swaps, BlocksIn, BlocksOut, Sent, Received, Signals, Voluntary, Involuntary;
        }

        const int ThisThread = 1;

        [DllImport("libc")] static extern int getrusage(int who, out ResourceUsage usage);

        public static Usage Now()
        {
            getrusage(ThisThread, out ResourceUsage r);
            return new Usage { Minor = r.MinorFaults, Major = r.MajorFaults, Voluntary = r.Voluntary, Preempted = r.Involuntary, Reads = r.BlocksIn, Writes = r.BlocksOut };
        }

        public void Add(in Usage from, in Usage to)
        {
            Minor += to.Minor - from.Minor;
            Major += to.Major - from.Major;
            Voluntary += to.Voluntary - from.Voluntary;
            Preempted += to.Preempted - from.Preempted;
            Reads += to.Reads - from.Reads;
            Writes += to.Writes - from.Writes;
        }

        public override string ToString() =>
            string.Format("{{\"minor\":{0},\"major\":{1},\"voluntary\":{2},\"preempted\":{3},\"reads\":{4},\"writes\":{5}}}", Minor, Major, Voluntary, Preempted, Reads, Writes);
    }

    static unsafe class Native
    {
        const int Read = 1, Write = 2, Private = 2, Anonymous = 0x20, NoHugePages = 15, ReadWrite = 2, Create = 0x40, Truncate = 0x200, DontNeed = 4;
        public const int Page = 4096, FilePages = 16;

        [DllImport("libc")] static extern byte* mmap(void* at, IntPtr size, int protection, int flags, int file, IntPtr offset);
        [DllImport("libc")] static extern int munmap(void* at, IntPtr size);
        [DllImport("libc")] static extern int madvise(void* at, IntPtr size, int advice);
        [DllImport("libc")] static extern int open(string path, int flags, int mode);
        [DllImport("libc")] static extern int fdatasync(int file);
        [DllImport("libc")] static extern int ftruncate(int file, IntPtr size);
        [DllImport("libc")] static extern int posix_fadvise(int file, IntPtr offset, IntPtr size, int advice);
        [DllImport("libc")] public static extern IntPtr pread(int file, byte* to, IntPtr size, IntPtr offset);
        [DllImport("libc")] public static extern IntPtr pwrite(int file, byte* from, IntPtr size, IntPtr offset);

        public static byte* New(int pages)
        {
            byte* at = mmap(null, (IntPtr)(pages * Page), Read | Write, Private | Anonymous, -1, IntPtr.Zero);
            madvise(at, (IntPtr)(pages * Page), NoHugePages); // one fault for each page
            return at;
        }

        public static void Free(byte* at, int pages) => munmap(at, (IntPtr)(pages * Page));

        public static int Open(string path) => open(path, ReadWrite | Create | Truncate, 0x180);

        public static void Empty(int file) => ftruncate(file, IntPtr.Zero);

        /// <summary>The file is on the disk, and not in memory any more.</summary>
        public static void Drop(int file)
        {
            fdatasync(file);
            posix_fadvise(file, IntPtr.Zero, IntPtr.Zero, DontNeed);
        }
    }

    /// <summary>What was counted within the calls of a function by a thread, and around them.</summary>
    sealed class Meter
    {
        public long Calls;
        public Usage Least, Most;
        public Usage Begun, Before;
    }

    /// <summary>What is recorded.</summary>
    static unsafe class Work
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Touch(Meter m, byte* at, int pages)
        {
            m.Begun = Usage.Now();
            for (int i = 0; i < pages; i++)
                at[i * Native.Page] = 1;
            m.Least.Add(m.Begun, Usage.Now());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Wait(Meter m)
        {
            m.Begun = Usage.Now();
            Thread.Sleep(2);
            m.Least.Add(m.Begun, Usage.Now());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Write(Meter m, int file, byte* from)
        {
            m.Begun = Usage.Now();
            Native.pwrite(file, from, (IntPtr)(Native.FilePages * Native.Page), IntPtr.Zero);
            m.Least.Add(m.Begun, Usage.Now());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Read(Meter m, int file, byte* to)
        {
            m.Begun = Usage.Now();
            Native.pread(file, to, (IntPtr)(Native.FilePages * Native.Page), IntPtr.Zero);
            m.Least.Add(m.Begun, Usage.Now());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static long Compute(Meter m, long n)
        {
            m.Begun = Usage.Now();
            for (int i = 0; i < 10_000; i++)
                n = n * 31 + i;
            m.Least.Add(m.Begun, Usage.Now());
            return n;
        }
    }

    /// <summary>What one thread does.</summary>
    sealed unsafe class Worker
    {
        readonly Dictionary<string, Meter> meters = new Dictionary<string, Meter>();
        readonly string name, path;
        readonly int rounds;

        public Worker(string name, string path, int rounds)
        {
            this.name = name;
            this.path = path;
            this.rounds = rounds;
            foreach (string f in new[] { "Touch", "Wait", "Write", "Read", "Compute" })
                meters[f] = new Meter();
        }

        Meter Begin(string function)
        {
            Meter m = meters[function];
            m.Calls++;
            m.Before = Usage.Now();
            return m;
        }

        static void End(Meter m) => m.Most.Add(m.Before, Usage.Now());

        public void Run()
        {
            int file = Native.Open(path);
            byte* buffer = Native.New(Native.FilePages);
            for (int i = 0; i < Native.FilePages; i++)
                buffer[i * Native.Page] = 1;
            for (int i = 0; i < rounds; i++)
            {
                const int pages = 5;
                byte* at = Native.New(pages);
                Meter m = Begin("Touch");
                Work.Touch(m, at, pages);
                End(m);
                Native.Free(at, pages);
                m = Begin("Wait");
                Work.Wait(m);
                End(m);
                Native.Empty(file);
                m = Begin("Write");
                Work.Write(m, file, buffer);
                End(m);
                Native.Drop(file);
                m = Begin("Read");
                Work.Read(m, file, buffer);
                End(m);
                m = Begin("Compute");
                Work.Compute(m, i);
                End(m);
            }
        }

        public void Say()
        {
            foreach (KeyValuePair<string, Meter> m in meters)
                Console.WriteLine("{{\"truth\":\"function\",\"name\":\"SystemEvents.Work.{0}\",\"thread\":\"{1}\",\"calls\":{2},\"least\":{3},\"most\":{4}}}",
                    m.Key, name, m.Value.Calls, m.Value.Least, m.Value.Most);
        }
    }

    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 20;
            string path = args.Length > 1 ? args[1] : "/tmp/SystemEvents.data";
            Worker first = new Worker("first", path + "1", n), second = new Worker("second", path + "2", n / 2);
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
