using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace TimeWaits
{
    /// <summary>Functions that never wait, whoever takes the processor from them.</summary>
    static class Spinners
    {
        [DllImport("libc", SetLastError = true)] static extern int sched_setaffinity(int thread, UIntPtr size, [In, Out] ulong[] mask);
        [DllImport("libc", SetLastError = true)] static extern int sched_getaffinity(int thread, UIntPtr size, [In, Out] ulong[] mask);

        const int Words = 128; // 8192 processors
        const long Slice = 100_000_000; // processor time of a call, ns

        [DllImport("libc")] static extern int usleep(uint microseconds);

        const uint Pause = 400_000; // of Mixed, microseconds

        static ulong sink;

        /// <summary>Keeps the thread to the first processor that it may use.</summary>
        public static void Pin()
        {
            ulong[] mask = new ulong[Words], one = new ulong[Words];
            if (sched_getaffinity(0, (UIntPtr)(Words * 8), mask) < 0)
                throw new InvalidOperationException("sched_getaffinity: errno " + Marshal.GetLastWin32Error());
            for (int i = 0; i < Words; i++)
                if (mask[i] != 0)
                {
                    one[i] = mask[i] & (0 - mask[i]);
                    break;
                }
            if (sched_setaffinity(0, (UIntPtr)(Words * 8), one) < 0)
                throw new InvalidOperationException("sched_setaffinity: errno " + Marshal.GetLastWin32Error());
        }

        /// <summary>
        /// Computes for so much processor time of the thread, in pieces of some 5 microseconds, and adds up those in which the thread
        /// had the processor all the time.
        /// </summary>
        static void Spin(Meter m)
        {
            m.Begin();
            Usage last = Usage.Now();
            long end = last.Cpu + Slice;
            ulong state = 1;
            while (last.Cpu < end)
            {
                state = Work(state);
                Usage now = Usage.Now();
                m.Piece(last, now);
                last = now;
            }
            sink += state;
            m.End();
        }

        [MethodImpl(MethodImplOptions.AggressiveOptimization)]
        static ulong Work(ulong state)
        {
            for (int j = 0; j < 5_000; j++)
                state = state * 6364136223846793005 + 1442695040888963407;
            return state;
        }

        /// <summary>Waits and computes, in one function that calls no other one that has times.</summary>
        [MethodImpl(MethodImplOptions.AggressiveOptimization)]
        public static void Mixed(Meter m)
        {
            m.Begin();
            usleep(Pause);
            ulong state = 1;
            for (long i = 0; i < Slice; i++)
                state = state * 6364136223846793005 + 1442695040888963407;
            sink += state;
            m.End();
        }

        // The same for each kind of surroundings, since rows are by function.
        public static void Alone(Meter m) { Spin(m); sink++; }
        public static void Two(Meter m) { Spin(m); sink++; }
        public static void Competing(Meter m) { Spin(m); sink++; }
        public static void Throttled(Meter m) { Spin(m); sink++; }
        public static void Stopped(Meter m) { Spin(m); sink++; }

        /// <summary>Two threads on one processor: each has it for half of the time.</summary>
        public static void RunTwo(int times)
        {
            var meters = new[] { new Meter(), new Meter() };
            var threads = new Thread[2];
            for (int i = 0; i < 2; i++)
            {
                Meter meter = meters[i];
                threads[i] = new Thread(() =>
                {
                    Pin();
                    meter.Call(Two, times);
                });
            }
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
            Meter.Say(Two, meters);
        }
    }
}
