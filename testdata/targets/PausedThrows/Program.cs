// PausedThrows [ASKS]: a recursive function that throws at depth and catches further out, with a pause that begins and ends in
// every place of it that there is: so an exception leaves calls that are recorded, and others of the same function that are not. With
// ASKS the program says "pause" and "resume" and waits for a line, so that somebody else switches and a pause can settle; then it does
// not try every place.
//
// Compiled with integrations/control/Control.cs. Each function is told which recorded call it is in, so that what the truth knows does
// not depend on what an exception leaves.

using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using Clrprof.Control;

namespace PausedThrows
{
    sealed class Thrown : Exception { }

    /// <summary>One descent. Levels count from 0; a level that is not there is one at which nothing happens.</summary>
    struct Plan
    {
        internal int Suspends, Resumes, Throws, Catches, Finally;
        internal bool ResumesInHandler, ResumesInFinally, Again; // Again: the handler throws, and the caller of all catches
    }

    static class Program
    {
        static readonly Dictionary<(MethodBase, MethodBase), long> counts = new Dictionary<(MethodBase, MethodBase), long>();
        static bool asks, on = true;
        static MethodBase main;

        static int Main(string[] args)
        {
            asks = args.Length > 0;
            main = Calls.Method(typeof(Program), "Main");
            Profile.Suspend(); // so that all that it takes is there
            Profile.Resume();
            foreach (Plan p in Plans())
            {
                Descents.Plan = p;
                if (Skips())
                    continue;
                try
                {
                    Descents.Down(0, main);
                }
                catch (Thrown)
                {
                }
                Switch(true);
                Descents.After(main);
                try
                {
                    Descents.Through(0, main);
                }
                catch (Thrown)
                {
                }
                Switch(true);
                Descents.After(main);
            }
            foreach (KeyValuePair<(MethodBase, MethodBase), long> c in counts)
                if (c.Key.Item2.Name == "Through" || c.Key.Item2.Name == "Step")
                    Calls.Of(c.Key.Item2, c.Value); // the framework is between
                else
                    Calls.By(c.Key.Item1, c.Key.Item2, c.Value);
            Calls.Unknown(typeof(Descents).TypeInitializer);
            return Calls.Print();
        }

        static int skipped;

        /// <summary>One in so many is done when each takes its time.</summary>
        static bool Skips() => asks && skipped++ % 37 != 0;

        static IEnumerable<Plan> Plans()
        {
            const int depth = 4;
            for (int s = 0; s <= depth; s++)
                for (int r = s; r <= depth + 2; r++)
                    for (int c = 0; c <= depth; c++)
                        for (int f = -1; f <= depth; f++)
                            for (int again = 0; again < 2; again++)
                                yield return new Plan
                                {
                                    Suspends = s, Resumes = r, Throws = depth, Catches = c, Finally = f,
                                    ResumesInHandler = r == depth + 1, ResumesInFinally = r == depth + 2, Again = again == 1
                                };
        }

        /// <summary>A call of a function begins inside of the innermost recorded one; it is that, or none.</summary>
        internal static MethodBase Begin(MethodBase function, MethodBase within)
        {
            if (!on)
                return within;
            counts.TryGetValue((within, function), out long n);
            counts[(within, function)] = n + 1;
            return function;
        }

        /// <summary>Recording goes on, or not, if that is not so already.</summary>
        internal static void Switch(bool now)
        {
            if (on == now)
                return;
            on = now;
            if (asks)
            {
                Console.WriteLine(now ? "resume" : "pause");
                if (Console.ReadLine() == null)
                    Environment.Exit(3);
            }
            else if ((now ? Profile.Resume() : Profile.Suspend()) != Result.Ok)
            {
                throw new InvalidOperationException("it cannot be switched");
            }
            if (Profile.IsRecording != now)
                throw new InvalidOperationException("recording: " + !now);
        }
    }

    static class Descents
    {
        internal static Plan Plan;
        static readonly MethodBase down = Calls.Method(typeof(Descents), "Down"), through = Calls.Method(typeof(Descents), "Through"),
            step = Calls.Method(typeof(Descents), "Step"), leaf = Calls.Method(typeof(Descents), "Leaf"), after = Calls.Method(typeof(Descents), "After"),
            thrown = typeof(Thrown).GetConstructor(Type.EmptyTypes);
        static readonly int[] one = { 1 };
        static readonly Action<int> stepper = Step;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Leaf(MethodBase within) => Program.Begin(leaf, within);

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void After(MethodBase within)
        {
            within = Program.Begin(after, within);
            Leaf(within);
        }

        /// <summary>Begins a pause or ends it, if this is the level.</summary>
        static MethodBase SayAt(int n, MethodBase function, MethodBase within)
        {
            within = Program.Begin(function, within);
            if (n == Plan.Suspends)
                Program.Switch(false);
            if (n == Plan.Resumes)
                Program.Switch(true);
            return within;
        }

        static void SayHandled(bool resumes)
        {
            if (resumes)
                Program.Switch(true);
        }

        static Thrown SayThrown(MethodBase within)
        {
            Program.Begin(thrown, within);
            return null;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Down(int n, MethodBase within)
        {
            within = SayAt(n, down, within);
            Leaf(within);
            if (n == Plan.Catches)
            {
                try
                {
                    if (n == Plan.Throws)
                        throw SayThrown(within) ?? new Thrown();
                    Down(n + 1, within);
                }
                catch (Thrown)
                {
                    SayHandled(Plan.ResumesInHandler);
                    Leaf(within);
                    if (Plan.Again)
                        throw;
                }
            }
            else if (n == Plan.Finally)
            {
                try
                {
                    if (n == Plan.Throws)
                        throw SayThrown(within) ?? new Thrown();
                    Down(n + 1, within);
                }
                finally
                {
                    SayHandled(Plan.ResumesInFinally);
                    Leaf(within);
                }
            }
            else
            {
                if (n == Plan.Throws)
                    throw SayThrown(within) ?? new Thrown();
                Down(n + 1, within);
            }
            Leaf(within);
        }

        static MethodBase caller;
        static int level;

        static void Step(int unused) => Through(level + 1, Program.Begin(step, caller));

        /// <summary>The same by way of the framework.</summary>
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static void Through(int n, MethodBase within)
        {
            within = SayAt(n, through, within);
            level = n;
            caller = within;
            Leaf(within);
            if (n == Plan.Throws)
                throw SayThrown(within) ?? new Thrown();
            if (n == Plan.Catches)
            {
                try
                {
                    Array.ForEach(one, stepper);
                }
                catch (Thrown)
                {
                    SayHandled(Plan.ResumesInHandler);
                    Leaf(within);
                    if (Plan.Again)
                        throw;
                }
            }
            else
            {
                Array.ForEach(one, stepper);
            }
            Leaf(within);
        }
    }
}
