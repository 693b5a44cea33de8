// Finalizers DIRECTORY END [COLLECTIONS]: leaves garbage of each kind that a finalizer can do harm with, and ends; before, it
// has so many collections, in the first few of which the agent begins its session of events.
//
// .NET runs no finalizer at the end of a program. The directory stays empty, but for a file that was not flushed: each
// finalizer that runs leaves a file with its name there. What no finalizer has is garbage like any other.

using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Finalizers
{
    sealed class Held { public readonly long[] Values = new long[10]; }

    abstract class Waits
    {
        public readonly Held Held = new Held();
        protected void Ran() => File.WriteAllText(Path.Combine(Program.Directory, GetType().Name), "ran");
    }

    sealed class Prints : Waits { ~Prints() { Ran(); Console.WriteLine("finalized"); } }
    sealed class Throws : Waits { ~Throws() { Ran(); throw new InvalidOperationException("not disposed"); } }
    sealed class Blocks : Waits { ~Blocks() { Ran(); Thread.Sleep(Timeout.Infinite); } }
    sealed class Rises : Waits { ~Rises() { Ran(); Program.Kept.Add(this); } }
    sealed class Locks : Waits { ~Locks() { Ran(); lock (Program.Lock) { } } }
    sealed class Starts : Waits { ~Starts() { Ran(); new Thread(Ran).Start(); } }
    sealed class Suppressed : Waits
    {
        public Suppressed() { GC.SuppressFinalize(this); }
        ~Suppressed() { Ran(); }
    }
    sealed class Alive : Waits { ~Alive() { Ran(); } }
    sealed class Plain { public readonly Held Held = new Held(); }

    static class Program
    {
        const int Each = 100;
        public static readonly object Lock = new object();
        public static readonly List<object> Kept = new List<object>();
        public static string Directory;

        [DllImport("libc")] static extern int kill(int pid, int signal);
        [DllImport("libc")] static extern int getpid();

        static int Main(string[] args)
        {
            Directory = args[0];
            GC.Collect(); // the agent listens to collections from the first one on
            Churn();
            for (int i = 0; args.Length > 2 && i < int.Parse(args[2]); i++)
                GC.Collect(0);
            GC.Collect();
            for (int i = 0; i < Each; i++)
            {
                Kept.Add(new Alive());
                Leave();
            }
            var unflushed = new Thread(() => new FileStream(Path.Combine(Directory, "unflushed"), FileMode.Create).Write(new byte[100], 0, 100));
            unflushed.Start();
            unflushed.Join();
            new Thread(() => { lock (Lock) Thread.Sleep(Timeout.Infinite); }) { IsBackground = true }.Start();
            Console.WriteLine("end of Main");
            switch (args[1])
            {
                case "return": return 3;
                case "exit": Environment.Exit(3); return 0;
                case "exit-thread": new Thread(() => Environment.Exit(3)).Start(); Thread.Sleep(Timeout.Infinite); return 0;
                case "unhandled": throw new InvalidOperationException("unhandled on purpose");
                case "term": kill(getpid(), 15); Thread.Sleep(Timeout.Infinite); return 0;
                case "int": kill(getpid(), 2); Thread.Sleep(Timeout.Infinite); return 0;
                default: return 2;
            }
        }

        // So many objects that the agent has an event session.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Churn()
        {
            for (int i = 0; i < 200; i++)
                for (int n = 0; n < 100; n++)
                    Kept.Add(new byte[2000]);
            Kept.Clear();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Leave()
        {
            new Prints();
            new Throws();
            new Blocks();
            new Rises();
            new Locks();
            new Starts();
            new Suppressed();
            new Plain();
        }
    }
}
