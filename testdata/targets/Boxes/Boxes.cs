// One function for each way to box a value, to make a multicast delegate, and to
// cast: what the runtime's helpers do for compiled code. How many objects there
// are the runtime's own count says, since compilers leave out boxes.

using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Boxes
{
    interface IShape { int Sides(); }
    struct Plain { public long A, B; }
    struct Element { public long A, B; }
    struct Stored { public long A, B; }
    struct Activated { public long A, B; }
    struct Holder { public object Held; public long A; }
    struct Shape : IShape { public int N; public int Sides() => N; }
    struct Unequal { public int N; [MethodImpl(MethodImplOptions.NoInlining)] public override bool Equals(object o) => o is Unequal u && u.N == N; public override int GetHashCode() => N; }
    enum Color { Red, Green, Blue }
    enum Day { Monday, Tuesday, Wednesday }
    class Thing { public int N; }
    sealed class SpecialThing : Thing, IShape { public int Sides() => N; }
    static class Lazy<T> { public static readonly T[] Values = new T[3]; public static int Length = Values.Length; }
    delegate void Handler();

    static class Bodies
    {
        const MethodImplOptions Kept = MethodImplOptions.NoInlining;

        public static object Sink;
        static int sum;
        static readonly Array array = new Element[2];
        static readonly FieldInfo field = typeof(Bodies).GetField("number", BindingFlags.Static | BindingFlags.NonPublic);
        static Stored number = new Stored { A = 1 };
        static readonly Handler first = () => sum++, second = () => sum--;
        static readonly object[] things = new object[4];

        [MethodImpl(Kept)] public static void Struct(int n) { for (int i = 0; i < n; i++) Sink = new Plain { A = i }; }
        [MethodImpl(Kept)] public static void WithReference(int n) { for (int i = 0; i < n; i++) Sink = new Holder { A = i, Held = first }; }
        [MethodImpl(Kept)] public static void Generic<T>(int n) where T : struct { for (int i = 0; i < n; i++) Sink = default(T); }
        [MethodImpl(Kept)] public static void Interface(int n) { for (int i = 0; i < n; i++) { IShape s = new Shape { N = i }; Sink = s; } }
        [MethodImpl(Kept)] public static void Enumeration(int n) { for (int i = 0; i < n; i++) Sink = (Color)(i % 3); }
        [MethodImpl(Kept)] public static void Nullable(int n) { for (int i = 0; i < n; i++) { Shape? s = new Shape { N = i }; Sink = s; } }
        [MethodImpl(Kept)] public static void GenericNullable<T>(int n) where T : struct { for (int i = 0; i < n; i++) { T? t = default(T); Sink = t; } }
        [MethodImpl(Kept)] public static void Plane(int n) { for (int i = 0; i < n; i++) Sink = new Color[2, 3]; }
        [MethodImpl(Kept)] public static void Uninitialized(int n) { for (int i = 0; i < n; i++) Sink = RuntimeHelpers.GetUninitializedObject(typeof(Thing)); }
        [MethodImpl(Kept)] public static void GetValue(int n) { for (int i = 0; i < n; i++) Sink = array.GetValue(i % 2); }
        [MethodImpl(Kept)] public static void GetField(int n) { for (int i = 0; i < n; i++) Sink = field.GetValue(null); }
        [MethodImpl(Kept)] public static void Activated(int n) { for (int i = 0; i < n; i++) Sink = Activator.CreateInstance(typeof(Activated)); }
        [MethodImpl(Kept)] public static void Combined(int n) { for (int i = 0; i < n; i++) Sink = (Handler)Delegate.Combine(first, second); }
        [MethodImpl(Kept)] public static void ToObject(int n) { for (int i = 0; i < n; i++) Sink = Enum.ToObject(typeof(Day), i % 3); }
        [MethodImpl(Kept)] public static void Compared(int n) { for (int i = 0; i < n; i++) if (EqualityComparer<Unequal>.Default.Equals(new Unequal { N = i }, new Unequal())) sum++; }

        // It makes one object each time, and does with it whatever needs a helper.
        [MethodImpl(Kept)]
        public static void Casts(int n)
        {
            for (int i = 0; i < n; i++)
            {
                object o = new SpecialThing { N = i };
                things[i & 3] = o;
                ref object element = ref things[i & 3];
                sum += ((IShape)element).Sides() + ((Thing)o).N + (o is IShape ? 1 : 0) + (o is Holder ? 1 : 0) + (o is Thing[] ? 1 : 0);
                sum += Lazy<Thing>.Length + Lazy<string>.Length + (o as IEnumerable<int> == null ? 1 : 0);
                Sink = o;
            }
        }
    }

    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 2000;
#if HOOK
            StartupHook.Initialize();
#endif
            RuntimeHelpers.RunClassConstructor(typeof(Bodies).TypeHandle);
            Measured(Bodies.Struct, n, typeof(Plain), Size.Object(16), true);
            Measured(Bodies.WithReference, n, typeof(Holder), Size.Object(16), true);
            Measured(Bodies.Generic<Holder>, n, typeof(Holder), Size.Object(16), true);
            Measured(Bodies.Interface, n, typeof(Shape), Size.Object(4), true);
            Measured(Bodies.Enumeration, n, typeof(Color), Size.Object(4), true);
            Measured(Bodies.Nullable, n, typeof(Shape), Size.Object(4), true);
            Measured(Bodies.GenericNullable<Plain>, n, typeof(Plain), Size.Object(16), true);
            Measured(Bodies.Plane, n, typeof(Color[,]), Size.Array(2, 4, 6), true);
            Measured(Bodies.Uninitialized, n, typeof(Thing), Size.Object(4), false);
            Measured(Bodies.GetValue, n, typeof(Element), Size.Object(16), false);
            Measured(Bodies.GetField, n, typeof(Stored), Size.Object(16), false);
            Measured(Bodies.Activated, n, typeof(Activated), Size.Object(16), false);
            Measured(Bodies.ToObject, n, typeof(Day), Size.Object(4), false);
            Measured(Bodies.Compared, n, typeof(Unequal), Size.Object(4), false);
            Truth.Exclusive(Bodies.Casts, n, new Made(typeof(SpecialThing), 1, Size.Object(4)));
            Bodies.Combined(n);
            Truth.Below(Truth.Method(typeof(Bodies), "Combined"), typeof(Handler), n, n * Size.Delegate);
            return Truth.Print();
        }

        // The first run loads and compiles; what it makes of the type is what the second
        // makes, but that it may be unoptimized, where compilers leave out no box.
        static void Measured(Action<int> body, int n, Type type, long size, bool itself)
        {
            body(1);
            long before = GC.GetAllocatedBytesForCurrentThread();
            body(n);
            long bytes = GC.GetAllocatedBytesForCurrentThread() - before;
#if TRIMMED // others may have made objects, too; it is compiled so that each box is made
            bytes = n * size;
#endif
            Truth.Check(type.Name + " in " + body.Method.Name, n, bytes / size * size, bytes);
            long objects = bytes / size + 1;
            if (itself)
                Truth.Site(body.Method, type, objects, objects * size);
            else
                Truth.Below(body.Method, type, objects, objects * size);
        }
    }
}
