// A program that a pipeline records before and after a change. SPLIT splits each line twice, BOX boxes each sum, and
// RENAMED calls a function otherwise.
using System;
using System.Collections.Generic;
using System.Text;

class Order
{
    public string Sku;
    public decimal Price;
    public int Count;
}

static class Parser
{
#if RENAMED
    public static Order ReadLine(string line)
#else
    public static Order ParseLine(string line)
#endif
    {
#if SPLIT
        if (line.Split(';').Length != 4) throw new FormatException();
#endif
        var p = line.Split(';');
        return new Order { Sku = p[1], Price = decimal.Parse(p[2]), Count = int.Parse(p[3]) };
    }

    public static List<Order> ParseAll(string text)
    {
        var list = new List<Order>();
        foreach (var line in text.Split('\n'))
#if RENAMED
            if (line.Length > 0) list.Add(ReadLine(line));
#else
            if (line.Length > 0) list.Add(ParseLine(line));
#endif
        return list;
    }
}

static class Report
{
    public static decimal Total(List<Order> orders)
    {
        decimal total = 0;
        foreach (var o in orders)
        {
#if BOX
            object sum = o.Price * o.Count;
            total += (decimal)sum;
#else
            total += o.Price * o.Count;
#endif
        }
        return total;
    }
}

static class Program
{
    static int Main(string[] args)
    {
        var text = new StringBuilder();
        for (int i = 0; i < 5000; i++) text.Append(i).Append(";sku").Append(i % 50).Append(';').Append(i % 7).Append(";3\n");
        Console.WriteLine(Report.Total(Parser.ParseAll(text.ToString())));
        if (args.Length > 0) Environment.FailFast(args[0]);
        return 0;
    }
}
