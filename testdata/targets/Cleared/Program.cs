// Cleared: starts itself as a child with an environment that has nothing of its own, as sudo and many supervisors do, and waits for it.

using System;
using System.Collections.Generic;
using System.Diagnostics;

static class Program
{
    static int Main(string[] args)
    {
        if (args.Length > 0)
        {
            var list = new List<byte[]>();
            for (int i = 0; i < 1000; i++)
                list.Add(new byte[10_000]);
            Console.WriteLine("child " + list.Count + " " + Process.GetCurrentProcess().Id);
            return 0;
        }
        var start = new ProcessStartInfo(Process.GetCurrentProcess().MainModule.FileName) { UseShellExecute = false };
        start.ArgumentList.Add(typeof(Program).Assembly.Location);
        start.ArgumentList.Add("child");
        string root = Environment.GetEnvironmentVariable("DOTNET_ROOT");
        start.Environment.Clear();
        start.Environment["DOTNET_ROOT"] = root;
        start.Environment["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1";
        using (var child = Process.Start(start))
        {
            child.WaitForExit();
            return child.ExitCode;
        }
    }
}
