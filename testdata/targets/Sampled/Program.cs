// Sampled: allocates the same objects in each run, of several types, sizes and fates, in an order that looks random.
// Reads what to do, one thing in a line, does it and prints "done":
//   work N   N rounds; what one before has kept is kept still
//   gc G     collect generation G
//   child 0  run the program true, and wait for it
//   events 0 print what an EventListener of the program's own heard of the runtime since the last time
//   end      end
// First it prints "ready" and its process id. With the arguments work N it only does that, and ends; with the argument listen it has
// an EventListener.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Sampled
{
    sealed class Kept { public long A, B; }

    sealed class Dropped { public long A, B, C; }

    sealed class Waiting { public long A; public Waiting Next; }

    struct Pair { public long A, B; }

    sealed class Listener : EventListener
    {
        public int Heard;

        protected override void OnEventSourceCreated(EventSource source)
        {
            if (source.Name == "Microsoft-Windows-DotNETRuntime")
                EnableEvents(source, EventLevel.Informational, (EventKeywords)0x8000); // exceptions
        }

        protected override void OnEventWritten(EventWrittenEventArgs e) { Interlocked.Increment(ref Heard); }
    }

    static class Program
    {
        const int Ring = 50000;
        static readonly List<object> kept = new List<object>();
        static readonly object[] waiting = new object[Ring];
        static object sink;
        static int next;
        static uint random = 1;
        static Listener listener;

        static int Main(string[] args)
        {
            if (args.Length > 1) // work N
            {
                Work(int.Parse(args[1]));
                GC.Collect(2);
                return 0;
            }
            if (args.Length > 0)
                listener = new Listener();
            Console.WriteLine("ready");
            Console.WriteLine(Process.GetCurrentProcess().Id);
            for (string line; (line = Console.ReadLine()) != null && line != "end";)
            {
                string[] words = line.Split(' ');
                int n = int.Parse(words[1]);
                switch (words[0])
                {
                    case "work": Work(n); break;
                    case "gc": GC.Collect(n); break;
                    case "events": Console.WriteLine(listener.Heard); listener.Heard = 0; break;
                    case "child":
                        using (Process child = Process.Start("true"))
                            child.WaitForExit();
                        break;
                    default: throw new ArgumentException(words[0]);
                }
                Console.WriteLine("done");
            }
            return 0;
        }

        static uint Random(uint below)
        {
            random = random * 1664525 + 1013904223;
            return (uint)((ulong)random * below >> 32);
        }

        static void Work(int rounds)
        {
            for (int i = 0; i < rounds; i++)
                switch (Random(20))
                {
                    case 0: Keep(); break;
                    case 1: case 2: case 3: case 4: Wait(); break;
                    case 5: case 6: case 7: case 8: case 9: Drop(); break;
                    case 10: case 11: Bytes(); break;
                    case 12: case 13: case 14: Text(); break;
                    case 15: case 16: Box(); break;
                    case 17: Deep((int)Random(30)); break;
                    case 18: Numbers(); break;
                    case 19: if (Random(1000) == 0) Large(); break;
                }
            new Thread(() => Elsewhere(rounds / 10)) { Name = "elsewhere" }.Run();
        }

        static void Run(this Thread t) { t.Start(); t.Join(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Keep() { kept.Add(new Kept()); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Wait() { waiting[next++ % Ring] = new Waiting(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Drop() { sink = new Dropped(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Bytes() { sink = new byte[16 + 8 * Random(20)]; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Text() { sink = new string('x', (int)Random(40)); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Box() { sink = (object)new Pair(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Numbers() { sink = new List<int>(50); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Large() { sink = new byte[100000]; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Deep(int depth)
        {
            if (depth > 0)
                return Deep(depth - 1) + 1;
            sink = new object[10];
            return 0;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Elsewhere(int rounds)
        {
            for (int i = 0; i < rounds; i++)
                sink = new long[12];
        }
    }
}
