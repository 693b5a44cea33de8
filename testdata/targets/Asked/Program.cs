// What the first screen has to say a place of: two functions ask for collections, workers have little to do, handles are not freed,
// native memory is not freed. And the runtime says how many methods it has compiled.
using System;
using System.Collections.Concurrent;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Asked
{
    static class Program
    {
        static int Main(string[] arguments)
        {
            switch (arguments[0])
            {
                case "collections": Collect(); break;
                case "idle": Workers.Run(); break;
                case "compiled": Compiled(); break;
                case "pinned": Handles.Run(); break;
                case "native": Blocks.Run(); break;
                default: return 2;
            }
            return 0;
        }

        static object[] held;

        static void Collect()
        {
            held = new object[400000]; // so that collections are a part of the run that is worth a sentence
            for (int i = 0; i < held.Length; i++)
                held[i] = new object[1];
            for (int i = 0; i < 7; i++)
                Cache.Trim();
            for (int i = 0; i < 3; i++)
                Report.Write(i);
            Console.WriteLine("{\"Cache.Trim\": 7, \"Report.Write\": 3}");
        }

        /// <summary>How many methods the runtime has compiled, those of .NET 6 and later say.</summary>
        static void Compiled()
        {
            Type info = typeof(object).Assembly.GetType("System.Runtime.JitInfo");
            if (info == null)
                return;
            object[] all = { false };
            Console.WriteLine(""); // what writes is compiled
            long before = (long)info.GetMethod("GetCompiledMethodCount").Invoke(null, all);
            before = (long)info.GetMethod("GetCompiledMethodCount").Invoke(null, all);
            Console.WriteLine(before);
        }
    }

    static class Handles
    {
        public static void Run()
        {
            for (int i = 0; i < 1000; i++)
                Send(new byte[8000]);
            GC.Collect();
            Console.WriteLine("sent");
        }

        static void Send(byte[] data) => GCHandle.Alloc(data, GCHandleType.Pinned);
    }

    static class Blocks
    {
        public static void Run()
        {
            for (int i = 0; i < 200; i++)
            {
                Make();
                Thread.Sleep(5); // until it has been sampled
            }
            Console.WriteLine("made");
        }

        static void Make()
        {
            IntPtr p = Marshal.AllocHGlobal(1 << 20);
            for (int i = 0; i < 1 << 20; i += 4096)
                Marshal.WriteByte(p, i, 1);
        }
    }

    sealed class Marker { }

    static class Cache
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Trim()
        {
            last = new Marker();
            GC.Collect();
        }

        static Marker last;
    }

    static class Report
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Write(int generation) => GC.Collect(generation, GCCollectionMode.Forced, true);
    }

    // Workers that take what there is to do, for about two seconds in which there is little.
    static class Workers
    {
        static readonly BlockingCollection<int> items = new BlockingCollection<int>();
        static readonly AutoResetEvent wanted = new AutoResetEvent(false);
        static readonly ManualResetEvent late = new ManualResetEvent(false), never = new ManualResetEvent(false);
        static readonly SemaphoreSlim requests = new SemaphoreSlim(0);
        static volatile bool ends;
        static long sum;

        public static void Run()
        {
            var threads = new[] { new Thread(Consume), new Thread(Answer), new Thread(Late), new Thread(() => Serve()) };
            foreach (Thread t in threads)
                t.Start();
            for (int i = 0; i < 10; i++)
            {
                Thread.Sleep(100);
                Settle();
                items.Add(i);
                wanted.Set();
                requests.Release();
            }
            Gather();
            items.CompleteAdding();
            ends = true;
            wanted.Set();
            requests.Release();
            late.Set();
            foreach (Thread t in threads)
                t.Join();
            Console.WriteLine(sum);
        }

        [DllImport("libc")]
        static extern int gettid();

        static readonly int[] waiting = new int[3]; // the threads that are to be idle

        /// <summary>Waits until they have nothing to do: on a busy machine they have no processor to find that out, and they
        /// spin before they wait. That they sleep can be seen from outside.</summary>
        static void Settle()
        {
            for (int seen = 0; seen < 5; Thread.Sleep(2))
            {
                bool all = true;
                foreach (int id in waiting)
                    all &= id != 0 && System.IO.File.ReadAllText("/proc/self/task/" + id + "/stat").Contains(") S ");
                seen = all ? seen + 1 : 0;
            }
        }

        static void Consume() // is idle
        {
            waiting[0] = gettid();
            foreach (int i in items.GetConsumingEnumerable())
                Interlocked.Add(ref sum, i);
        }

        static void Answer() // is idle
        {
            waiting[1] = gettid();
            while (!ends)
            {
                wanted.WaitOne();
                Interlocked.Increment(ref sum);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Serve() // is idle: what the thread begins with calls it once
        {
            waiting[2] = gettid();
            while (!ends)
            {
                requests.Wait();
                Interlocked.Increment(ref sum);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Gather() // is blocked: Main waits for it
        {
            for (int i = 0; i < 10; i++)
                never.WaitOne(100);
        }

        static void Late() => WaitOnce(); // is blocked: another function of the program's waits, and once

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void WaitOnce() => late.WaitOne();
    }
}
