using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace LifetimeHeap
{
    /// <summary>This assembly, loaded again and unloaded, with what its code and its statics hold.</summary>
    static class Contexts
    {
        sealed class Context : AssemblyLoadContext
        {
            public Context() : base(isCollectible: true) { }
            protected override Assembly Load(AssemblyName name) => null;
        }

        public static void Run(int rounds)
        {
            for (int r = 0; r < Math.Max(2, rounds / 8); r++)
            {
                WeakReference context = Load(r);
                for (int i = 0; i < 4; i++)
                {
                    GC.Collect(i % 3);
                    GC.WaitForPendingFinalizers();
                }
                GC.KeepAlive(context);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference Load(int seed)
        {
            var context = new Context();
            Assembly again = context.LoadFromAssemblyPath(typeof(Contexts).Assembly.Location);
            again.GetType("LifetimeHeap.Churn").GetMethod("Run").Invoke(null, new object[] { 4, seed });
            again.GetType("LifetimeHeap.Statics").GetMethod("Fill").Invoke(null, new object[] { 500 });
            context.Unload();
            return new WeakReference(context, trackResurrection: true);
        }
    }

    public static class Statics
    {
        static Node[] nodes;
        [ThreadStatic] static object ofThread;

        public static void Fill(int count)
        {
            nodes = new Node[count];
            for (int i = 0; i < count; i++)
                nodes[i] = new Node { Payload = nodes };
            ofThread = new object[] { nodes, "a literal of an unloadable assembly" };
        }
    }

    /// <summary>Literals, whose strings are frozen where the runtime can.</summary>
    static class Frozen
    {
        public static void Run(int rounds)
        {
            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Literals"), AssemblyBuilderAccess.Run);
            ModuleBuilder module = assembly.DefineDynamicModule("Literals");
            for (int r = 0; r < rounds; r++)
            {
                TypeBuilder type = module.DefineType("L" + r);
                for (int i = 0; i < 20; i++)
                {
                    MethodBuilder method = type.DefineMethod("M" + i, MethodAttributes.Static | MethodAttributes.Public, typeof(string), Type.EmptyTypes);
                    ILGenerator il = method.GetILGenerator();
                    il.Emit(OpCodes.Ldstr, "literal " + r + " " + i);
                    il.Emit(OpCodes.Ret);
                }
                Type made = type.CreateType();
                for (int i = 0; i < 20; i++)
                    made.GetMethod("M" + i).Invoke(null, null);
                GC.Collect(r % 3);
            }
        }
    }
}
