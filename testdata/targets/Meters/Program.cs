// Meters: has an event source with counters. It reads what to do, one thing in a line, does it and
// prints "done":
//   orders N     count 3N orders
//   refund X     count X, which need not be whole
//   queue X      the queue is X long
//   took X Y …   orders took so long
//   late N       make the event source Shop.Late, say "done", and make its counter, of N, at the next line
//   throw N      throw N exceptions
//   contend N    let a thread wait for a lock N times
//   end          print how often threads waited for locks, and end
// First it prints "ready" and its process id.

using System;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using System.Linq;
using System.Threading;

namespace Meters
{
    [EventSource(Name = "Shop.Events")]
    sealed class ShopEvents : EventSource
    {
        public static double QueueLength;
        public static double Refunded;
        public static readonly ShopEvents Log = new ShopEvents();
        public readonly IncrementingEventCounter Orders;
        public readonly EventCounter Took;
        readonly PollingCounter queue;
        readonly IncrementingPollingCounter refunded;

        ShopEvents()
        {
            Orders = new IncrementingEventCounter("orders", this) { DisplayName = "Orders" };
            Took = new EventCounter("took", this) { DisplayName = "How long orders took", DisplayUnits = "ms" };
            queue = new PollingCounter("queue", this, () => QueueLength);
            refunded = new IncrementingPollingCounter("refunded", this, () => Refunded);
        }
    }

    [EventSource(Name = "Shop.Late")]
    sealed class LateEvents : EventSource
    {
        readonly IncrementingPollingCounter late;

        public LateEvents(double n)
        {
            Console.WriteLine("done");
            Console.ReadLine();
            late = new IncrementingPollingCounter("late", this, () => n);
        }
    }

    static class Program
    {
        static LateEvents late;

        static int Main()
        {
            ShopEvents.Log.ToString();
            Console.WriteLine("ready");
            Console.WriteLine(Process.GetCurrentProcess().Id);
            for (string line; (line = Console.ReadLine()) != null && line != "end";)
            {
                string[] words = line.Split(' ');
                double[] numbers = words.Skip(1).Select(w => double.Parse(w, CultureInfo.InvariantCulture)).ToArray();
                Do(words[0], numbers);
                Console.WriteLine("done");
            }
            Console.WriteLine(Monitor.LockContentionCount);
            return 0;
        }

        static void Do(string what, double[] numbers)
        {
            double x = numbers[0];
            int n = (int)x;
            switch (what)
            {
                case "orders": ShopEvents.Log.Orders.Increment(3 * n); break;
                case "refund": ShopEvents.Refunded += x; break;
                case "queue": ShopEvents.QueueLength = x; break;
                case "took":
                    foreach (double each in numbers)
                        ShopEvents.Log.Took.WriteMetric(each);
                    break;
                case "late": late = new LateEvents(x); break;
                case "throw":
                    for (int i = 0; i < n; i++)
                        try { throw new InvalidOperationException(); } catch (InvalidOperationException) { }
                    break;
                case "contend":
                    for (int i = 0; i < n; i++)
                        Contend();
                    break;
            }
        }

        // One thread has to wait for the lock, which this one keeps until the runtime has counted that.
        static void Contend()
        {
            var wanted = new object();
            long before = Monitor.LockContentionCount;
            var other = new Thread(() => { lock (wanted) { } });
            lock (wanted)
            {
                other.Start();
                while (Monitor.LockContentionCount == before)
                    Thread.Yield();
            }
            other.Join();
        }
    }
}
