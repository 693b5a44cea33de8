using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;

// The program of the .NET tool for SDKs before 10, which start only managed programs: it replaces itself by the native
// clrprof that lies in the same package. There is one process, with the id that its starter knows: signals, the exit
// code and the terminal need nobody to pass them on.
internal static class Launcher
{
    private const string Error = "clrprof: ";
    private const int NotSupported = 126; // exit code: docs/cli.md
    private const int SigPipe = 13;

    // The environment stays as it is, byte by byte.
    [DllImport("libc", SetLastError = true, EntryPoint = "execv")]
    private static extern int Execute(byte[] path, IntPtr[] arguments);

    [DllImport("libc", EntryPoint = "signal")]
    private static extern IntPtr SetSignal(int number, IntPtr handler);

    private static int Main(string[] arguments)
    {
        string machine = RuntimeInformation.ProcessArchitecture.ToString().ToLowerInvariant();
        string binaries = Path.GetFullPath(Path.Combine(AppContext.BaseDirectory, "..", "..", "net10.0"));
        if (Directory.Exists(Path.Combine(binaries, "any")))
        {
            return Fail("this package has no program for SDKs before .NET 10: install clrprof.any instead of it " +
                "(dotnet tool uninstall -g clrprof; dotnet tool install -g clrprof.any)");
        }
        string native = Path.Combine(binaries, "linux-" + machine, "clrprof");
        if (!OperatingSystem.IsLinux() || !File.Exists(native))
        {
            return Fail("this package is for Linux on x64 or arm64, and this is " + RuntimeInformation.RuntimeIdentifier);
        }
        byte[][] given;
        try
        {
            MakeExecutable(native);
            given = Given(arguments);
        }
        catch (Exception e) when (e is IOException || e is UnauthorizedAccessException)
        {
            return Fail(e.Message + ": install the tool again, as the user who runs it");
        }
        RemoveDiagnosticFiles();
        SetSignal(SigPipe, IntPtr.Zero); // the runtime ignores it, and what is ignored stays so
        Execute(Bytes(native), Pointers(native, given));
        return Fail("cannot start " + native + ": " + Marshal.GetPInvokeErrorMessage(Marshal.GetLastPInvokeError()));
    }

    // NuGet gives files no right to be executed, or only in some versions.
    private static void MakeExecutable(string path)
    {
        UnixFileMode mode = File.GetUnixFileMode(path);
        if ((mode & UnixFileMode.UserExecute) == 0)
        {
            File.SetUnixFileMode(path, mode | UnixFileMode.UserExecute);
        }
    }

    // The runtime removes the sockets and pipes of its diagnostics when it ends, which it does not do here. Their names
    // have the process's id and the time at which it began, which the program after this one keeps.
    private static void RemoveDiagnosticFiles()
    {
        try
        {
            string stat = File.ReadAllText("/proc/self/stat");
            string began = stat.Substring(stat.LastIndexOf(')') + 2).Split(' ')[19]; // the 22nd field: see proc(5)
            string id = Environment.ProcessId + "-" + began + "-";
            foreach (string name in new[] { "dotnet-diagnostic-" + id + "socket", "clr-debug-pipe-" + id + "in",
                "clr-debug-pipe-" + id + "out" })
            {
                File.Delete(Path.Combine(Path.GetTempPath(), name));
            }
        }
        catch (Exception e) when (e is IOException || e is UnauthorizedAccessException)
        {
            // They are small, and in the way of nothing.
        }
    }

    private static byte[] Bytes(string s) => Encoding.UTF8.GetBytes(s + "\0");

    // The arguments as the kernel has them: what is no UTF-8 would be lost in a string. The last ones are the tool's own.
    private static byte[][] Given(string[] arguments)
    {
        byte[] line = File.ReadAllBytes("/proc/self/cmdline");
        var all = new List<byte[]>();
        for (int begin = 0, end; begin < line.Length; begin = end)
        {
            end = Array.IndexOf(line, (byte)0, begin) + 1;
            all.Add(line[begin..end]);
        }
        return all.GetRange(all.Count - arguments.Length, arguments.Length).ToArray();
    }

    // The memory is not given back: the program that it belongs to is about to end.
    private static IntPtr[] Pointers(string first, byte[][] others)
    {
        var all = new IntPtr[others.Length + 2]; // the last one ends the list
        for (int i = 0; i <= others.Length; i++)
        {
            byte[] argument = i == 0 ? Bytes(first) : others[i - 1];
            all[i] = Marshal.AllocHGlobal(argument.Length);
            Marshal.Copy(argument, 0, all[i], argument.Length);
        }
        return all;
    }

    private static int Fail(string what)
    {
        Console.Error.WriteLine(Error + what);
        return NotSupported;
    }
}
