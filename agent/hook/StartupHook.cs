// What the runtime calls before the program: the agent has it load this assembly as a startup hook.

using System;
using System.Runtime.CompilerServices;

internal static class StartupHook
{
    // The first method has nothing in it that could be missing: an exception would end the program.
    public static void Initialize()
    {
        try
        {
            Begin();
        }
        catch (Exception)
        {
            // The program goes on without: who samples says that nobody listens.
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Begin() => Clrprof.Meters.Sampling.Begin();
}
