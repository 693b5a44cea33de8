// For each rule about what a program allocates three functions that look like those that break it (Deserved), and do not. They
// are named after the id of the rule, with a number; each makes so much that the rule would find it: see TestAlike.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

static class Alike
{
    public static void All()
    {
        var growing = new List<Thread> { new Thread(OnlyGrows1), new Thread(OnlyGrows2), new Thread(OnlyGrows3) };
        growing.ForEach(t => t.Start());
        StringConcat1(); StringConcat2(); StringConcat3();
        Exceptions1(); Exceptions2(); Exceptions3();
        BoxingKeys1(); BoxingKeys2(); BoxingKeys3();
        ExpressionCompile1(); ExpressionCompile2(); ExpressionCompile3();
        Linq1(); Linq2(); Linq3();
        EqualityAllocates1(); EqualityAllocates2(); EqualityAllocates3();
        Boxing1(); Boxing2(); Boxing3();
        Closures1(); Closures2(); Closures3();
        CollectionGrowth1(); CollectionGrowth2(); CollectionGrowth3();
        Enumerators1(); Enumerators2(); Enumerators3();
        Finalizers1(); Finalizers2(); Finalizers3();
        JustAboveLoh1(); JustAboveLoh2(); JustAboveLoh3();
        LohChurn1(); LohChurn2(); LohChurn3();
        MidLife1(); MidLife2(); MidLife3();
        Params1(); Params2(); Params3();
        Reflection1(); Reflection2(); Reflection3();
        RegexInLoop1(); RegexInLoop2(); RegexInLoop3();
        StateMachines1(); StateMachines2(); StateMachines3();
        StringFormat1(); StringFormat2(); StringFormat3();
        Substrings1(); Substrings2(); Substrings3();
        growing.ForEach(t => t.Join());
    }

    static void StringConcat1() // keys, each made once
    {
        var keys = new List<string>();
        for (int i = 0; i < 5_000; i++)
            keys.Add("user:" + Sink.Text + (char)i);
        Sink.Kept = keys;
    }

    static void StringConcat2() // messages that nobody appends to
    {
        for (int i = 0; i < 5_000; i++)
            Sink.Kept = Sink.Text + " of " + Sink.Text;
    }

    static void StringConcat3() // the framework concatenates
    {
        for (int i = 0; i < 5_000; i++)
            Sink.Kept = System.IO.Path.Combine("/var", Sink.Text);
    }

    static void Exceptions1() // faulted tasks: nothing is thrown
    {
        for (int i = 0; i < 2_000; i++)
            if (Task.FromException(new InvalidOperationException("no")).IsFaulted)
                Sink.Sum++;
    }

    static void Exceptions2() // kept as values
    {
        var all = new List<Exception>();
        for (int i = 0; i < 500; i++)
            all.Add(new FormatException("no"));
        Sink.Kept = all;
    }

    static void Exceptions3() // cancelled tasks: nothing is thrown either
    {
        var cancelled = new CancellationToken(true);
        for (int i = 0; i < 500; i++)
            if (Task.FromCanceled(cancelled).IsCanceled)
                Sink.Sum++;
    }

    static void BoxingKeys1() // the key is boxed for the text of an exception
    {
        var none = new Dictionary<int, string>();
        for (int i = 0; i < 90; i++)
            for (int j = 0; j < 20; j++)
                try { Sink.Sum += none[5].Length; }
                catch (KeyNotFoundException) { Sink.Sum++; }
    }

    static void BoxingKeys2() // boxed by this code, for a list of objects
    {
        var all = new List<object>(20_000);
        for (int i = 0; i < 20_000; i++)
            all.Add(i);
        Sink.Kept = all;
    }

    static void BoxingKeys3()
    {
        var all = new Dictionary<string, int>(16) { ["a"] = 1 };
        for (int i = 0; i < 20_000; i++)
            if (all.ContainsKey("a"))
                Sink.Sum++;
    }

    static readonly Func<int, int> twice = ((Expression<Func<int, int>>)(x => x * 2)).Compile();

    static void ExpressionCompile1() // compiled once
    {
        for (int i = 0; i < 2_000; i++)
            Sink.Sum += twice(i);
    }

    static void ExpressionCompile2() // made, and not compiled
    {
        for (int i = 0; i < 2_000; i++)
            Sink.Kept = (Expression<Func<int, int>>)(x => x * 2);
    }

    static void ExpressionCompile3() // a delegate is no expression
    {
        for (int i = 0; i < 2_000; i++)
        {
            int j = i;
            Sink.Kept = (Func<int, int>)(x => x * j);
        }
    }

    static unsafe void EqualityAllocates1()
    {
        int a = 1, b = 2;
        for (int i = 0; i < 20_000; i++)
            Sink.Sum += Compare(&a, &b);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe int Compare(int* a, int* b) // which no collection calls
    {
        Sink.Kept = new int[4];
        return *a - *b;
    }

    static void Linq1() // expressions are no queries
    {
        for (int i = 0; i < 2_000; i++)
            Sink.Kept = Expression.Add(Expression.Constant(i), Expression.Constant(i));
    }

    const int Often = 10_000;

    sealed class Plain
    {
        public int Value;
    }

    static void Linq2() // one query, for many elements
    {
        Sink.Sum += Enumerable.Range(0, Often).Where(x => x > 1).Select(x => x + 1).Count();
    }

    static void Linq3() // operators of their own, which only have the names
    {
        int[] all = { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
            Sink.Kept = all.Select(1);
    }

    static void EqualityAllocates2() // its caller makes the key
    {
        var all = new Dictionary<Tuple<int>, int>(16) { [Tuple.Create(1)] = 1 };
        for (int i = 0; i < Often; i++)
            Sink.Sum += all[EqualityAllocates2Key()];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static Tuple<int> EqualityAllocates2Key() => new Tuple<int>(1);

    static void EqualityAllocates3()
    {
        for (int i = 0; i < Often; i++)
            Sink.Sum += Compare("a", "b", true);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Compare(string a, string b, bool report) // of three things, which no collection does
    {
        Sink.Kept = report ? new int[4] : null;
        return string.CompareOrdinal(a, b);
    }

    static void Boxing1() // as many objects, and no boxes
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Plain { Value = i };
    }

    static void Boxing2() // a list of numbers boxes none
    {
        for (int i = 0; i < 100; i++)
        {
            var all = new List<int>(Often / 100);
            for (int j = 0; j < Often / 100; j++)
                all.Add(j);
            Sink.Kept = all;
        }
    }

    static readonly object boxed = 1;

    static void Boxing3() // the same box again and again
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new[] { boxed };
    }

    static void Closures1() // made once
    {
        for (int i = 0; i < Often; i++)
        {
            Sink.Kept = (Func<int>)(() => 1);
            Sink.Kept = new Plain();
        }
    }

    static void Closures2() // a local function that is called needs none
    {
        for (int i = 0; i < Often; i++)
        {
            int j = i;
            int Next() => j + 1;
            Sink.Kept = new Plain { Value = Next() };
        }
    }

    static void Closures3() // an object that is passed on instead of captured
    {
        for (int i = 0; i < Often; i++)
            Closures3Call(of => Sink.Sum += of.Value, new Plain { Value = i });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Closures3Call(Action<Plain> what, Plain state) => what(state);

    static void CollectionGrowth1()
    {
        for (int i = 0; i < 300; i++)
        {
            var list = new List<int>(2_000);
            for (int j = 0; j < 2_000; j++)
                list.Add(j);
            Sink.Kept = list;
        }
    }

    static void CollectionGrowth2() // copies as long as what they are of
    {
        var list = new List<int>(new int[2_000]);
        for (int i = 0; i < 300; i++)
            Sink.Kept = list.ToArray();
    }

    static void CollectionGrowth3() // one stream for all
    {
        var piece = new byte[100];
        var stream = new MemoryStream();
        for (int i = 0; i < 100; i++)
        {
            stream.SetLength(0);
            for (int j = 0; j < 200; j++)
                stream.Write(piece, 0, piece.Length);
            Sink.Kept = stream.ToArray();
        }
    }

    static void Enumerators1() // that of the list itself is a struct
    {
        var all = new List<int> { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
        {
            foreach (int x in all)
                Sink.Sum += x;
            Sink.Kept = new Plain();
        }
    }

    static void Enumerators2() // of an array
    {
        int[] all = { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
        {
            foreach (int x in all)
                Sink.Sum += x;
            Sink.Kept = new Plain();
        }
    }

    sealed class RowEnumerator
    {
        public int At;
    }

    static void Enumerators3() // a class that only has the name
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new RowEnumerator { At = i };
    }

    static void Finalizers1()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Plain();
    }

    sealed class Closed : IDisposable
    {
        public void Dispose() { }
    }

    static void Finalizers2() // disposed of
    {
        for (int i = 0; i < Often; i++)
            using (var closed = new Closed())
                Sink.Kept = closed;
    }

    class Ended
    {
        protected virtual void Finalize(int how) => Sink.Sum += how; // another method
    }

    static void Finalizers3()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Ended();
    }

    static void JustAboveLoh1()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[84_000];
    }

    static void JustAboveLoh2() // far above
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[200_000];
    }

    static void JustAboveLoh3() // only on average
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[i % 2 == 0 ? 20_000 : 155_000];
    }

    static void LohChurn1() // one for all
    {
        var buffer = new byte[1_000_000];
        for (int i = 0; i < 30; i++)
            Sink.Kept = buffer;
    }

    static void LohChurn2()
    {
        for (int i = 0; i < 30; i++)
        {
            byte[] buffer = System.Buffers.ArrayPool<byte>.Shared.Rent(1_000_000);
            Sink.Sum += buffer.Length;
            System.Buffers.ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    static readonly List<byte[]> tables = new List<byte[]>();

    static void LohChurn3() // kept as long as the program runs
    {
        for (int i = 0; i < 20; i++)
            tables.Add(new byte[600_000]);
    }

    static readonly List<object> kept = new List<object>();

    static void MidLife1() // old, and never dropped
    {
        var made = new object[4_000];
        kept.Add(made);
        for (int i = 0; i < made.Length; i++)
            made[i] = new byte[500];
        GC.Collect(0);
        GC.Collect(1);
        GC.Collect(2);
    }

    static void MidLife2() // dropped when they are young
    {
        MidLife2Fill();
        Sink.Kept = null;
        GC.Collect(0);
        GC.Collect(1);
        GC.Collect(2);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MidLife2Fill()
    {
        var made = new object[4_000];
        Sink.Kept = made;
        for (int i = 0; i < made.Length; i++)
            made[i] = new byte[500];
    }

    static void MidLife3() // large: they are never copied
    {
        MidLife3Fill();
        GC.Collect(0);
        GC.Collect(1);
        Sink.Kept = null;
        GC.Collect(2);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MidLife3Fill()
    {
        var made = new object[20];
        Sink.Kept = made;
        for (int i = 0; i < made.Length; i++)
            made[i] = new byte[100_000];
    }

    static readonly byte[][] ring = new byte[4_000][];
    static readonly Queue<byte[]> last = new Queue<byte[]>();

    static void OnlyGrows1() // it is full after half of the time
    {
        for (int i = 0; i < 400; i++, Thread.Sleep(10))
            for (int j = 0; j < 20; j++)
                ring[(i * 20 + j) % ring.Length] = new byte[1000];
    }

    static void OnlyGrows2() // all at once, and kept
    {
        var table = new byte[4_000][];
        kept.Add(table);
        for (int i = 0; i < table.Length; i++)
            table[i] = new byte[1000];
        Thread.Sleep(4_000);
    }

    static void OnlyGrows3() // it grows, and is dropped at last
    {
        for (int i = 0; i < 400; i++, Thread.Sleep(10))
            for (int j = 0; j < 10; j++)
                last.Enqueue(new byte[1000]);
        last.Clear();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Log(string text, params object[] arguments) => Sink.Sum += text.Length + arguments.Length;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Take(object[] arguments) => Sink.Sum += arguments.Length;

    static void Params1() // no params
    {
        object a = "a";
        for (int i = 0; i < Often; i++)
            Take(new object[] { a, a });
    }

    static void Params2() // for a field
    {
        object a = "a";
        for (int i = 0; i < Often; i++)
            Sink.Kept = new object[] { a, a };
    }

    static void Params3() // one array for all calls, and none where there are no arguments
    {
        var arguments = new object[] { "a", "b" };
        for (int i = 0; i < Often; i++)
        {
            Log("{0}-{1}", arguments);
            Log("none");
            Sink.Kept = new Plain();
        }
    }

    static void Reflection1() // once
    {
        var found = typeof(Alike).GetMethods(BindingFlags.NonPublic | BindingFlags.Static);
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Plain { Value = found.Length };
    }

    static void Reflection2() // what the compiler writes for new T()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = Reflection2Make<Plain>();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static T Reflection2Make<T>() where T : new() => new T();

    static void Reflection3() // a delegate that reflection made
    {
        var make = (Func<object>)Delegate.CreateDelegate(typeof(Func<object>), typeof(Alike).GetMethod("Reflection3Make"));
        for (int i = 0; i < Often; i++)
            Sink.Kept = make();
    }

    public static object Reflection3Make() => new Plain();

    static readonly Regex pattern = new Regex("a+b");
    static readonly List<Regex> patterns = new List<Regex>();

    static void RegexInLoop1()
    {
        for (int i = 0; i < 20; i++)
            if (pattern.IsMatch("xaab"))
                Sink.Sum++;
    }

    static void RegexInLoop2() // Regex keeps it
    {
        for (int i = 0; i < 200; i++)
            if (Regex.IsMatch("xaab", "a+b"))
                Sink.Sum++;
    }

    static void RegexInLoop3() // different ones, each once, and kept
    {
        for (int i = 0; i < 20; i++)
            patterns.Add(new Regex("a+" + i));
    }

    static void StateMachines1() // one, for all elements
    {
        foreach (int i in StateMachines1Items())
            Sink.Kept = new Plain { Value = i };
    }

    static IEnumerable<int> StateMachines1Items()
    {
        for (int i = 0; i < Often; i++)
            yield return i;
    }

    static void StateMachines2() // they have no need to wait
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = StateMachines2Wait(i);
    }

    static async Task<int> StateMachines2Wait(int i)
    {
        await Task.CompletedTask;
        return i + 1_000;
    }

    static void StateMachines3() // the framework's own
    {
        var gate = new SemaphoreSlim(0);
        var waits = new Task[Often / 4];
        for (int i = 0; i < waits.Length; i++)
            waits[i] = gate.WaitAsync(600_000);
        gate.Release(waits.Length);
        Task.WaitAll(waits);
    }

    static void StringFormat1()
    {
        Sink.Kept = string.Format("{0}-{1}", "a", "a");
    }

    static void StringFormat2() // a number's text
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = (i + 1_000).ToString("x8");
    }

    static void StringFormat3() // a method that only has the name
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = Format('x');
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static string Format(char c) => new string(c, 8);

    static void Substrings1()
    {
        for (int i = 0; i < Often; i++)
            Sink.Sum += "abcdefgh".AsSpan(i & 3, 4).Length;
    }

    static void Substrings2() // no part of another text
    {
        char[] text = { 'a', 'b', 'c', 'd' };
        for (int i = 0; i < Often; i++)
            Sink.Kept = new string(text, 1, 2);
    }

    static void Substrings3() // all of it, which is no copy
    {
        string text = Sink.Text;
        for (int i = 0; i < Often; i++)
        {
            Sink.Kept = text.Substring(0);
            Sink.Kept = new Plain();
        }
    }
}

static class Operators
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int[] Select(this int[] all, int at) => new[] { all[at] };
}
