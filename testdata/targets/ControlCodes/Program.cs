// ControlCodes [alone|recorded|over|dormant|cost]: calls all functions of Clrprof.Control, and tells of each what it should return and what it did.
//
//   alone     without clrprof: all do nothing
//   recorded  with it: each result that can be had
//   over      says "working" and marks until nothing is recorded any more: then each says Never
//   dormant   says "ready" and its process id, and reads lines: a result is what each should return now; "suspend" leaves the process
//             suspended; "early" lets threads allocate that were named before. It says "done" after each, up to "end"
//   cost      without clrprof: nanoseconds of a call of each kind, the least of some rounds

using System;
using System.Diagnostics;
using System.Threading;
using Clrprof.Control;

namespace ControlCodes
{
    static class Program
    {
        static int Main(string[] args)
        {
            switch (args.Length > 0 ? args[0] : "")
            {
                case "alone": Alone(); return 0;
                case "recorded": Recorded(); return 0;
                case "over": Over(); return 0;
                case "dormant": Dormant(); return 0;
                case "cost": Cost(); return 0;
                default: return 2;
            }
        }

        static void Tell(string call, Result want, Result have)
            => Console.WriteLine("{\"truth\":\"result\",\"call\":\"" + call + "\",\"want\":\"" + want + "\",\"have\":\"" + have + "\"}");

        static void Tell(string call, bool want, bool have)
            => Console.WriteLine("{\"truth\":\"result\",\"call\":\"" + call + "\",\"want\":\"" + want + "\",\"have\":\"" + have + "\"}");

        static readonly string longest = new string('x', 1024), tooLong = new string('x', 1025);

        static void Each(Result want)
        {
            Tell("Suspend", want, Profile.Suspend());
            Tell("Resume", want, Profile.Resume());
            Tell("Stop", want, Profile.Stop(Level.Thread));
            Tell("Start", want, Profile.Start(Level.Thread));
            Tell("Mark", want, Profile.Mark("plain"));
            Tell("CommentMark", want, Profile.CommentMark("commented", "text", 7));
            Tell("CommentMarkAt", want, Profile.CommentMarkAt(Stopwatch.GetTimestamp(), "earlier", "text"));
            Tell("NameThread", want, Profile.NameThread("named"));
            Tell("NameProcess", want, Profile.NameProcess("renamed"));
        }

        static void Alone()
        {
            Each(Result.NotPresent);
            Tell("an empty name", Result.NotPresent, Profile.Mark(""));
            Tell("IsPresent", false, Profile.IsPresent);
            Tell("IsRecording", false, Profile.IsRecording);
            using (Profile.Section("alone"))
                Tell("in a section", false, Profile.IsPresent);
        }

        static void Recorded()
        {
            long before = Stopwatch.GetTimestamp();
            Each(Result.Ok);
            Tell("IsPresent", true, Profile.IsPresent);
            Tell("IsRecording", true, Profile.IsRecording);
            foreach (int level in new[] { -1, 0, 4, int.MaxValue })
                Tell("level " + level, Result.NoSuchLevel, Profile.Suspend((Level)level));
            Tell("an empty name", Result.BadName, Profile.Mark(""));
            Tell("a null name", Result.BadName, Profile.CommentMark(null, null));
            Tell("a number alone", Result.Ok, Profile.Mark("", 3));
            Tell("the longest name", Result.Ok, Profile.CommentMark(longest, longest));
            Tell("a name that is too long", Result.TooLong, Profile.Mark(tooLong));
            Tell("a text that is too long", Result.TooLong, Profile.CommentMark("n", tooLong));
            Tell("an earlier mark with an empty name", Result.BadName, Profile.CommentMarkAt(before, "", ""));
            Tell("an earlier mark that is too long", Result.TooLong, Profile.CommentMarkAt(before, tooLong, ""));
            Tell("a time that is to come", Result.BadTime, Profile.CommentMarkAt(Stopwatch.GetTimestamp() + 3600L * Stopwatch.Frequency, "n", ""));
            foreach (long time in new[] { long.MinValue, -1, 0, 1 })
                Tell("a time before the process", Result.BadTime, Profile.CommentMarkAt(time, "n", ""));
            Tell("a thread's empty name", Result.BadName, Profile.NameThread(""));
            Tell("a thread's name that is too long", Result.TooLong, Profile.NameThread(tooLong));
            Tell("a process's empty name", Result.BadName, Profile.NameProcess(null));
            Tell("a process's name that is too long", Result.TooLong, Profile.NameProcess(tooLong));
            Profile.Suspend(Level.Thread);
            Tell("a mark in a pause", Result.Off, Profile.Mark("n"));
            Tell("an earlier mark in a pause", Result.Off, Profile.CommentMarkAt(before, "n", ""));
            Tell("a process's name in a pause", Result.Ok, Profile.NameProcess("codes"));
            Tell("IsRecording in a pause", false, Profile.IsRecording);
            Profile.Resume(Level.Thread);
            Tell("CommentMarkAt", Result.Ok, Profile.CommentMarkAt(before, "before all", "it was"));
        }

        static void Over()
        {
            Console.WriteLine("working");
            for (var clock = Stopwatch.StartNew(); Profile.Mark("still") != Result.Never;)
                if (clock.ElapsedMilliseconds > 300_000)
                    throw new TimeoutException("somebody records still");
            Each(Result.Never);
            Tell("IsPresent", true, Profile.IsPresent);
            Tell("IsRecording", false, Profile.IsRecording);
        }

        sealed class Early { public long A; }

        static object sink;

        static void Dormant()
        {
            var go = new AutoResetEvent(false);
            var gone = new AutoResetEvent(false);
            var early = new Thread(() => { for (; go.WaitOne(); gone.Set()) sink = new Early(); }) { Name = "early and waiting", IsBackground = true };
            early.Start();
            Console.WriteLine("ready");
            Console.WriteLine(Process.GetCurrentProcess().Id);
            for (string line; (line = Console.ReadLine()) != null && line != "end"; Console.WriteLine("done"))
            {
                switch (line)
                {
                    case "suspend": Tell("Suspend", Result.Ok, Profile.Suspend()); break;
                    case "early": go.Set(); gone.WaitOne(); break;
                    default:
                        var want = (Result)Enum.Parse(typeof(Result), line);
                        Each(want);
                        Tell("IsPresent", true, Profile.IsPresent);
                        Tell("IsRecording", want == Result.Ok, Profile.IsRecording);
                        break;
                }
            }
        }

        delegate void Calls(int n);

        static void Cost()
        {
            Tell("Mark", n => { for (int i = 0; i < n; i++) Profile.Mark("n"); });
            Tell("Suspend", n => { for (int i = 0; i < n; i++) Profile.Suspend(); });
            Tell("Section", n => { for (int i = 0; i < n; i++) using (Profile.Section("n")) { } });
            Tell("IsRecording", n => { bool any = false; for (int i = 0; i < n; i++) any |= Profile.IsRecording; GC.KeepAlive(any); });
        }

        static void Tell(string call, Calls calls)
        {
            const int N = 10_000_000;
            double least = double.MaxValue;
            for (int round = 0; round < 10; round++)
            {
                long begin = Stopwatch.GetTimestamp();
                calls(N);
                least = Math.Min(least, (Stopwatch.GetTimestamp() - begin) * 1e9 / Stopwatch.Frequency / N);
            }
            Console.WriteLine(call + " " + least.ToString("0.00", System.Globalization.CultureInfo.InvariantCulture));
        }
    }
}
