// For each rule a function that breaks it, and one that does the same work and does not. The functions are named after the
// ids of the rules. Arguments: broken (all that break rules about objects and collections), sound (all that do not), time
// (both, of the rules about time), pauses (of which too much of the time is collections), buffered (that reads and
// writes files, and not in small pieces), deserved and alike (three of each: Deserved.cs, Alike.cs), names (framework code
// that only has the names: AlikeNames.cs), waits and idle (deserved and alike of rules about time: Waits.cs), or counted and
// pieces (what the program and its runtime count of what rules about a whole program say: Counted.cs).
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

static class Program
{
    static int Main(string[] arguments)
    {
        switch (arguments[0])
        {
            case "broken": Breaks.All(); break;
            case "sound": Keeps.All(); break;
            case "time": Breaks.Times(); Keeps.Times(); break;
            case "waits": DeservedWaits.All(); break;
            case "idle": AlikeWaits.All(); break;
            case "pauses": Breaks.GCTime(); break;
            case "deserved": Deserved.All(); break;
            case "alike": Alike.All(); break;
            case "names": AlikeNames.All(); break;
            case "counted": Counted.All(); break;
            case "pieces": Counted.Pieces(); break;
            case "buffered": Keeps.SmallReads(); Keeps.SmallWrites(); break;
            default: return 2;
        }
        Console.WriteLine("done");
        return 0;
    }
}

static class Sink
{
    public static object Kept; // what is put here is on the heap
    public static int Sum;
    public static string Text = "abc";
}

static class Breaks
{
    const int Often = 20_000;

    public static void All()
    {
        var growing = new Thread(OnlyGrows);
        growing.Start();
        Boxing();
        BoxingKeys();
        EqualityAllocates();
        StringConcat();
        StringFormat();
        Substrings();
        Closures();
        Params();
        StateMachines();
        Enumerators();
        Linq();
        CollectionGrowth();
        Exceptions();
        RegexInLoop();
        ExpressionCompile();
        Reflection();
        Finalizers();
        JustAboveLoh();
        LohChurn();
        MidLife();
        Pinning();
        GCRate();
        growing.Join();
    }

    public static void Times()
    {
        LockContention();
        SyncOverAsync();
        ByteByByte();
        SmallReads();
        SmallWrites();
    }

    static void Boxing()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = i;
    }

    struct Key
    {
        public int A, B;
    }

    static void BoxingKeys()
    {
        var all = new Dictionary<Key, int>(16) { [new Key { A = 1 }] = 1 };
        for (int i = 0; i < Often; i++)
            if (all.ContainsKey(new Key { A = i & 1 }))
                Sink.Sum++;
    }

    sealed class EqualityAllocatesKey
    {
        public int A;
        public override int GetHashCode() => new string('x', A).Length;
        public override bool Equals(object other) => other is EqualityAllocatesKey k && k.A == A;
    }

    static void EqualityAllocates()
    {
        var key = new EqualityAllocatesKey { A = 7 };
        var all = new Dictionary<EqualityAllocatesKey, int>(16) { [key] = 1 };
        for (int i = 0; i < Often; i++)
            Sink.Sum += all[key];
    }

    static void StringConcat()
    {
        string text = "";
        for (int i = 0; i < 3_000; i++)
            text += "ab";
        Sink.Sum += text.Length;
    }

    static void StringFormat()
    {
        object a = "a";
        for (int i = 0; i < Often; i++)
            Sink.Kept = string.Format("{0}-{1}", a, a);
    }

    static void Substrings()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = "abcdefgh".Substring(i & 3, 4);
    }

    static void Closures()
    {
        for (int i = 0; i < Often; i++)
        {
            int j = i;
            Sink.Kept = (Func<int>)(() => j);
        }
    }

    // As most calls for a log do: nothing is written, and the array was made.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ParamsLog(string text, params object[] arguments)
    {
        if (text.Length == 0)
            Console.WriteLine(text, arguments);
    }

    static void Params()
    {
        object a = "a";
        for (int i = 0; i < Often; i++)
            ParamsLog("{0}-{1}", a, a);
    }

    static void StateMachines()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = StateMachinesItems(i);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static IEnumerable<int> StateMachinesItems(int i)
    {
        yield return i;
    }

    static void Enumerators()
    {
        IEnumerable<int> all = new List<int> { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
            Sink.Kept = all.GetEnumerator();
    }

    static void Linq()
    {
        int[] all = { 1, 2, 3 };
        for (int i = 0; i < Often / 4; i++)
            Sink.Sum += all.Where(x => x > 1).Select(x => x + 1).Count();
    }

    static void CollectionGrowth()
    {
        for (int i = 0; i < 300; i++)
        {
            var list = new List<int>();
            for (int j = 0; j < 2_000; j++)
                list.Add(j);
            Sink.Kept = list;
        }
    }

    sealed class Failure : InvalidOperationException { }

    static void Exceptions()
    {
        for (int i = 0; i < 300; i++)
            try { ExceptionsThrow(); }
            catch (Failure) { Sink.Sum++; }
    }

    static void ExceptionsThrow() => throw new Failure();

    static void RegexInLoop()
    {
        for (int i = 0; i < 20; i++)
            if (new Regex("a+b").IsMatch("xaab"))
                Sink.Sum++;
    }

    static void ExpressionCompile()
    {
        for (int i = 0; i < 20; i++)
        {
            Expression<Func<int, int>> next = x => x + 1;
            Sink.Sum += next.Compile()(i);
        }
    }

    static void Reflection()
    {
        for (int i = 0; i < 8_000; i++)
            Sink.Kept = typeof(Breaks).GetMethods(BindingFlags.NonPublic | BindingFlags.Static);
    }

    sealed class Handle
    {
        ~Handle() { }
    }

    static void Finalizers()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Handle();
    }

    static void JustAboveLoh()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[86_000];
    }

    static void LohChurn()
    {
        for (int i = 0; i < 40; i++)
            Sink.Kept = new byte[1_000_000];
    }

    static void MidLife()
    {
        for (int i = 0; i < 4; i++)
        {
            MidLifeFill();
            GC.Collect(0);
            GC.Collect(1);
            Sink.Kept = null;
            GC.Collect(2);
        }
    }

    static void MidLifeFill()
    {
        var made = new object[8_000];
        Sink.Kept = made;
        for (int i = 0; i < made.Length; i++)
            made[i] = new byte[500];
    }

    static readonly List<byte[]> grown = new List<byte[]>(100_000);

    static void OnlyGrows()
    {
        for (int i = 0; i < 400; i++) // it grows from slice to slice
        {
            for (int j = 0; j < 10; j++)
                grown.Add(new byte[1000]);
            Thread.Sleep(10);
        }
    }

    static readonly List<GCHandle> pins = new List<GCHandle>();

    static void Pinning()
    {
        for (int i = 0; i < 2_000; i++)
            pins.Add(GCHandle.Alloc(new byte[100], GCHandleType.Pinned));
    }

    // Large objects have the runtime collect generation 2, and what is alive makes that take its time.
    static void GCRate()
    {
        Collect((collected, pauses, elapsed) => collected < 25);
    }

    // The same until a fourth of the time since the program began was spent in allocations that made it collect: how long all
    // else takes depends on the machine. Where collections do not stop the program it gives up.
    public static void GCTime()
    {
        Collect((collected, pauses, elapsed) => pauses * 4 < elapsed && collected < 1_000);
        Console.WriteLine("gc-time " + GC.CollectionCount(0));
    }

    static void Collect(Func<int, TimeSpan, TimeSpan, bool> goOn)
    {
        var alive = new object[400_000];
        for (int i = 0; i < alive.Length; i++)
            alive[i] = new object();
        int before = GC.CollectionCount(2), collected = before;
        TimeSpan until = DateTime.Now - Process.GetCurrentProcess().StartTime, pauses = TimeSpan.Zero;
        var since = Stopwatch.StartNew();
        // .NET 7 and later say it; a stopwatch also counts what others do on a busy machine.
        MethodInfo says = typeof(GC).GetMethod("GetTotalPauseDuration");
        var paused = says == null ? null : (Func<TimeSpan>)Delegate.CreateDelegate(typeof(Func<TimeSpan>), says);
        while (goOn(collected - before, pauses, until + since.Elapsed))
        {
            TimeSpan begin = since.Elapsed;
            Sink.Kept = new byte[4_000_000];
            if (GC.CollectionCount(2) == collected)
                continue;
            collected = GC.CollectionCount(2);
            pauses = paused != null ? paused() : pauses + (since.Elapsed - begin);
        }
        GC.KeepAlive(alive);
    }

    static readonly object drawer = new object();

    static void LockContention()
    {
        var threads = Enumerable.Range(0, 3).Select(_ => new Thread(LockContentionPay)).ToList();
        threads.ForEach(t => t.Start());
        threads.ForEach(t => t.Join());
    }

    static void LockContentionPay()
    {
        for (int i = 0; i < 12; i++)
            lock (drawer)
                Thread.Sleep(5);
    }

    static void SyncOverAsync()
    {
        for (int i = 0; i < 8; i++)
            Sink.Sum += SyncOverAsyncWork(Thread.CurrentThread).Result;
    }

    // The work is done 20 ms after the thread blocks: before, it looks for some time whether it is done, which is long on a
    // busy machine.
    static async Task<int> SyncOverAsyncWork(Thread waiter)
    {
        var done = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        new Thread(() =>
        {
            do
                Thread.Sleep(20);
            while ((waiter.ThreadState & System.Threading.ThreadState.WaitSleepJoin) == 0);
            Thread.Sleep(20);
            done.SetResult(1);
        }).Start();
        return await done.Task;
    }

    static void ByteByByte()
    {
        var stream = new MemoryStream(new byte[30_000]);
        for (int b = stream.ReadByte(); b >= 0; b = stream.ReadByte())
            Sink.Sum += b;
        ByteByByteReader(new MemoryStream(new byte[30_000]));
    }

    static void ByteByByteReader(Stream stream)
    {
        var reader = new BinaryReader(stream);
        for (int i = 0; i < 30_000; i++)
            Sink.Sum += reader.ReadByte();
    }

    // It lasts longer than two samples are apart.
    static void SmallReads()
    {
        var piece = new byte[16];
        using (var file = new FileStream(typeof(Program).Assembly.Location, FileMode.Open, FileAccess.Read, FileShare.Read, 1))
            for (var since = Stopwatch.StartNew(); since.ElapsedMilliseconds < 2_500;)
                if (file.Read(piece, 0, piece.Length) < piece.Length)
                    file.Position = 0;
    }

    static void SmallWrites()
    {
        var piece = new byte[16];
        using (var file = new FileStream("/dev/null", FileMode.Open, FileAccess.Write, FileShare.ReadWrite, 1))
            for (var since = Stopwatch.StartNew(); since.ElapsedMilliseconds < 2_500;)
                file.Write(piece, 0, piece.Length);
    }
}

static class Keeps
{
    const int Often = 20_000;

    public static void All()
    {
        Boxing();
        BoxingKeys();
        EqualityAllocates();
        StringConcat();
        StringFormat();
        Substrings();
        Closures();
        Params();
        StateMachines();
        Enumerators();
        Linq();
        CollectionGrowth();
        Exceptions();
        RegexInLoop();
        ExpressionCompile();
        Reflection();
        Finalizers();
        JustAboveLoh();
        LohChurn();
        MidLife();
        OnlyGrows();
    }

    public static void Times()
    {
        LockContention();
        SyncOverAsync().Wait();
        ByteByByte();
    }

    sealed class Plain
    {
        public int Value;
    }

    static void Boxing()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Plain { Value = i }; // as many objects, and no boxes
    }

    struct Key : IEquatable<Key>
    {
        public int A, B;
        public bool Equals(Key other) => A == other.A && B == other.B;
        public override bool Equals(object other) => other is Key k && Equals(k);
        public override int GetHashCode() => A ^ B;
    }

    static void BoxingKeys()
    {
        var all = new Dictionary<Key, int>(16) { [new Key { A = 1 }] = 1 };
        for (int i = 0; i < Often; i++)
            if (all.ContainsKey(new Key { A = i & 1 }))
                Sink.Sum++;
    }

    sealed class EqualityAllocatesKey
    {
        public int A;
        public override int GetHashCode() => A;
        public override bool Equals(object other) => other is EqualityAllocatesKey k && k.A == A;
    }

    static void EqualityAllocates()
    {
        var key = new EqualityAllocatesKey { A = 7 };
        var all = new Dictionary<EqualityAllocatesKey, int>(16) { [key] = 1 };
        for (int i = 0; i < Often; i++)
            Sink.Sum += all[key];
    }

    static void StringConcat()
    {
        var text = new StringBuilder(8_000);
        for (int i = 0; i < 3_000; i++)
            text.Append("ab");
        Sink.Kept = text.ToString() + "."; // once
    }

    static void StringFormat()
    {
        Sink.Kept = string.Format("{0}-{1}", "a", "a");
    }

    static void Substrings()
    {
        for (int i = 0; i < Often; i++)
            Sink.Sum += "abcdefgh".AsSpan(i & 3, 4).Length;
    }

    static void Closures()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = (Func<int>)(() => 1); // made once
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ParamsLog(string text, params object[] arguments)
    {
        if (text.Length == 0)
            Console.WriteLine(text, arguments);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ParamsTake(object[] arguments) => Sink.Sum += arguments.Length;

    // As many arrays of the same type: some for a parameter without params, some for a field, and one for params.
    static void Params()
    {
        object a = "a";
        for (int i = 0; i < Often / 2; i++)
            ParamsTake(new object[] { a, a });
        for (int i = 0; i < Often / 2; i++)
            Sink.Kept = new object[] { a, a };
        var arguments = new object[] { a, a };
        for (int i = 0; i < Often; i++)
            ParamsLog("{0}-{1}", arguments);
    }

    static void StateMachines()
    {
        foreach (int i in StateMachinesItems()) // one, for all of them
            Sink.Sum += i;
        var gate = new SemaphoreSlim(0);
        var waits = new Task[Often / 4];
        for (int i = 0; i < waits.Length; i++)
            waits[i] = gate.WaitAsync(600_000); // state machines of the framework's own async method
        gate.Release(waits.Length);
        Task.WaitAll(waits);
    }

    static IEnumerable<int> StateMachinesItems()
    {
        for (int i = 0; i < Often; i++)
            yield return i;
    }

    static void Enumerators()
    {
        var all = new List<int> { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
            foreach (int x in all)
                Sink.Sum += x;
    }

    static void Linq()
    {
        Sink.Sum += Enumerable.Range(0, Often).Where(x => x > 1).Select(x => x + 1).Count();
    }

    static void CollectionGrowth()
    {
        for (int i = 0; i < 300; i++)
        {
            var list = new List<int>(1_000);
            for (int j = 0; j < 1_000; j++)
                list.Add(j);
            Sink.Kept = list;
        }
    }

    static void Exceptions()
    {
        for (int i = 0; i < 300; i++)
            if (!int.TryParse("x", out int n))
                Sink.Sum += n;
        try { throw new InvalidOperationException(); }
        catch (InvalidOperationException) { Sink.Sum++; }
    }

    static readonly Regex pattern = new Regex("a+b");

    static void RegexInLoop()
    {
        for (int i = 0; i < 20; i++)
            if (pattern.IsMatch("xaab"))
                Sink.Sum++;
    }

    static readonly Func<int, int> next = ((Expression<Func<int, int>>)(x => x + 1)).Compile();

    static void ExpressionCompile()
    {
        for (int i = 0; i < 20; i++)
            Sink.Sum += next(i);
    }

    static void Reflection()
    {
        var found = typeof(Keeps).GetMethods(BindingFlags.NonPublic | BindingFlags.Static);
        for (int i = 0; i < 8_000; i++)
            Sink.Sum += found.Length;
    }

    static void Finalizers()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Plain();
    }

    static void JustAboveLoh()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[84_000];
    }

    static void LohChurn()
    {
        var buffer = new byte[1_000_000];
        for (int i = 0; i < 40; i++)
            Sink.Kept = buffer;
    }

    static void MidLife()
    {
        var made = new object[8_000];
        Sink.Kept = made;
        for (int i = 0; i < made.Length; i++)
            made[i] = new byte[500];
    }

    // It drops what it had.
    static void OnlyGrows()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[50_000];
    }

    static readonly object drawer = new object();

    static void LockContention()
    {
        for (int i = 0; i < 12; i++)
            lock (drawer)
                Sink.Sum++;
    }

    static async Task SyncOverAsync()
    {
        for (int i = 0; i < 6; i++)
            await Task.Delay(20);
    }

    static void ByteByByte()
    {
        var stream = new MemoryStream(new byte[30_000]);
        var buffer = new byte[4_096];
        for (int n = stream.Read(buffer, 0, buffer.Length); n > 0; n = stream.Read(buffer, 0, buffer.Length))
            Sink.Sum += n;
    }

    // As many bytes, and more, through a buffer.
    public static void SmallReads()
    {
        var piece = new byte[16];
        using (var file = new FileStream(typeof(Program).Assembly.Location, FileMode.Open, FileAccess.Read, FileShare.Read, 1))
        using (var buffer = new BufferedStream(file, 16_384))
            for (var since = Stopwatch.StartNew(); since.ElapsedMilliseconds < 2_500;)
                for (int i = 0; i < 1_000; i++)
                    if (SmallReadsPiece(buffer, piece) < piece.Length)
                        buffer.Position = 0;
    }

    public static void SmallWrites()
    {
        var piece = new byte[16];
        using (var file = new FileStream("/dev/null", FileMode.Open, FileAccess.Write, FileShare.ReadWrite, 1))
        using (var buffer = new BufferedStream(file, 16_384))
            for (var since = Stopwatch.StartNew(); since.ElapsedMilliseconds < 2_500;)
                for (int i = 0; i < 1_000; i++)
                    SmallWritesPiece(buffer, piece);
    }

    static void SmallWritesPiece(Stream to, byte[] piece) => to.Write(piece, 0, piece.Length);

    static int SmallReadsPiece(Stream from, byte[] piece) => from.Read(piece, 0, piece.Length);
}
