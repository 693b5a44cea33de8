// TimeFirstChance [N [THREADS]]: handlers of AppDomain.FirstChanceException, which the runtime calls in the middle of looking for
// who handles an exception: they call, throw and catch themselves, nested, and have finally blocks and filters, as what throws has. N
// of each on so many threads. All functions are known.

using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.ExceptionServices;
using System.Threading;

namespace TimeFirstChance
{
    static class Program
    {
        static int Main(string[] args)
        {
            Throws.Times = args.Length > 0 ? int.Parse(args[0]) : 20;
            int count = args.Length > 1 ? int.Parse(args[1]) : 3;
            var watcher = new Watcher();
            EventHandler<FirstChanceExceptionEventArgs> first = Handlers.First, second = watcher.Second;
            AppDomain.CurrentDomain.FirstChanceException += first;
            AppDomain.CurrentDomain.FirstChanceException += second;
            var threads = new Thread[count];
            for (int i = 0; i < count; i++)
                (threads[i] = new Thread(Throws.Run)).Start();
            foreach (Thread thread in threads)
                thread.Join();
            AppDomain.CurrentDomain.FirstChanceException -= first;
            AppDomain.CurrentDomain.FirstChanceException -= second;
            Calls.By(Calls.Method(typeof(Program), "Main"), Calls.Method(typeof(Watcher), ".ctor"), 1);
            Calls.Unknown(typeof(Throws).TypeInitializer);
            SayCounted();
            return Calls.Print();
        }

        static readonly Dictionary<(string, string), long> counted = new Dictionary<(string, string), long>();

        /// <summary>The caller calls the callee next. Without a name it is not told.</summary>
        public static void SayCall(string caller, string callee)
        {
            lock (counted)
            {
                counted.TryGetValue((caller, callee), out long n);
                counted[(caller, callee)] = n + 1;
            }
        }

        static MethodBase SayMethod(string name)
        {
            string[] parts = name.Split('/');
            return Calls.Method(Type.GetType("TimeFirstChance." + parts[0]), parts[1]);
        }

        static void SayCounted()
        {
            foreach (KeyValuePair<(string Caller, string Callee), long> c in counted)
                if (c.Key.Caller.Length == 0)
                    Calls.Of(SayMethod(c.Key.Callee), c.Value);
                else
                    Calls.By(SayMethod(c.Key.Caller), SayMethod(c.Key.Callee), c.Value);
        }
    }

    sealed class Problem : Exception
    {
        public readonly int Level;
        public Problem(int level) { Level = level; }
    }

    /// <summary>What the runtime calls. An exception's level says how many handlers are on the stack that throw.</summary>
    static class Handlers
    {
        const int Deepest = 3;
        static int sum;

        static int Leaf() => sum++;

        static int Fail(int level)
        {
            Program.SayCall("Handlers/Fail", "Problem/.ctor");
            throw new Problem(level);
        }

        static bool Asks(bool answer)
        {
            Program.SayCall("", "Handlers/Asks");
            Program.SayCall("Handlers/Asks", "Handlers/Leaf");
            return Leaf() >= 0 && answer;
        }

        public static void First(object sender, FirstChanceExceptionEventArgs e)
        {
            Program.SayCall("", "Handlers/First");
            Program.SayCall("Handlers/First", "Handlers/Leaf");
            Leaf();
            if (e.Exception is Problem p && p.Level < Deepest)
            {
                Program.SayCall("Handlers/First", "Handlers/Throws");
                Throws(p.Level + 1);
                Program.SayCall("Handlers/First", "Handlers/Framework");
                Framework();
            }
            Program.SayCall("Handlers/First", "Handlers/Leaf");
            Leaf();
        }

        static void Throws(int level)
        {
            try
            {
                try
                {
                    Program.SayCall("Handlers/Throws", "Handlers/Fail");
                    sum += Fail(level);
                }
                finally
                {
                    Program.SayCall("Handlers/Throws", "Handlers/Leaf");
                    Leaf();
                }
            }
            catch (Problem) when (Asks(level % 2 == 0))
            {
                Program.SayCall("Handlers/Throws", "Handlers/Leaf");
                Leaf();
            }
            catch (Problem)
            {
                Program.SayCall("Handlers/Throws", "Handlers/Leaf");
                Leaf();
            }
            Program.SayCall("Handlers/Throws", "Handlers/Leaf");
            Leaf();
        }

        /// <summary>Code of the framework throws.</summary>
        static void Framework()
        {
            try
            {
                sum += (int)long.Parse("x");
            }
            catch (FormatException)
            {
                Program.SayCall("Handlers/Framework", "Handlers/Leaf");
                Leaf();
            }
        }
    }

    /// <summary>Its handler has an object.</summary>
    sealed class Watcher
    {
        int sum;

        int Leaf() => sum++;

        public void Second(object sender, FirstChanceExceptionEventArgs e)
        {
            Program.SayCall("", "Watcher/Second");
            Program.SayCall("Watcher/Second", "Watcher/Leaf");
            Leaf();
        }
    }

    static class Broken
    {
        public static int Value;

        static Broken()
        {
            Program.SayCall("", "Broken/.cctor");
            Program.SayCall("Broken/.cctor", "Throws/Fail");
            Value = Throws.Fail() + 1;
        }
    }

    /// <summary>What throws, and what catches.</summary>
    static class Throws
    {
        public static int Times;
        static int sum;
        static readonly int[] one = { 1 };
        static readonly Action<int> fails = FailOn;

        public static int Fail()
        {
            sum++;
            Program.SayCall("Throws/Fail", "Problem/.ctor");
            throw new Problem(0);
        }

        static void FailOn(int i)
        {
            Program.SayCall("", "Throws/FailOn");
            Program.SayCall("Throws/FailOn", "Throws/Fail");
            sum += Fail();
            sum++;
        }

        static int Leaf() => sum++;

        static bool Asks(bool answer)
        {
            Program.SayCall("", "Throws/Asks");
            Program.SayCall("Throws/Asks", "Throws/Leaf");
            Leaf();
            Program.SayCall("Throws/Asks", "Throws/Plain");
            Plain();
            return answer;
        }

        static void Plain()
        {
            try
            {
                Program.SayCall("Throws/Plain", "Throws/Fail");
                sum += Fail();
            }
            catch (Problem)
            {
                Program.SayCall("Throws/Plain", "Throws/Leaf");
                Leaf();
            }
            Program.SayCall("Throws/Plain", "Throws/Leaf");
            Leaf();
        }

        /// <summary>Each finally block throws and catches, while an exception unwinds it.</summary>
        static void Finally(int depth)
        {
            try
            {
                if (depth == 0)
                {
                    Program.SayCall("Throws/Finally", "Throws/Fail");
                    sum += Fail();
                }
                Program.SayCall("Throws/Finally", "Throws/Finally");
                Finally(depth - 1);
            }
            finally
            {
                Program.SayCall("Throws/Finally", "Throws/Plain");
                Plain();
                Program.SayCall("Throws/Finally", "Throws/Leaf");
                Leaf();
            }
        }

        /// <summary>A filter throws and catches, and so does the one that takes the exception.</summary>
        static void Filter()
        {
            try
            {
                Program.SayCall("Throws/Filter", "Throws/Finally");
                Finally(2);
            }
            catch (Problem) when (Asks(false))
            {
            }
            catch (Problem) when (Asks(true))
            {
                Program.SayCall("Throws/Filter", "Throws/Plain");
                Plain();
            }
            Program.SayCall("Throws/Filter", "Throws/Leaf");
            Leaf();
        }

        /// <summary>It is thrown again, and then another one.</summary>
        static void Again()
        {
            try
            {
                try
                {
                    Program.SayCall("Throws/Again", "Throws/Fail");
                    sum += Fail();
                }
                catch (Problem)
                {
                    Program.SayCall("Throws/Again", "Throws/Leaf");
                    Leaf();
                    throw;
                }
                finally
                {
                    Program.SayCall("Throws/Again", "Throws/Fail");
                    sum += Fail();
                }
            }
            catch (Problem)
            {
                Program.SayCall("Throws/Again", "Throws/Leaf");
                Leaf();
            }
        }

        /// <summary>The framework throws, it is between, and the runtime's native code catches.</summary>
        static void Through()
        {
            try
            {
                sum += (int)long.Parse("x");
            }
            catch (FormatException)
            {
                Program.SayCall("Throws/Through", "Throws/Leaf");
                Leaf();
            }
            try
            {
                Array.ForEach(one, fails);
            }
            catch (Problem)
            {
                Program.SayCall("Throws/Through", "Throws/Leaf");
                Leaf();
            }
            try
            {
                sum += Broken.Value;
            }
            catch (TypeInitializationException)
            {
                Program.SayCall("Throws/Through", "Throws/Leaf");
                Leaf();
            }
        }

        public static void Run()
        {
            Program.SayCall("", "Throws/Run");
            for (int i = 0; i < Times; i++)
            {
                Program.SayCall("Throws/Run", "Throws/Plain");
                Plain();
                Program.SayCall("Throws/Run", "Throws/Filter");
                Filter();
                Program.SayCall("Throws/Run", "Throws/Again");
                Again();
                Program.SayCall("Throws/Run", "Throws/Through");
                Through();
            }
        }
    }
}
