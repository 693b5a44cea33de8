// Objects made by code that did not exist when the program started, and by the
// runtime on behalf of reflection.

using System;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Runtime.Serialization;

namespace Dynamic
{
    public class Item { public long A, B; }
    public sealed class ByMethod : Item { }
    public sealed class ByExpression : Item { }
    public sealed class ByActivator : Item { }
    public sealed class ByGenericActivator : Item { }
    public sealed class Uninitialized : Item { }
    public sealed class ByInvoke : Item { }
    public sealed class ByHandler : Item { }
    public sealed class ByKey : Item { }

    /// <summary>What code that is made at run time calls, as it calls the endpoints of a server. Nothing keeps the JIT
    /// from putting it into that code.</summary>
    public static class Handler
    {
        public static Item Make() => new ByHandler();
    }

    /// <summary>What the framework calls where it searches: its code for this type could have it inlined.</summary>
    public struct Key : IEquatable<Key>
    {
        public static Item Last;

        public bool Equals(Key other)
        {
            Last = new ByKey();
            return false;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public sealed class Native { public int A, B; }

    static class Program
    {
        static object sink;
        static Func<Item> method, expression, invoked, handler;
        static readonly Key[] keys = new Key[1];
        static ConstructorInfo constructor;
        static IntPtr memory;

        static Made Of<T>(long bytesOfEach) => new Made(typeof(T), 1, bytesOfEach);

        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            long item = Size.Object(16);
            DynamicMethods(n, item);
            Emitted.Run(n);
            Plugin.Run(n, 2);

            Truth.Inclusive(Activated, n, Of<ByActivator>(item));
            Truth.OfType(typeof(ByActivator), n + 1, (n + 1) * item);
            Truth.Inclusive(GenericActivated, n, Of<ByGenericActivator>(item));
            Truth.OfType(typeof(ByGenericActivator), n + 1, (n + 1) * item);
            Truth.Inclusive(GetUninitialized, n, Of<Uninitialized>(item));
            Truth.OfType(typeof(Uninitialized), n + 1, (n + 1) * item);
            Truth.Inclusive(LowerBounds, n, new Made(Array.CreateInstance(typeof(int), new[] { 5 }, new[] { 1 }).GetType(), 1, Size.Array(1, 4, 5)));
            bounded = Array.CreateInstance(typeof(int), five, one).GetType();
            Truth.Inclusive(OfLowerBounds, n, new Made(bounded.MakeArrayType(), 1, Size.Array(8, 3)));

            // These make more than the objects that are named: nothing is measured.
            Invoke(n);
            LowerBounds2(n);
            Below("Invoke", typeof(ByInvoke), n, n * item);
            Truth.OfType(typeof(ByInvoke), n, n * item);
            Below("LowerBounds2", typeof(int[,]), n, n * Size.Array(2, 4, 6));

            Marshalled(n);
            return Truth.Print();
        }

        static void Below(string name, Type type, long objects, long bytes) =>
            Truth.Below(Truth.Method(typeof(Program), name), type, objects, bytes);

        static void DynamicMethods(int n, long item)
        {
            var made = new DynamicMethod("dynamic_item", typeof(Item), Type.EmptyTypes, typeof(Program).Module);
            ILGenerator il = made.GetILGenerator();
            il.Emit(OpCodes.Newobj, typeof(ByMethod).GetConstructor(Type.EmptyTypes));
            il.Emit(OpCodes.Ret);
            method = (Func<Item>)made.CreateDelegate(typeof(Func<Item>));
            Truth.ExclusiveIn(made, CallMethod, n, Of<ByMethod>(item));

            expression = System.Linq.Expressions.Expression.Lambda<Func<Item>>(System.Linq.Expressions.Expression.New(typeof(ByExpression))).Compile();
            Truth.Inclusive(CallExpression, n, Of<ByExpression>(item));
            Truth.OfType(typeof(ByExpression), n + 1, (n + 1) * item);

            MethodInfo make = typeof(Handler).GetMethod("Make");
            handler = System.Linq.Expressions.Expression.Lambda<Func<Item>>(System.Linq.Expressions.Expression.Call(make)).Compile();
            Truth.ExclusiveIn(make, CallHandler, n, Of<ByHandler>(item));
            Truth.ExclusiveIn(typeof(Key).GetMethod("Equals", new[] { typeof(Key) }), FindKey, n, Of<ByKey>(item));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CallHandler(int n) { for (int i = 0; i < n; i++) sink = handler(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void FindKey(int n) { for (int i = 0; i < n; i++) Array.IndexOf(keys, default); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CallMethod(int n) { for (int i = 0; i < n; i++) sink = method(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void CallExpression(int n) { for (int i = 0; i < n; i++) sink = expression(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Activated(int n) { for (int i = 0; i < n; i++) sink = Activator.CreateInstance(typeof(ByActivator)); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void GenericActivated(int n) { for (int i = 0; i < n; i++) sink = Activator.CreateInstance<ByGenericActivator>(); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void GetUninitialized(int n) { for (int i = 0; i < n; i++) sink = FormatterServices.GetUninitializedObject(typeof(Uninitialized)); }

        static readonly int[] five = { 5 }, one = { 1 };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void LowerBounds(int n) { for (int i = 0; i < n; i++) sink = Array.CreateInstance(typeof(int), five, one); }

        static Type bounded;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void OfLowerBounds(int n) { for (int i = 0; i < n; i++) sink = Array.CreateInstance(bounded, 3); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void LowerBounds2(int n) { for (int i = 0; i < n; i++) sink = Array.CreateInstance(typeof(int), new[] { 2, 3 }, new[] { -1, 1 }); }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Invoke(int n)
        {
            constructor = typeof(ByInvoke).GetConstructor(Type.EmptyTypes);
            for (int i = 0; i < n; i++)
                sink = constructor.Invoke(null);
        }

        // The runtime makes the object while it marshals; strings too.
        static void Marshalled(int n)
        {
            memory = Marshal.AllocHGlobal(64);
            for (int i = 0; i < 64; i++)
                Marshal.WriteByte(memory, i, (byte)(i < 10 ? 'x' : 0));
            for (int i = 0; i < n; i++)
                sink = ToStructure();
            Below("ToStructure", typeof(Native), n, n * Size.Object(8));
            Truth.OfType(typeof(Native), n, n * Size.Object(8));
            Truth.Inclusive(ToText, n, Of<string>(Size.String(10)));
            Marshal.FreeHGlobal(memory);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object ToStructure() => Marshal.PtrToStructure(memory, typeof(Native));

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void ToText(int n) { for (int i = 0; i < n; i++) sink = Marshal.PtrToStringAnsi(memory); }
    }
}
