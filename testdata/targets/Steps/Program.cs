// Steps: reads what to do, one thing in a line, does it and prints "done":
//   make N       allocate N items of 32 bytes
//   call N       call a function N times
//   gc G         collect generation G
//   burn MS      compute until the process has taken so many milliseconds of CPU more
//   open N FILE  open the file N times, and keep it open
//   threads N    start N threads, which wait until the end
//   keep N       allocate N objects more of the type Kept, and keep them
//   large N      allocate N arrays of 20,000 of them (160 KB), and keep these too
//   drop N       keep only the first N
//   forget N     keep all but the last N; prints how many of these are in generation 0, 1 and 2
//   load N       N threads allocate, collect, and start short threads that allocate, until calm
//   calm 0       no thread does any more; prints how many objects of the type Load they have allocated
//   full 0       print how many full garbage collections there have been
//   kind 0       collect, in the background if the runtime may; prints "background" or "blocking" (.NET 5 and later)
//   child 0      run the program true, and wait for it
//   end          print what is known, and end
// First it prints "ready" and its process id.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Steps
{
    sealed class Item { public long A, B; }

    sealed class Kept { public long A; }

    sealed class Load { public long A; }

    static class Program
    {
        static object sink;
        static long made, called, loaded;
        static volatile bool calm;
        static readonly List<Thread> loading = new List<Thread>();
        static readonly List<object> kept = new List<object>();
        static readonly List<FileStream> opened = new List<FileStream>();
        static readonly ManualResetEventSlim end = new ManualResetEventSlim();

        static int Main()
        {
            Console.WriteLine("ready");
            Console.WriteLine(Process.GetCurrentProcess().Id);
            for (string line; (line = Console.ReadLine()) != null && line != "end";)
            {
                Do(line.Split(' '));
                Console.WriteLine("done");
            }
            end.Set();
            if (made > 0)
                Truth.Site(Truth.Method(typeof(Program), "Make"), typeof(Item), made, made * Size.Object(16));
            return Truth.Print();
        }

        static void Do(string[] words)
        {
            int n = int.Parse(words[1]);
            switch (words[0])
            {
                case "make": Make(n); break;
                case "call":
                    called += n;
                    for (int i = 0; i < n; i++)
                        Called();
                    break;
                case "keep":
                    for (int i = 0; i < n; i++)
                        kept.Add(new Kept());
                    break;
                case "large":
                    for (int i = 0; i < n; i++)
                        kept.Add(new Kept[20000]);
                    break;
                case "forget": Forget(n); break;
                case "drop": kept.RemoveRange(n, kept.Count - n); break;
                case "load":
                    calm = false;
                    for (int i = 0; i < n; i++)
                    {
                        loading.Add(new Thread(AllocateUntilCalm));
                        loading[loading.Count - 1].Start();
                    }
                    break;
                case "calm":
                    calm = true;
                    foreach (Thread t in loading)
                        t.Join();
                    loading.Clear();
                    Console.WriteLine(Interlocked.Read(ref loaded));
                    break;
                case "full": Console.WriteLine(GC.CollectionCount(2)); break;
                case "gc": GC.Collect(n); break;
                case "kind": Console.WriteLine(KindOfCollection()); break;
                case "child":
                    using (var child = Process.Start("true"))
                        child.WaitForExit();
                    break;
                case "burn": Burn(n); break;
                case "open":
                    for (int i = 0; i < n; i++)
                        opened.Add(new FileStream(words[2], FileMode.Open, FileAccess.Read));
                    break;
                case "threads":
                    using (var started = new CountdownEvent(n))
                    {
                        for (int i = 0; i < n; i++)
                            new Thread(() => { started.Signal(); end.Wait(); }).Start();
                        started.Wait();
                    }
                    break;
                default: throw new ArgumentException(words[0]);
            }
        }

        // The numbers of the last collection of generation 2 of both kinds: GC.GetGCMemoryInfo(GCKind), which .NET Core 3.1 has not.
        static string KindOfCollection()
        {
            Type kind = typeof(GC).Assembly.GetType("System.GCKind");
            MethodInfo ask = typeof(GC).GetMethod("GetGCMemoryInfo", new[] { kind });
            Func<string, long> last = name =>
            {
                object memory = ask.Invoke(null, new[] { Enum.Parse(kind, name) });
                return (long)memory.GetType().GetProperty("Index").GetValue(memory);
            };
            long background = last("Background"), blocking = last("FullBlocking");
            GC.Collect(2, GCCollectionMode.Forced, false);
            SpinWait.SpinUntil(() => last("Background") > background || last("FullBlocking") > blocking);
            return last("Background") > background ? "background" : "blocking";
        }

        static void AllocateUntilCalm()
        {
            for (int turn = 1; !calm; turn++)
            {
                AllocateDeep(10);
                if (turn % 16 == 0)
                    GC.Collect(turn / 16 % 3);
                var once = new Thread(() => AllocateDeep(3)) { Name = "once" };
                once.Start();
                once.Join();
            }
        }

        static object AllocateDeep(int depth)
        {
            var last = new Load { A = depth };
            Interlocked.Increment(ref loaded);
            for (int i = 0; i < 20; i++)
            {
                last = new Load { A = i };
                Interlocked.Increment(ref loaded);
            }
            return depth == 0 ? last : AllocateDeep(depth - 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int n)
        {
            for (int i = 0; i < n; i++)
                sink = new Item();
            made += n;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Forget(int n)
        {
            var generations = new int[3];
            for (int i = kept.Count - n; i < kept.Count; i++)
                generations[GC.GetGeneration(kept[i])]++;
            kept.RemoveRange(kept.Count - n, n);
            Console.WriteLine(generations[0] + " " + generations[1] + " " + generations[2]);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Called() { }

        static void Burn(int milliseconds)
        {
            using (Process self = Process.GetCurrentProcess())
            {
                TimeSpan until = self.TotalProcessorTime + TimeSpan.FromMilliseconds(milliseconds);
                do
                {
                    for (int i = 0; i < 1000000; i++)
                        sink = null;
                    self.Refresh();
                }
                while (self.TotalProcessorTime < until);
            }
        }
    }
}
