// Children HOW N: starts .NET processes, which are this program with other
// arguments. Each process prints its own truth; its rows have its pid.
//
//   wait N     starts N children at once and waits for all
//   nested N   starts a child, which starts a child, and so on, N deep
//   shell N    starts N children, each by a shell that does something else before
//   outlive    starts a child that goes on until this process has ended
//   child K    is a child: allocates K thousand objects
//   orphan     is the child that waits for the end of its standard input

using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;

namespace Children
{
    sealed class Item { public long A, B; }

    static class Program
    {
        static object sink;

        static int Main(string[] args)
        {
            Truth.WithPid = true;
            string how = args[0];
            int n = args.Length > 1 ? int.Parse(args[1]) : 0;
            switch (how)
            {
                case "wait": return Wait(Enumerable.Range(1, n).Select(k => Start("child", k)).ToArray());
                case "nested": return n == 0 ? Work("nested", 1) : Work("nested", n + 1) + End(Start("nested", n - 1));
                case "shell": return Wait(Enumerable.Range(1, n).Select(Shell).ToArray());
                case "outlive": return Outlive();
                case "child": return Work("child", n);
                case "orphan":
                    // The pipe ends when the parent does.
                    Console.OpenStandardInput().Read(new byte[1], 0, 1);
                    return Work("orphan", 2);
                default: return 2;
            }
        }

        /// <summary>Allocates thousands of objects and says so.</summary>
        static int Work(string name, int thousands)
        {
            long n = thousands * 1000L;
            Allocate((int)n);
            Truth.Say("process", "name", name + " " + thousands);
            Truth.Site(Truth.Method(typeof(Program), "Allocate"), typeof(Item), n, n * Size.Object(16));
            return Truth.Print();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Allocate(int n) { for (int i = 0; i < n; i++) sink = new Item { A = i }; }

        static int Wait(Process[] children) => Work("parent", 1) + children.Sum(End);

        static int End(Process child)
        {
            child.WaitForExit();
            return child.ExitCode;
        }

        static int Outlive()
        {
            Process.Start(Info("orphan", 0, true));
            return Work("parent", 1); // and end, which closes the child's input
        }

        static Process Start(string how, int n) => Process.Start(Info(how, n, false));

        static Process Shell(int n)
        {
            ProcessStartInfo child = Info("child", n, false);
            var info = new ProcessStartInfo("/bin/sh") { UseShellExecute = false };
            info.ArgumentList.Add("-c");
            info.ArgumentList.Add("true && \"$0\" \"$@\"");
            info.ArgumentList.Add(child.FileName);
            foreach (string argument in child.ArgumentList)
                info.ArgumentList.Add(argument);
            return Process.Start(info);
        }

        /// <summary>How to start this program: by dotnet, or as an executable of its own.</summary>
        static ProcessStartInfo Info(string how, int n, bool redirect)
        {
            string host = Process.GetCurrentProcess().MainModule.FileName;
            var info = new ProcessStartInfo(host) { UseShellExecute = false, RedirectStandardInput = redirect };
            if (Path.GetFileName(host) == "dotnet")
                info.ArgumentList.Add(typeof(Program).Assembly.Location);
            info.ArgumentList.Add(how);
            info.ArgumentList.Add(n.ToString());
            return info;
        }
    }
}
