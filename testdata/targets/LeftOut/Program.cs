// LeftOut: waits until the runtime's managed source of events is on, which is the agent's doing, and lets finalizers run for what
// that has left behind. The program itself makes no dynamic method.

using System;
using System.Diagnostics.Tracing;
using System.Threading;

namespace LeftOut
{
    static class Program
    {
        static int Main()
        {
            EventSource source = null;
            foreach (EventSource s in EventSource.GetSources())
                if (s.Name == "Microsoft-Windows-DotNETRuntime")
                    source = s;
            GC.Collect(); // from now on the agent wants events
            bool on = SpinWait.SpinUntil(() => source.IsEnabled(), 60_000);
            Truth.Say("enabled", "on", on);
            for (int i = 0; i < 4; i++) // a dynamic method takes several: the one that has it goes first
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            return Truth.Print();
        }
    }
}
