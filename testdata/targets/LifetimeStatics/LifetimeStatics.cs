// LifetimeStatics [churn]: objects that static fields of all kinds hold, each of a type of its own. With churn, threads with
// fields of their own begin and end all the time, up to the end of the program. For each type it prints a row
// "static": the type, the field that holds it, and the types on the way from there, as clrprof writes them.

using System;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

namespace LifetimeStatics
{
    class Held { public long A, B; }
    sealed class ByField : Held { }
    sealed class ByReadonly : Held { }
    sealed class ByNested : Held { }
    sealed class ByString : Held { }
    sealed class ByArray : Held { }
    sealed class ByInt : Held { }
    sealed class ByPair : Held { }
    sealed class ByOpen : Held { }
    sealed class ByStruct : Held { }
    sealed class ByNullable : Held { }
    sealed class ByGenericStruct : Held { }
    sealed class ByThread : Held { }
    sealed class ByOtherThread : Held { }
    sealed class ByGenericThread : Held { }
    sealed class BySecondOfThread : Held { }
    sealed class ByBoxOfThread : Held { }
    sealed class ByOtherGenericThread : Held { }
    sealed class ByLazy : Held { }
    sealed class ByProperty : Held { }
    sealed class ByCollectible : Held { }
    sealed class ByBuilder : Held { }
    sealed class ByFramework : Held { }
    sealed class ByBase : Held { }
    sealed class ByInterface : Held { }
    delegate int ByEvent(int x);
    delegate int ByLambda(int x);

    struct One { public Held Held; public int Number; }
    struct Of<T> { public T Value; }

    static class Holder
    {
        public static object Field;
        public static readonly ByReadonly Readonly = new ByReadonly();
        public static One Struct;
        public static One? Nullable;
        public static Of<ByGenericStruct> GenericStruct;
        [ThreadStatic] public static Held PerThread;
        public static Lazy<ByLazy> Lazy = new Lazy<ByLazy>(() => new ByLazy());
        public static ByProperty Property { get; set; }
        public static event ByEvent Event;
        public static long Number;                 // no reference
        public static readonly int[] Table = { 1, 2, 3, 4, 5, 6, 7, 8 };
        public const string Constant = "literal";  // no field at run time

        public static void Listen() => Event += Program.Same;

        public static class Nested { public static ByNested Field; }
        public static class Untouched
        {
            public static readonly Held Never = Program.Fail();
            public static int Number;
        }
    }

    class Generic<T>
    {
        public static int Count;
        public static Held First, Second;
        public static T Own;
        public static Of<T> Boxed;
        [ThreadStatic] public static int CountOfThread;
        [ThreadStatic] public static Held PerThread, Next;
    }
    class GenericOfThreads<T> // has none but those of threads
    {
        [ThreadStatic] public static Of<T> Boxed;
    }
    class Base { public static ByBase Inherited; }
    class Derived : Base { }

    static class Collectible { public static Held Field; }

    static class Program
    {
        static readonly ManualResetEvent ready = new ManualResetEvent(false), done = new ManualResetEvent(false);
        static AssemblyLoadContext context;
        static Type built;

        static int Main(string[] args)
        {
            if (args.Length > 0 && args[0] == "churn")
                for (int i = 0; i < 2; i++)
                    new Thread(Churn) { IsBackground = true }.Start();
            Fields();
            Generics();
            Structs();
            Threads();
            Compiled();
            Framework();
            Loaded();
            Built();
            GC.Collect();
            return Truth.Print();
        }

        /// <summary>Threads that are there for the time of a few objects.</summary>
        static void Churn()
        {
            while (true)
                new Thread(() => Holder.PerThread = new Held()) { IsBackground = true }.Start();
        }

        public static int Same(int x) => x;
        public static Held Fail() => throw new InvalidOperationException("this class is never initialised");

        /// <summary>What holds the object of a type: a static field, and the types from what it refers to on.</summary>
        static void Say(Type type, string field, params string[] path) =>
            Truth.Say("static", "type", type.FullName, "field", field, "path", string.Join(" ", path.Append(type.FullName)));

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fields()
        {
            Holder.Field = new ByField();
            Holder.Nested.Field = new ByNested();
            Derived.Inherited = new ByBase();
            Say(typeof(ByField), "LifetimeStatics.Holder.Field");
            Say(typeof(ByReadonly), "LifetimeStatics.Holder.Readonly");
            Say(typeof(ByNested), "LifetimeStatics.Holder.Nested.Field");
            Say(typeof(ByBase), "LifetimeStatics.Base.Inherited");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Generics()
        {
            Generic<string>.First = new ByString();
            Generic<int[]>.Second = new ByArray();
            Generic<int>.First = new ByInt();
            Generic<int>.Count = 3;
            Generic<ByOpen>.Own = new ByOpen();
            Generic<(int, ByPair)>.Own = (1, new ByPair());
            Say(typeof(ByString), "LifetimeStatics.Generic<string>.First");
            Say(typeof(ByArray), "LifetimeStatics.Generic<int[]>.Second");
            Say(typeof(ByInt), "LifetimeStatics.Generic<int>.First");
            Say(typeof(ByOpen), "LifetimeStatics.Generic<LifetimeStatics.ByOpen>.Own");
            Say(typeof(ByPair), "LifetimeStatics.Generic<System.ValueTuple<int, LifetimeStatics.ByPair>>.Own", "System.ValueTuple<int,LifetimeStatics.ByPair>");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Structs()
        {
            Holder.Struct = new One { Held = new ByStruct() };
            Holder.Nullable = new One { Held = new ByNullable() };
            Holder.GenericStruct = new Of<ByGenericStruct> { Value = new ByGenericStruct() };
            Say(typeof(ByStruct), "LifetimeStatics.Holder.Struct", "LifetimeStatics.One");
            Say(typeof(ByNullable), "LifetimeStatics.Holder.Nullable", "LifetimeStatics.One?");
            Say(typeof(ByGenericStruct), "LifetimeStatics.Holder.GenericStruct", "LifetimeStatics.Of<LifetimeStatics.ByGenericStruct>");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Threads()
        {
            Holder.PerThread = new ByThread();
            new Thread(Wait) { IsBackground = true, Name = "other" }.Start();
            ready.WaitOne();
            Generic<string>.PerThread = new ByGenericThread();
            Generic<int[]>.Next = new BySecondOfThread();
            Generic<int>.CountOfThread = 3;
            GenericOfThreads<ByBoxOfThread>.Boxed.Value = new ByBoxOfThread();
            Say(typeof(ByThread), "LifetimeStatics.Holder.PerThread");
            Say(typeof(ByOtherThread), "LifetimeStatics.Holder.PerThread");
            Say(typeof(ByGenericThread), "LifetimeStatics.Generic<string>.PerThread");
            Say(typeof(ByOtherGenericThread), "LifetimeStatics.Generic<string>.PerThread");
            Say(typeof(BySecondOfThread), "LifetimeStatics.Generic<int[]>.Next");
            Say(typeof(ByBoxOfThread), "LifetimeStatics.GenericOfThreads<LifetimeStatics.ByBoxOfThread>.Boxed", "LifetimeStatics.Of<LifetimeStatics.ByBoxOfThread>");
        }

        static void Wait()
        {
            SetOther();
            ready.Set();
            done.WaitOne();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SetOther()
        {
            Holder.PerThread = new ByOtherThread();
            Generic<string>.PerThread = new ByOtherGenericThread();
        }

        /// <summary>Fields that the compiler makes.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Compiled()
        {
            ByLambda lambda = x => x + 1;
            lambda(1);
            Holder.Property = new ByProperty();
            Holder.Listen();
            Holder.Lazy.Value.A = 1;
            string cache = lambda.Target.GetType().GetFields(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic)
                .Single(f => f.FieldType == typeof(ByLambda)).Name;
            Say(typeof(ByLambda), "LifetimeStatics.Program.<closure>." + cache);
            Say(typeof(ByProperty), "LifetimeStatics.Holder.Property");
            Say(typeof(ByEvent), "LifetimeStatics.Holder.Event");
            Say(typeof(ByLazy), "LifetimeStatics.Holder.Lazy", "System.Lazy<LifetimeStatics.ByLazy>");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Framework()
        {
            AppDomain.CurrentDomain.SetData("held", new ByFramework());
            const string table = "System.Collections.Generic.Dictionary<string,object>";
            Say(typeof(ByFramework), "System.AppContext.s_dataStore", table, table + ".Entry[]");
        }

        /// <summary>The same classes once more, in a context that can be unloaded.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Loaded()
        {
            context = new AssemblyLoadContext("collectible", true);
            Assembly again = context.LoadFromAssemblyPath(typeof(Program).Assembly.Location);
            Type held = again.GetType("LifetimeStatics.ByCollectible"), holder = again.GetType("LifetimeStatics.Collectible");
            holder.GetField("Field").SetValue(null, Activator.CreateInstance(held));
            Say(typeof(ByCollectible), "LifetimeStatics.Collectible.Field");
        }

        /// <summary>A class that is made while the program runs.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Built()
        {
            ModuleBuilder module = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Built"), AssemblyBuilderAccess.Run).DefineDynamicModule("Built");
            TypeBuilder type = module.DefineType("Built.Holder", TypeAttributes.Public);
            type.DefineField("Field", typeof(object), FieldAttributes.Public | FieldAttributes.Static);
            built = type.CreateTypeInfo();
            built.GetField("Field").SetValue(null, new ByBuilder());
            Say(typeof(ByBuilder), "Built.Holder.Field");
        }
    }
}
