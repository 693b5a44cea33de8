// What C# 9 to 14 added and a compiler takes apart: names for it are in languages_test.go.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace Shop;

public struct Money
{
    public long Cents;
    public void operator +=(Money m) => Cents += m.Cents;
    public void operator ++() => Cents++;
    public void operator checked ++() => Cents = checked(Cents + 1);
    public void operator checked -=(Money m) => Cents = checked(Cents - m.Cents);
    public void operator -=(Money m) => Cents -= m.Cents;
    public void operator >>>=(int n) => Cents >>>= n;
    public static Money operator +(Money a, Money b) => new() { Cents = a.Cents + b.Cents };
    public static explicit operator long(Money m) => m.Cents;
    public static explicit operator checked int(Money m) => checked((int)m.Cents);
    public static explicit operator int(Money m) => (int)m.Cents;
}

public static class Sequences
{
    extension<T>(IEnumerable<T> source)
    {
        public bool IsEmpty => !source.Any();
        public IEnumerable<T> Every(int n) { int i = 0; foreach (T t in source) if (i++ % n == 0) yield return t; }
        public T Pick(Func<T, bool> by) => source.First(t => by(t) && source.Count() > 0);
        public static IEnumerable<T> operator +(IEnumerable<T> a, IEnumerable<T> b) => a.Concat(b);
    }

    extension(string)
    {
        public static string Twice(string s) => s + s;
        public static async Task<string> Later(string s) { await Task.Yield(); return s; }
    }

    extension(string text)
    {
        public int Words { get => text.Split(' ').Length; }
        public string Upper() { string Local(string s) => s.ToUpperInvariant() + text; return Local(text); }
    }
}

public partial class Account(string owner, int limit)
{
    public string Owner { get => field ??= owner; set => field = value.Trim(); }
    public int Limit { get; init => field = value > 0 ? value : limit; } = 1;
    public partial event Action Changed;
    public partial int Count { get; set; }
    public static int Of(params ReadOnlySpan<int> numbers) => numbers.Length;
    public record struct Line(int Number, string Text);
    public record Entry(int Id) { public required string Name { get; init; } }
    public Func<int, int> Doubler() => static (x) => x * 2;
    public Func<int, int> Adder(int n) => (int x = 1) => x + n + limit;
    public int this[Index i] => i.Value;
}

public partial class Account
{
    public partial event Action Changed { add { } remove { } }
    public partial int Count { get => 0; set { } }
}

file class Hidden { public static int Run() => 1; }

public interface ICounter<TSelf> where TSelf : ICounter<TSelf>
{
    static abstract TSelf operator +(TSelf a, int b);
    static virtual int Zero => Hidden.Run();
}

public static class Program
{
    public static async Task Main(string[] args)
    {
        var counts = from a in args let n = a.Length where n > 1 orderby n select new { a, n };
        foreach (var c in counts) Console.WriteLine(c.n switch { > 3 and < 5 => "four", _ => c.a });
        await foreach (int i in Numbers()) Console.WriteLine($"{i}");
        int[] all = [1, 2, .. args.Select(a => a.Length)];
        IEnumerable<int> some = [.. all, 3];
        Console.WriteLine(some.Count());
    }

    static async IAsyncEnumerable<int> Numbers() { await Task.Yield(); yield return 1; }
}
