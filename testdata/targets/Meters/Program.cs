// Meters: has an event source with counters, and compiled with METERS a meter. It reads what to do, one thing in a line, does it and
// prints "done":
//   orders N     count N orders of the web, and 2N by phone
//   refund X     count X, which need not be whole
//   queue X      the queue is X long
//   open N       N more are open, or fewer
//   took X Y …   orders took so long
//   late N       make a meter more, and count N
//   throw N      throw N exceptions
//   contend N    let a thread wait for a lock N times
//   many N       count orders of N customers
//   end          print how often threads waited for locks, and end
// First it prints "ready" and its process id.

using System;
using System.Collections.Generic;
using System.Diagnostics;
#if METERS
using System.Diagnostics.Metrics;
#endif
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

    static class Program
    {
#if METERS
        static readonly Meter meter = new Meter("Shop.Orders", "1.0");
        static readonly Counter<long> orders = meter.CreateCounter<long>("shop.orders", "{order}", "orders that were made");
        static readonly Counter<double> refunds = meter.CreateCounter<double>("shop.refunds", "EUR");
        static readonly UpDownCounter<int> open = meter.CreateUpDownCounter<int>("shop.open");
        static readonly Histogram<double> took = meter.CreateHistogram<double>("shop.took", "ms");
        static readonly ObservableGauge<double> queue = meter.CreateObservableGauge("shop.queue", () => ShopEvents.QueueLength);
        static readonly ObservableCounter<double> refunded = meter.CreateObservableCounter("shop.refunded", () => ShopEvents.Refunded);
        static readonly List<Meter> more = new List<Meter>();

        static Program() { } // so that the meter is there before Main
#endif

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
                case "throw":
                    for (int i = 0; i < n; i++)
                        try { throw new InvalidOperationException(); } catch (InvalidOperationException) { }
                    break;
                case "contend":
                    for (int i = 0; i < n; i++)
                        Contend();
                    break;
            }
#if METERS
            Measure(what, numbers, n);
#endif
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

#if METERS
        static KeyValuePair<string, object> Tag(string name, object value) => new KeyValuePair<string, object>(name, value);

        static void Measure(string what, double[] numbers, int n)
        {
            switch (what)
            {
                case "orders":
                    orders.Add(n, Tag("kind", "web"), Tag("land", "Österreich"));
                    orders.Add(2 * n, Tag("kind", "phone"));
                    break;
                case "refund": refunds.Add(numbers[0]); break;
                case "open": open.Add(n); break;
                case "took":
                    foreach (double each in numbers)
                        took.Record(each);
                    break;
                case "late":
                    var late = new Meter("Shop.Late");
                    more.Add(late);
                    late.CreateObservableCounter("late", () => (long)n);
                    break;
                case "many":
                    for (int i = 0; i < n; i++)
                        orders.Add(1, Tag("customer", i));
                    break;
            }
        }
#endif
    }
}
