// PointsAsync [ROUNDS]: an async method and an iterator at whose points recording stops and starts. Load is what starts the method; its own
// code is that of the state machine, before the wait and after it, on another thread. Items is alike: its code runs in MoveNext.
//
// What is made while it is recorded has the type In, all else Out.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace PointsAsync
{
    sealed class In { public long A; }
    sealed class Out { public long A, B; }

    static class Program
    {
        static int Main(string[] args)
        {
            int rounds = args.Length > 0 ? int.Parse(args[0]) : 3;
            for (int i = 0; i < rounds; i++)
                Phases.Run();
            Truth.OfType(typeof(In), Phases.Made, Phases.Made * Size.Object(8));
            return Truth.Print();
        }
    }

    static class Phases
    {
        internal static long Made;
        static TaskCompletionSource<bool> wait;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Make(bool recorded)
        {
            if (recorded)
                Interlocked.Increment(ref Made);
            return recorded ? (object)new In() : new Out();
        }

        internal static void Run()
        {
            wait = new TaskCompletionSource<bool>();
            Make(true);
            Task load = Load();
            Make(true); // between the parts of Load
            var other = new Thread(Complete);
            other.Start();
            other.Join();
            load.Wait();
            Make(true);
            var returned = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            Task starts = Starts(returned.Task); // stops up to its first wait only
            Make(true);
            returned.SetResult(true);
            starts.Wait();
            foreach (int i in Items())
                Make(true);
            Make(true);
        }

        /// <summary>What waits goes on at once, on this thread.</summary>
        static void Complete()
        {
            Make(true);
            wait.SetResult(true);
            Make(true);
        }

        /// <summary>Its own code is not recorded.</summary>
        static async Task Load()
        {
            Make(false);
            await wait.Task;
            Make(false);
        }

        /// <summary>What starts it is not, what goes on after the wait is. It waits for what is not done before its call has
        /// returned: a short delay may be.</summary>
        static async Task Starts(Task wait)
        {
            Make(false);
            await wait;
            Make(true);
        }

        static IEnumerable<int> Items()
        {
            Make(false);
            yield return 1;
            Make(false);
            yield return 2;
            Make(false);
        }
    }
}
