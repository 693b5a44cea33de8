// Externs: functions without IL, of native libraries and made by the runtime, called in every way: once and often,
// with an error code, with strings, from generic code, as the last thing that a function does, again within what they
// call back, one that sleeps and one that is not there.

using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace System.Runtime.CompilerServices
{
    /// <summary>The runtime knows it by its name, from .NET 8 on.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    sealed class UnsafeAccessorAttribute : Attribute
    {
        public UnsafeAccessorAttribute(int kind) => Kind = kind;
        public int Kind { get; }
        public string Name { get; set; }
    }
}

namespace Externs
{
    sealed class Secret
    {
        int calls;
        int Whisper(int n) => calls += n;
    }

    static class Native
    {
        [DllImport("libc")] public static extern int getpid();
        [DllImport("libc", SetLastError = true)] public static extern int close(int file);
        [DllImport("libc")] public static extern int abs(int n);
        [DllImport("libc", CharSet = CharSet.Ansi)] public static extern IntPtr strlen(string text);
        [DllImport("libc")] public static extern int usleep(uint microseconds);
        [DllImport("libc")] public static extern void qsort(int[] items, UIntPtr count, UIntPtr size, Comparison compare);
        [DllImport("a-library-that-is-not-there")] public static extern void Nothing();

        public delegate int Comparison(IntPtr a, IntPtr b);
    }

    /// <summary>A type that the runtime loads from .NET 8 on.</summary>
    static class Accessor
    {
        const int Method = 1; // UnsafeAccessorKind.Method

#pragma warning disable CS0626 // the runtime makes it
        [UnsafeAccessor(Method, Name = "Whisper")] public static extern int Whisper(Secret secret, int n);
#pragma warning restore CS0626
    }

    static class Generic<T>
    {
        public static int Absolute(int n) => n + Native.abs(-n);
    }

    static class Uses
    {
        public static long Compared;
        public static int Wrong;
        public static bool Asks;

        public static void Run(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Close();
                Last(i);
                Generic<int>.Absolute(i);
                Generic<string>.Absolute(i);
                Measure("0123456789");
            }
            Sort(n);
            Sleep();
            for (int i = 0; i < 3; i++)
                Miss();
            if (Asks)
                for (int i = 0; i < n; i++)
                    Ask(new Secret(), i);
        }

        static void Close()
        {
            if (Native.close(-1) != -1 || Marshal.GetLastWin32Error() != 9) // EBADF
                Wrong++;
        }

        static int Last(int n) => Native.abs(-n);

        static void Measure(string text)
        {
            if ((long)Native.strlen(text) != text.Length)
                Wrong++;
        }

        static int Compare(IntPtr a, IntPtr b)
        {
            Compared++;
            return Native.getpid() == 0 ? 0 : Marshal.ReadInt32(a) - Marshal.ReadInt32(b);
        }

        static void Sort(int n)
        {
            var items = new int[n];
            for (int i = 0; i < n; i++)
                items[i] = (int)(i * 7919L % n);
            Native.qsort(items, (UIntPtr)n, (UIntPtr)4, Compare);
            Wrong += items[n - 1] == n - 1 ? 0 : 1;
        }

        static void Sleep() => Native.usleep(20_000);

        static void Miss()
        {
            try
            {
                Native.Nothing();
            }
            catch (DllNotFoundException)
            {
                return;
            }
            Wrong++;
        }

        // Not inlined: before .NET 8 it cannot be compiled.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Ask(Secret secret, int n)
        {
            if (Accessor.Whisper(secret, n) != n)
                Wrong++;
        }

        public static void Say(int n)
        {
            MethodBase Of(string name) => Calls.Method(typeof(Uses), name);
            MethodBase Extern(string name) => Calls.Method(typeof(Native), name);
            void Once(string name, string native, long calls)
            {
                Calls.By(Of("Run"), Of(name), calls);
                Calls.Extern(Of(name), Extern(native), calls);
            }
            Calls.Of(Of("Run"), 1);
            Once("Close", "close", n);
            Once("Last", "abs", n);
            Once("Measure", "strlen", n);
            Once("Sort", "qsort", 1);
            Once("Sleep", "usleep", 1);
            Once("Miss", "Nothing", 3);
            MethodBase absolute = Calls.Method(typeof(Generic<>), "Absolute");
            Calls.By(Of("Run"), absolute, 2 * n);
            Calls.Extern(absolute, Extern("abs"), 2 * n);
            Calls.By(Of("Sort"), Of("Compare"), Compared);
            Calls.Extern(Of("Compare"), Extern("getpid"), Compared);
            if (Asks)
                SayAsks(n, Of);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SayAsks(int n, Func<string, MethodBase> of)
        {
            Calls.By(of("Run"), of("Ask"), n);
            Calls.Extern(of("Ask"), Calls.Method(typeof(Accessor), "Whisper"), n);
            Calls.By(of("Run"), Calls.Method(typeof(Secret), ".ctor"), n);
            Calls.By(of("Ask"), Calls.Method(typeof(Secret), "Whisper"), n);
        }
    }

    static class Program
    {
        static int Main(string[] args)
        {
            int n = int.Parse(args[0]);
            Uses.Asks = args.Length == 1 && Environment.Version.Major >= 8; // not made by the runtime before
            Uses.Run(n);
            Uses.Say(n);
            return Calls.Print(Uses.Wrong == 0 ? 0 : 3);
        }
    }
}
