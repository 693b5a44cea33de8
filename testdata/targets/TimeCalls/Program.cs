// TimeCalls [N [THREADS [SHORT]]]: functions of every kind, each called a known number of
// times. THREADS threads run at once, SHORT ones (a multiple of 4) after each other.

using System;
using System.Reflection;

namespace TimeCalls
{
    static class Program
    {
        static int Main(string[] args)
        {
            int n = args.Length > 0 ? int.Parse(args[0]) : 1000;
            int threads = args.Length > 1 ? int.Parse(args[1]) : 4, shorts = args.Length > 2 ? int.Parse(args[2]) : 40;
            Plain.Run(n);
            Functions.Run(n);
            Functions.Back(n);
            Machines.Iterate(n);
            Machines.Async(n);
            Depth.Run(n);
            Foreign.Run(n);
            Late.Finalizers(n);
            Late.Lazies(n);
            Workers.Together(threads, n);
            Workers.InTurn(shorts);
            Workers.Pool(n);

            MethodBase main = Calls.Method(typeof(Program), "Main");
            foreach ((Type type, string name) in new[] { (typeof(Plain), "Run"), (typeof(Functions), "Run"), (typeof(Functions), "Back"),
                (typeof(Machines), "Iterate"), (typeof(Machines), "Async"), (typeof(Depth), "Run"), (typeof(Foreign), "Run"), (typeof(Late), "Finalizers"),
                (typeof(Late), "Lazies"), (typeof(Workers), "Together"), (typeof(Workers), "InTurn"), (typeof(Workers), "Pool") })
                Calls.By(main, Calls.Method(type, name), 1);
            Plain.Say(n);
            Functions.SayRun(n);
            Functions.SayBack(n);
            Machines.SayIterate(n);
            Machines.SayAsync(n);
            Depth.Say(n);
            Foreign.Say(n);
            Late.Say(n);
            Workers.Say(threads, shorts, n);
            return Calls.Print();
        }
    }
}
