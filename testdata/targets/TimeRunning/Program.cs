// TimeRunning HOW [DEPTH]: prints its truth and then "ready" from within a known number of calls that have not ended, and
// ends there. Two more threads are deep in calls too.
//
//   wait       waits in native code until it is killed
//   spin       computes until it is killed
//   exit, exit-thread, failfast, kill, unhandled, overflow

using System;
using System.Reflection;
using System.Runtime.InteropServices;
using System.Threading;

namespace TimeRunning
{
    static class Program
    {
        static int Main(string[] args)
        {
            string how = args.Length > 0 ? args[0] : "wait";
            int depth = args.Length > 1 ? int.Parse(args[1]) : 10;
            var there = new CountdownEvent(2);
            for (int i = 0; i < 2; i++)
                new Thread(() => Stack.Background(depth, there)) { IsBackground = true }.Start();
            there.Wait();
            Stack.Say(how, depth);
            Calls.Print();
            return Stack.Down(depth, how);
        }

        public static void ExitSoon() => Environment.Exit(6);
    }

    static class Stack
    {
        [DllImport("libc")] static extern int pause();
        [DllImport("libc")] static extern int getpid();
        [DllImport("libc")] static extern int kill(int pid, int signal);

        static int sum;

        public static int Background(int depth, CountdownEvent there) =>
            depth == 0 ? Stay(there) + 1 : Background(depth - 1, there) + 1;

        static int Stay(CountdownEvent there)
        {
            for (int i = 0; i < 10; i++)
                sum += Ended();
            there.Signal();
            while (pause() < 0) // returns only after a signal
                sum++;
            return sum;
        }

        static int Ended() => 1;

        public static int Down(int depth, string how) => depth == 0 ? Bottom(how) + 1 : Down(depth - 1, how) + 1;

        static int Bottom(string how)
        {
            sum += Ended();
            Console.WriteLine("ready");
            Console.Out.Flush();
            if (how == "wait")
                while (pause() < 0)
                    sum++;
            else if (how == "spin")
                for (; ; )
                    sum += Ended();
            else if (how == "exit")
                Environment.Exit(8);
            else if (how == "exit-thread")
            {
                new Thread(Program.ExitSoon).Start();
                Thread.Sleep(Timeout.Infinite);
            }
            else if (how == "failfast")
                Environment.FailFast("failed fast on purpose");
            else if (how == "kill")
                kill(getpid(), 9);
            else if (how == "unhandled")
                throw new InvalidOperationException("unhandled on purpose");
            else if (how == "overflow")
                return Overflow(1);
            Environment.Exit(2);
            return 0;
        }

        static int Overflow(int depth) => Overflow(depth + 1) + depth;

        static MethodBase SayOf(string name) => Calls.Method(typeof(Stack), name);

        public static void Say(string how, int depth)
        {
            // From .NET 9 on the runtime unwinds all calls of an exception that nobody catches before it ends the process.
            int ended = how == "unhandled" && Environment.Version.Major >= 9 ? 1 : 0;
            Calls.Of(SayOf("Background"), 2 * (depth + 1));
            Calls.Running(SayOf("Background"), 2 * (depth + 1));
            Calls.By(SayOf("Background"), SayOf("Stay"), 2);
            Calls.Running(SayOf("Stay"), 2);
            Calls.By(SayOf("Stay"), SayOf("Ended"), 20);

            Calls.By(Calls.Method(typeof(Program), "Main"), SayOf("Down"), 1);
            Calls.By(SayOf("Down"), SayOf("Down"), depth);
            Calls.Running(SayOf("Down"), (1 - ended) * (depth + 1));
            Calls.By(SayOf("Down"), SayOf("Bottom"), 1);
            Calls.Running(SayOf("Bottom"), 1 - ended);
            Calls.By(SayOf("Bottom"), SayOf("Ended"), 1);
            Calls.Extern(SayOf("Stay"), SayOf("pause"), 2);
            if (how == "wait")
                Calls.Extern(SayOf("Bottom"), SayOf("pause"), 1);
            if (how == "kill")
            {
                Calls.Extern(SayOf("Bottom"), SayOf("getpid"), 1);
                Calls.Extern(SayOf("Bottom"), SayOf("kill"), 1);
            }
            if (how == "spin")
                Calls.Unknown(SayOf("Ended"));
            if (how == "overflow")
                Calls.Unknown(SayOf("Overflow"));
        }
    }
}
