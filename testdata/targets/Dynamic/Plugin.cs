using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Dynamic
{
    public sealed class PluginItem : Item { }

    /// <summary>What a plugin does: this assembly loads itself again, and unloads that.</summary>
    public static class Plugin
    {
        static object sink;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Allocate(int n) { for (int i = 0; i < n; i++) sink = new PluginItem { A = i }; }

        public static void Run(int n, int times)
        {
            bool unloaded = true;
            for (int i = 0; i < times; i++)
            {
                WeakReference context = LoadAndCall(n);
                for (int j = 0; j < 20 && context.IsAlive; j++)
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
                unloaded &= !context.IsAlive;
            }
            Truth.Say("note", "name", "load contexts", "collected", unloaded);
            long all = (long)times * n;
            Truth.Site(Truth.Method(typeof(Plugin), "Allocate"), typeof(PluginItem), all, all * Size.Object(16));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference LoadAndCall(int n)
        {
            var context = new Context();
            Assembly again = context.LoadFromAssemblyPath(typeof(Plugin).Assembly.Location);
            MethodInfo allocate = again.GetType("Dynamic.Plugin").GetMethod("Allocate");
            allocate.Invoke(null, new object[] { n });
            context.Unload();
            return new WeakReference(context);
        }

        sealed class Context : AssemblyLoadContext
        {
            public Context() : base(true) { }
            protected override Assembly Load(AssemblyName name) => null;
        }
    }
}
