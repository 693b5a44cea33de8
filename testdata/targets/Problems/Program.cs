// Eight problems that people look for, each in a function of its own: a list that only grows, a bag that nobody empties, a
// cache that drops its entries after they have grown old, a lock that threads wait for, a thread that waits for
// asynchronous work, a slow regular expression, a text that is added to, and a sequence that is computed again for each
// of its elements. The summary of a profile has to name each function.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace Problems
{
    static class Program
    {
        static int Main(string[] arguments)
        {
            string problem = arguments[0];
            switch (problem)
            {
                case "leak": Sessions.Open(60_000); break;
                case "bag": Outbox.Fill(4_000); break;
                case "cache": Cache.Turn(12); break;
                case "lock": Till.Queue(); break;
                case "async": Mail.Send(8); break;
                case "regex": Search.Find(14); break;
                case "text": Report.Build(3_000); break;
                case "again": Prices.Sum(6_000); break;
                default: return 2;
            }
            Console.WriteLine("done");
            return 0;
        }
    }

    static class Sessions
    {
        static readonly List<byte[]> All = new List<byte[]>();

        public static void Open(int count)
        {
            for (int i = 0; i < count; i++)
            {
                All.Add(new byte[1000]);
                if (i % 100 == 0)
                    Thread.Sleep(5); // a leak takes its time: it grows from slice to slice
            }
        }
    }

    static class Outbox
    {
        static readonly ConcurrentBag<byte[]> Bag = new ConcurrentBag<byte[]>(); // each thread has a part of its own

        public static void Fill(int count)
        {
            for (int i = 0; i < count; i++)
                Bag.Add(new byte[1000]);
        }
    }

    static class Cache
    {
        static object[] entries = Array.Empty<object>();

        public static void Turn(int times)
        {
            for (int i = 0; i < times; i++)
            {
                entries = Fill(4_000);
                GC.Collect(0);
                GC.Collect(1);
                entries = Array.Empty<object>();
                GC.Collect(2);
            }
        }

        static object[] Fill(int count)
        {
            var made = new object[count];
            for (int i = 0; i < count; i++)
                made[i] = new byte[500];
            return made;
        }
    }

    static class Till
    {
        static readonly object Drawer = new object();

        public static void Queue()
        {
            var threads = Enumerable.Range(0, 4).Select(_ => new Thread(Pay)).ToList();
            threads.ForEach(t => t.Start());
            threads.ForEach(t => t.Join());
        }

        static void Pay()
        {
            for (int i = 0; i < 20; i++)
                lock (Drawer)
                    Thread.Sleep(5);
        }
    }

    static class Mail
    {
        public static void Send(int count)
        {
            for (int i = 0; i < count; i++)
                Deliver().Wait();
        }

        /// <summary>Is done 20 ms after the thread blocks: before, it looks for some time whether that is so, which is long on
        /// a busy machine.</summary>
        static async Task Deliver()
        {
            Thread waiter = Thread.CurrentThread;
            var done = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            new Thread(() =>
            {
                do
                    Thread.Sleep(20);
                while ((waiter.ThreadState & ThreadState.WaitSleepJoin) == 0);
                Thread.Sleep(20);
                done.SetResult(true);
            }).Start();
            await done.Task;
        }
    }

    static class Search
    {
        public static void Find(int times)
        {
            for (int i = 0; i < times; i++)
                Match(new string('a', 20) + "!");
        }

        static bool Match(string text) => Regex.IsMatch(text, "^(a+)+$");
    }

    static class Report
    {
        public static string Build(int lines)
        {
            string text = "";
            for (int i = 0; i < lines; i++)
                text += "line " + i + "\n";
            return text;
        }
    }

    static class Prices
    {
        static IEnumerable<int> All(int count)
        {
            for (int i = 0; i < count; i++)
                yield return i;
        }

        public static void Sum(int count)
        {
            var prices = All(count);
            long sum = 0;
            for (int i = 0; i < count; i++)
                sum += prices.ElementAt(i); // from the first element on, each time
            Console.WriteLine(sum);
        }
    }
}
