// Code that is emitted: by the program, in an assembly that stays and in one that can be collected, and by the
// framework for the program (DispatchProxy).

using System;
using System.Reflection;
using System.Reflection.Emit;

namespace Emitted
{
    public interface IShape { int Area(int n); }

    public class Forwarder : DispatchProxy
    {
        protected override object Invoke(MethodInfo method, object[] arguments) => (int)arguments[0] + 1;
    }

    static class Program
    {
        static int Main()
        {
            int sum = 0;
            IShape[] shapes = { Emit("My.Rules", AssemblyBuilderAccess.Run), Emit("Your.Rules", AssemblyBuilderAccess.RunAndCollect),
                DispatchProxy.Create<IShape, Forwarder>() };
            foreach (IShape shape in shapes)
                for (int i = 0; i < 1000; i++)
                    sum += shape.Area(i);
            return sum == 2 * 332833500 + 500500 ? 0 : 1;
        }

        /// <summary>An object whose Area makes an array of n * n bytes, and returns its length.</summary>
        static IShape Emit(string name, AssemblyBuilderAccess access)
        {
            AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), access);
            TypeBuilder type = assembly.DefineDynamicModule(name + ".dll").DefineType(name + ".Square", TypeAttributes.Public, typeof(object), new[] { typeof(IShape) });
            MethodBuilder method = type.DefineMethod("Area", MethodAttributes.Public | MethodAttributes.Virtual, typeof(int), new[] { typeof(int) });
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_1);
            il.Emit(OpCodes.Ldarg_1);
            il.Emit(OpCodes.Mul);
            il.Emit(OpCodes.Newarr, typeof(byte));
            il.Emit(OpCodes.Ldlen);
            il.Emit(OpCodes.Conv_I4);
            il.Emit(OpCodes.Ret);
            return (IShape)Activator.CreateInstance(type.CreateTypeInfo().AsType());
        }
    }
}
