// Async methods with results of every shape, which wait so many times. Compiled
// for .NET 10 with features=runtime-async=on the runtime itself keeps their
// state, and boxes what they return; it then wants DOTNET_RuntimeAsync=1.

#pragma warning disable SYSLIB5007 // runtime-async is a preview in .NET 10

using System;
using System.Threading.Tasks;

namespace TotalAsync
{
    struct Wide { public long A, B, C; }
    struct Holder { public object Held; public int N; }

    static class Program
    {
        static async Task<int> Number(int n) { await Task.Yield(); return n + 1; }
        static async Task<Wide> Struct(int n) { await Task.Yield(); return new Wide { A = n }; }
        static async Task<Holder> WithReference(int n) { await Task.Yield(); return new Holder { Held = "x", N = n }; }
        static async ValueTask<string> Text(int n) { await Task.Yield(); return n.ToString(); }
        static async Task Nested(int n) { if (n > 0) await Nested(n - 1); else await Task.Yield(); }

        static async Task<int> Throws(int n)
        {
            await Task.Yield();
            if (n % 2 == 0)
                throw new InvalidOperationException();
            return n;
        }

        static async Task<long> All(int times)
        {
            long sum = 0;
            for (int i = 0; i < times; i++)
            {
                sum += await Number(i) + (await Struct(i)).A + (await WithReference(i)).N + (await Text(i)).Length;
                await Nested(5);
                try { sum += await Throws(i); }
                catch (InvalidOperationException) { sum++; }
            }
            return sum;
        }

        static int Main(string[] args)
        {
            Console.WriteLine(All(int.Parse(args[0])).GetAwaiter().GetResult());
            return 0;
        }
    }
}
