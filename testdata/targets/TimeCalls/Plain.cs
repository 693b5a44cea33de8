using System;
using System.Reflection;

namespace TimeCalls
{
    interface IShape { int Area(int a); }

    class Shape : IShape
    {
        int side;
        public Shape(int side) { this.side = side; }
        public virtual int Sides() => side;
        public int Area(int a) => a + side;
        public int Side { get => side; set => side = value; }
        public int this[int i] { get => side + i; set => side = value - i; }
        public static Shape operator +(Shape a, int b) { a.side += b; return a; }
        public static implicit operator int(Shape s) => s.side;
    }

    sealed class Square : Shape
    {
        public Square(int side) : base(side) { }
        public override int Sides() => 4 + base.Sides();
    }

    struct Point : IShape
    {
        public int X;
        public Point(int x) { X = x; }
        public int Area(int a) => a + X;
        public int Moved() => X + 1;
    }

    class Box<T>
    {
        readonly T value;
        public Box(T value) { this.value = value; }
        public T Get() => value;
    }

    static class Early
    {
        public static int Count;
        static Early() { Count = 1; Helper(); Count++; }
        static void Helper() { Count++; Count++; }
    }

    static class Held<T>
    {
        public static int Count;
        static Held() { Count = typeof(T).Name.Length; }
    }

    /// <summary>Every kind of member, each so small that an optimizing compiler would make its call disappear.</summary>
    static class Plain
    {
        static int sum;

        static int Static(int a) => a + 1;
        static int Generic<T>(T value) => value == null ? 0 : 1;
        static void Nothing() { }

        public static void Run(int n)
        {
            var shape = new Shape(3);
            Shape square = new Square(2);
            IShape byInterface = shape, boxed = new Point(5);
            var number = new Box<int>(1);
            var text = new Box<string>("a");
            for (int i = 0; i < n; i++)
            {
                sum += Static(i);
                Nothing();
                sum += shape.Sides() + square.Sides();
                sum += byInterface.Area(i) + boxed.Area(i);
                sum += Generic(i) + Generic("a") + Generic(shape);
                sum += number.Get() + text.Get().Length;
                shape.Side = shape.Side + 1;
                shape[i] = shape[1];
                shape = shape + 1;
                sum += shape;
                sum += new Point(i).Moved();
                sum += Early.Count + Held<int>.Count + Held<string>.Count + Held<object>.Count;
            }
            sum++;
        }

        public static void Say(int n)
        {
            MethodBase run = Calls.Method(typeof(Plain), "Run");
            foreach (string name in new[] { "Static", "Nothing" })
                Calls.By(run, Calls.Method(typeof(Plain), name), n);
            Calls.By(run, Calls.Method(typeof(Plain), "Generic"), 3 * n);
            Calls.By(run, Calls.Method(typeof(Square), ".ctor"), 1);
            // One call is the last thing that the constructor of Square does, and may be a tail call.
            Calls.Of(Calls.Method(typeof(Shape), ".ctor"), 2);
            foreach (string name in new[] { "Area", "get_Side", "set_Side", "get_Item", "set_Item", "op_Addition", "op_Implicit" })
                Calls.By(run, Calls.Method(typeof(Shape), name), n);
            Calls.By(run, Calls.Method(typeof(Shape), "Sides"), n);
            Calls.By(run, Calls.Method(typeof(Square), "Sides"), n);
            Calls.By(Calls.Method(typeof(Square), "Sides"), Calls.Method(typeof(Shape), "Sides"), n);
            Calls.By(run, Calls.Method(typeof(Point), "Area"), n);
            Calls.By(run, Calls.Method(typeof(Point), "Moved"), n);
            Calls.By(run, Calls.Method(typeof(Point), ".ctor"), n + 1);
            Calls.By(run, Calls.Method(typeof(Box<int>), "Get"), 2 * n);
            Calls.By(run, Calls.Method(typeof(Box<int>), ".ctor"), 2);
            Calls.Of(Calls.Method(typeof(Early), ".cctor"), 1);
            Calls.By(Calls.Method(typeof(Early), ".cctor"), Calls.Method(typeof(Early), "Helper"), 1);
            Calls.Of(Calls.Method(typeof(Held<int>), ".cctor"), 3);
        }
    }
}
