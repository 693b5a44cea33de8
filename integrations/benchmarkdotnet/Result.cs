using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Text.Json;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;

namespace Clrprof.BenchmarkDotNet
{
    /// <summary>What a benchmark allocated and called in its actual iterations, read from its session.</summary>
    sealed class Result
    {
        const int MostRows = 10; // below the table; the session has all
        const int MostTypes = 3; // in the table

        /// <summary>Objects of one type from one place.</summary>
        sealed class Made
        {
            public string Type { get; set; }
            public string Path { get; set; }
            public string File { get; set; }
            public long Line { get; set; }
            public long Objects { get; set; }
            public long Bytes { get; set; }
        }

        /// <summary>Calls of a function.</summary>
        sealed class Called
        {
            public string Function { get; set; }
            public long Calls { get; set; }
            public long Own { get; set; }
        }

        /// <summary>What all other threads of the process allocated meanwhile.</summary>
        sealed class Beside
        {
            public long Objects { get; set; }
            public long Bytes { get; set; }
        }

        sealed class Lost
        {
            public string Reason { get; set; }
        }

        /// <summary>Why there is nothing; null: there is.</summary>
        internal string Failure { get; }

        readonly string session;
        readonly long operations;
        readonly List<Made> made = new List<Made>();
        readonly List<Called> called = new List<Called>();
        readonly List<Beside> beside = new List<Beside>();
        readonly List<Lost> lost = new List<Lost>();

        internal Result(string failure, string session) => (Failure, this.session) = (failure, session);

        Result(Recording r, BenchmarkCase benchmark, long operations, bool calls)
        {
            session = r.Session;
            this.operations = operations;
            MethodInfo method = benchmark.Descriptor.WorkloadMethod;
            Type declaring = method.DeclaringType.IsGenericType ? method.DeclaringType.GetGenericTypeDefinition() : method.DeclaringType;
            string type = declaring.FullName.Replace('+', '/');
            made = Query<Made>(r, Queries.Made(type, method.Name));
            beside = Query<Beside>(r, Queries.Beside(type, method.Name));
            lost = Query<Lost>(r, "SELECT DISTINCT reason FROM loss ORDER BY reason");
            if (!calls)
                return;
            called = Query<Called>(r, Queries.Called(type, method.Name));
            // Two that count: BenchmarkDotNet the operations, clrprof the calls of the method.
            long own = called.Sum(c => c.Own) * benchmark.Descriptor.OperationsPerInvoke;
            if (own != operations)
                Failure = "BenchmarkDotNet tells of " + operations + " operations, and clrprof of " + own;
        }

        internal static Result Read(Recording r, BenchmarkCase benchmark, long operations, bool calls) => operations == 0
            ? new Result("BenchmarkDotNet tells of no operation: AddClrprof adds all that is needed to a config", r.Session)
            : new Result(r, benchmark, operations, calls);

        static List<T> Query<T>(Recording r, string sql)
            => JsonSerializer.Deserialize<List<T>>(r.Run("sql", r.Session, sql, "--json"), new JsonSerializerOptions { PropertyNameCaseInsensitive = true });

        internal long Objects => made.Sum(m => m.Objects);
        internal long Bytes => made.Sum(m => m.Bytes);
        internal long Calls => called.Sum(c => c.Calls);

        internal double PerOperation(long n) => (double)n / operations;

        /// <summary>For the table: "1 OrderLine[], 10 OrderLine".</summary>
        internal string Types()
        {
            if (Failure != null)
                return "?";
            var types = made.GroupBy(m => m.Type).Select(g => (Type: g.Key, Objects: g.Sum(m => m.Objects), Bytes: g.Sum(m => m.Bytes)))
                .OrderByDescending(t => t.Bytes).ThenBy(t => t.Type, StringComparer.Ordinal).ToList();
            string text = string.Join(", ", types.Take(MostTypes).Select(t => Number(t.Objects) + " " + ShortName(t.Type)));
            return types.Count > MostTypes ? text + ", …" : text == "" ? "-" : text;
        }

        internal void Print(ILogger logger, BenchmarkCase benchmark)
        {
            logger.WriteLine();
            logger.WriteLineHeader("// " + benchmark.Descriptor.GetFilterName() + (benchmark.HasParameters ? " " + benchmark.Parameters.PrintInfo : "") +
                ": an operation, by clrprof");
            if (Failure != null)
                logger.WriteLineError("// clrprof: " + Failure);
            foreach (Made m in made.Take(MostRows))
                logger.WriteLineStatistic("//   " + Number(m.Objects) + " " + m.Type + ", " + Number(m.Bytes) + " B: " + m.Path + Place(m));
            if (made.Count > MostRows)
                logger.WriteLineStatistic("//   … " + (made.Count - MostRows).ToString(CultureInfo.InvariantCulture) + " more");
            if (Failure == null && made.Count == 0)
                logger.WriteLineStatistic("//   none");
            foreach (Beside b in beside.Where(b => b.Objects > 0))
                logger.WriteLineStatistic("//   other threads meanwhile, in all: " + b.Objects.ToString("N0", CultureInfo.InvariantCulture) + " objects, " +
                    b.Bytes.ToString("N0", CultureInfo.InvariantCulture) + " B");
            foreach (Called c in called.Take(MostRows))
                logger.WriteLineStatistic("//   " + Number(c.Calls) + " × " + c.Function);
            if (called.Count > MostRows)
                logger.WriteLineStatistic("//   … " + (called.Count - MostRows).ToString(CultureInfo.InvariantCulture) + " more functions");
            if (lost.Count > 0)
                logger.WriteLineError("// clrprof: the numbers are not exact (" + string.Join(", ", lost.Select(l => l.Reason)) + "): clrprof report '" + session + "' losses");
            if (session != null && File.Exists(session))
                logger.WriteLineInfo("// clrprof report '" + session + "' calltree");
        }

        static string Place(Made m) => m.File == "" ? "" : " " + Path.GetFileName(m.File) + ":" + m.Line.ToString(CultureInfo.InvariantCulture);

        /// <summary>A number for each operation.</summary>
        string Number(long n) => n % operations == 0
            ? (n / operations).ToString("N0", CultureInfo.InvariantCulture)
            : PerOperation(n).ToString("0.####", CultureInfo.InvariantCulture);

        /// <summary>A type without its namespaces.</summary>
        static string ShortName(string type)
        {
            var text = new System.Text.StringBuilder();
            int from = 0;
            for (int i = 0; i <= type.Length; i++)
                if (i == type.Length || "<>[], ".Contains(type[i]))
                {
                    string name = type.Substring(from, i - from);
                    text.Append(name.Substring(name.LastIndexOf('.') + 1)).Append(i < type.Length ? type[i].ToString() : "");
                    from = i + 1;
                }
            return text.ToString();
        }
    }
}
