// A shop that does a bit of everything, and little of it, so that its recordings are small: they are what golden tests
// show (see README.md). It runs on .NET Core 3.1 and later.

using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Clrprof.Control;

namespace Shop
{
    static class Program
    {
        static void Main()
        {
            Profile.Mark("open");
            var orders = new Orders();
            using (Profile.Section("load"))
                orders.Load(400);
            GC.Collect(0); // what is alive now becomes older
            orders.Price();
            Report(orders);
            GC.Collect(1);

            Profile.CommentMark("serve", "three customers");
            var customers = new List<Thread>();
            for (int i = 0; i < 3; i++)
            {
                int number = i;
                var thread = new Thread(() => Till.Serve(orders, number)) { Name = "customer " + (number + 1) };
                thread.Start();
                customers.Add(thread);
            }
            foreach (Thread thread in customers)
                thread.Join();

            Shipping.ShipAll(orders.Every(10)).GetAwaiter().GetResult();
            Console.WriteLine(Stock.Parse(new[] { "12", "a dozen", "7", "many" }) + " in stock");
            Warehouse.Fill();
            GC.Collect();
            Warehouse.Fill();
            Profile.Mark("close");
        }

        /// <summary>A line for each order: each += copies all before it.</summary>
        static void Report(Orders orders)
        {
            string text = "";
            foreach (Order order in orders.Every(4))
                text += order.Id + ": " + order.Total.ToString("F2") + "\n";
            Console.WriteLine(text.Length + " characters");
        }
    }

    enum Kind { Book, Toy, Tool }

    sealed class Order
    {
        public int Id;
        public Kind Kind;
        public decimal Total;
        public List<string> Items = new List<string>();
    }

    sealed class Orders
    {
        static readonly Dictionary<string, Order> s_seen = new Dictionary<string, Order>(); // only grows
        readonly List<Order> all = new List<Order>();
        Tree byTotal;

        public void Load(int count)
        {
            var random = new Random(7);
            for (int i = 0; i < count; i++)
            {
                var order = new Order { Id = i, Kind = (Kind)(i % 3), Total = random.Next(100, 10_000) / 100m };
                for (int item = 0; item <= i % 3; item++)
                    order.Items.Add("item " + item);
                all.Add(order);
                s_seen["order " + i] = order;
                byTotal = Tree.Insert(byTotal, order);
            }
        }

        public IEnumerable<Order> Every(int step)
        {
            for (int i = 0; i < all.Count; i += step)
                yield return all[i];
        }

        /// <summary>Boxes the kinds as keys, and has a closure and iterators for each kind.</summary>
        public void Price()
        {
            var sums = new SortedDictionary<object, decimal>();
            foreach (Order order in all)
            {
                sums.TryGetValue(order.Kind, out decimal sum);
                sums[order.Kind] = sum + order.Total;
            }
            Func<decimal, decimal> tax = Tax.Compile();
            foreach (object kind in sums.Keys)
            {
                int count = all.Where(o => o.Kind == (Kind)kind).Select(o => o.Items.Count).Sum();
                Console.WriteLine(string.Format("{0}: {1} items, {2:F2}", kind, count, tax(sums[kind])));
            }
        }
    }

    sealed class Tree
    {
        Tree left, right;
        readonly Order order;

        Tree(Order order) => this.order = order;

        public static Tree Insert(Tree tree, Order order)
        {
            if (tree == null)
                return new Tree(order);
            if (order.Total < tree.order.Total)
                tree.left = Insert(tree.left, order);
            else
                tree.right = Insert(tree.right, order);
            return tree;
        }
    }

    static class Tax
    {
        /// <summary>A function that is made at run time: its argument and a fifth of it.</summary>
        public static Func<decimal, decimal> Compile()
        {
            var method = new DynamicMethod("WithTax", typeof(decimal), new[] { typeof(decimal) }, typeof(Tax).Module);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Call, ((Func<decimal, decimal>)Add).Method);
            il.Emit(OpCodes.Ret);
            return (Func<decimal, decimal>)method.CreateDelegate(typeof(Func<decimal, decimal>));
        }

        public static decimal Add(decimal sum) => sum * 1.2m;
    }

    /// <summary>There is one till, so customers wait for each other.</summary>
    static class Till
    {
        static readonly object s_till = new object();
        [ThreadStatic] static List<string> t_bill;

        public static void Serve(Orders orders, int customer)
        {
            t_bill = new List<string>();
            foreach (Order order in orders.Every(100))
                lock (s_till)
                {
                    Thread.Sleep(10);
                    t_bill.Add(string.Join(", ", order.Items));
                    Database.Execute("INSERT INTO bill VALUES (@customer, @order)");
                }
            if (customer == 0)
                Database.Execute("SELECT * FROM nothing");
        }
    }

    static class Shipping
    {
        public static async Task ShipAll(IEnumerable<Order> orders)
        {
            foreach (Order[] box in orders.Select((o, i) => (o, i)).GroupBy(p => p.i / 10, p => p.o).Select(g => g.ToArray()))
                await Ship(box);
            Carrier.Confirm().Wait(); // blocks a thread
        }

        static async Task Ship(Order[] box)
        {
            await Carrier.Drive(20);
            foreach (Order order in box)
                order.Items.Clear();
        }
    }

    static class Carrier
    {
        public static async Task Drive(int milliseconds)
        {
            await Task.Delay(milliseconds);
            Compute(200_000);
        }

        public static async Task Confirm()
        {
            await Drive(5);
            await Task.Yield();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Compute(int steps)
        {
            int sum = 0;
            for (int i = 0; i < steps; i++)
                sum = unchecked(sum * 31 + i);
            return sum;
        }
    }

    static class Stock
    {
        public static int Parse(string[] numbers)
        {
            int sum = 0;
            foreach (string number in numbers)
                try
                {
                    sum += int.Parse(number);
                }
                catch (FormatException)
                {
                    sum += 1;
                }
            return sum;
        }
    }

    /// <summary>Large arrays, pinned ones, and objects that are finalized.</summary>
    static class Warehouse
    {
        static readonly List<byte[]> s_shelves = new List<byte[]>();

        sealed class Crate
        {
            ~Crate() { }
        }

        public static void Fill()
        {
            for (int i = 0; i < 5; i++)
            {
                var shelf = new byte[90_000];
                GCHandle pin = GCHandle.Alloc(new byte[100], GCHandleType.Pinned);
                new Crate();
                if (i == 0)
                    s_shelves.Add(shelf);
                else
                    pin.Free();
            }
        }
    }
}
