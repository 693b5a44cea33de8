// Instruments HOW [N]: measures with every kind of instrument of meters, N times (10,000) on each of eight threads, prints what each
// counter must be in the end, as lines "NAME VALUE", and ends:
//   exit      by returning from Main
//   failfast  by Environment.FailFast
//   kill      by a signal that nobody handles
//   held      holds a lock that an observable instrument waits for
//   wait MS   sleeps so long first
// Instruments steps: see Steps.cs.
// Needs .NET 8 or later.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Threading;

namespace Instruments
{
    static class Program
    {
        const int Threads = 8, Users = 2500, Kept = 2000; // Kept: how many sets of tags an instrument has rows for
        static readonly object held = new object();
        static int throws, reads;

        // A tag of a type of the program.
        sealed class Shelf
        {
            public override string ToString() => "top";
        }

        sealed class Broken
        {
            public override string ToString() => throw new InvalidOperationException("no text");
        }

        static int Main(string[] args)
        {
            string how = args[0];
            if (how == "steps")
                return Steps.Run();
            int n = args.Length > 1 && how != "wait" ? int.Parse(args[1], CultureInfo.InvariantCulture) : 10_000;
            var meter = new Meter("Shop.Orders", "1.0");
            var other = new Meter("Stock", "1.0");
            var orders = meter.CreateCounter<long>("orders", "{order}", "orders that were taken");
            other.CreateCounter<long>("unseen").Add(1);
            Count(meter, orders, n);
            Overflow(meter);
            Late(n);
            Observe(meter, how);
            if (how == "wait")
                Thread.Sleep(int.Parse(args[1], CultureInfo.InvariantCulture));
            return End(how);
        }

        static void Tell(string name, double value) => Console.WriteLine(name + " " + value.ToString("R", CultureInfo.InvariantCulture));

        static KeyValuePair<string, object> Tag(string name, object value) => new KeyValuePair<string, object>(name, value);

        // All threads add to the same rows; the order of tags does not matter.
        static void Count(Meter meter, Counter<long> orders, int n)
        {
            var refunds = meter.CreateCounter<double>("refunds", "EUR");
            var bytes = meter.CreateCounter<byte>("bytes");
            var price = meter.CreateCounter<decimal>("price");
            var queue = meter.CreateUpDownCounter<int>("queue");
            var took = meter.CreateHistogram<double>("took", "ms", "how long orders took");
            var items = meter.CreateHistogram<short>("items");
            var large = meter.CreateCounter<long>("large");
            var threads = new Thread[Threads];
            for (int t = 0; t < Threads; t++)
            {
                int own = t;
                threads[t] = new Thread(() =>
                {
                    for (int i = 0; i < n; i++)
                    {
                        if (i % 2 == 0)
                            orders.Add(2, Tag("kind", "book"), Tag("express", true));
                        else
                            orders.Add(3, Tag("express", true), Tag("kind", "book"));
                        orders.Add(1, Tag("kind", null), Tag("shelf", new Shelf()));
                        refunds.Add(0.25);
                        bytes.Add(200);
                        price.Add(0.5m, Tag("thread", own));
                        queue.Add(i % 2 == 0 ? 5 : -3);
                        took.Record(own * n + i - 0.5, Tag("kind", DayOfWeek.Monday));
                        items.Record((short)(i % 100 - 50));
                    }
                });
                threads[t].Start();
            }
            foreach (Thread thread in threads)
                thread.Join();
            large.Add(long.MaxValue - 1);
            orders.Add(1, Tag("x", new Broken())); // lost: nobody knows where it belongs
            refunds.Add(double.NaN);               // lost, too
            double all = (double)Threads * n, half = n / 2 * (double)Threads;
            Tell("Shop.Orders/orders{express=True,kind=book}", 5 * half);
            Tell("Shop.Orders/orders{kind=,shelf=top}", all);
            Tell("Shop.Orders/refunds", all / 4);
            Tell("Shop.Orders/bytes", all * 200);
            for (int t = 0; t < Threads; t++)
                Tell("Shop.Orders/price{thread=" + t + "}", n / 2.0);
            Tell("Shop.Orders/queue", 2 * half);
            Tell("Shop.Orders/took.count{kind=Monday}", all);
            Tell("Shop.Orders/took.sum{kind=Monday}", all * (all - 1) / 2 - all / 2);
            Tell("Shop.Orders/took.min{kind=Monday}", -0.5);
            Tell("Shop.Orders/took.max{kind=Monday}", all - 1.5);
            Tell("Shop.Orders/items.count", all);
            Tell("Shop.Orders/items.sum", -all / 2);
            Tell("Shop.Orders/items.min", -50);
            Tell("Shop.Orders/items.max", 49);
        }

        // More sets of tags than an instrument has rows for: what is beyond is in one.
        static void Overflow(Meter meter)
        {
            var visits = meter.CreateCounter<int>("visits");
            for (int round = 0; round < 2; round++)
                for (int user = 0; user < Users; user++)
                    visits.Add(1, Tag("user", user));
            Tell("Shop.Orders/visits{user=0}", 2);
            Tell("Shop.Orders/visits{user=" + (Kept - 1) + "}", 2);
            Tell("Shop.Orders/visits{(others)}", 2 * (Users - Kept));
        }

        // A meter that is made late, and again, and goes away.
        static void Late(int n)
        {
            for (int i = 0; i < 3; i++)
                using (var meter = new Meter("Shop.Late", "2.0", new[] { Tag("site", "north") }))
                    meter.CreateCounter<int>("deliveries").Add(n, Tag("by", "bike"));
            Tell("Shop.Late/deliveries{by=bike,site=north}", 3.0 * n);
        }

        static void Observe(Meter meter, string how)
        {
            meter.CreateObservableGauge("temperature", () => -2.5);
            meter.CreateObservableUpDownCounter("open", () => 17);
            meter.CreateObservableCounter("reads", () => (long)Interlocked.Increment(ref reads));
            meter.CreateObservableCounter("sold", () => new[] { new Measurement<long>(7, Tag("kind", "book")), new Measurement<long>(8, Tag("kind", "pen")) });
            meter.CreateObservableGauge<int>("broken", Throw);
            if (how == "held")
                meter.CreateObservableGauge("held", () => { lock (held) return 1; });
            if (how != "exit")
                return; // else they are read at the end
            Tell("Shop.Orders/temperature", -2.5);
            Tell("Shop.Orders/open", 17);
            Tell("Shop.Orders/sold{kind=book}", 7);
            Tell("Shop.Orders/sold{kind=pen}", 8);
        }

        static IEnumerable<Measurement<int>> Throw()
        {
            Interlocked.Increment(ref throws);
            throw new InvalidOperationException("no value");
        }

        static int End(string how)
        {
            Console.WriteLine("ready");
            Console.Out.Flush();
            if (how == "failfast")
                Environment.FailFast("wanted");
            if (how == "kill")
                Process.GetCurrentProcess().Kill();
            if (how == "held")
                Monitor.Enter(held); // for good
            return 7;
        }
    }
}
