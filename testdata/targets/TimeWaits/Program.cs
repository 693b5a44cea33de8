// TimeWaits WHAT [N]: functions that wait, or spin, N times.
//
//   all        each kind of wait, and spinners alone and two on one processor
//   compete    spins on the first processor that the process may use, after printing "ready" and reading a line: the one who
//              starts it keeps that processor busy
//   throttle   the same without a processor of its own: the one who starts it limits how much of them it gets
//   stop       prints "ready", spins until it has used some processor time, and says so: the one who starts it stops it meanwhile

using System;
using System.Threading;

namespace TimeWaits
{
    static class Program
    {
        static int Main(string[] args)
        {
            string what = args.Length > 0 ? args[0] : "all";
            int n = args.Length > 1 ? int.Parse(args[1]) : 10;
            Usage.Now();
            switch (what)
            {
                case "all": All(n); break;
                case "compete": Ready(); Spinners.Pin(); Measure(Spinners.Competing, n); break;
                case "mix": Ready(); Spinners.Pin(); Measure(Spinners.Mixed, n); break;
                case "throttle": Ready(); Measure(Spinners.Throttled, n); break;
                case "stop": Ready(); Measure(Spinners.Stopped, n); break;
                default: Console.Error.WriteLine("unknown: " + what); return 2;
            }
            return Truth.Print();
        }

        static void Ready()
        {
            Console.WriteLine("ready");
            Console.Out.Flush();
            Console.ReadLine();
        }

        static void All(int n)
        {
            Waits.Prepare();
            Measure(Waits.Sleep, n);
            With(Waits.ReadPipe, n, Waits.WritePipe);
            With(Waits.ReadSocket, n, Waits.WriteSocket);
            With(Waits.WaitPulse, n, Waits.Pulse);
            Contention(n);
            Cold(Waits.Fault, n);
            Cold(Waits.ReadFile, n);
            Measure(Spinners.Alone, n);
            Spinners.RunTwo(n);
            Waits.Remove();
        }

        static void Measure(Action<Meter> function, int n)
        {
            var meter = new Meter();
            meter.Call(function, n);
            Meter.Say(function, meter);
        }

        /// <summary>Another thread gives what the function waits for, a while after it may have begun.</summary>
        static void With(Action<Meter> function, int n, Action give)
        {
            var meter = new Meter();
            for (int i = 0; i < n; i++)
            {
                bool done = false;
                var giver = new Thread(() =>
                {
                    do
                    {
                        Thread.Sleep(20);
                        give();
                    } while (function == Waits.WaitPulse && !Volatile.Read(ref done)); // a pulse that nobody waits for is lost
                });
                giver.Start();
                meter.Call(function, 1);
                Volatile.Write(ref done, true);
                giver.Join();
            }
            Meter.Say(function, meter);
        }

        static void Contention(int n)
        {
            var meter = new Meter();
            for (int i = 0; i < n; i++)
            {
                var held = new ManualResetEventSlim();
                var holder = new Thread(() => Waits.Hold(held));
                holder.Start();
                held.Wait();
                meter.Call(Waits.Contend, 1);
                holder.Join();
            }
            Meter.Say(Waits.Contend, meter);
        }

        static void Cold(Action<Meter> function, int n)
        {
            var meter = new Meter();
            for (int i = 0; i < n; i++)
            {
                Waits.Forget();
                meter.Call(function, 1);
            }
            Meter.Say(function, meter);
        }
    }
}
