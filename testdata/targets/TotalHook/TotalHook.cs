// A startup hook (DOTNET_STARTUP_HOOKS) for any program: at its end it appends a
// line "PID LENGTH BYTES" to the file named in TOTAL_FILE. BYTES is what the
// runtime says was allocated before an array of LENGTH bytes was made.

using System;
using System.Diagnostics;
using System.IO;

internal class StartupHook
{
    // The profiler's side knows these lengths.
    const int Marker = 777000, Markers = 4000;

    public static void Initialize()
    {
        string file = Environment.GetEnvironmentVariable("TOTAL_FILE");
        if (file == null || AppDomain.CurrentDomain.GetData("TotalHook") != null)
            return; // a program that is trimmed calls this itself, and others may
        AppDomain.CurrentDomain.SetData("TotalHook", file);
        AppDomain.CurrentDomain.ProcessExit += (sender, e) => Tell(file);
    }

    // Other threads may still allocate. Then the total grows by more than the array,
    // and another one is made.
    static void Tell(string file)
    {
        for (int length = Marker; length < Marker + Markers; length++)
        {
            long before = GC.GetTotalAllocatedBytes(true);
            var marker = new byte[length];
            long after = GC.GetTotalAllocatedBytes(true);
            GC.KeepAlive(marker);
            if (after - before != (length + 24 + 7 & ~7))
                continue;
            File.AppendAllText(file, Process.GetCurrentProcess().Id + " " + length + " " + before + "\n");
            return;
        }
    }
}
