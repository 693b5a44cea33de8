using System.Collections.Generic;
using System.Linq;
using System.Threading;

namespace WebShop
{
    /// <summary>The carts of all visitors.</summary>
    public static class Carts
    {
        static readonly Dictionary<string, Cart> all = new Dictionary<string, Cart>();

        public static int Count { get { lock (all) return all.Count; } }

        public static Cart Of(string visitor)
        {
            lock (all)
            {
                if (all.TryGetValue(visitor, out Cart cart))
                    return cart;
#if FIXED
                if (all.Count >= Most)
                    all.Remove(visitors.Dequeue());
                visitors.Enqueue(visitor);
#endif
                // Problem "leak": nobody removes a cart, also not after the order.
                return all[visitor] = new Cart();
            }
        }

#if FIXED
        const int Most = 50;
        static readonly Queue<string> visitors = new Queue<string>();
#endif

        public static string Add(string visitor, Product product)
        {
            Cart cart = Of(visitor);
            cart.Add(product);
            return cart.Page;
        }
    }

    public sealed record Discount(int Product, decimal Percent);

    public sealed class Cart
    {
        static readonly List<Discount> discounts = Enumerable.Range(0, 20).Select(i => new Discount(i * 5, 10)).ToList();
        readonly List<Product> lines = new List<Product>();

        public IReadOnlyList<Product> Lines => lines;

        /// <summary>What the visitor sees of the cart.</summary>
        public string Page { get; private set; } = "";

        public void Add(Product product)
        {
            lines.Add(product);
            Page = string.Join('\n', lines.Select(l => l.Name)).PadRight(4096);
        }

        public decimal Total()
        {
            decimal total = 0;
            foreach (Product line in lines)
                total += line.Price * (100 - PercentOf(line)) / 100;
            return total;
        }

        static decimal PercentOf(Product line)
        {
#if FIXED
            foreach (Discount discount in discounts)
                if (discount.Product == line.Id)
                    return discount.Percent;
            return 0;
#else
            // Problem "allocating loop": a closure and a delegate for each line of a cart.
            return discounts.FirstOrDefault(d => d.Product == line.Id)?.Percent ?? 0;
#endif
        }
    }

    public sealed class Orders
    {
        int count;

        public int Count => count;

        public string Place(Cart cart)
        {
#if FIXED
            Supplier.Ask();
#else
            // Problem "slow request": the supplier is asked once for each line, one after the other.
            foreach (Product line in cart.Lines)
                Supplier.Ask();
#endif
            return "order " + Interlocked.Increment(ref count);
        }
    }

    /// <summary>Somebody else's server, which takes its time.</summary>
    static class Supplier
    {
        const int Milliseconds = 2;

        public static void Ask() => Thread.Sleep(Milliseconds);
    }
}
