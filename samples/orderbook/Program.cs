// A small stock exchange, made to be profiled: "make demo".
//
// Orders arrive, pass a risk check, are matched against the book, and are
// written to an audit trail. It works, and it is slow: most of its memory is
// waste. Four habits cause it, each in a function of its own. The report says
// which ones they are and what they cost:
//
//   AuditTrail.Append      adds to a string, so each entry copies all before it
//   RiskCheck.Passes       LINQ with a closure, for each order
//   Statistics.Count       boxes a number and an enum, for each order
//   QuoteCache.Get         a cache whose key contains the time: it only grows
//
// Book.Match, the part that looks like the work, allocates least.

using System;
using System.Collections.Generic;
using System.Linq;

namespace OrderBook
{
    enum Side { Buy, Sell }

    sealed class Order
    {
        public int Id, Account, Quantity;
        public string Symbol = "";
        public Side Side;
        public decimal Price;
    }

    readonly struct Trade
    {
        public readonly int Buyer, Seller, Quantity;
        public readonly decimal Price;

        public Trade(int buyer, int seller, int quantity, decimal price)
        {
            Buyer = buyer; Seller = seller; Quantity = quantity; Price = price;
        }
    }

    static class Program
    {
        const int Orders = 150_000;
        static readonly string[] Symbols = { "ABC", "KLM", "XYZ" };

        static void Main()
        {
            var exchange = new Exchange(Symbols);
            foreach (Order order in Arrivals(Orders))
                exchange.Submit(order);
            exchange.PrintSummary(Console.Out);
        }

        /// <summary>The orders of the day: always the same ones.</summary>
        static IEnumerable<Order> Arrivals(int count)
        {
            var random = new Random(42);
            for (int i = 0; i < count; i++)
            {
                yield return new Order
                {
                    Id = i,
                    Account = random.Next(200),
                    Symbol = Symbols[random.Next(Symbols.Length)],
                    Side = random.Next(2) == 0 ? Side.Buy : Side.Sell,
                    Price = 100 + random.Next(-50, 50) / 10m,
                    Quantity = random.Next(1, 100),
                };
            }
        }
    }

    sealed class Exchange
    {
        readonly Dictionary<string, Book> books = new Dictionary<string, Book>();
        readonly RiskCheck risk = new RiskCheck();
        readonly QuoteCache quotes = new QuoteCache();
        readonly Statistics statistics = new Statistics();
        readonly AuditTrail audit = new AuditTrail();
        readonly List<Trade> trades = new List<Trade>();

        public Exchange(IEnumerable<string> symbols)
        {
            foreach (string symbol in symbols)
                books.Add(symbol, new Book());
        }

        public void Submit(Order order)
        {
            Book book = books[order.Symbol];
            Quote quote = quotes.Get(order.Symbol, order.Id, book);
            if (!risk.Passes(order, quote))
            {
                statistics.Count("rejected", order.Side, order.Quantity);
                return;
            }
            int before = trades.Count, quantity = order.Quantity;
            book.Match(order, trades);
            statistics.Count(trades.Count > before ? "traded" : "resting", order.Side, quantity);
            audit.Append(order, trades.Count - before);
        }

        public void PrintSummary(System.IO.TextWriter output)
        {
            long volume = 0;
            foreach (Trade trade in trades)
                volume += trade.Quantity;
            output.WriteLine($"{trades.Count} trades, {volume} shares, {quotes.Size} quotes in the cache, {audit.Pages} pages of audit");
            statistics.Print(output);
        }
    }

    /// <summary>Resting orders of one symbol, best price first.</summary>
    sealed class Book
    {
        const int Depth = 64; // worse orders are dropped
        readonly List<Order> buys = new List<Order>(Depth + 1), sells = new List<Order>(Depth + 1);

        public decimal LastPrice { get; private set; } = 100;

        public void Match(Order order, List<Trade> trades)
        {
            List<Order> others = order.Side == Side.Buy ? sells : buys;
            while (order.Quantity > 0 && others.Count > 0 && Crosses(order, others[0]))
            {
                Order other = others[0];
                int quantity = Math.Min(order.Quantity, other.Quantity);
                trades.Add(order.Side == Side.Buy
                    ? new Trade(order.Account, other.Account, quantity, other.Price)
                    : new Trade(other.Account, order.Account, quantity, other.Price));
                LastPrice = other.Price;
                order.Quantity -= quantity;
                other.Quantity -= quantity;
                if (other.Quantity == 0)
                    others.RemoveAt(0);
            }
            if (order.Quantity > 0)
                Rest(order);
        }

        static bool Crosses(Order order, Order other) =>
            order.Side == Side.Buy ? order.Price >= other.Price : order.Price <= other.Price;

        void Rest(Order order)
        {
            List<Order> own = order.Side == Side.Buy ? buys : sells;
            int i = own.Count;
            while (i > 0 && (order.Side == Side.Buy ? own[i - 1].Price < order.Price : own[i - 1].Price > order.Price))
                i--;
            own.Insert(i, order);
            if (own.Count > Depth)
                own.RemoveAt(Depth);
        }
    }

    /// <summary>An account may not repeat itself, nor pay far from the market.</summary>
    sealed class RiskCheck
    {
        const int Window = 100;
        readonly Queue<Order> recent = new Queue<Order>();

        public bool Passes(Order order, Quote quote)
        {
            // Waste: a closure, a delegate, two iterators and a list, each time.
            List<int> same = recent
                .Where(o => o.Account == order.Account && o.Symbol == order.Symbol)
                .Select(o => o.Quantity)
                .ToList();
            recent.Enqueue(order);
            if (recent.Count > Window)
                recent.Dequeue();
            return Math.Abs(order.Price - quote.Price) < 4 && same.Sum() < 300;
        }
    }

    sealed class Quote
    {
        public decimal Price;
        public string Text = "";
    }

    /// <summary>Remembers quotes, so that they need not be made again.</summary>
    sealed class QuoteCache
    {
        readonly Dictionary<string, Quote> quotes = new Dictionary<string, Quote>();

        public int Size => quotes.Count;

        public Quote Get(string symbol, int time, Book book)
        {
            // Waste: the time is part of the key, so nothing is ever found again.
            string key = symbol + "@" + time;
            if (!quotes.TryGetValue(key, out Quote quote))
            {
                quote = new Quote { Price = book.LastPrice, Text = $"{symbol} {book.LastPrice:F2}" };
                quotes.Add(key, quote);
            }
            return quote;
        }
    }

    /// <summary>How often did what happen.</summary>
    sealed class Statistics
    {
        readonly Dictionary<object, object> counts = new Dictionary<object, object>();

        public void Count(string what, Side side, int quantity)
        {
            // Waste: the key's parts and the new sum are boxed.
            object key = Tuple.Create<object, object>(what, side);
            counts.TryGetValue(key, out object sum);
            counts[key] = (sum == null ? 0L : (long)sum) + quantity;
        }

        public void Print(System.IO.TextWriter output)
        {
            foreach (KeyValuePair<object, object> pair in counts.OrderBy(p => p.Key.ToString(), StringComparer.Ordinal))
                output.WriteLine($"  {pair.Key}: {pair.Value}");
        }
    }

    /// <summary>A line of text for each accepted order, in pages.</summary>
    sealed class AuditTrail
    {
        const int PageSize = 100; // lines
        readonly List<string> pages = new List<string>();
        string page = "";
        int lines;

        public int Pages => pages.Count + (lines > 0 ? 1 : 0);

        public void Append(Order order, int trades)
        {
            // Waste: += copies the whole page for each line.
            page += order.Id + " " + order.Symbol + " " + order.Side + " " + order.Price + " " + trades + "\n";
            if (++lines == PageSize)
            {
                pages.Add(page);
                page = "";
                lines = 0;
            }
        }
    }
}
