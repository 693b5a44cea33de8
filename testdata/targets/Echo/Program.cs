// Echo HOW …: shows what a process sees of the one that started it.
//
//   cat              copies standard input to standard output
//   exit CODE TEXT   writes TEXT to standard output and "error: TEXT" to standard error; ends with CODE
//   args …           writes each argument on a line
//   env NAME         writes a variable's value, or "(none)"
//   cwd              writes the working directory
//   tty              writes which of standard input, output and error are not a terminal
//   signal           writes "ready", waits, writes the name of the first signal, SIGINT (then ends with 10) or SIGTERM (11)
//   ignore           as signal, but ignores the first SIGINT and writes "ignored"

using System;
using System.IO;
using System.Threading;

namespace Echo
{
    static class Program
    {
        static int Main(string[] args)
        {
            string how = args.Length > 0 ? args[0] : "cat";
            switch (how)
            {
                case "cat":
                    using (Stream input = Console.OpenStandardInput(), output = Console.OpenStandardOutput())
                        input.CopyTo(output);
                    return 0;
                case "exit":
                    Console.Out.WriteLine(args[2]);
                    Console.Error.WriteLine("error: " + args[2]);
                    return int.Parse(args[1]);
                case "args":
                    for (int i = 1; i < args.Length; i++)
                        Console.WriteLine(args[i]);
                    return 0;
                case "env": Console.WriteLine(Environment.GetEnvironmentVariable(args[1]) ?? "(none)"); return 0;
                case "cwd": Console.WriteLine(Environment.CurrentDirectory); return 0;
                case "tty":
                    Console.WriteLine($"in {Console.IsInputRedirected}, out {Console.IsOutputRedirected}, error {Console.IsErrorRedirected}");
                    return 0;
                case "signal": return Signal(0);
                case "ignore": return Signal(1);
                default: Console.Error.WriteLine("unknown: " + how); return 2;
            }
        }

        static int Signal(int ignore)
        {
            var got = new ManualResetEventSlim();
            var ended = new ManualResetEventSlim();
            int code = 0;
            Console.CancelKeyPress += (sender, e) =>
            {
                e.Cancel = true; // do not end by itself
                if (Interlocked.Decrement(ref ignore) >= 0)
                {
                    Say("ignored");
                    return;
                }
                Say("SIGINT");
                code = 10;
                got.Set();
            };
            AppDomain.CurrentDomain.ProcessExit += (sender, e) =>
            {
                if (got.IsSet)
                    return;
                Say("SIGTERM");
                Environment.ExitCode = 11;
            };
            EndOnTermination();
            Say("ready");
            got.Wait();
            return code;
        }

        // From .NET 10 on the runtime leaves SIGTERM to the program. The class to ask for it is younger than what this
        // is compiled for.
        static void EndOnTermination()
        {
            if (Environment.Version.Major < 10)
                return;
            const string space = "System.Runtime.InteropServices.";
            Type context = Type.GetType(space + "PosixSignalContext, System.Private.CoreLib");
            Type signal = context.Assembly.GetType(space + "PosixSignal");
            Delegate handler = Delegate.CreateDelegate(typeof(Action<>).MakeGenericType(context), typeof(Program).GetMethod(nameof(Terminate)));
            registration = context.Assembly.GetType(space + "PosixSignalRegistration").GetMethod("Create")
                .Invoke(null, new object[] { Enum.Parse(signal, "SIGTERM"), handler });
        }

        static object registration; // ends when it is collected

        public static void Terminate(object context) => Environment.Exit(11);

        static void Say(string what)
        {
            Console.WriteLine(what);
            Console.Out.Flush();
        }
    }
}
