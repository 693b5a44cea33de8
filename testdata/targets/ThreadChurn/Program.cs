// ThreadChurn THREADS: threads that run one after the other. Each allocates ten objects of ten types at twenty
// places, which is two hundred sites. Every fourth thread has no name.

using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace ThreadChurn
{
    class K0 { } class K1 { } class K2 { } class K3 { } class K4 { }
    class K5 { } class K6 { } class K7 { } class K8 { } class K9 { }

    static class Program
    {
        const int Places = 20;

        static readonly object[] kept = new object[10]; // the newest of each type: what was there before is garbage

        static int Main(string[] args)
        {
            int count = int.Parse(args[0]);
            for (int i = 0; i < count; i++)
            {
                var thread = new Thread(Work);
                if (i % 4 != 3)
                    thread.Name = "churner";
                thread.Start();
                thread.Join();
            }
            var make = Truth.Method(typeof(Program), "Make");
            long size = Size.Object(0), named = count - count / 4;
            foreach (Type type in new[] { typeof(K0), typeof(K1), typeof(K2), typeof(K3), typeof(K4), typeof(K5), typeof(K6), typeof(K7), typeof(K8), typeof(K9) })
            {
                Truth.Site(make, type, (long)count * Places, count * Places * size);
                Truth.OnThread("churner", make, type, named * Places, named * Places * size);
                Truth.OnThread("", make, type, (count - named) * Places, (count - named) * Places * size);
            }
            return Truth.Print();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Work()
        {
            Make(); Make(); Make(); Make(); Make();
            Make(); Make(); Make(); Make(); Make();
            Make(); Make(); Make(); Make(); Make();
            Make(); Make(); Make(); Make(); Make();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make()
        {
            kept[0] = new K0(); kept[1] = new K1(); kept[2] = new K2(); kept[3] = new K3(); kept[4] = new K4();
            kept[5] = new K5(); kept[6] = new K6(); kept[7] = new K7(); kept[8] = new K8(); kept[9] = new K9();
        }
    }
}
