// For each rule about what a program allocates three functions that break it, named after the id of the rule with a number.
// Each prints how often it did what the rule is about: see TestAlike. The functions of Alike look like these.
using System;
using System.Collections;
using System.Collections.Generic;
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

static class Times
{
    [ThreadStatic]
    static long before; // 0: nothing has begun

    // Begin is where a function begins whose bytes the runtime counts: all that its thread allocates until Did.
    public static void Begin() => before = GC.GetAllocatedBytesForCurrentThread();

    // What happened in the function that calls it: objects that a rule is about, or calls and waits.
    public static void Did(long n, [CallerMemberName] string of = "")
    {
        long made = GC.GetAllocatedBytesForCurrentThread() - before;
        lock (typeof(Times))
        {
            Console.WriteLine(of + " " + n);
            if (before > 0)
                Console.WriteLine(of + "-bytes " + made);
            before = 0;
        }
    }
}

static class Deserved
{
    public static void All()
    {
        var growing = new List<Thread> { new Thread(OnlyGrows1), new Thread(OnlyGrows2), new Thread(OnlyGrows3) };
        growing.ForEach(t => t.Start());
        StringConcat1(); StringConcat2(); StringConcat3();
        Exceptions1(); Exceptions2(); Exceptions3();
        BoxingKeys1(); BoxingKeys2(); BoxingKeys3();
        ExpressionCompile1(); ExpressionCompile2(); ExpressionCompile3();
        Boxing1(); Boxing2(); Boxing3();
        Closures1(); Closures2(); Closures3();
        CollectionGrowth1(); CollectionGrowth2(); CollectionGrowth3();
        Enumerators1(); Enumerators2(); Enumerators3();
        EqualityAllocates1(); EqualityAllocates2(); EqualityAllocates3();
        Finalizers1(); Finalizers2(); Finalizers3();
        JustAboveLoh1(); JustAboveLoh2(); JustAboveLoh3();
        Linq1(); Linq2(); Linq3();
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

    static void StringConcat1()
    {
        string text = "";
        for (int i = 0; i < 3_000; i++)
            text += "ab";
        Sink.Sum += text.Length;
        Times.Did(3_000 - 1); // the first is no copy
    }

    static void StringConcat2()
    {
        string text = "";
        for (int i = 0; i < 3_000; i++)
            text = "ab" + text; // in front
        Sink.Sum += text.Length;
        Times.Did(3_000 - 1); // the first is no copy
    }

    static void StringConcat3()
    {
        string text = "";
        for (int i = 0; i < 2_000; i++)
            text = text + "a" + "," + Sink.Text;
        Sink.Sum += text.Length;
        Times.Did(2_000);
    }

    static void Exceptions1()
    {
        for (int i = 0; i < 300; i++)
            try { throw new InvalidOperationException("no"); }
            catch (InvalidOperationException) { Sink.Sum++; }
        Times.Did(300);
    }

    static void Exceptions2()
    {
        for (int i = 0; i < 300; i++)
            try { Sink.Sum += int.Parse(Sink.Text); }
            catch (FormatException) { Sink.Sum++; }
        Times.Did(300);
    }

    static void Exceptions3()
    {
        var none = new Dictionary<int, int>();
        for (int i = 0; i < 300; i++)
            try { Sink.Sum += none[i]; }
            catch (KeyNotFoundException) { Sink.Sum++; }
        Times.Did(300);
    }

    struct Key
    {
        public int A, B;
    }

    static void BoxingKeys1()
    {
        Times.Begin();
        var all = new Dictionary<Key, int>(16) { [new Key { A = 1 }] = 1 };
        for (int i = 0; i < 20_000; i++)
            if (all.ContainsKey(new Key { A = 1 }))
                Sink.Sum++;
        Times.Did(20_000);
    }

    static void BoxingKeys2()
    {
        Times.Begin();
        var all = new HashSet<Key> { new Key { A = 1 } };
        for (int i = 0; i < 20_000; i++)
            if (all.Contains(new Key { A = 1 }))
                Sink.Sum++;
        Times.Did(20_000);
    }

    static void BoxingKeys3()
    {
        Times.Begin();
        var all = new Dictionary<Key, int>(16);
        for (int i = 0; i < 20_000; i++)
            all[new Key { A = i & 1 }] = i;
        Sink.Sum += all.Count;
        Times.Did(20_000);
    }

    static void ExpressionCompile1()
    {
        for (int i = 0; i < 20; i++)
        {
            Expression<Func<int, int>> twice = x => x * 2;
            Sink.Sum += twice.Compile()(i);
        }
        Times.Did(20);
    }

    static void ExpressionCompile2()
    {
        var x = Expression.Parameter(typeof(int));
        for (int i = 0; i < 20; i++)
            Sink.Sum += Expression.Lambda<Func<int, int>>(Expression.Add(x, Expression.Constant(i)), x).Compile()(i);
        Times.Did(20);
    }

    static void ExpressionCompile3()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = Expression.Lambda(Expression.Constant(i)).Compile();
        Times.Did(20);
    }

    const int Often = 9_000; // fewer than from which on the runtime compiles a loop anew and inlines what it calls

    static void Boxing1()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = i;
        Times.Did(Often);
    }

    struct Money : IComparable
    {
        public long Cents;
        public int CompareTo(object other) => Cents.CompareTo(((Money)other).Cents);
    }

    static void Boxing2() // for an interface
    {
        for (int i = 0; i < Often; i++)
        {
            IComparable money = new Money { Cents = i };
            Sink.Kept = money;
        }
        Times.Did(Often);
    }

    static void Boxing3() // for a collection of objects
    {
        var all = new ArrayList(Often);
        for (int i = 0; i < Often; i++)
            all.Add(i);
        Sink.Kept = all;
        Times.Did(Often);
    }

    static void Closures1() // a closure and a delegate
    {
        for (int i = 0; i < Often; i++)
        {
            int j = i;
            Sink.Kept = (Func<int>)(() => j);
        }
        Times.Did(2 * Often);
    }

    static void Closures2() // a method of an object
    {
        object of = "abc";
        for (int i = 0; i < Often; i++)
            Sink.Kept = (Func<string>)of.ToString;
        Times.Did(Often);
    }

    static void Closures3() // a local function
    {
        for (int i = 0; i < Often; i++)
        {
            int j = i;
            int Next() => j + 1;
            Sink.Kept = (Func<int>)Next;
        }
        Times.Did(2 * Often);
    }

    static void CollectionGrowth1() // 4, 8, … 2,048
    {
        Times.Begin();
        for (int i = 0; i < 300; i++)
        {
            var list = new List<int>();
            for (int j = 0; j < 2_000; j++)
                list.Add(j);
            Sink.Kept = list;
        }
        Times.Did(300 * 10);
    }

    [MethodImpl(MethodImplOptions.NoOptimization)] // nor inlining
    static void CollectionGrowth2() // 7, 17, 37, 89, 197, 431, 919 and 1,931 buckets, and as many entries
    {
        Times.Begin();
        for (int i = 0; i < 100; i++)
        {
            var all = new Dictionary<int, int>();
            for (int j = 0; j < 1_000; j++)
                all[j] = j;
            Sink.Kept = all;
        }
        Times.Did(100 * 2 * 8);
    }

    static void CollectionGrowth3() // 4, 8, … 2,048
    {
        Times.Begin();
        for (int i = 0; i < 300; i++)
        {
            var all = new Stack<int>();
            for (int j = 0; j < 2_000; j++)
                all.Push(j);
            Sink.Kept = all;
        }
        Times.Did(300 * 10);
    }

    static void Enumerators1()
    {
        IEnumerable<int> all = new List<int> { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
            Sink.Kept = all.GetEnumerator();
        Times.Did(Often);
    }

    static void Enumerators2()
    {
        IEnumerable all = new Dictionary<int, int> { [1] = 1 };
        for (int i = 0; i < Often; i++)
            Sink.Kept = all.GetEnumerator();
        Times.Did(Often);
    }

    static void Enumerators3()
    {
        IEnumerable<string> all = new Queue<string>(new[] { "a", "b" });
        for (int i = 0; i < Often; i++)
            Sink.Kept = all.GetEnumerator();
        Times.Did(Often);
    }

    sealed class EqualityAllocates1Key
    {
        public override int GetHashCode() => new string('x', 7).Length;
        public override bool Equals(object other) => other is EqualityAllocates1Key;
    }

    static void EqualityAllocates1()
    {
        var key = new EqualityAllocates1Key();
        var all = new Dictionary<EqualityAllocates1Key, int>(16) { [key] = 1 }; // the first
        for (int i = 1; i < Often; i++)
            Sink.Sum += all[key];
        Times.Did(Often);
    }

    sealed class EqualityAllocates2Key
    {
        public int A;
        public override int GetHashCode() => 1;
        public override bool Equals(object other)
        {
            var both = new[] { A, ((EqualityAllocates2Key)other).A };
            Sink.Kept = both;
            return both[0] == both[1];
        }
    }

    static void EqualityAllocates2()
    {
        var all = new Dictionary<EqualityAllocates2Key, int>(16) { [new EqualityAllocates2Key { A = 1 }] = 1 };
        var like = new EqualityAllocates2Key { A = 1 };
        for (int i = 0; i < Often; i++)
            Sink.Sum += all[like];
        Times.Did(Often);
    }

    sealed class EqualityAllocates3Row : IComparable<EqualityAllocates3Row>
    {
        public static int Compared;
        public int A;
        public int CompareTo(EqualityAllocates3Row other)
        {
            Compared++;
            Sink.Kept = new[] { A, other.A };
            return A.CompareTo(other.A);
        }
    }

    static void EqualityAllocates3()
    {
        var all = new EqualityAllocates3Row[1_200];
        for (int i = 0; i < all.Length; i++)
            all[i] = new EqualityAllocates3Row { A = i * 7919 % 1_200 };
        Array.Sort(all);
        Times.Did(EqualityAllocates3Row.Compared);
    }

    class Handle
    {
        ~Handle() { }
    }

    sealed class Derived : Handle { }

    sealed class Native : SafeHandle
    {
        public Native() : base(IntPtr.Zero, true) { }
        public override bool IsInvalid => true;
        protected override bool ReleaseHandle() => true;
    }

    static void Finalizers1()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Handle();
        Times.Did(Often);
    }

    static void Finalizers2() // of a base class
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Derived();
        Times.Did(Often);
    }

    static void Finalizers3() // of a base class in another assembly
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = new Native();
        Times.Did(Often);
    }

    static void JustAboveLoh1()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new byte[86_000];
        Times.Did(20);
    }

    static void JustAboveLoh2()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new int[22_000];
        Times.Did(20);
    }

    static void JustAboveLoh3()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = new string('a', 43_000);
        Times.Did(20);
    }

    static void Linq1()
    {
        Times.Begin();
        int[] all = { 1, 2, 3 };
        for (int i = 0; i < Often; i++)
            Sink.Kept = all.Where(x => x > 1).Select(x => x + 1);
        Times.Did(2 * Often); // an object for each operator, at least
    }

    static void Linq2()
    {
        Times.Begin();
        var all = new List<int> { 3, 1, 2 };
        for (int i = 0; i < 2_000; i++)
            Sink.Kept = all.OrderBy(x => x).ToList();
        Times.Did(4_000);
    }

    static void Linq3()
    {
        Times.Begin();
        var all = new HashSet<int> { 3, 1, 2 };
        for (int i = 0; i < 2_000; i++)
            foreach (var group in from x in all group x by x & 1)
                Sink.Sum += group.Key;
        Times.Did(3 * 2_000); // a lookup and two groups
    }

    static void LohChurn1()
    {
        for (int i = 0; i < 30; i++)
            Sink.Kept = new byte[1_000_000];
        Sink.Kept = null;
        Times.Did(30);
    }

    static void LohChurn2()
    {
        for (int i = 0; i < 30; i++)
            Sink.Kept = new string('a', 500_000);
        Sink.Kept = null;
        Times.Did(30);
    }

    static void LohChurn3() // by a collection
    {
        for (int i = 0; i < 30; i++)
            Sink.Kept = new List<double>(100_000);
        Sink.Kept = null;
        Times.Did(30);
    }

    // What was put into Sink.Kept is old, and dropped.
    static void GrowOld()
    {
        GC.Collect(0);
        GC.Collect(1);
        Sink.Kept = null;
        GC.Collect(2);
    }

    static void MidLife1()
    {
        MidLife1Fill();
        GrowOld();
        Times.Did(4_000);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MidLife1Fill()
    {
        var made = new object[4_000];
        Sink.Kept = made;
        for (int i = 0; i < made.Length; i++)
            made[i] = new byte[500];
    }

    static void MidLife2()
    {
        MidLife2Fill();
        GrowOld();
        Times.Did(4_000);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MidLife2Fill() // a cache
    {
        var made = new Dictionary<int, string>(4_000);
        Sink.Kept = made;
        for (int i = 0; i < 4_000; i++)
            made[i] = new string('a', 250);
    }

    sealed class Node
    {
        public Node Next;
        public long A, B, C, D, E, F, G, H;
    }

    static void MidLife3()
    {
        MidLife3Fill();
        GrowOld();
        Times.Did(20_000);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MidLife3Fill() // a list of small objects
    {
        Node first = null;
        for (int i = 0; i < 20_000; i++)
            first = new Node { Next = first };
        Sink.Kept = first;
    }

    static readonly List<byte[]> grown1 = new List<byte[]>(10_000);
    static readonly Dictionary<int, string> grown2 = new Dictionary<int, string>(10_000);
    static event Action Grown3;

    // They grow from slice to slice.
    static void OnlyGrows1()
    {
        for (int i = 0; i < 400; i++, Thread.Sleep(10))
            for (int j = 0; j < 10; j++)
                grown1.Add(new byte[1000]);
        Times.Did(grown1.Count);
    }

    static void OnlyGrows2()
    {
        for (int i = 0; i < 400; i++, Thread.Sleep(10))
            for (int j = 0; j < 10; j++)
                grown2[grown2.Count] = new string('a', 500);
        Times.Did(grown2.Count);
    }

    sealed class Screen
    {
        readonly byte[] picture;
        public Screen(byte[] picture) => this.picture = picture;
        public void Update() => Sink.Sum += picture.Length;
    }

    static void OnlyGrows3() // handlers of an event that nobody takes away
    {
        for (int i = 0; i < 400; i++, Thread.Sleep(10))
            Grown3 += new Screen(new byte[8_000]).Update;
        Times.Did(3 * Grown3.GetInvocationList().Length); // with what they are of
    }

    // As most calls for a log do: nothing is written, and the array was made.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Log(string text, params object[] arguments) => Sink.Sum += text.Length + arguments.Length;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Add(params int[] numbers) => Sink.Sum += numbers.Length;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Take<T>(params T[] all) => Sink.Sum += all.Length;

    static void Params1()
    {
        object a = "a";
        for (int i = 0; i < Often; i++)
            Log("{0}-{1}", a, a);
        Times.Did(Often);
    }

    static void Params2()
    {
        for (int i = 0; i < Often; i++)
            Add(i, i + 1);
        Times.Did(Often);
    }

    static void Params3()
    {
        for (int i = 0; i < Often; i++)
            Take("a", "b", "c");
        Times.Did(Often);
    }

    static void Reflection1()
    {
        Times.Begin();
        for (int i = 0; i < 4_000; i++)
            Sink.Kept = typeof(Breaks).GetMethods(BindingFlags.NonPublic | BindingFlags.Static);
        Times.Did(4_000);
    }

    public static int Twice(int n) => 2 * n;

    static void Reflection2()
    {
        Times.Begin();
        MethodInfo twice = typeof(Deserved).GetMethod("Twice");
        var arguments = new object[] { 1 };
        for (int i = 0; i < Often; i++)
            Sink.Kept = twice.Invoke(null, arguments);
        Times.Did(Often); // results
    }

    static void Reflection3()
    {
        Times.Begin();
        Type type = Sink.Text.Length == 3 ? typeof(Node) : typeof(Handle);
        for (int i = 0; i < Often; i++)
            Sink.Kept = Activator.CreateInstance(type);
        Times.Did(Often);
    }

    static void RegexInLoop1()
    {
        for (int i = 0; i < 20; i++)
            if (new Regex("a+b").IsMatch("xaab"))
                Sink.Sum++;
        Times.Did(20);
    }

    static void RegexInLoop2()
    {
        for (int i = 0; i < 20; i++)
            Sink.Sum += new Regex("a+" + i, RegexOptions.IgnoreCase).Replace("xaab", "").Length;
        Times.Did(20);
    }

    static void RegexInLoop3() // more patterns than Regex keeps
    {
        for (int i = 0; i < 60; i++)
            if (Regex.IsMatch("xaab", "a+" + i % 30))
                Sink.Sum++;
        Times.Did(60 - 15); // it keeps the last
    }

    static void StateMachines1()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = StateMachines1Items(i);
        Times.Did(Often);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static IEnumerable<int> StateMachines1Items(int i)
    {
        yield return i;
    }

    static void StateMachines2()
    {
        var gate = new TaskCompletionSource<int>();
        for (int i = 0; i < Often; i++)
            Sink.Kept = StateMachines2Wait(gate.Task);
        gate.SetResult(1);
        Times.Did(Often);
    }

    static async Task StateMachines2Wait(Task gate) => await gate;

    static void StateMachines3()
    {
        var gate = new TaskCompletionSource<int>();
        for (int i = 0; i < Often; i++)
            Sink.Sum += StateMachines3Wait(gate.Task).IsCompleted ? 1 : 0;
        gate.SetResult(1);
        Times.Did(Often);
    }

    static async ValueTask<int> StateMachines3Wait(Task<int> gate) => await gate;

    static void StringFormat1()
    {
        Times.Begin();
        object a = "a";
        for (int i = 0; i < Often; i++)
            Sink.Kept = string.Format("{0}-{1}", a, a);
        Times.Did(Often);
    }

    static void StringFormat2()
    {
        Times.Begin();
        object a = "a";
        for (int i = 0; i < Often; i++)
            Sink.Kept = $"{a,5}-{a}";
        Times.Did(Often);
    }

    static void StringFormat3() // by a writer
    {
        Times.Begin();
        object a = "a";
        var to = new StringWriter(new StringBuilder(4 * Often));
        for (int i = 0; i < Often; i++)
            to.Write("{0}-{1}", a, a);
        Sink.Kept = to;
        Times.Did(Often);
    }

    static void Substrings1()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = "abcdefgh".Substring(i & 3, 4);
        Times.Did(Often);
    }

    static void Substrings2() // two strings and their array
    {
        for (int i = 0; i < Often / 3; i++)
            Sink.Kept = "ab,cd".Split(',');
        Times.Did(Often / 3 * 3);
    }

    static void Substrings3()
    {
        for (int i = 0; i < Often; i++)
            Sink.Kept = "abcdefgh"[(i & 3)..^1];
        Times.Did(Often);
    }
}
