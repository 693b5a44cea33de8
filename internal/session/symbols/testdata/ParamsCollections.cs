// Collections, some of them for parameters that are declared with params, as Params.cs has arrays; with C# 13.
using System;
using System.Collections.Generic;

class Bag : List<int>
{
    public Bag() { }
    public Bag(int capacity) : base(capacity) { }
}

static class Program
{
    static void Span(params ReadOnlySpan<object> all) { }
    static void List(params List<object> all) { }
    static void IList(int first, params IList<object> all) { }
    static void Enumerable(params IEnumerable<object> all) { }
    static void ReadOnly(params IReadOnlyCollection<object> all) { }
    static void Any<T>(params IEnumerable<T> all) { }
    static void Both<T>(object plain, params IEnumerable<T> all) { }
    static void Bags(params Bag all) { }
    static void Two(object plain, params List<object> all) { }
    static object kept;

    static void Main() { }

    static void Made(object a)
    {
        List(a, a); // params: System.Collections.Generic.List<object>, object[]
        IList(1, a); // params: System.Collections.Generic.List<object>, object[]
        IList(1); // params: System.Collections.Generic.List<object>
        Enumerable(a); // params: <collection ReadOnlySingleElementList><object>
        Enumerable(a, a); // params: <collection ReadOnlyArray><object>, object[]
        ReadOnly(a, a); // params: <collection ReadOnlyArray><object>, object[]
        Any(a, a); // params: <collection ReadOnlyArray><object>, object[]
        Bags(1, 2); // params: Bag
        Bags(); // params: Bag
        Two(null, a); // params: System.Collections.Generic.List<object>, object[]
        Two(new string[] { "a" }, a); // params: System.Collections.Generic.List<object>, object[]
        Two(new object[] { a }, a); // params: System.Collections.Generic.List<object>
    }

    // Of all of a name, of which there are two here.
    static void Open<T>(T a)
    {
        Any(a, a); // params: <collection ReadOnlyArray><object>, object[]
        Both(new List<T>(2), a, a); // params: <collection ReadOnlyArray><object>
    }

    static void Others(object a, int n)
    {
        Span(a, a);
        Span(new object[] { a });
        Enumerable();
        Enumerable(new object[] { a, a });
        Enumerable(new List<object>(2) { a, a });
        List(new List<object> { a });
        List(new List<object>(n) { a });
        Bags(new Bag(2) { 1, 2 });
        Two(new List<object>(1) { a }, a);
        kept = new List<object>(2) { a, a };
        kept = new Bag { 1 };
    }
}
