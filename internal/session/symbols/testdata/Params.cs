// Arrays of one dimension, some of them for parameters that are declared with params. The comment at the end of a line says
// of which types all arrays are that its statement makes for such parameters, if it makes no others of the type; that of a
// method's first line, after "somewhere", says it of the method.
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading.Tasks;

class Base
{
    public Base(params int[] all) { }
    public virtual void Take(params string[] all) { }
    public static object Same(object a) => a;
}

class Derived : Base
{
    public Derived() : base(1, 2) { } // params: int[]; somewhere: int[]
    public override void Take(string[] all) { }
}

class Generic<T>
{
    public static void Take(params T[] all) { }
    public static void Pass(T a) => Take(a, a);
}

class Log
{
    public void Add(string text, params object[] all) { }
}

interface ITake
{
    void Take(int first, params object[] rest);
}

class Plain : ITake
{
    public void Take(int first, object[] rest) { }
}

static class Extensions
{
    public static string Last(this string s, params string[] all) => s;
    public static void Many<T>(params T[] all) { }
    public static void Pass<T>(T a) => Many(a);
    public static object[] Kept;
    public static void Plain(object[] all) { }
    public static void Both(object[] plain, params object[] all) { }
}

static class Program
{
    static void Main() { }

    static void Framework(object a, string s)
    {
        var text = string.Format("{0}{1}{2}{3}", a, a, a, a); // params: object[]; somewhere: object[], string[]
        text += Path.Combine(s, s, s, s, s); // params: string[]
        Console.WriteLine("{0}{1}{2}{3}{4}", a, a, a, a, text); // params: object[]
        Console.WriteLine("{0}", a);
        new Log().Add("a", a, a); // params: object[], by a method that is called like what fills collections
    }

    // The operator + and interpolation are compiled to such calls. They are no calls of the programmer's.
    static FormattableString Operators(object a, string s)
    {
        s = s + a + s + a + s + a;
        s = string.Concat(s, s, s, s, s);
        return $"{a}{s}{a}{s}";
    }

    static void Methods(Base b, ITake t, Derived d, Plain p, object a)
    {
        b.Take("a", null); // params: string[]; somewhere: Base[], System.Collections.Generic.List<int>[], System.DayOfWeek[], System.ValueTuple<int, string>?[], int[], int[][], object[], string[]
        b.Take(null, null); // params: string[]
        b.Take();
        b.Take((string[])null);
        t.Take(1, a, 2, 3); // params: object[]
        new Base(1, 2, 3); // params: int[]
        new Base(1, 2, 3, 4, 5, 6, 7, 8, 9); // params: int[]
        "x".Last("y", "z"); // params: string[]
        Extensions.Many(1, 2); // params: int[]
        Extensions.Many(a, a); // params: object[]
        Generic<string>.Take("a", "b"); // params: string[]
        Generic<Base>.Take(b, d); // params: Base[]
        Generic<int[]>.Take(null, null); // params: int[][]
        Generic<List<int>>.Take(null, null); // params: System.Collections.Generic.List<int>[]
        Generic<(int, string)?>.Take((1, "a"), null); // params: System.ValueTuple<int, string>?[]
        Generic<DayOfWeek>.Take(DayOfWeek.Friday); // params: System.DayOfWeek[]
    }

    static void Choices(Base b, bool x, string s, int n)
    {
        b.Take(x ? s : "a", s ?? "b"); // params: string[]; somewhere: string[]
        (x ? b : null).Take(x ? "a" : "b"); // params: string[]
        b.Take(x ? "a".Last("b") : "c"); // params: string[]
        if (x) b.Take("a"); // params: string[]
        b.Take("a", // params: string[]
            "b");
        for (int i = 0; i < n; i++, b.Take("a")) // params: string[]
            n--;
    }

    static void Others(Base b, int n, object a)
    {
        b.Take(new string[n]);
        var local = new string[] { "a", "b" };
        b.Take(local);
        Extensions.Plain(new object[] { a, a });
        Extensions.Kept = new object[] { a };
        Extensions.Both(new object[] { a }, a, a);
        Extensions.Both(null, a, a); // params: object[]
        Extensions.Both(null, a, new object[] { a });
        Extensions.Both(null, a, new string[] { "a" }); // params: object[]
        b.Take(local = new string[] { "a" });
        string.Format("{0}", (object)new object[] { a });
        Base.Same(new object[] { a });
        new Derived().Take(new string[] { "a" }); // params: string[], by the method that it overrides, and as if C# had made it
    }

    static async Task Async(Base b, Task<string> s)
    {
        b.Take("a", await s, "b"); // params: string[]; somewhere: string[]
    }

    static IEnumerable<int> Iterator(Base b)
    {
        b.Take("a"); // params: string[]; somewhere: string[]
        yield return 1;
    }

    static Action Lambda(Base b) => () => b.Take("a", "b"); // params: string[]; somewhere: string[]

    static void Protected(Base b)
    {
        try
        {
            b.Take("a"); // params: string[]; somewhere: object[], string[]
        }
        catch (Exception e) when (Check(e, 1)) // params: object[]
        {
            b.Take(e.Message); // params: string[]
        }
        finally
        {
            Check(null, 2, 3); // params: object[]
        }
    }

    static bool Check(Exception e, params object[] all) => true;
}
