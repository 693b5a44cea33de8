using System;
using System.Threading;

namespace LifetimeTruth
{
    /// <summary>
    /// The finalizer thread may hold the object whose finalizer ran last: one of these is made after the others, and
    /// of its lifetime nothing is said.
    /// </summary>
    sealed class Last { ~Last() { Finalizers.Count(); } }

    sealed class Finalized { ~Finalized() { Finalizers.Count(); } }

    sealed class Suppressed { ~Suppressed() { Finalizers.Count(); } }

    /// <summary>Comes back to life for good, until it is dropped again.</summary>
    sealed class Resurrected
    {
        public int At;
        ~Resurrected()
        {
            Finalizers.Saved[At] = this;
            Finalizers.Count();
        }
    }

    /// <summary>Wants to be finalized twice.</summary>
    sealed class Twice
    {
        bool again;
        ~Twice()
        {
            Finalizers.Count();
            if (!again)
                GC.ReRegisterForFinalize(this);
            again = true;
        }
    }

    static class Finalizers
    {
        public static Resurrected[] Saved;
        static int ran;

        public static void Count() => Interlocked.Increment(ref ran);

        public static void Run(int n)
        {
            var c = new Cohort(typeof(Suppressed), Size.Object(0), n, i =>
            {
                var o = new Suppressed();
                GC.SuppressFinalize(o);
                return o;
            }, afterFinalizers: true).In(0).Drop();
            Steps.Collect(0);
            c.Dead();
            Ran(typeof(Suppressed), 0);

            c = new Cohort(typeof(Finalized), Size.Object(0), n, i => new Finalized(), afterFinalizers: true).In(0).Release();
            Collect(0);
            Ran(typeof(Finalized), n + 1);
            c.In(1).Drop();
            Steps.Collect(1);
            c.Dead();

            Saved = new Resurrected[n];
            c = new Cohort(typeof(Resurrected), Size.Object(4), n, i => new Resurrected { At = i }, afterFinalizers: true).In(0).Release();
            Collect(0);
            Ran(typeof(Resurrected), n + 1);
            Steps.Collect(1);
            c.In(2).Drop();
            Array.Clear(Saved, 0, n);
            Steps.Collect(2);
            c.Dead();
            Ran(typeof(Resurrected), 0);

            c = new Cohort(typeof(Twice), Size.Object(1), n, i => new Twice(), afterFinalizers: true).In(0).Release();
            Collect(0);
            Collect(1);
            Ran(typeof(Twice), 2 * n + 2);
            c.In(2).Drop();
            Steps.Collect(2);
            c.Dead();
        }

        static void Collect(int generation)
        {
            MakeLast();
            Steps.Collect(generation);
            GC.WaitForPendingFinalizers();
        }

        [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
        static void MakeLast() => new Last();

        /// <summary>So many finalizers ran since the last question.</summary>
        static void Ran(Type type, int expected)
        {
            int measured = Interlocked.Exchange(ref ran, 0);
            Steps.That(measured == expected, type, "finalizers", expected, measured);
        }
    }
}
