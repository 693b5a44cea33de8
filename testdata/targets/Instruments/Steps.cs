using System;
using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Globalization;
using System.Linq;
using System.Threading;

namespace Instruments
{
    // Instruments steps: prints "ready" and its process id, reads what to do, one thing in a line, does it, and prints
    // "done". Only what is measured by these is counted:
    //   measure N   measure N times with every kind of instrument, on each of four threads
    //   level X     what is observed is X from now on
    //   users N     count N visits, each with tags of its own
    //   queues N    measure once with N histograms
    //   remake      dispose of a meter, make it again, and count 5 with it
    //   throw N     let the callback of an instrument throw from now on: 1, or not: 0
    //   tell        print what each counter must be, as lines "NAME VALUE", first
    //   end         end
    static class Steps
    {
        const int Threads = 4;
        static readonly SortedDictionary<string, double> truth = new SortedDictionary<string, double>(StringComparer.Ordinal);
        static readonly Meter meter = new Meter("Shop.Orders", "1.0"), other = new Meter("Stock", "1.0");
        static readonly Meter tagged = new Meter("Shop.Tagged", "2.0", new[] { Tag("site", "north") });
        static readonly Counter<long> orders = meter.CreateCounter<long>("orders", "{order}", "orders that were taken");
        static readonly Counter<double> refunds = meter.CreateCounter<double>("refunds", "EUR");
        static readonly Counter<byte> bytes = meter.CreateCounter<byte>("bytes");
        static readonly UpDownCounter<int> queue = meter.CreateUpDownCounter<int>("queue");
        static readonly Histogram<double> took = meter.CreateHistogram<double>("took", "ms", "how long orders took");
        static readonly Histogram<short> items = meter.CreateHistogram<short>("items");
        static readonly Counter<int> deliveries = tagged.CreateCounter<int>("deliveries", "km", null, new[] { Tag("by", "bike") });
        static readonly Counter<int> visits = meter.CreateCounter<int>("visits");
        static Meter again = new Meter("Shop.Again", "1.0");
        static Counter<int> made = again.CreateCounter<int>("made");
        static double level = -2.5;
        static volatile bool throws;

        static KeyValuePair<string, object> Tag(string name, object value) => new KeyValuePair<string, object>(name, value);

        static void Count(string name, double by)
        {
            truth.TryGetValue(name, out double before);
            truth[name] = before + by;
        }

        internal static int Run()
        {
            meter.CreateObservableGauge("temperature", () => level, "C");
            meter.CreateObservableUpDownCounter("open", () => 10 * level);
            meter.CreateObservableCounter("sold", () => new[] { new Measurement<double>(level + 7, Tag("kind", "book")), new Measurement<double>(8, Tag("kind", "pen")) });
            meter.CreateObservableGauge("broken", () => throws ? throw new InvalidOperationException("no value") : 1);
            Measure(1); // before anybody listens: in no number
            truth.Clear();
            Console.WriteLine("ready");
            Console.WriteLine(Environment.ProcessId);
            for (string line; (line = Console.ReadLine()) != null && line != "end";)
            {
                string[] words = line.Split(' ');
                Do(words[0], words.Length > 1 ? double.Parse(words[1], CultureInfo.InvariantCulture) : 0);
                Console.WriteLine("done");
            }
            return 0;
        }

        static void Do(string what, double x)
        {
            int n = (int)x;
            switch (what)
            {
                case "measure": Measure(n); break;
                case "level": level = x; break;
                case "users":
                    for (int i = 0; i < n; i++)
                        visits.Add(1, Tag("user", i));
                    break;
                case "queues":
                    for (int i = 0; i < n; i++)
                        items.Record(1, Tag("queue", i));
                    break;
                case "remake":
                    again.Dispose();
                    again = new Meter("Shop.Again", "1.0");
                    made = again.CreateCounter<int>("made");
                    made.Add(5);
                    Count("Shop.Again/made", 5);
                    break;
                case "throw": throws = n != 0; break;
                case "tell": Tell(); break;
                default: throw new ArgumentException(what);
            }
        }

        static void Tell()
        {
            truth["Shop.Orders/temperature"] = level;
            truth["Shop.Orders/open"] = 10 * level;
            truth["Shop.Orders/sold{kind=book}"] = level + 7;
            truth["Shop.Orders/sold{kind=pen}"] = 8;
            foreach (KeyValuePair<string, double> of in truth)
                Console.WriteLine(of.Key + " " + of.Value.ToString("R", CultureInfo.InvariantCulture));
        }

        static void Measure(int n)
        {
            Thread[] threads = Enumerable.Range(0, Threads).Select(own => new Thread(() => MeasureOn(own, n))).ToArray();
            foreach (Thread thread in threads)
                thread.Start();
            foreach (Thread thread in threads)
                thread.Join();
            other.CreateCounter<long>("unseen").Add(1);
            made.Add(n);
            deliveries.Add(n, Tag("to", "town"));
            double all = (double)Threads * n;
            Count("Shop.Again/made", n);
            Count("Shop.Tagged/deliveries{by=bike,site=north,to=town}", n);
            Count("Shop.Orders/orders{express=True,kind=book}", 5 * all);
            Count("Shop.Orders/orders", all);
            Count("Shop.Orders/refunds", all / 4);
            Count("Shop.Orders/bytes", all * 200);
            Count("Shop.Orders/queue", 2 * all);
            Count("Shop.Orders/took.count{kind=Monday}", all);
            Count("Shop.Orders/took.sum{kind=Monday}", all * (n - 1) / 2 + 0.5 * all);
            Count("Shop.Orders/items.count", all);
            Count("Shop.Orders/items.sum", -Threads * ((n + 1) / 2));
        }

        static void MeasureOn(int own, int n)
        {
            for (int i = 0; i < n; i++)
            {
                orders.Add(2, Tag("kind", "book"), Tag("express", true));
                orders.Add(3, Tag("express", true), Tag("kind", "book"));
                orders.Add(1);
                refunds.Add(0.25);
                bytes.Add(200);
                queue.Add(5);
                queue.Add(-3);
                took.Record(i + 0.5, Tag("kind", DayOfWeek.Monday));
                items.Record((short)(i % 2 - 1));
            }
        }
    }
}
