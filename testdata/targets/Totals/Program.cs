// Work as programs do it, most of it in the framework. Nobody knows what it
// allocates but the runtime, which counts it: before and after a function, on all
// threads.

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
        static long measured;

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 300;
            for (int i = 0; i < 3; i++)
                sink = Work(20); // so that caches are filled, and all is compiled
            Phase(n);
            Truth.Total(Truth.Method(typeof(Program), "Phase"), measured);
            return Truth.Print();
        }

        // Everything between the two calls is below this function.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Phase(int n)
        {
            long thread = GC.GetAllocatedBytesForCurrentThread();
            long all = GC.GetTotalAllocatedBytes(true);
            sink = Work(n);
            measured = GC.GetTotalAllocatedBytes(true) - all;
            thread = GC.GetAllocatedBytesForCurrentThread() - thread;
            Truth.Check("total and thread", n, thread, measured);
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
