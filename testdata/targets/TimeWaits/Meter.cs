using System;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;

namespace TimeWaits
{
    /// <summary>What a thread has used up to now, or between two readings.</summary>
    struct Usage
    {
        public long Wall, Cpu; // nanoseconds
        public long Voluntary, Preempted, Faults, Reads;
        public long Delay; // nanoseconds in which it could have run but had no processor, if that was asked for

        [StructLayout(LayoutKind.Sequential)]
        struct ResourceUsage
        {
            public long UserSeconds, UserMicroseconds, SystemSeconds, SystemMicroseconds;
            public long MaxRSS, IxRSS, IdRSS, IsRSS, MinorFaults, MajorFaults, Swaps, BlocksIn, BlocksOut, Sent, Received, Signals, Voluntary, Involuntary;
        }

        struct Time { public long Seconds, Nanoseconds; }

        const int ThisThread = 1, MonotonicClock = 1, ThreadClock = 3;

        [DllImport("libc")] static extern int getrusage(int who, out ResourceUsage usage);
        [DllImport("libc")] static extern int clock_gettime(int clock, out Time time);

        public static Usage Now()
        {
            getrusage(ThisThread, out ResourceUsage r);
            return new Usage { Wall = Read(MonotonicClock), Cpu = Read(ThreadClock), Voluntary = r.Voluntary, Preempted = r.Involuntary, Faults = r.MajorFaults, Reads = r.BlocksIn };
        }

        /// <summary>The second of the three numbers of schedstat; 0 where the kernel does not count.</summary>
        static long ReadDelay()
        {
            const string file = "/proc/thread-self/schedstat";
            return File.Exists(file) ? long.Parse(File.ReadAllText(file).Split(' ')[1], CultureInfo.InvariantCulture) : 0;
        }

        /// <summary>The delay is read first, so that the rest is just what follows.</summary>
        public static Usage WithDelayBefore()
        {
            long delay = ReadDelay();
            Usage u = Now();
            u.Delay = delay;
            return u;
        }

        /// <summary>The delay is read last, so that the rest is just what came before.</summary>
        public static Usage WithDelayAfter()
        {
            Usage u = Now();
            u.Delay = ReadDelay();
            return u;
        }

        static long Read(int clock)
        {
            clock_gettime(clock, out Time t);
            return t.Seconds * 1_000_000_000 + t.Nanoseconds;
        }

        public void Add(in Usage from, in Usage to)
        {
            Wall += to.Wall - from.Wall;
            Cpu += to.Cpu - from.Cpu;
            Voluntary += to.Voluntary - from.Voluntary;
            Preempted += to.Preempted - from.Preempted;
            Faults += to.Faults - from.Faults;
            Reads += to.Reads - from.Reads;
            Delay += to.Delay - from.Delay;
        }
    }

    /// <summary>
    /// A virtual machine: its host takes processors away, which is neither processor time of a thread nor waiting, as far as the
    /// kernel of the guest is concerned.
    /// </summary>
    static class Machine
    {
        const long Tick = 10_000_000; // nanoseconds of a tick in /proc/stat, everywhere

        /// <summary>What Stolen can be short of between two readings, in nanoseconds.</summary>
        public static readonly long StolenError = Tick * Environment.ProcessorCount;

        /// <summary>Nanoseconds that the host took from all processors since the start, the 8th number of /proc/stat; 0: it never did.</summary>
        public static long Stolen()
        {
            string text = File.ReadAllText("/proc/stat");
            string[] numbers = text.Substring(0, text.IndexOf('\n')).Split(new[] { ' ' }, StringSplitOptions.RemoveEmptyEntries);
            return numbers.Length > 8 ? long.Parse(numbers[8], CultureInfo.InvariantCulture) * Tick : 0;
        }
    }

    /// <summary>
    /// Measures calls of a function from outside, just around each, and from inside, from its first statement to its last. What the
    /// function took is at least the one and at most the other, by construction.
    /// </summary>
    sealed class Meter
    {
        Usage outer, inner, before, begun, earlier;
        long calls, quiet, stolen, held;
        bool calm;

        public void Call(Action<Meter> function, int times)
        {
            long already = Machine.Stolen();
            for (int i = 0; i < times; i++)
            {
                before = Usage.WithDelayBefore();
                if (calls == 0)
                    earlier = before;
                function(this);
                outer.Add(before, Usage.WithDelayAfter());
                calls++;
            }
            long now = Machine.Stolen();
            stolen += now == 0 ? 0 : now - already + Machine.StolenError;
        }

        public void Begin()
        {
            begun = Usage.WithDelayAfter();
            held = 0;
            calm = false;
        }

        public void End() => inner.Add(begun, Usage.WithDelayBefore());

        /// <summary>
        /// A part of the call: its processor time counts as quiet if the thread was not switched out in it, nor in its neighbours: a
        /// switch takes away the interval between two events in which it is, and such an interval can belong to two parts.
        /// </summary>
        public void Piece(in Usage from, in Usage to)
        {
            bool still = from.Voluntary == to.Voluntary && from.Preempted == to.Preempted;
            quiet += still ? held : 0;
            held = still && calm ? to.Cpu - from.Cpu : 0;
            calm = still;
        }

        public static void Say(Action<Meter> function, params Meter[] meters)
        {
            Usage outer = default, inner = default, earlier = default;
            long calls = 0, quiet = 0, stolen = 0;
            foreach (Meter m in meters)
            {
                outer.Add(default, m.outer);
                inner.Add(default, m.inner);
                earlier.Add(default, m.earlier);
                calls += m.calls;
                quiet += m.quiet;
                stolen += m.stolen;
            }
            // A page that another thread reads at the moment is a fault without a switch: it may be found out about later, with the next switch.
            Console.WriteLine(Calls.Row("took", Calls.Function("", function.Method), "calls", calls,
                "wall_min", inner.Wall, "wall_max", outer.Wall, "cpu_min", inner.Cpu, "cpu_max", outer.Cpu, "cpu_quiet", quiet,
                "voluntary_min", inner.Voluntary, "voluntary_max", outer.Voluntary, "preempted_min", inner.Preempted, "preempted_max", outer.Preempted,
                "delay_min", inner.Delay, "delay_max", outer.Delay, "stolen", stolen,
                "faults_min", inner.Faults, "faults_max", outer.Faults + earlier.Faults, "reads_min", inner.Reads, "reads_max", outer.Reads + earlier.Reads) + "}");
        }
    }
}
