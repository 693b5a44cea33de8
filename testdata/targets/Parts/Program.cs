// Parts [N [PATH]]: calls functions of an assembly of the program that is not loaded before the code that calls it is
// compiled, N times each, and knows how often. With a path the program itself reads that assembly's file, and loads it
// from memory, as programs do that have their assemblies as resources.

using System;
using System.IO;
using System.Reflection;
using PartsLibrary;

namespace Parts
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 100;
            if (args.Length > 1)
                AppDomain.CurrentDomain.AssemblyResolve += (sender, e) => Assembly.Load(File.ReadAllBytes(args[1]));
            Caller.Run(n);
            MethodBase main = Calls.Method(typeof(Program), "Main");
            Calls.By(main, Calls.Method(typeof(Caller), "Run"), 1);
            Caller.Say(n);
            return Calls.Print();
        }
    }

    static class Caller
    {
        public static void Run(int n)
        {
            for (int i = 0; i < n; i++)
            {
                Counter.Add(i);
                Counter.Add(new Box<string>("a").Get().Length);
            }
        }

        public static void Say(int n)
        {
            MethodBase run = Calls.Method(typeof(Caller), "Run");
            Calls.By(run, Calls.Method(typeof(Counter), "Add"), 2 * n);
            Calls.By(run, typeof(Box<string>).GetConstructors()[0], n);
            Calls.By(run, Calls.Method(typeof(Box<string>), "Get"), n);
        }
    }
}
