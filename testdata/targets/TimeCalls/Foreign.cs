using System;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.InteropServices;

namespace TimeCalls
{
    /// <summary>Calls that go through code that is nobody's: reflection, dynamic methods, native code.</summary>
    static class Foreign
    {
        delegate int Comparison(IntPtr a, IntPtr b);

        [DllImport("libc")] static extern int getpid();
        [DllImport("libc")] static extern void qsort(int[] items, UIntPtr count, UIntPtr size, Comparison compare);

        static int sum;
        static long compared;

        static int Reflected(int a) => a + 1;
        static int Emitted(int a) => a + 2;
        static int GetPid() => getpid();

        static int Compare(IntPtr a, IntPtr b)
        {
            compared++;
            return Marshal.ReadInt32(a).CompareTo(Marshal.ReadInt32(b));
        }

        public static void Run(int n)
        {
            var method = Truth.Method(typeof(Foreign), "Reflected");
            var arguments = new object[] { 1 };
            Func<int, int> emitted = SayEmit();
            var numbers = new int[n];
            for (int i = 0; i < n; i++)
            {
                sum += (int)method.Invoke(null, arguments);
                sum += emitted(i);
                sum += GetPid();
                numbers[i] = (int)(i * 7919L % n);
            }
            qsort(numbers, (UIntPtr)n, (UIntPtr)4, Compare);
            var made = (Shape)Activator.CreateInstance(typeof(Shape), 3);
            sum += made.GetHashCode();
        }

        // A method without metadata that calls Emitted, and then adds 1.
        static Func<int, int> SayEmit()
        {
            var method = new DynamicMethod("Dynamic", typeof(int), new[] { typeof(int) }, typeof(Foreign).Module, true);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Call, Truth.Method(typeof(Foreign), "Emitted"));
            il.Emit(OpCodes.Ldc_I4_1);
            il.Emit(OpCodes.Add);
            il.Emit(OpCodes.Ret);
            return (Func<int, int>)method.CreateDelegate(typeof(Func<int, int>));
        }

        public static void Say(int n)
        {
            MethodBase run = Calls.Method(typeof(Foreign), "Run");
            MethodBase invoke = typeof(MethodBase).GetMethod("Invoke", new[] { typeof(object), typeof(object[]) });
            Calls.By(run, invoke, n);
            Calls.Of(Calls.Method(typeof(Foreign), "Reflected"), n); // Invoke ends with a call, which may be a jump
            Calls.By(run, Calls.Method(typeof(Foreign), "Emitted"), n);
            Calls.By(run, Calls.Method(typeof(Foreign), "GetPid"), n);
            Calls.By(run, Calls.Method(typeof(Foreign), "Compare"), compared);
            Calls.Extern(run, Calls.Method(typeof(Foreign), "qsort"), 1);
            Calls.Extern(Calls.Method(typeof(Foreign), "GetPid"), Calls.Method(typeof(Foreign), "getpid"), n);
            Calls.Of(Calls.Method(typeof(Shape), ".ctor"), 1);
        }
    }
}
