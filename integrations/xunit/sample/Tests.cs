// Tests with budgets: those that keep theirs, and one that does not. "dotnet test" says which.

using System;
using Clrprof.Xunit;
using Xunit;

[assembly: AllocationBudget]

namespace Shop.Tests
{
    /// <summary>A line of an order: 16 bytes of header, 8 of number.</summary>
    public sealed class OrderLine
    {
        public long Number;
    }

    public static class Parser
    {
        /// <summary>How many fields a line has. It allocates nothing.</summary>
        public static int Count(string line)
        {
            int n = 1;
            foreach (char c in line)
                n += c == ',' ? 1 : 0;
            return n;
        }

        /// <summary>The lines of an order. It allocates an array and its elements.</summary>
        public static OrderLine[] Lines(int n)
        {
            var lines = new OrderLine[n];
            for (int i = 0; i < n; i++)
                lines[i] = new OrderLine { Number = i };
            return lines;
        }
    }

    public class ParserTests
    {
        [Theory, InlineData("", 1), InlineData("a,b,c", 3)]
        [AllocationBudget(bytes: 0)]
        public void Counts(string line, int fields) => Assert.True(Parser.Count(line) == fields);

        [Fact, AllocationBudget(bytes: 24 + 10 * 8 + 10 * 24)]
        public void KeepsItsBudget() => Assert.True(Parser.Lines(10).Length == 10);

        [Fact, AllocationBudget(bytes: 0)]
        public void BreaksItsBudget() => Assert.True(Parser.Lines(1000).Length == 1000);
    }
}
