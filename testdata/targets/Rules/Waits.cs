// As Deserved.cs and Alike.cs, for rules about time.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

static class DeservedWaits
{
    public static void All()
    {
        LockContention1(); LockContention2(); LockContention3();
        SyncOverAsync1(); SyncOverAsync2(); SyncOverAsync3();
        ByteByByte1(); ByteByByte2(); ByteByByte3();
    }

    // Three threads, each of which has something for itself ten times, for 5 ms. They begin together, and each lets the
    // others have it in between: who gives it back could take it again before those who wait for it run.
    static void Together(Action pay)
    {
        var begin = new Barrier(3);
        var threads = Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            begin.SignalAndWait();
            for (int i = 0; i < 10; i++)
            {
                pay();
                Thread.Sleep(1);
            }
        })).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
    }

    static readonly object drawer = new object();
    static readonly SemaphoreSlim one = new SemaphoreSlim(1);
    static readonly ReaderWriterLockSlim book = new ReaderWriterLockSlim();

    static void LockContention1Pay()
    {
        lock (drawer)
            Thread.Sleep(5);
    }

    static void LockContention1()
    {
        Together(LockContention1Pay);
        Times.Did(30);
    }

    static void LockContention2Pay()
    {
        one.Wait();
        try { Thread.Sleep(5); }
        finally { one.Release(); }
    }

    static void LockContention2()
    {
        Together(LockContention2Pay);
        Times.Did(30);
    }

    static void LockContention3Pay()
    {
        book.EnterWriteLock();
        try { Thread.Sleep(5); }
        finally { book.ExitWriteLock(); }
    }

    static void LockContention3()
    {
        Together(LockContention3Pay);
        Times.Did(30);
    }

    // The work is done 20 ms after the thread blocks: before, it looks for some time whether it is done, which is long on a
    // busy machine.
    static async Task<int> Work(Thread waiter)
    {
        var done = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        new Thread(() =>
        {
            do
                Thread.Sleep(20);
            while ((waiter.ThreadState & ThreadState.WaitSleepJoin) == 0);
            Thread.Sleep(20);
            done.SetResult(1);
        }).Start();
        return await done.Task;
    }

    static void SyncOverAsync1()
    {
        for (int i = 0; i < 8; i++)
            Sink.Sum += Work(Thread.CurrentThread).Result;
        Times.Did(8);
    }

    static void SyncOverAsync2()
    {
        for (int i = 0; i < 8; i++)
            Work(Thread.CurrentThread).Wait();
        Times.Did(8);
    }

    static void SyncOverAsync3()
    {
        for (int i = 0; i < 8; i++)
            Sink.Sum += Work(Thread.CurrentThread).GetAwaiter().GetResult();
        Times.Did(8);
    }

    static void ByteByByte1()
    {
        var stream = new MemoryStream(new byte[20_000]);
        for (int i = 0; i < 20_000; i++)
            Sink.Sum += stream.ReadByte();
        Times.Did(20_000);
    }

    static void ByteByByte2()
    {
        var reader = new BinaryReader(new MemoryStream(new byte[20_000]));
        for (int i = 0; i < 20_000; i++)
            Sink.Sum += reader.ReadByte();
        Times.Did(20_000);
    }

    static void ByteByByte3()
    {
        var stream = new MemoryStream(20_000);
        for (int i = 0; i < 20_000; i++)
            stream.WriteByte((byte)i);
        Times.Did(20_000);
    }
}

static class AlikeWaits
{
    public static void All()
    {
        LockContention1(); LockContention2(); LockContention3();
        SyncOverAsync1().Wait(); SyncOverAsync2(); SyncOverAsync3();
        ByteByByte1(); ByteByByte2(); ByteByByte3();
    }

    static readonly object gate = new object();
    static readonly SemaphoreSlim items = new SemaphoreSlim(0);
    static bool pulsed;

    static void LockContention1() // a thread that waits for a pulse has no lock
    {
        pulsed = false;
        var waiter = new Thread(LockContention1Wait);
        waiter.Start();
        for (int i = 0; i < 10; i++)
        {
            Thread.Sleep(30);
            lock (gate)
                Monitor.Pulse(gate);
        }
        lock (gate)
        {
            pulsed = true;
            Monitor.Pulse(gate);
        }
        waiter.Join();
    }

    static void LockContention1Wait()
    {
        lock (gate)
            while (!pulsed)
                Monitor.Wait(gate);
    }

    static void LockContention2() // a semaphore that counts work: who waits for it has nothing to do
    {
        var worker = new Thread(LockContention2Work);
        worker.Start();
        for (int i = 0; i < 10; i++)
        {
            Thread.Sleep(30);
            items.Release();
        }
        worker.Join();
    }

    static void LockContention2Work()
    {
        for (int i = 0; i < 10; i++)
        {
            items.Wait();
            Sink.Sum++;
        }
    }

    static void LockContention3() // nobody else wants it
    {
        var mine = new object();
        for (int i = 0; i < 20; i++)
            lock (mine)
                Thread.Sleep(10);
    }

    static async Task SyncOverAsync1()
    {
        for (int i = 0; i < 10; i++)
            await Task.Delay(20);
    }

    static void SyncOverAsync2() // it is done
    {
        for (int i = 0; i < 20_000; i++)
            Sink.Sum += SyncOverAsync2Work(i).Result;
    }

    static async Task<int> SyncOverAsync2Work(int i)
    {
        await Task.CompletedTask;
        return i;
    }

    static void SyncOverAsync3() // once, for the end of all
    {
        Task.WaitAll(Task.Delay(200), Task.Delay(300));
    }

    static void ByteByByte1()
    {
        var stream = new MemoryStream(new byte[30_000]);
        var buffer = new byte[4_096];
        for (int n = stream.Read(buffer, 0, buffer.Length); n > 0; n = stream.Read(buffer, 0, buffer.Length))
            Sink.Sum += n;
    }

    static void ByteByByte2() // numbers of four bytes
    {
        var reader = new BinaryReader(new MemoryStream(new byte[80_000]));
        for (int i = 0; i < 20_000; i++)
            Sink.Sum += reader.ReadInt32();
    }

    sealed class Bytes
    {
        public byte At;
        [MethodImpl(MethodImplOptions.NoInlining)]
        public int ReadByte() => At++;
    }

    static void ByteByByte3() // a method that only has the name
    {
        var bytes = new Bytes();
        for (int i = 0; i < 20_000; i++)
            Sink.Sum += bytes.ReadByte();
    }
}
