using System.Linq;
using System.Reflection;
using System.Threading;
using System.Threading.Tasks;

namespace TimeCalls
{
    /// <summary>The same functions on many threads.</summary>
    static class Workers
    {
        static int sum;

        static void Work(object times)
        {
            int n = (int)times;
            for (int i = 0; i < n; i++)
                sum += Step(i);
            sum++;
        }

        static int Step(int a) => a + 1;
        static int Pooled(int a) => a + 1;

        static void Short(object state)
        {
            sum += Step((int)state);
            sum++;
        }

        /// <summary>Threads that live at the same time.</summary>
        public static void Together(int count, int n)
        {
            var threads = new Thread[count];
            for (int i = 0; i < count; i++)
                threads[i] = new Thread(Work);
            foreach (Thread thread in threads)
                thread.Start(n);
            foreach (Thread thread in threads)
                thread.Join();
            sum++;
        }

        /// <summary>Threads that live one after the other, a few at a time.</summary>
        public static void InTurn(int count)
        {
            for (int i = 0; i < count; i += 4)
            {
                var threads = new Thread[4];
                for (int j = 0; j < 4; j++)
                    (threads[j] = new Thread(Short)).Start(j);
                foreach (Thread thread in threads)
                    thread.Join();
            }
            sum++;
        }

        public static void Pool(int n)
        {
            Parallel.For(0, n, i => sum += Pooled(i));
            sum++;
        }

        public static void Say(int count, int shorts, int n)
        {
            MethodBase work = Calls.Method(typeof(Workers), "Work"), step = Calls.Method(typeof(Workers), "Step"), brief = Calls.Method(typeof(Workers), "Short");
            Calls.Root(work, count);
            Calls.By(work, step, (long)count * n);
            Calls.Root(brief, shorts);
            Calls.By(brief, step, shorts);
            MethodBase lambda = Calls.Made(typeof(Workers), "<Pool>b__");
            Calls.Of(lambda, n); // on a thread of the pool, or on that which called
            Calls.By(lambda, Calls.Method(typeof(Workers), "Pooled"), n);
            Calls.Lambdas(typeof(Workers));
        }
    }
}
