// Forks children from managed code, as daemons and terminals do (fork, forkpty). Each child allocates and makes calls, as
// its parent did before, and leaves; the parent goes on. What a child compiled would be code of its parent too, whose
// memory the runtime shares: all is compiled before.
//
//   Forks CHILDREN
//
// Ends with 4 if all children ended with 3.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Forks
{
    class Widget { public long A; }

    static class Program
    {
        static object kept;

        [DllImport("libc")] static extern int fork();
        [DllImport("libc")] static extern void _exit(int code);
        [DllImport("libc")] static extern int waitpid(int pid, out int status, int options);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make(int n)
        {
            for (int i = 0; i < n; i++)
                kept = One(i);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static Widget One(int i) { return new Widget { A = i }; }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Child()
        {
            Make(100);
            return kept == null ? 5 : 3;
        }

        static int Main(string[] args)
        {
            Marshal.PrelinkAll(typeof(Program));
            Child();
            Make(1000);
            for (int i = 0; i < int.Parse(args[0]); i++)
            {
                int pid = fork();
                if (pid == 0)
                    _exit(Child());
                waitpid(pid, out int status, 0);
                if (status != 3 << 8)
                    return 9;
            }
            Make(2000);
            GC.Collect();
            Make(1000);
            return 4;
        }
    }
}
