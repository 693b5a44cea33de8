// Continued: async methods that end after they have waited, and what goes on on their stacks: the loop of
// Parallel.ForEachAsync, and functions that ContinueWith was given, which call tests. None of it is called by them.
//
// It is compiled for .NET 8 or later.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Xunit
{
    sealed class FactAttribute : Attribute { }
}

namespace Continued
{
    sealed class Item { public long Value; }
    sealed class Beside { public long Value; } // no test makes one

    static class Program
    {
        const int Rounds = 300;
        static readonly List<Item> items = new List<Item>();
        static object kept;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int n)
        {
            lock (items)
                for (int i = 0; i < n; i++)
                    items.Add(new Item());
        }

        static IEnumerable<int> Numbers()
        {
            for (int i = 0; i < Rounds; i++)
            {
                Make(1);
                yield return i;
            }
        }

        static async ValueTask Body(int number, CancellationToken token)
        {
            Make(1);
            await Task.Yield();
            Make(2);
        }

        [Xunit.Fact]
        static async Task First(Task gate)
        {
            Make(1);
            await gate;
            Make(4);
        }

        [Xunit.Fact, MethodImpl(MethodImplOptions.NoInlining)]
        static void Second() => Make(6);

        /// <summary>When it ends, the framework makes a Tuple, which no user code called for.</summary>
        static async Task Third(Task gate)
        {
            await gate;
            Make(1);
        }

        static void Fixture(Task of)
        {
            Make(7);
            Second();
        }

        static async Task<int> Main()
        {
            kept = new Beside();
            await Parallel.ForEachAsync(Numbers(), new ParallelOptions { MaxDegreeOfParallelism = 1 }, Body);
            for (int i = 0; i < Rounds; i++)
            {
                var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                Task all = First(gate.Task).ContinueWith(Fixture, TaskContinuationOptions.ExecuteSynchronously);
                gate.SetResult();
                await all;
            }
            Func<Task, Tuple<object>> make = Tuple.Create<object>;
            for (int i = 0; i < Rounds; i++)
            {
                var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                Task all = Third(gate.Task).ContinueWith(make, TaskContinuationOptions.ExecuteSynchronously);
                gate.SetResult();
                await all;
            }
            Say("Third(Task)", 1);
            Say("Numbers() [iterator]", 1);
            Say("Body(int, CancellationToken)", 3);
            Say("First(Task)", 5);
            Say("Second()", 6);
            Say("Fixture(Task)", 7 + 6);
            return Truth.Print(0);
        }

        static void Say(string name, int made) =>
            Console.WriteLine(Truth.Row("continued", "name", "Continued.Program." + name, "made", made * Rounds, "calls", Rounds) + "}");
    }
}
