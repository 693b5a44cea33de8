using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;

namespace WebShop
{
    public sealed record Product(int Id, string Name, decimal Price);

    /// <summary>What the shop sells, read from lines such as "17;lamp 17;4.99".</summary>
    public sealed class Catalogue
    {
        const int Shown = 10;
        const string Line = @"^\s*([0-9]+)\s*;\s*([^;]+?)\s*;\s*([0-9]+(?:\.[0-9]{2})?)\s*$";
        readonly List<Product> products = new List<Product>();

        public Catalogue(IEnumerable<string> lines)
        {
            foreach (string line in lines)
                products.Add(Parse(line));
        }

        public Product this[int id] => products[id];

        public int Count => products.Count;

#if FIXED
        static readonly Regex line = new Regex(Line);

        static Product Parse(string text)
        {
            Match match = line.Match(text);
#else
        static Product Parse(string text)
        {
            // Problem "slow start": the expression is parsed anew for each of the lines.
            Match match = new Regex(Line).Match(text);
#endif
            return new Product(int.Parse(match.Groups[1].Value), match.Groups[2].Value,
                decimal.Parse(match.Groups[3].Value, System.Globalization.CultureInfo.InvariantCulture));
        }

        /// <summary>The cheapest products with this text in their names.</summary>
        public string Search(string text)
        {
#if FIXED
            var found = new List<Product>(Shown);
            foreach (Product product in products)
            {
                if (!product.Name.Contains(text, StringComparison.Ordinal))
                    continue;
                int at = found.Count;
                while (at > 0 && found[at - 1].Price > product.Price)
                    at--;
                if (at == Shown)
                    continue;
                if (found.Count == Shown)
                    found.RemoveAt(Shown - 1);
                found.Insert(at, product);
            }
            return string.Join('\n', found);
#else
            // Problem "busy GC": each search copies the whole catalogue into an array, which with more than 85,000 bytes is
            // a large object: only full collections free it.
            Product[] all = products.ToArray();
            Array.Sort(all, (a, b) => a.Price.CompareTo(b.Price));
            return string.Join('\n', all.Where(p => p.Name.Contains(text, StringComparison.Ordinal)).Take(Shown));
#endif
        }

        /// <summary>Lines of a catalogue, always the same ones.</summary>
        public static IEnumerable<string> Made(int count)
        {
            string[] kinds = { "lamp", "chair", "table", "shelf", "rug" };
            for (int i = 0; i < count; i++)
                yield return $"{i};{kinds[i % kinds.Length]} {i};{i * 7919 % 1000}.99";
        }
    }
}
