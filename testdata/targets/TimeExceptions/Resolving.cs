using System;
using System.IO;
using System.Reflection;
using System.Runtime.Loader;

namespace TimeExceptions
{
    /// <summary>
    /// Handlers that the runtime's native code calls in the middle of looking for an assembly. They throw and catch, the
    /// framework throws in them, and they are left by an exception, which the runtime catches or passes on.
    /// </summary>
    static class Resolving
    {
        static int sum, contexts, domains, contextsLeft, domainsLeft, inCatch, throws, parses;

        static int InCatch() => inCatch++;
        static int After() => sum++;

        static Assembly Context(AssemblyLoadContext context, AssemblyName name)
        {
            contexts++;
            Caught(name.Name.Length);
            After();
            if (name.Name.EndsWith("Context"))
            {
                contextsLeft++;
                Leave();
            }
            return null;
        }

        static Assembly Domain(object sender, ResolveEventArgs e)
        {
            domains++;
            Caught(e.Name.Length);
            After();
            if (e.Name.StartsWith("Throw.Domain"))
            {
                domainsLeft++;
                Leave();
            }
            return null;
        }

        static void Caught(int n)
        {
            try { throws++; sum += Places.Throw(); } catch (Problem) { InCatch(); }
            try { parses++; sum += (int)long.Parse("x"); } catch (FormatException) { InCatch(); }
            sum += n;
        }

        static void Leave() { throws++; sum += Places.Throw(); sum++; }

        static void Load(string name)
        {
            try { sum += Assembly.Load(name).FullName.Length; }
            catch (Exception e) when (e is IOException || e is Problem) { InCatch(); }
            After();
        }

        static void Find(string name)
        {
            sum += Type.GetType("No.Type, " + name) == null ? 1 : 0;
            After();
        }

        public static void All(int n)
        {
            AssemblyLoadContext.Default.Resolving += Context;
            AppDomain.CurrentDomain.AssemblyResolve += Domain;
            for (int i = 0; i < n; i++)
            {
                Load("No" + i);
                Load("Throw.Domain" + i);
                Load("Throw" + i + ".Context");
                Find("None" + i);
            }
            AssemblyLoadContext.Default.Resolving -= Context;
            AppDomain.CurrentDomain.AssemblyResolve -= Domain;
            sum++;
        }

        static MethodBase SayOf(string name) => Calls.Method(typeof(Resolving), name);

        public static void Say(int n)
        {
            MethodBase caught = SayOf("Caught"), leave = SayOf("Leave"), after = SayOf("After"), thrower = Calls.Method(typeof(Places), "Throw");
            MethodBase problem = Calls.Method(typeof(Problem), ".ctor");
            Calls.By(SayOf("All"), SayOf("Load"), 3 * n);
            Calls.By(SayOf("All"), SayOf("Find"), n);
            Calls.By(SayOf("Load"), after, 3 * n);
            Calls.By(SayOf("Find"), after, n);
            Calls.Of(SayOf("Context"), contexts, contextsLeft);
            Calls.Of(SayOf("Domain"), domains, domainsLeft);
            Calls.By(SayOf("Context"), caught, contexts);
            Calls.By(SayOf("Domain"), caught, domains);
            Calls.By(SayOf("Context"), after, contexts);
            Calls.By(SayOf("Domain"), after, domains);
            Calls.By(SayOf("Context"), leave, contextsLeft, contextsLeft);
            Calls.By(SayOf("Domain"), leave, domainsLeft, domainsLeft);
            Calls.By(caught, thrower, contexts + domains, contexts + domains);
            Calls.By(leave, thrower, contextsLeft + domainsLeft, contextsLeft + domainsLeft);
            Calls.By(thrower, problem, throws);
            Calls.By(caught, SayOf("InCatch"), 2 * (contexts + domains));
            Calls.By(SayOf("Load"), SayOf("InCatch"), inCatch - 2 * (contexts + domains));
            Calls.Of(Calls.Method(typeof(long), "Parse", typeof(string)), parses, parses);
        }
    }
}
