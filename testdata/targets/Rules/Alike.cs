// For some rules three functions that break it, and three that look alike and do not. They are named after the id of the
// rule, with a number. The counts are their own: see TestAlike.
using System;
using System.Collections.Generic;
using System.Linq.Expressions;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

static class Deserved
{
    public static void All()
    {
        StringConcat1(); StringConcat2(); StringConcat3();
        Exceptions1(); Exceptions2(); Exceptions3();
        BoxingKeys1(); BoxingKeys2(); BoxingKeys3();
        ExpressionCompile1(); ExpressionCompile2(); ExpressionCompile3();
    }

    static void StringConcat1()
    {
        string text = "";
        for (int i = 0; i < 3_000; i++)
            text += "ab";
        Sink.Sum += text.Length;
    }

    static void StringConcat2()
    {
        string text = "";
        for (int i = 0; i < 3_000; i++)
            text = "ab" + text; // in front
        Sink.Sum += text.Length;
    }

    static void StringConcat3()
    {
        string text = "";
        for (int i = 0; i < 2_000; i++)
            text = text + "a" + "," + Sink.Text;
        Sink.Sum += text.Length;
    }

    static void Exceptions1()
    {
        for (int i = 0; i < 300; i++)
            try { throw new InvalidOperationException("no"); }
            catch (InvalidOperationException) { Sink.Sum++; }
    }

    static void Exceptions2()
    {
        for (int i = 0; i < 300; i++)
            try { Sink.Sum += int.Parse(Sink.Text); }
            catch (FormatException) { Sink.Sum++; }
    }

    static void Exceptions3()
    {
        var none = new Dictionary<int, int>();
        for (int i = 0; i < 300; i++)
            try { Sink.Sum += none[i]; }
            catch (KeyNotFoundException) { Sink.Sum++; }
    }

    struct Key
    {
        public int A, B;
    }

    static void BoxingKeys1()
    {
        var all = new Dictionary<Key, int>(16) { [new Key { A = 1 }] = 1 };
        for (int i = 0; i < 20_000; i++)
            if (all.ContainsKey(new Key { A = 1 }))
                Sink.Sum++;
    }

    static void BoxingKeys2()
    {
        var all = new HashSet<Key> { new Key { A = 1 } };
        for (int i = 0; i < 20_000; i++)
            if (all.Contains(new Key { A = 1 }))
                Sink.Sum++;
    }

    static void BoxingKeys3()
    {
        var all = new Dictionary<Key, int>(16);
        for (int i = 0; i < 20_000; i++)
            all[new Key { A = i & 1 }] = i;
        Sink.Sum += all.Count;
    }

    static void ExpressionCompile1()
    {
        for (int i = 0; i < 20; i++)
        {
            Expression<Func<int, int>> twice = x => x * 2;
            Sink.Sum += twice.Compile()(i);
        }
    }

    static void ExpressionCompile2()
    {
        var x = Expression.Parameter(typeof(int));
        for (int i = 0; i < 20; i++)
            Sink.Sum += Expression.Lambda<Func<int, int>>(Expression.Add(x, Expression.Constant(i)), x).Compile()(i);
    }

    static void ExpressionCompile3()
    {
        for (int i = 0; i < 20; i++)
            Sink.Kept = Expression.Lambda(Expression.Constant(i)).Compile();
    }
}

static class Alike
{
    public static void All()
    {
        StringConcat1(); StringConcat2(); StringConcat3();
        Exceptions1(); Exceptions2(); Exceptions3();
        BoxingKeys1(); BoxingKeys2(); BoxingKeys3();
        ExpressionCompile1(); ExpressionCompile2(); ExpressionCompile3();
        unsafe { EqualityAllocates(); }
        Linq1();
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

    static unsafe void EqualityAllocates()
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
}
