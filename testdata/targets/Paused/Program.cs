// Paused WHO [ROUNDS]: phases that make known objects and calls, recorded and not in turn. WHO switches:
//
//   process, thread, global, stop   the program itself, by Clrprof.Control, at that level (stop: Stop and Start of the process)
//   outside                         whoever reads: it says "pause" or "resume", and goes on when it is answered by a line
//   outside-thread                  the same, and the main thread alone is meant
//
// or is watch: somebody else switches when it pleases. It works until recording has begun and ended, and tells how many objects it
// made at least and at most while it was on;
// or is collections: it works before and after each of ROUNDS collections, and three more, of which only ROUNDS are to be recorded;
// or is marks: ROUNDS marks in a loop, until there is no room for more; then it tries to pause.
//
// Compiled with integrations/control/Control.cs. Each function below counts what it does in a phase that is recorded; the counts
// of the others are left out.

using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using Clrprof.Control;

namespace Paused
{
    sealed class Recorded { public long A; }
    sealed class Unrecorded { public long A, B; }
    sealed class Kept { public long A, B, C; }
    sealed class Across { public long A, B, C, D; }
    sealed class Beside { public long A, B, C, D, E; }

    static class Program
    {
        static string who;
        static readonly List<object> kept = new List<object>(100_000);
        const int N = 1000;

        static int Main(string[] args)
        {
            who = args.Length > 0 ? args[0] : "process";
            bool thread = who == "thread" || who == "outside-thread";
            int rounds = args.Length > 1 ? int.Parse(args[1]) : 3;
            if (who == "marks")
                return Marks(rounds);
            if (who == "watch")
                return Watch();
            if (who == "often")
                return Often(rounds);
            if (who == "collections")
                return Collections(rounds);
            Switch(false); // so that all that it takes is there
            Switch(true);
            for (int i = 0; i < rounds; i++)
            {
                Phases.Work(true);
                Switch(false);
                Phases.Work(false);
                GC.Collect();
                Phases.InPause(false);
                Switch(true);
                Phases.Resumed(true);
                GC.Collect();
                Phases.Through();
                Phases.Threads(thread);
            }
            Tell(rounds, thread);
            GC.KeepAlive(kept);
            return Calls.Print();
        }

        /// <summary>
        /// Marks far more often than there is room for. What is refused says so; the room that is left is the objects', and who is off
        /// gets on again.
        /// </summary>
        static int Marks(int marks)
        {
            Check(Profile.Suspend());
            Check(Profile.Resume());
            Check(Profile.Suspend(Level.Thread));
            Check(Profile.Resume(Level.Thread));
            Check(Profile.Stop(Level.Thread)); // nothing of this thread is recorded while others fill the room
            long done = 0, refused = 0;
            var other = new Thread(() =>
            {
                for (int i = 1; i <= marks; i++)
                {
                    Result r = Profile.Mark("", i);
                    done += r == Result.Ok ? 1 : 0;
                    refused += r == Result.OutOfMemory ? 1 : 0;
                }
                for (int i = 0; i < marks; i++)
                    Check(Profile.Start()); // changes nothing, and takes no room
                if (Profile.Suspend() != Result.OutOfMemory || !Profile.IsRecording)
                    throw new InvalidOperationException("it is paused without room to say so");
            });
            other.Start();
            other.Join();
            Check(Profile.Start(Level.Thread));
            for (int i = 0; i < N; i++)
                Phases.Leaf(true);
            Truth.OfType(typeof(Recorded), N, N * Size.Object(8));
            Console.WriteLine("{\"truth\":\"marks\",\"done\":" + done + ",\"refused\":" + refused + "}");
            return Calls.Print();
        }

        /// <summary>
        /// Only what comes before the end of so many collections is recorded, however old the objects are that are collected. Objects of
        /// before are kept, and die later.
        /// </summary>
        static int Collections(int recorded)
        {
            for (int i = 0; i < recorded + 3; i++)
            {
                bool on = GC.CollectionCount(0) < recorded;
                if (GC.CollectionCount(0) != i || Profile.IsRecording != on)
                    throw new InvalidOperationException("collections: " + GC.CollectionCount(0) + ", recording: " + !on);
                Phases.Work(on);
                GC.Collect(i % 3);
            }
            kept.Clear();
            GC.Collect();
            Calls.By(Calls.Method(typeof(Program), "Collections"), Of("Work"), recorded);
            Calls.By(Of("Work"), Of("Leaf"), (long)recorded * N);
            Made(typeof(Recorded), (long)recorded * N, Size.Object(8));
            Made(typeof(Kept), recorded, Size.Object(24));
            return Calls.Print();
        }

        /// <summary>Threads that each pause and resume as fast as they can, so many times, and do something each time.</summary>
        static int Often(int pauses)
        {
            const int threads = 4;
            var all = new List<Thread>();
            for (int i = 0; i < threads; i++)
            {
                all.Add(new Thread(Phases.Often));
                all[i].Start(pauses);
            }
            foreach (Thread t in all)
                t.Join();
            Calls.Root(Of("Often"), threads);
            Calls.By(Of("Often"), Of("Leaf"), (long)threads * pauses);
            Made(typeof(Recorded), (long)threads * pauses, Size.Object(8));
            return Calls.Print();
        }

        /// <summary>
        /// Works until recording has begun, if it has not yet, and ended. What it did between a look at which it was on and another
        /// one is recorded; what it did between two looks at which it was off is not.
        /// </summary>
        static int Watch()
        {
            long least = 0, most = 0;
            bool was = false;
            Console.WriteLine("working");
            for (;;)
            {
                bool before = Profile.IsRecording;
                if (was && !before)
                    break;
                was = before;
                for (int i = 0; i < N; i++)
                    Phases.Leaf(true);
                bool after = Profile.IsRecording;
                least += before && after ? N : 0;
                most += before || after ? N : 0;
            }
            Console.WriteLine("{\"truth\":\"watched\",\"least\":" + least + ",\"most\":" + most + "}");
            return Calls.Print();
        }

        /// <summary>Recording goes on, or not.</summary>
        internal static void Switch(bool on)
        {
            switch (who)
            {
                case "process": Check(on ? Profile.Resume() : Profile.Suspend()); break;
                case "global": Check(on ? Profile.Resume(Level.Global) : Profile.Suspend(Level.Global)); break;
                case "thread": Check(on ? Profile.Resume(Level.Thread) : Profile.Suspend(Level.Thread)); break;
                case "stop": Check(on ? Profile.Start() : Profile.Stop()); break;
                default:
                    Console.WriteLine(on ? "resume" : "pause");
                    if (Console.ReadLine() == null)
                        Environment.Exit(3);
                    break;
            }
            if (Profile.IsRecording != on)
                throw new InvalidOperationException("recording: " + !on);
        }

        static void Check(Result r)
        {
            if (r != Result.Ok)
                throw new InvalidOperationException(r.ToString());
        }

        static MethodBase Of(string name) => Calls.Method(typeof(Phases), name);

        /// <summary>What there must be after so many rounds.</summary>
        static void Tell(int rounds, bool ownThread)
        {
            MethodBase main = Calls.Method(typeof(Program), "Main");
            Calls.By(main, Of("Work"), rounds);
            Calls.By(Of("Work"), Of("Leaf"), (long)rounds * N);
            Calls.By(main, Of("Resumed"), rounds);
            Calls.By(Of("Resumed"), Of("Leaf"), (long)rounds * N);
            Calls.By(main, Of("Through"), rounds);
            Calls.By(Of("Through"), Of("Enter"), rounds);
            Calls.By(Of("Through"), Of("Leaf"), 2L * rounds); // before, and inside of a call that began in the pause
            Calls.By(main, Of("Threads"), rounds);
            long other = ownThread ? N : 0; // another thread is recorded while this one is not
            if (ownThread)
            {
                Calls.Root(Of("Other"), rounds);
                Calls.By(Of("Other"), Of("Leaf"), rounds * other);
                Calls.Root(Of("LateThread"), rounds);
                Calls.By(Of("LateThread"), Of("Late"), rounds);
            }
            else
            {
                Calls.Root(Of("Late"), rounds);
            }
            Calls.By(Of("Late"), Of("Leaf"), (long)rounds * N);
            Made(typeof(Recorded), 3L * rounds * N + rounds * other + 2L * rounds, Size.Object(8));
            Made(typeof(Kept), 2L * rounds, Size.Object(24));
            Made(typeof(Across), rounds, Size.Object(32));
            Calls.Unknown(typeof(Phases).TypeInitializer); // when that is, is the runtime's affair
        }

        static void Made(Type type, long objects, long bytesOfEach)
        {
            Truth.OfType(type, objects, objects * bytesOfEach);
            Calls.Of(type.GetConstructor(Type.EmptyTypes), objects);
        }

        internal static void Keep(object o) => kept.Add(o);
    }

    static class Phases
    {
        const int N = 1000;

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Work(bool recorded)
        {
            for (int i = 0; i < N; i++)
                Leaf(recorded);
            Program.Keep(recorded ? (object)new Kept() : new Beside());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static object Leaf(bool recorded) => recorded ? (object)new Recorded() : new Unrecorded();

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void InPause(bool recorded)
        {
            for (int i = 0; i < N; i++)
                Leaf(recorded);
            Program.Keep(new Beside());
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Resumed(bool recorded)
        {
            for (int i = 0; i < N; i++)
                Leaf(recorded);
            Program.Keep(new Kept());
        }

        /// <summary>Begins before a pause and ends after it; calls what begins in the pause, and what does not end in it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Through()
        {
            Leaf(true);
            Program.Keep(new Across());
            Enter();
            Begun();
        }

        /// <summary>Is left in a pause.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Enter() => Program.Switch(false);

        /// <summary>Begins in a pause, and goes on after it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Begun()
        {
            Leaf(false);
            Program.Switch(true);
            Leaf(true);
        }

        static readonly ManualResetEvent started = new ManualResetEvent(false), go = new ManualResetEvent(false);

        /// <summary>A thread begins and ends in a pause, and another one goes on after it.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Threads(bool recorded)
        {
            started.Reset();
            go.Reset();
            Program.Switch(false);
            var other = new Thread(Other) { Name = "other" };
            other.Start(recorded ? "" : null);
            other.Join();
            var late = new Thread(LateThread) { Name = "late" };
            late.Start();
            started.WaitOne();
            Program.Switch(true);
            go.Set();
            late.Join();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Other(object recorded)
        {
            for (int i = 0; i < N; i++)
                Leaf(recorded != null);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Often(object pauses)
        {
            for (int i = 0; i < (int)pauses; i++)
            {
                bool paused = Profile.Suspend(Level.Thread) == Result.Ok;
                Leaf(false);
                if (Profile.Resume(Level.Thread) != Result.Ok || !paused)
                    throw new InvalidOperationException("refused");
                Leaf(true);
            }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void LateThread()
        {
            started.Set();
            go.WaitOne();
            Late();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Late()
        {
            for (int i = 0; i < N; i++)
                Leaf(true);
        }
    }
}
