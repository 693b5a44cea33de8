using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Dynamic
{
    /// <summary>A type in a collectible assembly that is written at run time, and is gone at the end.</summary>
    static class Emitted
    {
        public static void Run(int n)
        {
            WeakReference assembly = Make(n);
            for (int i = 0; i < 20 && assembly.IsAlive; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            Truth.Say("note", "name", "emitted assembly", "collected", !assembly.IsAlive);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference Make(int n)
        {
            AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Written"), AssemblyBuilderAccess.RunAndCollect);
            ModuleBuilder module = assembly.DefineDynamicModule("Written");
            TypeBuilder thing = module.DefineType("Written.Thing", TypeAttributes.Public);
            thing.DefineField("A", typeof(long), FieldAttributes.Public);
            thing.DefineField("B", typeof(long), FieldAttributes.Public);
            ConstructorBuilder constructor = thing.DefineDefaultConstructor(MethodAttributes.Public);
            TypeBuilder maker = module.DefineType("Written.Maker", TypeAttributes.Public);
            MethodBuilder make = maker.DefineMethod("Make", MethodAttributes.Public | MethodAttributes.Static, typeof(void), new[] { typeof(int) });
            WriteLoop(make.GetILGenerator(), constructor);
            Type madeThing = thing.CreateTypeInfo().AsType();
            MethodInfo method = maker.CreateTypeInfo().AsType().GetMethod("Make");

            Truth.Exclusive((Action<int>)method.CreateDelegate(typeof(Action<int>)), n, new Made(madeThing, 1, Size.Object(16)));
            Truth.OfType(madeThing, n + 1, (n + 1) * Size.Object(16));
            return new WeakReference(assembly);
        }

        // for (; n != 0; n--) Keeper.Keep(new Thing());
        static void WriteLoop(ILGenerator il, ConstructorBuilder constructor)
        {
            Label test = il.DefineLabel(), next = il.DefineLabel();
            il.Emit(OpCodes.Br, test);
            il.MarkLabel(next);
            il.Emit(OpCodes.Newobj, constructor);
            il.Emit(OpCodes.Call, typeof(Keeper).GetMethod("Keep"));
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Sub);
            il.Emit(OpCodes.Starg_S, (byte)0);
            il.MarkLabel(test);
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Brtrue, next);
            il.Emit(OpCodes.Ret);
        }
    }

    public static class Keeper
    {
        static object last;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Keep(object o) => last = o.GetType() == typeof(string) ? o : last;
    }
}
