using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace TimeCalls
{
    /// <summary>Functions that somebody else calls, when the time has come.</summary>
    static class Late
    {
        sealed class Finalized
        {
            readonly int a;
            public Finalized(int a) { this.a = a; }
            ~Finalized() { Count(a); }
        }

        static int sum, finalized, counted;

        static void Count(int a)
        {
            counted += a;
            Interlocked.Increment(ref finalized);
        }

        public static void Finalizers(int n)
        {
            Make(n);
            for (int i = 0; i < 10 && Volatile.Read(ref finalized) < n; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            sum++;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int n)
        {
            for (int i = 0; i < n; i++)
                GC.KeepAlive(new Finalized(i));
            sum++;
        }

        static string Factory()
        {
            sum++;
            return "made";
        }

        public static void Lazies(int n)
        {
            var local = new ThreadLocal<string>(Factory);
            for (int i = 0; i < n; i++)
            {
                var lazy = new Lazy<string>(Factory);
                sum += lazy.Value.Length + lazy.Value.Length + local.Value.Length;
            }
            sum++;
        }

        public static void Say(int n)
        {
            MethodBase finalizers = Calls.Method(typeof(Late), "Finalizers"), make = Calls.Method(typeof(Late), "Make"), finalize = Calls.Method(typeof(Finalized), "Finalize");
            Calls.By(finalizers, make, 1);
            Calls.By(make, Calls.Method(typeof(Finalized), ".ctor"), n);
            int ran = Volatile.Read(ref finalized);
            Calls.Root(finalize, ran);
            Calls.By(finalize, Calls.Method(typeof(Late), "Count"), ran);

            MethodBase lazies = Calls.Method(typeof(Late), "Lazies"), factory = Calls.Method(typeof(Late), "Factory");
            MethodBase lazy = Calls.Method(typeof(Lazy<string>), "get_Value"), local = Calls.Method(typeof(ThreadLocal<string>), "get_Value");
            Calls.By(lazies, lazy, 2 * n);
            Calls.By(lazies, local, n);
            Calls.Of(factory, n + 1); // both end with a call, which may be a jump
        }
    }
}
