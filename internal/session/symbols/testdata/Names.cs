// Members of every shape that the C# compiler gives names to, and what the
// program itself says about them.
//
//   Names                    the methods of this assembly, through reflection
//   Names reflect ASSEMBLY   those of a framework assembly
//   Names lines              source positions of stack frames, by the runtime
using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Reflection;
using System.Threading.Tasks;

namespace Shop.Orders
{
    public struct Money
    {
        public decimal Amount;
        public static Money operator +(Money a, Money b) => new Money { Amount = a.Amount + b.Amount };
        public static bool operator ==(Money a, Money b) => a.Amount == b.Amount;
        public static bool operator !=(Money a, Money b) => !(a == b);
        public static Money operator -(Money a) => new Money { Amount = -a.Amount };
        public static implicit operator decimal(Money m) => m.Amount;
        public static explicit operator int(Money m) => (int)m.Amount;
        public static explicit operator Money(int n) => new Money { Amount = n };
        public override bool Equals(object o) => o is Money m && this == m;
        public override int GetHashCode() => Amount.GetHashCode();
    }

    public interface IShape<T> { T Area(T scale); event Action<T> Changed; }

    public class Box<T> : IShape<T>, IEnumerable<T>, IDisposable
    {
        static Box() { Count = 1; }
        public Box() { }
        public Box(T value, int? size = null) { Value = value; }
        ~Box() { }
        public static int Count;
        public T Value { get; set; }
        public T this[int index] { get => Value; set => Value = value; }
        T IShape<T>.Area(T scale) => scale;
        event Action<T> IShape<T>.Changed { add { } remove { } }
        void IDisposable.Dispose() { }
        IEnumerator IEnumerable.GetEnumerator() => null;
        IEnumerator<T> IEnumerable<T>.GetEnumerator() { yield return Value; }
        public event EventHandler<T> Opened { add { } remove { } }
        public U Convert<U>(Func<T, U> f) => f(Value);
        public void Fill<U, V>(Dictionary<U, List<V[]>> d, T[] t, ref U u, out V v, in T w) where U : class { v = default; }
        public List<Func<T>> Closures(T seed)
        {
            var list = new List<Func<T>>();
            list.Add(() => seed);
            list.Add(() => { Func<T> inner = () => Value; return inner(); });
            return list;
        }

        public class Entry
        {
            public void Put(T t, Entry next) { }
            public struct Slot<K> { public void Set(T t, K k) { } public async Task<K> Get(K k) { await Task.Yield(); return k; } }
        }
    }

    public class Numbers : IShape<int>, IEnumerable<KeyValuePair<int, string>>
    {
        int IShape<int>.Area(int scale) => scale;
        event Action<int> IShape<int>.Changed { add { } remove { } }
        IEnumerator<KeyValuePair<int, string>> IEnumerable<KeyValuePair<int, string>>.GetEnumerator() { yield break; }
        IEnumerator IEnumerable.GetEnumerator() => null;
    }

    public delegate ref int Chooser(ref int a, in int b);

    public static class Extensions
    {
        public static int Twice(this int n) => n * 2;
        public static async Task<T> Later<T>(this T t) { await Task.Yield(); return t; }
        public static IEnumerable<(int Index, T Item)> Indexed<T>(this IEnumerable<T> items) { int i = 0; foreach (var t in items) yield return (i++, t); }
    }
}

namespace Other { public class Order { public class Line { } } }
namespace Shop { public class Order { } }

public class Program
{
    int field = Make(() => 3);
    static int shared = Make(() => 4);

    static int Make(Func<int> f) => f();
    void Overload(Other.Order o) { }
    void Overload(Shop.Order o) { }
    void Overload(int n) { }
    void Overload(Other.Order.Line l) { }
    async Task RunAsync(int n) { await Task.Delay(n); }
    async Task RunAsync(string s) { await Task.Delay(1); }
    async void FireAndForget() { await Task.Yield(); }
    IEnumerable<int> Iterate(int n) { yield return n; }
    IEnumerator<T> Iterate<T>(T t) { yield return t; }
    async IAsyncEnumerable<int> Stream(int n) { await Task.Yield(); yield return n; }
    unsafe void Pointers(int* p, void** q, byte*[] r, IntPtr i, UIntPtr u) { }
    void Arrays(int[] a, int[,] b, int[][] c, int[][,] d, int[,,][] e, int?[] f) { }
    void Tuples((int, string) t, (int a, (bool b, object c) d)[] u, ValueTuple v) { }
    void Keywords(bool a, byte b, sbyte c, char d, short e, ushort f, int g, uint h, long i, ulong j, float k, double l, decimal m, string n, object o, dynamic p) { }
    void VarArgs(int n, __arglist) { }
    void Params(string format, params object[] args) { }
    ref int ByRef(int[] a, ref int[] b) => ref a[0];
    void Typed(TypedReference r) { }
    static T Anonymous<T>(T t) => t;
    int Locals(int n)
    {
        int seen = 0;
        int Local(int x) { seen += x; return x + n; }
        static int Pure(string s) => s.Length;
        async Task<int> LocalAsync() { await Task.Yield(); return n; }
        IEnumerable<int> LocalIterator() { yield return n; }
        T Generic<T>(T t) { Func<T> f = () => t; return f(); }
        Func<int, int> lambda = x => Local(x);
        Func<Task<int>> asyncLambda = async () => { await Task.Yield(); return n; };
        Func<string, Task> asyncStatic = async s => { await Task.Yield(); };
        { int Twin() => 1; seen += Twin(); }
        { int Twin() => 2; seen += Twin(); }
        return lambda(1) + Pure("a") + LocalAsync().Result + LocalIterator().First() + Generic(2) + asyncLambda().Result + seen;
    }

    T GenericLambda<T>(T t, IEnumerable<T> ts)
    {
        Func<int, int> noCapture = x => x;
        Func<T> capture = () => t;
        return ts.Select(x => x).First() == null ? capture() : Anonymous(t);
    }

    static object MakeAnonymous() => new[] { new { Name = "a", Size = 1 } }.Select(x => new { x.Name, Inner = x }).ToArray();

    static async Task<int> Main(string[] args)
    {
        if (args.Length > 0 && args[0] == "lines") { await Frames.Run(); return 0; }
        new Program().Locals(1);
        Reflect.Print(args.Length == 0 ? typeof(Program).Assembly : Assembly.Load(args[1]));
        return 0;
    }
}
