// What the runtime calls before the program: the agent has it load this assembly as a startup hook.

using System.Runtime.CompilerServices;

internal static class StartupHook
{
    // An exception would end the program. The first method has nothing in it that could be missing, not even the class of exceptions,
    // which a trimmed program can lack as far as other assemblies are concerned.
    public static void Initialize()
    {
        try
        {
            Begin();
        }
        catch
        {
            // The program goes on without: who samples says that nobody listens.
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Begin() => Clrprof.Meters.Sampling.Begin();
}
