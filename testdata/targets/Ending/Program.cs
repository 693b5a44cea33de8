// Ending: a program that keeps objects, and lets go of them while it ends, as services do. How it ends is its argument:
//
//   host          a host is told to stop, and its services are disposed of
//   signal        SIGTERM comes, and a handler of it clears what is kept and lets Main return
//   other-host    a host stops, and another one is made and stops: the program goes on in between
//   return        Main returns, and a handler of ProcessExit clears what is kept
//   exit          Environment.Exit is called, and the same handler
//   terminated    SIGTERM comes, which the program does not handle, and the same handler
//   small-return  as return, but there was no collection before
//   small-exit    as exit, but there was no collection before
//
// Before the end it makes objects that die, and, while it ends, some more that die, and some that are kept. It is compiled for
// .NET 8 or later.

using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Ending
{
    sealed class Session { readonly long a, b; } // what the service holds
    sealed class Garbage { readonly long a, b; } // dies before the end
    sealed class Spilled { readonly long a, b, c; } // dies before the end, in generation 2
    sealed class Farewell { readonly long a, b; } // made while the program ends
    sealed class Last { readonly long a, b; } // made while the program ends, and kept
    sealed class Forgotten { ~Forgotten() { Console.WriteLine("finalized"); } } // garbage when the program begins to end

    sealed class Cache : IDisposable
    {
        public void Dispose() => Program.LetGo();
    }

    static class Program
    {
        static List<object> kept = new List<object>();
        static volatile object thrown;
        static readonly List<object> last = new List<object>();
        static readonly ManualResetEventSlim ended = new ManualResetEventSlim();

        const int Collections = 400; // by then the profiler has its session of events, whose end comes before handlers of ProcessExit

        static int Main(string[] args)
        {
            bool isSmall = args[0].StartsWith("small-", StringComparison.Ordinal);
            for (int i = 0; i < Collections && !isSmall; i++)
                GC.Collect(0);
            Fill();
            if (!isSmall)
                Collect();
            Drop();
            if (!isSmall)
                Collect();
            if (args[0] != "other-host")
                Forget();
            if (isSmall || args[0] == "return" || args[0] == "exit" || args[0] == "terminated")
                AppDomain.CurrentDomain.ProcessExit += (sender, e) => LetGo();
            switch (args[0])
            {
                case "return":
                case "small-return":
                    return 3;
                case "exit":
                case "small-exit":
                    Environment.Exit(3);
                    return 1;
                case "terminated":
                    Terminate();
                    Thread.Sleep(Timeout.Infinite);
                    return 1;
                case "signal":
                    return Signalled();
                case "host":
                    Host();
                    return 3;
                case "other-host":
                    Host();
                    Fill();
                    Collect();
                    Host();
                    return 3;
            }
            return 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fill()
        {
            for (int i = 0; i < 1000; i++)
                kept.Add(new Session());
            for (int i = 0; i < 500; i++)
                kept.Add(new Spilled());
            for (int i = 0; i < 5000; i++)
                thrown = new Garbage();
            thrown = null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Drop() => kept.RemoveAll(x => x is Spilled);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Forget()
        {
            for (int i = 0; i < 100; i++)
                thrown = new Forgotten();
            thrown = null;
        }

        static void Collect()
        {
            for (int i = 0; i < 2; i++)
            {
                GC.Collect();
                GC.Collect(); // what is kept is in generation 2
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void LetGo()
        {
            kept = new List<object>();
            for (int i = 0; i < 300; i++)
                thrown = new Farewell();
            thrown = null;
            for (int i = 0; i < 40; i++)
                last.Add(new Last());
        }

        static int Signalled()
        {
            using PosixSignalRegistration handled = PosixSignalRegistration.Create(PosixSignal.SIGTERM, context =>
            {
                context.Cancel = true;
                LetGo();
                ended.Set();
            });
            Terminate();
            ended.Wait();
            return 3;
        }

        static void Terminate()
        {
            using Process kill = Process.Start("kill", Environment.ProcessId.ToString());
            kill.WaitForExit();
        }

        static void Host()
        {
            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            builder.Logging.ClearProviders();
            builder.Services.AddSingleton<Cache>();
            WebApplication app = builder.Build();
            app.Services.GetRequiredService<Cache>();
            app.Start();
            app.Lifetime.StopApplication();
            app.WaitForShutdown();
            ((IDisposable)app).Dispose();
        }
    }
}
