// Async methods that know how often they waited, and for how long. Each wait is one
// of an awaiter of their own, which the builder of the method asks to be resumed: it
// tells each suspension, and reads the clock within it. Around the wait the method reads
// the clock, too. So what passed between suspension and resumption is between the two.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace TimeAwaits
{
    /// <summary>What is known of the waits of a method.</summary>
    sealed class Known
    {
        static readonly double nanoseconds = 1e9 / Stopwatch.Frequency;
        readonly string method;
        long suspensions, least, most;

        public Known(string method) => this.method = method;

        public void Suspended() => Interlocked.Increment(ref suspensions);
        public void AtLeast(long ticks) => Interlocked.Add(ref least, ticks);
        public void AtMost(long ticks) => Interlocked.Add(ref most, ticks);

        public void Say() => Console.WriteLine(string.Format(CultureInfo.InvariantCulture,
            "{{\"truth\":\"awaited\",\"name\":\"{0}\",\"suspensions\":{1},\"least\":{2:F0},\"most\":{3:F0}}}", method, suspensions, least * nanoseconds, most * nanoseconds));
    }

    /// <summary>Waits for a task, and says so.</summary>
    struct Wait : ICriticalNotifyCompletion
    {
        readonly Task task;
        readonly Known known;
        readonly bool safe;
        readonly long[] begin;

        public Wait(Task task, Known known, bool safe = false)
        {
            this.task = task;
            this.known = known;
            this.safe = safe;
            begin = new long[2];
            begin[0] = Stopwatch.GetTimestamp();
        }

        public Wait GetAwaiter() => this;
        public bool IsCompleted => task.IsCompleted;

        public void GetResult()
        {
            if (begin[1] != 0)
                known.AtMost(Stopwatch.GetTimestamp() - begin[0]);
            task.GetAwaiter().GetResult();
        }

        public void OnCompleted(Action continuation) => UnsafeOnCompleted(continuation);

        public void UnsafeOnCompleted(Action continuation)
        {
            known.Suspended();
            Known k = known;
            long at = begin[1] = Stopwatch.GetTimestamp();
            Action resume = () =>
            {
                k.AtLeast(Stopwatch.GetTimestamp() - at);
                continuation();
            };
            if (safe)
                task.GetAwaiter().OnCompleted(resume);
            else
                task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(resume);
        }
    }

    /// <summary>The same for an awaiter that has only OnCompleted.</summary>
    struct SafeWait : INotifyCompletion
    {
        readonly Wait wait;
        public SafeWait(Task task, Known known) => wait = new Wait(task, known, true);
        public SafeWait GetAwaiter() => this;
        public bool IsCompleted => wait.IsCompleted;
        public void GetResult() => wait.GetResult();
        public void OnCompleted(Action continuation) => wait.OnCompleted(continuation);
    }

    static class Methods
    {
        public static readonly Known Delays = new Known("Delays"), Yields = new Known("Yields"), Ready = new Known("Ready"), Gated = new Known("Gated"),
            Valued = new Known("Valued"), Fails = new Known("Fails"), Outer = new Known("Outer"), Inner = new Known("Inner"), Stream = new Known("Stream"),
            Void = new Known("Void"), Safe = new Known("Safe"), Generic = new Known("Generic"), Recursive = new Known("Recursive");

        public static async Task WaitDelays(int n)
        {
            for (int i = 0; i < n; i++)
                await new Wait(Task.Delay(1 + i % 5), Delays);
        }

        /// <summary>Goes on in another thread, at once.</summary>
        public static async Task WaitYields(int n)
        {
            for (int i = 0; i < n; i++)
                await new Wait(Task.Run(() => { }), Yields);
        }

        /// <summary>Never waits.</summary>
        public static async Task WaitReady(int n)
        {
            for (int i = 0; i < n; i++)
                await new Wait(Task.CompletedTask, Ready);
        }

        /// <summary>Goes on within the call that ends what it waits for.</summary>
        public static async Task WaitGated(TaskCompletionSource<int>[] gates)
        {
            foreach (TaskCompletionSource<int> gate in gates)
                await new Wait(gate.Task, Gated);
        }

        public static async ValueTask<int> WaitValued(int n)
        {
            await new Wait(Task.Delay(n % 3), Valued);
            return n;
        }

        /// <summary>Ends by an exception, after it has waited.</summary>
        public static async Task WaitFails(int n)
        {
            await new Wait(Task.Delay(2), Fails);
            if (n >= 0)
                throw new InvalidOperationException("as it should");
        }

        public static async Task WaitOuter(int n)
        {
            for (int i = 0; i < n; i++)
                await new Wait(WaitInner(), Outer);
        }

        static async Task WaitInner() => await new Wait(Task.Delay(3), Inner);

        public static async IAsyncEnumerable<int> WaitStream(int n)
        {
            for (int i = 0; i < n; i++)
            {
                if (i % 2 == 0)
                    await new Wait(Task.Delay(2), Stream);
                yield return i;
            }
        }

        public static async void WaitVoid(CountdownEvent done)
        {
            await new Wait(Task.Delay(4), Void);
            done.Signal();
        }

        public static async Task WaitSafe(int n)
        {
            for (int i = 0; i < n; i++)
                await new SafeWait(Task.Delay(2), Safe);
        }

        public static async Task<T> WaitGeneric<T>(T value)
        {
            await new Wait(Task.Delay(2), Generic);
            return value;
        }

        /// <summary>Calls itself, before and after it has waited.</summary>
        public static async Task<int> WaitRecursive(int n)
        {
            if (n == 0)
                return 0;
            if (n % 2 != 0)
                await new Wait(Task.Delay(1), Recursive);
            Task<int> below = WaitRecursive(n - 1);
            await new Wait(below, Recursive);
            return below.Result + 1;
        }

        /// <summary>Waits when the program ends.</summary>
        public static async Task WaitForever() => await new TaskCompletionSource<int>().Task;
    }

    static class Program
    {
        static async Task Stream(int n)
        {
            await foreach (int i in Methods.WaitStream(n))
                if (i < 0)
                    throw new InvalidOperationException();
        }

        static void Gates(int n)
        {
            var gates = new TaskCompletionSource<int>[n];
            for (int i = 0; i < n; i++)
                gates[i] = new TaskCompletionSource<int>();
            Task all = Methods.WaitGated(gates);
            foreach (TaskCompletionSource<int> gate in gates)
            {
                Thread.Sleep(1);
                gate.SetResult(1);
            }
            all.GetAwaiter().GetResult();
        }

        static void Main(string[] args)
        {
            int n = int.Parse(args[0], CultureInfo.InvariantCulture);
            Methods.WaitForever();
            long forever = Stopwatch.GetTimestamp();
            var together = new List<Task>();
            for (int i = 0; i < n; i++)
                together.Add(Methods.WaitDelays(n));
            Task.WaitAll(together.ToArray());
            Methods.WaitYields(50 * n).Wait();
            Methods.WaitReady(100 * n).Wait();
            Gates(n);
            for (int i = 0; i < n; i++)
            {
                Methods.WaitValued(i).AsTask().Wait();
                try
                {
                    Methods.WaitFails(i).GetAwaiter().GetResult();
                }
                catch (InvalidOperationException)
                {
                }
            }
            Task.WaitAll(Methods.WaitOuter(n), Stream(n), Methods.WaitSafe(n), Methods.WaitRecursive(n), Methods.WaitGeneric(1), Methods.WaitGeneric("one"));
            using (var done = new CountdownEvent(n))
            {
                for (int i = 0; i < n; i++)
                    Methods.WaitVoid(done);
                done.Wait();
            }
            foreach (Known k in new[] { Methods.Delays, Methods.Yields, Methods.Ready, Methods.Gated, Methods.Valued, Methods.Fails, Methods.Outer, Methods.Inner,
                Methods.Stream, Methods.Void, Methods.Safe, Methods.Generic, Methods.Recursive })
                k.Say();
            var waits = new Known("Forever");
            waits.Suspended();
            waits.AtLeast(Stopwatch.GetTimestamp() - forever);
            waits.AtMost(3600 * Stopwatch.Frequency); // until the process ends
            waits.Say();
            Console.WriteLine("{\"truth\":\"end\",\"ok\":true}");
        }
    }
}
