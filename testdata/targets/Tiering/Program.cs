// Functions whose code the runtime replaces while they run, and stacks that are
// hard to walk: tier 0 to on-stack replacement to tier 1, chains of small
// functions without frame pointers, deep recursion, handlers of exceptions.

using System;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Tiering
{
    sealed class Item { public long A, B; }

    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 20_000; // the second argument is the deepest recursion
            Made item = new Made(typeof(Item), 1, Size.Object(16));
            Truth.Exclusive(Loops.Hot, 10 * n, item);
            Truth.ExclusiveIn(Truth.Method(typeof(Loops), "Leaf"), Loops.Calls, 10 * n, item);
            Truth.Exclusive(Loops.Nested, n, new Made(typeof(Item), 3, Size.Object(16)), new Made(typeof(int[]), 1, Size.Array(4, 3)));

            Truth.ExclusiveIn(Truth.Method(typeof(Chain), "Bottom"), Chain.Run, n, new Made(typeof(Item), 2, Size.Object(16)));
            Chain.Say(n + 1, item);

            Recursion.Run(5, n / 10);
            Recursion.Run(args.Length > 1 ? int.Parse(args[1]) : 10_000, 3);

            Truth.Exclusive(Handlers.Finally, n, item);
            Handlers.Run(200);
            return Truth.Print();
        }
    }
}
