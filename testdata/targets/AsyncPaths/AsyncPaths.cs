// AsyncPaths: async methods that wait in all the ways there are. Each function is called by one other function only, so
// what it makes is at one place of the call tree, whoever resumes it. It prints ("path") how many objects each makes by
// itself, and who calls it; "": a thread of the pool.
//
// It is compiled for .NET 8 or later.

using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Channels;
using System.Threading.Tasks;

namespace AsyncPaths
{
    sealed class Item { public long Value; }

    static class Program
    {
        const int Rounds = 50;
        static readonly List<Item> items = new List<Item>();

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Keep(Item i)
        {
            lock (items)
                items.Add(i);
        }

        static void Say(string name, string caller, int made) =>
            Console.WriteLine(Truth.Row("path", "name", "AsyncPaths.Program." + name,
                "caller", caller == "" ? "" : "AsyncPaths.Program." + caller, "made", made * Rounds) + "}");

        static async Task<int> Main()
        {
            for (int i = 0; i < Rounds; i++)
                await Round(i);
            Say("Round(int)", "Main()", 0);
            Say("Yields()", "Round(int)", 4);
            Say("Delays()", "Round(int)", 3);
            Say("Never(int)", "Round(int)", 2);
            Say("Value(int)", "Round(int)", 2);
            Say("ValueInner(int)", "Value(int)", 1);
            Say("Pooled(int)", "Round(int)", 2);
            Say("PooledInner(int)", "Pooled(int)", 1);
            Say("Generic<T>(T)", "Round(int)", 1);
            Say("Throws(int)", "Round(int)", 3);
            Say("Thrower(int)", "Throws(int)", 1);
            Say("Setter()", "Round(int)", 2);
            Say("Gated(Task)", "Setter()", 2);
            Say("Plain()", "Gated(Task)", 1);
            Say("Both()", "Round(int)", 2);
            Say("First()", "Both()", 1);
            Say("Second()", "Both()", 2);
            Say("Any()", "Round(int)", 2);
            Say("AnyFast()", "Any()", 1);
            Say("AnySlow(Task)", "Any()", 2);
            Say("Streams()", "Round(int)", 6);
            Say("Stream(int) [async iterator]", "Streams()", 3);
            Say("StreamItem(int)", "Stream(int) [async iterator]", 6);
            Say("Uses()", "Round(int)", 2);
            Say("Resource.DisposeAsync()", "Uses()", 1);
            Say("Locks()", "Round(int)", 0);
            Say("LockA()", "Locks()", 2);
            Say("LockB()", "Locks()", 2);
            Say("Channels()", "Round(int)", 1);
            Say("Producer(ChannelWriter<int>)", "Channels()", 6);
            Say("Consumer(ChannelReader<int>)", "Channels()", 1);
            Say("ReadOne(int)", "Consumer(ChannelReader<int>)", 5);
            Say("Runs()", "Round(int)", 1);
            Say("RunBody()", "", 1);
            Say("RunAsyncBody()", "", 2);
            Say("RunInner()", "RunAsyncBody()", 1);
            Say("Voids()", "Round(int)", 1);
            Say("Void(TaskCompletionSource<int>)", "Voids()", 2);
            Say("Locals()", "Round(int)", 1);
            Say("Locals.Local(int)", "Locals()", 2);
            Say("Locals.LocalPlain(int)", "Locals.Local(int)", 1);
            Say("Custom()", "Round(int)", 2);
            Say("Awaitable.OnCompleted(Action)", "Custom()", 1);
            Say("CustomInner()", "Custom()", 1);
            Say("Timers()", "Round(int)", 1);
            Say("TimerWait(CancellationToken)", "Timers()", 2);
            Say("TimerInner()", "TimerWait(CancellationToken)", 1);
            Say("Interface()", "Round(int)", 1);
            Say("Worker.Work()", "Interface()", 0);
            Say("Worker.WorkInner()", "Worker.Work()", 1);
            return Truth.Print(0);
        }

        static async Task Round(int i)
        {
            await Yields();
            await Delays();
            await Never(i);
            await Value(i);
            await Pooled(i);
            await Generic("x");
            await Throws(i);
            await Setter();
            await Both();
            await Any();
            await Streams();
            await Uses();
            await Locks();
            await Channels();
            await Runs();
            await Voids();
            await Locals();
            await Custom();
            await Timers();
            await Interface();
        }

        static async Task Yields()
        {
            for (int i = 0; i < 3; i++)
            {
                Keep(new Item());
                await Task.Yield();
            }
            Keep(new Item());
        }

        static async Task Delays()
        {
            Keep(new Item());
            await Task.Delay(1);
            Keep(new Item());
            await Task.Delay(0);
            Keep(new Item());
        }

        static async Task<int> Never(int x)
        {
            Keep(new Item());
            await Task.CompletedTask;
            Keep(new Item());
            return x;
        }

        static async ValueTask<int> Value(int x)
        {
            Keep(new Item());
            if (x % 2 == 0)
                await Task.Yield();
            Keep(new Item());
            return await ValueInner(x);
        }

        static async ValueTask<int> ValueInner(int x)
        {
            await Task.Yield();
            Keep(new Item());
            return x;
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
        static async ValueTask<int> Pooled(int x)
        {
            Keep(new Item());
            await PooledInner(x);
            Keep(new Item());
            return x;
        }

        [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
        static async ValueTask PooledInner(int x)
        {
            await Task.Yield();
            Keep(new Item());
        }

        static async Task<T> Generic<T>(T x)
        {
            await Task.Yield();
            Keep(new Item());
            return x;
        }

        static async Task Throws(int i)
        {
            try
            {
                Keep(new Item());
                await Thrower(i);
            }
            catch (InvalidOperationException)
            {
                await Task.Yield();
            }
            finally
            {
                Keep(new Item());
                await Task.Yield();
                Keep(new Item());
            }
        }

        static async Task Thrower(int i)
        {
            await Task.Yield();
            Keep(new Item());
            if (i % 2 == 0)
                throw new InvalidOperationException();
        }

        /// <summary>Gated goes on within the call that sets the result.</summary>
        static async Task Setter()
        {
            var gate = new TaskCompletionSource<int>();
            Task gated = Gated(gate.Task);
            await Task.Yield();
            Keep(new Item());
            gate.SetResult(1);
            Keep(new Item());
            await gated;
        }

        static async Task Gated(Task gate)
        {
            Keep(new Item());
            await gate;
            Keep(new Item());
            Plain();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Plain() => Keep(new Item());

        static async Task Both()
        {
            Keep(new Item());
            await Task.WhenAll(First(), Second());
            Keep(new Item());
        }

        static async Task First()
        {
            await Task.Delay(1);
            Keep(new Item());
        }

        static async Task Second()
        {
            await Task.Yield();
            Keep(new Item());
            await Task.Yield();
            Keep(new Item());
        }

        static async Task Any()
        {
            var slow = new TaskCompletionSource<int>();
            Task a = AnyFast(), b = AnySlow(slow.Task);
            await Task.WhenAny(a, b);
            Keep(new Item());
            slow.SetResult(0);
            await b;
            Keep(new Item());
        }

        static async Task AnyFast()
        {
            await Task.Yield();
            Keep(new Item());
        }

        static async Task AnySlow(Task t)
        {
            Keep(new Item());
            await t.ConfigureAwait(false);
            Keep(new Item());
        }

        static async Task Streams()
        {
            await foreach (int i in Stream(3))
            {
                Keep(new Item());
                await Task.Yield();
                Keep(new Item());
            }
        }

        static async IAsyncEnumerable<int> Stream(int n)
        {
            for (int i = 0; i < n; i++)
            {
                await Task.Yield();
                Keep(new Item());
                yield return await StreamItem(i);
            }
        }

        static async Task<int> StreamItem(int i)
        {
            Keep(new Item());
            await Task.Yield();
            Keep(new Item());
            return i;
        }

        static async Task Uses()
        {
            await using (new Resource())
            {
                await Task.Yield();
                Keep(new Item());
            }
            Keep(new Item());
        }

        sealed class Resource : IAsyncDisposable
        {
            public async ValueTask DisposeAsync()
            {
                await Task.Yield();
                Keep(new Item());
            }
        }

        static readonly SemaphoreSlim semaphore = new SemaphoreSlim(1);

        static async Task Locks()
        {
            Task a = LockA(), b = LockB();
            await a;
            await b;
        }

        static async Task LockA()
        {
            await semaphore.WaitAsync();
            Keep(new Item());
            await Task.Yield();
            Keep(new Item());
            semaphore.Release();
        }

        static async Task LockB()
        {
            await semaphore.WaitAsync();
            Keep(new Item());
            await Task.Yield();
            Keep(new Item());
            semaphore.Release();
        }

        static async Task Channels()
        {
            Channel<int> channel = Channel.CreateBounded<int>(2);
            Task producer = Producer(channel.Writer);
            await Consumer(channel.Reader);
            await producer;
            Keep(new Item());
        }

        static async Task Producer(ChannelWriter<int> writer)
        {
            for (int i = 0; i < 5; i++)
            {
                Keep(new Item());
                await writer.WriteAsync(i);
            }
            writer.Complete();
            Keep(new Item());
        }

        static async Task Consumer(ChannelReader<int> reader)
        {
            while (await reader.WaitToReadAsync())
                while (reader.TryRead(out int x))
                    ReadOne(x);
            Keep(new Item());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void ReadOne(int x) => Keep(new Item());

        static async Task Runs()
        {
            await Task.Run(RunBody);
            await Task.Run(RunAsyncBody);
            Keep(new Item());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void RunBody() => Keep(new Item());

        static async Task RunAsyncBody()
        {
            Keep(new Item());
            await Task.Yield();
            Keep(new Item());
            RunInner();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void RunInner() => Keep(new Item());

        static async Task Voids()
        {
            var done = new TaskCompletionSource<int>();
            Void(done);
            await done.Task;
            Keep(new Item());
        }

        static async void Void(TaskCompletionSource<int> done)
        {
            Keep(new Item());
            await Task.Yield();
            Keep(new Item());
            done.SetResult(1);
        }

        static async Task Locals()
        {
            async Task Local(int i)
            {
                Keep(new Item());
                await Task.Yield();
                Keep(new Item());
                LocalPlain(i);
            }

            [MethodImpl(MethodImplOptions.NoInlining)]
            void LocalPlain(int i) => Keep(new Item());

            await Local(3);
            Keep(new Item());
        }

        struct Awaitable : INotifyCompletion
        {
            public Awaitable GetAwaiter() => this;
            public bool IsCompleted => false;
            public void GetResult() { }

            [MethodImpl(MethodImplOptions.NoInlining)]
            public void OnCompleted(Action next)
            {
                Keep(new Item());
                ThreadPool.QueueUserWorkItem(_ => next());
            }
        }

        static async Task Custom()
        {
            Keep(new Item());
            await new Awaitable();
            Keep(new Item());
            CustomInner();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CustomInner() => Keep(new Item());

        static async Task Timers()
        {
            using var source = new CancellationTokenSource();
            try
            {
                Task wait = TimerWait(source.Token);
                source.CancelAfter(1);
                await wait;
            }
            catch (OperationCanceledException)
            {
                Keep(new Item());
            }
        }

        static async Task TimerWait(CancellationToken token)
        {
            try
            {
                Keep(new Item());
                await Task.Delay(-1, token);
            }
            finally
            {
                Keep(new Item());
                TimerInner();
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void TimerInner() => Keep(new Item());

        interface IWorker
        {
            Task Work();
        }

        sealed class Worker : IWorker
        {
            public async Task Work()
            {
                await Task.Yield();
                WorkInner();
            }

            [MethodImpl(MethodImplOptions.NoInlining)]
            void WorkInner() => Keep(new Item());
        }

        static readonly IWorker worker = new Worker();

        static async Task Interface()
        {
            await worker.Work();
            Keep(new Item());
        }
    }
}
