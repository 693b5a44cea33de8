// Work as programs do it, most of it in the framework. Nobody knows what it
// allocates but the runtime, which counts it: before and after a function.
//
//   Totals [N [THREADS]]

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Json;
using System.Threading;

namespace Totals
{
    static class Program
    {
        static object sink;
        static long thread, total;

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 300;
            int threads = args.Length > 1 ? int.Parse(args[1]) : 1;
            for (int i = 0; i < 3; i++)
                sink = Work(20); // so that caches are filled, and all is compiled
            if (threads == 1)
            {
                Phase(n);
                Truth.Check("total and thread", n, thread, total);
            }
            else
                Run(Enumerable.Range(0, threads).Select(i => new Thread(() => Phase(n))).ToArray());
            Truth.Total(Truth.Method(typeof(Program), "Phase"), thread);
            // Its literals are made when it is compiled, which must not be after the count.
            RuntimeHelpers.PrepareMethod(Truth.Method(typeof(Program), "After").MethodHandle);
            return After(GC.GetTotalAllocatedBytes(true));
        }

        // Whatever is made from here on is not in the count of the whole process.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int After(long whole)
        {
            Truth.Say("whole", "name", Truth.Name(Truth.Method(typeof(Program), "After")), "bytes", whole);
            return Truth.Print();
        }

        static void Run(Thread[] threads)
        {
            foreach (Thread t in threads)
                t.Start();
            foreach (Thread t in threads)
                t.Join();
        }

        // It makes nothing itself: all that it counts is made below it. With several
        // threads the total has what the others make, too, and is not used.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Phase(int n)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            long all = GC.GetTotalAllocatedBytes(true);
            sink = Work(n);
            total = GC.GetTotalAllocatedBytes(true) - all;
            Interlocked.Add(ref thread, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Work(int n)
        {
            var words = new Dictionary<string, int>();
            var text = new StringBuilder();
            for (int i = 0; i < n; i++)
            {
                string word = "word" + i % 97;
                words[word] = words.TryGetValue(word, out int count) ? count + 1 : 1;
                text.Append(word).Append(' ').Append(i * 1.5).AppendFormat("{0:x} ", i);
            }
            string[] parts = text.ToString().Split(' ');
            List<IGrouping<int, string>> groups = parts.Where(p => p.Length > 2).GroupBy(p => p.Length).OrderBy(g => g.Key).ToList();
            string joined = string.Join(";", groups.Select(g => g.Key + "=" + g.Count()));
            var queue = new ConcurrentQueue<object>();
            for (int i = 0; i < n; i++)
                queue.Enqueue(i);
            byte[] json = JsonSerializer.SerializeToUtf8Bytes(words);
            using (var stream = new MemoryStream())
            {
                stream.Write(json, 0, json.Length);
                sink = new StreamReader(new MemoryStream(stream.ToArray())).ReadToEnd();
            }
            for (int i = 0; i < n / 50; i++)
                sink = new string('x', 60_000); // large
            try { int.Parse(joined); }
            catch (FormatException e) { sink = e.Message; }
            return new object[] { words, parts, groups, queue, json };
        }
    }
}
