using System;
using System.Collections;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

namespace TimeCalls
{
    /// <summary>Iterators and async methods, whose code the compiler puts into state machines.</summary>
    static class Machines
    {
        static int sum;

        static IEnumerable<int> Count(int n)
        {
            for (int i = 0; i < n; i++)
                yield return i;
        }

        public static void Iterate(int n)
        {
            foreach (int i in Count(n))
                sum += i;
            sum++;
        }

        public static void SayIterate(int n)
        {
            MethodBase iterate = Calls.Method(typeof(Machines), "Iterate"), count = Calls.Method(typeof(Machines), "Count");
            Type machine = Calls.Machine(count);
            Calls.By(iterate, count, 1);
            Calls.Of(Calls.Method(machine, ".ctor"), 1); // the last that Count does
            Calls.By(iterate, Calls.Method(machine, "System.Collections.Generic.IEnumerable<System.Int32>.GetEnumerator"), 1);
            Calls.By(iterate, Calls.Method(machine, "MoveNext"), n + 1);
            Calls.By(iterate, Calls.Method(machine, "System.Collections.Generic.IEnumerator<System.Int32>.get_Current"), n);
            Calls.By(iterate, Calls.Method(machine, "System.IDisposable.Dispose"), 1);
        }

        // Goes on in a thread of the pool, each time.
        static async Task<int> Hop(int i)
        {
            sum += Before(i);
            await Task.Yield();
            int first = After(i);
            await Task.Yield();
            return first + After(i);
        }

        // Never waits.
        static async Task<int> Straight(int i) => await Task.FromResult(i) + 1;

        static async ValueTask<int> Both(int i) => await Hop(i) + await Straight(i);

        static int Before(int i) => i;
        static int After(int i) => i + 1;

        static async Task Await(int n)
        {
            for (int i = 0; i < n; i++)
                sum += await Both(i);
        }

        public static void Async(int n)
        {
            Await(n).GetAwaiter().GetResult();
            sum++;
        }

        // Whether an await has to wait is a race: it goes on at once if what it waits for is there already. Each does its
        // work in the machine's MoveNext, whose calls are known only where there is no such race.
        public static void SayAsync(int n)
        {
            MethodBase async = Calls.Method(typeof(Machines), "Async"), await = Calls.Method(typeof(Machines), "Await");
            MethodBase both = Calls.Method(typeof(Machines), "Both"), hop = Calls.Method(typeof(Machines), "Hop"), straight = Calls.Method(typeof(Machines), "Straight");
            MethodBase inHop = Calls.Method(Calls.Machine(hop), "MoveNext"), inBoth = Calls.Method(Calls.Machine(both), "MoveNext");
            Calls.By(async, await, 1);
            Calls.By(Calls.Method(Calls.Machine(await), "MoveNext"), both, n);
            Calls.By(inBoth, hop, n);
            Calls.By(inBoth, straight, n);
            Calls.Of(inHop, 3 * n);
            Calls.Of(Calls.Method(Calls.Machine(straight), "MoveNext"), n);
            Calls.By(inHop, Calls.Method(typeof(Machines), "Before"), n);
            Calls.By(inHop, Calls.Method(typeof(Machines), "After"), 2 * n);
            foreach (MethodBase method in new[] { await, both, hop, straight })
            {
                Type machine = Calls.Machine(method);
                if (machine.IsClass) // in code that is not optimized
                    Calls.Of(Calls.Method(machine, ".ctor"), method == await ? 1 : n);
            }
            foreach (MethodBase method in new[] { await, both })
                Calls.Unknown(Calls.Method(Calls.Machine(method), "MoveNext"));
        }
    }
}
