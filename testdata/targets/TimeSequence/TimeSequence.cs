using System;
using System.Threading;

namespace TimeSequence
{
    /// <summary>
    /// What one thread does: calls, recursion, exceptions, in an order that follows from its number alone. It notes each
    /// event itself, in an array and without a call: a function begins (its number) or ends (the same below zero), an
    /// exception is thrown or caught.
    /// </summary>
    sealed class Walk
    {
        const int Run = 1, Leaf = 2, Recurse = 3, Catches = 4, Middle = 5, Throws = 6, Finally = 7, Filters = 8, Check = 9, Odd = 10, Even = 11;
        const int Thrown = 100, Caught = 101;

        public static readonly string[] Names = { "", "DoRun", "DoLeaf", "DoRecurse", "DoCatch", "DoMiddle", "DoThrow", "DoFinally", "DoFilter", "DoCheck", "DoOdd", "DoEven" };
        public readonly int[] Log;
        public int N;
        uint random;

        public Walk(uint seed, int room) { random = seed; Log = new int[room]; }

        public void DoRun(int steps)
        {
            Log[N++] = Run;
            for (int i = 0; i < steps; i++)
            {
                random = random * 1664525 + 1013904223;
                int depth = (int)(random >> 24) % 24;
                switch ((random >> 16) % 6)
                {
                    case 0: DoLeaf(); break;
                    case 1: DoRecurse(depth); break;
                    case 2: DoEven(depth); break;
                    case 3: if (depth == 0) DoCatch(); break; // exceptions are slow
                    case 4: if (depth == 1) DoFinally(); break;
                    case 5: if (depth == 2) DoFilter(); break;
                }
            }
            Log[N++] = -Run;
        }

        void DoLeaf() { Log[N++] = Leaf; Log[N++] = -Leaf; }

        void DoRecurse(int depth)
        {
            Log[N++] = Recurse;
            if (depth == 0)
                DoLeaf();
            else
                DoRecurse(depth - 1);
            Log[N++] = -Recurse;
        }

        void DoEven(int depth)
        {
            Log[N++] = Even;
            if (depth > 0)
                DoOdd(depth - 1);
            Log[N++] = -Even;
        }

        void DoOdd(int depth)
        {
            Log[N++] = Odd;
            if (depth > 0)
                DoEven(depth - 1);
            Log[N++] = -Odd;
        }

        void DoCatch()
        {
            Log[N++] = Catches;
            try { DoMiddle(); }
            catch (InvalidOperationException) { Log[N++] = -Throws; Log[N++] = -Middle; Log[N++] = Caught; DoLeaf(); }
            Log[N++] = -Catches;
        }

        void DoMiddle()
        {
            Log[N++] = Middle;
            DoThrow();
            N = -1; // it never comes here
        }

        void DoThrow()
        {
            Log[N++] = Throws;
            Log[N++] = Thrown;
            throw new InvalidOperationException();
        }

        void DoFinally()
        {
            Log[N++] = Finally;
            try
            {
                try { DoThrow(); }
                finally { Log[N++] = -Throws; DoLeaf(); }
            }
            catch (InvalidOperationException) { Log[N++] = Caught; }
            Log[N++] = -Finally;
        }

        void DoFilter()
        {
            Log[N++] = Filters;
            try { DoThrow(); }
            catch (InvalidOperationException) when (DoCheck()) { Log[N++] = -Throws; Log[N++] = Caught; }
            Log[N++] = -Filters;
        }

        bool DoCheck() { Log[N++] = Check; Log[N++] = -Check; return true; }
    }

    static class Program
    {
        const int EventsOfStep = 64, LongestLine = 10000;

        /// <summary>Arguments: threads, steps of each, and "wait" to sleep for ever when all is done.</summary>
        static void Main(string[] args)
        {
            var walks = new Walk[int.Parse(args[0])];
            int steps = int.Parse(args[1]);
            for (int i = 0; i < walks.Length; i++)
                walks[i] = new Walk((uint)i + 1, 64 + steps * EventsOfStep);
            var threads = new Thread[walks.Length];
            for (int i = 0; i < walks.Length; i++)
            {
                Walk walk = walks[i];
                threads[i] = new Thread(() => walk.DoRun(steps)) { Name = "walker " + i };
                threads[i].Start();
            }
            foreach (Thread thread in threads)
                thread.Join();
            for (int i = 0; i < walks.Length; i++)
                Print(threads[i].Name, walks[i]);
            Console.Out.WriteLine("end");
            Console.Out.Flush();
            if (args.Length > 2)
                Thread.Sleep(Timeout.Infinite);
        }

        static void Print(string name, Walk walk)
        {
            var line = new System.Text.StringBuilder(name).Append(':');
            for (int i = 0; i < walk.N; i++)
            {
                int e = walk.Log[i];
                if (line.Length > LongestLine)
                {
                    Console.Out.WriteLine(line);
                    line.Clear().Append(name).Append(':');
                }
                line.Append(e == 100 ? " throw" : e == 101 ? " catch" : e > 0 ? " +" + Walk.Names[e] : " -" + Walk.Names[-e]);
            }
            Console.Out.WriteLine(line);
        }
    }
}
